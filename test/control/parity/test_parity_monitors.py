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

"""Monitors and guards of the step say what the classes say, word by word."""

from __future__ import annotations

from collections import Counter
import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.former.plausibility import Plausibility
from rbd_ros.control.former.readiness import likely_causes
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.guards import DeadMan as OldDeadMan, RefusalCount
from rbd_ros.control.supervisor.states import State
from rbd_ros.control.interface.events import Joints, NOBODY, Result
from rbd_ros.control.monitors.guards import (
    accepted, check_dead_man, DeadMan, is_alive, press, Refusals, refused)
from rbd_ros.control.monitors.monitor_parameters import fill_monitors, MonitorParameters
from rbd_ros.control.monitors.monitors import (
    begin_watch, changed_law, check_plausible, check_watch, Plausible, restart_plausible, Watch)
from rbd_ros.control.supervisor.words import supervisor_text, SupervisorWord
from rbd_ros.control.supervisor.transition_rows import StateCode
from rbd_ros.control.former.watch import Watch as OldWatch

N = 3
SIZES = {'n': N, 'm': N}
NAMES = ('shoulder', 'elbow', 'slide')
CAUSES, STATES = tuple(Cause), tuple(State)

#: kinds of events of the watch
BEGIN, LAW, CHECK, PLAUSIBLE, RESTART = range(5)


class FakeSettings:
    """Values of a robot of three joints, one of them without limits."""

    def __init__(self, rng: random.Random) -> None:
        """Choose the values."""
        patience = rng.choice([0.0, 0.01, 0.03])
        self.values = {
            'velocity_patience': patience, 'tracking_patience': rng.choice([0.0, 0.02]),
            'minimum_rate': 50.0, 'ramp_time': rng.choice([0.02, 0.1]), 'start.watch_time': 0.05,
            'start.distance': 0.15, 'start.velocity': 0.4, 'start.acceleration': 40.0,
            'dead_man_timeout': rng.choice([0.0, 0.05]), 'payload.mass': 2.0,
            'reference.refusals': rng.choice([0, 3])}
        model = SimpleNamespace(lower=[-1.0, -2.0, -math.inf], upper=[1.0, 2.0, math.inf])
        self.robot = SimpleNamespace(joints=NAMES, model=model, pick=list)
        self.velocity_limits = np.array([1.0, 1.5, math.inf])
        self.barrier_margins = np.array([0.1, 0.2, 0.3])
        self.task_errors = np.array([0.5, 0.1])
        self.differenced_limits = np.array([1.5, 2.0, math.inf])
        self.mismatch_limits = np.ones(N)
        self.position_range = np.array([0.1, 0.0, 0.0]), np.array([1.2, 2.4, math.inf])

    def number(self, name: str) -> float:
        """Return a number."""
        return float(self.values[name])

    def integer(self, name: str) -> int:
        """Return a whole number."""
        return int(self.values[name])

    def numbers(self, name: str) -> list[float]:
        """Return the gravity."""
        return [0.0, 0.0, -9.81]

    def text(self, name: str) -> str:
        """Return a text."""
        return 'parameter'

    def joints(self, name: str) -> np.ndarray:
        """Return a number for each joint."""
        return {'tracking_limits': np.array([0.2, 0.3, 0.4]),
                'state_tolerance': np.full(N, 0.01)}[name]


class Given(Record):
    """One event."""

    kind: float = field('', '', 'of event')
    now: float = field('', 's', 'control time')
    state: float = field('', '', 'of the supervisor')
    law: float = field('', '', '0: free, 1: tracks, 2: leads')
    rests: float = field('', '', '1 if the law wants no motion')
    stuck: float = field('', '', 'joint whose sensor is stuck, or nobody')
    repeats: float = field('', '', '1 if one repeats itself')
    calm: float = field('', '', 'result')
    q: Vector = field('n', 'rad', 'positions')
    qd: Vector = field('n', 'rad/s', 'velocities')
    error: Vector = field('n', 'rad', 'of the joints')
    lead: Vector = field('2', 'rad, m', 'of the tip')
    spare: Matrix = field('1 1', '', 'nothing')


def run_event(watch: Watch, plausible: Plausible, p: MonitorParameters, joints: Joints, u: Given,
              y: Result) -> None:
    """Take one event."""
    y.accused = 0.0
    if u.kind == BEGIN:
        begin_watch(watch, p, u.now, u.q, u.qd)
    elif u.kind == LAW:
        changed_law(watch)
    elif u.kind == RESTART:
        restart_plausible(plausible)
    elif u.kind == CHECK:
        calm = check_watch(watch, p, joints, y, u.now, int(u.state), 1 if u.law == 1.0 else 0,
                           1 if u.law == 2.0 else 0, int(u.rests), u.error, u.lead, u.q, u.qd)
        u.calm = 1.0 if calm else 0.0
    else:
        calm = check_plausible(plausible, p, joints, y, u.now, u.q, u.qd, int(u.stuck),
                               int(u.repeats))
        u.calm = 1.0 if calm else 0.0


