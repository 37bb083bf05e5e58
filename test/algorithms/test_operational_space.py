# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Operational-space inertia by projection (RBDA 7.2.1): handles, singular poses, null space."""

import math

from hypothesis import given
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.handles import opspace
from rbd_ros.errors import RbdError, SingularError
from rbd_ros.joints import Free, Revolute
from rbd_ros.samples import families
from rbd_ros.spatial import RigidInertia, Sym3, Transform, Vec3
from tree_oracle import (
    assert_near, DenseTree, examples, reference, SEEDS, State, TREES)

few = examples(25)


@pytest.fixture
def arm():
    """Return a general seven-joint arm, uncompiled."""
    return reference(families.general_chain(7, 4))


@pytest.mark.seed('RBDA 7-06', 'RBDA 7-04')
@few
@given(TREES, SEEDS)
def test_inverse_inertia_is_what_a_push_on_the_handle_does(model, seed):
    """Columns of Phi are ABA's accelerations under unit forces; b that without any force."""
    s, robot = State(model, seed), reference(model)
    name = model.body_names[-1]
    X = DenseTree(model, s.q).X[-1]
    found = robot.operational_space(s.q, s.qd, name, max_condition=1e12)
    J = robot.jacobian(s.q, name)
    rate = robot.jacobian_rate(s.q, s.qd, name)

    def acceleration(f):
        push = np.zeros((model.nb, 6))
        push[-1] = X.T @ f                                  # from the handle's to base coordinates
        return J @ robot.forward_dynamics(
            s.q, s.qd, np.zeros(model.nv), push, method='aba') + rate
    free = acceleration(np.zeros(6))
    uncertain = max(1.0, 1e-5 * np.linalg.cond(robot.mass_matrix(s.q)))
    scale = np.linalg.norm(free) * uncertain
    assert_near(found.b, free, scale=scale)
    columns = np.array([acceleration(e) - free for e in np.eye(6)]).T
    assert_near(found.Phi, columns, scale=np.linalg.norm(found.Phi) * uncertain + scale)


@pytest.mark.seed('RBDA 7-06', 'RBDA 7-02')
def test_projection_agrees_with_assembly():
    """On a floating base Lambda of the base is its articulated-body inertia; so is the bias."""
    from rbd_ros.algorithms import aba
    from rbd_ros.algorithms.kinematics import Conditions
    builder = rbd_ros.ModelBuilder('floating')
    rng = np.random.default_rng(2)
    builder.add_body('trunk', 'base', rbd_ros.joints.Free(), inertia=families.random_inertia(rng),
                     joint_name='root')
    for i, parent in enumerate(('trunk', 'leg_0', 'trunk')):
        builder.add_body(f'leg_{i}', parent, Revolute(tuple(rng.normal(size=3).tolist())),
                         families.random_transform(rng), families.random_inertia(rng),
                         joint_name=f'hip_{i}')
    model = builder.build()
    s, robot = State(model, 5), reference(model)
    robot.set_gravity([0.0, 0.0, 0.0])
    found = robot.operational_space(s.q, s.qd, 'trunk')
    q, qd = s.q.tolist(), s.qd.tolist()
    bodies = aba.aba(model, q, qd, [0.0] * 9, Conditions(Vec3.zero()))
    assert_near(found.Lambda, bodies.I_A[1].to_list(), limit=1e-11)
    assert_near(found.bias, bodies.p_A[1].to_list(), limit=1e-11)


