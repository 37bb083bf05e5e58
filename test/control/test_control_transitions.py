# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The table of the supervisor, walked through: every reachable situation with every event.

A situation is what is told apart of the state of the supervisor; times count as over or not. From
each one every event is tried, on the procedures that the step is made of, so that what is proved
here holds for every order of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
import importlib.util
from itertools import product
import math
from pathlib import Path
import random
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.interface.causes import (
    Cause, CAUSES, is_by_operator, is_cause, is_final, is_good, is_lost, Reaction)
from rbd_ros.control.interface.events import Event as Happening, NONE, Result
from rbd_ros.control.interface.row import ContactReaction
from rbd_ros.control.parameters.given import Inputs
from rbd_ros.control.supervisor import answers, supervisor as procedures
from rbd_ros.control.supervisor.answers import (
    fill_table, Supervisor, SupervisorParameters)
from rbd_ros.control.supervisor.due import due_now, is_finished, is_live, is_stopping
from rbd_ros.control.supervisor.states import Due, StateCode, SupervisorState as State, Timing
from rbd_ros.control.supervisor.supervisor import (
    activate, advance, computed, Diagnosis, fault, fresh, published, reset,
    take_cause)
from rbd_ros.control.supervisor.transitions import Condition, condition_of, Row, ROWS, Trigger
from rbd_ros.control.torque.torque_records import fill_timing

DOCS = Path(__file__).parents[2] / 'docs'
STATES = tuple(State)
SILENT = (State.INACTIVE, State.PROBING, State.RELEASED, State.FAULT)
STOPPING = (State.BRAKING, State.LOST, State.RAMPING_DOWN, State.RELEASING)
HELD = (State.HOLDING, State.FLOATING, State.COMPLYING, State.RETRACTING)
#: one cause of each kind that conditions can tell apart
KINDS = (Cause.STATE_STALE, Cause.TRACKING, Cause.SECOND_SENDER, Cause.OPERATOR_STOP,
         Cause.DEAD_MAN, Cause.CONTACT, Cause.SIGNAL)
#: after which a robot is not held
BARRING = (Cause.WRONG_MODEL, Cause.FROZEN, Cause.SECOND_SENDER)
ASKED = ('activate', 'reset', 'reset, output taken')
LOST, RAMP, LONG = 0.4, 0.55, 5.0  # s: more than hold_time, than release_time, than every sequence
VALID = 50.0  # s for which a state may be used
CHOICES = [Timing(recover=recover, stop_action=stop, fault_action=fault, simulated=simulated,
                  contact=contact)
           for contact, recover, stop, fault, simulated in product(
               ('stop', 'float', 'comply', 'retract'), (False, True), ('hold', 'release'),
               ('hold', 'release'), (False, True))]

#: event, state and which conditions held: the number of the row that is taken, -1 for none
Seen = dict[tuple[Trigger, State, tuple[bool, ...]], int]


@cache
def rows_of(event: Trigger, state: State) -> tuple[Row, ...]:
    """Return the rows that an event may take in a state, first one first."""
    return tuple(row for row in ROWS if row.event is event and state in row.before)


@cache
def conditions_of(event: Trigger, state: State) -> list[Condition]:
    """Return the conditions that decide about an event in a state."""
    return list(dict.fromkeys(condition_of(name)[0] for row in rows_of(event, state)
                              for name in row.conditions))


class Situation(NamedTuple):
    """What is told apart of a supervisor."""

    state: State
    final: bool
    blind: bool
    paused: bool
    only_lost: bool
    only_operator: bool
    barred: bool
    ramped: bool
    repeated: bool
    returned: bool
    expired: bool


Kept = tuple[np.ndarray, float, float]


def filled(timing: Timing) -> SupervisorParameters:
    """Return the parameters of a supervisor with these times and choices."""
    p, g = SupervisorParameters({}), Inputs({'n': 1, 'm': 1})
    values = g.values
    for name in ('state_timeout', 'hold_time', 'brake_time', 'release_time', 'ramp_time',
                 'release_repeats', 'pause_limit', 'stop_time'):
        setattr(values, name, getattr(timing, name))
    g.simulated, values.nominal_rate = timing.simulated, 2.0 / timing.period
    values.recover_lost_state = timing.recover
    values.fault_action = ('hold', 'release').index(timing.fault_action)
    values.stop_action = ('hold', 'release').index(timing.stop_action)
    values.contact.reaction = ContactReaction[timing.contact.upper()]
    values.contact.retract_time = timing.retract_time
    fill_table(p)
    fill_timing(p, g)
    return p


