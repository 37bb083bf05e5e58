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
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.loop_watch import LoopWatch
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot, Robot
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.start.closed_loops import (
    check_loops, ClosedLoops, fill_loops, loop_kernel, LoopKernel, LoopLimits, restart_loops)
from rbd_ros.control.interface.events import Joints, Result, Structure
from rbd_ros.control.load.texts import load_text
from rbd_ros.control.start.start import Start
from rbd_ros.control.former.tick import TickKernels
from recorded_robots import KINDS

BACKENDS = ('python', 'llvm')
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


def work(x: ClosedLoops, p: LoopLimits, kernel: LoopKernel, joints: Joints, s: Structure,
         y: Result, given: Vector) -> None:
    """Do what the first number says, as the second one says."""
    if given[0] == 0.0:
        restart_loops(x, p)
    else:
        given[2] = 1.0 if check_loops(x, p, kernel, joints, s, y, int(given[1])) else 0.0


class _Pair:
    """The old watch and the new one."""

    def __init__(self, backend: str, *, solved: bool, **values: float) -> None:
        self.robot = ticks(solved).robot
        self.settings = Settings(self.robot, defaults() | values, simulated=False)
        self.seen = SimpleNamespace(q=np.zeros(4), qd=np.zeros(4),
                                    names=self.robot.model.independent_joint_names)
        self.old = LoopWatch(self.settings, cast(JointMap, self.seen),
                             ticks(solved).compile('loops'))
        self.x, self.p, self.y = ClosedLoops(SIZES), LoopLimits(SIZES), Result(SIZES)
        self.joints, self.kernel = Joints(SIZES), loop_kernel(ticks(solved).compile('loops'))
        self.given, self.backend = np.zeros(3), backend
        self.use(self.kernel)
        fill_loops(self.p, self.settings)
        self.do(0)

    def use(self, kernel: LoopKernel) -> None:
        """Let the new one work with a kernel."""
        self.call = bind(work, self.x, self.p, kernel, self.joints, structure_of(self.robot),
                         self.y, self.given, backend=self.backend)

    def do(self, what: int, starts: bool = False) -> bool:
        """Let the new one work; return whether all is right."""
        self.given[:] = what, starts, 0.0
        self.call()
        return bool(self.given[2])

    def restart(self) -> None:
        self.old.restart()
        self.do(0)

    def check(self, q: np.ndarray, qd: np.ndarray, *, starts: bool) -> str:
        """Give both a state; return the kind of what is wrong."""
        faults: list[tuple[Cause, str]] = []
        self.seen.q[:], self.seen.qd[:] = self.joints.q[:], self.joints.qd[:] = q, qd
        right = self.old.check(lambda *fault: faults.append(fault), starts=starts)
        self.y.accused = 0.0
        assert self.do(1, starts) == right
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


@pytest.mark.parametrize('backend', BACKENDS)
def test_solved_joints_are_followed_as_before(backend: str) -> None:
    rng, seen = np.random.default_rng(1), Counter()
    for _ in range(25):
        pair = _Pair(backend, solved=True, loop_pivot=float(rng.choice([1e-3, 0.5])))
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


@pytest.mark.parametrize('backend', BACKENDS)
def test_measured_loops_are_checked_as_before(backend: str) -> None:
    rng, seen = np.random.default_rng(2), Counter()
    closed = np.array(ticks(True).robot.assembly)
    for _ in range(20):
        pair = _Pair(backend, solved=False, loop_pivot=float(rng.choice([0.02, 2.0])),
                     loop_tolerance=float(rng.choice([0.001, 0.05])))
        for _ in range(20):
            q = closed + rng.normal(size=4) * rng.choice([1e-5, 1e-3, 0.1])
            seen[pair.check(q, rng.normal(size=4), starts=rng.random() < 0.5)] += 1
    assert len(seen) == 5 and min(seen.values()) > 5, seen


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('solved', [False, True])
@pytest.mark.parametrize('name', ['gaps', 'pivots', 'closed_q', 'closed_qd'])
def test_what_a_kernel_cannot_compute_is_wrong(name: str, solved: bool, backend: str) -> None:
    pair = _Pair(backend, solved=solved)
    pair.joints.q[:] = ticks(True).robot.assembly
    assert pair.do(1)
    for k in range(len(getattr(pair.kernel, name))):
        def run(k: int = k) -> None:
            pair.kernel.run()
            getattr(pair.kernel, name)[k] = math.nan
        pair.use(pair.kernel._replace(run=run))
        # a gap does not count where joints are solved, nor do closed positions where they are not
        ignored = ('gaps',) if solved else ('closed_q', 'closed_qd')
        assert pair.do(1) == (name in ignored)
        assert np.isfinite(pair.x.memory).all() and np.isfinite(pair.joints.memory).all()


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308])
def test_nothing_makes_positions_infinite(bad: float, backend: str) -> None:
    for place in range(LoopLimits.block_size(SIZES)):
        for starts in (False, True):
            pair = _Pair(backend, solved=True)
            pair.joints.q[:] = pair.robot.assembly
            pair.p.memory[place] = bad
            pair.do(0)
            pair.do(1, starts)
            assert np.isfinite(pair.x.memory).all() and np.isfinite(pair.joints.memory).all()
