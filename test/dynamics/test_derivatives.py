# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of dynamics, frames and operational spaces, against other libraries and methods."""

import pickle

from hypothesis import given
from linted import ROOT
import numpy as np
import pinocchio as pin
from pinocchio_trees import PinocchioTree
import pytest
import rbd_ros
from rbd_ros.algorithms.derivatives import frame_derivatives, rnea_derivatives
from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.algorithms.rnea import rnea
from rbd_ros.compiler import jacobian, sin, trace
from rbd_ros.errors import SingularError
from rbd_ros.gradients.functions import Function, pulled, pushed
from rbd_ros.joints import Prescribed, Revolute
from rbd_ros.model import positions
from rbd_ros.model.model import Frame
from rbd_ros.samples import families
from rbd_ros.spatial import Force, RigidInertia, Sym3, Vec3
from tree_oracle import assert_near, examples, SEEDS, State, TREES

pytestmark = pytest.mark.slow

few = examples(6)
ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'
#: Joints whose S moves in the body: Pinocchio's own derivatives take S as constant.
MOVING = ('roll_pitch_yaw', 'universal')


def derivative(function, step=1e-3):
    """Return the derivative of a function of a number at 0, by differences of sixth order."""
    def pair(k):
        return np.asarray(function(k * step)) - np.asarray(function(-k * step))
    return (45.0 * pair(1) - 9.0 * pair(2) + pair(3)) / (60.0 * step)


def columns(model, s, function):
    """Return the derivatives of f(q, qd, x) along every variable of q, qd and x."""
    def along(kind, k):
        def moved(size):
            e = size * np.eye(model.nv)[k]
            q = positions.integrate(model, s.q.tolist(), e.tolist()) if kind == 0 else s.q
            return function(np.array(q), s.qd + (kind == 1) * e, s.qdd + (kind == 2) * e)
        return derivative(moved)
    return [np.stack([along(kind, k) for k in range(model.nv)], -1) for kind in range(3)]


def symmetric(H):
    """Return a matrix from its upper triangle."""
    return np.triu(H) + np.triu(H, 1).T


def lists(*arrays):
    """Return arrays as lists."""
    return [array.tolist() for array in arrays]


@few
@given(TREES.filter(lambda model: model.nv <= 14), SEEDS)
def test_recursion_against_the_differentiated_graph(model, seed):
    """The recursion gives what differentiating the traced rnea gives, with external forces."""
    s = State(model, seed)
    shapes = {'q': model.nq, 'qd': model.nv, 'qdd': model.nv, 'f_ext': (model.nb, 6)}

    def conditions(f_ext):
        forces = [None, *(Force.from_list(row) for row in f_ext)]
        return Conditions(Vec3(0.3, -2.0, -9.81), forces)

    graph = trace(lambda q, qd, qdd, f: {'tau': rnea(model, q, qd, qdd, conditions(f)).tau},
                  shapes)
    flat = [*lists(s.q, s.qd, s.qdd), s.f_ext.ravel().tolist()]
    found = rnea_derivatives(model, *flat[:3], conditions(s.f_ext.tolist()))
    ways = np.array([positions.q_dot(model, s.q.tolist(), e) for e in np.eye(model.nv).tolist()])
    for result, name in zip(found, ('q', 'qd', 'qdd'), strict=True):
        slopes = np.array(jacobian(graph, 'tau', name).evaluate(*flat)).reshape(model.nv, -1)
        assert_near(result, slopes @ ways.T if name == 'q' else slopes, scale=1.0)


