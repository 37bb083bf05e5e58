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

"""Joint states in procedures against the classes that they come from, on random messages."""

from collections import Counter
from collections.abc import Sequence
import math
import random
import re
from typing import Any

import numpy as np
import pytest

from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.former.delay_watch import DelayWatch
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.joint_states.layout import AgeLimits as OldLimits
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.former.plausibility import Plausibility
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.freshness import Punctuality
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.joint_states.arrival import (
    Arrival, arrive, fill_states, is_in_time, is_overdue, is_ready, refuse_unreadable,
    restart_states, StateLimits, States, time_left)
from rbd_ros.control.joint_states.words import arrival_texts, ArrivalWord
from rbd_ros.control.joint_states.delay_ages import ages_known, restart_delays, sort
from rbd_ros.control.joint_states.diagnosis import diagnose, diagnosis_text, missing_joints
from rbd_ros.control.interface.events import (
    Event, Joints, NEVER, NOBODY, NONE, Result, Structure)
from rbd_ros.control.joint_states.intake import fill_structure, Intake
from rbd_ros.control.joint_states.motion import accuse_implausible, take_bounds
from rbd_ros.control.joint_states.punctual import in_time_for
from rbd_ros.control.numerics.rate import restart_rate
from rbd_ros.control.joint_states.repeats import repeats_nothing, stuck
from rbd_ros.control.joint_states.sources import last_arrival
from rbd_ros.control.supervisor.supervisor import Diagnosis
from recorded_robots import controlled_robot

JOINTS = ('a', 'b', 'c', 'd', 'e', 'f')
CONTROLLED, PRESCRIBED, FIXED = ('c', 'a', 'd'), ('b', 'f'), ('e',)
SIZES = {'n': 3, 'm': 6, 's': 8}
TIMEOUT, GRID = 0.05, 512
#: kinds of messages
KINDS = [('d', 'c', 'x', 'a', 'b', 'f'), ('a', 'b', 'c'), ('f', 'd'), ('b', 'f'), ('f',),
         ('a', 'd', 'e'), ('x', 'y'), ('a', 'b', 'a'), ('d',), ('c', 'a', 'd'), ('d', 'a', 'c')]
RESTART, UNREADABLE, BOUNDS, BRAKES, RUNS, DIAGNOSE = range(1, 7)


def message(x: States, joints: Joints, u: Event, structure: Structure, p: StateLimits, y: Result,
            d: Diagnosis, told: Vector) -> None:
    """Let something happen, as the controller does; the first number is what."""
    kind = int(told[0])
    if kind == RESTART:
        restart_states(x, joints, p)
    elif kind == UNREADABLE:
        refuse_unreadable(x.sources, u, y)
    elif kind == BOUNDS:
        take_bounds(joints, p.motion)
    elif kind == BRAKES:
        restart_delays(x.delays, 0.02)
    elif kind == RUNS:
        x.repeats.learning = 0.0
    elif kind == DIAGNOSE:
        told[1] = diagnose(d, x.sources, x.motion, joints, structure, p.ages, u.now)
    else:
        _arrive(x, joints, u, structure, p, y, told)
    told[5] = stuck(x.repeats, 0.01)
    told[6] = 1.0 if repeats_nothing(x.repeats) else 0.0
    told[7] = in_time_for(x.punctual, u.now)
    told[8] = 1.0 if is_ready(joints, u.now) else 0.0
    told[9] = 1.0 if is_overdue(joints, u.now, NEVER) else 0.0


def _arrive(x: States, joints: Joints, u: Event, structure: Structure, p: StateLimits, y: Result,
            told: Vector) -> None:
    works, live = told[1] > 0.0, told[2] > 0.0
    left = 0.0
    if not works:
        left = time_left(x, joints, structure, u.now)
    arrival = arrive(x, joints, u, structure, p, y)
    told[2] = 1.0
    if not works and not is_in_time(x, p, u, left, arrival):
        told[2] = 0.0
        if not live:
            restart_delays(x.delays, p.ages.state_timeout)
            restart_rate(x.rate, joints)
    told[3] = 1.0 if x.sources.driven > 0.0 and ages_known(x.delays, p.ages, u) else 0.0
    accuse_implausible(x.motion, y)
    told[1] = arrival


