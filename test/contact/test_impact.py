# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Impulses and impacts: bodies, handles and joints, with and without friction."""

from __future__ import annotations

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.contact import impact, rigid
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.samples.families import general_chain
from spatial_oracle import assert_close, mci6

BALL = np.linalg.inv(np.diag([0.4, 0.4, 0.4, 1.0, 1.0, 1.0]))
FIXED = np.zeros((6, 6))


def energy(inverse, v):
    """Return the kinetic energy of a body, or zero of one that cannot move."""
    return 0.5 * v @ np.linalg.solve(inverse, v) if inverse.any() else 0.0


@pytest.mark.seed('RBDA 11-17')
def test_impulses_on_bodies_handles_and_joints_agree():
    """A blow at the tip: by H, by the inertia felt there, by Jacobians, all the same step."""
    model = general_chain(6, 3)
    robot = rbd_ros.Dynamics(model, backend='python')
    q = np.random.default_rng(0).normal(size=6)
    frame = model.body_names[-1]
    space = robot.operational_space(q, np.zeros(6), frame)
    blow = np.array([0.3, -0.2, 0.5, 1.0, 2.0, -0.4])
    u = impact.generalized_impulse(space.J, blow)
    step = impact.joint_velocity_change(robot.mass_matrix(q), u)
    assert_close(space.J @ step, impact.velocity_change(space.Lambda, blow), 1e-9)
    assert_close(impact.body_impulse(space.Lambda, space.J @ step), blow, 1e-7)
    # an impulse acts as a force does for an instant: no product of velocities in it
    force, rest = (robot.forward_dynamics(q, np.ones(6), tau) for tau in (u, 0.0 * u))
    assert_close(step, force - rest, 1e-9)
    inertia = mci6(2.0, np.array([0.1, 0.2, 0.3]), np.diag([0.1, 0.2, 0.25]))
    assert_close(impact.body_impulse(inertia, impact.velocity_change(inertia, blow)), blow, 1e-12)


