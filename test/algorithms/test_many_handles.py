# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The inertia of many handles: six methods against dense matrices, Pinocchio, each other."""

from benchmark.robots import robot_file
from hypothesis import given
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.handles import many_handles
from rbd_ros.dynamics.families.handles import rules as handle_rules
from rbd_ros.dynamics.table import TABLE
from rbd_ros.errors import RbdError, SingularError
from rbd_ros.joints import Free, Revolute
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
from rbd_ros.samples import families
from rbd_ros.spatial import InverseInertia
from tree_oracle import (
    assert_near, DenseTree, examples, reference, SEEDS, State, TREES, with_rotors)

pytestmark = pytest.mark.slow

few = examples(20)
METHODS = ('dense', 'ltl', 'krj', 'efpa', 'pv', 'pvr')
POINT = rbd_ros.POINT
DAMPING = 1e-7


def assorted(robot, seed):
    """Return handles: whole frames, points and lines; on one body, on others, on an ancestor."""
    rng = np.random.default_rng(seed)
    names = list(robot.model.body_names[1:])
    some = [names[k] for k in rng.integers(len(names), size=3)]
    return [some[0], robot.handle(some[1], point=rng.normal(size=3), rows=POINT),
            robot.handle(names[-1], point=rng.normal(size=3), rows=rng.normal(size=(2, 6))),
            robot.handle(some[0], point=rng.normal(size=3), rows=POINT[:1]), some[2], names[0]]


def test_a_wrist_whose_links_have_no_mass():
    """
    Where no inverse of H exists, articulated bodies have no Phi: said, and not NaN.

    The moments are powers of two, so that rounding leaves nothing of what is zero.
    """
    link = rbd_ros.spatial.RigidInertia.from_com(1.0, rbd_ros.spatial.Vec3(0.0, 0.0, 0.25),
                                                 rbd_ros.spatial.Sym3.diagonal(0.5, 0.5, 0.25))
    builder = rbd_ros.ModelBuilder('wrist').add_body(
        'arm', 'base', Revolute((0.0, 1.0, 0.0)), inertia=link)
    for parent, name, axis, height in (('arm', 'a', 2, 0.5), ('a', 'b', 1, 0.0),
                                       ('b', 'hand', 2, 0.0)):
        builder.add_body(name, parent, Revolute(tuple(np.eye(3)[axis])),
                         rbd_ros.spatial.xlt(0.0, 0.0, height),
                         inertia=link if name == 'hand' else None)
    robot = rbd_ros.Dynamics(builder.build())
    bent, straight = np.array([0.3, 0.4, 0.5, 0.2]), np.zeros(4)
    point = robot.handle('hand', rows=POINT[:2])
    for method in ('krj', 'efpa', 'pv', 'pvr'):
        np.testing.assert_allclose(
            robot.inverse_handle_inertia(bent, point, method=method),
            robot.inverse_handle_inertia(bent, point, method='dense'), atol=1e-9)
        for q in (straight, np.array([bent, straight])):
            with pytest.raises(SingularError, match='hand.* does not exist'):
                robot.inverse_handle_inertia(q, point, method=method)


def dense_inverse_inertia(robot, s, handles):
    """Return J H^-1 J^T and J of whole frames and handles, in base coordinates, by NumPy alone."""
    model, rows = robot.model, []
    tree = DenseTree(model, s.q)
    for each in handles:
        handle = robot.handle(each) if isinstance(each, str) else each
        body = handle.frame.body
        X = np.array(handle.frame.placement.to_list()) @ tree.X[body]
        rows.append(np.array(handle.rows) @ X @ tree.jacobian(body))
    J = np.vstack(rows)
    H = tree.mass_matrix() + np.diag(model.rotor_inertia)
    return J @ np.linalg.solve(H, J.T), J, H


# --- the methods ------------------------------------------------------------------------------


@pytest.mark.seed('RBDA 7-05', 'RBDA 7-07')
@few
@given(TREES, SEEDS)
def test_every_method_gives_the_dense_projection(model, seed):
    """On trees of all joint types, with rotors or not, Phi of six mixed handles is J H^-1 J^T."""
    model = with_rotors(model, seed) if seed % 2 else model
    s, robot = State(model, seed), reference(model)
    handles = assorted(robot, seed)
    Phi, _, H = dense_inverse_inertia(robot, s, handles)
    scale = np.linalg.norm(Phi) * max(1.0, 1e-5 * np.linalg.cond(H))
    assert robot.methods('inverse_handle_inertia') == METHODS
    for method in METHODS:
        found = robot.inverse_handle_inertia(s.q, handles, method=method)
        assert_near(found, Phi, scale=scale)
        assert (found == found.T).all(), method


