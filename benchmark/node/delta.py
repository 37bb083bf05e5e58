# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A delta robot whose passive joints nobody measures, and the motion that its driver reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np

URDF = Path(__file__).resolve().parents[2] / 'urdf' / 'delta.urdf'
JOINTS = tuple(f'shoulder_{i}' for i in range(1, 4))
RATE = 1000.0  # Hz
ARM, ELBOW, WRIST = 0.4, 1.76, -2.16  # rad, of a closed position but for rounding
AMPLITUDE, FREQUENCY = 0.005, 2.0  # rad, Hz; small enough that no supervisor sees a fault
_CLOSED = {**dict.fromkeys(JOINTS, ARM), 'wrist_2': WRIST,
           **{f'elbow_{i}{side}': ELBOW for i in range(1, 4) for side in 'ab'}}
#: parameters of the controller that this robot needs
PARAMETERS = {
    'robot_description_file': URDF, 'joints': list(JOINTS), 'task.frame': 'tool',
    'task.axes': "['tx','ty','tz']", 'assembly.joints': list(_CLOSED),
    'assembly.values': list(_CLOSED.values())}


def motion(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities of a sway of all three arms."""
    w = 2.0 * np.pi * FREQUENCY
    phase = w * t + np.arange(len(JOINTS))
    return ARM + AMPLITUDE * np.sin(phase), w * AMPLITUDE * np.cos(phase)