class Old:
    """The classes, called as the controller calls them."""

    def __init__(self, limits: OldLimits) -> None:
        self.joints = JointMap(JOINTS, CONTROLLED, limits=limits, fixed_positions={'e': 0.3},
                               continuous=('a',))
        self.punctual = Punctuality(TIMEOUT, 1.0 / GRID)
        self.delays = DelayWatch(limits.stamp_offset or -1000.0, TIMEOUT)

    def take(self, now: float, names: tuple[str, ...], values: tuple[Any, ...], stamp: float,
             works: bool, live: bool) -> tuple[int, bool, Any]:
        """Take a message as the cycle does."""
        joints = self.joints
        left = 0.0 if works else joints.controlled_expiry - now
        arrival = joints.update(now, names, *values, stamp)
        layout, in_time = joints.last, True
        assert layout is not None
        if not works and layout.mask:
            in_time = self.punctual.note(now, left, layout.age.excess, arrival == Arrival.STATE)
            if not in_time and not live:
                self.delays.restart(TIMEOUT)
                joints.rate.restart()
        return int(arrival), in_time, self.delays.note(now, stamp) if layout.mask else None


class New:
    """The records, and the procedures that work on them."""

    def __init__(self, limits: OldLimits, backend: str) -> None:
        self.x, self.joints, self.u = States(SIZES), Joints(SIZES), Event(SIZES)
        self.structure, self.p, self.y = Structure(SIZES), StateLimits(SIZES), Result(SIZES)
        self.d, self.told = Diagnosis({}), np.zeros(10)
        self.intake = Intake(JOINTS, CONTROLLED, fixed=FIXED)
        self.structure.index[:] = [JOINTS.index(name) for name in CONTROLLED]
        for j, name in enumerate(JOINTS):
            self.structure.controlled[j] = name in CONTROLLED
            self.structure.measured[j] = name not in FIXED
            self.structure.continuous[j] = name == 'a'
        self.joints.q[4] = 0.3
        ages = self.p.ages
        ages.state_timeout, ages.prescribed_timeout = TIMEOUT, limits.prescribed_timeout
        ages.minimum_rate, ages.period = limits.minimum_rate, limits.period
        ages.probes, ages.velocity_filter = limits.probes, limits.velocity_filter
        ages.same_clock = float(limits.stamp_offset is not None)
        ages.clock_offset = limits.stamp_offset or -1000.0
        ages.late = 0.5 * (TIMEOUT - 1.0 / GRID)
        self.p.motion.message_time = 2.0 * limits.period
        self.texts = arrival_texts(self.intake)
        self._run = bind(message, self.x, self.joints, self.u, self.structure, self.p, self.y,
                         self.d, self.told, backend=backend)

    def happens(self, now: float, kind: int, works: bool = False, live: bool = False) -> None:
        """Run the procedures."""
        self.y.told = self.y.accused = 0.0
        self.u.now = self.u.steady = now
        self.told[:3] = kind, works, live
        self._run()

    def text(self, word: float, joint: float, *numbers: float) -> str:
        """Return the sentence of a word."""
        name = JOINTS[int(joint)] if joint >= 0.0 else ''
        return self.texts[int(word)](name, *map(float, numbers)) if word else ''

    @property
    def reason(self) -> str:
        """Return why the last message was not used."""
        x = self.x.sources
        return self.text(x.reason, x.reason_joint, x.reason_a, x.reason_b, x.reason_c)

    def notices(self) -> list[str]:
        """Return what is to be logged."""
        found = [self.text(*row) for row in self.y.words[:int(self.y.told)]]
        found += self.intake.notices
        self.intake.notices.clear()
        return found