@few
@given(TREES, SEEDS)
def test_every_method_gives_the_whole_operational_space(model, seed):
    """J, b and H^-1 J^T by articulated bodies are those by the inertia matrix."""
    model = with_rotors(model, seed) if seed % 2 else model
    s, robot = State(model, seed), reference(model)
    handles = assorted(robot, seed)[:3]
    _, J, H = dense_inverse_inertia(robot, s, handles)
    uncertain = max(1.0, 1e-5 * np.linalg.cond(H))
    qdd = np.linalg.solve(H, -robot.bias(s.q, s.qd))
    inverse = np.linalg.solve(H, J.T)
    right = robot.compute('projection', s.q, s.qd, target=handles)
    assert robot.methods('projection') == robot.methods('operational_space') == METHODS[1:]
    for method in METHODS[1:]:
        Jm, Phi, b, HinvJT = robot.kernel('projection', handles, method=method)(
            s.q, s.qd, model.gravity, *TABLE['projection'].of(model, handles).values.values())
        assert_near(Jm, J, scale=np.linalg.norm(J), limit=1e-12)
        assert_near(HinvJT, inverse, scale=np.linalg.norm(inverse) * uncertain)
        assert_near(Phi, J @ inverse, scale=np.linalg.norm(J @ inverse) * uncertain)
        assert_near(b, right[2], scale=uncertain * (
            np.linalg.norm(right[2]) + np.linalg.norm(J) * np.linalg.norm(qdd)))


@pytest.fixture(scope='module')
def talos():
    """Return Talos on a floating base, its twin in Pinocchio, a state and four handles."""
    file = robot_file('talos')
    model = rbd_ros.load_urdf(file, True, mimic=False, on_warning=lambda text: None)
    twin = PinocchioRobot(model, file.read_text(), True, mimic=False)
    names = ['left_sole_link', 'right_sole_link', 'gripper_left_base_link',
             'gripper_right_base_link']
    return reference(model), twin, State(model, 3), names


def test_four_handles_of_talos_against_pinocchio(talos):
    """Feet and hands of a humanoid: J and H of Pinocchio, J H^-1 J^T by NumPy."""
    robot, twin, s, names = talos
    J = np.vstack([twin.jacobian(s.q, name) for name in names])
    Phi = J @ np.linalg.solve(twin.mass_matrix(s.q), J.T)
    for method in METHODS:
        assert_near(robot.inverse_handle_inertia(s.q, names, method=method), Phi,
                    limit=1e-11)
        found = robot.handle_inertia(s.q, names, method=method)
        # Lambda as the inverse of a matrix of this condition
        assert_near(found.Lambda @ Phi, np.eye(24), scale=np.linalg.cond(Phi), limit=1e-13)
    assert found.damping == 0.0 and found.redundant == ()


def legs(count, depth, stem=0):
    """Return a trunk, or a chain of them, from which equal legs go; and the ends of the legs."""
    rng = np.random.default_rng(7)
    builder = rbd_ros.ModelBuilder('legs')
    builder.add_body('trunk', 'base', Free(), inertia=families.random_inertia(rng))
    above, ends = 'trunk', []

    def grown(name, parent):
        builder.add_body(name, parent, Revolute((0.0, 0.0, 1.0)), families.random_transform(rng),
                         families.random_inertia(rng))
        return name
    for k in range(stem):
        above = grown(f'stem_{k}', above)
    for n in range(count):
        end = above
        for k in range(depth):
            end = grown(f'leg_{n}_{k}', end)
        ends.append(end)
    return builder.build(), ends


def price_of_a_pair(method, depth, stem=0):
    """Return the operations that one more pair of handles takes: a second difference."""
    model, ends = legs(4, depth, stem)
    robot = reference(model)
    ends = [robot.handle(end, rows=POINT) for end in ends]
    counts = [robot.kernel('inverse_handle_inertia', ends[:n], method=method).count().total
              for n in (2, 3, 4)]
    return counts[2] - 2 * counts[1] + counts[0]


