# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Properties of the dynamics of random trees of all joint types, up to forty bodies."""

from hypothesis import given
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba, rnea
from rbd_ros.algorithms.kinematics import Conditions, links
from rbd_ros.joints import Revolute
from rbd_ros.model import positions
from rbd_ros.samples import families
from rbd_ros.spatial import Transform, Vec3
from tree_oracle import (
    assert_near, DenseTree, examples, LARGE_TREES, reference, SEEDS, State, TREES)

pytestmark = pytest.mark.slow

few = examples(30)
many = examples(60)


def advance(model, s, h):
    """Return position and velocity after the time h at constant acceleration, to second order."""
    q = positions.integrate(model, s.q, s.qd * h + s.qdd * (h * h / 2.0))
    return np.array(q), s.qd + s.qdd * h


def rate(function, h=1e-3):
    """Return the derivative of a function at zero, error O(h^6)."""
    weights = ((1, 45.0), (2, -9.0), (3, 1.0))
    return sum(w * (function(k * h) - function(-k * h)) for k, w in weights) / (60.0 * h)


# --- inverse and forward dynamics are each other's inverse ---------------------------------------

@pytest.mark.seed('RBDA 1-01', 'RBDA 1-02', 'RBDA 1-03', 'SIXD P21', 'SIXD P27')
@few
@given(LARGE_TREES, SEEDS)
def test_inverse_dynamics_undoes_forward_dynamics(model, seed):
    """ID(FD(tau)) = tau, FD(ID(qdd)) = qdd and tau = H qdd + C on trees of 20 to 40 bodies."""
    s, robot = State(model, seed), reference(model)
    H, C = robot.mass_matrix(s.q), robot.bias(s.q, s.qd)
    qdd = robot.forward_dynamics(s.q, s.qd, s.tau)
    # rounding in a solution x of H x = b is felt as an error of the order |H||x| in b
    scale = np.linalg.norm(H) * np.linalg.norm(qdd) + np.linalg.norm(C)
    tau = robot.inverse_dynamics(s.q, s.qd, qdd)
    assert_near(tau, s.tau, scale=scale)
    assert_near(H @ qdd + C, s.tau, scale=scale)
    tau = robot.inverse_dynamics(s.q, s.qd, s.qdd)
    assert_near(H @ s.qdd + C, tau, scale=np.linalg.norm(C))
    qdd = robot.forward_dynamics(s.q, s.qd, tau)
    assert_near(H @ qdd, H @ s.qdd, scale=np.linalg.norm(H) * np.linalg.norm(qdd))


@pytest.mark.seed('RBDA 6-01', 'RBDA 7-13', 'RBDA 7-12', 'SPENCER 70', 'SPENCER 71')
@many
@given(TREES, SEEDS)
def test_articulated_bodies_agree_with_the_inertia_matrix(model, seed):
    """ABA = CRBA and factors = a dense solve in base coordinates, with forces on every body."""
    s, robot = State(model, seed), reference(model)
    dense = DenseTree(model, s.q, s.qd)
    H = dense.mass_matrix()
    C = dense.rnea(np.zeros(model.nv), model.gravity, s.f_ext)
    expected = np.linalg.solve(H, s.tau - C)
    scale = np.linalg.norm(expected) * max(1.0, 1e-5 * np.linalg.cond(H))
    for method in ('aba', 'crba'):
        qdd = robot.forward_dynamics(s.q, s.qd, s.tau, s.f_ext, method=method)
        assert_near(qdd, expected, scale=scale)


# --- forms of one law ----------------------------------------------------------------------------

@pytest.mark.seed('RBDA 5-04', 'RBDA 5-05', 'RBDA 5-12', 'SPENCER 63', 'SPENCER 64')
@many
@given(TREES, SEEDS)
def test_body_and_base_coordinates_agree(model, seed):
    """The recursion in body coordinates gives what sums over subtrees give in base coordinates."""
    s, robot = State(model, seed), reference(model)
    expected = DenseTree(model, s.q, s.qd).rnea(s.qdd, model.gravity, s.f_ext)
    assert_near(robot.inverse_dynamics(s.q, s.qd, s.qdd, s.f_ext), expected)


@pytest.mark.seed('RBDA 5-14', 'RBDA 5-15', 'RBDA 5-16')
@many
@given(TREES, SEEDS)
def test_three_dimensional_recursion_agrees(model, seed):
    """The 3-D Newton-Euler recursion gives the spatial one's tau: any joint, branched trees."""
    s = State(model, seed)
    conditions = Conditions(Vec3(0.3, -9.0, 4.0))
    arguments = (model, s.q.tolist(), s.qd.tolist(), s.qdd.tolist(), conditions)
    assert_near(rnea.newton_euler_3d(*arguments), rnea.rnea(*arguments).tau)


