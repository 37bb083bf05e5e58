# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The joint-space inertia matrix, and its branch-sparse factors (RBDA 6)."""

import itertools

from hypothesis import given, strategies as st
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.crba import crba, crba_in_base
from rbd_ros.algorithms.kinematics import links
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import trace
from rbd_ros.dynamics.table import TABLE
from rbd_ros.joints import Cylindrical, Planar, Revolute, Spherical
from rbd_ros.model import connectivity, tree_cost
from rbd_ros.model.builder import JointData
from rbd_ros.samples import families
from tree_oracle import assert_near, DenseTree, examples, SEEDS, State, TREES

many = examples(40)


# --- composite bodies ----------------------------------------------------------------------------

@pytest.mark.seed('RBDA 6-09')
@pytest.mark.parametrize('seed', range(4))
def test_columns_in_base_coordinates(seed):
    """Both ways give the matrix whose quadratic form is the kinetic energy, on any tree."""
    model = families.random_tree(9, seed)
    s = State(model, seed)
    tree = links(model, s.q.tolist())
    found = np.array(crba_in_base(model, tree))
    dense = DenseTree(model, s.q)
    expected = np.zeros((model.nv, model.nv))
    for i in dense.bodies:
        J = np.zeros((6, model.nv))
        for j in model.support[i]:
            J[:, model.v_index[j]] = dense.S[j]
        expected += J.T @ dense.I[i] @ J
    assert_near(found, expected)
    assert_near(np.array(crba(model, tree)), found)
    assert (found == found.T).all()


def test_the_way_is_chosen_before_tracing():
    """A deep tree takes base coordinates and articulated bodies alone; an arm compares all."""
    chain, arm = families.regular_tree(60), families.regular_tree(7)
    for model, deep in ((chain, True), (arm, False)):
        assert tree_cost.is_deep(model.parent) == deep
        robot = rbd_ros.Dynamics(model, backend='reference')
        rules = TABLE['forward_dynamics'].of(model).rules
        assert set(rules) == ({'aba'} if deep else {'crba', 'aba'})
        entries = model.nb * (model.nb + 1) // 2
        count = robot.kernel('mass_matrix').count().total
        assert (count < 20 * entries) == deep
    # where both are traced, the formulas do not rule out the one with fewer operations
    for n in (12, 18, 24):
        model = families.regular_tree(n)
        robot = rbd_ros.Dynamics(model, backend='reference')
        counts = {name: robot.kernel('forward_dynamics', method=name).count().total
                  for name in ('crba', 'aba')}
        assert min(counts, key=counts.get) in TABLE['forward_dynamics'].of(model).rules


@pytest.mark.seed('RBDA 6-06', 'RBDA 6-08')
@pytest.mark.parametrize('seed', range(4))
def test_rows_of_a_joint_follow_those_of_the_joints_before(seed):
    """H is built of blocks n_i x n_j; block ij is S_i^T I^c S_j of the outer body."""
    model = families.random_tree(8, seed)
    s = State(model, seed)
    H = np.array(crba(model, links(model, s.q.tolist())))
    dense = DenseTree(model, s.q)
    start = 0
    for i in dense.bodies:
        rows = model.v_index[i]
        assert rows == slice(start, start + model.joint[i].nv)
        start = rows.stop
        composite = sum(dense.I[k] for k in model.subtree[i])
        for j in model.support[i]:
            block = dense.S[i].T @ composite @ dense.S[j]
            assert_near(H[rows, model.v_index[j]], block, scale=np.linalg.norm(composite))
    assert start == model.nv


@pytest.mark.seed('RBDA 6-12', 'SIXD P23', 'RBDA 3-06')
@many
@given(TREES, SEEDS)
def test_branches_make_exact_zeros(model, seed):
    """H is nonzero at ancestors and descendants only, n + 2 D1 places, and its factors too."""
    s = State(model, seed)
    H = np.array(crba(model, links(model, s.q.tolist())))
    pattern = np.array(connectivity.sparsity(model.expanded_parent))
    assert not H[~pattern].any()
    assert pattern.sum() == connectivity.factor_cost(model.expanded_parent).nonzeros
    L = np.array(ltl.ltl(H.tolist(), model.expanded_parent))
    assert not L[~pattern].any()
    for i in range(1, model.nb + 1):
        for j in range(1, model.nb + 1):
            related = i in model.subtree[j] or j in model.subtree[i]
            block = pattern[model.v_index[i], model.v_index[j]]
            assert block.all() if related else not block.any()


# --- factors -------------------------------------------------------------------------------------


@st.composite
def sparse_matrices(draw):
    """Return a parent array and a positive-definite matrix with its pattern, and a vector."""
    n = draw(st.integers(1, 14))
    rng = np.random.default_rng(draw(SEEDS))
    parent = tuple(int(rng.integers(-1, k)) for k in range(n))
    pattern = np.array(connectivity.sparsity(parent))
    L = np.tril(rng.normal(size=(n, n))) * pattern
    np.fill_diagonal(L, rng.uniform(1.0, 3.0, n))
    return parent, L, rng.normal(size=n)


