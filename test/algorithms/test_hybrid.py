# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Hybrid dynamics: prescribed joints among free ones (RBDA 9.1, 9.2)."""

from hypothesis import given
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba, hybrid, rnea
from rbd_ros.algorithms.crba import crba
from rbd_ros.algorithms.kinematics import Conditions, links
from rbd_ros.compiler import trace
from rbd_ros.errors import ModelError, NonFiniteError, ShapeError, SingularError, UnknownName
from rbd_ros.joints import Revolute
from rbd_ros.model.connectivity import expanded_parent
from rbd_ros.samples import families
from rbd_ros.spatial import Force, Vec3
from tree_oracle import assert_near, DenseTree, examples, SEEDS, State, TREES, with_rotors

few = examples(25)
WAYS = (hybrid.by_inertia_matrix, hybrid.by_articulated_bodies)


def chosen(model, rng, share=0.5):
    """Return a random set of forward-dynamics joints, at times all or none, and flags."""
    share = rng.choice([0.0, share, share, 1.0])
    fd = frozenset(i for i in range(1, model.nb + 1) if rng.random() < share)
    free = np.zeros(model.tree_nv, dtype=bool)
    for i in fd:
        free[model.v_index[i]] = True
    return fd, free


def poisoned(x, unknown):
    """Return a list with NaN in place of what is not known."""
    return np.where(unknown, np.nan, x).tolist()


def schur(H, C, qdd, tau, free):
    """Return qdd and tau of all joints by splitting the equation of motion (9.1, 9.2)."""
    one, two = np.flatnonzero(free), np.flatnonzero(~free)
    a, f = qdd.copy(), tau.copy()
    rest = tau[one] - C[one] - H[np.ix_(one, two)] @ qdd[two]
    a[one] = np.linalg.solve(H[np.ix_(one, one)], rest) if one.size else rest
    f[two] = (H @ a + C)[two]
    return a, f


@pytest.mark.seed('RBDA 9-01', 'RBDA 9-02', 'RBDA 9-03', 'RBDA 9-07')
@few
@given(TREES, SEEDS)
def test_both_ways_solve_the_split_equation(model, seed):
    """All joint types, rotors, loads: both ways agree with dense matrices; unknowns are unread."""
    model = with_rotors(model, seed)
    s, rotor = State(model, seed), list(model.rotor_inertia)
    fd, free = chosen(model, s.rng)
    forces = [None, *(Force.from_list(row) for row in s.f_ext.tolist())]
    conditions = Conditions(Vec3(*model.gravity), forces)
    dense = DenseTree(model, s.q, s.qd)
    H = dense.mass_matrix() + np.diag(rotor)
    C = dense.rnea(np.zeros(model.nv), model.gravity, s.f_ext)
    qdd, tau = schur(H, C, s.qdd, s.tau, free)
    for way in WAYS:
        found = way(model, s.q.tolist(), s.qd.tolist(), poisoned(s.qdd, free),
                    poisoned(s.tau, ~free), fd, conditions, rotor)
        assert np.isfinite(found.qdd).all() and np.isfinite(found.tau).all()
        np.testing.assert_array_equal(np.array(found.qdd)[~free], s.qdd[~free])
        np.testing.assert_array_equal(np.array(found.tau)[free], s.tau[free])
        # compare forces: accelerations of light joints magnify the rounding of either method
        size = np.linalg.norm(H) * np.linalg.norm(qdd) + np.linalg.norm(C)
        assert_near(H @ np.array(found.qdd) + C, tau, scale=size, limit=1e-11)
        assert_near(found.tau, tau, scale=size * max(1.0, 1e-5 * np.linalg.cond(H)), limit=1e-11)


@pytest.mark.seed('RBDA 9-04', 'RBDA 9-05', 'RBDA 9-06')
@few
@given(TREES, SEEDS)
def test_reduced_inertia_matrix_and_its_sparsity(model, seed):
    """H11 is the part of H of the free joints; lambda-prime shows all its entries."""
    s = State(model, seed)
    fd, free = chosen(model, s.rng, 0.6)
    tree = links(model, s.q.tolist())
    found = np.array(hybrid.inertia_matrix(model, tree, fd)).reshape(free.sum(), free.sum())
    H = np.array(crba(model, tree)).reshape(model.nv, model.nv)
    np.testing.assert_array_equal(found, H[np.ix_(free, free)])
    flags = hybrid.supported(model, fd)
    assert {i for i, flag in enumerate(flags) if flag} == {
        j for i in fd for j in model.subtree[i]}
    shape = hybrid.reduced_tree(model, fd)
    parent = expanded_parent(shape.parent, [0, *(model.joint[i].nv for i in sorted(fd))])
    for k in range(len(parent)):
        above, j = {k}, k
        while parent[j] >= 0:
            j = parent[j]
            above.add(j)
        assert set(np.flatnonzero(found[k, :k + 1]).tolist()) <= above


