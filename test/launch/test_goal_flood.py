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

"""A flood of goals, as fast as a client can send, ends no process and costs no torque."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys
import time

import pytest
from rbd_env.pace import patient
from standing import Standing
from std_srvs.srv import Trigger

FLOODER = Path(__file__).with_name('goal_flooder.py')
SECONDS = 4.0


@pytest.mark.parametrize('loop', ['native', 'executor'])
def test_flood_of_goals(loop: str) -> None:
    """The robot runs on, ~/stop is answered, and the process ends when it is asked to."""
    system = Standing({'mode': 'computed_torque', 'loop': loop})
    client = system.client
    try:
        system.run()
        client.service(Trigger, 'stop')
        flooder = subprocess.Popen([sys.executable, str(FLOODER), str(SECONDS)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert flooder.stdout is not None
        flooder.stdout.readline()
        begin = time.monotonic()
        sent = int(flooder.stdout.readline())
        gap = system.largest_gap(begin)
        asked, dropped = time.monotonic(), system.dropped
        answer = client.trigger('stop')
        took = time.monotonic() - asked
        print(f'{sent / SECONDS:.0f} goals per second, largest gap {1e3 * gap:.1f} ms, stop '
              f'answered after {1e3 * took:.0f} ms')
        assert sent > 500 * SECONDS / patient(1.0)
        assert system.process.poll() is None
        assert gap < client.margin(begin)
        assert answer.success and took < system.answer_margin(asked, dropped)
        client.wait_text('state', 'braking', asked)
        flooder.communicate(timeout=patient(60.0))
        assert system.process.poll() is None
    finally:
        code = system.close()
    assert code == 0