@pytest.mark.seed('SPENCER 46', 'SPENCER 47')
@pytest.mark.parametrize('kind', sorted(families.JOINTS))
def test_every_joint_type_against_pinocchio(kind):
    """Derivatives of inverse and forward dynamics are Pinocchio's, one joint type at a time."""
    model = families.random_tree(4, 5, joints=(kind, 'revolute'), aligned=0.0)
    twin, s = PinocchioTree(model), State(model, 1)
    robot = rbd_ros.Dynamics(model, backend='reference')
    forward = robot.forward_dynamics_derivatives(s.q, s.qd, s.tau)
    inverse = robot.inverse_dynamics_derivatives(s.q, s.qd, s.qdd)

    def tau(q, qd, qdd):
        return twin.B.T @ pin.rnea(twin.pin, twin.data, twin.position(q), twin.B @ qd,
                                   twin.B @ qdd)
    if kind in MOVING:
        for ours, theirs in zip(inverse, columns(model, s, tau), strict=True):
            assert_near(ours, theirs, scale=1.0, limit=1e-9)
    else:
        y, v = twin.position(s.q), twin.B @ s.qd
        dq, dqd, H = pin.computeRNEADerivatives(twin.pin, twin.data, y, v, twin.B @ s.qdd)
        for ours, theirs in zip(inverse, twin.matrices([dq, dqd, symmetric(H)]), strict=True):
            assert_near(ours, theirs, scale=1.0)
        dq, dqd, Hinv = pin.computeABADerivatives(twin.pin, twin.data, y, v, twin.B @ s.tau)
        for ours, theirs in zip(forward, twin.matrices([dq, dqd, symmetric(Hinv)]), strict=True):
            assert_near(ours, theirs, scale=1.0, limit=1e-8)


@pytest.fixture(scope='module')
def arm():
    """Return a compiled arm."""
    return rbd_ros.Dynamics(rbd_ros.load_urdf(ARM, on_warning=lambda text: None))


def test_compiled_derivatives(arm):
    """Compiled kernels give the reference's matrices: single states, batches, out and bound."""
    robot = arm
    model, s = robot.model, State(robot.model, 5)
    plain = rbd_ros.Dynamics(model, backend='reference')
    for name, third in (('inverse_dynamics_derivatives', s.qdd),
                        ('forward_dynamics_derivatives', s.tau)):
        expected = getattr(plain, name)(s.q, s.qd, third)
        found = getattr(robot, name)(s.q, s.qd, third)
        assert found._fields == expected._fields
        many = getattr(robot, name)(np.tile(s.q, (3, 1)), s.qd, third)
        for a, b, c in zip(found, expected, many, strict=True):
            assert_near(a, b, scale=1.0, limit=1e-9)
            assert_near(c[1], b, scale=1.0, limit=1e-9)
    bound = robot.bind('inverse_dynamics_derivatives')
    for key, value in (('q', s.q), ('qd', s.qd), ('qdd', s.qdd)):
        bound.inputs[key][:] = value
    bound()
    out = [np.empty((model.nv, model.nv)) for _ in range(3)]
    given = robot.inverse_dynamics_derivatives(s.q, s.qd, s.qdd, out=out)
    for a, b, c in zip(given, out, bound.outputs.values(), strict=True):
        assert a is b
        np.testing.assert_array_equal(a, c)


def test_calls_take_lists_batches_and_loads(arm):
    """The call in machine code hands on what it does not take; errors name the argument."""
    robot, s = rbd_ros.Dynamics(arm.model), State(arm.model, 8)
    states = {'inverse_dynamics_derivatives': (s.q, s.qd, s.qdd),
              'forward_dynamics_derivatives': (s.q, s.qd, s.tau)}
    for name, state in states.items():
        first = getattr(robot, name)(*state)
        straight, method = getattr(robot, name), getattr(rbd_ros.Dynamics, name)
        assert name not in vars(robot)          # a method stays a method
        lists = straight(*(x.tolist() for x in state))
        many = straight(*(np.tile(x, (2, 1)) for x in state))
        for found in (straight(*state), lists, [x[1] for x in many]):
            for a, b in zip(found, first, strict=True):
                np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-9 * np.abs(b).max())
        assert type(straight(*state)) is type(lists) is type(first)
        for a, b in zip(straight(*state, f_ext=s.f_ext), method(robot, *state, s.f_ext),
                        strict=True):
            np.testing.assert_array_equal(a, b)
        with pytest.raises(rbd_ros.ShapeError, match=r'qd has shape \(3,\), expected \(7,\)'):
            straight(state[0], np.zeros(3), state[2])
        with pytest.raises(TypeError, match=f'{name}.. got an unexpected keyword'):
            straight(*state, nothing=1)
    out = tuple(np.empty((7, 7)) for _ in range(3))
    assert robot.inverse_dynamics_derivatives(*states['inverse_dynamics_derivatives'],
                                              out=out) is out
    robot.set_gravity([0.0, 0.0, 0.0])
    for a, b in zip(robot.inverse_dynamics_derivatives(s.q, s.qd, s.qdd),
                    pickle.loads(pickle.dumps(robot)).inverse_dynamics_derivatives(
                        s.q, s.qd, s.qdd), strict=True):
        np.testing.assert_array_equal(a, b)


