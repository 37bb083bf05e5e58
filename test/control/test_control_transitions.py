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
The table of the supervisor, walked through: every reachable situation with every event.

A situation is a supervisor with its state, causes and flags; times count as over or not. From each
one every event is tried, so that what is proved here holds for every order of events. The class
and the procedures of the step are walked through alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cache
import importlib.util
from itertools import product
from pathlib import Path
from typing import ClassVar, NamedTuple
from unittest import mock

import pytest
from rbd_ros.control.interface.causes import Cause, Reaction
from rbd_ros.control.supervisor.states import Due, State, Timing
from rbd_ros.control.former.safety.supervisor import Supervisor
from rbd_ros.control.supervisor.transitions import CONDITIONS, Event, ROWS, rows_of
from rbd_ros.control.supervisor import answers
from rbd_ros.control.supervisor import supervisor as procedures
from rbd_ros.control.supervisor.answers import SupervisorParameters
from rigs.step_supervisor import StepSupervisor

SILENT = (State.INACTIVE, State.PROBING, State.RELEASED, State.FAULT)
STOPPING = (State.BRAKING, State.LOST, State.RAMPING_DOWN, State.RELEASING)
#: one cause of each kind that conditions can tell apart
KINDS = (Cause.STATE_STALE, Cause.TRACKING, Cause.WRONG_MODEL, Cause.FROZEN, Cause.OPERATOR_STOP,
         Cause.DEAD_MAN, Cause.SIGNAL)
LONG = 5.0  # s, longer than every sequence
VALID = 50.0  # s for which a state may be used
CHOICES = [Timing(recover=recover, stop_action=stop, fault_action=fault, simulated=simulated)
           for recover, stop, fault, simulated in product(
               (False, True), ('hold', 'release'), ('hold', 'release'), (False, True))]


#: event, state and which conditions held: the number of the row that is taken, -1 for none
Seen = dict[tuple[Event, State, tuple[bool, ...]], int]


class Watched(Supervisor):
    """A supervisor that writes down which conditions held, and what followed."""

    seen: ClassVar[Seen] = {}

    def _answer(self, event: Event, steady: float) -> bool:
        self.steady, before = steady, self.state
        names = names_of(event, before)
        held = [CONDITIONS[name](self) for name in names]
        wanted = [{name.removeprefix('not '): not name.startswith('not ')
                   for name in row.conditions} for row in rows_of(event, before)]
        self.seen[event, before, tuple(held)] = next(
            (k for k, row in enumerate(wanted)
             if row.items() <= dict(zip(names, held, strict=True)).items()), -1)
        return super()._answer(event, steady)


class WatchedStep(StepSupervisor):
    """The procedures of the step, which write down the same: the row that they really take."""

    seen: ClassVar[Seen] = {}

    @classmethod
    @contextmanager
    def watching(cls) -> Iterator[None]:
        """Write down every answer."""
        answer, take, rows = answers.answer, answers._take, []

        def watched_take(x: procedures.Supervisor, p: SupervisorParameters, row: int) -> None:
            rows.append(row)
            take(x, p, row)

        def watched(x: procedures.Supervisor, p: SupervisorParameters, event: int,
                    steady: float) -> bool:
            rows.clear()
            before, what = tuple(State)[int(x.state)], tuple(Event)[event]
            taken = answer(x, p, event, steady)
            held = dict(zip(CONDITIONS, x.held, strict=True))
            number = list(rows_of(what, before)).index(ROWS[rows[0]]) if taken else -1
            cls.seen[what, before, tuple(
                bool(held[name]) for name in names_of(what, before))] = number
            return taken
        with (mock.patch.object(answers, '_take', watched_take),
              mock.patch.object(procedures, 'answer', watched)):
            yield


@cache
def names_of(event: Event, state: State) -> list[str]:
    """Return the conditions that decide about an event in a state."""
    return list(dict.fromkeys(
        name.removeprefix('not ') for row in rows_of(event, state) for name in row.conditions))


class Situation(NamedTuple):
    """What is told apart of a supervisor."""

    state: State
    final: bool
    blind: bool
    paused: bool
    only_lost: bool
    only_operator: bool
    distrusted: bool
    frozen: bool
    ramped: bool
    repeated: bool
    expired: bool


@dataclass
class Clocked:
    """A supervisor with its two clocks."""

    supervisor: Supervisor | StepSupervisor
    now: float = 100.0
    steady: float = 100.0

    def situation(self) -> Situation:
        """Return what is told apart."""
        s = self.supervisor
        return Situation(
            s.state, s.final, s._blind, s.paused, CONDITIONS['only lost'](s),
            CONDITIONS['only operator'](s), s.distrusted, s.frozen,
            s.blend >= 1.0, s.repeats >= s.timing.release_repeats, self.now > s._expiry)

    @property
    def causes(self) -> set[Cause]:
        """Return the causes that are kept."""
        return {fault.cause for fault in self.supervisor.faults}

    def twin(self) -> Clocked:
        """Return another one in the same situation."""
        other = copy(self.supervisor)
        if isinstance(other, Supervisor):
            other.faults = self.supervisor.faults.copy()
        return Clocked(other, self.now, self.steady)

    def fresh(self, ready: bool, valid: float = VALID) -> None:
        """Report a fresh state, and advance as a cycle does."""
        s = self.supervisor
        s.fresh(self.now, self.steady, self.now + valid, ready)
        s.advance(self.now, self.steady)
        if s.live:
            s.computed()

    def wait(self, time: float, clock: float) -> None:
        """Let time pass without a state."""
        self.steady += time
        self.now += clock if self.supervisor.timing.simulated else time
        self.supervisor.advance(self.now, self.steady)


