# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Chains of ball joints by the semi-implicit rule: their energy stays within a band of order h.

The rule is variational. What it keeps is checked against what mechanics keeps, the energy and the
angular momentum about the vertical through the pivot, and against MuJoCo.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from rbd_ros import Dynamics, ModelBuilder
from rbd_ros.joints import Revolute, Spherical, Universal
from rbd_ros.model import positions
from rbd_ros.sim import Physics, SimulatedRobot
from rbd_ros.spatial import RigidInertia, Sym3, Vec3, xlt
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

#: m, between two joints of the chains that MuJoCo computes too.
LENGTH = 0.4
MOMENTS = (0.02, 0.018, 0.004)


def hanging(joints, length, inertias):
    """Return a chain that hangs from the base, straight down at zero."""
    builder, before = ModelBuilder('chain', gravity=(0.0, 0.0, -9.81)), 'base'
    for k, (joint, inertia) in enumerate(zip(joints, inertias)):
        place = xlt(0.0, 0.0, -length if k else 0.0)
        builder.add_body(f'b{k}', before, joint, place, inertia)
        before = f'b{k}'
    return builder.build()


@cache
def random_chain(seed):
    """Return two or three links of random inertia, one of them at least on a ball joint."""
    rng = np.random.default_rng(seed)
    kinds = (Spherical(), Revolute((1.0, 0.0, 0.0)), Spherical(), Universal(), Spherical())
    joints = [kinds[k] for k in rng.integers(len(kinds), size=2 + seed % 2)]
    joints[int(rng.integers(len(joints)))] = Spherical()
    inertias = []
    for _ in joints:
        m, size = rng.uniform(0.5, 2.0), rng.uniform(0.03, 0.1, 3)
        inertias.append(RigidInertia.from_com(
            m, Vec3(*rng.uniform(-0.1, 0.1, 2), -rng.uniform(0.1, 0.3)),
            Sym3.diagonal(*(m * np.array([size[1]**2 + size[2]**2, size[0]**2 + size[2]**2,
                                          size[0]**2 + size[1]**2])))))
    model = hanging(joints, rng.uniform(0.2, 0.5), inertias)
    return Dynamics(model), SimulatedRobot(model, physics=Physics.of(
        model, friction=0.0, damping=0.0, integrator='semi_implicit'))


def swing(seed, h, duration):
    """Return energies, momenta about the vertical, and the largest angle of a step, rad."""
    dynamics, robot = random_chain(seed)
    model, rng = dynamics.model, np.random.default_rng(seed)
    q = positions.integrate(model, positions.neutral(model), rng.uniform(-1.0, 1.0, model.nv))
    robot.place(q, rng.uniform(-1.0, 1.0, model.nv))
    energy, momentum, largest, steps = [], [], 0.0, round(duration / h)
    for k in range(steps + 1):
        if k % 20 == 0:
            energy.append(float(dynamics.kinetic_energy(robot.q, robot.v)
                                + dynamics.potential_energy(robot.q)))
            momentum.append(dynamics.momentum(robot.q, robot.v)[2])
            largest = max(largest, h * np.abs(robot.v).max())
        robot.step(h)
    low = float(dynamics.potential_energy(positions.neutral(model)))
    return (np.array(energy) - energy[0]) / (energy[0] - low), np.array(momentum), largest


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('seed', range(12))
def test_the_energy_of_a_chain_stays_within_a_band(seed):
    """It swings by the angle of a step for 100 s, without drift; half as much at half a step."""
    wide, _, angle = swing(seed, 2e-3, 100.0)
    narrow, _, _ = swing(seed, 1e-3, 20.0)
    fifth = len(wide) // 5
    assert np.abs(wide).max() < 3.0 * angle, angle
    assert abs(wide[-fifth:].mean() - wide[:fifth].mean()) < 0.5 * np.abs(wide).max()
    assert np.abs(narrow).max() < 0.8 * np.abs(wide).max()


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('seed', range(12))
@pytest.mark.parametrize('h', [1e-4, 5e-3])
def test_short_and_long_steps_keep_it_too(seed, h):
    """At 0.1 and 5 ms: within the angle of a step, however chaotic the motion is."""
    found, _, angle = swing(seed, h, 20.0 if h > 1e-3 else 2.0)
    assert np.abs(found).max() < 3.0 * angle, angle


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('seed', range(12))
def test_gravity_does_not_turn_a_chain_about_the_vertical(seed):
    """Where it hangs from a ball joint, its angular momentum about the vertical is constant."""
    if not isinstance(random_chain(seed)[0].model.joint[1], Spherical):
        seed = 0
    _, momentum, _ = swing(seed, 2e-3, 20.0)
    assert momentum == pytest.approx(momentum[0], abs=1e-9)


def test_a_chain_of_two_ball_joints_as_in_mujoco():
    """After 0.2 s it is where MuJoCo's fine Runge-Kutta steps bring it, to order h."""
    mujoco = pytest.importorskip('mujoco')
    link = ('<joint type="ball"/><inertial pos="0.05 0.02 -0.2" mass="1" '
            f'diaginertia="{MOMENTS[0]} {MOMENTS[1]} {MOMENTS[2]}"/>')
    theirs = mujoco.MjModel.from_xml_string(f"""<mujoco><option timestep="0.0001"
        integrator="RK4" gravity="0 0 -9.81"/><worldbody><body>{link}<body pos="0 0 -{LENGTH}">
        {link}</body></body></worldbody></mujoco>""")
    data = mujoco.MjData(theirs)
    start = [Rotation.from_rotvec(x).as_quat() for x in ((0.9, 0.2, 0.1), (-0.5, 0.7, 0.3))]
    v = [0.3, -1.0, 2.0, 1.0, 0.5, -3.0]
    data.qpos[:] = np.concatenate([np.roll(x, 1) for x in start])
    data.qvel[:] = v
    for _ in range(2000):
        mujoco.mj_step(theirs, data)
    expected = np.concatenate([np.roll(data.qpos[:4], -1), np.roll(data.qpos[4:], -1), data.qvel])
    inertia = RigidInertia.from_com(1.0, Vec3(0.05, 0.02, -0.2), Sym3.diagonal(*MOMENTS))
    model = hanging([Spherical()] * 2, LENGTH, [inertia] * 2)
    robot = SimulatedRobot(model, physics=Physics.of(
        model, friction=0.0, damping=0.0, integrator='semi_implicit'))
    errors = []
    for steps in (400, 800, 1600):
        robot.place(np.concatenate(start), v)
        for _ in range(steps):
            robot.step(0.2 / steps)
        found = np.concatenate([robot.q, robot.v])
        errors.append(np.abs(found - expected).max())
    assert errors[0] < 0.1, errors
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.1)
