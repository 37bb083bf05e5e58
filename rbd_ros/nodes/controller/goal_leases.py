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

"""Leases of goals, by the messages and the keys of the action."""

from __future__ import annotations

from collections.abc import Hashable

from action_msgs.msg import GoalInfo
from builtin_interfaces.msg import Time
import numpy as np
from rbd_ros.control.step.leases import judge_lease, Leases, note_feedback, take_sign
from rbd_ros.control.step.progress import Progress

__all__ = ['GoalLeases']


class GoalLeases:
    """Know which client is silent."""

    def __init__(self) -> None:
        """Begin with no goal."""
        self._leases = Leases({}).plain()

    def take(self, message: GoalInfo) -> None:
        """
        Take a sign of life.

        :param message: goal, and stamp of the feedback that it answers.
        """
        self._mean(bytes(message.goal_id.uuid), message.stamp)
        take_sign(self._leases)

    def tell(self, key: Hashable, stamp: Time, steady: float) -> None:
        """
        Notice that feedback was sent.

        :param key: of the goal.
        :param stamp: of the message.
        :param steady: steady time, s.
        """
        assert isinstance(key, bytes), 'keys of goals are their numbers in the action'
        self._mean(key, stamp)
        self._leases.steady = steady
        note_feedback(self._leases)

    def is_silent(self, progress: Progress, steady: float, most: float, *,
                  all_clients: bool) -> bool:
        """
        Return whether the client of the active goal has been silent for too long.

        :param progress: of that goal.
        :param steady: steady time, s.
        :param most: s.
        :param all_clients: whether it counts for those that have promised nothing, too.
        """
        leases = self._leases
        leases.steady, leases.most, leases.all_clients = steady, most, all_clients
        judge_lease(leases, progress)
        return leases.silent

    def _mean(self, key: bytes, stamp: Time) -> None:
        """Say which goal and stamp are meant."""
        self._leases.key[:] = np.frombuffer(key, np.uint32)
        self._leases.stamp_s, self._leases.stamp_ns = stamp.sec, stamp.nanosec
