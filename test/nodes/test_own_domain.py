# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Tests share no ROS domain with each other, nor with nodes that somebody else started."""

import isolation
from isolation import is_in_use, own_domain, reserve_domain
import pytest
import rclpy


def test_a_domain_with_a_node_is_not_given_to_a_test(monkeypatch):
    """A node is seen by its port, whether or not a test started it; an ended one is not."""
    context = rclpy.Context()
    with own_domain() as domain:
        assert not is_in_use(domain)
        rclpy.init(context=context)
        node = rclpy.create_node('stranger', context=context)
        assert is_in_use(domain)
    monkeypatch.setattr(isolation, 'DOMAINS', (domain,))
    with pytest.raises(RuntimeError, match='are in use'):  # not reserved any more, but in use
        reserve_domain()
    node.destroy_node()
    context.shutdown()
    assert not is_in_use(domain)
