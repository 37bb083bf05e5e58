# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Signs of life of the client of a goal: whoever has asked for a motion is there to end it.

A client says that it will give signs, with the number of its goal and no time, before it asks for
the motion. Then it answers each feedback, with the stamp that this had: an answer that was kept
back on its way is as old as what it answers.
"""

from __future__ import annotations

import secrets
from typing import Any

from action_msgs.msg import GoalInfo
import numpy as np
from rclpy.node import Node

__all__ = ['ALIVE', 'ClientSigns']

#: name of the topic below that of the action
ALIVE = 'alive'


class ClientSigns:
    """
    Give signs of life to an action server, if it wants any.

    :param node: of the client.
    :param action: its name.
    """

    def __init__(self, node: Node, action: str) -> None:
        self._node, self._topic = node, f'{action}/{ALIVE}'
        self._publisher = node.create_publisher(GoalInfo, self._topic, 10)

    def are_heard(self) -> bool:
        """Return whether signs arrive, or nobody wants them."""
        return (self._publisher.get_subscription_count() > 0
                or self._node.count_subscribers(self._topic) == 0)

    def promise(self) -> Any:
        """Say that there will be signs; return the number for the goal that is asked for next."""
        sign = GoalInfo()
        sign.goal_id.uuid = np.frombuffer(secrets.token_bytes(16), np.uint8)
        self._publisher.publish(sign)
        return sign.goal_id

    def answer(self, message: Any) -> None:
        """
        Answer a feedback.

        :param message: as the action client brings it.
        """
        self._publisher.publish(GoalInfo(goal_id=message.goal_id,
                                         stamp=message.feedback.header.stamp))
