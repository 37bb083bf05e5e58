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

"""Payload and gravity: the ramps of the step are those of the old classes."""

from __future__ import annotations

from collections import Counter
import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from rbd_ros.compiler import Bound
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.former.load import Load as OldLoad
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.interface.cause_codes import CauseCode
from rbd_ros.control.interface.events import Event, Result
from rbd_ros.control.load.load import (
    apply_load, check_gravity, fill_load, Load, LoadLimits, restart_load, share_load, take_gravity,
    take_payload, update_load)
from rbd_ros.control.load.words import LoadWord, TEXTS
from recorded_robots import controlled_robot

SIZES = {'n': 3, 'm': 3}
BACKENDS = ('python', 'llvm')
KERNELS = ('stop', 'float', 'damping', 'joint', 'task', 'momentum')


def work(x: Load, p: LoadLimits, u: Event, y: Result, given: Vector, payload: Vector,
         gravity: Vector) -> None:
    """Do what the first number says, at the time that the second one says."""
    if given[0] == 0.0:
        restart_load(x, p)
    elif given[0] == 1.0:
        apply_load(x, p, given[1])
    elif given[0] == 2.0:
        take_payload(x, p, u, y)
    elif given[0] == 3.0:
        take_gravity(x, p, u, y)
    else:
        update_load(x, p, given[1])
        given[2] = 1.0 if check_gravity(x, p, y) else 0.0
    share_load(x, payload, gravity)


def any_settings(rng: np.random.Generator, source: str) -> Settings:
    mass = float(rng.choice([0.0, 1.0, 3.0]))
    size = 0.01 * mass
    return Settings(controlled_robot('arm'), defaults() | {
        'gravity_source': source, 'gravity_timeout': 0.1,
        'gravity': rng.choice([[0.0, 0.0, -9.81], [1.0, -2.0, -9.0], [0.0, 0.0, 0.0]]).tolist(),
        'gravity_slew': float(rng.choice([1.0, 50.0])), 'payload.mass': mass,
        'payload.com': rng.choice([[0.0, 0.0, 0.0], [0.01, 0.02, 0.03]]).tolist(),
        'payload.inertia': [size, 0.0, 0.0, size, 0.0, size],
        'payload.ramp_time': float(rng.choice([0.0, 0.05]))}, simulated=False)


class _Pair:
    """The old load and the new one."""

    def __init__(self, settings: Settings, backend: str) -> None:
        kernels = {name: cast(Bound, SimpleNamespace(
            inputs={'payload': np.zeros(10), 'gravity': np.zeros(3)})) for name in KERNELS}
        self.settings, self.inputs = settings, kernels['task'].inputs
        self.old = OldLoad(settings, kernels)
        self.x, self.p = Load(SIZES), LoadLimits(SIZES)
        self.u, self.y = Event(SIZES), Result(SIZES)
        self.given, self.payload, self.gravity = np.zeros(3), np.zeros(10), np.zeros(3)
        self.call = bind(work, self.x, self.p, self.u, self.y, self.given, self.payload,
                         self.gravity, backend=backend)
        fill_load(self.p, settings)
        self.do(0)
        self.apply(0.0, settings)

    def do(self, what: int, now: float = 0.0) -> None:
        """Let the new one work."""
        self.given[:2] = what, now
        self.call()

    def apply(self, now: float, settings: Settings) -> None:
        self.old.apply(now, self.settings, settings)
        self.settings = settings
        fill_load(self.p, settings)
        self.do(1, now)

    def carry(self, now: float, payload: np.ndarray) -> None:
        self.old.carry(now, payload, self.settings.number('payload.ramp_time'))
        self.u.now, self.u.numbers[:10] = now, payload
        self.do(2)

    def down(self, when: float, down: np.ndarray) -> None:
        self.old.gravity.direction(when, down)
        self.u.numbers[:4] = [*down, when]
        self.do(3)

    def update(self, now: float) -> bool:
        known = self.old.update(now)
        self.y.accused = 0.0
        self.do(4, now)
        assert (self.given[2] > 0.0) == known
        if not known:
            assert self.y.accusations[0, :2].tolist() == [
                CauseCode.GRAVITY_STALE, LoadWord.GRAVITY_OLD]
            assert TEXTS[LoadWord.GRAVITY_OLD]('', *self.y.accusations[0, 3:]) == '0.1 s'
        assert np.array_equal(self.payload, self.inputs['payload'])
        # a norm of NumPy may fuse a multiplication and an addition
        np.testing.assert_allclose(self.gravity, self.inputs['gravity'], rtol=1e-13, atol=1e-13)
        assert (self.x.ramping > 0.0) == self.old.payload.ramping
        assert (self.x.constant > 0.0) == self.old.gravity.constant
        assert self.y.answer == 0.0
        return known


