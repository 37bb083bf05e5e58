# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