def test_many_joints_are_multiplied_column_by_column():
    """The loop over columns, some of which are done twice, gives what the algorithms give."""
    model = families.random_tree(17, 0, joints=('revolute',), branching=0.8, aligned=1.0)
    robot, s = rbd_ros.Dynamics(model), State(model, 0)
    assert robot.kernel('forward_dynamics_derivatives').graph.columns is not None
    expected = rbd_ros.Dynamics(model, backend='reference').forward_dynamics_derivatives(
        s.q, s.qd, s.tau)
    bound = robot.bind('forward_dynamics_derivatives')
    for name in ('q', 'qd', 'tau'):
        bound.inputs[name][:] = getattr(s, name)
    bound()
    for a, b, c in zip(robot.forward_dynamics_derivatives(s.q, s.qd, s.tau), expected,
                       bound.outputs.values(), strict=True):
        assert_near(a, b, scale=1.0, limit=1e-8)
        np.testing.assert_array_equal(a, c)


@few
@given(TREES.filter(lambda model: model.nv <= 14), SEEDS)
def test_frames_of_any_tree(model, seed):
    """The acceleration of the last body, differentiated, is what differences of it give."""
    s, t = State(model, seed), 0.0
    frame = Frame('tip', model.nb, families.random_transform(s.rng))
    found = frame_derivatives(model, *lists(s.q, s.qd, s.qdd), frame, t)
    plain = rbd_ros.Dynamics(model, backend='reference')

    def motion(q, qd, qdd):
        name = model.body_names[-1]
        v = frame.placement @ rbd_ros.spatial.Motion.from_list(plain.velocity(q, qd, name))
        a = plain.jacobian(q, name) @ qdd + plain.jacobian_rate(q, qd, name)
        a = frame.placement @ rbd_ros.spatial.Motion.from_list(a.tolist())
        return [v.to_list(), a.to_list()]
    by_q, by_qd, by_qdd = columns(model, s, motion)
    J, dv_dq, da_dq, da_dqd = (np.array([x.to_list() for x in column]).T for column in found)
    for ours, theirs in ((J, by_qd[0]), (J, by_qdd[1]), (dv_dq, by_q[0]), (da_dq, by_q[1]),
                         (da_dqd, by_qd[1])):
        assert_near(ours, theirs, scale=1.0, limit=1e-8)


@pytest.fixture(scope='module')
def geared():
    """Return a robot with a mimic joint, rotors, a moving S, a ball joint, time and a payload."""
    builder, rng = rbd_ros.ModelBuilder('geared'), np.random.default_rng(0)
    swing = Prescribed(Revolute((1, 0, 0)), lambda t: ([0.3 * t * t], [0.6 * t], [0.6]))
    for name, parent, joint, mimic in (
            ('a', 'base', Revolute((0, 0, 1)), None), ('b', 'a', swing, None),
            ('c', 'b', families.JOINTS['universal']((0.6, 0.0, 0.8)), None),
            ('d', 'c', families.JOINTS['spherical']((0, 0, 1)), None),
            ('e', 'b', Revolute((0, 1, 0)), rbd_ros.Mimic('a_joint', -0.7, 0.1))):
        data = rbd_ros.JointData(rotor_inertia=0.4) if name == 'a' else None
        builder.add_body(name, parent, joint, families.random_transform(rng),
                         families.random_inertia(rng), mimic=mimic, data=data)
    robot = rbd_ros.Dynamics(builder.build(), payload_frame='d')
    robot.set_payload(2.0, [0.1, 0.0, 0.2], np.diag([0.1, 0.2, 0.15]))
    robot.set_gravity([1.0, 2.0, -9.0])
    robot.set_time(0.7)
    return robot


