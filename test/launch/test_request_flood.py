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

"""A flood of requests, goals and transforms opens no gap, and ~/stop is answered within it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import subprocess
import sys
import time

from geometry_msgs.msg import TransformStamped
import pytest
from rbd_env.pace import patient
from standing import Standing
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

FLOODER = Path(__file__).with_name('request_flooder.py')
PER_SECOND, SECONDS = 6000.0, 3.0
LINES = 100  # per second, of all places together


@pytest.fixture
def system() -> Iterator[Standing]:
    """Give a controller that runs and hears from TF where down is."""
    made = Standing({'mode': 'computed_torque', 'gravity_source': 'tf', 'gravity_frame': 'world',
                     'gravity_timeout': 2.0})
    node = made.client.node
    publisher = node.create_publisher(TFMessage, '/tf', 10)

    def publish() -> None:
        row = TransformStamped(child_frame_id='base_link')
        row.header.frame_id, row.header.stamp = 'world', node.get_clock().now().to_msg()
        row.transform.rotation.w = 1.0
        publisher.publish(TFMessage(transforms=[row]))
    node.create_timer(0.01, publish)
    try:
        made.run()
        yield made
    finally:
        assert made.close() == 0


def test_flood_of_requests(system: Standing) -> None:
    """Thousands of requests per second make neither a gap nor a fault; a stop gets through."""
    client = system.client
    client.service(Trigger, 'stop')
    flooder = subprocess.Popen([sys.executable, str(FLOODER), str(PER_SECOND), str(SECONDS)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert flooder.stdout is not None
    flooder.stdout.readline()
    begin, lines = time.monotonic(), len(client.texts['log'])
    time.sleep(0.6 * SECONDS)
    gap, lines = system.largest_gap(begin), len(client.texts['log']) - lines
    seconds = time.monotonic() - begin
    assert client.last('state') == 'running' and client.last('fault') == ''
    asked, dropped = time.monotonic(), system.dropped
    answer = client.trigger('stop')
    took = time.monotonic() - asked
    sent = int(flooder.stdout.readline())
    print(f'{sent / SECONDS:.0f} requests per second, largest gap {1e3 * gap:.1f} ms, {lines} '
          f'lines in {seconds:.1f} s; stop answered after {1e3 * took:.0f} ms, '
          f'{system.dropped - dropped} datagrams dropped')
    assert sent > 0.2 * PER_SECOND * SECONDS
    assert gap < client.margin(begin)
    assert lines < LINES * (seconds + 1.0)
    assert answer.success and took < system.answer_margin(asked, dropped)
    client.wait_text('state', 'braking', asked)
    # it stays until now: answers to those who left take long
    flooder.communicate(timeout=patient(60.0))
