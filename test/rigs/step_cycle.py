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
One cycle of the torque, in the order of the controller, with laws that are numbers.

It shows in which order the procedures of ``torque`` are called, and what is computed between them.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.cause_codes import CauseCode
from rbd_ros.control.supervisor.due import is_live
from rbd_ros.control.interface.events import NOBODY, Result
from rbd_ros.control.torque.fade import arm_fade, cancel_fade
from rbd_ros.control.supervisor.supervisor import (
    activate, advance, computed, Diagnosis, fault, fresh, reset, stop)
from rbd_ros.control.torque.torque import (
    after_timer, begin_at, brake_torque, changed, gravity_known, law_failed, law_not_finite,
    live_torque, need, no_brake, send, turn_blind, wants_state)
from rbd_ros.control.torque.torque_records import Command, CommandLimits, Computed, Need
from rbd_ros.control.supervisor.transition_rows import DueCode

#: kinds of events
STATE, TIMER, SWITCH, BEGIN_AT, STOP, ACTIVATE, RESET = range(7)


class Given(Record):
    """One event, and what the laws will give."""

    kind: float = field('', '', 'of event')
    now: float = field('', 's', 'control time')
    steady: float = field('', 's', 'steady time')
    expiry: float = field('', 's', 'of the state')
    ready: float = field('', '', '1 if every joint is known')
    known: float = field('', '', '1 if the torque at the start is known')
    cause: float = field('', '', 'of a stop')
    reports: float = field('', '', 'cause that computing reports; -1: none')
    entered: float = field('', '', 'number of states that were announced')
    failing: Vector = field('3', '', 'errors of what is computed, by need')
    first: Vector = field('n', 'N.m', 'torque at the start')
    qd: Vector = field('n', 'rad/s', 'velocities')
    load: Vector = field('n', 'N.m', 'that the robot showed')
    law: Matrix = field('3 n', 'N.m', 'torque by need')
    gravity: Matrix = field('3 n', 'N.m', 'the same of g(q)')
    driver: Matrix = field('3 n', 'N.m', 'the same of the driver')
    states: Vector = field('64', '', 'those that were announced')


def announce(x: Command, p: CommandLimits, u: Given) -> None:
    """Write down a state that the supervisor has entered."""
    if changed(x, p):
        u.states[int(u.entered)] = x.torque.state
        u.entered += 1.0


def compute(x: Command, p: CommandLimits, c: Computed, u: Given, what: int) -> int:
    """Give the numbers for what is needed; an error changes nothing."""
    if u.failing[what] > 0.0:
        return int(u.failing[what])
    for j in range(len(c.law)):
        if what == Need.STOP:
            c.brake[j] = u.law[what, j]
        else:
            c.law[j] = u.law[what, j]
        c.gravity[j] = u.gravity[what, j]
        c.driver[j] = u.driver[what, j]
    if u.reports >= 0.0:
        stop(x.supervisor, p.supervisor, u.steady, int(u.reports), 0, NOBODY, 0.0, 0.0, 0.0)
    return 0


def evaluate(x: Command, p: CommandLimits, c: Computed, u: Given, due: int) -> bool:
    """Compute; after a failure fall back to what brakes; False without even gravity."""
    error = compute(x, p, c, u, need(due))
    if error != 0:
        law_failed(x, p, error, u.steady)
        announce(x, p, u)
        error = compute(x, p, c, u, Need.STOP)
    if gravity_known(x, p, c, error, u.steady):
        return True
    announce(x, p, u)
    return False


def take_state(x: Command, p: CommandLimits, c: Computed, d: Diagnosis, u: Given, y: Result,
               ) -> None:
    """Run one cycle on a proven fresh state."""
    fresh(x.supervisor, p.supervisor, d, u.now, u.steady, u.expiry, int(u.ready))
    announce(x, p, u)
    due = advance(x.supervisor, p.supervisor, d, u.now, u.steady)
    announce(x, p, u)
    if not wants_state(x, p, c, u.load, y, due, u.now, u.steady):
        return
    if not evaluate(x, p, c, u, due):
        turn_blind(x, p, c, d, u.load, y, u.now, u.steady)
        return
    computed(x.supervisor)
    if not is_live(x.supervisor):  # the computation itself reported that it cannot be trusted
        turn_blind(x, p, c, d, u.load, y, u.now, u.steady)
        return
    if live_torque(x, p, c, u.load, u.qd, u.now):
        send(x, p, y, u.now, u.steady, 1)
        return
    law_not_finite(x, p, u.steady)
    announce(x, p, u)
    cancel_fade(x.torque.fade)
    if not evaluate(x, p, c, u, DueCode.BRAKE):
        turn_blind(x, p, c, d, u.load, y, u.now, u.steady)
    elif brake_torque(x, c, u.load, u.qd):
        send(x, p, y, u.now, u.steady, 1)
    else:
        no_brake(x, p, u.steady)
        turn_blind(x, p, c, d, u.load, y, u.now, u.steady)


def run_event(x: Command, p: CommandLimits, c: Computed, d: Diagnosis, u: Given,
              y: Result) -> None:
    """Take one event."""
    y.send = 0.0
    u.entered = 0.0
    d.cause = CauseCode.STATE_STALE
    if u.kind == STATE:
        take_state(x, p, c, d, u, y)
    elif u.kind == TIMER:
        announce(x, p, u)
        due = advance(x.supervisor, p.supervisor, d, u.now, u.steady)
        announce(x, p, u)
        after_timer(x, p, c, u.load, y, due, u.now, u.steady)
    elif u.kind == SWITCH:
        arm_fade(x.torque.fade, p.torque.switch_time)
    elif u.kind == BEGIN_AT:
        begin_at(x.torque, int(u.known), u.first)
    elif u.kind == STOP:
        fault(x.supervisor, p.supervisor, u.steady, int(u.cause), 0, NOBODY, 0.0, 0.0, 0.0)
    elif u.kind == ACTIVATE:
        activate(x.supervisor, p.supervisor, y, u.now, u.steady)
    elif u.kind == RESET:
        reset(x.supervisor, p.supervisor, y, u.now, u.steady)