class New:
    """The procedures."""

    def __init__(self, settings: FakeSettings, backend: str) -> None:
        """Bind them."""
        self.watch, self.plausible = Watch(SIZES), Plausible(SIZES)
        self.p, self.joints = MonitorParameters(SIZES), Joints(SIZES)
        self.u, self.y, self.causes = Given(SIZES), Result(SIZES), likely_causes(settings)
        fill_monitors(self.p, settings)
        self.run = bind(run_event, self.watch, self.plausible, self.p, self.joints, self.u, self.y,
                        backend=backend)

    def said(self) -> list[tuple[Cause, str]]:
        """Return the accusations as texts."""
        rows = self.y.accusations[:int(self.y.accused)]
        return [(CAUSES[int(row[0])], supervisor_text(
            int(row[1]), NAMES[int(row[2])], *row[3:], self.causes)) for row in rows]


def fill_event(rng: random.Random, u: Given, joints: Joints, now: float, wild: float) -> None:
    """Fill in one event: mostly calm, at times a number beyond its bound."""
    def some(size: float, wild: float = wild) -> list[float]:
        return [size * rng.uniform(-1.0, 1.0) * (4.0 if rng.random() < wild else 0.5)
                for _ in range(N)]
    u.kind = rng.choices([BEGIN, LAW, CHECK, PLAUSIBLE, RESTART], [2, 2, 60, 30, 1])[0]
    u.now, u.state = now, rng.choices([2, 3, 4, 5, 7], [30, 40, 10, 5, 5])[0]
    u.law, u.rests = rng.randrange(3), rng.random() < 0.7
    u.q[:] = some(0.5 if wild > 0.1 else 0.1)
    u.qd[:], u.error[:], u.lead[:] = some(0.8, 0.2), some(0.2), some(0.2)[:2]
    u.stuck = rng.randrange(N) if rng.random() < 0.03 else NOBODY
    u.repeats = rng.random() < 0.1
    joints.mismatch[:], joints.allowed[:] = some(0.1), 0.15
    joints.calm, joints.rate_low = rng.random() < 0.9, rng.random() < 0.05
    joints.rate = rng.uniform(30.0, 60.0)
    if rng.random() < 0.02:
        rng.choice([u.error, u.lead])[0] = math.nan


def old_event(watch: OldWatch, plausible: Plausibility, fake: SimpleNamespace, u: Given,
              joints: Joints) -> tuple[bool, list[tuple[Cause, str]]]:
    """Give the classes the same event; return whether all is calm, and what they say."""
    said: list[tuple[Cause, str]] = []
    motion = fake.motion
    motion.mismatch, motion.allowed, motion.calm = joints.mismatch, joints.allowed, joints.calm > 0
    fake.rate.low, fake.rate.rate = joints.rate_low > 0.0, joints.rate
    motion.repeats.calm = not u.repeats
    motion.repeats.stuck = lambda patience: None if u.stuck == NOBODY else int(u.stuck)
    calm = False

    def fault(cause: Cause, text: str) -> None:
        said.append((cause, text))
    if u.kind == BEGIN:
        watch.begin(u.now, u.q, u.qd)
    elif u.kind == LAW:
        watch.changed_law()
    elif u.kind == RESTART:
        plausible.restart()
    elif u.kind == CHECK:
        law = SimpleNamespace(tracks=u.law == 1.0, leads=u.law == 2.0, rests=bool(u.rests),
                              error=u.error if u.law == 1.0 else u.lead)
        calm = watch.check(u.now, STATES[int(u.state)], law, u.q, u.qd, fault)
    else:
        calm = plausible.check(u.now, u.q, u.qd, fault)
    return calm, said