def _limits(rng: random.Random) -> OldLimits:
    return OldLimits(
        state_timeout=TIMEOUT, prescribed_timeout=rng.choice([0.3, 1.0]), period=0.5 / GRID,
        minimum_rate=rng.choice([0.0, 100.0, 400.0]), probes=rng.choice([1, 3, 5]),
        stamp_offset=rng.choice([None, -1000.0]), velocity_filter=rng.choice([0.0, 0.01]))


class World:
    """A robot, its drivers and their faults, by chance."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.now, self.delay, self.ahead = 100.0, rng.choice([0.0, 0.004, 0.012, -5e-4]), 0.0
        self.kinds = rng.sample(KINDS, rng.choice([1, 2, 3, 5])) if seed % 4 else [KINDS[0]]
        self.q, self.qd = [rng.uniform(-3.0, 3.0) for _ in JOINTS], [0.0] * len(JOINTS)
        self.works, self.live, self.trouble = False, False, 0.0
        self.noise, self.coarse = rng.choice([0.0, 1e-5, 1e-5]), seed % 4 and rng.random() < 0.2
        self.queue, self.drift = 0, 0.0
        self.stamped, self.has_velocity = rng.random() < 0.85, rng.random() < 0.65
        self.toggles, self.sign, self.sent = seed % 8 == 4, 1.0, dict[str, float]()
        self.moves, self.frozen = seed % 2 > 0, dict[str, float | None]()
        self._stamps: dict[tuple[str, ...], float] = {}

    def pass_time(self) -> None:
        """Let the robot move for about a period; seldom let something change."""
        rng = self.rng
        dt = rng.uniform(0.8, 1.2) / GRID / len(self.kinds)
        if rng.random() < 0.05 * self.trouble:
            dt = rng.choice([0.01, 0.03, 0.06, 0.4, 1e-5, -0.003, -0.02, -0.5, 2.0])
            self.queue = 8 if dt > TIMEOUT else 0
            self.ahead -= self.queue / GRID
        elif self.queue:  # what has waited comes at once
            dt = rng.choice([1e-5, 0.18 / GRID])
            self.queue, self.ahead = self.queue - 1, self.ahead + 1.0 / GRID
        self.now += dt
        self.ahead += self.drift * dt
        for j in range(len(JOINTS)):
            self.qd[j] = 0.99 * self.qd[j] + rng.uniform(-0.1, 0.1) if self.moves else 0.0
            self.q[j] += self.qd[j] * max(dt, 0.0)
        if rng.random() < 0.005:
            self.works, self.live = rng.random() < 0.5, rng.random() < 0.5
            self.trouble = rng.choice([0.0, 0.0, 0.1, 1.0])
            self.frozen = {rng.choice(CONTROLLED): None} if rng.random() < 0.5 else {}
        if rng.random() < 0.05:
            self.drift = rng.choice([0.0, -0.6, 1.5]) * (rng.random() < 0.2)
        if rng.random() < 0.01:
            self.qd[rng.randrange(6)] = rng.choice([-8.0, 4.0, 30.0])
        if rng.random() < 0.006:
            self.ahead = rng.choice([0.0, 0.03, 0.2, -0.1, -0.02, -0.03])

    def message(self) -> tuple[tuple[str, ...], tuple[Any, ...], float]:
        """Return names, values and stamp of a message; often something is wrong with it."""
        rng, names = self.rng, self.rng.choice(self.kinds)
        q, qd, self.sign = [], [], -self.sign
        for name in names:
            j = JOINTS.index(name) if name in JOINTS else 0
            x = self.q[j] + (self.sign if self.toggles else rng.uniform(-1.0, 1.0)) * self.noise
            x = math.remainder(x, math.tau) if name == 'a' else x
            x = round(x * 8192) / 8192 if self.coarse else x
            if name in self.frozen:
                x = self.frozen[name] = x if self.frozen[name] is None else self.frozen[name]
            x = self.sent.get(name, x) if self.moves and rng.random() < 0.02 else x
            self.sent[name] = x
            q.append(x)
            qd.append(self.qd[j] + rng.uniform(-1e-3, 1e-3))
        effort = [rng.uniform(-5.0, 5.0) for _ in names] if rng.random() < 0.5 else []
        velocity = list(qd) if self.has_velocity else []
        stamp = math.floor((self.now - self.delay + 1000.0 + self.ahead) * GRID) / GRID
        if rng.random() < 0.2 * self.trouble:
            self._spoil(q, velocity, effort)
        if rng.random() < 0.05 * self.trouble:
            stamp = rng.choice([0.0, self._stamps.get(names, stamp), stamp - 0.25, stamp + 0.25])
            if q and rng.random() < 0.7:
                q[0] += rng.uniform(-0.2, 0.2)
        if not self.stamped:
            stamp = 0.0
        self._stamps[names] = stamp
        as_array = rng.random() < 0.5
        values = tuple(np.array(each) if as_array else each for each in (q, velocity, effort))
        return names, values, stamp

    def _spoil(self, q: list[float], qd: list[float], effort: list[float]) -> None:
        rng, k = self.rng, self.rng.randrange(len(q))
        what = rng.randrange(7)
        if what == 0:
            q[k] += rng.choice([0.02, 0.3, -4.0, 1e9])
        elif what == 1:
            q[k] = rng.choice([math.nan, math.inf, -math.inf])
        elif what == 2 and qd:
            qd[k] = rng.choice([math.nan, math.inf, 60.0, -1e15])
        elif what == 3:
            rng.choice([q, qd or q, effort or q]).pop()
        elif what == 4:
            qd.clear()
        elif what == 5 and effort:
            effort[k] = rng.choice([math.nan, 1e308, math.inf])
        elif what == 6:
            self.frozen = dict.fromkeys(JOINTS)


def _same(old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Return whether numbers agree; what never happened is finite now."""
    pairs = zip(_flat(old), _flat(new), strict=True)
    return all(a == b or abs(max(min(a, NONE), NEVER) - b) <= 1e-12 + 1e-11 * abs(b)
               for a, b in pairs)


