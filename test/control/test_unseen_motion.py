# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A joint whose sensor is frozen: its speed by the model, and what the other joints say of it."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind
from rbd_ros.control.interface.events import Joints, NOBODY, Structure
from rbd_ros.control.kernels.declared import MomentumKernel
from rbd_ros.control.observers.observer import ObserverParameters
from rbd_ros.control.observers.unseen_motion import follow_unseen, is_touched, too_fast
from rbd_ros.control.observers.unseen_records import UnseenMotion, UnseenParameters
from recorded_robots import law_kernels

SIZES = {'n': 3, 'm': 3}
DT = 0.001
FROZEN = 1


class Robot:
    """Three joints that move by their own dynamics under random torques, seen by sensors."""

    def __init__(self, seed: int, friction: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.x, self.p = UnseenMotion(SIZES), UnseenParameters(SIZES)
        self.p.patience, self.p.most[:], self.p.friction[:] = 0.02, 0.6, 4.0
        self.p.hidden[:], self.p.tolerance[:], self.p.period = 0.1, 1e-4, DT
        self.joints, structure = Joints(SIZES), Structure(SIZES)
        structure.index[:] = 0, 1, 2
        self.joints.elapsed = DT
        self.kernel = MomentumKernel.of(law_kernels('arm')['momentum'])
        self.kernel.acting[:] = 0.0, 0.0, -9.81
        self.torque, self.friction = np.zeros(3), friction
        self.q, self.qd = self.rng.uniform(-1.0, 1.0, 3), self.rng.uniform(0.2, 0.5, 3)
        self.push, self.pushed, self.held = np.zeros(3), 0.0, False
        self._run = bind(follow_unseen, self.x, self.p, ObserverParameters(SIZES), self.kernel,
                         self.joints, structure, np.full(3, 100.0), self.torque)

    def run(self, duration: float, *, frozen: bool = False) -> None:
        """Let time pass; torques carry the robot and push it about."""
        ways, phase = self.rng.uniform(-1.0, 1.0, 3), self.rng.uniform(0.0, 6.0)
        for k in range(round(duration / DT)):
            H, bias = self.dynamics()
            self.torque[:] = bias + ways * np.diag(H) * np.sin(4.0 * k * DT + phase)
            self.torque[FROZEN] += H[FROZEN, FROZEN] * self.pushed
            self.take(frozen)
            rest = self.torque + self.push - bias - self.friction * np.sign(self.qd)
            free = [i for i in range(3) if i != FROZEN or not self.held]
            qdd = np.zeros(3)
            qdd[free] = np.linalg.solve(H[np.ix_(free, free)], rest[free])
            self.q, self.qd = self.q + DT * self.qd + 0.5 * DT * DT * qdd, self.qd + DT * qdd

    def take(self, frozen: bool) -> None:
        """Take a state; a frozen sensor shows where it was, and no velocity."""
        joints, seen = self.joints, [i for i in range(3) if i != FROZEN or not frozen]
        joints.speed[:], joints.qd[:], joints.repeated[:] = joints.qd, 0.0, 1.0
        joints.q[seen], joints.qd[seen], joints.repeated[seen] = self.q[seen], self.qd[seen], 0.0
        self._run()

    def dynamics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return H and C with gravity where the robot really is."""
        self.kernel.q[:], self.kernel.qd[:] = self.q, self.qd
        self.kernel.run()
        return self.kernel.H.copy(), self.kernel.bias.copy()


@pytest.mark.parametrize('seed', range(6))
def test_the_speed_of_a_joint_that_nobody_sees(seed):
    """Without friction it is known to 5 %, at whatever place the joint is by then."""
    robot = Robot(seed, 0.0)
    robot.run(0.3)
    place = robot.q[FROZEN]
    for _ in range(4):
        robot.run(0.1, frozen=True)
        assert robot.x.speed[FROZEN] == pytest.approx(robot.qd[FROZEN], rel=0.05, abs=0.01)
        assert robot.x.way[FROZEN] == pytest.approx(robot.q[FROZEN] - place, rel=0.05, abs=0.005)
    x, p = robot.x, robot.p
    for share, found in ((0.9, FROZEN), (1.1, NOBODY)):
        p.most[FROZEN] = share * abs(x.speed[FROZEN])
        assert too_fast(x, p) == found


@pytest.mark.parametrize('seed', range(6))
def test_friction_is_learnt_in_motion(seed):
    """Twice what a joint has shown is allowed to it: no joint is taken for faster than it is."""
    robot = Robot(seed, 0.3)
    robot.run(0.3)
    np.testing.assert_allclose(robot.x.friction[:2], 0.3, rtol=0.2)  # the last one sticks
    for _ in range(10):
        robot.run(0.03, frozen=True)
        assert abs(robot.x.speed[FROZEN]) <= abs(robot.qd[FROZEN]) + 0.02


@pytest.mark.parametrize('silent', [False, True])
@pytest.mark.parametrize('seed', range(6))
def test_a_sensor_that_leaps_has_hidden_a_motion(seed, silent):
    """No joint goes that far in a period; how fast it is by then is known without velocities."""
    robot = Robot(seed, 0.0)
    robot.run(0.3)
    x, place = robot.x, robot.q[FROZEN]
    robot.run(0.1, frozen=True)
    assert x.leapt == NOBODY
    robot.joints.differenced = float(silent)
    step, speed = robot.q[FROZEN] - place, robot.qd[FROZEN]
    robot.take(frozen=False)
    assert abs(step) > 0.005
    assert (x.leapt, x.leap) == (FROZEN, pytest.approx(step, rel=0.05))
    assert not silent or x.first[FROZEN] == pytest.approx(speed, rel=0.1, abs=0.02)
    robot.take(frozen=True)
    assert x.leapt == NOBODY


@pytest.mark.parametrize('lost', [1, 15])
def test_messages_that_are_lost_are_no_hidden_motion(lost):
    """Those of one joint may repeat it for a patience, those of all joints for five."""
    robot = Robot(lost, 0.0)
    robot.run(0.3)
    for _ in range(20):
        robot.run(lost * DT, frozen=True)
        robot.take(frozen=False)
        assert robot.x.leapt == NOBODY
    for _ in range(80):
        robot.joints.speed[:], robot.joints.qd[:], robot.joints.repeated[:] = 0.0, 0.0, 1.0
        robot._run()
    robot.q += 80 * DT * robot.qd
    robot.take(frozen=False)
    assert robot.x.leapt == NOBODY


def test_a_joint_that_has_stood_shows_what_held_it():
    """It begins to move as a joint does, and its friction is known from then on."""
    robot = Robot(3, 0.0)
    robot.run(0.3)
    robot.held, robot.pushed, robot.qd[FROZEN] = True, 4.0, 0.0
    robot.run(0.3, frozen=True)
    robot.held = False
    held = abs(robot.x.seen.torque[FROZEN])
    robot.run(2.0 * DT)
    assert robot.x.leapt == NOBODY
    assert robot.x.held[FROZEN] == pytest.approx(held, rel=0.1)


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('touched', [False, True])
def test_what_stands_by_a_brake_or_an_obstacle_is_not_too_fast(seed, touched):
    """The other joints feel that it stands, or torques that no hidden motion explains."""
    robot = Robot(seed, 0.0)
    robot.run(0.3)
    robot.held, robot.pushed, robot.qd[FROZEN] = True, 4.0, 0.0
    robot.push = touched * robot.rng.choice([-1.0, 1.0], 3) * robot.rng.uniform(0.5, 2.0, 3)
    for _ in range(4):
        robot.run(0.1, frozen=True)
        assert too_fast(robot.x, robot.p) == NOBODY
    assert is_touched(robot.x, FROZEN) or not touched