class Subject:
    """The supervisor of the step and its two clocks; a situation can be kept and put back."""

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.x, self.p = Supervisor({}).plain(), filled(timing).plain()
        self.d, self.y = Diagnosis({}).plain(), Result({'n': 1}).plain()
        self.now = self.steady = 100.0

    def keep(self) -> Kept:
        """Return the whole situation."""
        return self.x.memory.copy(), self.now, self.steady

    def put_back(self, kept: Kept) -> None:
        """Go back to a situation."""
        self.x.memory[:], self.now, self.steady = kept

    @property
    def state(self) -> State:
        """Return the state."""
        return STATES[int(self.x.state)]

    @property
    def due(self) -> Due:
        """Return the kind of torque that is due."""
        return Due(due_now(self.x))

    @property
    def causes(self) -> set[Cause]:
        """Return the causes that are kept."""
        return {each.cause for each in self.x.faults.listed()}

    def situation(self) -> Situation:
        """Return what is told apart."""
        x = self.x
        return Situation(
            self.state, x.final > 0.0, x.blind > 0.0, x.paused > 0.0, x.faults.only_lost(),
            x.faults.only_operator(), any(x.faults.order[each] > 0.0 for each in BARRING),
            x.blend >= 1.0,
            x.repeats >= self.p.release_repeats, x.returned > 0.0, self.now > x.expiry)

    def fault(self, cause: Cause, doubted: float = 0.0) -> None:
        """Report a cause."""
        self.x.doubted = doubted
        fault(self.x, self.p, self.steady, tuple(Cause).index(cause), 0)

    def fresh(self, ready: int, valid: float = VALID) -> None:
        """Report a fresh state, and advance as a cycle does."""
        fresh(self.x, self.p, self.d, self.now, self.steady, self.now + valid, ready)
        advance(self.x, self.p, self.d, self.now, self.steady)
        if is_live(self.x):
            computed(self.x)

    def come_back(self) -> None:
        """Report that the way back has come to its end, as the step does while it lasts."""
        if self.state is State.RETRACTING:
            self.x.returned = 1.0
            self.wait(0.001, 0.001)

    def beside_another(self, act: Callable[[Subject], object]) -> None:
        """Do something while the output is not known to be free."""
        self.x.free_until = self.steady - 1e-6
        act(self)
        self.x.free_until = NONE

    def sent(self, reached: int) -> None:
        """Report that a torque was sent."""
        published(self.x, self.p, self.steady, reached)

    def wait(self, time: float, clock: float) -> None:
        """Let time pass without a state."""
        self.steady += time
        self.now += clock if self.timing.simulated else time
        advance(self.x, self.p, self.d, self.now, self.steady)


ACTIONS: dict[str, Callable[[Subject], object]] = {
    'activate': lambda s: activate(s.x, s.p, s.y, s.now, s.steady),
    'reset': lambda s: reset(s.x, s.p, s.y, s.now, s.steady),
    **{f'cause {cause.name}': lambda s, cause=cause: s.fault(cause) for cause in KINDS},
    'doubtful contact': lambda s: s.fault(Cause.CONTACT, 1.0),
    'way back ends': lambda s: s.come_back(),
    'state': lambda s: s.fresh(1),
    'state, output taken': lambda s: s.beside_another(lambda s: s.fresh(1)),
    'reset, output taken': lambda s: s.beside_another(ACTIONS['reset']),
    'state of some joints': lambda s: s.fresh(0),
    'late state': lambda s: s.fresh(1, -1.0),
    'sent': lambda s: s.sent(1),
    'sent, slewing': lambda s: s.sent(0),
    'moment': lambda s: s.wait(0.001, 0.001),
    'time of a loss': lambda s: s.wait(LOST, LOST),
    'time of a ramp': lambda s: s.wait(RAMP, RAMP),
    'long time': lambda s: s.wait(LONG, LONG),
    'state expires': lambda s: s.wait(2.0 * VALID, 2.0 * VALID),
    'clock stands': lambda s: s.wait(LONG, 0.0),
    'clock stands for long': lambda s: s.wait(100.0, 0.0),
    'clock back': lambda s: s.wait(0.001, -1.0),
}