def _flat(values: Sequence[Any]) -> list[float]:
    return [x for each in values
            for x in (each.tolist() if isinstance(each, np.ndarray) else [float(each)])]


def _loose(text: str) -> list[str]:
    """
    Return the words of a sentence.

    Lists of joints are in the order of the model now. A number whose next digit would be a five
    may be rounded the other way: the last digit that is shown is left out.
    """
    words = re.sub(r'(\d+\.\d*?)\d(?=\D|$)', r'\1', text).replace(',', '').replace(':', '')
    return sorted(words.split())


def _compare_joints(old: Old, new: New) -> None:
    """Compare everything that other parts read."""
    joints, motion, now = old.joints, old.joints.motion, new.joints
    effort = np.where(np.isfinite(joints.effort), joints.effort, 0.0)
    allowed = np.minimum(motion.allowed, NONE)
    compared = {
        'q': joints.q, 'qd': joints.qd, 'effort': effort, 'expiry': joints.expiry,
        'until': joints._expiry, 'effort_known': joints.effort_known, 'speed': motion.speed,
        'elapsed': motion.elapsed, 'calm': motion.calm, 'differenced': motion.differenced,
        'mismatch': motion.mismatch, 'allowed': allowed, 'rate': joints.rate.rate,
        'rate_low': joints.rate.low, 'repeated': motion.repeats.present,
        'unusual': motion.repeats.unusual}
    found = [getattr(now, name) for name in compared]
    assert _same(list(compared.values()), found), [
        (name, a, b) for (name, a), b in zip(compared.items(), found) if not _same([a], [b])]


