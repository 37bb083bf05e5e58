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

"""Gains for the delay of the loop: those of the settings, to the last bit."""

from __future__ import annotations

from collections import Counter
import math

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.parameters.gains import gain_reasons
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import Robot
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.laws.design import (
    Design, design, DesignLimits, fill_design, note_delay, note_filter, restart_design)
from rbd_ros.control.interface.events import Result
from rbd_ros.control.load.texts import load_text
from rbd_ros.control.load.words import LoadWord, TEXTS
from recorded_robots import controlled_robot

BACKENDS = ('python', 'llvm')
ROBOTS = ('arm', 'turret', 'measured five-bar')


def work(x: Design, p: DesignLimits, y: Result, given: Vector) -> None:
    """Do what the first number says, with the other two."""
    if given[0] == 0.0:
        design(x, p, given[1], given[2])
    elif given[0] == 1.0:
        note_delay(x, p, y, given[1], given[2])
    elif given[0] == 2.0:
        note_filter(x, p, given[1])
    else:
        restart_design(x, p)


class _New:
    """The records and what works on them."""

    def __init__(self, n: int, backend: str) -> None:
        self.x, self.p, self.y = (kind({'n': n}) for kind in (Design, DesignLimits, Result))
        self.given = np.zeros(3)
        self.call = bind(work, self.x, self.p, self.y, self.given, backend=backend)

    def do(self, what: int, a: float = 0.0, b: float = 0.0) -> None:
        self.given[:] = what, a, b
        self.call()


def any_settings(robot: Robot, rng: np.random.Generator) -> Settings:
    """Return settings that differ in all that the design depends on."""
    n = len(robot.joints)

    def each(low: float, high: float) -> list[float]:
        return np.exp(rng.uniform(math.log(low), math.log(high), n)).tolist()
    return Settings(robot, defaults() | {
        'nominal_rate': float(rng.choice([10.0, 125.0, 500.0, 1000.0, 3333.0])),
        'velocity_filter': float(rng.choice([0.0, 0.003, 0.02])),
        'delay': float(rng.choice([0.0, 0.0, 0.001, 0.03])),
        'brake_rate': float(rng.choice([1.0, 10.0, 300.0])), 'stiffness': each(0.01, 1e4),
        'damping': each(0.1, 1e3), 'observer_gain': each(1.0, 300.0),
        'free_damping': each(0.01, 100.0), 'brake_damping': each(0.01, 100.0),
        'barrier.damping': each(0.01, 100.0), 'barrier.velocity_damping': each(0.01, 100.0),
        'synchronised_stamps': bool(rng.random() < 0.5)},
        simulated=bool(rng.random() < 0.3), age=float(rng.choice([0.0, 0.002])))


def expected(settings: Settings) -> dict[str, object]:
    """Return what the settings derive."""
    hold = settings.hold_gains
    return {
        'delay': settings.number('delay'), 'age': settings.age,
        'answer_time': settings.answer_time, 'feedback_delay': settings.feedback_delay,
        'safe_rate': settings.safe_rate, 'fastest_damper': settings.fastest_damper,
        'brake_rate': settings.brake_rate, 'late': settings.lateness[0],
        'later': settings.lateness[1], 'ahead': settings.ahead,
        'free_damping': settings.damper('free_damping'),
        'brake_damping': settings.damper('brake_damping'),
        'barrier_damping': settings.damper('barrier.damping'),
        'barrier_speed_damping': settings.damper('barrier.velocity_damping'),
        'hold_stiffness': hold[0], 'hold_damping': hold[1],
        'observer_gain': settings.observer_gain}


@pytest.mark.parametrize('backend', BACKENDS)
def test_gains_are_those_of_the_settings(backend: str) -> None:
    rng, seen = np.random.default_rng(1), Counter()
    for name in ROBOTS:
        robot = controlled_robot(name)
        new = _New(len(robot.joints), backend)
        for _ in range(150):
            settings = any_settings(robot, rng)
            fill_design(new.p, settings)
            for _ in range(3):
                new.do(0, settings.number('delay'), settings.age)
                wanted = expected(settings)
                assert set(wanted) == {each.name for each in Design.fields}
                for field, value in wanted.items():
                    assert np.array_equal(getattr(new.x, field), value), (name, field)
                seen['delay' if settings.feedback_delay else 'none'] += 1
                seen['soft' if (new.x.hold_damping < new.p.damping).any() else 'hard'] += 1
                seen['aged' if settings.age > settings.number('delay') else 'young'] += 1
                seen['ahead' if settings.ahead else 'here'] += 1
                settings = settings.later(*rng.choice([0.0, 0.0005, 0.02, 0.1], 2).tolist())
    assert min(seen.values()) > 20 and len(seen) == 8, seen