def test_order_of_the_methods():
    """A pair of handles costs EFPA and PV-OSIMr the same in any tree; LTL, KRJ and PV not."""
    for method in ('efpa', 'pvr'):
        assert price_of_a_pair(method, 2) == price_of_a_pair(method, 4)
        assert price_of_a_pair(method, 1, stem=2) == price_of_a_pair(method, 1, stem=4)
    assert price_of_a_pair('krj', 2) < price_of_a_pair('krj', 4)                 # long legs
    assert price_of_a_pair('ltl', 1, stem=2) < price_of_a_pair('ltl', 1, stem=4)    # long stem
    assert price_of_a_pair('pv', 1, stem=2) < price_of_a_pair('pv', 1, stem=4)
    assert price_of_a_pair('pvr', 4) < price_of_a_pair('krj', 4)


@pytest.mark.parametrize('model,handles,best', [
    (families.general_chain(4), ['body_4'], 'ltl'),
    (families.general_chain(14), ['body_14'], 'krj'),
    (*legs(2, 5, stem=4), 'pvr'),
], ids=['short chain', 'long chain', 'two long legs'])
def test_auto_takes_the_cheapest(model, handles, best):
    """Without a method, and with 'auto', the one with the fewest operations is compiled."""
    robot = rbd_ros.Dynamics(model, backend='python')
    name = 'inverse_handle_inertia'
    costs = {method: reference(model).kernel(name, handles, method=method).count().total
             for method in METHODS}
    assert min(costs, key=costs.get) == best
    assert robot.kernel(name, handles).count().total == costs[best]
    q = State(model, 1).q
    chosen = robot.inverse_handle_inertia(q, handles)
    for method in ('auto', best, None):
        np.testing.assert_array_equal(
            robot.inverse_handle_inertia(q, handles, method=method), chosen)


@pytest.mark.parametrize('model,handles', [
    (families.general_chain(12), ['body_12']), (families.general_chain(12), ['body_12', 'body_5']),
    (families.random_tree(4, 3, joints=('revolute', 'spherical')), ['body_4']),
    legs(2, 3),
], ids=['chain', 'two on a chain', 'balls', 'two legs'])
def test_short_robots_spare_the_tracing_of_articulated_bodies(model, handles):
    """Up to a size, factors of H need the fewest operations: nothing else is traced for it."""
    robot = reference(model)
    assert model.nv <= handle_rules.SHORT
    for name in ('projection', 'operational_space'):
        assert set(TABLE[name].of(model, handles).rules) == {'ltl'}
    costs = [robot.kernel('projection', handles, method=method).count().total
             for method in ('ltl', 'pv')]
    assert costs[0] < costs[1]


def test_long_robots_compare_both():
    """Of a long chain, the method of articulated bodies, with fewer operations, is compiled."""
    model = families.general_chain(24)
    assert set(TABLE['projection'].of(model, ['body_24']).rules) == {'ltl', 'pv'}
    robot = reference(model)
    costs = {method: robot.kernel('projection', ['body_24'], method=method).count().total
             for method in ('ltl', 'pv')}
    assert costs['pv'] < costs['ltl']
    assert robot.kernel('projection', ['body_24']).count().total == costs['pv']


@pytest.mark.parametrize('backend', ['llvm', 'python'])
def test_compiled_methods_agree_with_the_source(backend):
    """Machine code, batches and out= give what the uncompiled methods give; so do masks."""
    model, ends = legs(2, 1)
    model = with_rotors(model, 1)
    robot, plain = rbd_ros.Dynamics(model, backend=backend), reference(model)
    states = [State(model, k) for k in range(3)]
    q = np.array([s.q for s in states])
    handles = [ends[0], robot.handle(ends[1], point=[0.1, 0.2, 0.3], rows=POINT,
                                     mask=[1.0, 0.0, 1.0])]
    for method in METHODS:
        batch = robot.inverse_handle_inertia(q, handles, method=method)
        out = np.empty((9, 9))
        robot.inverse_handle_inertia(q[1], handles, method=method, out=out)
        right = plain.inverse_handle_inertia(q[1], handles, method='dense')
        assert_near(batch[1], right, limit=1e-12)
        assert_near(out, right, limit=1e-12)
        assert not right[7].any() and right[6].any()
    kept = [k for k in range(9) if k != 7]
    undamped = robot.handle_inertia(q[1], handles)
    assert not undamped.Lambda[7].any()
    assert_near(undamped.Lambda[np.ix_(kept, kept)],
                np.linalg.inv(right[np.ix_(kept, kept)]), limit=1e-9)
    masked = robot.handle_inertia(q, handles, damping=1e-9)
    assert not masked.Lambda[:, 7].any() and not masked.lost[:, 7].any()
    assert_near(masked.Lambda[1][np.ix_(kept, kept)],
                np.linalg.inv(right[np.ix_(kept, kept)]), limit=1e-6)