def _compare_sources(old: Old, new: New) -> None:
    """Compare what is remembered of each kind of message."""
    before, after = [], []
    for names, layout in old.joints._layouts.items():
        if len(layout.target):
            k, age, x = new.intake._place_of[names], layout.age, new.x.sources
            before += [age.proven, age.unstamped, age.lead, age.excess, age._offset, age._count,
                       age._refused, layout.until, age.last_arrival]
            after += [x.proven[k], x.unstamped[k], x.lead[k], x.excess[k], x.offset[k],
                      x.probed[k], x.refused[k], x.until[k], last_arrival(x, k)]
    assert not before or _same(before, after)
    assert len(old.delays._ages) == new.x.delays.taken


def _compare_motion(old: Old, new: New) -> None:
    """Compare what is remembered of motion and repetitions."""
    motion, x, repeats, r = old.joints.motion, new.x.motion, old.joints.motion.repeats, (
        new.x.repeats)
    place = new.intake._place_of
    sources = [NOBODY if each is None else place[each.names]
               for each in (motion.carrier, motion._paced, *motion._source)]
    assert sources == [x.carrier, x.paced, *x.source]
    assert _same([motion._errors, motion._swaps, motion._count, *motion._pace, *motion._late,
                  *motion._fast, motion.patience.spent],
                 [x.errors, x.swaps, x.messages, x.pace, x.late, x.fast, x.patience.spent])
    assert _same([*repeats._last, *repeats._time, *repeats._turns, *repeats._count,
                  *repeats._alone, *repeats._coarse],
                 [r.last, r.time, r.turns, r.times, r.alone, r.coarse])


def _compare_rest(old: Old, new: New, now: float) -> None:
    """Compare what only this part reads, and the sentences."""
    joints, x = old.joints, new.x
    assert _loose(joints.reason) == _loose(new.reason), (joints.reason, new.reason)
    assert (joints.accepted, joints.rejected, joints.unreadable, joints.leaps) == (
        x.sources.accepted, x.sources.rejected, x.sources.unreadable, x.sources.leaps)
    said = [sorted(map(_loose, each)) for each in (joints.notices.take(), new.notices())]
    assert said[0] == said[1], said
    accused = [(int(row[0]), new.text(*row[1:])) for row in new.y.accusations[
        :int(new.y.accused)]]
    wrong = joints.motion.wrong if new.told[0] == 0.0 else ''
    assert accused == ([(list(Cause).index(Cause.IMPLAUSIBLE), wrong)] if wrong else [])
    punctual = x.punctual
    assert old.punctual.late.replace('inf s', '1e+18 s') == new.text(
        punctual.late, NOBODY, punctual.late_a, punctual.late_b, 0.0)
    found = joints.motion.repeats.stuck(0.01)
    assert _same(
        [NOBODY if found is None else found, joints.motion.repeats.calm, old.punctual.lasts(now),
         joints.ready(now), now > joints.expiry, old.punctual.runs],
        [*new.told[5:], punctual.runs])


def _bounds(rng: random.Random) -> tuple[Any, ...]:
    speed = np.array([2.0, rng.choice([1.0, 5.0]), rng.choice([3.0, math.inf])])
    tolerance = np.array([1e-3, 2e-3, rng.choice([1e-4, 1e-2])])
    return speed, tolerance, tolerance + 0.05 * speed, rng.choice([0.0, 0.03])


def _rarely(world: World, old: Old, new: New, counts: Counter[Any]) -> None:
    """Let something happen that is no message."""
    now, joints = world.now, old.joints
    kind = world.rng.choice([RESTART, UNREADABLE, UNREADABLE, BOUNDS, BRAKES, RUNS,
                             RUNS, *[DIAGNOSE] * 20])
    if kind == RESTART:
        joints.restart()
        old.punctual.restart()
        old.delays.restart(TIMEOUT)
        new.intake.restart()
    elif kind == UNREADABLE:
        joints.refuse_unreadable(now, 'three bytes')
        new.intake.refuse_unreadable(new.u, 'three bytes')
    elif kind == BOUNDS:
        _bind_bounds(world.rng, old, new)
    elif kind == BRAKES:
        old.delays.restart(0.02)
    elif kind == RUNS:
        joints.motion.repeats.learning = False
    else:
        now += world.rng.choice([0.0, 0.03, 0.06, 0.3])
    new.happens(now, kind)
    if kind == DIAGNOSE:
        cause, text = joints.diagnose(now)
        assert int(new.told[1]) == new.d.cause == list(Cause).index(cause)
        found = diagnosis_text(new.x, new.joints, new.structure, new.p.ages, new.intake, now)
        assert _loose(text) == _loose(found)
        assert bool(text) == bool(new.d.word)
        assert joints.missing(now) == [
            JOINTS[j] for j in missing_joints(new.joints, new.structure, now)]
        counts.update([cause.name, ArrivalWord(int(new.d.word)).name if text else 'unknown'])


