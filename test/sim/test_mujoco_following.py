# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Robots with friction follow with the parameters that a user gets, and nothing drives them.

The built-in arm has those of config/controller.yaml, the Panda the defaults, or with friction the
gains of config/panda.yaml. MuJoCo's dry friction is soft (a light joint creeps) or hard, that of
the package's own simulator sticks.
"""

from __future__ import annotations

from controller_rig import ARM
from mujoco_rig import configured, Driven
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.control.kernels import joint_space
from rbd_ros.control.parameters.assembly import build_robot
from rbd_ros.control.parameters.table import defaults
from rbd_ros.errors import SettingError
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

#: a way of every joint, rad
WAY = np.array([0.4, 0.25, -0.3, 0.3, -0.4, -0.3, 0.5])

#: kg.m^2, as the joints of the built-in arm feel their rotors; MuJoCo reads no transmissions
ARM_ROTORS = (0.6, 0.6, 0.4, 0.4, 0.2, 0.15, 0.1)

#: MuJoCo takes friction and dampers from the description
RUBS = {'friction': (), 'damping': (), 'step': 1e-3}
WORLDS = {
    'soft': {'plant': RUBS}, 'hard': {'plant': {**RUBS, 'hard_friction': True}},
    'own': {'plant': RUBS, 'own': True}}

#: friction and rotors that the Panda's description leaves out, and what makes it follow
RUBBING = {'friction': (0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.15), 'damping': (0.5,) * 7,
           'armature': (0.1,) * 7, 'hard_friction': True, 'step': 1e-3}
FIRM = {name: value for name, value in configured('panda.yaml').items() if name.endswith(
    ('rotor_inertia', 'stiffness', 'damping', 'integral', 'integral_limit'))}


def running(driven: Driven) -> Driven:
    """Start a robot."""
    driven.start(1.6)
    assert driven.state == 'running', driven.fault
    return driven


def built_in(world: str, **values: object) -> Driven:
    """Return the built-in arm with its own parameters, running."""
    return running(Driven('built-in', sensors=True, **WORLDS[world],
                          **configured('controller.yaml') | values))


def robot(world: str) -> Driven:
    """Return the built-in arm, a Panda with default parameters, or one with friction."""
    if 'panda' not in world:
        return built_in(world)
    values = {'plant': RUBBING, **FIRM} if 'rubbing' in world else {'plant': RUBS}
    return running(Driven('panda', sensors=True, effort_is_torque=False, **values))


def test_rotors_of_the_description() -> None:
    """The rotors that MuJoCo is given are those that the URDF's transmissions say."""
    assert load_urdf(ARM).rotor_inertia == pytest.approx(ARM_ROTORS, rel=1e-12)


def test_rotors_of_the_parameter() -> None:
    """rotor_inertia replaces that of the description, for the joints that are controlled."""
    values = defaults() | {'joints': ['joint_3', 'joint_1'], 'rotor_inertia': [0.7, 0.9]}
    found = build_robot(values, ARM.read_text(), lambda _: None).model.rotor_inertia
    assert found == pytest.approx((0.9, *ARM_ROTORS[1:2], 0.7, *ARM_ROTORS[3:]), rel=1e-12)
    with pytest.raises(SettingError, match='rotor_inertia has 3 entries'):
        build_robot(values | {'rotor_inertia': [0.1] * 3}, ARM.read_text(), lambda _: None)


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('world', [*WORLDS, 'panda', 'rubbing panda'])
def test_trajectory_over_all_joints(world: str) -> None:
    """Within 2 s every joint is at its goal: to 5 mrad at once, to 3 mrad half a second later."""
    loop = robot(world)
    loop.switch('computed_torque')
    target = loop.plant.position + WAY
    loop.follow(target, 2.0)
    loop.run(2.0)
    at_once = np.abs(loop.plant.position - target).max()
    loop.run(0.5)
    later = np.abs(loop.plant.position - target).max()
    print(f'{1e3 * at_once:.2f} mrad, then {1e3 * later:.2f} mrad')
    assert loop.state == 'running', loop.fault
    assert at_once < 0.005
    assert later < 0.003


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('world', [*WORLDS, 'panda', 'rubbing panda'])
def test_pose_that_moves_every_joint(world: str) -> None:
    """The tip comes to rest within 0.5 mm and 5 mrad of a pose, 3 s after it was sent."""
    loop = robot(world)
    loop.switch('operational_space')
    start, before = loop.plant.tip(), loop.plant.position
    R = start.rotation @ Rotation.from_rotvec([0.3, -0.3, 0.4]).as_matrix()
    p = start.position + [0.06, -0.08, 0.06]
    loop.aim(p, Rotation.from_matrix(R).as_quat())
    loop.run(3.0)
    loop.forget()
    loop.run(0.3)
    tip = loop.plant.tip()
    way = np.linalg.norm(tip.position - p)
    turn = Rotation.from_matrix(R.T @ tip.rotation).magnitude()
    print(f'{1e3 * way:.3f} mm, {1e3 * turn:.2f} mrad, speed {np.abs(loop.qd).max():.1e}')
    assert loop.state == 'running', loop.fault
    assert (np.abs(loop.plant.position - before) > 0.01).all()
    assert way < 5e-4
    assert turn < 5e-3
    assert np.abs(loop.qd).max() < 0.02  # the posture may still move the elbow


