# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Quantities that a user declares, and inertias of chosen bodies as inputs."""

import pickle

import numpy as np
from peer import load_pinocchio
import pinocchio as pin
import pytest
import rbd_ros
from rbd_ros.compiler import sin
from rbd_ros.dynamics.kernels import builder
from rbd_ros.dynamics.table import TABLE
from rbd_ros.model.positions import random_position
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.samples import families

ARM = 'package://rbd_ros/urdf/seven_joint_arm.urdf'
BACKENDS = ['llvm', 'python', 'reference']


@pytest.fixture(scope='module')
def model():
    """Return a small tree of many joint types."""
    return families.random_tree(4, 2)


@pytest.fixture
def compiled(monkeypatch):
    """Return the names of the graphs that are traced from now on."""
    names, real = [], builder.trace

    def trace(*arguments, name, **options):
        names.append(name)
        return real(*arguments, name=name, **options)
    monkeypatch.setattr(builder, 'trace', trace)
    return names


def some_state(model, count=None, seed=0):
    """Return positions, velocities and accelerations of one state or of many."""
    rng = np.random.default_rng(seed)
    leading = () if count is None else (count,)
    q = np.array([random_position(model, rng) for _ in range(count or 1)])
    return (q if count else q[0],
            *(rng.normal(size=(*leading, model.nv)) for _ in range(2)))


def law(s):
    """Return torques of a computed-torque law with run-time gains, and what they waste."""
    want = [k * (r - v) for k, r, v in zip(s.inputs['gain'], s.inputs['speed'], s.inputs['qd'])]
    tau = s.compute('inverse_dynamics', qdd=want)
    late = sin(s.conditions.t)
    power = sum(t * v for t, v in zip(tau, s.inputs['qd']))
    return {'tau': [t + late for t in tau], 'power': [power]}


def with_law(model, backend):
    """Return a robot that knows the law above, and the law."""
    robot = rbd_ros.Dynamics(model, backend=backend, payload_frame=model.body_names[-1])
    return robot, robot.define(
        'law', inputs=['q', 'qd', 'speed', 'gain'], rule=law,
        shapes={'speed': (model.nv,), 'gain': (model.nv,)}, meaning='a law')


# --- define -----------------------------------------------------------------------------------


@pytest.mark.parametrize('backend', BACKENDS)
def test_a_defined_quantity_is_like_any_other(model, backend):
    """One state, batches, out=, bind and kernel agree with NumPy around inverse dynamics."""
    robot, call = with_law(model, backend)
    robot.set_gravity([0.3, -0.2, -9.5])
    robot.set_payload(2.0, [0.1, 0.0, 0.2], np.diag([0.02, 0.03, 0.04]))
    robot.set_time(0.7)
    q, qd, speed = some_state(model, 3)
    gain = np.arange(1.0, model.nv + 1.0)
    qdd = gain * (speed - qd)
    torque = robot.inverse_dynamics(q, qd, qdd)
    expected = torque + np.sin(0.7), np.sum(torque * qd, axis=1, keepdims=True)
    scale = np.abs(torque).max()
    for found, right in zip(call(q, qd, speed, gain), expected):
        np.testing.assert_allclose(found, right, atol=1e-11 * scale)
    out = [np.empty(model.nv), np.empty(1)]
    robot.compute('law', q[1], qd[1], speed[1], gain, out=out)
    bound = robot.bind('law')
    for name, value in (('q', q[1]), ('qd', qd[1]), ('speed', speed[1]), ('gain', gain)):
        bound.inputs[name][:] = value
    bound()
    for name, given, right in zip(('tau', 'power'), out, expected):
        np.testing.assert_allclose(given, right[1], atol=1e-11 * scale)
        np.testing.assert_allclose(bound.outputs[name], right[1], atol=1e-11 * scale)
    with pytest.raises(rbd_ros.ShapeError, match='gain has shape'):
        call(q[0], qd[0], speed[0], gain[1:])
    with pytest.raises(rbd_ros.NonFiniteError, match=r'speed\[0\] is nan'):
        call(q[0], qd[0], np.full(model.nv, np.nan), gain)