def test_random_states_are_judged_alike():
    """Faults, their sentences and calmness are those of the classes, in Python and natively."""
    seen: Counter[str] = Counter()
    for seed in range(30):
        rng = random.Random(seed)
        settings, wild = FakeSettings(rng), rng.choice([0.02, 0.2])
        python, native = (New(settings, backend) for backend in ('python', 'llvm'))
        motion = SimpleNamespace(repeats=SimpleNamespace(), bound=lambda *given: None)
        fake = SimpleNamespace(motion=motion, rate=SimpleNamespace(minimum=50.0))
        old = OldWatch(settings, fake), Plausibility(settings, fake)
        old[1].apply(settings)
        now = 10.0
        for k in range(200):
            now += rng.choice([0.0, 0.001, 0.004, 0.004, 0.02,
                               rng.choice([2.0, 6.0]) * (rng.random() < 0.03)])
            if python.u.kind == BEGIN and rng.random() < 0.5:  # nothing wrong at first
                now += rng.choice([2.0, 6.0])
            fill_event(rng, python.u, python.joints, now, wild)
            native.u.memory[:] = python.u.memory
            native.joints.memory[:] = python.joints.memory
            calm, said = old_event(*old, fake, python.u, python.joints)
            for new in (python, native):
                new.run()
                assert new.said() == said, (seed, k)
                if new.u.kind in (CHECK, PLAUSIBLE):
                    assert (new.u.calm > 0.0) is bool(calm), (seed, k)
            np.testing.assert_array_equal(python.watch.memory, native.watch.memory)
            np.testing.assert_array_equal(old[0]._motion._qdd, python.watch.motion.qdd)
            assert old[0]._motion.armed is (python.watch.motion.armed > 0.0)
            rows = python.y.accusations[:int(python.y.accused)]
            seen.update([SupervisorWord(int(row[1])).name for row in rows])
            seen.update([f'calm {bool(calm)} {python.u.kind:g}'] + [
                'explained' for _, text in said if 'Likely causes' in text])
    expected = {word.name for word in SupervisorWord if SupervisorWord.TOO_FAST <= word <=
                SupervisorWord.REPEATS} | {'explained', 'calm True 2', 'calm True 3'}
    assert expected <= set(seen), expected - set(seen)


@pytest.mark.parametrize('timeout', [0.0, 0.05])
def test_dead_man_by_random_signals(timeout):
    """The switch is alive when the class says so, and a start waits for it."""
    rng, p = random.Random(7), MonitorParameters(SIZES).plain()
    p.dead_man_timeout = timeout
    old, x, y = OldDeadMan(timeout), DeadMan(SIZES).plain(), Result(SIZES).plain()
    steady, seen = 100.0, Counter()
    for _ in range(300):
        steady += rng.choice([0.0, 0.01, 0.03, 0.1])
        state, y.accused = rng.choice([StateCode.PROBING, StateCode.RUNNING]), 0.0
        if rng.random() < 0.4:
            pressed = rng.random() < 0.7
            old.signal(steady, pressed)
            press(x, p, y, steady, int(pressed), state)
            text = 'the switch was released'
        else:
            check_dead_man(x, p, y, steady, state)
            text = f'no message for {timeout:g} s'
        assert is_alive(x, p, steady) is old.alive(steady)
        wrong = state != StateCode.PROBING and not old.alive(steady)
        assert y.accused == wrong
        if wrong:
            row = y.accusations[0, 1]
            assert supervisor_text(int(row), '', y.accusations[0, 3], 0.0, 0.0, '') == text
        seen.update([wrong])
    assert len(seen) == (2 if timeout else 1)
    assert timeout == 0.0 or not is_alive(x, p, math.nan)


def test_refusals_by_random_references():
    """As many in a row are too many as the class says."""
    rng = random.Random(8)
    for limit in (0, 1, 3):
        p, x, old = MonitorParameters(SIZES).plain(), Refusals(SIZES).plain(), RefusalCount(limit)
        p.refusals, steady, seen = limit, 50.0, Counter()
        for _ in range(200):
            steady += rng.choice([0.01, 0.5, 1.0, 1.5])
            if rng.random() < 0.2:
                old.accepted()
                accepted(x)
            else:
                wrong = old.refused(steady)
                assert refused(x, p, steady) is wrong
                seen.update([wrong])
            assert x.row == old.count
        assert len(seen) == {0: 1, 1: 1, 3: 2}[limit]


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308])
def test_whatever_comes_the_monitors_stay_finite(bad):
    """Errors and bounds that are no numbers are faults, and leave no trace in the state."""
    rng = random.Random(9)
    for _ in range(20):
        new, now = New(FakeSettings(rng), 'llvm'), 10.0
        for _ in range(80):
            now += 0.004
            fill_event(rng, new.u, new.joints, now, 0.1)
            if rng.random() < 0.1:
                new.p.memory[rng.randrange(new.p.memory.size)] = bad
            if rng.random() < 0.1:
                rng.choice([new.u.error, new.u.lead, new.joints.mismatch,
                            new.joints.allowed])[0] = bad
            new.run()
            for record in (new.watch, new.plausible):
                assert np.isfinite(record.memory).all()
