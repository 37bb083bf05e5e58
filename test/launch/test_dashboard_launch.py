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
"""The dashboard is apart from the control loop: halted or killed, it opens no gap."""

from __future__ import annotations

from collections.abc import Iterator
import os
import signal
import subprocess
import time

import pytest
from standing import Standing

HALTED = 2.0  # s


@pytest.fixture
def system() -> Iterator[Standing]:
    """Give a controller that runs."""
    made = Standing({})
    try:
        made.run()
        yield made
    finally:
        assert made.close() == 0


def test_a_dashboard_that_halts_or_dies(system: Standing) -> None:
    """Commands go on at their pace while the page stands still, and when it is killed."""
    client = system.client
    page = subprocess.Popen(
        ['ros2', 'run', 'rbd_ros', 'dashboard', '--ros-args', '-p', 'port:=18471', '-p',
         'robot_description_file:=package://rbd_ros/urdf/seven_joint_arm.urdf'],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        assert page.stdout is not None
        assert any('open http://127.0.0.1' in line for line in page.stdout)
        gaps = {}
        for what, number in (('halted', signal.SIGSTOP), ('killed', signal.SIGKILL)):
            begin = time.monotonic()
            os.killpg(page.pid, number)
            time.sleep(HALTED)
            gaps[what] = system.largest_gap(begin)
            assert gaps[what] < client.margin(begin), what
    finally:
        os.killpg(page.pid, signal.SIGKILL)
        page.wait()
    print(', '.join(f'{what}: largest gap {1e3 * gap:.1f} ms' for what, gap in gaps.items()))
    assert client.last('state') == 'running' and client.last('fault') == ''
