# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The controller does what was recorded; the recording has everything.

It was made of the objects that were the controller before it became one function.
"""

from __future__ import annotations

from functools import cache

from c_functions import COMPILER
import numpy as np
import pytest
from rbd_ros.control.supervisor.states import SupervisorState as State
from record_command import make, TOLERANCE
from recorded_c import CodeInC
from recorded_events import (
    CAUSES, Controller, Event, EVENTS, IDLE, MODES, Seen, STATES)
from recorded_robots import KINDS
from recorded_step import fixed_clock
from recorder import COLUMNS, compare, Comparison, Difference, record, Record, replay
from recording_file import _packed, _unpacked, Coverage, FILE, read, seeds
from sampling import whole
from scenarios import FIRST_FROZEN, Scenario

pytestmark = pytest.mark.slow

#: seed of an arm
ARM = 53

#: seed of a robot that torques move
FREE = 97

#: seed of the sample in C: a robot whose kernels are soon compiled
IN_C = 5

#: all that the supervisor can do from one event to the next, one step at a time
TRANSITIONS = {
    State.INACTIVE: (State.PROBING,),
    State.PROBING: (State.RAMPING_IN, State.FAULT, State.INACTIVE),
    State.RAMPING_IN: (State.RUNNING, State.BRAKING, State.LOST),
    State.RUNNING: (State.BRAKING, State.LOST),
    State.BRAKING: (State.HOLDING, State.RAMPING_DOWN, State.LOST),
    State.HOLDING: (State.RAMPING_IN, State.RAMPING_DOWN, State.LOST),
    State.LOST: (State.RAMPING_DOWN, State.RAMPING_IN),
    State.RAMPING_DOWN: (State.RELEASING, State.RAMPING_IN),
    State.RELEASING: (State.RELEASED, State.FAULT, State.PROBING, State.RAMPING_IN),
    State.RELEASED: (State.PROBING, State.INACTIVE),
    State.FAULT: (State.PROBING, State.INACTIVE)}


#: how goals ended: reached, given up, off the path, not reached in time, cancelled
GOALS = {1, 12, 15, 16, 21}


@cache
def recorded(seed: int) -> Record:
    """Return the record of a seed."""
    return dict(read([seed]))[seed]


def test_the_recording_has_everything() -> None:
    """Every cause, state, transition, mode and way to end a goal; requests in every state."""
    assert FILE.stat().st_size < 10e6
    found = Coverage.of(read(seeds()))
    assert found.cycles >= 200_000 and found.torques >= 100_000
    assert {cause.name for cause in CAUSES} == set(+found.causes)
    assert {state.name for state in STATES} == set(found.states)

    def seen(a: State, b: State) -> bool:
        # where ramp_time is 0 the law runs in the same event
        return any((a.name, c.name) in found.transitions for c in (
            (b, State.RUNNING) if b is State.RAMPING_IN else (b,)))
    missing = [(a.name, b.name) for a, others in TRANSITIONS.items() for b in others
               if not seen(a, b)]
    assert not missing
    assert all(found.modes[mode] > 1000 for mode in MODES)
    missing = [(kind, state.name) for kind in EVENTS for state in STATES
               if (kind, state.name) not in found.requests]
    assert not missing
    assert set(found.goals) >= GOALS, found.goals
    standing = Coverage.of(read([seed for seed in seeds() if seed >= FIRST_FROZEN]))
    assert standing.causes['FROZEN'] > 20 and standing.causes['TRACKING'] > 5


#: seeds with an intended difference since they were recorded, with its reason
INTENDED: dict[int, str] = {
    **dict.fromkeys((35, 49, 70, 114, 133, 135, 136, 138, 143, 144, 145, 147),
                    'a stop with a frozen sensor is shorter, and brakes what its torque has done'),
    **dict.fromkeys((112, 115, 117, 118, 121, 122, 126, 127, 128, 131, 139, 140, 148, 149, 150,
                     151, 152, 153),
                    'a sensor that is frozen is found by what its torque does to its joint'),
    **dict.fromkeys((30, 77), 'a joint stands by a coarse sensor against a torque that would '
                              'move it; this robot follows a path whatever it gets'),
    **dict.fromkeys((86, 129, 137, 141), 'a sensor repeats itself, then leaps further than its '
                                         'joint can go'),
    **dict.fromkeys((41, 99, 103, 110, 134),
                    'late states: each spring has the pace of its own inertia, a hold is soft for '
                    'as long as a law, and loads are observed between measurements'),
    **dict.fromkeys((1, 9, 21, 27, 28, 34, 38, 42, 48, 50, 51, 56, 57, 65, 76, 79, 85, 87, 93, 97,
                     100, 101, 104, 107, 108, 119, 120, 124),
                    'with a delay, or without velocities, g(q) is that of where the robot is when '
                    'its torque acts, and the spring of a barrier is as soft as its damper asks'),
    146: 'a joint that lags behind is not accused while the robot is pushed; then its sensor is'}

#: differences of such a seed at most, of some thousand events, but for causes that remain latched
MOST_INTENDED = 16


def is_intended(each: Difference) -> bool:
    """Return whether it is meant: a tick sends what remains of a torque that no state answers."""
    if (each.kind, each.column) == ('tick', 'sent'):
        return bool(each.found)
    return each.seed in INTENDED and each.column in ('torque', 'state', 'faults', 'notices')


@pytest.mark.sampled('recordings', 8)
@pytest.mark.parametrize('seed', seeds())
def test_the_controller_does_what_was_recorded(seed: int) -> None:
    """Its machine code: every state, and every torque."""
    with fixed_clock():
        scenario = Scenario(seed)
        found = replay(scenario, make(scenario), recorded(seed), Comparison(seed, TOLERANCE))
    others = [each for each in found.differences if not is_intended(each)]
    assert not others, others[0]
    apart = [each for each in found.differences if each.column != 'faults']
    assert len(apart) <= MOST_INTENDED, apart
    total = len(recorded(seed).columns['state'])
    assert found.events == total
    assert found.compared == total or found.differences  # apart until both rest


@pytest.mark.sampled('recordings', 1)
@pytest.mark.parametrize('seed', range(ARM, ARM + len(KINDS)))
def test_python_does_the_same_as_machine_code(seed: int) -> None:
    """The same states, and torques but for rounding; ``./run record --check --python`` all."""
    with fixed_clock():
        scenario = Scenario(seed, 600)
        found = compare(scenario, make(scenario), make(scenario, 'python'),
                        Comparison(seed, 1e-12))
    assert not found.differences, found.differences[0]
    assert found.torques > 100


@pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')
def test_the_c_code_does_the_same_as_machine_code() -> None:
    """Every state, and torques but for rounding; ``./run record --check --c`` does all seeds."""
    with fixed_clock():
        scenario = Scenario(IN_C, 1500)
        # gcc takes half the time for half the optimisation
        code = CodeInC(scenario, '-O2' if whole('recordings') else '-O1')
        made = make(scenario)
        found = code.check(made, lambda: record(scenario, made))
        assert not found.different, found.text
        assert found.steps >= 1500 and 0.0 < found.worst <= 1.0
        # another start of the same robot: its numbers are not those with which the code was made
        scenario = Scenario(IN_C + len(KINDS), 300)
        made = make(scenario)
        found = code.check(made, lambda: record(scenario, made))
    assert not found.different, found.text


class Nonsense:
    """Does nothing but send the same torque again and again."""

    def __init__(self, limits: np.ndarray) -> None:
        self.limits = limits

    def handle(self, event: Event) -> Seen:
        """Do the same whatever happens."""
        return Seen(3, 0, 0, 1, 0.5 * self.limits, 0, 0, 0)


def test_inputs_do_not_depend_on_the_controller_under_test() -> None:
    """A controller that does nonsense gets the recorded events, and is found out at once."""
    with fixed_clock():
        scenario = Scenario(FREE)
        controller: Controller = Nonsense(make(scenario).limits)
        found = replay(scenario, controller, recorded(FREE), Comparison(FREE, TOLERANCE))
    assert found.differences[0].event == 0
    assert found.events == len(recorded(FREE).columns['state'])


def test_any_difference_is_found() -> None:
    """Of the torque, by more than its tolerance, and of each column; then again after a rest."""
    right = Seen(3, 5, 1, 1, np.array([0.5, -0.5]), 0, 0, 0)
    rest = right._replace(state=IDLE[0], sent=0, torque=None)
    others = [right._replace(torque=right.torque + [0.0, 2.0 * TOLERANCE]),
              right._replace(torque=np.array([0.5, np.nan])),
              *(right._replace(**{name: 7}) for name in COLUMNS[1:])]
    for other in others:
        found = Comparison(0, TOLERANCE)
        for expected, seen in ((right, right), (right, other), (right, right), (rest, rest),
                               (right, right), (right, other)):
            found.note('state', expected._asdict(), expected.torque, seen, seen.torque)
        assert [each.event for each in found.differences] == [1, 5]
        assert (found.events, found.compared) == (6, 4)
    close = right._replace(torque=right.torque + 0.5 * TOLERANCE)
    found = Comparison(0, TOLERANCE)
    found.note('state', right._asdict(), right.torque, close, close.torque)
    assert not found.differences and found.worst > 0.0


def test_torques_are_stored_as_they_are() -> None:
    """Whatever torques there are, and none at all, come back from their planes of bytes."""
    random = np.random.default_rng(0)
    for shape in ((0, 3), (1, 2), (50, 4)):
        torque = random.integers(-3 * 10**9, 3 * 10**9, shape)
        np.testing.assert_array_equal(_unpacked(_packed(torque)), torque)
