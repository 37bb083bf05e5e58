# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Constraints in all their forms, and the system of all bodies and joints (RBDA 3.2, 3.7, 8)."""

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.loops import constraints, whole_system
from rbd_ros.errors import SingularError
from rbd_ros.model import connectivity
from rbd_ros.samples import families
from tree_oracle import assert_near, DenseTree, State


class Constrained:
    """Random H, C and tau, and a linear constraint in both forms: K qdd = k, qdd = G ydd + g."""

    def __init__(self, seed, n=6, free=4):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(n, n))
        self.H = A @ A.T + np.eye(n)
        self.C, self.tau, self.g = rng.normal(size=(3, n))
        self.G = rng.normal(size=(n, free))
        self.K = np.linalg.svd(self.G.T)[2][free:]                # K G = 0
        self.K = rng.normal(size=(n - free, n - free)) @ self.K
        self.k = self.K @ self.g                                  # 3.12
        # Gauss's principle: of all permitted accelerations the nearest to the free one
        root = np.linalg.cholesky(self.H).T
        wanted = root @ (np.linalg.solve(self.H, self.tau - self.C) - self.g)
        self.ydd = np.linalg.lstsq(root @ self.G, wanted, rcond=None)[0]
        self.qdd = self.G @ self.ydd + self.g
        self.tau_c = self.H @ self.qdd + self.C - self.tau


@pytest.mark.seed('RBDA 3-11')
@pytest.mark.parametrize('seed', range(4))
def test_implicit_constraint(seed):
    """The motion is that of Gauss's principle, and K^T lambda the force that it takes."""
    c = Constrained(seed)
    found = constraints.implicit(c.H, c.C, c.tau, c.K, c.k)
    assert_near(found.qdd, c.qdd)
    assert_near(c.K.T @ found.multipliers, c.tau_c)
    assert found.rank == 2
    # rows of any size
    small = constraints.implicit(c.H, c.C, c.tau, 1e-6 * c.K, 1e-6 * c.k)
    assert_near(small.qdd, c.qdd)
    assert_near(1e-6 * c.K.T @ small.multipliers, c.tau_c)


@pytest.mark.seed('RBDA 3-12')
@pytest.mark.parametrize('seed', range(4))
def test_more_constraints_than_independent_ones(seed):
    """Repeated rows leave qdd and the constraint force as they are, and lambda indeterminate."""
    c = Constrained(seed)
    mix = np.random.default_rng(seed).normal(size=(5, 2))
    K, k = mix @ c.K, mix @ c.k
    found = constraints.implicit(c.H, c.C, c.tau, K, k)
    assert_near(found.qdd, c.qdd, limit=1e-9)
    assert_near(K.T @ found.multipliers, c.tau_c, limit=1e-9)
    assert (found.rank, len(K)) == (2, 5)
    # of all lambda the shortest
    assert_near(found.multipliers, np.linalg.pinv(K.T, rcond=1e-10) @ c.tau_c, limit=1e-8)
    # lambda is one of many: what changes nothing can be added
    null = np.linalg.svd(K.T)[2][2:]
    assert null.shape == (3, 5)
    assert_near(K.T @ (found.multipliers + null.sum(axis=0)), c.tau_c, limit=1e-9)
    assert constraints.rank_of(np.zeros((2, 3))) == 0


@pytest.mark.seed('RBDA 3-13')
@pytest.mark.parametrize('seed', range(4))
def test_explicit_constraint_and_its_dual(seed):
    """The system of three blocks and the dual one of two give qdd, ydd and tau_c."""
    c = Constrained(seed)
    for found in (constraints.explicit(c.H, c.C, c.tau, c.G, c.g),
                  constraints.dual(np.linalg.inv(c.H), c.C, c.tau, c.G, c.g)):
        assert_near(found.qdd, c.qdd)
        assert_near(found.ydd, c.ydd)
        assert_near(found.tau_c, c.tau_c)
        assert_near(c.G.T @ found.tau_c, np.zeros(4), scale=np.linalg.norm(c.tau_c))      # 3.16
    with pytest.raises(SingularError, match='H or G must have independent columns'):
        constraints.explicit(np.eye(2), [0, 0], [0, 0], np.zeros((2, 1)), [0, 0])


# --- all bodies, all joints ----------------------------------------------------------------------

@pytest.mark.seed('RBDA 3-30', 'RBDA 6-19', 'RBDA 3-25')
@pytest.mark.parametrize('seed', range(8))
def test_one_large_system_of_all_bodies(seed):
    """Bodies first, then all constraints: accelerations and joint forces of a dense oracle."""
    model = families.random_tree(6, seed)
    s = State(model, seed)
    dense = DenseTree(model, s.q, s.qd)
    found = whole_system.accelerations(model, s.q, s.qd, s.tau, s.f_ext)
    H = dense.mass_matrix()
    C = dense.rnea(np.zeros(model.nv), model.gravity, s.f_ext)
    uncertain = max(1.0, 1e-5 * np.linalg.cond(H))
    qdd = np.linalg.solve(H, s.tau - C)
    assert_near(found.qdd, qdd, scale=np.linalg.norm(qdd) * uncertain)
    a = dense.accelerations(qdd)
    assert_near(found.a, a[1:], scale=np.linalg.norm(a[1:]) * uncertain)
    base = np.array([0.0, 0.0, 0.0, *(-np.array(model.gravity))])
    f_J = dense.joint_forces(dense.net_forces(dense.accelerations(qdd, base), s.f_ext))
    assert_near(found.f_J, f_J[1:], scale=np.linalg.norm(f_J[1:]) * uncertain)
    assert found.rank == found.constraints == sum(6 - model.joint[i].nv for i in dense.bodies)
    weightless = whole_system.accelerations(model, s.q, s.qd, s.tau, gravity=(0.0, 0.0, 0.0))
    C = dense.rnea(np.zeros(model.nv), (0.0, 0.0, 0.0))
    assert_near(weightless.qdd, np.linalg.solve(H, s.tau - C),
                scale=np.linalg.norm(weightless.qdd) * uncertain)


@pytest.mark.seed('RBDA 3-31')
def test_incidence_of_bodies_and_joints():
    """P has +1 at successors, -1 at predecessors, nothing for the base; v_J = P^T v."""
    # a four-bar: joints 0-1, 1-2, 2-3 and the loop from the base to 3
    P = np.array(connectivity.incidence(3, [(0, 1), (1, 2), (2, 3), (0, 3)]))
    assert P.tolist() == [[1, -1, 0, 0], [0, 1, -1, 0], [0, 0, 1, 1]]
    # a joint may be turned round, and its successor be the base
    assert connectivity.incidence(2, [(1, 0), (2, 1)]) == [[-1, 1], [0, -1]]
    model = families.random_tree(7, 4)
    s = State(model, 2)
    dense = DenseTree(model, s.q, s.qd)
    P = np.array(connectivity.incidence(7, [(model.parent[i], i) for i in dense.bodies]))
    assert_near(P.T @ np.array(dense.v[1:]), dense.v_J[1:], limit=1e-12)


def test_what_the_assembled_system_refuses():
    """A vector of the wrong size is named."""
    model = families.random_tree(2, 1)
    s = State(model, 1)
    with pytest.raises(rbd_ros.ShapeError, match='tau'):
        whole_system.accelerations(model, s.q, s.qd, [0.0])