class Step(NamedTuple):
    """One event in one situation."""

    timing: Timing
    action: str
    before: Situation
    after: Situation
    due: tuple[Due, Due]  # before and after
    causes: tuple[set[Cause], set[Cause]]
    recovered: set[Cause]  # causes that the step has ended by itself


class Walk(NamedTuple):
    """Every step from every reachable situation, each situation, and how each event was met."""

    steps: list[Step]
    known: dict[tuple[Timing, Situation], Kept]
    seen: Seen


@contextmanager
def watch(seen: Seen) -> Iterator[None]:
    """Write down how each event is met: which conditions held, and the row that is taken."""
    answer, take, rows = answers.answer, answers._take, []

    def watched_take(x: Supervisor, p: SupervisorParameters, row: int) -> None:
        rows.append(row)
        take(x, p, row)

    def watched(x: Supervisor, p: SupervisorParameters, event: int, steady: float) -> bool:
        rows.clear()
        before, what = STATES[int(x.state)], Trigger(event)
        taken = answer(x, p, event, steady)
        held = tuple(x.held[each] > 0.0 for each in conditions_of(what, before))
        seen[what, before, held] = rows_of(what, before).index(ROWS[rows[0]]) if taken else -1
        return taken
    with (mock.patch.object(answers, '_take', watched_take),
          mock.patch.object(procedures, 'answer', watched)):
        yield


def walk_through(subject: Subject, walk: Walk) -> None:
    """Take every step from every situation that can be reached with one choice of times."""
    timing, waiting = subject.timing, [subject.keep()]
    walk.known[timing, subject.situation()] = waiting[0]
    while waiting:
        here = waiting.pop()
        subject.put_back(here)
        before, due, causes = subject.situation(), subject.due, subject.causes
        for name, act in ACTIONS.items():
            subject.put_back(here)
            act(subject)
            after = subject.situation()
            walk.steps.append(Step(timing, name, before, after, (due, subject.due), (
                causes, subject.causes), {each.cause for each in subject.x.recovered.listed()}))
            if (timing, after) not in walk.known:
                walk.known[timing, after] = subject.keep()
                waiting.append(walk.known[timing, after])


@pytest.fixture(scope='module')
def walk() -> Walk:
    """Return the walk."""
    found = Walk([], {}, {})
    with watch(found.seen):
        for timing in CHOICES:
            walk_through(Subject(timing), found)
    return found


# -- the walk is complete -------------------------------------------------------------------------

def test_the_kinds_of_causes_are_complete():
    """Each cause looks to the conditions like one of those that are tried, and has its number."""
    def kind(cause: Cause) -> tuple[object, ...]:
        return (cause.reaction, cause.by_operator, cause is Cause.DEAD_MAN,
                cause in BARRING, cause is Cause.CONTACT)
    assert {kind(cause) for cause in Cause} == {kind(cause) for cause in KINDS}
    for code, cause in enumerate(Cause):
        assert cause == code and is_cause(code) and is_by_operator(code) is cause.by_operator
        assert [is_lost(code), is_good(code), is_final(code)] == [
            cause.reaction is each for each in (Reaction.LOST, Reaction.GOOD, Reaction.FINAL)]
    assert not is_cause(-1) and not is_cause(CAUSES)


def test_every_situation_is_visited(walk):
    """The walk reaches each state and takes each row; the proof says how many steps it took."""
    steps, known, seen = walk
    assert {situation.state for _, situation in known} == set(State)
    for row in ROWS:
        for state in row.before:
            number = rows_of(row.event, state).index(row)
            assert any(taken == number for (event, before, _), taken in seen.items()
                       if event is row.event and before is state), (row, state)
    assert len(steps) == len(known) * len(ACTIONS)
    stated = f'{len(known):,} situations with {len(ACTIONS)} events each, {len(steps):,} in all'
    text = ' '.join((DOCS / 'developers' / 'safety_proof.md').read_text().split())
    assert stated in text, stated


