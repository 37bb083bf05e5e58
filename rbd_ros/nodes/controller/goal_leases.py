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

"""Goals whose clients give signs of life, and those whose clients have gone or stand still."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from action_msgs.msg import GoalInfo
from builtin_interfaces.msg import Time

__all__ = ['GoalLeases']

#: promises that are kept, of goals that have not come yet among them
_MOST = 100

#: without an answer that are kept: those of a lease of 60 s
_FEEDBACKS = 600


@dataclass
class _Lease:
    """What is known of the client of one goal."""

    promised: bool = False  # whether it has said that it gives signs
    told: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_FEEDBACKS))
    # stamp in ns and steady time in s of each feedback without an answer


class GoalLeases:
    """
    Know which client is silent.

    An answer names the stamp of its feedback, so that one that was kept back on its way is as old
    as that: a client is silent once a feedback has waited too long for an answer.
    """

    def __init__(self) -> None:
        """Begin with no goal."""
        self._leases: dict[Hashable, _Lease] = {}

    def take(self, message: GoalInfo) -> None:
        """
        Take a sign of life.

        :param message: goal, and stamp of the feedback that it answers.
        """
        lease, stamp = self._lease(bytes(message.goal_id.uuid)), _ns(message.stamp)
        lease.promised = True
        while lease.told and lease.told[0][0] <= stamp:
            lease.told.popleft()

    def tell(self, key: Hashable, stamp: Time, steady: float) -> None:
        """
        Notice that feedback was sent.

        :param key: of the goal.
        :param stamp: of the message.
        :param steady: steady time, s.
        """
        self._lease(key).told.append((_ns(stamp), steady))

    def excuse(self, key: Hashable) -> None:
        """
        Let what was told need no answer: the robot rests.

        :param key: of its goal.
        """
        if key in self._leases:
            self._leases[key].told.clear()

    def is_silent(self, key: Hashable, steady: float, most: float, *, all_clients: bool) -> bool:
        """
        Return whether the client of a goal has been silent for too long.

        :param key: of the goal.
        :param steady: steady time, s.
        :param most: s.
        :param all_clients: whether it counts for those that have promised nothing, too.
        """
        lease = self._leases.get(key)
        return (lease is not None and (lease.promised or all_clients) and bool(lease.told)
                and steady - lease.told[0][1] > most)

    def forget(self, key: Hashable) -> None:
        """
        Forget a goal that has ended.

        :param key: of it.
        """
        self._leases.pop(key, None)

    def _lease(self, key: Hashable) -> _Lease:
        if key not in self._leases:
            while len(self._leases) >= _MOST:
                del self._leases[next(iter(self._leases))]
            self._leases[key] = _Lease()
        return self._leases[key]


def _ns(stamp: Time) -> int:
    return stamp.sec * 10**9 + stamp.nanosec