def test_run_time_inputs_of_a_defined_quantity_compile_nothing(model, compiled):
    """Gravity, payload, time and gains change what it returns; it is traced once."""
    robot, call = with_law(model, 'python')
    q, qd, speed = some_state(model)
    seen = [call(q, qd, speed, np.ones(model.nv))[0]]
    for change in (lambda: robot.set_gravity([1.0, 0.0, 0.0]), lambda: robot.set_time(1.0),
                   lambda: robot.set_payload(1.0, [0.1, 0.2, 0.3], np.eye(3))):
        change()
        seen.append(call(q, qd, speed, np.ones(model.nv))[0])
    seen.append(call(q, qd, speed, np.full(model.nv, 2.0))[0])
    for one, two in zip(seen, seen[1:]):
        assert np.abs(one - two).max() > 1e-3
    assert compiled == ['law']


def test_defined_quantities_of_frames_and_handles(model):
    """A rule finds its frame or handles in the state, and calls name them."""
    robot = rbd_ros.Dynamics(model, backend='python')
    name = model.body_names[-1]
    robot.define('speed_at', inputs=['q', 'qd'], target='frame', rule=lambda s: {
        'v': s.compute('velocity', s.target.name)})
    robot.define('felt', inputs=['q', 'qd'], target='handles', rule=lambda s: {
        'm': [1.0 / s.compute('projection', s.target)['Phi'][0][0]]})
    q, qd, _ = some_state(model)
    np.testing.assert_array_equal(robot.compute('speed_at', q, qd, target=name),
                                  robot.velocity(q, qd, name))
    for point in ((0.0, 0.0, 0.0), (0.1, 0.2, 0.0)):
        handle = robot.handle(name, point=point, rows=[(0.3, 0.0, 0.0, 1.0, 0.0, 0.5)])
        Lambda = robot.operational_space(q, qd, handle).Lambda
        assert robot.compute('felt', q, qd, target=[handle])[0] == pytest.approx(Lambda[0, 0])


def test_several_rules_and_derivatives(model):
    """The cheaper of two rules is compiled; rules for derivatives make a second quantity."""
    def slow(s):
        return {'y': [sin(x) * sin(x) + x - sin(x) * sin(x) for x in s.inputs['q']]}

    def slope(s):
        n = len(s.inputs['q'])
        return {'dy_dq': [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]}
    robot = rbd_ros.Dynamics(model, backend='python')
    robot.define('same', inputs=['q'], derivative=slope, rule={
        'slow': slow, 'fast': lambda s: {'y': list(s.inputs['q'])}})
    assert robot.methods('same') == ('slow', 'fast')
    assert robot.kernel('same').count().total == 0
    assert robot.kernel('same', method='slow').count().total > 0
    q, *_ = some_state(model)
    np.testing.assert_array_equal(robot.compute('same_derivatives', q), np.eye(model.nq))


def ratio(s):
    """Divide by an input: a rule that a pickle finds by name."""
    return {'y': [s.inputs['q'][0] / s.inputs['by'][0]]}


def test_definitions_survive_pickling(model):
    """A robot comes back with its quantities, payload and gravity."""
    robot = rbd_ros.Dynamics(model, backend='reference', payload_frames=model.body_names[1:3])
    robot.define('ratio', inputs=['q', 'by'], rule=ratio, shapes={'by': (1,)})
    robot.set_payload(1.0, [0.1, 0.0, 0.0], np.eye(3), frame=model.body_names[2])
    copy = pickle.loads(pickle.dumps(robot))
    q, *_ = some_state(model)
    assert copy.compute('ratio', q, [4.0])[0] == q[0] / 4.0
    np.testing.assert_array_equal(copy.gravity(q), robot.gravity(q))
    with pytest.raises(rbd_ros.SingularError, match='ratio of ".*" divides by zero'):
        copy.compute('ratio', q, [0.0])


@pytest.mark.parametrize('options,message', [
    ({'name': 'two words'}, "cannot be named 'two words'"),
    ({'name': 'gravity'}, '"gravity" is a quantity of the library'),
    ({'rule': 3}, 'rule "rule" of mine is 3: it must be a function'),
    ({'rule': {}}, 'mine has no rule'),
    ({'inputs': ['q', 'gain']}, 'input gain of mine is not known: give its shape'),
    ({'shapes': {'qd': (2,)}}, 'declares the shape of qd, which every robot knows'),
    ({'target': 'tool'}, "target of mine is 'tool'; it is one of robot, frame, handles"),
    ({'environment': ['wind']}, "environment of mine holds 'wind'"),
])
def test_refused_declarations(model, options, message):
    """The message names the quantity and what is wrong."""
    robot = rbd_ros.Dynamics(model, backend='python')
    given = {'name': 'mine', 'inputs': ['q'], 'rule': lambda s: {'y': [0.0]}, **options}
    with pytest.raises(rbd_ros.RbdError, match=message):
        robot.define(given.pop('name'), **given)