def activate(c: Clocked) -> None:
    """Activate where that is allowed."""
    if c.supervisor.state in SILENT:
        c.supervisor.activate(c.now, c.steady)
    else:
        with pytest.raises(RuntimeError, match='cannot activate while'):
            c.supervisor.activate(c.now, c.steady)


ACTIONS: dict[str, Callable[[Clocked], object]] = {
    'activate': activate,
    'reset': lambda c: c.supervisor.reset(c.now, c.steady),
    **{f'cause {cause.name}': lambda c, cause=cause: c.supervisor.fault(c.steady, cause)
       for cause in KINDS},
    'state': lambda c: c.fresh(True),
    'state of some joints': lambda c: c.fresh(False),
    'late state': lambda c: c.fresh(True, -1.0),
    'sent': lambda c: c.supervisor.published(c.steady, True),
    'sent, slewing': lambda c: c.supervisor.published(c.steady, False),
    'moment': lambda c: c.wait(0.001, 0.001),
    'long time': lambda c: c.wait(LONG, LONG),
    'state expires': lambda c: c.wait(2.0 * VALID, 2.0 * VALID),
    'clock stands': lambda c: c.wait(LONG, 0.0),
    'clock stands for long': lambda c: c.wait(100.0, 0.0),
    'clock back': lambda c: c.wait(0.001, -1.0),
}


class Step(NamedTuple):
    """One event in one situation."""

    timing: Timing
    action: str
    before: Situation
    after: Situation
    due: tuple[Due, Due]  # before and after
    causes: tuple[set[Cause], set[Cause]]


class Walk(NamedTuple):
    """Every step from every reachable situation, each situation, and how each event was met."""

    steps: list[Step]
    known: dict[tuple[Timing, Situation], Clocked]
    seen: Seen


def walk_through(kind: type[Watched | WatchedStep]) -> Walk:
    """Return every step from every reachable situation."""
    steps, known = [], {}
    for timing in CHOICES:
        start = Clocked(kind(timing))
        waiting = [start]
        known[timing, start.situation()] = start
        while waiting:
            here = waiting.pop()
            before, due, causes = here.situation(), here.supervisor.due, here.causes
            for name, act in ACTIONS.items():
                there = here.twin()
                act(there)
                after = there.situation()
                steps.append(Step(timing, name, before, after, (due, there.supervisor.due),
                                  (causes, there.causes)))
                if (timing, after) not in known:
                    known[timing, after] = there
                    waiting.append(there)
    return Walk(steps, known, kind.seen)


@pytest.fixture(scope='module', params=['class', 'step'])
def walk(request) -> Walk:
    """Return the walk through the class, and the one through the procedures."""
    if request.param == 'class':
        return walk_through(Watched)
    with WatchedStep.watching():
        return walk_through(WatchedStep)


def test_the_kinds_of_causes_are_complete():
    """Each cause looks to the conditions like one of those that are tried."""
    def kind(cause):
        return (cause.reaction, cause.by_operator, cause is Cause.DEAD_MAN,
                cause is Cause.WRONG_MODEL, cause is Cause.FROZEN)
    assert {kind(cause) for cause in Cause} == {kind(cause) for cause in KINDS}


def test_every_situation_is_visited(walk):
    """The walk reaches each state, and takes each row of the table."""
    steps, known, seen = walk
    assert {situation.state for _, situation in known} == set(State)
    # how much was looked at: a table that has lost its rows would be walked through in no time
    assert len(known) > 500 and len(steps) == len(known) * len(ACTIONS)
    for row in ROWS:
        for state in row.before:
            number = list(rows_of(row.event, state)).index(row)
            assert any(taken == number for (event, before, _), taken in seen.items()
                       if event is row.event and before is state), (row, state)


def test_each_condition_decides_alone(walk):
    """A row is taken that another situation, which differs in one condition, does not take."""
    for row in ROWS:
        for state in row.before:
            names, number = names_of(row.event, state), list(rows_of(row.event, state)).index(row)
            for name in row.conditions:
                place = names.index(name.removeprefix('not '))
                assert any(
                    walk.seen.get((event, before, (*held[:place], not held[place],
                                                   *held[place + 1:])), number) != number
                    for (event, before, held), taken in walk.seen.items()
                    if event is row.event and before is state and taken == number), (
                        row, state, name)


