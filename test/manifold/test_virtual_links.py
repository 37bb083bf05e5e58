# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Loops cut at a joint: topology, Jacobians of all bodies with their rates, elimination."""

import manifold_rig as rig
import numpy as np
import pytest
from rbd_ros import Dynamics, LoopError, ModelBuilder, ModelError, SingularError
from rbd_ros.joints import Revolute
from rbd_ros.manifold import projection, underlying
from rbd_ros.manifold.body_jacobians import body_jacobians
from rbd_ros.manifold.chart import choose
from rbd_ros.manifold.constrained import Pin, PinnedTree, VirtualLinks
from rbd_ros.manifold.linearize import linear_form
from rbd_ros.manifold.nullspace import of_chart, reduced_dynamics
from rbd_ros.manifold.system import derivative, derivatives, State
from rbd_ros.manifold.virtual_links import (
    cut_loops, eliminate, loop_selector, null_space_slopes, PLANAR, topology)
from rbd_ros.model import positions
from rbd_ros.samples import families, mechanisms
from rbd_ros.spatial.constant import xlt

TREE = families.random_tree(5, 11, joints=(
    'revolute', 'prismatic', 'helical', 'cylindrical', 'universal', 'spherical',
    'roll_pitch_yaw'), branching=0.4)


def moving():
    """Return the five-bar with a virtual link, in motion on its manifold."""
    system, a = rig.virtual(), np.arccos(2.0 / 3.0)
    q = np.array([2.0 * np.pi / 3.0, np.pi / 3.0, 2.0 * np.pi / 3.0 - a, 2.0 * a, np.pi / 3.0 + a])
    return system, State(q, projection.project_velocity(
        system, q, np.array([1.0, -0.5, 0.3, 0.2, -0.4])))


@pytest.mark.seed('SPENCER 58')
def test_table_of_pointers():
    """Table A.1 of the closed chain of figure A.2."""
    system = rig.virtual()
    found = topology(system.model, system.closures)
    assert found.P == (0, 0, 2, 3, 1) and found.R == {5: 4}
    assert [sorted(x) for x in found.C] == [[], [3], [4], [], []]
    assert [sorted(x) for x in found.T] == [[1], [2, 3, 4], [3, 4], [4], []]
    assert [sorted(x) for x in found.T_v] == [[1, 5], [2, 3, 4], [3, 4], [4], [5]]


def closed_square():
    """Return a model with a loop: two links on the base, joined by a third and a loop joint."""
    builder = ModelBuilder('loop', gravity=(0.0, -9.81, 0.0))
    rng = np.random.default_rng(1)
    builder.add_body('left', 'base', Revolute((0.0, 0.0, 1.0)), None, families.random_inertia(rng))
    builder.add_body('top', 'left', Revolute((0.0, 0.0, 1.0)), xlt(1.0, 0.0, 0.0),
                     families.random_inertia(rng))
    builder.add_body('right', 'base', Revolute((0.0, 0.0, 1.0)), xlt(0.5, 0.0, 0.0),
                     families.random_inertia(rng))
    builder.add_joint('last', 'top', 'right', Revolute((0.0, 0.0, 1.0)), xlt(0.8, 0.0, 0.0),
                      xlt(0.9, 0.0, 0.0))
    return builder.build()


@pytest.mark.seed('SPENCER 59')
def test_a_loop_is_cut_into_a_tree_and_a_virtual_link():
    """The tree has one body more, without mass; closing it gives the mechanism back."""
    model = closed_square()
    tree, closures = cut_loops(model)
    assert not tree.loops and tree.nb == model.nb + 1 and len(closures) == len(model.loops) == 1
    assert tree.inertia[-1].m == 0.0 and tree.total_mass == model.total_mass
    loop = model.loops[0]
    assert tree.parent[-1] == loop.predecessor and tree.joint[-1] == loop.joint
    system = VirtualLinks(Dynamics(tree), closures)
    q, errors = projection.project_position(
        system, np.array([1.2, -1.3, 1.5, 0.3]), largest=0.2)
    assert errors[0] > 0.1
    # six rows, of which three hold by themselves in the plane: one freedom is left
    chart = choose(system, q)
    assert chart.p == 1 and len(chart.rows) == 3
    # the mechanism by trigonometry: both ways to the cut joint end at one point, at one angle
    left, top, right, last = q
    ends = (np.exp(1j * left) + 0.8 * np.exp(1j * (left + top)), 0.5 + 0.9 * np.exp(1j * right))
    assert ends[0] == pytest.approx(ends[1], abs=1e-11)
    assert np.exp(1j * (left + top + last)) == pytest.approx(np.exp(1j * right), abs=1e-11)
    # the frames meet: a point off the origin of one is where it is in the other
    frames = [system.robot.pose(q, name) for name in (closures[0].virtual, closures[0].partner)]
    np.testing.assert_allclose(frames[0], frames[1], atol=1e-12)
    with pytest.raises(ModelError, match='no loop to cut'):
        cut_loops(tree)
    with pytest.raises(ModelError, match='at least one virtual link'):
        VirtualLinks(Dynamics(tree), [])
    with pytest.raises(ModelError, match='at least one pair'):
        PinnedTree(Dynamics(tree), [])
    closed = Dynamics(mechanisms.four_bar().model)
    with pytest.raises(LoopError, match='a tree with pins knows trees only'):
        PinnedTree(closed, [Pin('bar_3', 'base')])
    with pytest.raises(LoopError, match='a tree with virtual links knows trees only'):
        VirtualLinks(closed, closures)


