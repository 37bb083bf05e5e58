# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whatever stands in an event or in the parameters, the state of the controller stays legal.

A robot is brought into each state of the supervisor and into each mode. Then one number, or two,
of what the step is given is none, huge, tiny or negative for one step. After it, and for as long
as good numbers come again, every number of the state is finite, codes and counts are in their
ranges, torques are finite and within their limits, and a stop ends in its time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice, product
import math
from typing import NamedTuple

from _pytest.mark import ParameterSet
from c_functions import COMPILER
from c_step import CStep
import numpy as np
import numpy.typing as npt
import pytest
from rbd_ros.compiler.records import Record
from rbd_ros.control.interface.causes import Cause, CAUSES
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.joint_states.sources import SOURCES
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.laws.way_back import KEPT
from rbd_ros.control.modes import MODES
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references.goals import read_tolerances
from rbd_ros.control.references.joint_requests import Streamed
from rbd_ros.control.references.trajectory import read_points
from rbd_ros.control.supervisor.states import SupervisorState as State
from recorded_robots import controlled_robot, KINDS, law_graphs
from recorded_step import fixed_clock, StepController
from sampling import examples, some

Array = npt.NDArray[np.float64]

BAD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, -1.0)
PERIOD = 0.002
MOST = np.finfo(np.float64).max

#: one in so many of all cases is tried; no multiple of the number of bad numbers
SHARE = 13

STATES = tuple(State)

#: a sample of them has so much less
TENTH = 10

#: states in which nothing is left to be stopped
QUIET = (State.INACTIVE, State.PROBING, State.HOLDING, State.FLOATING, State.COMPLYING,
         State.RELEASED, State.FAULT)

#: numbers of the parameters of which only some are tried: many rows of one kind
LONG = ('command.supervisor.table', 'command.supervisor.first', 'laws.values')

#: codes and counts, and what they are below; all are whole and at least -1
BELOW = {
    'mode': len(MODES), 'laws.law': len(LawCode), 'laws.own': 1,
    'command.supervisor.state': len(STATES), 'command.torque.state': len(STATES),
    'contact.joint': 3, 'contact.axis': 6, 'way_back.first': KEPT, 'way_back.entries': KEPT + 1,
    'command.supervisor.cause': CAUSES, 'diagnosis.cause': CAUSES,
    'command.supervisor.faults.causes': CAUSES + 1, 'command.supervisor.faults.order': CAUSES + 1,
    'command.supervisor.recovered.causes': CAUSES + 1, 'states.sources.last': SOURCES,
    'states.motion.carrier': SOURCES, 'states.motion.paced': SOURCES,
    'states.motion.source': SOURCES, 'states.delays.taken': 4096, 'observer.sent.first': 256,
    'observer.sent.entries': 257, 'standstill.suspect.joint': 3, 'start.effort_count.kept': 1025,
    'start.interval_count.kept': 1025, 'references.joint.source': 4,
    'references.joint.path.kind': 3, 'states.sources.reason.word': 1000,
    'states.motion.reason.word': 1000,
    'states.sources.word': 1000, 'diagnosis.word': 1000, 'states.punctual.late.word': 1000}

#: numbers from 0 to 1
SHARES = ('command.supervisor.gain', 'command.supervisor.blend', 'command.torque.fade.share',
          'command.torque.start_blend')


def numbers(record: Record) -> list[str]:
    """Return the name of each number of a record, in the order of memory."""
    return [f'{path}[{k}]' if each.dims else path for path, each, view in record.walk()
            for k in range(view.size)]


class Scene(NamedTuple):
    """A robot in some state, and what can happen to it."""

    name: str
    x: Array
    p: Array
    ring: Array
    now: float