def test_no_torque_before_the_start_check(walk):
    """Torque begins with a state that every check has let pass, and with nothing else."""
    for step in walk[0]:
        if step.due[0] is Due.NOTHING and step.due[1] is not Due.NOTHING:
            begins = step.action == 'state' and step.before.state is State.PROBING
            assert begins or step.before.paused, step


def test_no_torque_after_release_without_a_request(walk):
    """A robot that was released stays so, unless every fault was a lost state and may recover."""
    for step in walk[0]:
        begins = step.after.state in (State.PROBING, State.RAMPING_IN)
        if step.before.state in (State.RELEASED, State.FAULT, State.INACTIVE):
            assert not begins or step.action in ('activate', 'reset'), step
        elif begins and step.after.state is not step.before.state:
            first = step.before.state is State.PROBING
            assert first or step.action in ('activate', 'reset') or (
                step.timing.recover and step.before.only_lost), step


def test_every_cause_is_kept_while_torque_is_sent(walk):
    """A cause is among the faults, but for motion of a robot that is released on request."""
    for step in walk[0]:
        if step.action.startswith('cause ') and step.due[0] is not Due.NOTHING:
            cause = Cause[step.action.removeprefix('cause ')]
            asked = (cause.reaction is Reaction.GOOD and step.before.final
                     and step.before.state in (State.RAMPING_DOWN, State.RELEASING))
            assert cause in step.causes[1] or asked, step
        if step.action not in ('activate', 'reset'):
            kept = step.causes[0] <= step.causes[1]
            assert kept or step.after.state in (State.RAMPING_IN, State.RUNNING), step


def test_a_final_request_is_never_undone(walk):
    """After it nothing but silence follows, until somebody activates."""
    for step in walk[0]:
        if step.before.final and step.action != 'activate' and not (
                step.action == 'reset' and step.before.state is State.FAULT):
            assert step.after.final, step
            assert step.after.state in (*STOPPING, *SILENT), step
            assert step.before.state in SILENT or step.after.state is not State.FAULT, step


def test_resets_by_value(walk):
    """A held robot ramps in, a fault is checked anew, and all else is refused."""
    for step in walk[0]:
        if step.action == 'reset':
            expected = {State.HOLDING: State.RAMPING_IN, State.FAULT: State.PROBING}.get(
                step.before.state, step.before.state)
            assert step.after.state is expected, step


def test_causes_by_value(walk):
    """What each kind of cause does to a start, to a hold and to a ramp."""
    lost, operator = (Cause.STATE_STALE,), (Cause.OPERATOR_STOP, Cause.DEAD_MAN)
    for step in walk[0]:
        if not step.action.startswith('cause '):
            continue
        cause, after = Cause[step.action.removeprefix('cause ')], step.after.state
        if step.before.state is State.PROBING:
            waits = cause in (*lost, Cause.DEAD_MAN)
            final = cause is Cause.SIGNAL
            assert after is (State.PROBING if waits else State.INACTIVE if final else
                             State.FAULT), step
        elif step.before.state is State.HOLDING:
            assert after is (State.LOST if cause in lost else State.HOLDING if cause in operator
                             else State.RAMPING_DOWN), step
        elif step.before.state is State.RAMPING_DOWN:
            assert after is State.RAMPING_DOWN, step
            assert step.after.blind is (step.before.blind or cause in lost), step


def test_a_lost_state_that_comes_back(walk):
    """It ends its own fault where that is allowed, and only there."""
    for step in walk[0]:
        if step.action == 'state' and step.before.state in (
                State.LOST, State.RAMPING_DOWN, State.RELEASING):
            again = step.timing.recover and step.before.only_lost
            assert (step.after.state is State.RAMPING_IN) is again, step
        if step.action in ('state of some joints', 'late state'):
            assert step.after.state is not State.RAMPING_IN or (
                step.before.state is State.RAMPING_IN), step


@pytest.mark.parametrize('clock', [1.0, 0.0])
@pytest.mark.parametrize('states', [False, True])
def test_every_sequence_ends_in_its_time(walk, states, clock):
    """From every situation a stop holds or ends in time, with states and without, clock or not."""
    step = 0.1
    for (timing, situation), start in walk[1].items():
        if situation.state not in STOPPING or timing.recover:
            continue
        rig = start.twin()
        s = rig.supervisor
        end = rig.steady + s.timing.longest_stop + step
        while s.state in STOPPING and rig.steady <= end:
            rig.wait(step, clock * step)
            if states and clock:
                rig.fresh(True)
            if s.due is not Due.NOTHING:
                s.published(rig.steady, False)  # never reached: the worst case
        assert s.state not in STOPPING, (situation, timing)


def test_the_documentation_is_the_table():
    """The list and the picture of the safety page are made from the rows."""
    folder = Path(__file__).parents[2] / 'docs'
    spec = importlib.util.spec_from_file_location('supervisor_page', folder / 'supervisor.py')
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    renew = 'renew them with ./run python docs/supervisor.py'
    assert (folder / 'safety.md').read_text() == made.page(), renew
    assert (folder / 'pictures' / 'supervisor.svg').read_text() == made.picture(), renew
    assert made.page().count('\n| ') > len(ROWS)