@pytest.mark.seed('RBDA 6-05', 'RBDA 6-07', 'RBDA 6-10', 'RBDA 10-11', 'RBDA 6-04')
@many
@given(TREES, SEEDS)
def test_inertia_matrix_agrees_with_unit_accelerations(model, seed):
    """H of composite bodies = columns of ID and of ID_delta = the sum of J^T I J."""
    s, robot = State(model, seed), reference(model)
    H, tree = robot.mass_matrix(s.q), links(model, s.q.tolist())
    robot.set_gravity([0.0, 0.0, 0.0])
    unit = np.eye(model.nv)
    by_columns = np.array([robot.inverse_dynamics(s.q, 0.0 * s.qd, e) for e in unit]).T
    assert_near(H, by_columns)
    assert_near(H, np.transpose([rnea.inertia_product(model, tree, e.tolist()) for e in unit]))
    assert_near(H, DenseTree(model, s.q).mass_matrix())
    assert (H == H.T).all()
    assert np.linalg.eigvalsh(H)[0] > 0.0


@pytest.mark.seed('RBDA 3-01', 'RBDA 6-11')
@many
@given(TREES, SEEDS)
def test_kinetic_energy_is_quadratic_in_the_velocity(model, seed):
    """The energies of the bodies add up to 1/2 qd^T H qd."""
    s, robot = State(model, seed), reference(model)
    H = robot.mass_matrix(s.q)
    assert_near(robot.kinetic_energy(s.q, s.qd), 0.5 * s.qd @ H @ s.qd, limit=1e-12)


# --- power, momentum and rates -------------------------------------------------------------------

@pytest.mark.seed('RBDA 3-02', 'RBDA 3-03', 'RBDA 5-13', 'RBDA 7-15')
@few
@given(TREES, SEEDS)
def test_power_balance(model, seed):
    """Energy changes at the rate of joint power plus the power of external forces."""
    s, robot = State(model, seed), reference(model)
    s.tau = robot.inverse_dynamics(s.q, s.qd, s.qdd, s.f_ext)

    def energy(h):
        q, qd = advance(model, s, h)
        return robot.kinetic_energy(q, qd) + robot.potential_energy(q)
    v = DenseTree(model, s.q, s.qd).v
    external = [f @ v[i] for i, f in enumerate(s.f_ext, 1)]
    power = s.tau @ s.qd + sum(external)
    size = abs(s.tau) @ abs(s.qd) + sum(map(abs, external))
    # differences: the seventh derivative grows with the speeds, rounding with the energy
    assert_near(rate(energy, 2e-4), power, scale=size + abs(energy(0.0)), limit=1e-9)


@pytest.mark.seed('RBDA 2-32', 'SIXD P07')
@few
@given(TREES, SEEDS)
def test_momentum_changes_by_external_force_alone(model, seed):
    """A tree on a free joint changes its momentum by its weight and the external forces."""
    builder_tree = families.random_tree(model.nb, seed, joints=('free',), branching=0.9)
    for tree in (model, builder_tree):
        s, robot = State(tree, seed), reference(tree)
        dense = DenseTree(tree, s.q, s.qd)
        h = sum(dense.I[i] @ dense.v[i] for i in dense.bodies)
        assert_near(robot.momentum(s.q, s.qd), h)
        a = dense.accelerations(s.qdd)
        expected = sum(dense.net_forces(a)[1:])
        found = rate(lambda step: robot.momentum(*advance(tree, s, step)), 5e-4)
        # by differences; the sum over bodies may cancel
        size = sum(np.linalg.norm(f) for f in dense.net_forces(a))
        assert_near(found, expected, scale=size, limit=1e-9)


@pytest.mark.seed('SIXD P14', 'SIXD P18', 'SIXD P19', 'RBDA 2-31')
@few
@given(TREES, SEEDS)
def test_frame_jacobian_velocity_and_acceleration(model, seed):
    """J qd is the frame's velocity, and J qdd + Jdot qd the rate of its components."""
    s, robot = State(model, seed), reference(model)
    frame = model.body_names[-1]
    J = robot.jacobian(s.q, frame)
    assert_near(J @ s.qd, robot.velocity(s.q, s.qd, frame), limit=1e-12,
                scale=np.linalg.norm(J) * np.linalg.norm(s.qd))
    # In its own coordinates the derivative of v's components is the spatial acceleration.
    acceleration = rate(lambda h: robot.velocity(*advance(model, s, h), frame), 5e-4)
    expected = J @ s.qdd + robot.jacobian_rate(s.q, s.qd, frame)
    assert_near(acceleration, expected, scale=np.linalg.norm(s.qd)**3, limit=1e-9)


@pytest.mark.seed('RBDA 5-06', 'RBDA 5-07', 'RBDA 5-08', 'RBDA 5-09', 'SIXD C17')
@many
@given(TREES, SEEDS)
def test_gravity_is_an_external_force(model, seed):
    """The fictitious acceleration of the base does what the weight of every body does."""
    s, robot = State(model, seed), reference(model)
    dense = DenseTree(model, s.q, s.qd)
    a_g = np.concatenate([np.zeros(3), model.gravity])
    weight = np.array([dense.I[i] @ a_g for i in dense.bodies])
    with_gravity = robot.inverse_dynamics(s.q, s.qd, s.qdd)
    gravity = robot.gravity(s.q)
    still = robot.inverse_dynamics(s.q, 0.0 * s.qd, 0.0 * s.qd)
    robot.set_gravity([0.0, 0.0, 0.0])
    assert_near(robot.inverse_dynamics(s.q, s.qd, s.qdd, weight), with_gravity)
    assert_near(gravity, still, limit=1e-12)
    # The generalised force of the weights themselves is the opposite of what holds them.
    terms = sum(dense.jacobian(i).T @ weight[i - 1] for i in dense.bodies)
    assert_near(-terms, gravity, limit=1e-12)


