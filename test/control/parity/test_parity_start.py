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
from rbd_ros.control.joint_states.joint_map import JointMap
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.readiness import StartCheck
from rbd_ros.control.safety.causes import Cause
from rbd_ros.control.settings import Settings
from rbd_ros.control.step.events import Joints, Result, Structure
from rbd_ros.control.step.load_texts import load_text
from rbd_ros.control.step.load_words import KINDS
from rbd_ros.control.step.medians import median, select
from rbd_ros.control.step.samples import (
    halve, is_full, is_wanted, restart_samples, ROOM, row_median, SampleCount, thin_out)
from rbd_ros.control.step.start import (
    fill_start, GravityKernel, passes_start, restart_start, Start, StartLimits)
from recorded_robots import controlled_robot

SIZES = {'n': 3, 'm': 5}
INDEX = [3, 0, 4]

#: gravity torque of a unit vector of gravity at each joint, besides what the positions do
COLUMNS = np.array([[3.0, 0.2, -1.0], [-0.5, 2.0, 0.3], [0.1, 0.4, 1.5]])


def gravity_torque(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return what a kernel would compute, of some robot."""
    return (COLUMNS * np.cos(q[INDEX])[:, None]) @ vector


class _Pair:
    """The old check and the new one, of a robot with two more joints than are controlled."""

    def __init__(self, robot: str = 'arm', **values: object) -> None:
        self.settings = Settings(controlled_robot(robot), defaults() | values, simulated=False)
        self.seen = SimpleNamespace(q=np.zeros(5), qd=np.zeros(5), effort=np.zeros(5),
                                    effort_known=True, controlled=INDEX)
        self.vector = np.array(self.settings.numbers('gravity'))
        self.old = StartCheck(self.settings, cast(JointMap, self.seen))
        self.x, self.p, self.y = Start(SIZES), StartLimits(SIZES), Result(SIZES)
        self.joints, self.s = Joints(SIZES), Structure(SIZES)
        self.s.index[:] = INDEX
        fill_start(self.p, self.settings)
        arrays = np.zeros(5), np.zeros(5), self.vector.copy(), np.zeros(3)

        def run() -> int:
            arrays[3][:] = gravity_torque(arrays[0], arrays[2])
            return 0
        self.kernel = GravityKernel(run, *map(memoryview, arrays))
        self.new = self.x.plain(), self.p.plain(), self.kernel
        self.given = self.joints.plain(), self.s.plain(), self.y.plain()

    def restart(self) -> None:
        self.old.restart()
        restart_start(self.new[0])

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
        assert passes_start(*self.new, *self.given, now) == passed
        words = self.y.words[:int(self.y.told)].tolist()
        assert [(KINDS[int(word[0])], self._text(*word)) for word in words] == told
        accused = self.y.accusations[:int(self.y.accused)].tolist()
        assert [(list(Cause)[int(cause)], self._text(*rest)) for cause, *rest in accused] == faults
        torque = self.x.torque if self.x.torque_known else None
        if self.old.torque is None or torque is None:
            assert self.old.torque is torque
        else:
            np.testing.assert_allclose(torque, self.old.torque, rtol=1e-15)
        assert np.array_equal(self.kernel.vector, self.vector)
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
            'gravity': rng.choice([[0.0, 0.0, -9.81], [0.0, 7.0, 7.0]]).tolist()}


def test_verdicts_are_those_of_the_classes() -> None:
    rng, seen = np.random.default_rng(1), Counter()
    for _ in range(250):
        pair, now = _Pair(rng.choice(['arm', 'turret']), **any_values(rng)), 10.0
        share = float(rng.choice([0.0, 1.0, 1.0, -1.0, 0.5]))
        turned = rng.random() < 0.2
        noise, period = float(rng.choice([0.0, 0.3])), float(rng.choice([0.002, 0.005, 0.012]))
        speed, has_effort = float(rng.choice([0.0, 0.0, 0.1])), rng.random() < 0.9
        moving, refused = float(rng.choice([0.7, 1.0])), 0
        pair.seen.q[:] = rng.uniform(-0.4, 0.4, 5) * rng.choice([1.0, 1.0, 1.0, 50.0])
        for _ in range(int(rng.integers(30, 60))):
            now += period * rng.uniform(0.8, 1.2)
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
        pair = _Pair(robot)
        pair.seen.q[INDEX] = q
        seen[tuple(pair.check(1.0))] += 1
        assert pair.x.states == 0.0
    assert seen == {('460',): 5}


@pytest.mark.parametrize('size', [1, 2, 3, 7, 64, 501])
def test_medians_are_those_of_numpy(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(30):
        values = rng.choice([rng.normal(size=size), rng.integers(0, 4, size).astype(float),
                             np.sort(rng.normal(size=size))])
        k = int(rng.integers(size))
        assert select(memoryview(values.copy()), size, k) == np.sort(values)[k]
        longer = np.concatenate([values, [-1e9, 1e9]])
        assert median(memoryview(longer), size) == np.median(values)


def test_more_samples_than_there_is_room_for_are_thinned_out() -> None:
    x, values, spare = SampleCount({}), np.zeros((2, ROOM)), np.zeros(ROOM)
    count, row, total = x.plain(), memoryview(values), 5 * ROOM + 3
    for k in range(total):
        if is_wanted(count):
            if is_full(count):
                thin_out(row)
                halve(count)
            values[:, int(x.kept)] = k, -k
            x.kept += 1.0
    assert x.stride == 8.0
    assert np.array_equal(values[0, :int(x.kept)], np.arange(0, total, 8))
    assert abs(row_median(row, 1, int(x.kept), memoryview(spare)) + total / 2) <= 8.0
    restart_samples(count)
    assert is_wanted(count) and is_wanted(count) and x.kept == 0.0


def test_a_long_check_needs_no_more_room() -> None:
    pair, rng = _Pair(**any_values(np.random.default_rng(3)) | {
        'start.time': 5.0, 'effort_is_torque': True, 'nominal_rate': 1000.0,
        'minimum_rate': 0.0, 'start.tolerance': 0.15}), np.random.default_rng(4)
    times = np.arange(5002) * 0.001
    for now in times:
        pair.joints.effort_known = 1.0
        pair.joints.effort[INDEX] = gravity_torque(pair.joints.q, pair.vector) + rng.normal(size=3)
        passed = passes_start(*pair.new, *pair.given, float(now))
        assert passed == (now >= 5.0)
        if passed:
            break
    np.testing.assert_allclose(pair.x.torque, gravity_torque(pair.joints.q, pair.vector), atol=0.1)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, -1.0])
def test_nothing_makes_the_check_infinite(bad: float) -> None:
    rng = np.random.default_rng(5)
    count, all_joints = StartLimits.block_size(SIZES), Joints.block_size(SIZES)
    for place in range(count + all_joints + 4):
        pair = _Pair(**any_values(rng) | {'effort_is_torque': True, 'start.time': 0.0})
        pair.joints.effort_known = 1.0
        if place < count:
            pair.p.memory[place] = bad
        elif place < count + all_joints:
            pair.joints.memory[place - count] = bad
        kernel = pair.kernel
        if place >= count + all_joints + 1:
            def run(row: int = place - count - all_joints - 1, inner=kernel.run) -> int:
                inner()
                kernel.torque[row] = bad
                return 0
            kernel = kernel._replace(run=run)
        for k in range(40):
            now = bad if place == count + all_joints and k in (3, 30) else 0.005 * k
            passes_start(*pair.new[:2], kernel, *pair.given, now)
        assert np.isfinite(pair.x.memory).all(), place
        assert {pair.x.passed, pair.x.torque_known} <= {0.0, 1.0}
