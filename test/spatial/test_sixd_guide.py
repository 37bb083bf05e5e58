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

"""Worked examples of the beginner's guide to 6-D vectors, part 2, with their exact numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.aba import aba
from rbd_ros.algorithms.kinematics import Conditions, links, placements
from rbd_ros.errors import UnknownName
from rbd_ros.joints import Helical, Prismatic, Revolute
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.spatial import Motion, RigidInertia, rotx, rotz, Sym3, Transform, Vec3, xlt
from spatial_oracle import array, assert_close, crf6, crm6, derivative

PARENT = (0, 1, 2, 1, 2, 4)
PITCH = (0.0, math.inf, 0.1, 0.0, 0.05, math.inf)
Q = np.array([.1, -.2, .3, -.4, .5, -.6])
QD = np.array([.6, -.5, .4, -.3, .2, -.1])
QDD = np.array([1, -1, .5, -.5, .25, -.25])
TAU = np.array([18.000247334063594, 48.380699107424626, 2.524147645257219, 8.045816593781156,
                2.105013224192542, 27.179392474950944])
BIAS = np.array([9.628960946879749, 55.65449251689961, 2.511046503998159, 6.918726531655302,
                 2.258419031905988, 28.62968737156358])
TREE_PLACES = [rotx(.1 * i + .2) @ rotz(-.3 * i) @ xlt(.1 * i + .1, -.2, .05 * i)
               for i in range(6)]
TREE_INERTIAS = [RigidInertia.from_com(1 + .5 * i, Vec3(.1, -.05 * i, .2), Sym3.diagonal(
    .1 + .02 * i, .15, .12 + .01 * i)) for i in range(6)]


def joint_of(pitch):
    """Return the joint of a pitch: zero revolute, infinite prismatic, else helical."""
    if pitch == 0.0:
        return Revolute()
    return Prismatic() if math.isinf(pitch) else Helical(pitch=pitch)


def build(order=range(6)):
    """Return the guide's mixed tree, its bodies added in some order that respects the parents."""
    builder = ModelBuilder('mixed tree')
    for i in order:
        parent = 'base' if PARENT[i] == 0 else f'body {PARENT[i]}'
        builder.add_body(f'body {i + 1}', parent, joint_of(PITCH[i]), TREE_PLACES[i],
                         TREE_INERTIAS[i])
    return builder.build()


class Numbered:
    """A model with the guide's numbers: vectors go in and come out in the guide's order."""

    def __init__(self, model):
        self.model = model
        self.body = [0] + [model.body_names.index(f'body {i}') for i in range(1, 7)]
        self.index = [i - 1 for i in self.body[1:]]

    def to(self, x):
        """Return a vector of the guide in the model's order."""
        y = np.empty(np.shape(x))
        y[self.index] = x
        return y

    def back(self, y):
        """Return a vector of the model in the guide's order."""
        return np.asarray(y)[self.index]

    def guide(self, bodies):
        """Return a set of bodies by the guide's numbers."""
        return {self.body.index(i) for i in bodies} - {0}


@pytest.fixture(scope='module')
def tree():
    """Return the mixed tree, under the guide's numbers."""
    return Numbered(build())


@pytest.mark.seed('SIXD P09', 'SIXD P21')
def test_mixed_tree_inverse_dynamics(tree):
    """Inverse dynamics and bias force of the mixed tree are the exact numbers."""
    q, qd, qdd = tree.to(Q), tree.to(QD), tree.to(QDD)
    assert_close(tree.back(rbd_ros.inverse_dynamics(tree.model, q, qd, qdd)), TAU, 1e-13)
    assert_close(tree.back(rbd_ros.bias(tree.model, q, qd)), BIAS, 1e-13)
    assert_close(tree.back(rbd_ros.inverse_dynamics(tree.model, q, qd, np.zeros(6))), BIAS, 1e-13)


@pytest.mark.seed('SIXD P22', 'SIXD P23')
def test_mixed_tree_inertia_matrix(tree):
    """Its inertia matrix has the exact entries, and zeros between different branches."""
    H = rbd_ros.mass_matrix(tree.model, tree.to(Q))[np.ix_(tree.index, tree.index)]
    assert_close(np.diag(H), [7.998210471031766, 6.5, 0.2, 2.284694250617715, 0.3175, 3.5], 1e-13)
    assert_close([H[0, 1], H[0, 3], H[3, 5]],
                 [-1.023329880943782, 2.076688122832178, -0.770996258410142], 1e-13)
    for i, j in ((2, 4), (3, 4), (3, 5), (4, 5), (2, 6), (3, 6), (5, 6)):
        assert H[i - 1, j - 1] == H[j - 1, i - 1] == 0.0
    assert_close(H @ QDD + BIAS, TAU, 1e-13)