class Rig:
    """
    A controller that is driven by hand.

    :param backend: of the step: 'llvm', 'python', or 'c'.
    """

    def __init__(self, backend: str) -> None:
        kind, robot = KINDS['arm'], controlled_robot('arm')
        values = defaults() | {
            'joints': list(robot.joints), 'task.frame': robot.tip, 'task.axes': list(kind.axes),
            'nominal_rate': 1 / PERIOD, 'minimum_rate': 0.0, 'probe_count': 2, 'start.time': 0.02,
            'start.watch_time': 0.05, 'ramp_time': 0.03, 'brake_time': 0.03, 'hold_time': 0.02,
            'release_time': 0.02, 'stop_time': 0.3, 'release_repeats': 3, 'state_timeout': 0.04,
            'integral': [20.0], 'task.linear_integral': 10.0, 'observer_feedback': True,
            'friction.coulomb': [0.3], 'friction.viscous': [0.1], 'dead_man_timeout': 0.3,
            'payload.ramp_time': 0.05, 'reference.timeout': 0.1, 'effort_is_torque': False,
            'start.tolerance': 1.0, 'switch_time': 0.05, 'contact.reaction': 'report',
            'contact.force': [20.0], 'contact.energy_limit': 1.0, 'contact.retract_time': 0.1}
        self._recorded = StepController('arm', values, simulated=False,
                                        backend='llvm' if backend == 'c' else backend)
        self.controller = self._recorded.controller
        self.x, self.u, self.p = self.controller.x, self.controller.u, self.controller.p
        self.y, self.ring = self.controller.y, self.controller.ring
        self._step = self.controller.run
        if backend == 'c':
            self._step = self._read_before(
                CStep(self.controller, law_graphs('arm', self.controller.kernels)))
        self.limit = self.p.command.torque.limits.limit.tolist()
        self.is_limit = [name.startswith('command.torque.limits.limit')
                         for name in numbers(self.p)]
        self._after: dict[tuple[str, int], Array] = {}
        self.now, self._values = 1000.0, values
        self._names = tuple(robot.joints)
        self._home = np.array(list(kind.home.values()))
        self._noise = 1e-6 * np.random.default_rng(0).normal(size=(997, 3))
        self.templates: dict[int, Array] = {}
        self.controller.run = self._noting_step
        timing = self.controller.settings.timing()
        self.stop_time = (timing.brake_time + timing.hold_time + timing.longest_ramp
                          + timing.longest_release + 0.1)
        self.lower, self.upper = self._bounds()

    def _bounds(self) -> tuple[Array, Array]:
        """Return between what each number of the state is; finite ones."""
        assert {*BELOW, *SHARES} <= {path for path, _, _ in self.x.walk()}
        lower, upper = np.full(self.x.memory.size, -MOST), np.full(self.x.memory.size, MOST)
        at = 0  # fields come in the order of memory
        for path, each, view in self.x.walk():
            here = slice(at, at + view.size)
            if path in BELOW:
                lower[here], upper[here] = -1.0, BELOW[path] - 1.0
            elif each.text.startswith('1 '):
                lower[here], upper[here] = -1.0, 1.0
            elif path in SHARES:
                lower[here], upper[here] = 0.0, 1.0
            at += view.size
        return lower, upper

    def _read_before(self, step: Callable[[], object]) -> Callable[[], object]:
        """Return a step that gets events, no messages: Python reads these."""
        read, notes = self.controller.intake.bound(self.u, 'python'), self.controller.mail.notes

        def run() -> None:
            arrived, notes.arrived = notes.arrived, 0.0
            assert not arrived or read()
            step()
        return run

    def _noting_step(self) -> None:
        self._step()
        if self.u.kind != Kind.FAULT or Kind.FAULT not in self.templates:  # the operator's
            self.templates[int(self.u.kind)] = self.u.memory.copy()

    def take_state(self) -> None:
        """Let a state come, as from a message."""
        self.now += PERIOD
        noise = self._noise[int(self.now / PERIOD) % len(self._noise)]
        seconds = int(self.now)
        self.controller.take_state(self.now, self.now, self._names, self._home + noise,
                                   np.full(3, 1e-6), np.full(3, 1.0),
                                   (seconds, round(1e9 * (self.now - seconds))))

    def event(self, kind: int) -> None:
        """Fill an event as it came before, at the present time."""
        self.u.memory[:] = self.templates[kind]
        self.u.now = self.u.steady = self.now
        if kind == Kind.STATE:
            self.u.stamp_s = math.floor(self.now)
            self.u.stamp_ns = round(1e9 * (self.now - self.u.stamp_s))
            self.u.q[:] = self._home + self._noise[int(self.now / PERIOD) % len(self._noise)]
        elif kind == Kind.GRAVITY:
            self.u.numbers[3] = self.now

    def step(self, kind: int) -> None:
        """Let one good thing happen."""
        self.now += PERIOD
        self.event(kind)
        self._step()

    def ask(self, kind: int) -> None:
        """Let something happen that needs no numbers."""
        self.u.kind, self.u.now, self.u.steady = kind, self.now, self.now
        self.controller.run()

    def restore(self, scene: Scene) -> None:
        """Go back."""
        self.x.memory[:], self.p.memory[:], self.ring.memory[:] = scene.x, scene.p, scene.ring
        self.now = scene.now

    def scene(self, name: str) -> Scene:
        """Return the present state, with a name."""
        return Scene(name, self.x.memory.copy(), self.p.memory.copy(), self.ring.memory.copy(),
                     self.now)

    def until(self, state: State, timer: bool = False) -> None:
        """Let states come, or the timer, until the supervisor is in a state."""
        for _ in range(1000):
            if self.controller.state is state:
                return
            if timer:
                self.now += PERIOD
                self.controller.take_timer(self.now, self.now)
            else:
                self.controller.press(self.now, True)
                self.take_state()
        raise AssertionError(f'{state}: {self.controller.state}, {self.controller.faults()}, '
                             f'{list(self.controller.events)}')

    def scenes(self) -> list[Scene]:
        """Bring the robot everywhere; afterwards every kind of event has a template."""
        c, found = self.controller, [self.scene('inactive')]
        c.take_unreadable(self.now, self.now, 'three bytes')
        self.ask(Kind.LOOK)
        c.activate(self.now, self.now)
        self.take_state()
        for _ in range(4):
            self.take_state()
        found.append(self.scene('probing'))
        c.fault(self.now, Cause.OPERATOR_STOP)
        c.press(self.now, True)
        c.reset(self.now, self.now)
        self.until(State.RAMPING_IN)
        self.take_state()
        found.append(self.scene('ramping in'))
        self.until(State.RUNNING)
        found += [self._running(mode) for mode in MODES]
        running = found[-1]
        self.ask(Kind.ADVANCE)
        self.ask(Kind.LEAVE)
        self.ask(Kind.CARRY)
        self.restore(running)
        c.fault(self.now, Cause.OPERATOR_STOP)
        self.until(State.BRAKING)
        self.take_state()
        found.append(self.scene('braking'))
        self.until(State.HOLDING)
        for _ in range(5):
            self.take_state()
        found.append(self.scene('holding'))
        found += [self._touched(running, *each) for each in (
            ('float', State.FLOATING), ('comply', State.COMPLYING),
            ('retract', State.RETRACTING))]
        for state in (State.LOST, State.RAMPING_DOWN, State.RELEASING, State.FAULT):
            if state is State.LOST:
                self.restore(running)
            self.until(state, timer=True)
            found.append(self.scene(state.value))
        self.restore(running)
        c.fault(self.now, Cause.DEACTIVATED)
        self.until(State.RAMPING_DOWN)
        self.take_state()
        found.append(self.scene('ramping down with states'))
        self.until(State.RELEASED)
        return [*found, self.scene('released')]

    def _touched(self, running: Scene, reaction: str, state: State) -> Scene:
        """Answer a contact."""
        self.restore(running)
        self._recorded.change({'contact.reaction': reaction})(self.now, self.now)
        self.take_state()
        self.controller.fault(self.now, Cause.CONTACT)
        self.until(state)
        self.take_state()
        assert self.controller.state is state
        return self.scene(state.value)

    def _running(self, mode: str) -> Scene:
        """Run in a mode, with references on their way."""
        c = self.controller
        self._recorded.change({'mode': mode})(self.now, self.now)
        self.take_state()
        if mode == 'computed_torque':
            joints = self._names
            q = (self._home + 0.05).tolist()
            for of, numbers in zip(Streamed, (q, [0.01] * 3), strict=True):
                c.take_stream(self.now, self.now, numbers, of)
                self.take_state()
            c.take_points(self.now, self.now, read_points(joints, joints, [0.0], [q], [], []),
                          self.now)
            self.take_state()
            knots = read_points(joints, joints, [0.2, 0.4], [q, self._home.tolist()],
                                [[0.0] * 3] * 2, [])
            tolerances = read_tolerances(joints, c.settings.tolerances(), (), (), 0.1)
            c.pursue(self.now, self.now, knots, self.now, 'first', tolerances)
            c.cancel(self.now, self.now, 'first')
            c.pursue(self.now, self.now, knots, self.now, 'second', tolerances)
        elif mode == 'operational_space':
            c.hold(self.now, self.now)
            c.take_twist(self.now, self.now, [0.0, 0.0, 0.0, 0.01, 0.0, 0.0])
            c.take_wrench(self.now, self.now, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
            tip = self.x.references.task.pose
            c.take_pose(self.now, self.now, list(tip.position + 0.01), list(tip.orientation))
            c.take_payload(self.now, self.now, np.array([0.5] + 9 * [0.0]))
            self.ask(Kind.WEIGH)
            c.take_gravity(self.now, self.now, self.now, np.array([0.0, 0.0, -1.0]))
            c.refuse(self.now, self.now, 'refused')
            c.know_output(self.now, self.now, 1e6)
            c.take_reading(self.now, self.now, [0.1] * 6, (int(self.now), 0))
            self.ask(Kind.TARE)
            c.pause(self.now, self.now, paused=True)
        for _ in range(5):
            c.press(self.now, True)
            self.take_state()
        self.controller.take_timer(self.now, self.now)
        assert self.controller.state is State.RUNNING, (mode, c.faults(), list(c.events))
        return self.scene(mode)

    # -- what must hold ------------------------------------------------------------------------

    def wrong(self, limited: bool = True) -> str:
        """Return what is not legal; '' if all is."""
        memory = self.x.memory
        legal = (self.lower <= memory) & (memory <= self.upper)  # never with NaN
        if not legal.all():
            return ', '.join(f'{name} = {memory[k]}' for k, name in enumerate(numbers(self.x))
                             if not legal[k])
        return self.sends_too_much(limited)

    def sends_too_much(self, limited: bool = True) -> str:
        """Return the torque if it is none, or beyond its limit."""
        if self.y.send == 0.0:
            return ''
        legal = all(abs(torque) <= (limit if limited else MOST)
                    for torque, limit in zip(self.y.torque.tolist(), self.limit, strict=True))
        return '' if legal else f'torque {self.y.torque}'

    def goes_on(self, p: Array) -> str:
        """
        Go on with good numbers, then stop; return what is not legal or does not end.

        :param p: the good parameters.
        """
        self.p.memory[:] = p
        self.step(Kind.PARAMETERS)
        for k in range(20):
            self.step(Kind.STATE)
            if (found := self.sends_too_much() if k % 5 else self.wrong()):
                return f'{k + 1} states later: {found}'
        self.step(Kind.FAULT)
        begin, k = self.now, 0
        while self.controller.state not in QUIET:
            if self.now - begin > self.stop_time:
                return f'still {self.controller.state} {self.now - begin:g} s after a stop'
            self.step(Kind.TIMER if k % 4 == 3 else Kind.STATE)
            if (found := self.sends_too_much() if k % 8 else self.wrong()):
                return f'in the stop: {found}'
            k += 1
        return self.wrong()

    def tried(self, scene: Scene, kind: int, bad: Mapping[tuple[str, int], float]) -> str:
        """
        Let something happen with bad numbers, then go on; return what is wrong with that.

        :param scene: before.
        :param kind: what happens.
        :param bad: numbers by 'u', 'p' or 'ring' and their place.
        """
        self.restore(scene)
        self.now += PERIOD
        self.event(kind)
        for (where, place), number in bad.items():
            self.given(where).memory[place] = number
        self._step()
        unlimited = any(where == 'p' and self.is_limit[place] for where, place in bad)
        if (found := self.wrong(limited=not unlimited)):
            return found
        after = self.good_after(scene, kind)
        if np.array_equal(self.x.memory, after):  # nobody has read them
            return ''
        return self.goes_on(scene.p)

    def good_after(self, scene: Scene, kind: int) -> Array:
        """
        Return the state after a good event.

        :param scene: before.
        :param kind: what happens.
        """
        key = scene.name, kind
        if key not in self._after:
            kept = self.x.memory.copy()
            self.restore(scene)
            self.step(kind)
            self._after = {key: self.x.memory.copy()}  # scenes and kinds come one after another
            self.x.memory[:] = kept
            self.now = scene.now + PERIOD
        return self._after[key]

    def names(self, bad: Mapping[tuple[str, int], float]) -> str:
        """Return what was tried, for a failure."""
        return ', '.join(f'{where}.{numbers(self.given(where))[place]} = {number}'
                         for (where, place), number in bad.items())

    def given(self, where: str) -> Record:
        """Return the event, the parameters, or the pieces of trajectories."""
        return {'u': self.u, 'p': self.p, 'ring': self.ring}[where]


@cache
def rig(backend: str) -> tuple[Rig, list[Scene]]:
    """Return a controller and the states that it has been in."""
    with fixed_clock():
        found = Rig(backend)
        return found, found.scenes()


def places(found: Rig) -> list[tuple[str, int]]:
    """Return all numbers that are given to the step, but few of long tables."""
    return [*(('u', k) for k in range(found.u.memory.size)), *(
        ('p', k) for k, name in enumerate(numbers(found.p))
        if not name.startswith(LONG) or k % 37 == 0)]


def kinds_of(where: str) -> tuple[int, ...]:
    """Return the events at which a number may be read: parameters are by few."""
    return tuple(Kind) if where == 'u' else (
        Kind.STATE, Kind.TIMER, Kind.PARAMETERS, Kind.ACTIVATE, Kind.SET_POINT, Kind.POSE,
        Kind.FAULT, Kind.PAYLOAD)


def test_the_robot_has_been_everywhere() -> None:
    """Every state of the supervisor, every mode and every kind of event is tried."""
    found, scenes = rig('llvm')
    states = set()
    for scene in scenes:
        found.restore(scene)
        assert not found.wrong(), scene.name
        states.add(found.controller.state)
        assert not found.goes_on(scene.p), scene.name
    assert states == set(State)
    assert {scene.name for scene in scenes} >= set(MODES)
    assert set(found.templates) == set(Kind)


def in_c(number: int) -> ParameterSet:
    """Return a case of the C code."""
    return pytest.param('c', number, marks=pytest.mark.skipif(
        COMPILER is None, reason='this machine has no C compiler'))


@pytest.mark.parametrize('backend, share', [
    ('llvm', SHARE), in_c(20 * SHARE + 1), ('python', 40 * SHARE + 1)])
def test_one_bad_number_leaves_a_legal_state(backend: str, share: int) -> None:
    """Each number of the event and of the parameters, in each state, at each kind of event."""
    found, scenes = rig(backend)
    every = ((scene, kind, at, number) for scene in scenes for kind in Kind
             for at in places(found) if kind in kinds_of(at[0]) for number in BAD)
    cases = list(islice(every, share - 1, None, share))
    less = 3 if backend == 'llvm' else TENTH  # machine code is quick
    for scene, kind, at, number in some('sweeps', cases, len(cases) // less):
        wrong = found.tried(scene, kind, {at: number})
        assert not wrong, (scene.name, kind.name, found.names({at: number}), wrong)


@pytest.mark.parametrize('backend, count', [('llvm', 4000), in_c(1000), ('python', 150)])
def test_two_bad_numbers_leave_a_legal_state(backend: str, count: int) -> None:
    """Pairs by chance, in states and at events by chance."""
    found, scenes = rig(backend)
    random = np.random.default_rng(22)
    every = places(found)
    for _ in range(examples('properties', count)):
        scene = scenes[random.integers(len(scenes))]
        kind = Kind.STATE if random.random() < 0.5 else Kind(random.integers(len(Kind)))
        chosen = random.choice(len(every), 2, replace=False)
        bad = {every[k]: BAD[random.integers(len(BAD))] for k in chosen}
        wrong = found.tried(scene, kind, bad)
        assert not wrong, (scene.name, kind.name, found.names(bad), wrong)


@pytest.mark.parametrize('backend, share', [('llvm', 2), in_c(11), ('python', 101)])
def test_a_bad_piece_of_a_trajectory_leaves_a_legal_state(backend: str, share: int) -> None:
    """One number of the ring, which stays bad, alone or with one of the event."""
    found, scenes = rig(backend)
    scene = next(each for each in scenes if each.name == 'computed_torque')
    random, events = np.random.default_rng(22), found.u.memory.size
    used = np.flatnonzero((scene.ring != 0.0) & (scene.ring != -1.0))  # no empty places
    cases = [(kind, {('ring', int(place)): number} | pair)
             for kind in (Kind.STATE, Kind.TIMER, Kind.HOLD, Kind.CANCEL, Kind.PIECES)
             for place in used for number in BAD
             for pair in ({}, {('u', int(random.integers(events))): random.choice(BAD)})]
    for kind, bad in some('sweeps', cases[::share], len(cases) // share // TENTH):
        wrong = found.tried(scene, kind, bad)
        assert not wrong, (kind.name, found.names(bad), wrong)


@pytest.mark.parametrize('name, kind', [
    ('p.mode', Kind.PARAMETERS), ('p.design.closed_loops', Kind.STATE),
    ('p.structure.index[1]', Kind.STATE), ('u.source', Kind.STATE)])
def test_numbers_that_choose_a_place_are_bounded(name: str, kind: Kind) -> None:
    """Plain Python says where a place is none."""
    found, scenes = rig('python')
    where, path = name.split('.', 1)
    place = numbers(found.given(where)).index(path)
    for scene in scenes[1::4]:
        for number in BAD:
            wrong = found.tried(scene, kind, {(where, place): number})
            assert not wrong, (scene.name, number, wrong)


def test_a_wrong_steady_time_keeps_no_stop_from_its_end() -> None:
    """One event from far ahead or long ago, and the time goes on as before."""
    found, scenes = rig('llvm')
    place = numbers(found.u).index('steady')
    cases = list(product(scenes, Kind, (-1.0, 0.0, 1e5, 1e17)))
    for scene, kind, steady in some('sweeps', cases, len(cases) // TENTH):
        wrong = found.tried(scene, kind, {('u', place): steady})
        assert not wrong, (scene.name, kind.name, steady, wrong)
