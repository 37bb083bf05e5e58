# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Constraints in implicit form, and methods that solve gears through them (RBDA 3.2, 9.6)."""

import math

from gear_rig import LAWS, urdf
from loop_rig import BAR_Q, BAR_QD, BAR_QDD, four_bar
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.loops import constraints, whole_system
from rbd_ros.algorithms.loops.implicit_form import gear_constraint, ImplicitConstraint
from rbd_ros.compiler import cos, sin
from spatial_oracle import derivative
from tree_oracle import DenseTree, with_rotors

Y, YD, YDD = np.random.default_rng(5).normal(size=(3, 4))


@pytest.fixture(scope='module')
def geared():
    """Return the tree with a cam, a gear on the cam's joint, and a differential."""
    return rbd_ros.load_urdf(urdf(), gears=LAWS)


def error_of(names):
    """Return phi of the gears of the tree in plain Python, over all joints in some order."""
    def phi(q):
        j = dict(zip(names, q))
        return np.array([j['j3'] - j['j2'] - 0.3 * math.sin(2.0 * j['j2']),
                         j['j6'] - 0.5 * j['j3'] * math.cos(j['j5']),
                         j['j7'] - 0.5 * (j['j2'] - j['j4']) - 0.1])
    return phi


@pytest.mark.seed('RBDA 3-07', 'RBDA 3-09', 'RBDA 3-10')
def test_gears_in_both_forms(geared):
    """The derivatives of phi are K and k; along q = gamma(y) phi = 0, K G = 0 and K g = k."""
    names = geared.joint_names
    phi = error_of(names)
    q, qd = np.random.default_rng(2).normal(size=(2, 7))          # not on the gears
    found = gear_constraint(geared, q.tolist(), qd.tolist())
    order = [names.index(name) for name in ('j3', 'j6', 'j7')]
    rows = [[row.get(k) for row in found.K].index(1.0) for k in order]  # by the joint that follows
    np.testing.assert_allclose(np.array(found.phi)[rows], phi(q), rtol=1e-13)
    K = np.array(found.matrix(7))[rows]
    slopes = np.transpose([derivative(lambda s, e=e: phi(q + s * e)) for e in np.eye(7)])
    np.testing.assert_allclose(K, slopes, atol=1e-10)
    h = 1e-3
    path = [phi(q + n * h * qd) for n in (-2, -1, 0, 1, 2)]
    bent = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) @ path / (12.0 * h * h)    # K_dot q_dot
    np.testing.assert_allclose(np.array(found.k)[rows], -bent, atol=1e-8)
    assert np.abs(bent).max() > 0.1

    q, qd = geared.expand_q(Y.tolist()), geared.expand_v(YD.tolist(), Y.tolist())
    found = gear_constraint(geared, q, qd)
    K, G = np.array(found.matrix(7)), np.array(geared.coupling.G(Y.tolist()))
    g = np.array(geared.coupling.g(Y.tolist(), YD.tolist()))
    np.testing.assert_allclose(found.phi, np.zeros(3), atol=1e-14)
    np.testing.assert_allclose(K @ G, np.zeros((3, 4)), atol=1e-14)
    np.testing.assert_allclose(K @ g, found.k, atol=1e-13)
    assert np.abs(K @ g).max() > 0.1


def test_linear_gears_in_implicit_form():
    """Chains of mimics lead to the joints that move freely; an offset is in phi and not in K."""
    laws = {'j7': LAWS['j7'], 'j6': rbd_ros.Mimic('j7', 3.0, 1.0)}
    model = rbd_ros.load_urdf(urdf(), gears=laws)
    names = model.joint_names
    q = dict(zip(names, [0.3, -0.2, 0.5, 0.7, -0.4, 0.9, 0.1]))
    found = gear_constraint(model, [q[name] for name in names], [0.0] * 7)
    expected = {'j7': (q['j7'] - 0.5 * (q['j2'] - q['j4']) - 0.1, {'j2': -0.5, 'j4': 0.5}),
                'j6': (q['j6'] - 1.5 * (q['j2'] - q['j4']) - 1.3, {'j2': -1.5, 'j4': 1.5})}
    assert found.k == [0.0, 0.0]
    for phi, row in zip(found.phi, found.K):
        follower = next(names[k] for k, value in row.items() if value == 1.0)
        value, others = expected.pop(follower)
        assert phi == pytest.approx(value, rel=1e-14)
        assert {names[k]: slope for k, slope in row.items() if names[k] != follower} == others
    assert not expected


@pytest.mark.seed('RBDA 3-07')
def test_phi_of_the_four_bar():
    """Differentiating the closure of the four-bar gives the reference accelerations."""
    bars = four_bar()

    def phi(q):
        a, b, c = q[0], q[0] + q[1], q[0] + q[1] + q[2]
        return [0.3 * cos(a) + 0.8 * cos(b) + 0.6 * cos(c) - 0.9,
                0.3 * sin(a) + 0.8 * sin(b) + 0.6 * sin(c)]
    loop = ImplicitConstraint(phi, 3)
    dense = DenseTree(bars, BAR_Q, BAR_QD)
    H, C = dense.mass_matrix(), dense.rnea(np.zeros(3), bars.gravity)
    found = constraints.implicit(H, C, [0.7, 0.0, 0.0], loop.K(BAR_Q), loop.k(BAR_Q, BAR_QD))
    np.testing.assert_allclose(loop.K(BAR_Q) @ BAR_QD, [0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(found.qdd, BAR_QDD, atol=2e-7)
    with pytest.raises(rbd_ros.ShapeError, match='qd'):
        loop.k(BAR_Q, [0.0])


def test_forces_across_geared_joints(geared):
    """What crosses a joint moves all that it carries, as Newton's and Euler's laws say."""
    heavy = with_rotors(geared)
    tau = np.array([0.7, -1.3, 0.4, 2.1])
    found = whole_system.accelerations(heavy, Y, YD, tau)
    robot = rbd_ros.Dynamics(geared, backend='reference')
    wrenches = robot.joint_wrenches(Y, YD, found.qdd)
    q = geared.expand_q(Y.tolist())
    tree = DenseTree(geared, q, geared.expand_v(YD.tolist(), Y.tolist()))
    for i in range(1, geared.nb + 1):
        in_base = tree.X[i].T @ wrenches[i - 1]
        np.testing.assert_allclose(found.f_J[i - 1], in_base, atol=1e-9)