@pytest.mark.parametrize('seed', range(4))
def test_dynamically_consistent_inverse(arm, seed):
    """J J_bar = 1, and N projects joint forces on those that do not accelerate the handle."""
    s = State(arm.model, seed)
    found = arm.operational_space(s.q, s.qd, 'body_7')
    H_inverse = arm.inverse_mass_matrix(s.q)
    assert_near(found.J_bar, H_inverse @ found.J.T @ found.Lambda)
    assert_near(found.J @ found.J_bar, np.eye(6))
    N = found.nullspace
    assert_near(N @ N, N, scale=np.linalg.norm(N)**2)
    assert_near(found.J @ H_inverse @ N, np.zeros((6, 7)), scale=np.linalg.norm(H_inverse))
    assert np.linalg.matrix_rank(N, 1e-7) == 1
    # a force of the handle leaves through J^T and the rest does not move it
    tau = s.tau
    f = found.J_bar.T @ tau
    assert_near(found.J.T @ f + N @ tau, tau)
    moved = found.J @ arm.forward_dynamics(s.q, s.qd, tau) + arm.jacobian_rate(
        s.q, s.qd, 'body_7')
    assert_near(found.Lambda @ moved + found.bias, f, scale=np.linalg.norm(found.Lambda @ moved))


def planar_arm():
    """Return a 2R arm of point masses: m = 2, 1; l = 1, 0.5; in the x-z plane as a URDF has it."""
    def mass(m, x):
        return RigidInertia.from_com(m, Vec3(x, 0.0, 0.0), Sym3.zero())
    builder = rbd_ros.ModelBuilder('two_masses')
    upright = Transform.rotation(rbd_ros.spatial.rotx(np.pi / 2).E)
    builder.add_body('upper', 'base', Revolute((0.0, 0.0, 1.0)), upright, mass(2.0, 1.0),
                     joint_name='shoulder')
    builder.add_body('lower', 'upper', Revolute((0.0, 0.0, 1.0)),
                     Transform.translation(Vec3(1.0, 0.0, 0.0)), mass(1.0, 0.5),
                     joint_name='elbow')
    return reference(builder.build())


def test_singular_pose_is_an_error_by_default():
    """The message names the handle, gives the condition number and what to do."""
    robot = planar_arm()
    tip = robot.handle('lower', point=[0.5, 0.0, 0.0], rows=rbd_ros.POINT[:2])
    with pytest.raises(SingularError, match=(
            r'the handles \(lower at \[0.5, 0.0, 0.0\]\) cannot be accelerated in every direction '
            r'at this pose: .*give max_condition= for a bounded Lambda')):
        robot.operational_space([0.4, 0.0], [0.0, 0.0], tip)
    with pytest.raises(RbdError, match='max_condition is 0.5; it must be at least 1'):
        robot.operational_space([0.4, 1.0], [0.0, 0.0], tip, max_condition=0.5)


def test_singular_pose_with_a_bound():
    """Eigenvalues of Phi below the bound are raised to it; within it Lambda is exact."""
    robot = planar_arm()
    tip = robot.handle('lower', point=[0.5, 0.0, 0.0], rows=rbd_ros.POINT[:2])
    for angle in (0.0, 1e-9, 1e-4, 0.3):
        found = robot.operational_space([0.4, angle], [0.1, 0.2], tip, max_condition=1e4)
        w, V = np.linalg.eigh(found.Phi)
        expected = V @ np.diag(1.0 / np.maximum(w, w[-1] / 1e4)) @ V.T
        assert_near(found.Lambda, expected, limit=1e-9)       # 1e4 times rounding in w
        assert np.isfinite(found.J_bar).all()
        assert np.linalg.norm(found.Lambda, 2) <= 1e4 / w[-1] * (1.0 + 1e-9)
        assert (found.condition > 1e4) == (w[0] < w[-1] / 1e4)


def test_too_few_joints_for_the_handle(arm):
    """Six directions of the fifth body cannot all be moved by five joints; Phi shows which."""
    s = State(arm.model, 0)
    with pytest.raises(SingularError, match='body_5'):
        arm.operational_space(s.q, s.qd, 'body_5')
    found = arm.operational_space(s.q, s.qd, 'body_5', max_condition=1e6)
    rank = np.linalg.matrix_rank(found.Phi, 1e-9 * np.linalg.norm(found.Phi))
    assert rank == np.linalg.matrix_rank(found.J) == 5
    # null space of Phi = null space of J^T, range of Phi = range of J (7.14)
    lost = np.linalg.svd(found.J)[0][:, 5:]
    assert_near(found.Phi @ lost, np.zeros((6, 1)), scale=np.linalg.norm(found.Phi))
    pseudo = np.linalg.pinv(found.Phi, rcond=1e-9)
    assert_near(found.Phi @ pseudo @ found.J, found.J)


