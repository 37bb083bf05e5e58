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
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import Robot
from rbd_ros.control.settings import Settings
from rbd_ros.control.step.design import (
    Design, design, DesignLimits, fill_design, note_delay, note_filter, restart_design)
from rbd_ros.control.step.events import Result
from rbd_ros.control.step.load_words import LoadWord, TEXTS
from recorded_robots import controlled_robot

ROBOTS = ('arm', 'turret', 'measured five-bar')


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
        'answer_time': settings.answer_time, 'loop_delay': settings.loop_delay,
        'safe_rate': settings.safe_rate, 'fastest_damper': settings.fastest_damper,
        'brake_rate': settings.brake_rate, 'late': settings.lateness[0],
        'later': settings.lateness[1], 'ahead': settings.ahead,
        'free_damping': settings.damper('free_damping'),
        'brake_damping': settings.damper('brake_damping'),
        'barrier_damping': settings.damper('barrier.damping'),
        'barrier_speed_damping': settings.damper('barrier.velocity_damping'),
        'hold_stiffness': hold[0], 'hold_damping': hold[1],
        'observer_gain': settings.observer_gain}


def test_gains_are_those_of_the_settings() -> None:
    rng, seen = np.random.default_rng(1), Counter()
    for name in ROBOTS:
        robot = controlled_robot(name)
        for _ in range(150):
            settings = any_settings(robot, rng)
            x, p = Design({'n': len(robot.joints)}), DesignLimits({'n': len(robot.joints)})
            fill_design(p, settings)
            for _ in range(3):
                design(x.plain(), p.plain(), settings.number('delay'), settings.age)
                wanted = expected(settings)
                assert set(wanted) == {each.name for each in Design.fields}
                for field, value in wanted.items():
                    assert np.array_equal(getattr(x, field), value), (name, field)
                seen['delay' if settings.loop_delay else 'none'] += 1
                seen['soft' if (x.hold_damping < p.damping).any() else 'hard'] += 1
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


def test_lateness_changes_as_in_the_cycle() -> None:
    rng, robot, seen = np.random.default_rng(2), controlled_robot('arm'), Counter()
    for _ in range(150):
        old = _Cycle(any_settings(robot, rng))
        x, p, y = Design({'n': 3}), DesignLimits({'n': 3}), Result({'n': 3})
        fill_design(p, old.settings)
        new = x.plain(), p.plain()
        design(*new, old.settings.number('delay'), old.settings.age)
        for _ in range(8):
            y.told, before, said = 0.0, old.settings, len(old.said)
            kind = int(rng.integers(3))
            if kind == 0:
                middle = float(rng.choice([0.0, 0.001, 0.003, 0.0041, 0.02, 0.05]))
                high = middle * rng.uniform(1.0, 1.5)
                old.note_delay(middle, high)
                note_delay(*new, y.plain(), middle, high)
            elif kind == 1:
                differenced = bool(rng.random() < 0.5)
                old.note_filter(differenced)
                note_filter(*new, float(differenced))
            else:
                old.restart()
                restart_design(*new)
            seen[kind, old.settings is not before, len(old.said) > said] += 1
            for field, value in expected(old.settings).items():
                assert np.array_equal(getattr(x, field), value), field
            if len(old.said) > said:
                assert [int(row[0]) for row in y.words[:int(y.told)]][1:] == [
                    LoadWord.GAINS_FOR_DELAY]
                assert TEXTS[int(y.words[0, 0])]('', *y.words[0, 2:]) == old.said[-1]
                assert y.words[1, 2] == old.settings.number('delay')
            else:
                assert y.told == 0.0
    assert len(seen) == 7 and min(seen.values()) > 5, seen


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, 5e-324])
def test_nothing_makes_the_gains_infinite(bad: float) -> None:
    sizes, robot = {'n': 3}, controlled_robot('arm')
    settings = any_settings(robot, np.random.default_rng(3))
    count = DesignLimits.block_size(sizes)
    for place in range(count + 2):
        x, p = Design(sizes), DesignLimits(sizes)
        fill_design(p, settings)
        design(x.plain(), p.plain(), 0.004, 0.002)
        lateness = [0.004, 0.002]
        if place < count:
            p.memory[place] = bad
        else:
            lateness[place - count] = bad
        design(x.plain(), p.plain(), *lateness)
        restart_design(x.plain(), p.plain())
        note_delay(x.plain(), p.plain(), Result(sizes).plain(), 0.03, 0.04)
        assert np.isfinite(x.memory).all(), place
