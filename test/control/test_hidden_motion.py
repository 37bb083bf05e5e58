# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Who bears witness of a joint that stands by its sensor, and what the witnesses feel."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.interface.events import Joints, Structure
from rbd_ros.control.kernels.declared import MomentumKernel
from rbd_ros.control.observers.hidden_motion import (
    count_witnesses, feel, follow_joint, forget_suspect, HiddenMotion, update_hidden_motion)
from rbd_ros.control.observers.observer import Observer
from recorded_robots import law_kernels

SIZES = {'n': 3, 'm': 3}
DT = 0.002


def follow(x: HiddenMotion, kernel: MomentumKernel, joints: Joints, s: Structure, gain: Vector,
           tau: Vector, o: Observer, u: Vector) -> None:
    """Begin with the second joint, or take states; count who bears witness."""
    if u[0] > 0.0:
        follow_joint(x, 1, u[1], joints, s)
    for _ in range(int(u[2])):
        for k in range(len(kernel.q)):
            kernel.q[k] = joints.q[k]
            kernel.qd[k] = joints.qd[k]
        kernel.run()
        o.acted[:] = tau
        o.acts = 1.0
        update_hidden_motion(x, kernel, joints, s, gain, tau, DT, o)
        for k in range(len(kernel.q)):
            joints.q[k] += DT * joints.qd[k]
            joints.speed[k] = joints.qd[k]
    u[3] = count_witnesses(x)


class Robot:
    """Three joints whose velocities the test sets; the second one stands by its sensor."""

    def __init__(self, *speeds: float) -> None:
        self.x, self.joints, self.u = HiddenMotion(SIZES), Joints(SIZES), np.zeros(4)
        structure = Structure(SIZES)
        structure.index[:] = 0, 1, 2
        self.joints.q[:], self.joints.speed[:] = (0.2, 0.6, 0.9), speeds
        self.joints.qd[:] = speeds
        self.joints.qd[1] = 0.0
        kernel = MomentumKernel.of(law_kernels('arm')['momentum'])
        kernel.acting[:] = 0.0, 0.0, -9.81
        self.gain, self.tau = np.full(3, 100.0), np.zeros(3)
        self._run = bind(follow, self.x, kernel, self.joints, structure, self.gain, self.tau,
                         Observer(SIZES), self.u)

    def go_on(self, periods: int, *, begins: bool = False, speed: float = 0.0) -> int:
        """Take states; return how many joints bear witness."""
        self.u[:3] = begins, speed, periods
        self._run()
        return int(self.u[3])


@pytest.mark.parametrize('first, last, witnesses', [
    (0.3, 0.2, 2), (-0.3, 0.2, 2), (-0.3, -0.2, 2), (0.3, 0.0, 1), (0.0, -0.2, 1), (0.0, 0.0, 0)])
def test_joints_that_move_on_either_way_bear_witness(first, last, witnesses):
    """The direction at the halt is kept; joints at rest, and the one that stands, tell nothing."""
    robot = Robot(first, 0.4, last)
    assert robot.go_on(1, begins=True, speed=0.4) == 0  # nothing has settled
    assert robot.x.sign.tolist() == [np.sign(first), 0.0, np.sign(last)]
    assert robot.go_on(60) == witnesses


def test_who_turns_or_stands_bears_witness_no_more():
    """Friction changes there by an amount that nobody knows, also if it moves on again."""
    robot = Robot(-0.3, 0.4, 0.2)
    assert robot.go_on(60, begins=True, speed=0.4) == 2
    robot.joints.qd[0] = 0.3
    assert robot.go_on(1) == 1
    robot.joints.qd[0] = -0.3
    assert robot.go_on(1) == 1
    robot.joints.repeated[2] = 1.0
    assert robot.go_on(1) == 0


def test_each_halt_is_followed_anew():
    """Nothing of the joint before is left, and without a suspect nobody feels anything."""
    robot = Robot(-0.3, 0.4, 0.2)
    robot.go_on(60, begins=True, speed=0.4)
    hidden = np.full(3, 1e-3)
    assert feel(robot.x, robot.x.seen, hidden) > 0.0
    robot.u[:3] = 1.0, 0.25, 0.0
    robot._run()
    x = robot.x
    assert (x.way, x.growth, x.stop, x.time, x.periods, x.speed) == (0.0,) * 5 + (0.25,)
    forget_suspect(x)
    assert robot.go_on(60) == 0 and feel(x, x.seen, hidden) == 0.0
