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

"""
Since when states have come in time: torque must not begin on states that are nearly too old.

A state is in time if neither its delay nor the silence before it has used up more than half
of what ``state_timeout`` leaves beyond one nominal period. After a start on such a state, the
other half is left before the state can be lost, whatever comes next.
"""

from __future__ import annotations

from rbd_ros.compiler.records import field, Record
from rbd_ros.control.joint_states.words import ArrivalWord
from rbd_ros.control.joint_states.sources import AgeLimits, bounded

__all__ = ['comes_in_time', 'in_time_for', 'Punctual', 'restart_punctual']


class Punctual(Record):
    """A run of states that came in time."""

    runs: float = field('', '', '1 if the last state came in time')
    since: float = field('', 's', 'control time of the first state of the run')
    late: float = field('', '', 'word for what was late last; 0: nothing')
    late_a: float = field('', 's', 'first number of its sentence')
    late_b: float = field('', 's', 'second number')


def restart_punctual(x: Punctual) -> None:
    """Begin with the next state."""
    x.runs, x.since, x.late, x.late_a, x.late_b = 0.0, 0.0, 0.0, 0.0, 0.0


def comes_in_time(x: Punctual, p: AgeLimits, now: float, left: float, excess: float,
                  fresh: int) -> bool:
    """
    Take one message of controlled joints.

    :param x: run of states.
    :param p: limits.
    :param now: control time of reception, s.
    :param left: s for which the states before this one could still have been used.
    :param excess: delay of the message above the smallest one, s.
    :param fresh: 1 if it is a state that may be used.
    :returns: whether it was in time; if not, the next one begins anew.
    """
    if x.runs > 0.0 and (not left >= p.late or now < x.since):
        x.late, x.runs = ArrivalWord.LATE_BEFORE, 0.0
        x.late_a, x.late_b = bounded(p.state_timeout - left), bounded(p.state_timeout - p.late)
        return False
    if not excess <= p.late:
        x.late, x.runs = ArrivalWord.LATE_STATE, 0.0
        x.late_a, x.late_b = bounded(excess), bounded(p.late)
        return False
    if fresh > 0 and x.runs == 0.0:
        x.runs, x.since = 1.0, now
    return x.runs > 0.0


def in_time_for(x: Punctual, now: float) -> float:
    """
    Return for how long every state has come in time, s.

    :param x: run of states.
    :param now: control time, s.
    """
    return now - x.since if x.runs > 0.0 else 0.0
