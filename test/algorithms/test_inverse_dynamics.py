# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics (RBDA 5): its cost, by-products, special joints."""

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba, rnea
from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.compiler import trace
from rbd_ros.samples import families
from rbd_ros.spatial import Vec3
from special_tree import special_tree
from tree_oracle import assert_near, DenseTree, State


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
