# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Inverse dynamics (RBDA 5): closed forms, by-products, golden numbers, special joints."""

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba, rnea
from rbd_ros.algorithms.kinematics import Conditions, links
from rbd_ros.compiler import trace
from rbd_ros.joints import Revolute
from rbd_ros.samples import families
from rbd_ros.spatial import Motion, RigidInertia, Sym3, Transform, Vec3
from spatial_oracle import crm6
from special_tree import special_tree
from tree_oracle import assert_near, DenseTree, State

Z = (0.0, 0.0, 1.0)


def rod_arm():
    """Return the planar 2R arm of the golden numbers: two rods of 1 m and 1 kg."""
    rod = RigidInertia.from_com(
        1.0, Vec3(0.5, 0.0, 0.0), Sym3.diagonal(0.01, 1.0 / 12.0, 1.0 / 12.0))
    builder = rbd_ros.ModelBuilder('rods', gravity=(0.0, -9.81, 0.0))
    builder.add_body('upper', 'base', Revolute(Z), inertia=rod, joint_name='shoulder')
    builder.add_body('lower', 'upper', Revolute(Z), Transform.translation(Vec3(1.0, 0.0, 0.0)),
                     rod, joint_name='elbow')
    return builder.build()


@pytest.mark.seed('RBDA 5-05', 'RBDA 6-10', 'RBDA 5-10')
def test_golden_arm():
    """The numbers of the 2R arm: H, Coriolis and gravity forces, and tau."""
    robot = rbd_ros.Dynamics(rod_arm(), backend='reference')
    q, qd, qdd = [0.3, 0.5], [0.7, -0.4], [1.0, 2.0]
    H = [[2.544249, 0.772125], [0.772125, 0.333333]]
    np.testing.assert_allclose(robot.mass_matrix(q), H, atol=5e-7)
    np.testing.assert_allclose(robot.gravity(q), [17.475123, 3.417346], atol=5e-7)
    np.testing.assert_allclose(robot.bias(q, qd) - robot.gravity(q), [0.095885, 0.117459],
                               atol=5e-7)
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), [21.659506, 4.973597],
                               atol=5e-7)


@pytest.mark.seed('RBDA 5-01', 'SIXD P09')
def test_cost_grows_linearly():
    """Each joint more adds the same number of operations to RNEA and ABA, CRBA's grow by n."""
    def cost(n, rule):
        model = families.general_chain(n)
        shapes = {'q': (n,), 'qd': (n,), 'x': (n,)}
        still = Conditions(Vec3(0.0, 0.0, -9.81))
        return trace(lambda *x: rule(model, *x, still), shapes).count().total
    for rule in (lambda *x: rnea.rnea(*x).tau, rnea.newton_euler_3d,
                 lambda *x: aba.aba(*x).qdd):
        counts = [cost(n, rule) for n in range(4, 9)]
        assert len(set(np.diff(counts))) == 1
        # two-sided: O(n) from below and above
        assert 0.5 < counts[-1] / 8 / (counts[0] / 4) < 2.0

    by_matrix = [
        rbd_ros.Dynamics(families.general_chain(n), backend='reference').kernel(
            'forward_dynamics', method='crba').count().total for n in range(4, 11)]
    assert len(set(np.diff(by_matrix, 3))) == 1 and np.diff(by_matrix, 3)[0] > 0


@pytest.mark.seed('RBDA 5-02', 'RBDA 2-31', 'SIXD P17')
def test_recurrences_agree_with_closed_forms():
    """The sums v = sum s_j qd_j and a = sum s_j qdd_j + sum sum s_k x s_j qd_j qd_k (Ex 2.5)."""
    model = families.general_chain(6, 3)
    s = State(model, 1)
    dense = DenseTree(model, s.q, s.qd)
    axes = [dense.S[i][:, 0] for i in dense.bodies]
    robot = rbd_ros.Dynamics(model, backend='reference')
    for i in dense.bodies:
        v = sum(axes[j] * s.qd[j] for j in range(i))
        a = sum(axes[j] * s.qdd[j] for j in range(i)) + sum(
            crm6(axes[k]) @ axes[j] * s.qd[j] * s.qd[k] for j in range(i) for k in range(j))
        name, X = model.body_names[i], dense.X[i]
        assert_near(robot.velocity(s.q, s.qd, name), X @ v, limit=1e-12)
        recursive = robot.jacobian(s.q, name) @ s.qdd + robot.jacobian_rate(s.q, s.qd, name)
        assert_near(recursive, X @ a, limit=1e-12)