@pytest.mark.seed('RBDA 9-04', 'RBDA 9-06')
def test_modified_parent_array_of_a_binary_tree():
    """Seven bodies whose first two joints are prescribed: nodes 1, 2 merge with the base."""
    builder = rbd_ros.ModelBuilder('binary')
    rng = np.random.default_rng(1)
    for i, p in enumerate((0, 1, 1, 2, 2, 3, 3), 1):
        builder.add_body(f'b{i}', f'b{p}' if p else 'base', Revolute((0.0, 0.0, 1.0)),
                         families.random_transform(rng), families.random_inertia(rng))
    model = builder.build()
    body = {name: i for i, name in enumerate(model.body_names)}
    fd = frozenset(body[f'b{k}'] for k in (3, 4, 5, 6, 7))
    shape = hybrid.reduced_tree(model, fd)
    node = {name: shape.node[i] for name, i in body.items()}
    assert node['base'] == node['b1'] == node['b2'] == 0
    assert len({node[f'b{k}'] for k in (3, 4, 5, 6, 7)}) == 5
    parents = {f'b{k}': shape.parent[node[f'b{k}']] for k in (3, 4, 5, 6, 7)}
    assert parents == {'b3': 0, 'b4': 0, 'b5': 0, 'b6': node['b3'], 'b7': node['b3']}
    assert hybrid.supported(model, frozenset([body['b2']])) == [
        name in ('b2', 'b4', 'b5') for name in model.body_names]


@pytest.mark.seed('RBDA 9-01')
def test_limits_cost_what_the_algorithms_cost():
    """With all joints free it takes ABA's operations, with none those of RNEA."""
    n = 5
    model = families.general_chain(n)
    fall = Conditions(Vec3(0.0, 0.0, -9.81))
    shapes = {'q': (n,), 'qd': (n,), 'x': (n,)}

    def cost(rule):
        return trace(rule, shapes).count().total
    every = frozenset(range(1, n + 1))
    assert cost(lambda q, qd, x: hybrid.by_articulated_bodies(
        model, q, qd, x, x, every, fall).qdd) == cost(
        lambda q, qd, x: aba.aba(model, q, qd, x, fall).qdd)
    assert cost(lambda q, qd, x: hybrid.by_inertia_matrix(
        model, q, qd, x, x, frozenset(), fall).tau) == cost(
        lambda q, qd, x: rnea.newton_euler_3d(model, q, qd, x, fall))


