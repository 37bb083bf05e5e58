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

"""The observers of the step against the classes that they come from."""

from __future__ import annotations

from collections import Counter
import math
import random
from typing import Any

import numpy as np
from observer_parity import New, Pair, settings_of
import pytest
from rbd_ros.control import step
from rbd_ros.control.former import disturbance
from rbd_ros.control.former import hidden_motion
from rbd_ros.control.former import standstill
from rbd_ros.control.former import torque_history
from rbd_ros.control.observers.momentum import settled
from rbd_ros.control.observers.torque_history import (
    clear_torques, find_mean_torque, KEPT, note_torque, TorqueHistory)

_CHANGES = ({'observer_feedback': True}, {'observer_feedback': False}, {'observer_gain': [60.0]},
            {'observer_gain': [20.0]}, {'hold_torque': 0.02}, {'hold_torque': 0.4},
            {'state_tolerance': [1e-4]}, {'velocity_patience': 0.0}, {'stiffness': [2.0]},
            {'stiffness': [100.0]}, {'tracking_limits': [0.02]}, {'tracking_limits': [0.5]})
_DONE = ('forget', 'ignore', 'distrust', 'reset', 'restart')


def _episode(pair: Pair, rng: random.Random, steps: int) -> None:
    """Let joints stand by their sensors, in one of many circumstances."""
    pair.do('restart')
    pair.stuck_at[:] = np.nan
    pair.step = rng.choice([0.001, 0.001, 0.002, 0.01])
    pair.blocked = rng.random() < 0.3
    pair.lively = rng.random() < 0.35
    pair.offset = rng.uniform(0.0, 5.0)
    mode = rng.choice(['joint', 'joint', 'task', 'float'])
    push = rng.choice([0.0, 0.0, 0.1])
    differenced = rng.random() < 0.2
    unusual = rng.randrange(pair.n) if rng.random() < 0.2 else None
    begin, other = rng.randrange(5, steps // 3), rng.randrange(5, steps)
    stops = rng.randrange(steps // 2, 2 * steps)
    victims = rng.choice([[0], [1], list(range(pair.n)), [pair.n - 1], [0, 1]])
    quiet = rng.random() < 0.7
    if rng.random() < 0.5:
        pair.apply(rng.choice(_CHANGES))
    for k in range(steps):
        pair.now += pair.step * rng.uniform(0.95, 1.05)
        if k == begin:
            for i in victims:
                pair.freeze(i)
        if not quiet and rng.random() < 0.02:
            pair.do(rng.choice(_DONE))
        if not quiet and rng.random() < 0.01:
            pair.now += rng.choice([0.2, -0.05, 0.09])
        if not quiet and rng.random() < 0.01:
            pair.apply(rng.choice(_CHANGES))
        if k == other:
            pair.freeze(rng.randrange(pair.n))
        suspect = pair.old.standstill._suspect.joint
        if k == other + 20 and suspect is not None:
            pair.stuck_at[suspect] = np.nan
        pair.advance(differenced=differenced, runs=k < stops, mode=mode, push=push,
                     unusual=unusual)


def _story(kind: str, values: dict[str, Any], episodes: int, seed: int,
           backend: str) -> Counter[str]:
    rng = random.Random(seed)
    pair = Pair(kind, {'observer_feedback': True} | values, seed, backend)
    for _ in range(episodes):
        _episode(pair, rng, 160)
    return pair.seen


_ARM = ('acted unknown', 'filtered', 'bounded load', 'suspect', 'by halt', 'by time', 'felt',
        'hint', 'halted hint', 'none feels', 'TRACKING tracks', 'TRACKING leads',
        'FROZEN tracks', 'FROZEN leads', 'right', 'lost', 'stands while stopping', *_DONE)
_LATE = ('acted unknown', 'filtered', 'felt', 'lost', 'another lacks noise')


@pytest.mark.parametrize('backend', ['python', 'llvm'])
@pytest.mark.parametrize('kind, values, episodes, seed, reached', [
    ('free seven', {}, 9, 4, _ARM),
    ('free seven', {'delay': 0.004}, 4, 11, _LATE),
    ('crane', {'torque_limits': [1.0]}, 2, 2, ('suspect', 'clipped')),
    ('measured five-bar', {'delay': 0.002}, 2, 1, ('suspect', 'right')),
])
def test_observers_find_what_the_classes_find(
        kind: str, values: dict[str, Any], episodes: int, seed: int, reached: tuple[str, ...],
        backend: str) -> None:
    """Frozen and blocked joints, late torques, gaps, changes: every number is the same."""
    seen = _story(kind, values, episodes, seed, backend)
    assert not [what for what in reached if not seen[what]], seen


def test_constants_are_those_of_the_classes() -> None:
    """Bounds that a story meets by chance alone."""
    for old, new in ((disturbance, step.observer), (hidden_motion, step.hidden_motion),
                     (standstill, step.standstill)):
        names = [name for name, value in vars(old).items() if type(value) in (int, float)]
        assert len(names) > 0
        assert [getattr(new, name) for name in names] == [getattr(old, name) for name in names]


def test_mean_torques_are_those_of_the_class() -> None:
    """Random times, with gaps; a ring that is too short knows nothing, and else all is equal."""
    rng = random.Random(7)
    old, new = torque_history.TorqueHistory(), TorqueHistory({'n': 2}).plain()
    mean = memoryview(np.zeros(2))
    now, lost, known, unknown = 3.0, 0, 0, 0
    for k in range(6000):
        now += rng.choice([0.001, 0.0013, 0.02])
        delay = (rng.uniform(0.0, 0.02), 1.2, 3.0)[k // 1000 % 3]
        begin, end = now - delay - rng.uniform(-1e-4, 0.01), now - delay
        oldest = new.time[int(new.first)] if new.entries else math.inf
        theirs, ours = old.mean(begin, end), find_mean_torque(new, begin, end, mean)
        if theirs is not None and not ours:
            assert begin < oldest and new.entries == KEPT
            lost += 1
        else:
            assert ours == (theirs is not None)
            if theirs is not None:
                assert list(mean) == theirs.tolist()
                known += 1
            unknown += theirs is None
        torque = np.array([rng.uniform(-5.0, 5.0), rng.uniform(-5.0, 5.0)])
        old.note(now, torque)
        note_torque(new, now, memoryview(torque))
        if k % 1000 == 999:
            old.clear()
            clear_torques(new)
        assert np.isfinite(new.memory).all() and 0 <= new.first < KEPT >= new.entries
    assert min(lost, known, unknown) > 100, (lost, known, unknown)


def test_the_share_that_a_lag_has_settled() -> None:
    """1 - exp(-x) to the last digits, where it is small and where it is one."""
    rng = random.Random(9)
    for _ in range(2000):
        x = 10.0 ** rng.uniform(-12.0, 2.0)
        assert settled(x) == pytest.approx(-math.expm1(-x), rel=4e-16)
    assert [settled(x) for x in (0.0, -1.0, math.nan, math.inf)] == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize('backend', ['python', 'llvm'])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_absurd_numbers_leave_the_state_finite(backend: str) -> None:
    """Any number in any place of what is given: what is remembered stays finite and legal."""
    rng = random.Random(11)
    kind = 'crane'
    new = New(settings_of(kind, {'observer_feedback': True}), kind, backend)
    given = [new.u, new.po, new.ps, new.joints, new.structure]
    usual = [each.memory.copy() for each in given]
    names = ['q', 'qd', 'speed']
    for k in range(4000):
        if k % 10 == 0:
            for each, memory in zip(given, usual, strict=True):
                each.memory[:] = memory
        new.u.now = 5.0 + 0.001 * k
        new.u.runs = new.u.tracks = 1.0
        for name in names:
            getattr(new.joints, name)[:] = [rng.uniform(-1.0, 1.0) for _ in getattr(
                new.joints, name)]
        new.joints.repeated[:] = [rng.random() < 0.5 for _ in range(3)]
        new.u.law[:] = 9.0
        for _ in range(rng.choice([0, 1, 3])):
            each = rng.choice(given)
            value = rng.choice([math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, 5e-324])
            if each is new.joints:  # they are remembered, and thus finite
                value = rng.choice([1e308, -1e308, 5e-324])
            each.memory[rng.randrange(len(each.memory))] = value
        if rng.random() < 0.05:
            new.apply_parameters()
        new.run()
        assert np.isfinite(new.o.memory).all(), [path for path, _, x in new.o.walk()
                                                 if not np.isfinite(x).all()]
        assert np.isfinite(new.x.memory).all(), [path for path, _, x in new.x.walk()
                                                 if not np.isfinite(x).all()]
        assert np.isfinite(new.joints.memory).all()
        assert new.x.suspect.joint in (-1.0, 0.0, 1.0, 2.0)
        new.y.accused = 0.0