@pytest.mark.parametrize('rule,message', [
    (lambda s: [1.0], 'the rule of mine returned list: it must return its results by name'),
    (lambda s: {'y': s.compute('bias')}, 'bias needs qd, which this state has not'),
    (lambda s: {'y': s.compute('jacobian')}, 'jacobian needs the name of a frame'),
    (lambda s: {'y': s.compute('speed')}, 'no quantity "speed"'),
])
def test_rules_that_fail(model, rule, message):
    """What a rule asks for in vain, or returns wrongly, is said when it is first used."""
    for backend in ('python', 'reference'):
        mine = rbd_ros.Dynamics(model, backend=backend).define('mine', inputs=['q'], rule=rule)
        with pytest.raises(rbd_ros.RbdError, match=message):
            mine(some_state(model)[0])


def test_every_row_of_the_table_says_what_it_is():
    """Names, inputs, targets and meanings are complete."""
    for name, row in TABLE.items():
        assert row.name == name and row.meaning and (row.rules or row.loops.rules)


# --- handles as inputs ------------------------------------------------------------------------


def assert_masked(whole, part, mask):
    """Check that an operational space holds another one where a mask is 1, else zeros."""
    on = np.flatnonzero(mask)
    for name in ('Lambda', 'Phi'):
        expected = np.zeros((len(mask), len(mask)))
        expected[np.ix_(on, on)] = getattr(part, name)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(getattr(whole, name), expected, atol=1e-9 * scale)
    for name, axis in (('J', 0), ('bias', 0), ('b', 0), ('J_bar', 1)):
        found, right = (np.moveaxis(getattr(x, name), axis, 0) for x in (whole, part))
        expected = np.zeros_like(found)
        expected[on] = right
        np.testing.assert_allclose(found, expected, atol=1e-9 * max(1.0, np.abs(right).max()))
    assert whole.condition == pytest.approx(part.condition, rel=1e-6)


@pytest.mark.parametrize('names,compile_once', [
    (['body_3', 'body_4'], 'operational_space'), (['body_2', 'body_3', 'body_4'], 'projection')])
def test_masks_points_and_rows_compile_nothing(names, compile_once, compiled):
    """A masked operational space is that of the rest, by one kernel for every mask and point."""
    model = families.random_tree(6, 1, joints=('revolute', 'spherical'))
    robot = rbd_ros.Dynamics(model, backend='python')
    q, qd, _ = some_state(model)
    rng = np.random.default_rng(5)
    n = 3 * len(names)
    cases = [np.ones(n)] + [rng.permutation(np.arange(n) < k).astype(float) for k in (2, n - 2)]
    found = []
    for mask in cases:
        points, rows = rng.normal(size=(len(names), 3)), rng.normal(size=(n, 6))
        parts = [slice(3 * k, 3 * k + 3) for k in range(len(names))]
        space = robot.operational_space(q, qd, [
            robot.handle(name, point=point, rows=rows[part], mask=mask[part])
            for name, point, part in zip(names, points, parts)], max_condition=1e9)
        found.append((space, points, rows, parts))
    assert len(compiled) == len(TABLE[compile_once].of(model, names).rules)     # and no more
    assert compiled[0].startswith(compile_once)
    for mask, (space, points, rows, parts) in zip(cases, found):
        left = [robot.handle(name, point=point, rows=rows[part][mask[part] == 1.0])
                for name, point, part in zip(names, points, parts) if mask[part].any()]
        assert_masked(space, robot.operational_space(q, qd, left, max_condition=1e9), mask)


def test_bound_masks_are_switched_by_writing(model):
    """A bound kernel's mask is an array; one direction is left, then another."""
    robot = rbd_ros.Dynamics(model, backend='python')
    name = model.body_names[-1]
    q, qd, _ = some_state(model)
    bound = robot.bind('operational_space', robot.handle(name, rows=rbd_ros.POINT, mask=[1, 0, 0]))
    bound.inputs['q'][:], bound.inputs['qd'][:] = q, qd
    for axis in range(3):
        bound.inputs['mask'][:] = np.eye(3)[axis]
        bound()
        one = robot.operational_space(q, qd, robot.handle(name, rows=rbd_ros.POINT[axis:axis + 1]))
        expected = np.zeros((3, 3))
        expected[axis, axis] = one.Lambda[0, 0]
        np.testing.assert_allclose(bound.outputs['Lambda'], expected, rtol=1e-9)


