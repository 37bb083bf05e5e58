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

"""What several tests of nodes start: a node, the page of the arm, a controller."""

from __future__ import annotations

from collections.abc import Iterator

from isolation import own_domain
from node_rig import NodeRig
from page_rig import Desk, page
import pytest
import rclpy
from rclpy.node import Node


@pytest.fixture(scope='module')
def node() -> Iterator[Node]:
    """Give a node in a domain of its own."""
    with own_domain():
        rclpy.init()
        made = rclpy.create_node('test')
        yield made
        made.destroy_node()
        rclpy.shutdown()


@pytest.fixture(scope='module')
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Give the page of the arm."""
    with page(tmp_path_factory.mktemp('state')) as made:
        yield made


@pytest.fixture(scope='module')
def started(request: pytest.FixtureRequest) -> Iterator[NodeRig]:
    """Give a controller, with what ``VALUES`` of a file says, that serves all its tests."""
    rig = NodeRig(**getattr(request.module, 'VALUES', {}))
    yield rig
    rig.close()
