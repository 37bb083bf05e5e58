# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