@pytest.mark.seed('RBDA 5-03')
@pytest.mark.parametrize('seed', range(3))
def test_closed_form_of_the_equation_of_motion(seed):
    """tau_i = sum H_ij qdd_j + sum sum C_ijk qd_j qd_k + g_i, with C_ijk from the slopes of H."""
    model = families.random_tree(4, seed, joints=('revolute', 'prismatic', 'helical'))
    s, n = State(model, seed), model.nv
    robot = rbd_ros.Dynamics(model, backend='reference')
    g = robot.gravity(s.q)
    robot.set_gravity([0.0, 0.0, 0.0])
    c = [[robot.bias(s.q, np.eye(n)[j] + np.eye(n)[k]) for k in range(n)] for j in range(n)]
    one = [robot.bias(s.q, np.eye(n)[j]) for j in range(n)]
    C = np.array([[(c[j][k] - one[j] - one[k]) / 2.0 for k in range(n)] for j in range(n)])
    tau = robot.mass_matrix(s.q) @ s.qdd + np.einsum('jki,j,k', C, s.qd, s.qd) + g
    robot.set_gravity(model.gravity)
    assert_near(robot.inverse_dynamics(s.q, s.qd, s.qdd), tau, limit=1e-12)
    # The polarised coefficients are the Christoffel symbols of H (slopes by differences).
    robot.set_gravity([0.0, 0.0, 0.0])
    h = 1e-4
    slopes = np.array([(8.0 * (robot.mass_matrix(s.q + h * e) - robot.mass_matrix(s.q - h * e))
                        - robot.mass_matrix(s.q + 2 * h * e) + robot.mass_matrix(s.q - 2 * h * e)
                        ) / (12.0 * h) for e in np.eye(n)])
    christoffel = 0.5 * (np.einsum('kij->jki', slopes) + np.einsum('jik->jki', slopes)
                         - np.einsum('ijk->jki', slopes))
    assert_near(C, christoffel, scale=np.linalg.norm(slopes), limit=1e-10)


@pytest.mark.seed('RBDA 5-11', 'RBDA 3-22', 'SIXD C19')
@pytest.mark.parametrize('seed', range(6))
def test_wrenches_across_the_joints(seed):
    """S^T f is the joint force, and f - T_a tau, with T_a^T S = 1, is a constraint force."""
    model = families.random_tree(10, seed)
    s, robot = State(model, seed), rbd_ros.Dynamics(model, backend='reference')
    f = robot.joint_wrenches(s.q, s.qd, s.qdd, s.f_ext)
    tau = robot.inverse_dynamics(s.q, s.qd, s.qdd, s.f_ext)
    dense = DenseTree(model, s.q, s.qd)
    base = np.array([0.0, 0.0, 0.0, *(-np.array(model.gravity))])
    expected = dense.joint_forces(dense.net_forces(dense.accelerations(s.qdd, base), s.f_ext))
    for i in dense.bodies:
        S, T = dense.S[i], dense.T[i]
        assert_near(dense.X[i].T @ f[i - 1], expected[i])
        tau_i = dense.part(i, tau)
        assert_near(S.T @ expected[i], tau_i, scale=np.linalg.norm(expected[i]))
        T_a = np.linalg.pinv(S).T
        constraint = expected[i] - T_a @ tau_i
        # range T is the complement of S: the constraint part is T lambda and does no work.
        multipliers = np.linalg.lstsq(T, constraint, rcond=None)[0]
        assert_near(T @ multipliers, constraint, scale=np.linalg.norm(expected[i]))
        assert_near(S.T @ constraint, np.zeros(S.shape[1]), scale=np.linalg.norm(expected[i]))