@pytest.mark.seed('RBDA 10-04')
def test_articulated_bodies_are_as_accurate_as_the_inertia_matrix():
    """On a long chain the residual of ABA in the equation of motion is not the larger one."""
    residuals = {'aba': 0.0, 'crba': 0.0}
    for seed in range(8):
        model = families.random_tree(40, seed, joints=('revolute',), branching=0.0)
        s, robot = State(model, seed), reference(model)
        exact = s.qdd
        tau = robot.inverse_dynamics(s.q, s.qd, exact)
        for method in residuals:
            qdd = robot.forward_dynamics(s.q, s.qd, tau, method=method)
            residuals[method] += np.linalg.norm(qdd - exact)
    assert residuals['aba'] <= 2.0 * residuals['crba']


@pytest.mark.seed('RBDA 10-01')
def test_body_coordinates_keep_their_digits_far_from_the_origin():
    """A robot 10 km away has the same tau; in base coordinates the error grows as distance^2."""
    def arm(distance):
        rng = np.random.default_rng(1)
        builder = rbd_ros.ModelBuilder('far')
        for i in range(1, 6):
            X = families.random_transform(rng)
            if i == 1:
                X = Transform(X.E, X.r + Vec3(distance, -distance, 0.5 * distance))
            builder.add_body(f'body_{i}', f'body_{i - 1}' if i > 1 else 'base',
                             Revolute(tuple(rng.normal(size=3).tolist())), X,
                             families.random_inertia(rng), joint_name=f'joint_{i}')
        return builder.build()
    near = arm(0.0)
    s = State(near, 2)
    tau = reference(near).inverse_dynamics(s.q, s.qd, s.qdd)
    errors = []
    for distance in (1e2, 1e3, 1e4):
        far = arm(distance)
        assert_near(reference(far).inverse_dynamics(s.q, s.qd, s.qdd), tau, limit=1e-13)
        dense = DenseTree(far, s.q, s.qd).rnea(s.qdd, far.gravity)
        errors.append(np.linalg.norm(dense - tau))
    slope = np.polyfit([2.0, 3.0, 4.0], np.log10(errors), 1)[0]
    assert 1.3 < slope < 2.7


@pytest.mark.seed('RBDA 10-02')
@few
@given(SEEDS)
def test_uniform_motion_of_the_whole_changes_nothing(seed):
    """A constant velocity added to a floating base changes no joint acceleration."""
    model = families.random_tree(1, 0, joints=('free',))
    builder = rbd_ros.ModelBuilder('craft', gravity=(0.0, 0.0, 0.0))
    rng = np.random.default_rng(seed)
    builder.add_body('hull', 'base', model.joint[1], inertia=model.inertia[1], joint_name='root')
    for i in range(3):
        builder.add_body(f'boom_{i}', 'hull' if i != 1 else 'boom_0',
                         Revolute(tuple(rng.normal(size=3).tolist())),
                         families.random_transform(rng), families.random_inertia(rng),
                         joint_name=f'joint_{i}')
    craft = builder.build()
    s, robot = State(craft, seed), reference(craft)
    E = DenseTree(craft, s.q).X[1][:3, :3]
    slow = robot.forward_dynamics(s.q, s.qd, s.tau)
    shift = E @ np.array([70.0, -40.0, 20.0])
    fast = robot.forward_dynamics(s.q, s.qd + np.array([0.0, 0.0, 0.0, *shift, 0.0, 0.0, 0.0]),
                                  s.tau)
    # the spatial acceleration differs by the turning of the added velocity's components
    expected = slow.copy()
    expected[3:6] -= np.cross(s.qd[:3], shift)
    assert_near(fast, expected, scale=np.linalg.norm(slow) + 100.0)


def test_conditions_take_another_inertia():
    """Inertias given besides the model (a payload) replace those of the model everywhere."""
    model, other = families.random_tree(6, 1), families.random_tree(6, 1)
    heavy = families.random_tree(6, 2).inertia
    s = State(model)
    g = Vec3(*model.gravity)
    q, qd, qdd = s.q.tolist(), s.qd.tolist(), s.qdd.tolist()
    loaded = Conditions(g, inertia=heavy)
    changed = type(other)(**{**other.__getstate__(), 'inertia': heavy})
    assert rnea.rnea(model, q, qd, qdd, loaded).tau == rnea.rnea(
        changed, q, qd, qdd, Conditions(g)).tau
    assert aba.aba(model, q, qd, qdd, loaded).qdd == aba.aba(
        changed, q, qd, qdd, Conditions(g)).qdd
