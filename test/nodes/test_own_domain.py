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
