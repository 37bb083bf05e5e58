# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A joint that turns without end, in the running controller: lessons take the short way round."""

from __future__ import annotations

import re

from command_rig import ARM
import numpy as np
import pytest
from rbd_ros import Dynamics
from rbd_ros.control.controller import Controller
from rbd_ros.control.modes import Takes, taking
from rbd_ros.control.parameters.assembly import build_robot, build_settings, compile_kernels
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references.trajectory import read_points
from rbd_ros.sim import SimulatedRobot
from rbd_ros.teaching.lesson import Lesson, Point
from rbd_ros.teaching.motion import Motion
from rbd_ros.teaching.repeat import approach, repeated
from rbd_ros.teaching.strokes import limits_of

pytestmark = pytest.mark.slow

RATE = 250.0
NEAR = 0.04  # rad: dry friction, which no integral takes away
POSE = np.array([0.0, 0.4, 0.0, -1.2, 0.0, 0.8, 0.0])
TEXT = re.sub(r'(<joint name="joint_1" type=)"revolute"', r'\1"continuous"', ARM.read_text())


class TurningArm:
    """The arm whose first joint has no end, under its controller; its driver may wrap angles."""

    def __init__(self, angle: float, *, wraps: bool) -> None:
        values = defaults() | {
            'driver_adds': 'none', 'release_torque': 'gravity', 'nominal_rate': RATE,
            'mode': taking(Takes.TRAJECTORY)[0], 'effort_is_torque': True}
        self.robot = build_robot(values, TEXT, lambda _: None)
        settings = build_settings(self.robot, values, simulated=True)
        self.arm, self.wraps, self.t = SimulatedRobot(self.robot.model), wraps, 100.0
        self.dynamics = Dynamics(self.robot.model)
        self.arm.place(POSE + angle * (np.arange(7) == 0))
        self.arm.brake(True)
        self.controller = Controller(settings, compile_kernels(settings), lambda torque: (
            self.arm.command(torque.copy())))
        self.controller.activate(self.t, self.t)
        self.angles: list[float] = []

    @property
    def reported(self) -> np.ndarray:
        """Return the positions as the driver tells them."""
        q = self.arm.q.copy()
        if self.wraps:
            q[0] = np.remainder(q[0] + np.pi, 2.0 * np.pi) - np.pi
        return q

    def step(self) -> None:
        """Pass one period."""
        arm, controller = self.arm, self.controller
        if controller.working:
            arm.brake(False)
        effort = arm.joint_torque if controller.working else self.dynamics.gravity(arm.q)
        controller.take_state(self.t, self.t, self.robot.joints, self.reported, arm.v.copy(),
                              np.array(effort), (int(self.t), round(self.t % 1 * 1e9)))
        arm.step(1.0 / RATE)
        self.t += 1.0 / RATE
        self.angles.append(float(arm.q[0]))

    def follow(self, motion: Motion) -> None:
        """Follow a motion to its end, and rest."""
        knots = read_points(self.robot.joints, self.robot.joints, *(
            each[1:].tolist() for each in (motion.t, motion.q, motion.qd, motion.qdd)))
        self.controller.take_points(self.t, self.t, knots, self.t)
        for _ in range(round(RATE * (motion.t[-1] + 0.5))):
            self.step()


@pytest.mark.parametrize('wraps', [False, True], ids=['counts turns', 'wraps'])
@pytest.mark.parametrize('start', [2.5, -3.0])
def test_the_short_way_round(start: float, wraps: bool) -> None:
    """Points on both sides of half a turn: less than a radian apart, and no turn in between."""
    turning = TurningArm(start, wraps=wraps)
    for _ in range(round(4.0 * RATE)):
        turning.step()
        if turning.controller.state.value == 'running':
            break
    angles = (2.8, -2.9, -2.6, 2.9)
    lesson = Lesson(tuple(turning.robot.joints), tuple(
        Point(tuple((POSE + angle * (np.arange(7) == 0)).tolist())) for angle in angles))
    model = turning.robot.model
    bounds = limits_of(model, acceleration=4.0, torque=0.8)
    found = repeated(turning.dynamics, lesson, bounds, 0.5)
    begin = len(turning.angles)
    way = approach(turning.dynamics, turning.reported, found.once, bounds)
    assert way is not None
    for leg in (way, found.cycle(), found.once):
        turning.follow(leg)
    assert turning.controller.state.value == 'running', turning.controller.fault_text()
    seen = np.array(turning.angles[begin:])
    assert np.ptp(seen) < 1.2  # from 2.5 to 3.68, or all on the other side
    for angle in angles:
        off = np.remainder(seen - angle + np.pi, 2.0 * np.pi) - np.pi
        assert np.abs(off).min() < NEAR
    off = np.remainder(seen[-1] - angles[-1] + np.pi, 2.0 * np.pi) - np.pi
    assert abs(off) < NEAR
