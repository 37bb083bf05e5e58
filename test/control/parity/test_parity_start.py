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

"""Start check: verdicts, torques and texts of the step are those of the old classes."""

from __future__ import annotations

from collections import Counter
import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Matrix, Vector
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.former.readiness import StartCheck
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.interface.events import Joints, Result, Structure
from rbd_ros.control.load.load import Load
from rbd_ros.control.load.texts import load_text
from rbd_ros.control.load.words import KINDS
from rbd_ros.control.numerics.medians import median, select
from rbd_ros.control.numerics.samples import (
    halve, is_full, is_wanted, restart_samples, ROOM, row_median, SampleCount, thin_out)
from rbd_ros.control.start.start import (
    fill_start, passes_start, restart_start, Start, StartLimits)
from rbd_ros.control.laws.stops import StopKernel
from recorded_robots import controlled_robot

BACKENDS = ('python', 'llvm')
SIZES = {'n': 3, 'm': 5}
INDEX = [3, 0, 4]

#: gravity torque of a unit vector of gravity at each joint, besides what the positions do
COLUMNS = np.array([[3.0, 0.2, -1.0], [-0.5, 2.0, 0.3], [0.1, 0.4, 1.5]])


def gravity_torque(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return what a kernel would compute, of some robot."""
    return (COLUMNS * np.cos(q[INDEX])[:, None]) @ vector


def work(x: Start, p: StartLimits, kernel: StopKernel, load: Load, joints: Joints, s: Structure,
         y: Result, given: Vector) -> None:
    """Do what the first number says, at the time that the second one says."""
    if given[0] == 0.0:
        restart_start(x)
    else:
        given[2] = 1.0 if passes_start(x, p, kernel, load, joints, s, y, given[1]) else 0.0


class _Pair:
    """The old check and the new one, of a robot with two more joints than are controlled."""

    def __init__(self, backend: str, robot: str = 'arm', **values: object) -> None:
        self.settings = Settings(controlled_robot(robot), defaults() | values, simulated=False)
        self.seen = SimpleNamespace(q=np.zeros(5), qd=np.zeros(5), effort=np.zeros(5),
                                    effort_known=True, controlled=INDEX)
        self.vector = np.array(self.settings.numbers('gravity'))
        self.old = StartCheck(self.settings, cast(JointMap, self.seen))
        self.x, self.p, self.y = Start(SIZES), StartLimits(SIZES), Result(SIZES)
        self.joints, self.s, self.load = Joints(SIZES), Structure(SIZES), Load(SIZES)
        self.s.index[:], self.load.gravity[:] = INDEX, self.vector
        fill_start(self.p, self.settings)
        sizes = (5, 5, 3, 10, 1, 3, 3, 3, 3, 3, 3, 3)
        self.kernel = StopKernel(self.run, *(np.zeros(size) for size in sizes))
        self.spoilt, self.bad = -1, 0.0
        self.given = np.zeros(3)
        self.call = bind(work, self.x, self.p, self.kernel, self.load, self.joints, self.s,
                         self.y, self.given, backend=backend)

    def run(self) -> None:
        """Compute what a kernel would."""
        kernel = self.kernel
        kernel.gravity[:] = gravity_torque(kernel.q, kernel.acting)
        if self.spoilt >= 0:
            kernel.gravity[self.spoilt] = self.bad

    def do(self, what: int, now: float = 0.0) -> bool:
        """Let the new one work; return whether torque may begin."""
        self.given[:] = what, now, 0.0
        self.call()
        return bool(self.given[2])

    def restart(self) -> None:
        self.old.restart()
        self.do(0)

    def gravity(self) -> np.ndarray:
        return gravity_torque(self.seen.q, self.vector)

    def columns(self) -> np.ndarray:
        return np.array([gravity_torque(self.seen.q, axis) for axis in np.eye(3)]).T

    def check(self, now: float, effort_known: bool = True) -> list[str]:
        """Give both the state; return what is said, by its word."""
        seen, joints, faults, told = self.seen, self.joints, [], []
        seen.effort_known, joints.effort_known = effort_known, float(effort_known)
        joints.q[:], joints.qd[:], joints.effort[:] = seen.q, seen.qd, seen.effort
        passed = self.old.passes(
            now, seen.qd[INDEX], self.gravity, self.columns,
            lambda *fault: faults.append(fault), lambda *event: told.append(event))
        self.y.accused = self.y.told = 0.0
        assert self.do(1, now) == passed
        words = self.y.words[:int(self.y.told)].tolist()
        assert [(KINDS[int(word[0])], self._text(*word)) for word in words] == told
        accused = self.y.accusations[:int(self.y.accused)].tolist()
        assert [(list(Cause)[int(cause)], self._text(*rest)) for cause, *rest in accused] == faults
        torque = self.x.torque if self.x.torque_known else None
        if self.old.torque is None or torque is None:
            assert self.old.torque is torque
        else:
            np.testing.assert_allclose(torque, self.old.torque, rtol=1e-15)
        return [str(int(word[0])) for word in words] + [str(int(each[1])) for each in accused] + (
            ['rests'] if torque is not None else [])

    def _text(self, word: float, joint: float, *numbers: float) -> str:
        return load_text(int(word), int(joint), cast(tuple[float, float, float], numbers),
                         self.settings, self.x)


def any_values(rng: np.random.Generator) -> dict[str, object]:
    return {'start.time': float(rng.choice([0.0, 0.05])), 'state_timeout': 0.03,
            'effort_is_torque': bool(rng.random() < 0.8), 'driver_adds': 'none',
            'minimum_rate': float(rng.choice([0.0, 100.0])),
            'nominal_rate': float(rng.choice([200.0, 500.0])),
            'start.tolerance': float(rng.choice([0.02, 0.15])),
            'gravity': rng.choice([[0.0, 0.0, -9.81], [0.0, 7.0, 7.0],
                                   [0.0, 0.0, 0.0]]).tolist()}


@pytest.mark.parametrize('backend', BACKENDS)
def test_verdicts_are_those_of_the_classes(backend: str) -> None:
    rng, seen = np.random.default_rng(1), Counter()
    for _ in range(200):
        pair, now = _Pair(backend, rng.choice(['arm', 'turret']), **any_values(rng)), 10.0
        share = float(rng.choice([0.0, 0.1, 0.8, 1.0, 1.0, -1.0]))
        turned = rng.random() < 0.2
        noise, period = float(rng.choice([0.0, 0.0, 0.3])), float(rng.choice(
            [0.002, 0.005, 0.0099, 0.012, 0.02]))
        speed, has_effort = float(rng.choice([0.0, 0.0, 0.1])), rng.random() < 0.9
        moving, refused = float(rng.choice([0.7, 1.0])), 0
        pair.seen.q[:] = rng.uniform(-0.4, 0.4, 5) * rng.choice([1.0, 1.0, 1.0, 50.0])
        for _ in range(int(rng.integers(30, 60))):
            now += period * rng.uniform(0.995, 1.005)
            pair.seen.q[:] += 1e-4 * rng.normal(size=5)
            pair.seen.qd[:] = rng.uniform(-0.018, 0.018, 5) + speed * (rng.random() < moving)
            vector = pair.vector[[1, 2, 0]] if turned else pair.vector
            pair.seen.effort[INDEX] = (share * gravity_torque(pair.seen.q, vector)
                                       + noise * rng.normal(size=3))
            if rng.random() < 0.02:
                pair.seen.effort[INDEX[0]] = rng.choice([math.nan, 1e6])
            for what in pair.check(now, has_effort or rng.random() < 0.8):
                seen[what] += 1
            refused += int(pair.y.accused)
            if refused > 1 and rng.random() < 0.8:
                break
            if rng.random() < 0.01:
                pair.restart()
    wanted = {*map(str, range(460, 469)), 'rests'}
    assert set(seen) == wanted and min(seen.values()) >= 4, seen


def test_refused_positions_say_why() -> None:
    seen = Counter()
    for robot, q in (('arm', [1.0, 20.0, 9.0]), ('arm', [60.0, 20.0, -9.0]),
                     ('turret', [2.0, 1.0, 300.0]), ('turret', [2.0, 1.0, 900.0]),
                     ('arm', [1.0, 2.0, 1e9])):
        pair = _Pair('llvm', robot)
        pair.seen.q[INDEX] = q
        seen[tuple(pair.check(1.0))] += 1
        assert pair.x.states == 0.0
    assert seen == {('460',): 5}


def find(values: Vector, rows: Matrix, spare: Vector, given: Vector) -> None:
    """Find the k-th, and medians of the values and of the second row."""
    given[2] = select(values, int(given[0]), int(given[1]))
    given[3] = median(values, int(given[0]))
    given[4] = row_median(rows, 1, int(given[0]), spare)


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('size', [1, 2, 3, 7, 64, 501])
def test_medians_are_those_of_numpy(size: int, backend: str) -> None:
    rng = np.random.default_rng(size)
    longer, rows, given = np.zeros(size + 2), np.zeros((2, size + 2)), np.zeros(5)
    call = bind(find, longer, rows, np.zeros(size + 2), given, backend=backend)
    for _ in range(30):
        values = rng.choice([rng.normal(size=size), rng.integers(0, 4, size).astype(float),
                             np.sort(rng.normal(size=size))])
        longer[:] = rows[1] = [*values, -1e9, 1e9]
        given[:2] = size, rng.integers(size)
        call()
        assert given[2] == np.sort(values)[int(given[1])]
        assert given[3] == given[4] == np.median(values)


def test_more_samples_than_there_is_room_for_are_thinned_out() -> None:
    x, values = SampleCount({}), np.zeros((2, ROOM))
    count, rows, total = x.plain(), memoryview(values), 5 * ROOM + 3
    for k in range(total):
        if is_wanted(count):
            if is_full(count):
                thin_out(rows)
                halve(count)
            values[:, int(x.kept)] = k, -k
            x.kept += 1.0
    assert x.stride == 8.0
    assert np.array_equal(values[0, :int(x.kept)], np.arange(0, total, 8))
    assert np.array_equal(values[1], -values[0])
    restart_samples(count)
    assert is_wanted(count) and is_wanted(count) and x.kept == 0.0


@pytest.mark.parametrize('backend', BACKENDS)
def test_a_long_check_needs_no_more_room(backend: str) -> None:
    rng, wanted = np.random.default_rng(4), gravity_torque(np.zeros(5), np.array([0, 0, -9.81]))
    pair = _Pair(backend, **{'start.time': 5.0, 'effort_is_torque': True, 'minimum_rate': 0.0,
                             'nominal_rate': 1000.0, 'start.tolerance': 0.15})
    pair.joints.effort_known, noise = 1.0, rng.normal(size=(5001, 3))
    for k in range(5001):
        pair.joints.effort[INDEX] = wanted + noise[k]
        assert pair.do(1, 0.001 * k) == (0.001 * k >= 5.0)
    assert pair.x.effort_count.kept == 2501.0 and pair.x.passed == 1.0
    np.testing.assert_array_equal(pair.x.effort, np.median(wanted + noise[::2], axis=0))


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, -1.0])
def test_nothing_makes_the_check_infinite(bad: float, backend: str) -> None:
    rng = np.random.default_rng(5)
    of_p, of_joints = StartLimits.block_size(SIZES), Joints.block_size(SIZES)
    pair = _Pair(backend, **any_values(rng) | {'effort_is_torque': True, 'start.time': 0.0})
    pair.bad = bad
    for place in range(of_p + of_joints + 4):
        pair.x.restart()
        pair.joints.restart()
        fill_start(pair.p, pair.settings)
        pair.joints.effort_known = 1.0
        if place < of_p:
            pair.p.memory[place] = bad
        elif place < of_p + of_joints:
            pair.joints.memory[place - of_p] = bad
        pair.spoilt = place - of_p - of_joints - 1
        for k in range(30):
            pair.y.told = pair.y.accused = 0.0
            pair.do(1, bad if pair.spoilt == -1 and k in (3, 22) else 0.005 * k)
        assert np.isfinite(pair.x.memory).all(), place
        assert {pair.x.passed, pair.x.torque_known} <= {0.0, 1.0}