@pytest.mark.seed('SIXD P24', 'SIXD P26')
def test_mixed_tree_forward_dynamics(tree):
    """
    The articulated-body algorithm returns the accelerations.

    It starts from a_0 = -a_g, so gravity needs no force of its own: a'_i = X a + c. With gravity
    as a force on every body and a_0 = 0 the result is the same.
    """
    model = tree.model
    q, qd, tau = tree.to(Q), tree.to(QD), tree.to(TAU)
    assert_close(tree.back(rbd_ros.forward_dynamics(model, q, qd, tau)), QDD, 1e-13)
    state = q.tolist(), qd.tolist(), tau.tolist()
    gravity = Vec3(0.0, 0.0, -9.81)
    assert_close(tree.back(aba(model, *state, Conditions(gravity)).qdd), QDD, 1e-13)
    X_0 = placements(model, links(model, state[0]))
    weights = [None] + [
        X_0[i].inv_apply(model.inertia[i]) @ Motion(Vec3.zero(), gravity) for i in range(1, 7)]
    found = aba(model, *state, Conditions(Vec3.zero(), f_ext=weights)).qdd
    assert_close(tree.back(found), QDD, 1e-12)


@pytest.mark.seed('SIXD P25')
def test_order_of_the_children_does_not_matter(tree):
    """Bodies added in another order get other numbers and the same dynamics, name by name."""
    other = Numbered(build((0, 3, 5, 1, 4, 2)))
    assert other.index != tree.index
    found = rbd_ros.forward_dynamics(other.model, other.to(Q), other.to(QD), other.to(TAU))
    assert_close(other.back(found), QDD, 1e-12)


@pytest.mark.seed('SIXD P01')
def test_model_holds_what_the_guide_lists(tree):
    """N, parents before children, Pluecker placements, pitches and symmetric inertias."""
    model = tree.model
    assert model.nb == 6
    assert all(0 <= model.parent[i] < i for i in range(1, 7))
    for k in range(1, 7):
        i = tree.body[k]
        assert tree.body.index(model.parent[i]) == PARENT[k - 1]
        E = array(model.X_T[i].E)
        assert_close(E @ E.T, np.eye(3))
        assert np.linalg.det(E) == pytest.approx(1.0)
        assert_close(array(model.X_T[i]), array(TREE_PLACES[k - 1]))
        assert model.joint[i] == joint_of(PITCH[k - 1])
        inertia = array(model.inertia[i])
        assert_close(inertia, inertia.T, 0.0)
        assert_close(inertia, array(TREE_INERTIAS[k - 1]))
        assert np.linalg.eigvalsh(inertia).min() > 0.0
    with pytest.raises(UnknownName, match='no body "body 9"'):
        ModelBuilder('x').add_body('y', 'body 9', Revolute())


@pytest.mark.seed('SIXD P02')
def test_sets_of_the_tree(tree):
    """The sets of the guide's Figure 2: children, supports and subtrees."""
    model, body = tree.model, tree.body
    assert [tree.body.index(model.parent[body[k]]) for k in (1, 2, 3)] == [0, 1, 2]
    assert tree.guide(model.children[body[2]]) == {3, 5}
    assert tree.guide(model.support[body[3]]) == {1, 2, 3}
    assert tree.guide(model.subtree[body[4]]) == {4, 6}
    assert tree.guide(model.children[body[5]]) == set()


def chain_of_matrices(q):
    """Return ^iX_0 of the guide's bodies as 6x6 matrices, from the description alone."""
    X = [np.eye(6)]
    for i in range(6):
        X_J = array(joint_of(PITCH[i]).transform([q[i]]))
        X.append(X_J @ array(TREE_PLACES[i]) @ X[PARENT[i]])
    return X


def axis_of(i):
    """Return s_i of the guide's body i."""
    return array(joint_of(PITCH[i - 1]).subspace([0.0])[0])