@pytest.mark.seed('RBDA 6-13', 'RBDA 6-14', 'RBDA 6-16', 'RBDA 6-17')
@many
@given(sparse_matrices())
def test_factors_products_and_solutions(given_matrix):
    """L^T L = L^T D L = H without fill-in, and each product and solution is numpy's."""
    parent, L, x = given_matrix
    H = L.T @ L
    found = np.array(ltl.ltl(H.tolist(), parent))
    assert_near(found, L, scale=np.linalg.cond(L) * 1e-3)
    M, D = ltl.ltdl(H.tolist(), parent)
    assert (np.diag(M) == 1.0).all()
    M = np.array(M)
    assert_near(M.T @ np.diag(D) @ M, H, limit=1e-12)
    vector = x.tolist()
    assert_near(ltl.multiply(L, parent, vector), L @ x, limit=1e-13)
    assert_near(ltl.multiply_transposed(L, parent, vector), L.T @ x, limit=1e-13)
    assert_near(ltl.multiply_symmetric(H, parent, vector), H @ x, limit=1e-13)
    # back-substitution loses what the condition number takes
    uncertain = np.linalg.cond(L)
    for solve, matrix in ((ltl.solve_lower, L), (ltl.solve_transposed, L.T)):
        assert_near(matrix @ solve(L, parent, vector), x, scale=1e-3 * uncertain)
    y = np.array(ltl.solve(H.tolist(), parent, vector))
    assert_near(H @ y, x, scale=np.linalg.norm(H) * np.linalg.norm(y), limit=1e-12)
    inverse = np.array(ltl.inverse(H.tolist(), parent))
    assert_near(H @ inverse, np.eye(len(x)), scale=np.linalg.norm(H) * np.linalg.norm(inverse),
                limit=1e-12)


@pytest.mark.seed('RBDA 6-13', 'RBDA 6-14', 'RBDA 6-16', 'RBDA 6-17', 'RBDA 6-18')
@pytest.mark.parametrize('parent', [
    (-1, 0, 1, 2, 0, 3, 3, 4), (-1, 0, 0, 1, 1, 2, 2), tuple(range(-1, 6)), (-1,) * 5])
def test_operations_of_the_factors_are_those_of_the_table(parent):
    """Square roots, divisions, products and sums are counted exactly as in Table 6.6."""
    n, cost = len(parent), connectivity.factor_cost(parent)
    D1, D2 = cost.D1, cost.D2
    pattern = connectivity.sparsity(parent)

    def count(function):
        def sparse(H, x):
            M = [[H[max(i, j)][min(i, j)] if pattern[i][j] else 0.0 for j in range(n)]
                 for i in range(n)]
            return function(M, x)
        c = trace(sparse, {'H': (n, n), 'x': (n,)}).count()
        return c.mul, c.add, c.div, c.sqrt

    def unit(L):
        return [[1.0 if i == j else L[i][j] for j in range(n)] for i in range(n)]
    assert count(lambda H, x: ltl.ltl(H, parent)) == (D2, D2, D1, n)
    assert count(lambda H, x: dict(zip('LD', ltl.ltdl(H, parent)))) == (D2, D2, D1, 0)
    assert count(lambda L, x: ltl.multiply(L, parent, x)) == (n + D1, D1, 0, 0)
    assert count(lambda L, x: ltl.multiply_transposed(L, parent, x)) == (n + D1, D1, 0, 0)
    assert count(lambda H, x: ltl.multiply_symmetric(H, parent, x)) == (
        n + 2 * D1, 2 * D1, 0, 0)
    assert count(lambda L, x: ltl.solve_lower(L, parent, x)) == (D1, D1, n, 0)
    assert count(lambda L, x: ltl.solve_transposed(unit(L), parent, x)) == (D1, D1, 0, 0)
    # both together: what the factorisation costs, and n divisions with 2 D1 products and sums
    assert count(lambda H, x: ltl.solve(H, parent, x)) == (D2 + 2 * D1, D2 + 2 * D1, D1 + n, 0)


# --- systems side by side ------------------------------------------------------------------------


KINDS = {'cylindrical': Cylindrical(), 'planar': Planar(), 'spherical': Spherical(),
         'tilted cylindrical': Cylindrical((0.6, 0.0, 0.8))}


@pytest.mark.parametrize('name', KINDS)
def test_rotors_on_some_freedoms_of_a_joint(name):
    """Whichever freedoms of a joint have rotors, all algorithms add them to H's diagonal."""
    joint = KINDS[name]
    for which in itertools.product((0.0, 1.0), repeat=joint.nv):
        rotors = [0.3 * (k + 1) * used for k, used in enumerate(which)]
        rng = np.random.default_rng(5)
        builder = rbd_ros.ModelBuilder('geared')
        for i, (kind, data) in enumerate((
                (Revolute(), JointData(rotor_inertia=0.07)),
                (joint, JointData(rotor_inertia=tuple(rotors))), (Revolute(), None))):
            builder.add_body(f'b{i}', f'b{i - 1}' if i else 'base', kind,
                             families.random_transform(rng), families.random_inertia(rng),
                             joint_name=f'j{i}', data=data)
        model = builder.build()
        assert model.rotor_inertia == pytest.approx([0.07, *rotors, 0.0])
        robot = rbd_ros.Dynamics(model, backend='reference')
        s = State(model, 4)
        dense = DenseTree(model, s.q, s.qd)
        H = dense.mass_matrix() + np.diag(model.rotor_inertia)
        C = dense.rnea(np.zeros(model.nv), model.gravity)
        qdd = np.linalg.solve(H, s.tau - C)
        assert_near(robot.mass_matrix(s.q), H)
        for method in ('aba', 'crba'):
            assert_near(robot.forward_dynamics(s.q, s.qd, s.tau, method=method), qdd)
        assert_near(robot.inverse_dynamics(s.q, s.qd, qdd), s.tau)
        assert_near(robot.inverse_mass_matrix(s.q), np.linalg.inv(H))
        assert robot.kinetic_energy(s.q, s.qd) == pytest.approx(0.5 * s.qd @ H @ s.qd)
