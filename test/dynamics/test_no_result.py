# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A result that is not finite is never returned: the error says which joint, and what to do."""

import pickle

import numpy as np
import pytest
import rbd_ros
from rbd_ros.compiler import compile as compile_graph, trace
from rbd_ros.compiler.backends import has_llvm
from rbd_ros.dynamics.families.forward_dynamics import FORWARD_DYNAMICS
from rbd_ros.dynamics.kernels import no_result
from rbd_ros.joints import Free, Revolute, Spherical
from rbd_ros.sim.robot import SimulatedRobot
from rbd_ros.spatial import RigidInertia, Sym3, Transform, Vec3, xlt

BACKENDS = ['reference', 'python', *(['llvm'] if has_llvm() else [])]
BODY = RigidInertia.from_com(1.0, Vec3(0.1, 0.2, 0.3), Sym3.diagonal(0.1, 0.2, 0.25))


def with_ball(joint):
    """Return a robot whose first joint has a quaternion."""
    builder = rbd_ros.ModelBuilder('ball')
    builder.add_body('a', 'base', joint, xlt(0.1, 0.0, 0.2), BODY, joint_name='ball')
    return builder.add_body('b', 'a', Revolute(), xlt(0.3, 0.0, 0.0), BODY).build()


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('joint', [Spherical(), Free()], ids=['spherical', 'free'])
def test_quaternions_that_are_none(joint, backend):
    """Zeros, and numbers whose squares vanish; any other length is divided out."""
    model = with_ball(joint)
    robot = rbd_ros.Dynamics(model, backend=backend)
    good = np.array([*joint.neutral(), 0.1])
    good[joint.nq - 4:joint.nq] = 0.1, -0.3, 0.2, 0.9
    x = np.zeros(model.nv)
    calls = [lambda q: robot.gravity(q), lambda q: robot.inverse_dynamics(q, x, x),
             lambda q: robot.forward_dynamics(q, x, x), lambda q: robot.pose(q, 'b'),
             lambda q: robot.gravity(q, out=np.empty(model.nv)),
             lambda q: robot.gravity(np.array([good, q]))]
    for scale in (0.0, 1e-170, 1e-165):
        q = good.copy()
        q[joint.nq - 4:joint.nq] *= scale
        for call in calls:
            with pytest.raises(rbd_ros.NonFiniteError, match='joint "ball" cannot be at q = '):
                call(q)
    expected = [call(good) for call in calls]
    for scale in (1e-150, 1e-3, 1e100):
        q = good.copy()
        q[joint.nq - 4:joint.nq] *= scale
        for call, value in zip(calls, expected, strict=True):
            np.testing.assert_allclose(call(q), value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('backend', BACKENDS)
def test_one_state_of_many(backend):
    """The error names the state, and looks at no other: a batch may be long."""
    model = with_ball(Spherical())
    robot = rbd_ros.Dynamics(model, backend=backend)
    many = np.tile([0.0, 0.0, 0.0, 1.0, 0.1], (20, 1))
    many[13, 3] = 0.0
    with pytest.raises(rbd_ros.NonFiniteError, match=r'gravity \(state 13\): joint "ball"'):
        robot.gravity(many)
    x = np.zeros(4)
    tau = np.zeros((20, 4))
    tau[7] = 1e308
    with pytest.raises(rbd_ros.NonFiniteError, match='"ball" is not finite: some arguments'):
        robot.forward_dynamics(many[0], x, tau)


def test_only_the_state_in_question_is_examined(monkeypatch):
    """Of a batch whose inertia is looked at, one state is: it takes milliseconds for each."""
    model = with_ball(Spherical())
    q, seen = np.tile([0.0, 0.0, 0.0, 1.0, 0.1], (20, 1)), []
    monkeypatch.setattr(no_result, 'massless_joint', lambda *a, at, **k: seen.append(at))
    error = no_result.no_result(model, FORWARD_DYNAMICS, [q], model.inertia, 7)
    assert isinstance(error, rbd_ros.NonFiniteError) and seen == [q[7].tolist()]


def test_a_simulated_robot_is_not_placed_there():
    """A state that is none is refused before anything is integrated."""
    robot = SimulatedRobot(with_ball(Free()))
    with pytest.raises(rbd_ros.NonFiniteError, match='"ball" cannot be placed: joint "ball"'):
        robot.place(np.zeros(8))


@pytest.fixture(scope='module')
def wrist():
    """Return three axes z, y, z of which the last one alone carries mass."""
    builder = rbd_ros.ModelBuilder('wrist')
    builder.add_body('a', 'base', Revolute((0, 0, 1)))
    builder.add_body('b', 'a', Revolute((0, 1, 0)))
    return builder.add_body('c', 'b', Revolute((0, 0, 1)), None, RigidInertia.from_com(
        1.0, Vec3(0.0, 0.0, 0.1), Sym3.diagonal(0.01, 0.02, 0.005))).build()


@pytest.mark.parametrize('backend', BACKENDS)
def test_a_wrist_of_massless_parts(wrist, backend):
    """Where two axes meet there is no acceleration, and near it none that can be trusted."""
    robot = rbd_ros.Dynamics(wrist, backend=backend)
    rng = np.random.default_rng(5)
    tau = np.array([1.0, 2.0, 3.0])
    refused = []
    for angle in (0.0, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 1.0):
        q, qd = np.array([0.3, angle, 0.2]), rng.normal(size=3)
        try:
            for qdd in (robot.forward_dynamics(q, qd, tau),
                        robot.forward_dynamics(q, qd, tau.copy(), out=np.empty(3)),
                        robot.forward_dynamics(np.array([q]), qd, tau)[0]):
                back = rbd_ros.inverse_dynamics(wrist, q, qd, qdd)
                np.testing.assert_allclose(back, tau, atol=1e-5 * max(1.0, np.abs(back).max()))
        except rbd_ros.SingularError as error:
            assert 'wrist' in str(error)
            refused.append(angle)
    assert refused[:2] == [0.0, 1e-9] and max(refused) < 1e-3


@pytest.mark.skipif(not has_llvm(), reason='this machine has no llvmlite')
@pytest.mark.parametrize('size', [1, 3, 70])
def test_kernels_of_others_return_what_they_find(size):
    """The compiler itself knows no forbidden result: a kernel alone may return infinity."""
    kernel = compile_graph(trace(lambda x: {'y': [1.0 / a for a in x], 'z': [x[0] + 1.0]},
                                 {'x': size}), backend='llvm', cache=False)
    x = np.ones(size)
    x[-1] = 0.0
    for _ in range(3):
        y, z = kernel(x)
        assert np.isinf(y[-1]) and np.isfinite(y[:-1]).all() and np.isfinite(z).all()
    out = np.empty(size), np.empty(1)
    assert kernel(x, out=out)[0] is out[0] and np.isinf(out[0][-1])


# --- inertias that are replaced at run time ----------------------------------------------------


def arm(**options):
    """Return two links; the second has a tool frame and another one."""
    builder = rbd_ros.ModelBuilder('arm')
    builder.add_body('upper', 'base', Revolute((0, 1, 0)), None, BODY)
    builder.add_body('lower', 'upper', Revolute((1, 1, 0)), xlt(0.4, 0.0, 0.1), BODY)
    builder.add_frame('tool', 'lower', xlt(0.1, 0.2, 0.3)).add_frame('grip', 'lower')
    return rbd_ros.Dynamics(builder.build(), payload_frames=['tool', 'grip', 'lower'], **options)


def moved(body, place):
    """Return the inertia of a body of which mass, centre and moments are given at a place."""
    m, c, inertia = body
    return Transform.translation(place).inv_apply(RigidInertia.from_com(
        m, Vec3(*c), Sym3.diagonal(*inertia)))


@pytest.mark.parametrize('backend', BACKENDS)
def test_two_payload_frames_of_one_body(backend):
    """Whatever the order of calls, the body has the last inertia given and all payloads."""
    rng = np.random.default_rng(2)
    robot = arm(backend=backend)
    model = robot.model
    places = {name: model.frame(name).placement.r for name in ('tool', 'grip', 'lower')}
    own, loads = model.inertia[2], {}
    replacing = None
    for _ in range(25):
        name = str(rng.choice(list(places)))
        body = rng.uniform(0.5, 2.0), rng.normal(size=3), rng.uniform(1.0, 1.5, 3)
        if rng.uniform() < 0.5:
            robot.set_payload(body[0], body[1], np.diag(body[2]), frame=name)
            loads[name] = moved(body, places[name])
            if replacing == name:
                replacing, own = None, model.inertia[2]
        else:
            robot.set_inertia(name, body[0], body[1], np.diag(body[2]))
            loads.pop(name, None)
            replacing, own = name, moved(body, places[name])
        total = own
        for load in loads.values():
            total = total + load
        builder = rbd_ros.ModelBuilder('same')
        builder.add_body('upper', 'base', Revolute((0, 1, 0)), None, BODY)
        builder.add_body('lower', 'upper', Revolute((1, 1, 0)), xlt(0.4, 0.0, 0.1), total)
        q = rng.normal(size=2)
        expected = rbd_ros.mass_matrix(builder.build(), q)
        np.testing.assert_allclose(robot.mass_matrix(q), expected, rtol=1e-9, atol=1e-9)
    again = pickle.loads(pickle.dumps(robot))
    for each in (robot, again):
        each.set_inertia('tool', 1.0, np.zeros(3), np.eye(3))
    np.testing.assert_allclose(again.mass_matrix(q), robot.mass_matrix(q), rtol=1e-12)


@pytest.mark.parametrize('backend', BACKENDS)
def test_an_inertia_that_was_taken_away(backend):
    """The last joint then moves nothing: forces exist, accelerations do not, till it is back."""
    robot = arm(backend=backend)
    q, x = np.array([0.3, 0.4]), np.zeros(2)
    before = robot.forward_dynamics(q, x, x)
    robot.set_inertia('grip', 0.0, np.zeros(3), np.zeros((3, 3)))
    assert robot.mass_matrix(q)[1, 1] == pytest.approx(0.0, abs=1e-12)
    for call in (lambda: robot.forward_dynamics(q, x, x), lambda: robot.inverse_mass_matrix(q),
                 lambda: robot.kernel('forward_dynamics')):
        with pytest.raises(rbd_ros.SingularError, match='joint "lower_joint" of "arm" moves'):
            call()
    m, c, inertia = BODY.com_form()
    robot.set_inertia('lower', m, c.to_list(), inertia.to_list())
    np.testing.assert_allclose(robot.forward_dynamics(q, x, x), before, rtol=1e-9)