@pytest.mark.seed('SIXD P10', 'SIXD P13', 'SIXD P14')
def test_body_positions_and_jacobians(tree):
    """^iX_0 is the product along the path; columns of J_b are 0X_i s_i, zero off the path."""
    X = chain_of_matrices(Q)
    found = placements(tree.model, links(tree.model, tree.to(Q).tolist()))
    for i in range(1, 7):
        assert_close(array(found[tree.body[i]]), X[i])
    b, path = 6, (1, 4, 6)
    in_base = np.zeros((6, 6))
    for i in path:
        in_base[:, i - 1] = np.linalg.inv(X[i]) @ axis_of(i)
    J = rbd_ros.jacobian(tree.model, tree.to(Q), 'body 6')[:, tree.index]
    assert_close(J, X[b] @ in_base)                      # bJ_b = bX_0 0J_b
    # its velocity is that of the moving frame
    rate = derivative(lambda t: chain_of_matrices(Q + t * QD)[b])
    assert_close(rate, -crm6(J @ QD) @ X[b], 1e-9)


@pytest.mark.seed('SIXD P16')
def test_external_force_maps_to_joint_forces(tree):
    """A force f_e on body b adds J_b^T f_e to the joint side: tau + J^T f_e = H qdd + C."""
    f = np.array([0.3, -0.5, 0.2, 1.0, 2.0, -1.5])       # in base coordinates
    J = rbd_ros.jacobian(tree.model, tree.to(Q), 'body 5')[:, tree.index]
    in_body = np.linalg.inv(chain_of_matrices(Q)[5]).T @ f
    f_ext = np.zeros((6, 6))
    f_ext[tree.index[4]] = f
    loaded = rbd_ros.inverse_dynamics(tree.model, tree.to(Q), tree.to(QD), tree.to(QDD), f_ext)
    assert_close(tree.back(loaded), TAU - J.T @ in_body, 1e-12)


def test_momentum_of_the_whole_tree():
    """Newton's law for the tree: the first joint carries the rate of momentum less the weight."""
    X = chain_of_matrices(Q)
    v, a = [np.zeros(6)], [np.zeros(6)]
    total = np.zeros(6)
    for i in range(1, 7):
        p = PARENT[i - 1]
        up, s = X[i] @ np.linalg.inv(X[p]), axis_of(i)
        v.append(up @ v[p] + s * QD[i - 1])
        a.append(up @ a[p] + s * QDD[i - 1] + crm6(v[i]) @ s * QD[i - 1])
        inertia = array(TREE_INERTIAS[i - 1])
        f = inertia @ (a[i] - X[i] @ [0, 0, 0, 0, 0, -9.81]) + crf6(v[i]) @ inertia @ v[i]
        total += X[i].T @ f
    assert np.linalg.inv(X[1]) @ axis_of(1) @ total == pytest.approx(TAU[0], rel=1e-12)


@pytest.mark.seed('SIXD P09')
def test_planar_arm_of_the_guide():
    """Two point masses on a 2R arm: the exact matrices of the other textbook come out."""
    m1, m2, L1, L2, g = 2.0, 1.0, 1.0, 0.5, 9.81
    zero = Sym3.zero()
    builder = ModelBuilder('2R')
    builder.add_body('one', 'base', Revolute(), rotx(math.pi / 2),
                     RigidInertia.from_com(m1, Vec3(L1, 0.0, 0.0), zero))
    builder.add_body('two', 'one', Revolute(), Transform.translation(Vec3(L1, 0.0, 0.0)),
                     RigidInertia.from_com(m2, Vec3(L2, 0.0, 0.0), zero))
    arm = builder.build()
    q, qd, qdd = np.array([0.3, 0.7]), np.array([0.5, -1.2]), np.array([1.5, -0.8])
    c2, s2 = math.cos(q[1]), math.sin(q[1])
    M12 = m2 * (L1 * L2 * c2 + L2**2)
    M = np.array([[m1 * L1**2 + m2 * (L1**2 + 2 * L1 * L2 * c2 + L2**2), M12],
                  [M12, m2 * L2**2]])
    h = m2 * L1 * L2 * s2
    c = np.array([-h * (2 * qd[0] * qd[1] + qd[1]**2), h * qd[0]**2])
    gravity = g * np.array([
        (m1 + m2) * L1 * math.cos(q[0]) + m2 * L2 * math.cos(q.sum()),
        m2 * L2 * math.cos(q.sum())])
    assert_close(rbd_ros.mass_matrix(arm, q), M)
    assert_close(rbd_ros.gravity(arm, q), gravity)
    assert_close(rbd_ros.inverse_dynamics(arm, q, qd, qdd), M @ qdd + c + gravity)