def test_batch_of_handles(arm):
    """A batch of states gives each field with a leading axis, and the single results."""
    states = [State(arm.model, seed) for seed in range(4)]
    q, qd = np.array([s.q for s in states]), np.array([s.qd for s in states])
    for frames in ('body_7', ['body_7', 'body_3']):
        batch = arm.operational_space(q, qd, frames, max_condition=1e9)
        for k, s in enumerate(states):
            single = arm.operational_space(s.q, s.qd, frames, max_condition=1e9)
            for many, one in zip(batch, single):
                assert_near(many[k], one, limit=1e-9)
            assert_near(batch.nullspace[k], single.nullspace, limit=1e-9)


#: condition number of Phi up to which Lambda is given without being asked for a bound
TRUSTED_CONDITION = 1e8


@pytest.fixture(scope='module')
def two_hands():
    """Return a tree of two arms on a free body, uncompiled: nineteen freedoms."""
    builder = rbd_ros.ModelBuilder('two_hands')
    rng = np.random.default_rng(6)
    builder.add_body('torso', 'base', Free(), inertia=families.random_inertia(rng),
                     joint_name='root')
    for side in ('left', 'right'):
        last = 'torso'
        for k in range(6):
            name = f'{side}_{k}'
            builder.add_body(name, last, Revolute(tuple(rng.normal(size=3).tolist())),
                             families.random_transform(rng), families.random_inertia(rng),
                             joint_name=f'joint_{name}')
            last = name
    return rbd_ros.Dynamics(builder.build(), backend='reference')


def dense_space(robot, s, rows):
    """Return J, Phi and b of some frames with directions, by dense matrices."""
    model = robot.model
    dense = DenseTree(model, s.q, s.qd)
    H = dense.mass_matrix()
    C = dense.rnea(np.zeros(model.nv), model.gravity)
    J, rate = [], []
    for frame, directions in rows:
        i = model.frame(frame).body
        J.append(np.asarray(directions) @ dense.X[i] @ dense.jacobian(i))
        rate.append(np.asarray(directions) @ dense.X[i] @ dense.velocity_product(i))
    J = np.vstack(J)
    return (J, J @ np.linalg.solve(H, J.T),
            np.concatenate(rate) - J @ np.linalg.solve(H, C), np.linalg.solve(H, J.T))


@pytest.mark.parametrize('count', [5, 6, 7, 12])
def test_values_of_any_number_of_rows(two_hands, count):
    """Lambda, bias, J_bar and condition of up to six rows and of more are those of the oracle."""
    s = State(two_hands.model, 3)
    rows = [('left_5', np.eye(6)[:min(count, 6)])]
    if count > 6:
        rows.append(('right_5', np.eye(6)[6 - (count - 6):]))
    found = two_hands.operational_space(
        s.q, s.qd, [two_hands.handle(frame, rows=directions.tolist())
                    for frame, directions in rows])
    J, Phi, b, HinvJT = dense_space(two_hands, s, rows)
    assert found.Lambda.shape == (count, count)
    assert_near(found.J, J)
    assert_near(found.Phi, Phi)
    assert_near(found.b, b)
    Lambda = np.linalg.inv(Phi)
    assert_near(found.Lambda, Lambda, limit=1e-9)
    # the force that keeps the handles from accelerating
    assert_near(found.bias, -Lambda @ b, limit=1e-9)
    assert_near(Phi @ found.bias, -b, limit=1e-9)
    assert_near(found.J_bar, HinvJT @ Lambda, limit=1e-9)
    assert found.condition == pytest.approx(np.linalg.cond(Phi), rel=1e-7)