@pytest.fixture(scope='module')
def arm():
    """Return a compiled arm of seven joints with rotors."""
    return rbd_ros.Dynamics(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'))


def test_compiled_robot_single_and_batch(arm):
    """Machine code by either method gives the reference's numbers, also for batches and loads."""
    plain = rbd_ros.Dynamics(arm.model, backend='reference')
    s = State(arm.model, 2)
    prescribed = ['joint_6', 'joint_2']
    free = np.array([name not in prescribed for name in arm.model.joint_names])
    qdd, tau = poisoned(s.qdd, free), poisoned(s.tau, ~free)
    expected = rbd_ros.hybrid_dynamics(arm.model, s.q, s.qd, qdd, tau, prescribed)
    H, C = plain.mass_matrix(s.q), plain.bias(s.q, s.qd)
    assert_near(expected.qdd, schur(H, C, s.qdd, s.tau, free)[0])
    for method in (None, 'crba', 'aba'):
        found = arm.hybrid_dynamics(s.q, s.qd, qdd, tau, prescribed, method=method)
        assert_near(found.qdd, expected.qdd)
        assert_near(found.tau, expected.tau)
    many = arm.hybrid_dynamics(*(np.array([x, x]) for x in (s.q, s.qd, qdd, tau)), prescribed)
    assert_near(many.qdd[1], expected.qdd)
    assert_near(many.tau[0], expected.tau)
    loaded = arm.hybrid_dynamics(s.q, s.qd, qdd, tau, prescribed, s.f_ext)
    C = plain.bias(s.q, s.qd, s.f_ext)
    assert_near(loaded.tau, schur(H, C, s.qdd, s.tau, free)[1], limit=1e-9)


def test_hybrid_dynamics_with_joints_that_follow():
    """Where joints follow others, the independent ones are prescribed or free."""
    builder = rbd_ros.ModelBuilder('geared')
    rng = np.random.default_rng(5)
    laws = {4: rbd_ros.Mimic('j2', -2.0), 5: rbd_ros.Gear(('j1', 'j3'), lambda a, b: a * b)}
    for i in range(1, 6):
        builder.add_body(f'b{i}', f'b{i - 1}' if i > 1 else 'base', Revolute(
            tuple(rng.normal(size=3).tolist())), families.random_transform(rng),
            families.random_inertia(rng), joint_name=f'j{i}', mimic=laws.get(i))
    robot = rbd_ros.Dynamics(builder.build(), backend='reference')
    s = State(robot.model, 1)
    H, C = robot.mass_matrix(s.q), robot.bias(s.q, s.qd)
    free = np.array([True, False, True])
    expected = schur(H, C, s.qdd, s.tau, free)
    found = robot.hybrid_dynamics(s.q, s.qd, poisoned(s.qdd, free), poisoned(s.tau, ~free), ['j2'])
    assert_near(found.qdd, expected[0])
    assert_near(found.tau, expected[1])
    with pytest.raises(ModelError, match='joint "j4" mimics another .* prescribe the joint that'):
        robot.hybrid_dynamics(s.q, s.qd, s.qdd, s.tau, ['j4'])


def test_prescribed_joint_may_be_massless():
    """A joint without inertia has no forward dynamics, but its motion can be prescribed."""
    builder = rbd_ros.ModelBuilder('light')
    rng = np.random.default_rng(1)
    builder.add_body('a', 'base', Revolute((0.0, 1.0, 0.0)), inertia=families.random_inertia(rng))
    builder.add_body('b', 'a', Revolute((1.0, 0.0, 0.0)))
    robot = rbd_ros.Dynamics(builder.build(), backend='reference')
    x = [0.1, 0.2]
    found = robot.hybrid_dynamics(x, x, [np.nan, 3.0], [1.0, np.nan], ['b_joint'])
    assert found.qdd[1] == 3.0 and found.tau[1] == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(SingularError, match='joint "b_joint" of "light" moves without inertia'):
        robot.hybrid_dynamics(x, x, [3.0, np.nan], [np.nan, 1.0], ['a_joint'])


@pytest.mark.parametrize(('change', 'kind', 'words'), [
    ({'prescribed': ['joint_9']}, UnknownName, 'no joint "joint_9".*did you mean "joint_'),
    ({'prescribed': ['joint_2', 'joint_4', 'joint_2']}, ModelError, '"joint_2" is named twice'),
    ({'prescribed': 'joint_2'}, TypeError, 'list of joint names, got the string "joint_2"'),
    ({'qdd': [0.0] * 6}, ShapeError, r'qdd has shape \(6,\), "seven_joint_arm" needs nv = 7'),
    ({'tau': [[0.0] * 7]}, ShapeError, r'tau has shape \(1, 7\).*as many as qdd'),
    ({'qdd': [np.nan] * 7}, NonFiniteError, 'qdd of joint "joint_2" is nan'),
    ({'tau': [0.0, 0.0, np.inf, 0.0, 0.0, 0.0, 0.0]}, NonFiniteError, 'tau of .*"joint_3" is inf'),
    ({'method': 'kane'}, rbd_ros.RbdError, 'no method "kane".* "crba" and "aba"'),
])
def test_bad_input_is_named(arm, change, kind, words):
    """Every refusal says what is wrong, and names the joint."""
    given = {'q': [0.0] * 7, 'qd': [0.0] * 7, 'qdd': [0.0] * 7, 'tau': [0.0] * 7,
             'prescribed': ['joint_2']}
    with pytest.raises(kind, match=words):
        arm.hybrid_dynamics(**{**given, **change})