@pytest.mark.seed('SPENCER 49')
def test_jacobians_of_all_bodies_and_their_rates():
    """J, dJ/dq_j, dJ/dt and d2J/dt2 of a tree with joints of many freedoms, by differences."""
    model, rng = TREE, np.random.default_rng(8)
    q = np.array(positions.random_position(model, rng))
    qd, qdd = rng.normal(size=(2, model.nv))
    assert model.nq > model.nv and any(joint.nv > 1 for joint in model.joint)

    def at(step, qd=qd):
        moved = positions.integrate(model, q.tolist(), step.tolist())
        return body_jacobians(model, moved, qd.tolist(), qdd.tolist())

    found = at(np.zeros(model.nv))
    robot = Dynamics(model)
    for i in range(1, model.nb + 1):
        np.testing.assert_allclose(found.J[i], robot.jacobian(q, model.body_names[i]), atol=1e-12)
        np.testing.assert_allclose(
            found.rate[i] @ qd, robot.jacobian_rate(q, qd, model.body_names[i]), atol=1e-11)
    for j, e in enumerate(np.eye(model.nv)):
        slope = derivative(lambda h, e=e: at(h * e).J)
        np.testing.assert_allclose(found.slopes[:, j], slope, atol=1e-8)
    np.testing.assert_allclose(found.rate, derivative(lambda t: at(t * qd).J), atol=1e-8)
    # along q(t) with qd(t) = qd + t qdd: the second rate has both
    second = derivative(lambda t: at(t * qd + 0.5 * t * t * qdd, qd + t * qdd).rate)
    np.testing.assert_allclose(found.rate2, second, atol=1e-7)


@pytest.mark.seed('SPENCER 66', 'SPENCER 68', 'SPENCER 69', 'SPENCER 48')
@pytest.mark.parametrize('pair', [[0, 1], [0, 4]], ids=['base joints', 'a cut joint'])
def test_null_space_from_the_jacobians_of_bodies(pair):
    """K = A J with A constant; G, g and all derivatives equal those of the general method."""
    system, state = moving()
    model = system.model
    A = loop_selector(model, system.closures)
    chart = choose(system, state.q, pair)
    general = linear_form(system, chart, state, np.zeros(5))
    bodies = body_jacobians(model, *(x.tolist() for x in (*state, general.qdd)))
    K = A @ bodies.J[1:].reshape(-1, 5)
    np.testing.assert_allclose(K, system.jacobian(state.q), atol=1e-13)
    np.testing.assert_allclose(K @ state.qd, 0.0, atol=1e-13)
    found = null_space_slopes(chart.R, A, bodies, state.qd)
    s = general.slopes
    for ours, theirs in ((found.G, s.G), (found.rate, s.G_rate), (found.rate2, s.g_slope),
                         (found.slopes, s.G_slopes)):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(found.g, of_chart(system, chart, *state).g, atol=1e-12)
    np.testing.assert_allclose(found.g, found.rate @ (chart.R @ state.qd), atol=1e-12)
    with pytest.raises(SingularError, match='choose other coordinates'):
        null_space_slopes(np.zeros((2, 5)), A, bodies, state.qd)