@pytest.mark.parametrize('backend', BACKENDS)
def test_ramps_are_those_of_the_classes(backend: str) -> None:
    rng, seen = np.random.default_rng(1), Counter()
    for run in range(60):
        source = 'parameter' if run % 2 else 'imu'
        pair, now = _Pair(any_settings(rng, source), backend), float(rng.choice([0.0, 40.0]))
        for _ in range(60):
            now += float(rng.choice([0.002, 0.01, 0.06, -0.01], p=[0.7, 0.2, 0.05, 0.05]))
            chance = rng.random()
            if chance < 0.05:
                pair.apply(now, any_settings(rng, source))
            elif chance < 0.1:
                pair.carry(now, rng.normal(size=10))
            elif chance < 0.3 and source == 'imu':
                down = rng.normal(size=3)
                pair.down(now - 0.003, down / np.linalg.norm(down))
            known = pair.update(now)
            seen['known', known] += 1
            seen['constant', pair.old.gravity.constant] += 1
            seen['ramping', pair.old.payload.ramping] += 1
            seen['measured', math.isfinite(pair.old.gravity._received)] += 1
    assert len(seen) == 8 and min(seen.values()) > 30, seen


@pytest.mark.parametrize('backend', BACKENDS)
def test_what_is_no_load_is_refused(backend: str) -> None:
    pair = _Pair(any_settings(np.random.default_rng(2), 'imu'), backend)
    for take, word in ((2, LoadWord.BAD_PAYLOAD), (3, LoadWord.BAD_DIRECTION)):
        for bad in (math.nan, math.inf, 1e308):
            before = pair.x.memory.copy()
            pair.u.now, pair.u.numbers[:] = 1.0, [0.0, bad] * 8
            pair.do(take)
            assert pair.y.answer == word and np.array_equal(pair.x.memory, before)


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, 5e-324, -1.0])
def test_nothing_makes_the_load_infinite(bad: float, backend: str) -> None:
    of_p, of_u = LoadLimits.block_size(SIZES), Event.block_size(SIZES)
    for source in ('imu', 'parameter'):
        pair = _Pair(any_settings(np.random.default_rng(3), source), backend)
        begin = pair.x.memory.copy()
        for place in range(of_p + of_u + 1):
            pair.x.memory[:] = begin
            fill_load(pair.p, pair.settings)
            pair.u.restart()
            pair.u.now, pair.u.numbers[:4] = 0.1, [0.0, 0.0, -1.0, 0.1]
            if place < of_p:
                pair.p.memory[place] = bad
            elif place < of_p + of_u:
                pair.u.memory[place - of_p] = bad
            for what in (3, 2):
                pair.do(what)
            for time in (0.15, bad if place == of_p + of_u else 0.2, 0.25):
                pair.do(1, time)
                pair.do(4, time)
                assert np.isfinite(pair.x.memory).all(), place
                assert {pair.x.known, pair.x.constant, pair.x.ramping} <= {0.0, 1.0}
            pair.x.restart()
            pair.do(0)
            assert np.isfinite(pair.x.memory).all(), place
