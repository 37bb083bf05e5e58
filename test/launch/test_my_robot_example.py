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

"""The launch test that users copy passes for robots that it was not written for."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

from benchmark.robots import robots_folder
from rbd_env.pace import patient
from sampling import some

ROOT = Path(__file__).parents[2]
UR5, PANDA = 'ur_description/urdf/ur5_robot.urdf', 'panda_description/urdf/panda.urdf'
EXAMPLE = ROOT / 'examples' / 'launch_test' / 'test_my_robot.py'


def test_example() -> None:
    """It runs as its page says, and its torques are those of Pinocchio."""
    for urdf in some('examples', (
            ROOT / 'urdf' / 'seven_joint_arm.urdf', robots_folder() / UR5,
            robots_folder() / PANDA), 1):
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(EXAMPLE),
             '--launch-args', f'urdf:={urdf}'], cwd=ROOT, capture_output=True, text=True,
            check=False, timeout=patient(600.0))
        assert done.returncode == 0, done.stdout[-20_000:]
