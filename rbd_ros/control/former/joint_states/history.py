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

"""Which messages had a joint so far, and why its state is too old: the text of a fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.control.former.joint_states.layout import Layout
from rbd_ros.control.former.safety.freshness import StateAge

__all__ = ['History']


class History(NamedTuple):
    """
    What was received up to now.

    :param layouts: kinds of messages, with the age of the last one of each.
    :param state_timeout: s, for joints that no message has brought.
    :param unreadable: messages whose bytes are no joint state.
    :param unreadable_at: control time of the last of them, s.
    :param unreadable_why: what was wrong with it.
    """

    layouts: Sequence[Layout]
    state_timeout: float
    unreadable: int
    unreadable_at: float
    unreadable_why: str

    def age_of(self, joint: int) -> StateAge | None:
        """Return the age of the last message with a joint; None if there was none."""
        ages = [layout.age for layout in self.layouts if joint in layout.target]
        return max(ages, key=lambda age: age.last_arrival, default=None)

    def lags(self, joint: int) -> bool:
        """Return whether the stamps of a joint have fallen behind their reception."""
        age = self.age_of(joint)
        return age is not None and age.excess > 0.5 * age.timeout

    def explain(self, joint: int, now: float) -> str:
        """Return why the state of one joint is too old, or never was."""
        age = self.age_of(joint)
        limit = age.timeout if age is not None else self.state_timeout
        if age is not None and now - age.last_arrival <= 0.5 * limit:
            return age.explain(now)
        text = 'in no message so far' if age is None else age.explain(now)
        if now - self.unreadable_at <= limit:
            return f'{text}; {self.unreadable} unreadable, the last one: {self.unreadable_why}'
        if any(now - layout.age.last_arrival <= 0.5 * limit for layout in self.layouts):
            text += ', while other messages arrive'
        return text