def test_mimic_rotor_payload_time_and_forces(geared):
    """All that a robot may have is in its derivatives: they are differences of its dynamics."""
    model, s = geared.model, State(geared.model, 2)
    for found, function in (
            (geared.inverse_dynamics_derivatives(s.q, s.qd, s.qdd, s.f_ext),
             geared.inverse_dynamics),
            (geared.forward_dynamics_derivatives(s.q, s.qd, s.qdd, s.f_ext),
             geared.forward_dynamics)):
        expected = columns(model, s, lambda *x, f=function: f(*x, s.f_ext))
        for ours, theirs in zip(found, expected, strict=True):
            assert_near(ours, theirs, scale=1.0, limit=1e-8)


def test_gears_of_changing_ratio():
    """Where G changes with the position, its own derivatives count too; frames included."""
    builder, rng = rbd_ros.ModelBuilder('cam'), np.random.default_rng(2)
    for name, parent, mimic in (('a', 'base', None), ('b', 'a', None),
                                ('c', 'a', rbd_ros.Gear(('a_joint', 'b_joint'), cam))):
        builder.add_body(name, parent, Revolute((0, 0.6, 0.8)), families.random_transform(rng),
                         families.random_inertia(rng), mimic=mimic)
    robot = rbd_ros.Dynamics(builder.build(), backend='reference')
    model, s = robot.model, State(robot.model, 5)
    name = model.body_names[-1]

    def acceleration(q, qd, qdd):
        return robot.jacobian(q, name) @ qdd + robot.jacobian_rate(q, qd, name)
    of_frame = robot.frame_derivatives(s.q, s.qd, s.qdd, name)
    for found, function in (
            (robot.inverse_dynamics_derivatives(s.q, s.qd, s.qdd), robot.inverse_dynamics),
            (robot.forward_dynamics_derivatives(s.q, s.qd, s.qdd), robot.forward_dynamics),
            ((of_frame.da_dq, of_frame.da_dqd, of_frame.J), acceleration)):
        for ours, theirs in zip(found, columns(model, s, function), strict=True):
            assert_near(ours, theirs, scale=1.0, limit=1e-8)


def cam(a, b):
    """Return the position of a follower."""
    return 0.4 * sin(a) + 0.3 * a * b


def uncompiled(robot):
    """Return the same robot, whose slow quantities need not be compiled for one call."""
    return robot.sibling(backend='reference')


def test_second_derivatives(geared):
    """Second derivatives are differences of the first ones."""
    s = State(geared.model, 4)
    found = uncompiled(geared).inverse_dynamics_second_derivatives(s.q, s.qd, s.qdd)
    by_q, by_qd, _ = columns(geared.model, s, lambda *x: np.stack(
        geared.inverse_dynamics_derivatives(*x)))
    for ours, theirs in ((found.d2tau_dq2, by_q[0]), (found.d2tau_dqd_dq, by_q[1]),
                         (found.d2tau_dqd2, by_qd[1]), (found.dH_dq, by_q[2])):
        assert_near(ours, theirs, scale=1.0, limit=1e-8)
    # by velocity and position in either order
    np.testing.assert_allclose(found.d2tau_dqd_dq, np.swapaxes(by_qd[0], 1, 2), atol=1e-7)


def test_operational_space(arm):
    """Derivatives of Lambda and of the bias force are differences of them, for points too."""
    robot, model, s = arm, arm.model, State(arm.model, 8)
    handles = [robot.handle('tool0', point=(0.0, 0.1, 0.2), rows=rbd_ros.POINT)]
    found = uncompiled(robot).operational_space_derivatives(s.q, s.qd, handles)

    def space(q, qd, _):
        at = robot.operational_space(q, qd, handles)
        return np.concatenate([at.Lambda, at.Phi, at.bias[None], at.b[None]])
    by_q, by_qd, _ = columns(model, s, space)
    for ours, theirs in ((found.dLambda_dq, by_q[:3]), (found.dPhi_dq, by_q[3:6]),
                         (found.dbias_dq, by_q[6]), (found.dbias_dqd, by_qd[6]),
                         (found.db_dq, by_q[7]), (found.db_dqd, by_qd[7])):
        assert_near(ours, theirs, scale=1.0, limit=1e-7)