def _bind_bounds(rng: random.Random, old: Old, new: New) -> None:
    speed, tolerance, mismatch, patience = _bounds(rng)
    old.joints.motion.bound(speed, tolerance, mismatch, patience)
    p = new.p.motion
    p.speed[:], p.tolerance[:] = np.minimum(speed, NONE), tolerance
    p.mismatch[:], p.patience = np.minimum(mismatch, NONE), old.joints.motion.patience.most


def _split(stamp: float) -> tuple[int, int]:
    return math.floor(stamp), round(1e9 * (stamp - math.floor(stamp)))


def _play(seed: int, backend: str, events: int, counts: Counter[Any]) -> None:
    """Let both take the same messages, and compare them after each one."""
    world = World(seed)
    limits = _limits(world.rng)
    old, new = Old(limits), New(limits, backend)
    _bind_bounds(world.rng, old, new)
    new.happens(0.0, BOUNDS)
    for k in range(events):
        world.pass_time()
        now, works, live = world.now, world.works, world.live
        if k == 300:
            world.moves, old.joints.motion.repeats.learning = True, False
            world.frozen = {'a': None}
            new.happens(now, RUNS)
        elif world.rng.random() < 0.02:
            _rarely(world, old, new, counts)
        else:
            names, values, stamp = world.message()
            arrival, in_time, ages = old.take(now, names, values, stamp, works, live)
            new.u.now = new.u.steady = now
            new.intake.read(new.u, names, *values, _split(stamp))
            new.happens(now, 0, works, live)
            results = (arrival, in_time, ages is not None)
            assert results == tuple(map(int, new.told[1:4])), (old.joints.reason, new.reason)
            if ages:
                assert _same(ages, (new.x.delays.middle, new.x.delays.high))
            counts.update([Arrival(arrival).name, ('in time', in_time), ('ages', bool(ages))])
        for row in (*new.y.words[:int(new.y.told)], [new.x.sources.reason]):
            counts[ArrivalWord(int(row[0])).name if row[0] else 'used'] += 1
        counts.update([('calm', new.joints.calm), ('low', new.joints.rate_low),
                       ('wrong', new.x.motion.wrong), ('stuck', new.told[5] >= 0.0),
                       ('unusual', bool(new.joints.unusual.any())),
                       ArrivalWord(int(new.x.punctual.late or ArrivalWord.NOT_PROVEN)).name])
        _compare_joints(old, new)
        _compare_sources(old, new)
        _compare_motion(old, new)
        _compare_rest(old, new, new.u.now)


#: what the classes have no word for, and what intake says
_NEW = {'BAD_TIME', 'TOO_MANY_KINDS'}


def test_machine_code_does_what_the_classes_did() -> None:
    """Every arrival, every reason, every notice and every diagnosis comes up."""
    counts: Counter[Any] = Counter()
    for seed in range(16):
        _play(seed, 'auto', 600, counts)
    wanted = {*[each.name for each in ArrivalWord], *[each.name for each in Arrival],
              'IMPLAUSIBLE', 'STATE_STALE', 'PRESCRIBED_STALE'} - _NEW
    wanted |= {(name, yes) for name in ('calm', 'low', 'wrong', 'stuck', 'unusual', 'ages',
                                        'in time') for yes in (False, True)}
    assert not [each for each in wanted if not counts[each]]