class _Cycle:
    """The part of the old cycle that designs, as it stood."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.given, self.said = settings, settings.number('delay'), []

    def note_delay(self, middle: float, high: float) -> None:
        given = self.settings.number('delay')
        if middle <= given + 0.004:
            if middle > max(given, self.settings.age):
                self.settings = self.settings.later(given, middle + 0.0005)
            return
        clock = ('' if self.settings.same_clock else
                 ', if the clock that stamps is that of this machine')
        self.said.append(
            f'joint states are {1e3 * middle:.3g} to {1e3 * high:.3g} ms old when they '
            f'arrive{clock}: damping, stops and holds are made for that from now on, not for '
            f'delay {1e3 * self.given:.3g} ms. Set delay, and add the time that torques take')
        self.settings = self.settings.later(high, high)

    def note_filter(self, differenced: bool) -> None:
        if differenced and not self.settings.number('delay'):
            self.settings = self.settings.later(0.0005, max(self.settings.age, 0.0005))

    def restart(self) -> None:
        if self.settings.age:
            self.settings = self.settings.later(self.given, 0.0)


@pytest.mark.parametrize('backend', BACKENDS)
def test_lateness_changes_as_in_the_cycle(backend: str) -> None:
    rng, robot, seen = np.random.default_rng(2), controlled_robot('arm'), Counter()
    new = _New(3, backend)
    for _ in range(150):
        old = _Cycle(any_settings(robot, rng))
        fill_design(new.p, old.settings)
        new.do(0, old.settings.number('delay'), old.settings.age)
        for _ in range(8):
            new.y.told, before, said = 0.0, old.settings, len(old.said)
            kind = int(rng.integers(1, 4))
            if kind == 1:
                middle = float(rng.choice([0.0, 0.001, 0.003, 0.0041, 0.02, 0.05]))
                high = middle * rng.uniform(1.0, 1.5)
                old.note_delay(middle, high)
                new.do(1, middle, high)
            elif kind == 2:
                differenced = bool(rng.random() < 0.5)
                old.note_filter(differenced)
                new.do(2, float(differenced))
            else:
                old.restart()
                new.do(3)
            seen[kind, old.settings is not before, len(old.said) > said] += 1
            for field, value in expected(old.settings).items():
                assert np.array_equal(getattr(new.x, field), value), field
            words = new.y.words[:int(new.y.told)].tolist()
            if len(old.said) > said:
                assert [word[0] for word in words][1:] == [LoadWord.GAINS_FOR_DELAY]
                assert TEXTS[int(words[0][0])]('', *words[0][2:]) == old.said[-1]
                text = load_text(*words[1][:2], tuple(words[1][2:]), old.settings, None)
                assert text.splitlines() == gain_reasons(old.settings.values)
            else:
                assert not words
    assert len(seen) == 7 and min(seen.values()) > 5, seen


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, 5e-324])
def test_nothing_makes_the_gains_infinite(bad: float, backend: str) -> None:
    settings = any_settings(controlled_robot('arm'), np.random.default_rng(3))
    new, count = _New(3, backend), DesignLimits.block_size({'n': 3})
    for place in range(count + 2):
        new.x.restart()
        fill_design(new.p, settings)
        new.do(0, 0.004, 0.002)
        lateness = [0.004, 0.002]
        if place < count:
            new.p.memory[place] = bad
        else:
            lateness[place - count] = bad
        for what in ((0, *lateness), (3,), (1, *lateness[::-1]), (1, 0.03, 0.04), (2, 1.0)):
            new.do(*what)
            assert np.isfinite(new.x.memory).all(), (place, what)