def test_mimic_joints_leave_the_methods_by_inertia_matrix():
    """Articulated bodies of the tree know no mimic joint: the other methods serve, and say so."""
    builder = rbd_ros.ModelBuilder('gripper')
    rng = np.random.default_rng(3)
    for name, parent in (('arm', 'base'), ('left', 'arm'), ('right', 'arm')):
        builder.add_body(name, parent, Revolute(tuple(rng.normal(size=3).tolist())),
                         families.random_transform(rng), families.random_inertia(rng),
                         joint_name=f'joint_{name}',
                         mimic=rbd_ros.Mimic('joint_left', 0.7, 0.1) if name == 'right' else None)
    robot = reference(builder.build())
    s = State(robot.model, 2)
    assert robot.methods('inverse_handle_inertia') == ('dense', 'ltl')
    J = np.vstack([robot.jacobian(s.q, name) for name in ('left', 'right')])
    right = J @ np.linalg.solve(robot.mass_matrix(s.q), J.T)
    for method in ('dense', 'ltl', 'auto'):
        assert_near(robot.inverse_handle_inertia(
            s.q, ['left', 'right'], method=method), right)
    with pytest.raises(RbdError, match='has no method "pv" for this robot; there is "dense" and'):
        robot.inverse_handle_inertia(s.q, ['left'], method='pv')
    for method, match in (('pv', 'use the method "ltl"'), ('x', 'no method "x" for handles')):
        with pytest.raises(RbdError, match=match):
            many_handles.inverse_handle_inertia(
                robot.model, [0.3, 0.2, 0.24], [robot.handle('left')], method)


# --- redundant handles ------------------------------------------------------------------------


@pytest.fixture(scope='module')
def floating():
    """Return a trunk with two legs of three joints, uncompiled, a state and the feet."""
    model, ends = legs(2, 3)
    return reference(model), State(model, 4), ends


def test_two_handles_on_one_body_are_named(floating):
    """Without damping the error names the handles that move together, not the other foot."""
    robot, s, (one, two) = floating
    point = robot.handle(one, point=[0.1, 0.0, 0.0], rows=POINT)
    with pytest.raises(SingularError) as caught:
        robot.handle_inertia(s.q, [one, point, robot.handle(two, rows=POINT)])
    message = str(caught.value)
    assert f'the handles ({one}, {one} at [0.1, 0.0, 0.0]) are not independent at' in message
    assert 'give damping=' in message and two not in message


@pytest.mark.parametrize('backend', ['llvm', 'reference'])
def test_damped_inverse_of_redundant_handles(floating, backend):
    """It is (Phi + damping 1)^-1; the result shows that twelve equal directions are six."""
    source, s, (one, two) = floating
    robot = rbd_ros.Dynamics(source.model, backend=backend)
    handles = [one, one, robot.handle(two, rows=POINT)]
    found = robot.handle_inertia(s.q, handles, damping=DAMPING)
    Phi = dense_inverse_inertia(source, s, handles)[0]
    mu = found.damping
    assert mu == DAMPING
    assert_near(found.Phi, Phi, limit=1e-12)
    right = np.linalg.inv(Phi + mu * np.eye(15))
    assert_near(found.Lambda, right, limit=1e-7)            # rounding over damping
    np.testing.assert_allclose(found.lost[:12], 0.5, atol=2e-3)
    np.testing.assert_allclose(found.lost[12:], 0.0, atol=2e-3)
    assert found.rank == pytest.approx(9.0, abs=0.02)
    assert found.redundant == (one,)
    # a force on the body is shared out between its two handles; together they are the one handle
    single = robot.handle_inertia(s.q, [one, handles[2]]).Lambda
    merge = np.kron([[1.0, 1.0]], np.eye(6))
    assert_near(merge @ found.Lambda[:12, :12] @ merge.T, single[:6, :6], limit=1e-4)
    batch = robot.handle_inertia(np.array([s.q, s.q]), handles, damping=DAMPING)
    assert batch.rank.shape == (2,)
    np.testing.assert_allclose(batch.lost[1], found.lost, atol=1e-6)