def test_operational_space_of_a_masked_handle(arm):
    """A direction that does not count has no derivative; the others are those without it."""
    s, plain = State(arm.model, 8), uncompiled(arm)
    rows = rbd_ros.POINT
    masked = plain.operational_space_derivatives(s.q, s.qd, [
        arm.handle('tool0', point=(0.0, 0.1, 0.2), rows=rows, mask=[1.0, 0.0, 1.0])])
    fewer = plain.operational_space_derivatives(s.q, s.qd, [
        arm.handle('tool0', point=(0.0, 0.1, 0.2), rows=np.asarray(rows)[[0, 2]])])
    assert not masked.dLambda_dq[1].any() and not masked.dbias_dq[1].any()
    assert_near(masked.dLambda_dq[np.ix_([0, 2], [0, 2])], fewer.dLambda_dq, scale=1.0)
    assert_near(masked.dbias_dq[[0, 2]], fewer.dbias_dq, scale=1.0)
    assert_near(masked.dbias_dqd[[0, 2]], fewer.dbias_dqd, scale=1.0)


def test_what_has_no_derivative_is_refused(geared):
    """A massless joint, a singular pose and a foreign frame are errors that name them."""
    builder = rbd_ros.ModelBuilder('light')
    rod = RigidInertia.from_com(1.0, Vec3(0.2, 0, 0), Sym3.diagonal(0.0, 0.02, 0.02))
    builder.add_body('upper', 'base', Revolute((0, 0, 1)), None, rod)
    builder.add_body('lower', 'upper', Revolute((0, 0, 1)))
    light = rbd_ros.Dynamics(builder.build(), backend='reference')
    with pytest.raises(SingularError, match='"lower_joint".* moves without inertia'):
        light.forward_dynamics_derivatives([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    s = State(geared.model, 1)
    plain = rbd_ros.Dynamics(geared.model, backend='reference')
    with pytest.raises(SingularError, match='the handles .a. cannot be accelerated in every'):
        plain.operational_space_derivatives(s.q, s.qd, 'a')
    with pytest.raises(rbd_ros.RbdError, match='no_such'):
        geared.frame_derivatives(s.q, s.qd, s.qdd, 'no_such')
    nothing = rbd_ros.Dynamics(rbd_ros.ModelBuilder('nothing').build(), backend='reference')
    for name in ('inverse_dynamics_derivatives', 'forward_dynamics_derivatives'):
        assert {x.shape for x in getattr(nothing, name)([], [], [])} == {(0, 0)}


@pytest.mark.parametrize('name, target', [
    ('inverse_dynamics', None), ('forward_dynamics', None), ('pose', 'tool0')])
def test_what_libraries_that_differentiate_are_given(name, target):
    """Changes are those of differences, an input that is left out stands; gradients fit them."""
    rng = np.random.default_rng(3)
    function = Function(rbd_ros.Dynamics(rbd_ros.load_urdf(ARM)), name, target)
    inputs, steps = ([rng.normal(size=shape) for shape in function.shapes] for _ in range(2))
    matrices = function.derivatives(*inputs)
    for left_out in ('', *function.inputs[1:]):
        changes = {each: step for each, step in zip(function.inputs, steps) if each != left_out}
        found = pushed(function.slopes, matrices, changes, np.matmul)
        wanted = derivative(lambda t, changes=changes: function.value(*(
            x + t * changes.get(each, 0.0) for each, x in zip(function.inputs, inputs))))
        assert_near(found, wanted, limit=1e-7)
    gradient = rng.normal(size=function.output)
    slopes = pulled(function.slopes, matrices, gradient,
                    lambda A, v: np.tensordot(v, A, v.ndim))
    whole = pushed(function.slopes, matrices, dict(zip(function.inputs, steps)), np.matmul)
    assert slopes.keys() == set(function.inputs)
    assert np.sum(gradient * whole) == pytest.approx(
        sum(slopes[each] @ step for each, step in zip(function.inputs, steps)), rel=1e-9)