def test_wrong_masks_are_refused(model):
    """A mask has 0 or 1 for each direction, and leaves at least one."""
    robot = rbd_ros.Dynamics(model, backend='python')
    name = model.body_names[-1]
    q, qd, _ = some_state(model)
    with pytest.raises(rbd_ros.ShapeError, match='mask has shape'):
        robot.handle(name, rows=rbd_ros.POINT, mask=[1, 0])
    with pytest.raises(rbd_ros.RbdError, match='each entry must be 0 or 1'):
        robot.handle(name, rows=rbd_ros.POINT, mask=[1, 0, 0.5])
    nothing = robot.handle(name, rows=rbd_ros.POINT, mask=[0, 0, 0])
    with pytest.raises(rbd_ros.RbdError, match='at least one frame or handle with a direction'):
        robot.operational_space(q, qd, nothing)


# --- inertias as inputs -----------------------------------------------------------------------


def pinocchio_inertia(mass, com, inertia):
    """Return a rigid body of Pinocchio's."""
    return pin.Inertia(mass, np.array(com), np.array(inertia))


def test_chosen_bodies_against_pinocchio(compiled):
    """Payloads and replaced inertias of three bodies act as Pinocchio's changed model does."""
    path = find_resource(ARM)
    model, peer = rbd_ros.load_urdf(path), load_pinocchio(path)
    bodies = [model.body_names[i] for i in (2, 5, 7)]
    robot = rbd_ros.Dynamics(model, payload_frames=[*bodies[:2], 'tool0'])
    rng = np.random.default_rng(4)
    traced = None
    for _ in range(2):
        q, qd, x = (rng.normal(size=7) for _ in range(3))
        changed = peer.copy()
        changed.armature = np.array(model.rotor_inertia)        # which Pinocchio does not read
        for k, name in enumerate((*bodies[:2], 'tool0')):
            mass, com = rng.uniform(0.5, 3.0), rng.normal(size=3)
            A = rng.normal(size=(3, 3))
            I = A @ A.T
            i = model.frame(name).body
            new = pinocchio_inertia(mass, com, I)
            if k == 0:
                robot.set_inertia(name, mass, com, I)
                changed.inertias[i] = new
                continue
            robot.set_payload(mass, com, I, frame=name)
            place = model.frame(name).placement
            M = pin.SE3(np.array(place.E.rows).T, np.array(list(place.r)))
            changed.inertias[i] += M.act(new)
        data = changed.createData()
        H = pin.crba(changed, data, q)
        H = np.triu(H) + np.triu(H, 1).T
        for found, right in (
                (robot.inverse_dynamics(q, qd, x), pin.rnea(changed, data, q, qd, x)),
                (robot.mass_matrix(q), H),
                (robot.gravity(q), pin.computeGeneralizedGravity(changed, data, q)),
                (robot.forward_dynamics(q, qd, x), pin.aba(changed, data, q, qd, x))):
            np.testing.assert_allclose(found, right, atol=1e-10 * np.abs(right).max())
        assert traced in (None, len(compiled))
        traced = len(compiled)


def test_payload_frames_are_named(model):
    """Which payload is meant must be said where there are several."""
    one, two = model.body_names[1:3]
    robot = rbd_ros.Dynamics(model, backend='reference', payload_frames=[one, two])
    load = 1.0, [0.0, 0.0, 0.0], np.zeros((3, 3))
    with pytest.raises(rbd_ros.RbdError, match=f'payloads at {one}, {two}: give frame='):
        robot.set_payload(*load)
    with pytest.raises(rbd_ros.UnknownName, match='no payload frame "elsewhere"'):
        robot.set_payload(*load, frame='elsewhere')
    for options, message in (({'payload_frame': one, 'payload_frames': [two]}, 'not both'),
                             ({'payload_frames': one}, 'give a list of names'),
                             ({'payload_frames': [one, one]}, 'names a frame twice')):
        with pytest.raises(rbd_ros.RbdError, match=message):
            rbd_ros.Dynamics(model, **options)
