# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Rollouts with soft contact on an emulated GPU: the simulator's forces, step by step."""

import math
import warnings

import numpy as np
import pytest
import rbd_ros
from rbd_ros.errors import SettingError
from rbd_ros.joints import Free, Prismatic
from rbd_ros.model.collision_shapes import CollisionShape, Sphere
from rbd_ros.model.positions import integrate, neutral
from rbd_ros.sim import Physics, read_balls, read_scene, SimulatedRobot, soft_ground
from rbd_ros.sim import Surface, World
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
MASS, RADIUS, STIFFNESS, H = 2.0, 0.1, 2e4, 1e-3


@pytest.fixture(scope='module')
def ball():
    """Return a ball, and a soft floor under it."""
    inertia = RigidInertia.from_com(
        MASS, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*[0.4 * MASS * RADIUS**2] * 3))
    model = rbd_ros.ModelBuilder('ball').add_body('ball', 'base', Free(), inertia=inertia).build()
    return model, World('soft', [CollisionShape('ball', 1, Sphere(RADIUS))],
                        read_scene('floor: 0.0'), Surface(friction=0.8, stiffness=STIFFNESS))


def starts(count):
    """Return balls at rest above the floor, higher and higher, that roll, spin and fall."""
    q, qd = np.zeros((count, 7)), np.zeros((count, 6))
    q[:, 2], q[:, 6] = RADIUS + np.linspace(-MASS * 9.81 / STIFFNESS, 0.01, count), 1.0
    qd[:, 3], qd[:, 1] = 2.0, np.linspace(0.0, 20.0, count)
    return q, qd


def by_hand(robot, around, q, qd, steps):
    """Return a motion found step by step, the forces with plain numbers."""
    x, memory = {k: v.tolist() for k, v in around.settings.items()}, around.memory.tolist()
    for _ in range(steps):
        qdd = robot.forward_dynamics(q, qd, np.zeros(len(qd)))
        change, memory = around.change(q.tolist(), qd.tolist(), qdd.tolist(),
                                       robot.mass_matrix(q).tolist(), H, memory, **x)
        qd = qd + H * (qdd + change)
        q = np.array(integrate(robot.model, list(q), list(H * qd)))
    return q, qd


def test_falling_balls(ball):
    """Balls that fall, bounce, slide and roll do in one launch what they do step by step."""
    model, _ = ball
    robot, around = rbd_ros.Dynamics(model), soft_ground(*ball)
    q, qd = starts(5)
    found = robot.on('emulation').rollout(
        q, qd, np.zeros(6), step=H, steps=80, every=40, around=around)
    for k in range(5):
        q_k, qd_k = by_hand(robot, around, q[k], qd[k], 80)
        assert np.abs(found.q[k, 1] - q_k).max() < 1e-11
        assert np.abs(found.qd[k, 1] - qd_k).max() < 1e-9
    # the lowest was pushed up and the highest has hit the floor: contact acted on all
    assert (np.abs(found.qd[:, 1, 5] + 9.81 * 80 * H) > 0.05).all()
    with pytest.raises(ValueError, match='becomes 0.0 in float32; compile it in float64'):
        robot.on('emulation', scalar='float32').rollout(
            q, qd, np.zeros(6), step=H, steps=1, around=around)


def test_as_in_the_simulator(ball):
    """A ball that rolls as in the simulator: both hold it, and neither slows nor drives it."""
    model, world = ball
    free = {'lower': np.full(6, -math.inf), 'upper': np.full(6, math.inf)}
    simulated = SimulatedRobot(model, physics=Physics.of(
        model, friction=0.0, damping=0.0, integrator='semi_implicit', **free), world=world)
    q = np.array([0.0, 0.0, RADIUS - MASS * 9.81 / STIFFNESS, 0.0, 0.0, 0.0, 1.0])
    qd = np.array([0.0, 0.2 / RADIUS, 0.0, 0.2, 0.0, 0.0])
    simulated.place(q, qd)
    for _ in range(100):
        simulated.step(H)
    found = rbd_ros.Dynamics(model).on('emulation').rollout(
        q, qd, np.zeros(6), step=H, steps=100, around=soft_ground(model, world))
    speed = np.linalg.norm(found.qd[0, 3:])
    assert speed == pytest.approx(np.linalg.norm(simulated.v[3:]), abs=1e-4)
    assert speed == pytest.approx(0.2, abs=1e-4)
    assert found.q[0, :3] == pytest.approx(simulated.q[:3], abs=1e-5)


@pytest.mark.parametrize('step', [1e-3, 5e-3])
def test_light_bodies_stay_down(step):
    """Of 1 g to 10 kg, at 1 and 5 ms: none ever has more energy than at first, and all rest."""
    model = rbd_ros.ModelBuilder('dot').add_body('dot', 'base', Prismatic((0.0, 0.0, 1.0)),
                                                 inertia=RigidInertia.from_com(
        1.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.004, 0.004, 0.004))).build()
    for mass in (1e-3, 0.1, 1.0, 10.0):
        # the stiffness over the mass decides, and a mass of 1 kg stands for all
        world = World('soft', [CollisionShape('dot', 1, Sphere(RADIUS))], read_scene('floor: 0.0'),
                      Surface(stiffness=2e4 / mass, damping=400.0 / mass))
        found = rbd_ros.Dynamics(model).on('emulation').rollout(
            [[RADIUS + 0.05]], [[-0.5]], np.zeros(1), step=step, steps=1000, every=10,
            around=soft_ground(model, world))
        high = 9.81 * (found.q[0, :, 0] - RADIUS) + 0.5 * found.qd[0, :, 0]**2
        assert high.max() < 9.81 * 0.05 + 0.5 * 0.25 + 9.81 * step
        assert abs(found.qd[0, -1, 0]) < 1e-6


def test_a_quadruped():
    """A quadruped with a floating base stands on four soft feet, all in one kernel."""
    pytest.importorskip('pinocchio', reason='the robots come with the benchmarks')
    from benchmark.robots import robot_file
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = rbd_ros.load_urdf(robot_file('go2'), floating_base=True)
    feet = [name for name in model.frame_names if name.endswith('_foot')]
    assert len(feet) == 4
    scene = f'floor: 0.0\nballs: {{{", ".join(f"{foot}: 0.022" for foot in feet)}}}'
    world = World('soft', read_balls(scene, model), read_scene(scene))
    robot = rbd_ros.Dynamics(model, backend='reference')
    q = np.array(neutral(model))
    q[2] = 0.05 - min(robot.pose(q, foot)[2, 3] for foot in feet)     # above the floor, falling
    qd = np.zeros(model.nv)
    qd[5] = -2.0
    around = soft_ground(model, world)
    found = rbd_ros.Dynamics(model).on('emulation').rollout(
        q, qd, np.zeros(model.nv), step=H, steps=30, around=around)
    q_end, qd_end = by_hand(robot, around, q, qd, 30)
    assert np.abs(found.q[0] - q_end).max() < 1e-10 > np.abs(found.qd[0] - qd_end).max() * 1e-3
    assert np.abs(found.qd[0, 6:]).max() > 0.1           # the feet were stopped, the legs give way


def test_a_rigid_world_is_refused(ball):
    """A rollout has soft contact alone, and says so."""
    model, _ = ball
    world = World('rigid', [CollisionShape('ball', 1, Sphere(RADIUS))], read_scene('floor: 0.0'))
    with pytest.raises(SettingError, match='contact of this world is rigid: a rollout takes'):
        soft_ground(model, world)
