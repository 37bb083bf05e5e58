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

"""Recordings of the built-in arm whose joints sway, with a payload, without noise."""

from __future__ import annotations

from pathlib import Path

from benchmark.bags import write
from command_rig import ARM
import numpy as np
import rbd_ros


def swaying(bag: Path, felt: float, second: float = 1.0, mass: float = 1.7) -> Path:
    """Write the bag; of friction and damping the efforts have a share."""
    model = rbd_ros.load_urdf(ARM)
    robot = rbd_ros.Dynamics(model, payload_frame='tool0')
    robot.set_payload(mass, [0.03, -0.02, 0.1], mass / 1.7 * np.diag([0.02, 0.03, 0.015]))
    rng = np.random.default_rng(1)
    speed, sway, phase = rng.uniform([[2.0], [0.3], [0.0]], [[7.0], [0.7], [6.0]], (3, 7))
    t = 100.0 + 0.005 * np.arange(1200)
    # Two sines of each joint: one alone leaves combinations of inertias open.
    w = [speed, 0.37 * speed]
    turn = [rate * t[:, None] + phase for rate in w]
    q = sway * (np.sin(turn[0]) + second * np.sin(turn[1]))
    qd = sway * (w[0] * np.cos(turn[0]) + second * w[1] * np.cos(turn[1]))
    qdd = -sway * (w[0]**2 * np.sin(turn[0]) + second * w[1]**2 * np.sin(turn[1]))
    tau = robot.inverse_dynamics(q, qd, qdd) + felt * (
        np.array(model.damping) * qd + np.array(model.friction) * np.sign(qd))
    return write(bag, model, zip(t, q, qd, tau))