def test_more_directions_than_a_kernel_inverts(floating):
    """LAPACK gives for many directions what the kernel gives for few, masks among them."""
    robot, s, (one, two) = floating
    pair = [robot.handle(name, point=[0.0, 0.0, 0.1], mask=[1, 1, 0, 1, 1, 1])
            for name in (one, two)]
    small = robot.handle_inertia(s.q, pair, damping=1e-3)
    large = robot.handle_inertia(s.q, pair * 3, damping=1e-3)
    assert small.Lambda.shape == (12, 12) and large.Lambda.shape == (36, 36)
    Phi = np.tile(small.Phi, (3, 3))
    kept = np.flatnonzero(np.diag(Phi))
    cut = np.ix_(kept, kept)
    assert_near(large.Lambda[cut], np.linalg.inv(Phi[cut] + 1e-3 * np.eye(kept.size)))
    assert not large.Lambda[2].any() and not large.Lambda[:, 2].any()
    with pytest.raises(SingularError, match=rf'handles \({one} at .*, {two} at .* not indep'):
        robot.handle_inertia(s.q, pair * 3)


@pytest.mark.parametrize('backend', ['python', 'reference'])
def test_a_handle_that_cannot_move_is_named(backend):
    """The handle with a direction that no joint moves is distinguished from those that move."""
    builder = rbd_ros.ModelBuilder('door')
    rng = np.random.default_rng(1)
    builder.add_body('leaf', 'base', Revolute((0.0, 0.0, 1.0)),
                     inertia=families.random_inertia(rng))
    builder.add_body('arm', 'base', Revolute((0.0, 1.0, 0.0)),
                     inertia=families.random_inertia(rng))
    robot = rbd_ros.Dynamics(builder.build(), backend=backend)
    turn = robot.handle('arm', rows=[(0, 1, 0, 0, 0, 0)])
    with pytest.raises(SingularError, match=r'no joint moves the handles \(leaf\) in some'):
        robot.handle_inertia([0.1, 0.2], ['leaf', turn])
    found = robot.handle_inertia([0.1, 0.2], ['leaf', turn], damping=1e-6)
    np.testing.assert_allclose(found.lost, [1, 1, 0, 1, 1, 1, 0], atol=1e-4)
    assert found.redundant == ('leaf',)


def test_refused_arguments(floating):
    """Damping, method and frames are checked, and named."""
    robot, s, (one, _) = floating
    for damping in (-1e-9, np.nan, np.inf):
        with pytest.raises(rbd_ros.SettingError, match=f'damping is {damping}; it must be'):
            robot.handle_inertia(s.q, [one], damping=damping)
    with pytest.raises(RbdError, match='handle_inertia has no method "lu" for this robot'):
        robot.handle_inertia(s.q, [one], method='lu')
    with pytest.raises(RbdError, match='operational_space has no method "dense"'):
        robot.operational_space(s.q, s.qd, [one], method='dense')
    with pytest.raises(rbd_ros.UnknownName, match='no frame "foot"'):
        robot.inverse_handle_inertia(s.q, [one, 'foot'])


# --- inverse inertias -------------------------------------------------------------------------


def test_inverse_inertia_in_21_numbers():
    """Products, transforms and symmetric sums are those of the 6 x 6 matrix."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    Phi = InverseInertia.from_matrix((A @ A.T).tolist())
    assert_near(Phi.to_list(), A @ A.T, limit=1e-15)
    X = families.random_transform(rng)
    matrix = np.array(X.to_list())
    assert_near(Phi.seen_through(X).to_list(), matrix @ A @ A.T @ matrix.T, limit=1e-14)
    f = rng.normal(size=6)
    a = Phi @ rbd_ros.spatial.Force.from_list(f.tolist())
    assert_near(a.to_list(), A @ A.T @ f, limit=1e-14)
    s, h = (rbd_ros.spatial.Motion.from_list(x.tolist()) for x in rng.normal(size=(2, 6)))
    outer = np.outer(s.to_list(), h.to_list())
    assert_near(Phi.plus_symmetric([s], [h]).to_list(), A @ A.T + outer + outer.T, limit=1e-14)
    with pytest.raises(TypeError, match='InverseInertia maps a Force to a Motion'):
        Phi @ s