@pytest.mark.parametrize('count', [6, 7])
def test_threshold_of_the_condition(two_hands, count):
    """Below the trusted condition number there is a Lambda, above it an error, at any size."""
    s = State(two_hands.model, 3)

    def handles(scale):
        last = np.eye(6)[5] * scale
        if count == 6:
            return [('left_5', np.vstack([np.eye(6)[:5], last]))]
        return [('left_5', np.eye(6)), ('right_5', last[None])]

    def condition(scale):
        return np.linalg.cond(dense_space(two_hands, s, handles(scale))[1])

    def ask(scale, **options):
        return two_hands.operational_space(s.q, s.qd, [
            two_hands.handle(frame, rows=rows.tolist()) for frame, rows in handles(scale)],
            **options)
    # the row made small: the condition grows with the square of its size
    scale = 1e-3 * math.sqrt(condition(1e-3) / TRUSTED_CONDITION)
    fine, too_small = scale * math.sqrt(2.0), scale / math.sqrt(2.0)
    assert condition(fine) < TRUSTED_CONDITION < condition(too_small)
    assert ask(fine).condition == pytest.approx(condition(fine), rel=1e-6)
    with pytest.raises(SingularError, match='the condition number of J H.-1 J.T is'):
        ask(too_small)
    # a bound raises the small eigenvalue to its share of the largest
    bounded = ask(too_small, max_condition=100.0)
    w, V = np.linalg.eigh(dense_space(two_hands, s, handles(too_small))[1])
    assert_near(bounded.Lambda, V @ np.diag(1.0 / np.maximum(w, w[-1] / 100.0)) @ V.T, limit=1e-8)
    assert bounded.condition == pytest.approx(condition(too_small), rel=1e-5)


def test_share_that_is_lost():
    """A direction below the bound loses 1 - w / floor; between two it is split by the squares."""
    found = opspace.conditioned_inverse(
        [[4.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.04]], 20.0)     # floor 4 / 20 = 0.2
    assert found.lost == pytest.approx([0.0, 0.5, 0.8], abs=1e-15)
    assert np.diag(found.Lambda) == pytest.approx([0.25, 5.0, 5.0], rel=1e-14)
    assert found.condition == pytest.approx(100.0, rel=1e-14)
    # turned by an angle in the plane of a free and a lost direction
    c, s = math.cos(0.3), math.sin(0.3)
    turned = opspace.conditioned_inverse(
        [[4.0 * c * c, 4.0 * c * s], [4.0 * c * s, 4.0 * s * s + 0.0]], 8.0)
    assert turned.lost == pytest.approx([s * s, c * c], abs=1e-12)      # w = 0: all of it
    rng = np.random.default_rng(2)
    A = rng.normal(size=(6, 6)) * [1.0, 1.0, 1.0, 1.0, 0.1, 0.01]
    Phi = A @ A.T
    w, V = np.linalg.eigh(Phi)
    floor = w[-1] / 50.0
    expected = V**2 @ (1.0 - np.minimum(w, floor) / floor)
    found = opspace.conditioned_inverse(Phi.tolist(), 50.0)
    assert found.lost == pytest.approx(expected, abs=1e-10)
    assert 0.0 < min(found.lost) and max(found.lost) < 1.0
    assert opspace.conditioned_inverse(Phi.tolist(), 1e12).lost == pytest.approx([0.0] * 6)


def test_inverses_with_something_on_the_diagonal():
    """Raised by trace / condition, by a damping, and by the mean where a row does not count."""
    A = np.random.default_rng(8).normal(size=(4, 4))
    Phi = A @ A.T
    found = opspace.damped_inverse(Phi.tolist(), 50.0)
    assert_near(found, np.linalg.inv(Phi + np.trace(Phi) / 50.0 * np.eye(4)))
    found = opspace.inverse_with_damping(Phi.tolist(), 0.7)
    assert_near(found, np.linalg.inv(Phi + 0.7 * np.eye(4)))
    mask = np.array([1.0, 0.0, 1.0, 0.0])
    counted = mask[:, None] * Phi * mask
    mean = (Phi[0, 0] + Phi[2, 2]) / 2.0
    found = opspace.without_masked(counted.tolist(), mask.tolist())
    assert_near(found, counted + mean * np.diag(1.0 - mask))