def test_no_joint_creeps_where_friction_is_soft() -> None:
    """A light wrist whose friction gives way at any torque stays at rest, also after a push."""
    loop = running(Driven('built-in', sensors=True, plant={**RUBS, 'armature': ()},
                          **configured('controller.yaml')))
    start = loop.plant.position
    loop.run(1.0)
    drift = np.abs(loop.plant.position - start).max()
    loop.plant.data.qvel[:] = [0.0, 0.0, 0.0, 0.0, 0.3, 0.3, 0.5]
    loop.run(1.5)
    speed = np.abs(loop.plant.velocity).max()
    print(f'drift {drift:.1e} rad, after a push {speed:.1e} rad/s')
    assert loop.state == 'running', loop.fault
    assert drift < 1e-3
    assert speed < 2e-3


def test_friction_by_measured_velocity_must_be_asked_for() -> None:
    """With friction.free the float law compensates the measured velocity; without, it brakes."""
    guided = built_in('own', **{'friction.free': [1.0]})
    plain = built_in('own')
    speed = np.full(7, 0.1)
    values = configured('controller.yaml')
    friction = joint_space.Friction(*(np.broadcast_to(values[f'friction.{name}'], 7).tolist()
                                      for name in ('viscous', 'coulomb', 'speed')))
    found = []
    for loop in (guided, plain):
        law = loop.controller.kernels['float']
        law.inputs['qd'][:] = speed
        law()
        found.append(law.outputs['law'] - law.outputs['gravity'])
    assert (found[1] * speed <= 0.0).all()  # nothing along the motion
    np.testing.assert_allclose(found[0] - found[1], joint_space.friction_torque(speed, friction),
                               atol=1e-12)


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('ki', [0.0, 1000.0])
def test_integral_of_the_task_is_bounded(ki: float) -> None:
    """A tip that cannot follow gets its bound, no more; without a gain it gets nothing."""
    loop = built_in('own', **{
        'task.linear_integral': ki, 'task.angular_integral': 0.0,
        'task.linear_integral_limit': 0.7})
    loop.switch('operational_space')
    loop.opens = False
    loop.plant.brake(True)
    tip = loop.plant.tip()
    loop.aim(tip.position + [0.0, 0.0, 0.05], Rotation.from_matrix(tip.rotation).as_quat())
    integral = loop.controller.kernels['task'].inputs['task_integral']
    loop.run(0.1)
    early = abs(integral[5])
    loop.run(1.5)
    np.testing.assert_allclose(integral, [0.0, 0.0, 0.0, 0.0, 0.0, 0.7 if ki else 0.0], atol=0.02)
    assert early < 0.5
    loop.opens = True
    loop.switch('computed_torque')
    loop.switch('operational_space')
    assert np.abs(integral).max() < 0.35  # it began anew
