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

"""Closed loops: the checks of the step are those of the old class."""

from __future__ import annotations

from collections import Counter
from functools import cache
import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.control.joint_states.joint_map import JointMap
from rbd_ros.control.loop_watch import LoopWatch
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot, Robot
from rbd_ros.control.safety.causes import Cause
from rbd_ros.control.settings import Settings
from rbd_ros.control.step.closed_loops import (
    check_loops, ClosedLoops, fill_loops, loop_kernel, LoopKernel, LoopLimits, restart_loops)
from rbd_ros.control.step.events import Joints, Result, Structure
from rbd_ros.control.step.load_texts import load_text
from rbd_ros.control.step.start import Start
from rbd_ros.control.tick import TickKernels
from recorded_robots import KINDS

SIZES = {'n': 2, 'm': 4}
KIND = KINDS['solved five-bar']


@cache
def ticks(solved: bool) -> TickKernels:
    """Return the kernels of a five-bar whose left shoulder turns without end."""
    text = KIND.source.read_text().replace('name="left_shoulder" type="revolute"',
                                           'name="left_shoulder" type="continuous"')
    robot = make_robot(load_urdf(text, on_warning=lambda _: None), KIND.joints, tip=KIND.tip,
                       assembly=KIND.home if solved else None)
    return TickKernels(robot, driver_adds='none', driver_knows_payload=False)


def structure_of(robot: Robot) -> Structure:
    """Return which joints are which."""
    s = Structure(SIZES)
    s.index[:] = robot.index
    s.controlled[list(robot.index)] = 1.0
    s.continuous[list(robot.index)] = robot.continuous
    return s


def plain(kernel: LoopKernel) -> LoopKernel:
    """Return a kernel as procedures in Python see it."""
    return LoopKernel(lambda: kernel.run() or 0, *[memoryview(each) for each in kernel[1:]])


class _Pair:
    """The old watch and the new one."""

    def __init__(self, *, solved: bool, **values: float) -> None:
        self.robot = ticks(solved).robot
        self.settings = Settings(self.robot, defaults() | values, simulated=False)
        self.seen = SimpleNamespace(q=np.zeros(4), qd=np.zeros(4),
                                    names=self.robot.model.independent_joint_names)
        self.bound = ticks(solved).compile('loops')
        self.old = LoopWatch(self.settings, cast(JointMap, self.seen), self.bound)
        self.x, self.p, self.y = ClosedLoops(SIZES), LoopLimits(SIZES), Result(SIZES)
        self.joints, self.kernel = Joints(SIZES), loop_kernel(ticks(solved).compile('loops'))
        self.given = [each.plain() for each in (self.joints, structure_of(self.robot), self.y)]
        self.new = self.x.plain(), self.p.plain()
        fill_loops(self.p, self.settings)
        restart_loops(*self.new)

    def restart(self) -> None:
        self.old.restart()
        restart_loops(*self.new)

    def check(self, q: np.ndarray, qd: np.ndarray, *, starts: bool) -> str:
        """Give both a state; return the kind of what is wrong."""
        faults: list[tuple[Cause, str]] = []
        self.seen.q[:], self.seen.qd[:] = self.joints.q[:], self.joints.qd[:] = q, qd
        right = self.old.check(lambda *fault: faults.append(fault), starts=starts)
        self.y.accused = 0.0
        assert check_loops(*self.new, plain(self.kernel), *self.given, int(starts)) == right
        assert len(faults) == self.y.accused
        near = {'rtol': 1e-12, 'atol': 1e-12}
        np.testing.assert_allclose(self.joints.q, self.seen.q, **near)
        np.testing.assert_allclose(self.joints.qd, self.seen.qd, **near)
        np.testing.assert_allclose(self.x.q, self.old.q if self.old.solves else 0.0, **near)
        if not faults:
            return 'right'
        cause, word, row, *numbers = self.y.accusations[0].tolist()
        assert list(Cause)[int(cause)] is faults[0][0]
        text = load_text(int(word), int(row), tuple(numbers), self.settings, Start(SIZES))
        assert text == faults[0][1]
        return f'{faults[0][0].name} {int(word)}'


def test_solved_joints_are_followed_as_before() -> None:
    rng, seen = np.random.default_rng(1), Counter()
    for _ in range(25):
        pair = _Pair(solved=True, loop_pivot=float(rng.choice([1e-3, 0.5])))
        q, starts = np.array(pair.robot.assembly), True
        for _ in range(40):
            chance = rng.random()
            driven = list(pair.robot.index)
            q[driven] += rng.normal(size=2) * (0.01 if chance < 0.7 else 1.5)
            if chance > 0.97:
                q[0] += 2.0 * math.pi * rng.integers(-3, 4)  # left shoulder
            if chance < 0.04:
                pair.restart()
                q[:], starts = pair.robot.assembly, True
            seen[pair.check(q, rng.normal(size=4), starts=starts), starts] += 1
            starts = rng.random() < 0.3
            q[:] = pair.old.q if rng.random() < 0.9 else q
    assert len(seen) == 6, seen


def test_measured_loops_are_checked_as_before() -> None:
    rng, seen = np.random.default_rng(2), Counter()
    closed = np.array(ticks(True).robot.assembly)
    for _ in range(20):
        pair = _Pair(solved=False, loop_pivot=float(rng.choice([0.02, 2.0])),
                     loop_tolerance=float(rng.choice([0.001, 0.05])))
        for _ in range(20):
            q = closed + rng.normal(size=4) * rng.choice([1e-5, 1e-3, 0.1])
            seen[pair.check(q, rng.normal(size=4), starts=rng.random() < 0.5)] += 1
    assert len(seen) == 5 and min(seen.values()) > 5, seen


@pytest.mark.parametrize('solved', [False, True])
@pytest.mark.parametrize('name', ['gaps', 'pivots', 'closed_q', 'closed_qd'])
def test_what_a_kernel_cannot_compute_is_wrong(name: str, solved: bool) -> None:
    pair = _Pair(solved=solved)
    kernel, rows = plain(pair.kernel), len(pair.kernel.gaps)
    q = np.array(ticks(True).robot.assembly)
    pair.joints.q[:] = q
    assert check_loops(*pair.new, kernel, *pair.given, 0)
    for k in range(min(rows, len(getattr(kernel, name)))):
        def run() -> int:
            pair.kernel.run()
            getattr(pair.kernel, name)[k] = math.nan
            return 0
        before = pair.x.memory.copy()
        right = check_loops(*pair.new, kernel._replace(run=run), *pair.given, 0)
        assert right == (not solved and name.startswith('closed')) or (solved and name == 'gaps')
        if not right:
            assert np.array_equal(pair.x.q, before[:4]) or name == 'pivots'
        assert np.isfinite(pair.x.memory).all() and np.isfinite(pair.joints.memory).all()


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308])
def test_nothing_makes_positions_infinite(bad: float) -> None:
    for place in range(LoopLimits.block_size(SIZES)):
        for starts in (0, 1):
            pair = _Pair(solved=True)
            pair.joints.q[:] = pair.robot.assembly
            pair.p.memory[place] = bad
            restart_loops(*pair.new)
            check_loops(*pair.new, plain(pair.kernel), *pair.given, starts)
            assert np.isfinite(pair.x.memory).all() and np.isfinite(pair.joints.memory).all()