def test_python_does_what_the_classes_did() -> None:
    """The same procedures on floats of Python."""
    for seed in range(20, 24):
        _play(seed, 'python', 350, Counter())


_BAD = (math.nan, math.inf, -math.inf, 1e308, -1e308)


@pytest.mark.parametrize('backend', ['auto', 'python'])
@pytest.mark.parametrize('record', ['u', 'p'])
def test_the_state_stays_finite_whatever_comes(record: str, backend: str) -> None:
    """Numbers that are none, in each field of the event and of the limits, in good streams."""
    world, limits = World(8), OldLimits(state_timeout=TIMEOUT, period=0.5 / GRID, probes=1)
    old, new = Old(limits), New(limits, backend)
    _bind_bounds(world.rng, old, new)
    memory = getattr(new, record).memory
    world.kinds = [KINDS[0], KINDS[3]]
    used = len(memory) - (16 + 3 * SIZES['n'] if record == 'u' else 0)  # not those of requests
    for k in range(used):
        for bad in _BAD if backend == 'auto' else (math.nan, 1e308, -math.inf):
            _restarted(new)
            for repeat in range(8):
                world.now += 1.0 / GRID
                names, values, stamp = world.message()
                new.u.now = new.u.steady = world.now
                new.intake.read(new.u, names, *values, _split(stamp))
                new.told[:3], before = (0.0, repeat % 2, 0.0), memory[k]
                memory[k] = bad if repeat > 3 else before
                new.y.told = new.y.accused = 0.0
                new._run()
                memory[k] = before
                assert np.isfinite(new.x.memory).all(), (record, k, bad)
                assert np.isfinite(new.joints.memory).all(), (record, k, bad)
                assert new.told[1] in set(Arrival)
                assert -1.0 <= new.x.motion.source.min() <= new.x.motion.source.max() <= 7.0


def _restarted(new: New) -> None:
    new.told[0] = RESTART
    new._run()


@pytest.mark.parametrize('name', ['turret', 'crane', 'solved five-bar'])
@pytest.mark.parametrize('simulated', [False, True])
def test_limits_are_those_of_the_settings(name: str, simulated: bool) -> None:
    """Of robots with continuous, passive, fixed and solved joints."""
    robot = controlled_robot(name)
    settings = Settings(robot, defaults() | {
        'nominal_rate': 300.0, 'velocity_patience': 0.01, 'state_timeout': 0.07,
        'minimum_rate': 40.0, 'probe_count': 4, 'velocity_filter': 0.02}, simulated=simulated)
    old = robot.joint_map(settings.ages())
    Plausibility(settings, old).apply(settings)
    sizes = {'n': len(old.controlled), 'm': len(old.names), 's': 8}
    structure, joints, p = Structure(sizes), Joints(sizes), StateLimits(sizes)
    fill_states(p, settings)
    intake = fill_structure(structure, joints, settings)
    take_bounds(joints, p.motion)
    limits, motion, punctual = old.limits, old.motion, Punctuality(0.07, 1.0 / 300.0)
    assert _same([limits.state_timeout, limits.prescribed_timeout, limits.minimum_rate,
                  limits.period, limits.probes, simulated, limits.velocity_filter, punctual.most],
                 [p.ages.state_timeout, p.ages.prescribed_timeout, p.ages.minimum_rate,
                  p.ages.period, p.ages.probes, p.ages.same_clock, p.ages.velocity_filter,
                  p.ages.late])
    assert abs(p.ages.clock_offset - settings.clock_offset) < 60.0
    assert _same([motion._step, motion.patience.most, *motion._speed, *motion._tolerance,
                  *motion._most, *motion.allowed],
                 [p.motion.message_time, p.motion.patience, *p.motion.speed,
                  *p.motion.tolerance, *p.motion.mismatch, *joints.allowed])
    assert intake.joints == old.names and _same(old.q, joints.q)
    assert structure.index.tolist() == old.controlled.tolist()
    assert np.flatnonzero(structure.controlled).tolist() == sorted(old.controlled.tolist())
    assert np.flatnonzero(structure.measured).tolist() == sorted(
        [*old.controlled.tolist(), *old.prescribed.tolist()])
    assert set(np.flatnonzero(structure.continuous).tolist()) == old.motion._continuous


