# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the robot that moves is the simulated one: what may move it without a held button."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from rclpy.node import Node

__all__ = ['is_simulated']


def is_simulated(node: Node, commands: str, joint_states: str, simulator: str) -> bool:
    """
    Return whether all joint states come from the simulator, which takes the commands.

    A simulator beside a real robot, as a twin of it or forgotten, does not make that simulated.

    :param node: that looks at who publishes.
    :param commands: topic of the controller.
    :param joint_states: topic that the controller listens to.
    :param simulator: full name of the simulator.
    """
    sources = _names(node.get_publishers_info_by_topic(joint_states))
    takers = _names(node.get_subscriptions_info_by_topic(commands))
    # its thread of machine code listens at a node of its own
    return sources == {simulator} and not takers.isdisjoint({simulator, f'{simulator}_loop'})


def _names(ends: Iterable[Any]) -> set[str]:
    """Return the full names of the nodes to which the ends of a topic belong."""
    return {f'{end.node_namespace.rstrip("/")}/{end.node_name}' for end in ends}