def test_each_condition_decides_alone(walk):
    """A row is taken that another situation, which differs in one condition, does not take."""
    for row in ROWS:
        for state in row.before:
            deciding = conditions_of(row.event, state)
            number = rows_of(row.event, state).index(row)
            for name in row.conditions:
                place = deciding.index(condition_of(name)[0])
                assert any(
                    walk.seen.get((event, before, (*held[:place], not held[place],
                                                   *held[place + 1:])), number) != number
                    for (event, before, held), taken in walk.seen.items()
                    if event is row.event and before is state and taken == number), (
                        row, state, name)


@pytest.mark.parametrize('condition, base, changes', [
    (Condition.RAMP_REACHED, {'blend': 1.0, 'reached': 1.0}, {'blend': 0.999, 'reached': 0.0}),
    (Condition.RETRACTED, {'returned': 0.0, 'since': 100.0}, {'returned': 1.0, 'since': 98.0}),
    (Condition.RELEASE_SENT, {'repeats': 4.0, 'since': 100.0}, {'repeats': 5.0, 'since': 99.0})])
def test_each_part_of_a_condition_decides_alone(condition, base, changes):
    """A condition made of two parts changes with either of them."""
    def held(**numbers: float) -> float:
        subject = Subject(Timing())
        for name, value in (base | numbers).items():
            setattr(subject.x, name, value)
        subject.x.state = StateCode.BRAKING  # in which conditions are asked for
        answers.answer(subject.x, subject.p, Trigger.TIME, 100.0)
        return subject.x.held[condition]
    for name, value in changes.items():
        assert held(**{name: value}) != held()


def test_random_times_lead_nowhere_else(walk):
    """That times count as over or not is enough: events at any times reach known situations."""
    rng = random.Random(1)
    for k in range(96):
        subject = Subject(CHOICES[k % len(CHOICES)])
        for _ in range(60):
            time = rng.choice([0.0, 1e-3, 0.05, 0.3, 0.5, 2.0, 60.0]) * rng.random()
            subject.wait(time, rng.choice([time, time, 0.0, -0.1, 5.0 * time]))
            name = rng.choice([*ACTIONS, *['state', 'sent'] * 4])
            if rng.random() < 0.3:
                subject.fresh(rng.randrange(2), rng.choice([0.1, 1.0, -0.01]))
            else:
                ACTIONS[name](subject)
            assert (subject.timing, subject.situation()) in walk.known, (k, name)


# -- the five properties --------------------------------------------------------------------------

def test_no_torque_before_the_start_check(walk):
    """Torque begins with a state that every check has let pass, and with nothing else."""
    for step in walk.steps:
        if step.due[0] is Due.NOTHING and step.due[1] is not Due.NOTHING:
            begins = step.action == 'state' and step.before.state is State.PROBING
            assert begins or step.before.paused, step


def test_no_torque_begins_beside_another(walk):
    """While the output is not known to be free, nothing that was silent is sent, nor recovers."""
    for step in walk.steps:
        if step.action.endswith('output taken') and not step.before.paused:
            began = step.due[0] is Due.NOTHING and step.due[1] is not Due.NOTHING
            asked = step.action.startswith('reset') and step.before.state in HELD
            ramps = step.after.state is State.RAMPING_IN is not step.before.state
            assert not began and (not ramps or asked), step


def test_a_robot_of_two_senders_comes_to_its_end(walk):
    """What stops because somebody else sends is not held, whatever else is wrong."""
    assert any(step.after.barred for step in walk.steps)
    for step in walk.steps:
        assert not (step.after.barred and step.after.state in HELD), step


