# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Motion of trees over the model's index sets (RBDA 4.1.4 and 4.2), against plain matrices."""

import numpy as np
import pytest

import rbd_ros
from rbd_ros.algorithms import kinematics
from rbd_ros.joints import Revolute
from rbd_ros.model import connectivity, positions
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.samples import families
from rbd_ros.spatial import Motion
from scipy.linalg import expm
from spatial_oracle import array, crm6, derivative, skew

SEEDS = range(6)


class Numbers:
    """A random tree in motion: the library's results next to 6x6 matrices multiplied here."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.model = model = families.random_tree(12, seed)
        self.q = positions.random_position(model, rng)
        self.qd = rng.normal(size=model.nv).tolist()
        self.tree = kinematics.links(model, self.q)
        self.v, self.v_J = kinematics.velocities(model, self.tree, self.q, self.qd)
        self.X_0 = [array(X) for X in kinematics.placements(model, self.tree)]

    def joint_motion(self, i):
        """Return S_i qd_i in body coordinates, as six numbers."""
        model = self.model
        S = np.array([s.to_list() for s in model.joint[i].subspace(self.q[model.q_index[i]])])
        return np.array(self.qd[model.v_index[i]]) @ S


@pytest.fixture(params=SEEDS)
def moving(request):
    """Return a random tree of all joint types in motion."""
    return Numbers(request.param)


@pytest.mark.seed('RBDA 4-14', 'RBDA 4-15', 'SIXD P10', 'SIXD P13')
def test_body_positions_follow_the_parents(moving):
    """i_X_0 is the product of X_J X_T along the support of body i."""
    model = moving.model
    for i in range(1, model.nb + 1):
        X = np.eye(6)
        for j in model.support[i]:
            X_J = model.joint[j].transform(moving.q[model.q_index[j]])
            X = array(X_J) @ array(model.X_T[j]) @ X
        np.testing.assert_allclose(moving.X_0[i], X, atol=1e-12)


@pytest.mark.seed('RBDA 4-12')
def test_body_velocity_is_the_rate_of_its_position(moving):
    """d(i_X_0)/dt = -(v_i x) i_X_0 when q moves by qd: velocities belong to positions."""
    model, h = moving.model, 1e-5
    ends = []
    for sign in (1.0, -1.0):
        q = positions.integrate(model, moving.q, [sign * h * x for x in moving.qd])
        ends.append(kinematics.placements(model, kinematics.links(model, q)))
    for i in range(1, model.nb + 1):
        rate = (array(ends[0][i]) - array(ends[1][i])) / (2.0 * h)
        w, u = np.split(np.array(moving.v[i].to_list()), 2)
        cross = np.block([[skew(w), np.zeros((3, 3))], [skew(u), skew(w)]])
        expected = -cross @ moving.X_0[i]
        # central difference: its error is h^2 / 6 of a third derivative of order |v|^3
        scale = 1.0 + np.linalg.norm(moving.v[i].to_list())**3 * np.linalg.norm(moving.X_0[i])
        np.testing.assert_allclose(rate, expected, atol=3e-10 * scale)


@pytest.mark.seed('RBDA 4-13')
def test_body_jacobian_has_the_columns_of_its_support(moving):
    """J_i qd = v_i, and the columns of joints that do not support body i are exactly zero."""
    model = moving.model
    for i in range(1, model.nb + 1):
        frame = model.frame(model.body_names[i])
        J = np.array([c.to_list() for c in kinematics.jacobian(model, moving.tree, frame)]).T
        np.testing.assert_allclose(J @ moving.qd, moving.v[i].to_list(), atol=1e-11)
        for j in range(1, model.nb + 1):
            if j not in model.support[i]:
                assert not J[:, model.v_index[j]].any()


class Screws:
    """A chain of revolute and helical joints as a product of exponentials in base coordinates."""

    def __init__(self, seed, n=5):
        self.rng = rng = np.random.default_rng(seed)
        self.model = families.random_tree(n, seed, joints=('revolute', 'helical', 'prismatic'),
                                          branching=0.0)
        self.q, self.qd, self.qdd = rng.normal(size=(3, n))
        # the axes at q = 0, by the transforms of the model alone
        X, self.axes = np.eye(6), []
        for i in range(1, n + 1):
            X = array(self.model.X_T[i]) @ X
            S, = self.model.joint[i].subspace([0.0])
            self.axes.append(np.linalg.inv(X) @ S.to_list())

    def now(self, t):
        """Return the axes at time t, and qd, when qdd is constant."""
        q, qd = self.q + self.qd * t + self.qdd * t * t / 2.0, self.qd + self.qdd * t
        X, axes = np.eye(6), []
        for s, angle in zip(self.axes, q, strict=True):
            axes.append(X @ s)
            X = X @ expm(crm6(s) * angle)
        return axes, qd

    def velocity(self, i, t):
        """Return the velocity of body i in base coordinates: the sum of s_j qd_j (2.17)."""
        axes, qd = self.now(t)
        return sum(s * rate for s, rate in zip(axes[:i], qd))


@pytest.mark.seed('RBDA 2-15', 'RBDA 4-16')
@pytest.mark.parametrize('seed', SEEDS)
def test_velocity_of_a_chain_of_screws(seed):
    """Recursion, Jacobian and velocity of a frame give the sum of the screws times their rates."""
    chain = Screws(seed)
    model, q, qd = chain.model, chain.q.tolist(), chain.qd.tolist()
    tree = kinematics.links(model, q)
    v, v_J = kinematics.velocities(model, tree, q, qd)
    X_0 = kinematics.placements(model, tree)
    v_0 = kinematics.base_velocities(model, X_0, v_J)
    for i in range(1, model.nb + 1):
        expected = chain.velocity(i, 0.0)
        np.testing.assert_allclose(X_0[i].inv_apply(v[i]).to_list(), expected, atol=1e-11)
        np.testing.assert_allclose(v_0[i].to_list(), expected, atol=1e-11)
        columns = kinematics.jacobian(model, tree, model.frame(model.body_names[i]))
        J = np.array([X_0[i].inv_apply(column).to_list() for column in columns]).T
        np.testing.assert_allclose(J[:, :i], np.array(chain.now(0.0)[0][:i]).T, atol=1e-11)


@pytest.mark.seed('RBDA 2-31', 'SIXD C11', 'SIXD P17', 'RBDA 5-02')
@pytest.mark.parametrize('seed', SEEDS)
def test_acceleration_of_a_chain_of_screws(seed):
    """Across each joint s qdd + v x s qd is added: the derivative of the sum of the screws."""
    chain = Screws(seed)
    model, q, qd = chain.model, chain.q.tolist(), chain.qd.tolist()
    tree = kinematics.links(model, q)
    v, v_J = kinematics.velocities(model, tree, q, qd)
    c = kinematics.velocity_products(model, q, qd, v, v_J)
    a = kinematics.accelerations(model, tree, c, chain.qdd.tolist(), Motion.zero())
    X_0 = kinematics.placements(model, tree)
    axes, _ = chain.now(0.0)
    for i in range(1, model.nb + 1):
        found = np.array(X_0[i].inv_apply(a[i]).to_list())
        expected = derivative(lambda t, i=i: chain.velocity(i, t))
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, atol=1e-9 * scale)
        # all at once (2.56): s_k x s_j qd_j qd_k for every pair of joints before
        pairs = sum(crm6(axes[k]) @ axes[j] * qd[j] * qd[k]
                    for j in range(i) for k in range(j))
        direct = np.array(axes[:i]).T @ chain.qdd[:i] + pairs
        np.testing.assert_allclose(found, direct, atol=1e-11 * scale)


@pytest.mark.seed('RBDA 6-12')
def test_numbering_only_permutes():
    """The same robot with its branches in another order has the same H, permuted."""
    parts = {'left': 'torso', 'left_hand': 'left', 'right': 'torso', 'head': 'torso'}
    models = []
    for order in (['left', 'left_hand', 'right', 'head'], ['head', 'right', 'left', 'left_hand']):
        rngs = {name: np.random.default_rng(k) for k, name in enumerate(parts)}
        builder = ModelBuilder().add_body('torso', 'base', Revolute((0.0, 0.0, 1.0)))
        for name in order:
            builder.add_body(name, parts[name], Revolute((0.6, 0.0, 0.8)),
                             families.random_transform(rngs[name]),
                             families.random_inertia(rngs[name]))
        models.append(builder.build())
    one, two = models
    assert one.joint_names != two.joint_names
    order = two.velocity_order(one.joint_names)
    q = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    H = rbd_ros.mass_matrix(two, q)
    np.testing.assert_allclose(rbd_ros.mass_matrix(one, q[order]), H[np.ix_(order, order)],
                               atol=1e-13)
    assert (connectivity.factor_cost(one.expanded_parent)
            == connectivity.factor_cost(two.expanded_parent))
