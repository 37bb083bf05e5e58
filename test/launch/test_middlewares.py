# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The same launch tests on each other middleware of this installation."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys

from ament_index_python.packages import get_packages_with_prefixes
import pytest
from rbd_env.pace import patient
import rclpy

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]

#: what is run on each
TESTS = ('test_controller_launch.py', 'test_stalls.py::test_python_stands_still')

#: that of this process is the one with which these run by themselves
OTHERS = sorted({'rmw_fastrtps_cpp', 'rmw_cyclonedds_cpp'} - {
    rclpy.get_rmw_implementation_identifier()})


@pytest.mark.sampled('launches', 1)
@pytest.mark.parametrize('test', TESTS)
@pytest.mark.parametrize('middleware', OTHERS)
def test_controller_on(middleware: str, test: str, tmp_path: Path) -> None:
    """
    All is the same on Fast DDS and Cyclone DDS.

    Launch file, states, commands, the end; and what must work while Python stands still.
    """
    if middleware not in get_packages_with_prefixes():
        pytest.skip(f'this machine has no {middleware}')
    environment = {k: v for k, v in os.environ.items() if k != 'RBD_ROS_RESULTS'}
    # A process of its own, because one process can load one middleware only. Turns of launch
    # tests are taken in the folder of temporary files; this test has one and would wait for it.
    environment |= {'RMW_IMPLEMENTATION': middleware, 'TMPDIR': str(tmp_path)}
    output = tmp_path / 'output'
    with output.open('w') as stream:
        process = subprocess.Popen(
            [sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', '-s', '--timeout', '150',
             str(FOLDER / test)],
            cwd=ROOT, env=environment, stdout=stream, stderr=subprocess.STDOUT)
        try:
            code = process.wait(patient(200))
        finally:
            process.kill()
            print(output.read_text()[-5000:])
    assert code == 0
    assert '1 passed' in output.read_text()
