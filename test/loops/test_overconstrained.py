# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Bennett's linkage: four hinges in space that move only because of their proportions."""

from functools import cache
import math

import numpy as np
import pytest
from rbd_ros import Dynamics, ModelBuilder
from rbd_ros.algorithms.linear.rank import counted
from rbd_ros.joints import Revolute
from rbd_ros.sim import Physics, SimulatedRobot
from rbd_ros.spatial import Mat3, RigidInertia, Sym3, Transform, Vec3
from rbd_ros.spatial.constant import xlt

SHORT, TWISTS = 0.4, (1.1, 0.5)
#: Folded flat: here the rows of K that are independent elsewhere depend on each other.
FLAT = np.array([math.pi, 2.0 * math.pi, math.pi])


def bar(length, twist):
    """Return the transform along a bar, to the next hinge."""
    c, s = math.cos(twist), math.sin(twist)
    return Transform.rotation(Mat3(((1.0, 0.0, 0.0), (0.0, c, s), (0.0, -s, c)))) @ xlt(
        length, 0.0, 0.0)


@cache
def bennett():
    """Return the linkage with a ratio of lengths that is the ratio of the sines of its twists."""
    sizes = [SHORT * math.sin(twist) / math.sin(TWISTS[1]) for twist in TWISTS] * 2
    builder, before, place = ModelBuilder('bennett'), 'base', None
    for k, length in enumerate(sizes[:3]):
        inertia = RigidInertia.from_com(1.0, Vec3(0.5 * length, 0.0, 0.0),
                                        Sym3.diagonal(0.01, 0.01, 0.01))
        builder.add_body(f'bar_{k}', before, Revolute(), place, inertia)
        before, place = f'bar_{k}', bar(length, TWISTS[k % 2])
    builder.add_loop_joint('close', 'base', before, Revolute(),
                           bar(sizes[3], TWISTS[1]).inverse(), place)
    return Dynamics(builder.build())


@pytest.mark.parametrize('gap', [1e-6, 1e-5])
def test_a_loop_that_is_a_little_open_still_moves(gap):
    """Rows that are redundant where it is closed do not stop it where a step has opened it."""
    robot, rng = bennett(), np.random.default_rng(2)
    assert robot.loop_report.rank == 2 and robot.model.nv == 3
    q = robot.loop_report.q
    qd = robot.consistent_velocity(q, [1.0, -1.0, 1.0])
    energy = float(robot.kinetic_energy(q, qd))
    for _ in range(10):
        opened = q + gap * rng.normal(size=3)
        assert counted(np.linalg.svd(robot.loop_jacobian(opened), compute_uv=False)) == 3
        kept = robot.consistent_velocity(opened, qd)
        assert float(robot.kinetic_energy(opened, kept)) == pytest.approx(energy, rel=1e3 * gap)
        ranked = robot.loop_dynamics(opened, kept, np.zeros(3), method='multipliers')
        assert ranked.rank == 2


def test_a_flat_linkage_keeps_its_energy():
    """The step in which the usual rows do not do is as good as its neighbours."""
    robot = bennett()
    model = robot.model
    moved = SimulatedRobot(model, physics=Physics.of(model, friction=0.0, damping=0.0))
    moved.place(FLAT, [1.0, 0.0, 0.0])
    moved.place(FLAT, 3.0 / np.abs(moved.v).max() * moved.v)

    def energy():
        return float(robot.kinetic_energy(moved.q, moved.v) + robot.potential_energy(moved.q))
    start = energy()
    for _ in range(3):
        moved.step(1e-3)
        assert energy() == pytest.approx(start, abs=1e-7)
    flat = moved.singular_steps
    assert flat > 0
    # Fast, it comes by there again and again, the loop a little open after each step.
    moved.place(FLAT, -30.0 / np.abs(moved.v).max() * moved.v)
    start = energy()
    for _ in range(400):
        moved.step(1e-3)
        assert energy() == pytest.approx(start, rel=1e-3)
    assert moved.singular_steps > flat