@pytest.mark.seed('RBDA 11-18')
def test_collisions_of_any_bodies_keep_momentum_and_lose_the_known_energy():
    """Separation speed, momentum and the loss of energy, of random bodies."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        one, two = (np.linalg.inv(mci6(m, rng.normal(size=3), np.diag([1.0, 1.5, 2.0])))
                    for m in rng.uniform(0.5, 3.0, size=2))
        unit = rng.normal(size=3)
        n = rigid.normal(rng.normal(size=3), unit / np.linalg.norm(unit))
        v_1, v_2, e = rng.normal(size=6), rng.normal(size=6), rng.uniform()
        zeta = n @ (v_2 - v_1)
        found = impact.collide(one, two, n, v_1, v_2, e)
        change = (energy(one, found.v_1) + energy(two, found.v_2)
                  - energy(one, v_1) - energy(two, v_2))
        if zeta >= 0.0:
            assert not found.impulse.any() and (found.v_2 == v_2).all()
            continue
        assert_close(n @ (found.v_2 - found.v_1), -e * zeta, 1e-10)
        assert_close(np.linalg.solve(one, found.v_1 - v_1), -np.linalg.solve(two, found.v_2 - v_2),
                     1e-9)
        assert_close(change, -0.5 * (1.0 - e ** 2) * zeta ** 2 / (n @ (one + two) @ n), 1e-9)


@pytest.mark.seed('RBDA 11-19')
def test_sticking_collision_of_two_moving_bodies():
    """Afterwards the point of contact has no sliding, -e of the approach, and momentum is kept."""
    rng = np.random.default_rng(6)
    one, two = (np.linalg.inv(mci6(m, rng.normal(size=3), np.diag([1.0, 1.5, 2.0])))
                for m in (1.0, 2.0))
    p = rng.normal(size=3)
    N = np.column_stack([rigid.normal(p, axis) for axis in np.eye(3)])
    v_1, v_2 = rng.normal(size=6), rng.normal(size=6)
    v_1 = v_1 + (1.0 + N[:, 2] @ (v_2 - v_1)) * np.array([0, 0, 0, 0, 0, 1.0])
    zeta = N.T @ (v_2 - v_1)
    assert zeta[2] == pytest.approx(-1.0)
    found = impact.collide_sticking(one, two, N, v_1, v_2, 0.3)
    assert_close(N.T @ (found.v_2 - found.v_1), [0.0, 0.0, 0.3], 1e-11)
    assert_close(np.linalg.solve(one, found.v_1 - v_1) + np.linalg.solve(two, found.v_2 - v_2),
                 np.zeros(6), 1e-10)
    apart = impact.collide_sticking(one, two, N, v_2, v_1, 0.3)
    assert_close(apart.impulse, np.zeros(3))
    assert impact.needed_friction([0.1, 0.0, -1.0]) == np.inf


@pytest.mark.seed('RBDA 11-17', 'RBDA 11-18')
def test_impacts_of_a_robot_at_one_and_at_several_points():
    """One point: the closed form. Several: no point closes, none bounces more than it should."""
    rng = np.random.default_rng(2)
    robot = rbd_ros.Dynamics(general_chain(6, 5), backend='python')
    q, qd = rng.normal(size=6), rng.normal(size=6)
    H = robot.mass_matrix(q)
    T = rng.normal(size=(6, 3))
    T *= -np.sign(T.T @ qd)                     # all three approach
    t = T[:, :1]
    one = impact.joint_impact(H, t, qd, 0.6)
    size = -1.6 * (t.T @ qd) / (t.T @ np.linalg.solve(H, t))[0]
    assert_close(one.impulse, size, 1e-11)
    assert_close(t.T @ one.qd, -0.6 * t.T @ qd, 1e-10)
    before = 0.5 * qd @ H @ qd
    for e in (0.0, 0.5, 1.0):
        found = impact.joint_impact(H, T, qd, e)
        aim = -e * (T.T @ qd)
        assert ((T.T @ found.qd - aim) > -1e-9).all() and found.impulse.min() >= 0.0
        assert_close(found.impulse @ (T.T @ found.qd - aim), 0.0, 1e-9)
        assert 0.5 * found.qd @ H @ found.qd <= before + 1e-12
    slow = impact.joint_impact(H, t, 1e-4 * qd / np.linalg.norm(qd), 1.0)
    assert_close(t.T @ slow.qd, [0.0], 1e-12)   # too slow to bounce


@pytest.mark.parametrize('restitution', [0.0, 0.4, 1.0])
def test_impacts_one_after_the_other(restitution):
    """They part all contacts, push only, and keep the energy if each of them does."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        root = rng.normal(size=(6, 6))
        H, T, qd = root @ root.T + np.eye(6), rng.normal(size=(6, 3)), rng.normal(size=6)
        found = impact.sequential_impact(H, T, qd, restitution, rest_speed=1e-9)
        assert (T.T @ found.qd > -1e-9).all() and (found.impulse >= 0.0).all()
        np.testing.assert_allclose(H @ (found.qd - qd), T @ found.impulse, atol=1e-10)
        before, after = qd @ H @ qd, found.qd @ H @ found.qd
        assert after == pytest.approx(before, rel=1e-9) if restitution == 1.0 else (
            after <= before * (1.0 + 1e-12))
        one = impact.sequential_impact(H, T[:, :1], qd, restitution)
        np.testing.assert_allclose(
            one.qd, impact.joint_impact(H, T[:, :1], qd, restitution).qd, atol=1e-12)


def test_refusals():
    """Restitution beyond one, and walls that collide, are refused."""
    n = rigid.normal((0, 0, 0), (1.0, 0, 0))
    v = np.array([0, 0, 0, 1.0, 0, 0])
    with pytest.raises(SettingError, match='between 0 and 1'):
        impact.collide(BALL, BALL, n, v, 0 * v, 1.5)
    with pytest.raises(SettingError, match='restitution is -0.1'):
        impact.collide_sticking(BALL, BALL, n[:, None], v, 0 * v, -0.1)
    with pytest.raises(RbdError, match='neither body can move along the normal'):
        impact.collide(FIXED, FIXED, n, v, 0 * v, 0.5)
    with pytest.raises(SettingError, match='restitution is 2.0'):
        impact.joint_impact(np.eye(2), np.eye(2), -np.ones(2), [0.5, 2.0])
