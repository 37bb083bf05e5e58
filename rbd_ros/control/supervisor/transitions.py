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
The transitions of the supervisor, as a table: a transition stands nowhere else.

An event is met by the rows of the present state, from the top; the first one whose conditions all
hold is taken, and none means that nothing changes. A condition is a name, or ``not`` and a name,
of :data:`CONDITIONS`, so that a test can walk through every combination of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import enum
from typing import NamedTuple, Protocol

from rbd_ros.control.interface.causes import Cause, Fault, Reaction
from rbd_ros.control.supervisor.states import State, Timing

__all__ = ['CONDITIONS', 'Event', 'Row', 'ROWS', 'rows_of', 'Situation']


class Situation(Protocol):
    """What conditions look at when an event comes."""

    timing: Timing
    faults: list[Fault]  # causes so far
    cause: Cause  # of the event
    final: bool  # one of the causes so far ends in release
    ready: bool  # the state that arrives is usable, and torque may begin
    reached: bool  # the torque that was sent is the wanted one
    steady: float  # s
    ramp_until: float  # s, on the steady clock
    gain: float  # of the law, 0 to 1
    blend: float  # share of the ramp to the release torque
    repeats: int  # of the release torque

    @property
    def spent(self) -> float:
        """Return the time in this state, s."""

    @property
    def distrusted(self) -> bool:
        """Return whether the model has turned out to be wrong."""

    @property
    def frozen(self) -> bool:
        """Return whether a sensor is frozen."""


class Event(enum.Enum):
    """What the supervisor is told."""

    ACTIVATE = 'activation'
    RESET = 'reset'
    FAULT = 'any cause'
    FRESH = 'a fresh state'
    SENT = 'a torque was sent'
    TIME = 'time passes'


class Row(NamedTuple):
    """
    One transition.

    :param event: what happened.
    :param before: states in which it counts.
    :param conditions: all of them hold.
    :param after: the state that follows; None: the same one goes on.
    :param sets: what else is set, see the supervisor; '': nothing.
    """

    event: Event
    before: tuple[State, ...]
    conditions: tuple[str, ...]
    after: State | None
    sets: str = ''


#: Each condition by its name, as the supervisor sees it when the event comes.
CONDITIONS: dict[str, Callable[[Situation], bool]] = {
    # of the cause
    'final cause': lambda s: s.cause.reaction is Reaction.FINAL,
    'lost cause': lambda s: s.cause.reaction is Reaction.LOST,
    'good cause': lambda s: s.cause.reaction is Reaction.GOOD,
    'operator cause': lambda s: s.cause.by_operator,
    'dead-man cause': lambda s: s.cause is Cause.DEAD_MAN,
    # of the causes so far
    'final': lambda s: s.final,
    'only lost': lambda s: all(f.cause.reaction is Reaction.LOST for f in s.faults),
    'only operator': lambda s: all(f.cause.by_operator for f in s.faults),
    'distrusted': lambda s: s.distrusted,
    'frozen': lambda s: s.frozen,
    # of parameters
    'recover': lambda s: s.timing.recover,
    'stop holds': lambda s: s.timing.stop_action == 'hold',
    'fault holds': lambda s: s.timing.fault_action == 'hold',
    # of states and times
    'ready': lambda s: s.ready,
    'gains full': lambda s: s.gain >= 1.0,
    'brake_time over': lambda s: s.spent >= s.timing.brake_time,
    'hold_time over': lambda s: s.spent >= s.timing.hold_time,
    'ramp reached': lambda s: s.blend >= 1.0 and s.reached,
    'ramp overdue': lambda s: s.steady > s.ramp_until,
    'release sent': lambda s: (s.repeats >= s.timing.release_repeats
                               or s.spent > s.timing.longest_release),
}

_IDLE = (State.INACTIVE, State.PROBING, State.RELEASED, State.FAULT)
_WORK = (State.RAMPING_IN, State.RUNNING)

ROWS = (
    Row(Event.ACTIVATE, _IDLE, (), State.PROBING, 'begin'),

    Row(Event.RESET, (State.HOLDING,), (), State.RAMPING_IN, 'reset'),
    Row(Event.RESET, (State.FAULT,), (), State.PROBING, 'begin'),

    Row(Event.FAULT, (State.PROBING, State.RELEASED, State.FAULT), ('final cause',),
        State.INACTIVE),
    # the start just waits for the dead-man switch
    Row(Event.FAULT, (State.PROBING,), ('good cause', 'not dead-man cause'), State.FAULT),
    Row(Event.FAULT, (*_WORK, State.BRAKING, State.HOLDING), ('lost cause',), State.LOST,
        'count from last gravity'),
    Row(Event.FAULT, _WORK, (), State.BRAKING),
    # a fault of a held robot must not end in another hold
    Row(Event.FAULT, (State.HOLDING,), ('not operator cause',), State.RAMPING_DOWN, 'ramp down'),
    # the ramp goes on from what was last published
    Row(Event.FAULT, (State.RAMPING_DOWN,), ('lost cause',), None, 'go blind'),

    Row(Event.FRESH, (State.PROBING,), ('ready',), State.RAMPING_IN, 'start'),
    Row(Event.FRESH, (State.LOST, State.RAMPING_DOWN, State.RELEASING),
        ('ready', 'recover', 'only lost'), State.RAMPING_IN, 'ramp in'),

    Row(Event.SENT, (State.RAMPING_DOWN,), ('ramp reached',), State.RELEASING, 'count release'),
    Row(Event.SENT, (State.RELEASING,), (), None, 'count release'),

    Row(Event.TIME, (State.RAMPING_IN,), ('gains full',), State.RUNNING),
    # a final cause, a wrong model and a frozen sensor are none of the operator's
    Row(Event.TIME, (State.BRAKING,), ('brake_time over', 'only operator', 'stop holds'),
        State.HOLDING),
    Row(Event.TIME, (State.BRAKING,), (
        'brake_time over', 'not only operator', 'fault holds', 'not final', 'not distrusted',
        'not frozen'), State.HOLDING),
    Row(Event.TIME, (State.BRAKING,), ('brake_time over',), State.RAMPING_DOWN, 'ramp down'),
    Row(Event.TIME, (State.LOST,), ('hold_time over',), State.RAMPING_DOWN, 'ramp down blind'),
    # on a machine too slow for the rate limit
    Row(Event.TIME, (State.RAMPING_DOWN,), ('ramp overdue',), State.RELEASING),
    Row(Event.TIME, (State.RELEASING,), ('release sent', 'final'), State.RELEASED),
    Row(Event.TIME, (State.RELEASING,), ('release sent', 'recover', 'only lost'), State.PROBING,
        'forget state'),
    Row(Event.TIME, (State.RELEASING,), ('release sent',), State.FAULT),
)


def rows_of(event: Event, state: State) -> Iterator[Row]:
    """Return the rows that an event may take in a state, first one first."""
    return (row for row in ROWS if row.event is event and state in row.before)