@pytest.mark.seed('SPENCER 67')
def test_cut_joints_can_be_eliminated():
    """Two constraints on the four joints are left, with the same motions and accelerations."""
    system, state = moving()
    K, k = system.jacobian(state.q), system.constraint_bias(*state)
    small, bias = eliminate(K, k, [4])
    assert small.shape == (2, 4) and np.linalg.matrix_rank(small) == 2
    chart = choose(system, state.q, [0, 1])
    space = of_chart(system, chart, *state)
    np.testing.assert_allclose(small @ space.G[:4], 0.0, atol=1e-13)
    np.testing.assert_allclose(small @ space.g[:4], bias, atol=1e-13)
    tau = np.array([1.0, 2.0, -1.0, 0.5, 0.0])
    H, C = system.mass_matrix(state.q), system.bias(*state)
    assert np.linalg.matrix_rank(H) == 4        # the virtual link weighs nothing
    full = reduced_dynamics(H, C, tau, space).qdd
    open_chain = underlying.lagrange(H[:4, :4], C[:4], tau[:4], small, bias).qdd
    np.testing.assert_allclose(full[:4], open_chain, atol=1e-11)
    # of a constraint in which every row has the cut joints: what meets it all meets the rest
    rng = np.random.default_rng(2)
    K, x = rng.normal(size=(4, 6)), rng.normal(size=6)
    small, bias = eliminate(K, K @ x, [1, 4])
    np.testing.assert_allclose(small @ np.delete(x, [1, 4]), bias, atol=1e-12)
    free = np.linalg.svd(K)[2][4:].T
    np.testing.assert_allclose(small @ np.delete(free, [1, 4], axis=0), 0.0, atol=1e-12)
    with pytest.raises(SingularError, match='does not follow'):
        eliminate(np.diag([1.0, 1.0, 0.0]), np.zeros(3), [2])


@pytest.mark.parametrize('turned', [False, True], ids=['as it is', 'turned round'])
def test_derivatives_of_a_closure_are_those_by_differences(turned):
    """K, and the slopes of K w and k, whichever of the two frames of a closure moves."""
    system, (q, qd) = moving()
    closure = system.closures[0]
    if turned:
        closure = closure._replace(virtual=closure.partner, partner=closure.virtual)
    system = VirtualLinks(system.robot, [closure])
    np.testing.assert_allclose(system.constraint(q), 0.0, atol=1e-12)
    np.testing.assert_allclose(
        system.jacobian(q), derivatives(lambda e: system.constraint(q + e), 5), atol=1e-8)
    w = np.array([0.7, -0.2, 0.4, 1.1, -0.6])
    np.testing.assert_allclose(
        system.jacobian_derivative(q, w),
        derivatives(lambda e: system.jacobian(q + e) @ w, 5), atol=1e-8)
    np.testing.assert_allclose(
        system.constraint_bias(q, qd),
        -derivative(lambda t: system.jacobian(q + t * qd)) @ qd, atol=1e-7)
    by_q, by_qd = system.constraint_bias_derivatives(q, qd)
    np.testing.assert_allclose(
        by_q, derivatives(lambda e: system.constraint_bias(q + e, qd), 5), atol=1e-7)
    np.testing.assert_allclose(
        by_qd, derivatives(lambda e: system.constraint_bias(q, qd + e), 5), atol=1e-7)


def test_rows_of_several_pins_and_closures():
    """One pin in two parts, the last row first, gives the rows of the whole one; so do loops."""
    pinned, state = rig.spatial_state()
    pin = pinned.pins[0]
    linked, moved = moving()
    closure = linked.closures[0]
    for whole, parts, (q, qd) in (
            (pinned, PinnedTree(pinned.robot, [
                pin._replace(rows=pin.rows[-1:]), pin._replace(rows=pin.rows[:-1])]), state),
            (linked, VirtualLinks(linked.robot, [
                closure._replace(rows=closure.rows[-1:]),
                closure._replace(rows=closure.rows[:-1])]), moved)):
        for name, args, axis in (
                ('constraint', (q,), 0), ('jacobian', (q,), 0), ('constraint_bias', (q, qd), 0),
                ('jacobian_derivative', (q, qd), 0),
                ('constraint_bias_derivatives', (q, qd), 1)):
            expected = np.roll(getattr(whole, name)(*args), 1, axis)
            np.testing.assert_allclose(getattr(parts, name)(*args), expected, atol=1e-12)
            assert name == 'constraint' or np.abs(expected).max() > 1e-3


def test_planar_rows_are_those_that_count():
    """With all six rows of the loop the same three are independent, and the motion is the same."""
    system, state = moving()
    spatial = VirtualLinks(system.robot, [system.closures[0]._replace(rows=(0, 1, 2, 3, 4, 5))])
    assert choose(spatial, state.q).rows == PLANAR
    tau = np.zeros(5)
    one, two = (linear_form(each, choose(each, state.q, [0, 1]), state, tau)
                for each in (system, spatial))
    np.testing.assert_allclose(one.A, two.A, atol=1e-11)