@pytest.mark.seed('RBDA 5-13', 'RBDA 7-15', 'RBDA 3-23', 'RBDA 3-20')
@pytest.mark.parametrize('t', [0.0, 0.4, 1.7])
def test_special_joints(t):
    """Prescribed, rheonomic, reversed and composite joints obey every algorithm at time t."""
    model = special_tree()
    s, robot = State(model, 2), rbd_ros.Dynamics(model, backend='reference')
    if t != 0.0:            # where it begins
        robot.set_time(t)
    dense = DenseTree(model, s.q, s.qd, t)
    tau = robot.inverse_dynamics(s.q, s.qd, s.qdd, s.f_ext)
    assert_near(tau, dense.rnea(s.qdd, model.gravity, s.f_ext))
    conditions = Conditions(Vec3(*model.gravity), t=t)
    arguments = (model, s.q.tolist(), s.qd.tolist(), s.qdd.tolist(), conditions)
    assert_near(rnea.newton_euler_3d(*arguments), rnea.rnea(*arguments).tau)
    assert_near(robot.mass_matrix(s.q), dense.mass_matrix())
    for method in ('aba', 'crba'):
        qdd = robot.forward_dynamics(s.q, s.qd, tau, s.f_ext, method=method)
        assert_near(qdd, s.qdd, scale=np.linalg.cond(dense.mass_matrix()) * 1e-5)
    assert_near(robot.momentum(s.q, s.qd), sum(dense.I[i] @ dense.v[i] for i in dense.bodies))
    for i in dense.bodies:
        name = model.body_names[i]
        assert_near(robot.velocity(s.q, s.qd, name), dense.X[i] @ dense.v[i], limit=1e-12)
        assert_near(robot.jacobian(s.q, name), dense.X[i] @ dense.jacobian(i), limit=1e-12)
        assert_near(robot.jacobian_rate(s.q, s.qd, name),
                    dense.X[i] @ dense.velocity_product(i), scale=1.0, limit=1e-12)


@pytest.mark.seed('RBDA 3-23', 'RBDA 5-13')
def test_power_of_a_moving_joint_has_two_parts():
    """Energy changes by tau . qd plus what the joint that moves by itself puts in, f . sigma."""
    model = special_tree()
    s, robot = State(model, 4), rbd_ros.Dynamics(model, backend='reference')
    robot.set_gravity([0.0, 0.0, 0.0])
    t, h = 0.7, 2e-3

    def energy(step):
        robot.set_time(t + step)
        q = rbd_ros.model.positions.integrate(
            model, s.q, s.qd * step + s.qdd * (step * step / 2.0))
        return robot.kinetic_energy(q, s.qd + s.qdd * step)
    weights = ((1, 45.0), (2, -9.0), (3, 1.0))
    change = sum(w * (energy(k * h) - energy(-k * h)) for k, w in weights) / (60.0 * h)
    robot.set_time(t)
    tau = robot.inverse_dynamics(s.q, s.qd, s.qdd)
    f = robot.joint_wrenches(s.q, s.qd, s.qdd)
    drift = [np.array(model.joint[i].drift(s.q[model.q_index[i]].tolist(), t).to_list())
             for i in range(1, model.nb + 1)]
    terms = [f_i @ sigma for f_i, sigma in zip(f, drift)]
    assert abs(sum(terms)) > 1e-3
    # derivative by differences of step 2 ms, error of the sixth order
    assert_near(tau @ s.qd + sum(terms), change, scale=abs(tau) @ abs(s.qd), limit=1e-8)