def test_no_torque_after_release_without_a_request(walk):
    """A robot that was released stays so, unless every fault was a lost state and may recover."""
    for step in walk.steps:
        begins = step.after.state in (State.PROBING, State.RAMPING_IN)
        if step.before.state in (State.RELEASED, State.FAULT, State.INACTIVE):
            assert not begins or step.action in ASKED, step
        elif begins and step.after.state is not step.before.state:
            first = step.before.state is State.PROBING
            assert first or step.action in ASKED or (
                step.timing.recover and step.before.only_lost), step


def test_every_cause_is_kept_while_torque_is_sent(walk):
    """
    A cause is among the faults, but for motion of a robot that is released on request.

    It stays there until a request, or until it is named among those that have ended.
    """
    for step in walk.steps:
        if step.action.startswith('cause ') and step.due[0] is not Due.NOTHING:
            cause = Cause[step.action.removeprefix('cause ')]
            asked = (cause.reaction is Reaction.GOOD and step.before.final
                     and step.before.state in (State.RAMPING_DOWN, State.RELEASING))
            assert cause in step.causes[1] or asked, step
        if step.action not in ASKED:
            assert step.causes[0] <= step.causes[1] or step.causes[0] <= step.recovered, step


def go_on(x: Supervisor, p: SupervisorParameters, d: Diagnosis, u: Vector) -> None:
    """Let time pass until a stop has ended: steps of both clocks, 1 with states, times, end."""
    while is_stopping(x) and u[4] <= u[5]:
        u[3] += u[1]
        u[4] += u[0]
        advance(x, p, d, u[3], u[4])
        if u[2] > 0.0:
            fresh(x, p, d, u[3], u[4], u[3] + 1.0, True)
            advance(x, p, d, u[3], u[4])
            if is_live(x):
                computed(x)
        if due_now(x) != Due.NOTHING:
            published(x, p, u[4], False)  # never reached: the worst case