def test_one_kind_too_many_is_refused_and_named() -> None:
    """Unless one of the eight is silent; foreign messages and other orders take no place."""
    intake, u = Intake(JOINTS, CONTROLLED), Event(SIZES)
    kinds = [('a', *('x',) * k) for k in range(9)]
    for names in kinds[:8]:
        intake.read(u, ('y', *names[1:]), [0.0] * len(names))
        assert (u.source, u.defect) == (NOBODY, 0.0)
        intake.read(u, names, [0.0] * len(names))
        assert (u.source, u.renewed, u.defect) == (len(names) - 1, 1.0, 0.0)
    intake.read(u, kinds[8], [0.0] * 9)
    assert (u.source, u.defect) == (NOBODY, ArrivalWord.TOO_MANY_KINDS)
    assert arrival_texts(intake)[int(u.defect)]('', u.defect_a, 0.0, 0.0) == (
        '8 other kinds of messages have joints of the robot: messages of '
        'a, x, x, x, x, x, x, x and 1 more are ignored')
    u.steady = 0.9
    for names in [*kinds[:3], *kinds[4:8]]:
        intake.read(u, names, [0.0] * len(names))
        assert (u.renewed, u.defect) == (0.0, 0.0)
    u.steady = 1.1
    intake.read(u, kinds[8], [0.0] * 9)
    assert (u.source, u.renewed, u.defect) == (3, 1.0, 0.0)
    intake.read(u, kinds[3], [0.0] * 4)
    assert (u.source, u.defect) == (NOBODY, ArrivalWord.TOO_MANY_KINDS)


def test_a_new_kind_inherits_nothing() -> None:
    """What takes the place of another kind must prove itself, and may not jump."""
    new = New(OldLimits(state_timeout=TIMEOUT, period=0.0, probes=1), 'auto')
    new.intake = Intake(JOINTS, CONTROLLED, fixed=FIXED, silence=0.0)
    new.texts = arrival_texts(new.intake)
    new.p.motion.speed[:], new.p.motion.tolerance[:] = 1.0, 1e-3

    def send(k: int, q: float, renewed: bool = False) -> str:
        names = ('c', 'a', 'd', *('x',) * k)
        now = new.u.now + 0.01
        new.u.now = new.u.steady = now
        new.intake.read(new.u, names, [q] * len(names))
        new.u.renewed = float(renewed or new.u.renewed > 0.0)
        new.happens(now, 0)
        return Arrival(int(new.told[1])).name

    for k in range(10):
        assert [send(k, 0.0), send(k, 0.0)] == ['PROBE', 'STATE']
        assert (new.x.motion.source == k % 8).all() and new.x.sources.last == k % 8
    assert send(10, 1.0) == 'REJECTED'
    assert new.reason == ('c has two sources that disagree: 0 in messages of '
                          'c, a, d, x, x, x, x, x and 4 more, 1 in those of '
                          'c, a, d, x, x, x, x, x and 5 more')
    assert send(9, 0.0) == 'STATE'
    assert [send(9, 2.0, renewed=True), send(9, 2.0)] == ['PROBE', 'STATE']


def test_ages_are_sorted() -> None:
    """Whatever their order, up to the room that there is."""
    rng = random.Random(5)
    for count in (1, 2, 5, 4096):
        values = np.array([rng.choice([rng.random(), 0.5, k / count]) for k in range(count)])
        expected = np.sort(values)
        sort(memoryview(values), count)     # type: ignore[arg-type]
        assert (values == expected).all()
