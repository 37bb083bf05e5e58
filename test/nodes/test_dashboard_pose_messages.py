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
"""Poses of links reach the browsers as viser itself would send them."""

from ports import free_port
import pytest
from rbd_ros.view.node_pose import NodePose
from rbd_ros.view.server import start_server, stop_server


@pytest.fixture(scope='module')
def server():
    """Serve an empty scene."""
    made = start_server(port=free_port())
    yield made
    stop_server(made)


def sent(server, act):
    """Return the messages that are queued for the browsers meanwhile."""
    queued, queue = [], server.scene._websock_interface.queue_message
    server.scene._websock_interface.queue_message = queued.append
    try:
        act()
    finally:
        server.scene._websock_interface.queue_message = queue
    return queued


def test_what_is_sent_is_what_viser_sends(server):
    """The same messages, in the same order, and a handle that knows where it is."""
    plain, quick = (server.scene.add_frame(f'/{name}') for name in ('plain', 'quick'))
    place, turn = (0.1, -0.2, 0.3), (0.5, 0.5, -0.5, 0.5)

    def set_plainly():
        plain.position = place
        plain.wxyz = turn
    pose = NodePose(quick)
    expected, found = sent(server, set_plainly), sent(
        server, lambda: (pose.move(place), pose.turn(turn)))
    assert len(found) == 2
    for one, other in zip(expected, found, strict=True):
        assert type(one) is type(other)
        assert {**vars(one), 'name': '/quick'} == vars(other)
    assert tuple(quick.position) == place and tuple(quick.wxyz) == turn