@pytest.mark.parametrize('states, clock', [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_every_sequence_ends_in_its_time(walk, states, clock):
    """From every situation a stop holds or ends in time, with states and without, clock or not."""
    step, ended = 0.02, 0
    for timing in CHOICES:
        x, p, u = Supervisor({}), filled(timing), np.zeros(6)
        run = bind(go_on, x, p, Diagnosis({}), u)
        for (choice, situation), (memory, now, steady) in walk.known.items():
            if choice is timing and situation.state in STOPPING:
                x.memory[:] = memory
                u[:] = (step, step * (clock if timing.simulated else 1.0), states, now, steady,
                        steady + timing.longest_stop + step)
                run()
                assert STATES[int(x.state)] not in STOPPING, (situation, timing)
                ended += 1
    assert ended > 1000


def test_a_final_request_is_never_undone(walk):
    """After it nothing but silence follows, until somebody activates."""
    for step in walk.steps:
        if step.before.final and step.action != 'activate' and not (
                step.action == 'reset' and step.before.state is State.FAULT):
            assert step.after.final, step
            assert step.after.state in (*STOPPING, *SILENT), step
            assert step.before.state in SILENT or step.after.state is not State.FAULT, step


# -- single rows ----------------------------------------------------------------------------------

def test_requests_by_value(walk):
    """A silent robot may be activated, a held one ramps in, a fault is checked anew."""
    for step in walk.steps:
        before = step.before.state
        if step.action == 'reset':
            expected = {State.HOLDING: State.RAMPING_IN, State.FLOATING: State.RAMPING_IN,
                        State.COMPLYING: State.RAMPING_IN, State.FAULT: State.PROBING}.get(
                            before, before)
            assert step.after.state is expected, step
        elif step.action == 'activate':
            assert step.after.state is (State.PROBING if before in SILENT else before), step


def test_causes_by_value(walk):
    """What each kind of cause does to a start, to a hold and to a ramp."""
    lost, operator = (Cause.STATE_STALE,), (Cause.OPERATOR_STOP, Cause.DEAD_MAN)
    for step in walk.steps:
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


def test_contacts_by_value(walk):
    """Each answer where it is asked for; a second contact floats; a doubtful one is braked."""
    answers_of = {'stop': State.BRAKING, 'float': State.FLOATING, 'comply': State.COMPLYING,
                  'retract': State.RETRACTING}
    for step in walk.steps:
        before, after = step.before.state, step.after.state
        touched = step.action == 'cause CONTACT'
        if touched and before in (State.RAMPING_IN, State.RUNNING):
            assert after is answers_of[step.timing.contact], step
        elif touched and before is State.RETRACTING:
            assert after is State.FLOATING, step
        elif step.action == 'doubtful contact' and before in (
                State.RAMPING_IN, State.RUNNING, State.RETRACTING):
            assert after is State.BRAKING, step
        elif after is not before:  # nothing else leads there
            assert after not in (State.FLOATING, State.COMPLYING, State.RETRACTING), step


def test_the_way_back_ends(walk):
    """In a hold or a release, by its end or by its time; a lost state ends each reaction."""
    for step in walk.steps:
        if step.before.state not in (State.FLOATING, State.COMPLYING, State.RETRACTING):
            continue
        if step.before.state is State.RETRACTING and step.action in (
                'way back ends', 'long time'):
            holds = step.timing.fault_action == 'hold'
            assert step.after.state in (State.LOST, *STOPPING, State.FAULT) or (
                step.after.state is State.HOLDING) is holds, step
        if step.action in ('cause STATE_STALE', 'state expires') or (
                step.action == 'clock back' and step.timing.simulated):
            assert step.after.state in (*STOPPING, *SILENT), step


def test_a_lost_state_that_comes_back(walk):
    """It ends its own fault where that is allowed, and only there."""
    for step in walk.steps:
        if step.action == 'state' and step.before.state in (
                State.LOST, State.RAMPING_DOWN, State.RELEASING):
            again = step.timing.recover and step.before.only_lost
            assert (step.after.state is State.RAMPING_IN) is again, step
        if step.action in ('state of some joints', 'late state'):
            assert step.after.state is not State.RAMPING_IN or (
                step.before.state is State.RAMPING_IN), step


def test_causes_from_outside():
    """A final one counts in every state, another one while something runs, none that is none."""
    u = Happening({'n': 1, 'm': 1}).plain()
    for state, cause in product(StateCode, (Cause.OPERATOR_STOP, Cause.BAD_COMMAND, Cause.SIGNAL)):
        subject, other = Subject(Timing()), Subject(Timing())
        subject.x.state = other.x.state = state
        if cause is Cause.SIGNAL or not is_finished(other.x):
            other.fault(cause)
        u.cause, u.steady = tuple(Cause).index(cause), 100.0
        take_cause(subject.x, subject.p, u)
        assert (subject.situation(), subject.causes) == (other.situation(), other.causes)
    subject.x.state = StateCode.RUNNING
    for bad in (math.nan, math.inf, -1.0, 1e308, float(len(Cause))):
        u.cause = bad
        take_cause(subject.x, subject.p, u)
        assert subject.state is State.RUNNING
    u.cause, u.numbers[0], u.numbers[1], u.numbers[2] = 17.0, math.nan, math.inf, math.nan
    take_cause(subject.x, subject.p, u)
    assert subject.state is State.BRAKING and np.isfinite(subject.x.memory).all()


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_a_control_time_that_is_no_number_stops_the_robot(bad):
    """The law does not go on where nobody knows how old the state is."""
    subject = Subject(Timing())
    ACTIONS['activate'](subject)
    subject.fresh(1)
    assert subject.state is State.RAMPING_IN
    advance(subject.x, subject.p, subject.d, bad, subject.steady + 0.001)
    assert subject.state is State.LOST and subject.causes == {Cause.CLOCK_JUMP}


# -- what is written about it ---------------------------------------------------------------------

def made_page() -> Iterator[tuple[Path, str]]:
    """Return the files that are made from the table, and what they must be."""
    spec = importlib.util.spec_from_file_location('supervisor_page', DOCS / 'supervisor.py')
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.page().count('\n| ') > len(ROWS)
    yield DOCS / 'safety.md', made.page()
    yield DOCS / 'pictures' / 'supervisor.svg', made.picture()


def test_the_documentation_is_the_table():
    """The list and the picture of the safety page are made from the rows."""
    for path, text in made_page():
        assert path.read_text() == text, 'renew them with ./run python docs/supervisor.py'
    assert [code.name for code in StateCode] == [state.name for state in State]
