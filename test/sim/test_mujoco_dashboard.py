# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the dashboard shows of springs and torques is what MuJoCo feels and does.

Only the description is shared: the robot that is pushed and moved is that of MuJoCo.
"""

from __future__ import annotations

from mujoco_rig import Driven
import numpy as np
import pytest
from rbd_ros import Dynamics
from rbd_ros.view.stiffness import felt_stiffness, joint_stiffness
from rbd_ros.view.torques import Comparison, Motion, PERIOD

pytestmark = pytest.mark.slow

GAINS = {
    'computed_torque': {'stiffness': [300.0, 400.0, 500.0, 300.0, 600.0, 500.0, 400.0],
                        'damping': [40.0]},
    'operational_space': {'task.linear_stiffness': 400.0, 'task.angular_stiffness': 250.0,
                          'task.linear_damping': 40.0, 'task.angular_damping': 32.0},
    'joint_impedance': {'joint_impedance.stiffness': [200.0, 300.0, 150.0, 150.0, 60.0, 50.0,
                                                      40.0],
                        'joint_impedance.damping': [35.0, 50.0, 25.0, 25.0, 8.0, 6.0, 4.5]},
    'cartesian_impedance': {'cartesian_impedance.linear_stiffness': [2400.0, 1600.0, 900.0],
                            'cartesian_impedance.angular_stiffness': [160.0, 240.0, 120.0]}}
WAY = 0.002  # m that the tip is pushed away


def running(**more: object) -> Driven:
    """Return the built-in arm under computed torque."""
    gains = {name: value for each in GAINS.values() for name, value in each.items()}
    loop = Driven('built-in', mode='computed_torque', tracking_limits=[2.0], **gains, **more)
    loop.start(1.6)
    assert loop.state == 'running', loop.fault
    return loop


def pushed_with(loop: Driven, force: np.ndarray) -> np.ndarray:
    """Push the tip with a force until it rests; return how far it went."""
    start = loop.plant.tip().position.copy()
    tip = loop.plant.model.body(loop.plant.options.tip).id

    def hold_on(_: float) -> None:
        lever = loop.plant.data.xpos[tip] - loop.plant.data.xipos[tip]  # MuJoCo pushes the centre
        loop.push = np.concatenate([force, np.cross(lever, force)])
    loop.each = hold_on
    loop.run(1.6)
    loop.each = None
    assert loop.state == 'running', loop.fault
    way = loop.plant.tip().position - start
    loop.push = None
    loop.run(1.2)
    return way


@pytest.mark.parametrize('mode', GAINS)
def test_a_push_meets_the_stiffness_that_is_shown(mode: str) -> None:
    """Along each principal axis, force over displacement is the principal value, to 3 %."""
    loop, rng = running(), np.random.default_rng(3)
    robot, home, worst = Dynamics(loop.robot.model), loop.plant.position, 0.0
    frame = loop.plant.options.tip
    for _ in range(3):
        loop.change(mode='computed_torque')
        loop.run(0.01)
        loop.follow(home + rng.uniform(-0.4, 0.4, 7), 0.8)
        loop.run(1.4)
        loop.switch(mode)
        q = loop.plant.position
        K = joint_stiffness(robot, q, mode, GAINS[mode], range(7), frame)
        R = robot.pose(q, frame)[:3, :3]
        felt = felt_stiffness(R @ robot.jacobian(q, frame)[3:], K)
        assert (felt.values[1:] >= felt.values[:-1]).all() and felt.values[0] > 1.0
        for k, axis in zip(felt.values, felt.R.T, strict=True):
            way = pushed_with(loop, WAY * k * axis)
            aside = way - WAY * axis
            if mode == 'computed_torque':  # gains that differ by joint also move it aside
                aside = axis * (axis @ aside)
            worst = max(worst, np.abs(aside).max() / WAY)
    print(f'{mode}: {100.0 * worst:.2f} %')
    assert worst < 0.03


def moved(loop: Driven) -> Comparison:
    """Let the robot swing for 3 s, and compare what it did."""
    motion, settings = Motion(), {'effort_is_torque': True}
    tip, names, home = loop.plant.options.tip, loop.robot.joints, loop.plant.position
    found = Comparison(Dynamics(loop.robot.model, payload_frame=tip), tip, names, motion)
    loop.follow(home + [0.6, -0.5, 0.5, 0.6, -0.8, 0.5, 0.9], 1.2)

    def note(t: float) -> None:
        motion.add(t, names, *(tuple(part) for part in loop.measure()))
        found.update(settings)
    loop.each = note
    loop.run(2.5)
    return found


def test_the_torque_of_a_motion_is_predicted() -> None:
    """Of a robot that is as described, to 0.1 N.m while torques change by many."""
    loop = running()
    found = moved(loop)
    measured, predicted = (part[:, 1] for part in found.points()[1:])
    assert np.ptp(measured) > 10.0 and len(measured) > 2.0 / PERIOD
    print(found.rms().round(3), np.ptp(measured), np.abs(measured - predicted).max())
    assert (found.rms() < 0.1).all()