@pytest.mark.seed('RBDA 1-06', 'RBDA 1-07', 'RBDA 5-14')
def test_three_dimensional_law_of_one_body():
    """The net force on a body is f = m a_C and n_C = I w' + w x I w at its centre of mass."""
    rng = np.random.default_rng(3)
    inertia = families.random_inertia(rng)
    m, c, I_c = inertia.com_form()
    w, wd, v, acc = rng.normal(size=(4, 3))
    a = Motion(Vec3(*wd.tolist()), Vec3(*(acc - np.cross(w, v)).tolist()))
    u = Motion(Vec3(*w.tolist()), Vec3(*v.tolist()))
    f = inertia @ a + u.cross(inertia @ u)
    c, I_c = np.array(list(c)), np.array(I_c.to_list())
    a_c = acc + np.cross(wd, c) + np.cross(w, np.cross(w, c))
    force = m * a_c
    moment = I_c @ wd + np.cross(w, I_c @ w)
    assert_near(list(f.lin), force, limit=1e-13)
    assert_near(list(f.ang), moment + np.cross(c, force), limit=1e-13)


@pytest.mark.seed('RBDA 1-08', 'SIXD C12')
def test_bodies_joined_rigidly_add_their_inertias():
    """Two bodies in one frame move like one with the sum of both inertias."""
    rng = np.random.default_rng(1)
    one, two = families.random_inertia(rng), families.random_inertia(rng)
    X = families.random_transform(rng)

    def pendulum(parts):
        builder = rbd_ros.ModelBuilder('pendulum')
        builder.add_body('bob', 'base', Revolute((1.0, 0.0, 0.0)), inertia=parts[0],
                         joint_name='hinge')
        if len(parts) > 1:
            builder.add_body('extra', 'bob', rbd_ros.joints.Fixed(), X, parts[1],
                             joint_name='weld')
        return rbd_ros.Dynamics(builder.build(), backend='reference')
    split, whole = pendulum([one, two]), pendulum([one + X.inv_apply(two)])
    assert split.model.nb == 1
    state = ([0.4], [1.2], [-0.3])
    assert_near(split.inverse_dynamics(*state), whole.inverse_dynamics(*state), limit=1e-14)
    m = one.m + two.m
    c = (np.array(list(one.h)) + np.array(list(X.inv_apply(two).h))) / m
    assert_near(split.center_of_mass([0.0]), c, limit=1e-14)


@pytest.mark.seed('RBDA 6-04')
@pytest.mark.parametrize('seed', range(4))
def test_stripped_recursion_multiplies_by_h(seed):
    """ID_delta (Table 6.1) is H x without velocities and gravity."""
    model = families.random_tree(9, seed)
    s = State(model, seed)
    H = DenseTree(model, s.q).mass_matrix()
    found = rnea.inertia_product(model, links(model, s.q.tolist()), s.qdd.tolist())
    assert_near(found, H @ s.qdd)


@pytest.mark.seed('RBDA 6-02', 'RBDA 6-03', 'SIXD P16')
@pytest.mark.parametrize('seed', range(4))
def test_bias_is_inverse_dynamics_at_rest_of_qdd(seed):
    """C = ID(q, qd, 0, f), Hx = ID(x) - C, and a force on a body is -J^T f in tau."""
    model = families.random_tree(9, seed)
    s, robot = State(model, seed), rbd_ros.Dynamics(model, backend='reference')
    C = robot.inverse_dynamics(s.q, s.qd, 0.0 * s.qdd, s.f_ext)
    assert_near(robot.bias(s.q, s.qd, s.f_ext), C, limit=1e-12)
    H = robot.mass_matrix(s.q)
    tau = robot.inverse_dynamics(s.q, s.qd, s.qdd, s.f_ext)
    assert_near(tau - C, H @ s.qdd, scale=np.linalg.norm(C), limit=1e-12)
    dense = DenseTree(model, s.q)
    mapped = sum(dense.jacobian(i).T @ s.f_ext[i - 1] for i in dense.bodies)
    assert_near(robot.bias(s.q, s.qd) - C, mapped, scale=np.linalg.norm(C), limit=1e-12)
