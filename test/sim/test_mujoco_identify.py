# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
MuJoCo is the robot: the controller moves it along a planned motion, and its model is found.

Only the description is shared. The robot has rotors, friction and a load that it leaves out.
"""

from __future__ import annotations

import mujoco
from mujoco_rig import Driven
import numpy as np
import pytest
import rbd_ros
from rbd_ros import identification as ident
from rbd_ros.control.references.trajectory import read_points
from rbd_ros.identification.excitation import Bounds, excite
from rbd_ros.identification.written import symmetric_friction

pytestmark = pytest.mark.slow

RATE = 250.0
DAMPING = np.array([1.4, 1.3, 0.9, 0.8, 0.5, 0.3, 0.2])
FRICTION = np.array([1.6, 1.8, 1.1, 1.2, 0.5, 0.4, 0.3])
ARMATURE = np.array([0.5, 0.6, 0.35, 0.3, 0.15, 0.12, 0.1])
LOAD, CENTRE = 1.5, (0.02, -0.03, 0.08)


def recorded(loop: Driven, duration: float, seed: int) -> ident.Recording:
    """Move along a motion from where the robot is and back; return what was measured."""
    robot = rbd_ros.Dynamics(loop.robot.model)
    model = robot.model
    lower, upper = np.array(model.lower) + 0.2, np.array(model.upper) - 0.2
    path = excite(robot, loop.plant.position, Bounds(
        lower, upper, 0.6 * np.array(model.velocity_limit), np.full(7, 4.0),
        0.6 * np.array(model.effort_limit)), lambda q: True, duration=duration, seed=seed,
        evaluations=4)
    t = np.linspace(0.0, duration, 1 + round(20 * duration))[1:]
    joints = loop.robot.joints
    knots = read_points(joints, joints, t.tolist(), *(x.tolist() for x in path.at(t)))
    loop.controller.take_points(loop.time, loop.time, knots, loop.time)
    rows: list[tuple[float, np.ndarray, np.ndarray, np.ndarray]] = []
    loop.each = lambda time: rows.append(
        (time, loop.plant.position, loop.plant.velocity, loop.plant.motor_torque()))
    loop.run(duration)
    loop.each = None
    assert loop.state == 'running', loop.fault
    times, q, qd, tau = (np.array(column) for column in zip(*rows, strict=True))
    return ident.Recording(times, q, qd, np.full_like(q, np.nan), tau)


def test_the_model_that_mujoco_has_is_found() -> None:
    """
    Torques of another motion come within 1.2 % of their range.

    The last joint has little but dry friction, which sticks where it turns round: within 10 %.
    Friction and rotors are those of MuJoCo, and so are its mass matrix and gravity with the load.
    """
    loop = Driven('built-in', rate=RATE, mode='computed_torque', tracking_limits=[3.0], plant={
        'friction': FRICTION.tolist(), 'damping': DAMPING.tolist(), 'hard_friction': True,
        'armature': ARMATURE.tolist(), 'payload_mass': LOAD, 'payload_com': CENTRE},
        **{'start.velocity': 5.0, 'start.distance': 1.0, 'start.acceleration': 500.0,
           'payload.mass': LOAD, 'payload.frame': 'tool0'})
    loop.start(2.0)
    assert loop.state == 'running', loop.fault
    used, other = (recorded(loop, duration, seed) for duration, seed in ((20.0, 1), (10.0, 2)))
    model = loop.robot.model
    robot = rbd_ros.Dynamics(model)
    late = 0.5 / RATE  # an effort is that of the period before
    found = ident.identify_robot(robot, ident.settle(used, 10.0, late))
    fresh = ident.settle(other, 10.0, late)
    inner = fresh.kept()
    size = np.ptp(fresh.tau, axis=0)

    def rest(x: np.ndarray) -> np.ndarray:
        torque = ident.predicted_torque(robot, fresh, 'full', x)
        return np.sqrt(np.mean((torque - fresh.tau)[inner]**2, axis=0)) / size
    before, after = rest(found.described), rest(found.parameters)
    viscous, coulomb = symmetric_friction(found, 7)
    rotor = found.drives(7)['rotor']
    print(f'{100 * before.round(4)} % -> {100 * after.round(4)} %, excitation '
          f'{found.excitation:.0f}\nviscous {viscous / DAMPING}\ncoulomb {coulomb / FRICTION}\n'
          f'rotor {rotor / ARMATURE}')
    better = rbd_ros.Dynamics(ident.with_parameters(model, np.concatenate(
        [found.parameters[:10 * model.nb], viscous, coulomb, rotor])))
    plant, data = loop.plant.model, mujoco.MjData(loop.plant.model)
    rng, worst = np.random.default_rng(3), [0.0, 0.0]
    for _ in range(20):
        q = rng.uniform(model.lower, model.upper)
        data.qpos[:], data.qvel[:] = q, 0.0
        mujoco.mj_forward(plant, data)
        H = np.zeros((7, 7))
        mujoco.mj_fullM(plant, data, H)
        scale = np.sqrt(np.outer(np.diag(H), np.diag(H)))
        worst = [max(worst[0], np.abs((better.mass_matrix(q) - H) / scale).max()),
                 max(worst[1], np.abs(better.gravity(q) - data.qfrc_bias).max())]
    print(f'mass matrix {100 * worst[0]:.2f} %, gravity {worst[1]:.3f} N.m')
    assert (after[:6] < 0.012).all() and (before[:6] > 5.0 * after[:6]).all()
    assert after[6] < 0.1 and before[6] > 2.0 * after[6]
    np.testing.assert_allclose(coulomb[:6], FRICTION[:6], rtol=0.05)
    np.testing.assert_allclose(viscous[:6], DAMPING[:6], rtol=0.06)
    np.testing.assert_allclose(rotor[:6], ARMATURE[:6], rtol=0.05)
    assert worst[0] < 0.05 and worst[1] < 0.3
