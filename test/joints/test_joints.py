# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The joint library: what every joint must satisfy (RBDA 3.5, 4.4, 4.5)."""

from __future__ import annotations

import math
import pickle

from joint_samples import EVERY, JOINTS, NAMES, SIMPLE
import numpy as np
import pytest
from rbd_ros.compiler import trace
from rbd_ros.errors import ModelError
from rbd_ros.joints import (
    Composite, Cylindrical, Fixed, Free, Helical, Planar, Prismatic, RackAndPinion, Reversed,
    Revolute, RollPitchYaw, Spherical, Translation, Universal, verify)
from rbd_ros.spatial import Mat3, quaternion, Transform, Vec3
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from spatial_oracle import array, assert_close, columns, crm6, derivative, x6

TIME = 0.4


def state(joint, seed=1):
    """Return a random position and velocity."""
    rng = np.random.default_rng(seed)
    return joint.random(rng), rng.normal(size=joint.nv).tolist(), rng.normal(size=joint.nv)


def path(joint, q, qd, qdd, s):
    """Return position and velocity on the path of velocity qd + qdd s, by Runge-Kutta on q_dot."""
    def rate(x, h):
        return np.array(joint.q_dot(x.tolist(), (np.array(qd) + qdd * h).tolist()))
    x, steps = np.array(q, dtype=float), 4
    h = s / steps
    for k in range(steps if joint.nq else 0):
        t = k * h
        k1 = rate(x, t)
        k2 = rate(x + 0.5 * h * k1, t + 0.5 * h)
        k3 = rate(x + 0.5 * h * k2, t + 0.5 * h)
        k4 = rate(x + h * k3, t + h)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return x.tolist(), (np.array(qd) + qdd * s).tolist()


@pytest.mark.seed('RBDA 4-19', 'RBDA 4-20', 'RBDA 4-21', 'RBDA 4-22', 'RBDA 4-24', 'RBDA 4-26',
                  'RBDA 3-20', 'SIXD P05', 'SIXD C18', reason='one test walks the joint table')
@pytest.mark.parametrize('joint', EVERY, ids=NAMES)
def test_velocity_is_the_derivative_of_the_transform(joint):
    """dX_J/dt = -v_J x X_J with v_J = S qd + sigma, along q_dot and time."""
    q, qd, qdd = state(joint)

    def X(s):
        return array(joint.transform(path(joint, q, qd, qdd, s)[0], TIME + s))
    v = array(joint.velocity(q, qd, TIME))
    assert_close(derivative(X), -crm6(v) @ X(0.0), 1e-9)
    S, sigma = columns(joint.subspace(q, TIME)), array(joint.drift(q, TIME))
    assert S.shape == (6, joint.nv)
    assert_close(v, S @ np.array(qd) + sigma)


@pytest.mark.seed('RBDA 3-24', 'RBDA 4-25', 'RBDA 4-27', 'RBDA 3-25', 'SPENCER 62')
@pytest.mark.parametrize('joint', EVERY, ids=NAMES)
def test_bias_is_the_apparent_derivative(joint):
    """The ring of v_J is S qdd + c_J, also for position- and time-dependent S and sigma."""
    q, qd, qdd = state(joint, 2)

    def velocity(s):
        position, rate = path(joint, q, qd, qdd, s)
        return array(joint.velocity(position, rate, TIME + s))
    S, c_J = columns(joint.subspace(q, TIME)), array(joint.bias(q, qd, TIME))
    ring = derivative(velocity)
    assert_close(ring, S @ qdd + c_J, 1e-9)
    # the implicit form sees the bias alone (3.44, with the predecessor at rest)
    T = columns(joint.constraint_subspace(q, TIME))
    assert_close(T.T @ ring, T.T @ c_J, 1e-9)


@pytest.mark.seed('RBDA 3-17', 'RBDA 3-22', 'SIXD C19', 'RBDA 4-28', 'RBDA 3-21')
@pytest.mark.parametrize('joint', EVERY, ids=NAMES)
def test_constraint_forces_do_no_work(joint):
    """T^T S = 0, dimensions add to six, and T^T v_J = T^T sigma; 6 x 0 matrices are legal."""
    q, qd, _ = state(joint, 3)
    S, T = columns(joint.subspace(q, TIME)), columns(joint.constraint_subspace(q, TIME))
    assert S.shape == (6, joint.nv) and T.shape == (6, 6 - joint.nv)
    assert_close(T.T @ S, np.zeros((6 - joint.nv, joint.nv)))
    assert np.linalg.matrix_rank(T) == 6 - joint.nv
    assert np.linalg.matrix_rank(S) == joint.nv
    assert_close(T.T @ array(joint.velocity(q, qd, TIME)), T.T @ array(joint.drift(q, TIME)))


@pytest.mark.parametrize('joint', EVERY, ids=NAMES)
def test_constraint_subspace_and_its_rate_can_be_traced(joint):
    """[S T] spans all, and the traced rate of T is its difference quotient along the motion."""
    q, qd, _ = state(joint, 3)
    still = np.zeros(joint.nv)

    def T(s):
        return columns(joint.constraint_subspace(path(joint, q, qd, still, s)[0], TIME + s))
    together = np.hstack([columns(joint.subspace(q, TIME)), T(0.0)])
    assert together.shape == (6, 6) and np.linalg.cond(together) < 1e3
    graph = trace(lambda q, qd, t: {
        'T': [f.to_list() for f in joint.constraint_subspace(q, t)],
        'rate': [f.to_list() for f in joint.constraint_rate(q, qd, t)]},
        {'q': (joint.nq,), 'qd': (joint.nv,), 't': ()})
    found = np.reshape(graph.evaluate(q, qd, [TIME]), (2, 6 - joint.nv, 6))
    assert_close(found[0].T, T(0.0))
    assert_close(found[1].T, derivative(T), 1e-8)
    assert_close(found[1].T, columns(joint.constraint_rate(q, qd, TIME)))


def test_dual_complement_of_dependent_columns():
    """Where a column depends on others, what is left still does no work on any of them."""
    gimbal = Composite((Revolute((0.0, 0.0, 1.0)), Revolute((1.0, 0.0, 0.0)),
                        Revolute((0.0, 0.0, 1.0))))
    q = [0.3, 0.0, -0.8]                                    # first and last axis in line
    T = columns(gimbal.constraint_subspace(q))
    assert np.isfinite(T).all() and np.linalg.matrix_rank(T) == 3
    assert_close(T.T @ columns(gimbal.subspace(q)), np.zeros((3, 3)))


@pytest.mark.seed('SIXD P03')
@pytest.mark.parametrize('joint', EVERY, ids=NAMES)
def test_positions_integrate_and_subtract(joint):
    """What integrate does, difference undoes; it follows q_dot; neutral is no displacement."""
    q, qd, _ = state(joint, 4)
    step = (0.4 * np.array(qd)).tolist()
    reached = joint.integrate(q, step)
    assert len(reached) == joint.nq
    if not joint.type_name.endswith('rolling ball'):
        assert_close(joint.difference(q, reached), step, 1e-11)
        assert_close(joint.difference(q, q), np.zeros(joint.nv))
    rate = derivative(lambda s: joint.integrate(q, (np.array(qd) * s).tolist()))
    assert_close(rate, joint.q_dot(q, qd), 1e-9)
    if not joint.time_dependent:
        position = joint.transform(joint.neutral())
        lift = 0.4 if 'rolling' in joint.type_name else 0.0     # a ball rests on its plane
        expected = x6(np.eye(3), [0.0, 0.0, -lift if 'reversed' in joint.type_name else lift])
        assert_close(array(position), expected)
    assert_close(joint.integrate(q, [0.0] * joint.nv), q, 1e-14)


@pytest.mark.seed('RBDA 4-29')
@pytest.mark.parametrize('joint', EVERY, ids=NAMES)
def test_joints_are_values(joint):
    """A joint is its type and parameters: it compares, hashes and pickles."""
    copy = pickle.loads(pickle.dumps(joint))
    assert copy == joint and hash(copy) == hash(joint)
    assert joint != Reversed(joint)
    assert isinstance(joint.type_name, str) and joint.type_name
    assert Helical((0.0, 0.0, 1.0), 0.1) != Helical((0.0, 0.0, 1.0), 0.2)
    with pytest.raises(AttributeError):
        Revolute().axis = (1.0, 0.0, 0.0)


@pytest.mark.seed('RBDA 4-19', 'RBDA 4-20', 'RBDA 4-21', 'RBDA 4-22', 'RBDA 4-26')
def test_table_of_joint_models():
    """Table 4.1 as reconstructed: E, r, S and T about the z axis."""
    q, h = 0.7, 0.3
    c, s = math.cos(q), math.sin(q)
    rz = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    e = np.eye(6)

    def check(joint, position, E, r, S, T):
        X = joint.transform(position)
        assert_close(array(X.E), E)
        assert_close(array(X.r), r)
        assert_close(columns(joint.subspace(position)), np.array(S).reshape(-1, 6).T, 0.0)
        assert_close(columns(joint.constraint_subspace(position)), np.array(T).reshape(-1, 6).T,
                     0.0)
    I3, zero = np.eye(3), [0, 0, 0]
    check(Revolute(), [q], rz, zero, [e[2]], e[[0, 1, 3, 4, 5]])
    check(Prismatic(), [q], I3, [0, 0, q], [e[5]], e[[0, 1, 2, 3, 4]])
    check(Helical(pitch=h), [q], rz, [0, 0, h * q], [e[2] + h * e[5]],
          [e[0], e[1], e[3], e[4], e[5] - h * e[2]])
    check(Cylindrical(), [q, 0.2], rz, [0, 0, 0.2], e[[2, 5]], e[[0, 1, 3, 4]])
    check(Planar(), [q, 0.2, 0.3], rz, [0.2, 0.3, 0], e[[2, 3, 4]], e[[0, 1, 5]])
    check(Spherical(), [0, 0, 0, 1], I3, zero, e[:3], e[3:])
    check(Translation(), [1, 2, 3], I3, [1, 2, 3], e[3:], e[:3])
    check(Free(), [1, 2, 3, 0, 0, 0, 1], I3, [1, 2, 3], e, [])
    check(Fixed(), [], I3, zero, [], e)


@pytest.mark.parametrize('slope', [1e-16, 1e-12, 1e-10, 1e-9, 1.4e-8, 1e-6])
def test_only_an_axis_within_the_angle_for_snapping_is_made_exact(slope):
    """What exporters leave of a zero vanishes; a real slope stays, however its length rounds."""
    joint = Revolute((slope, 0.0, -2.0))
    E = np.array(joint.transform([0.5 * np.pi]).E.rows)
    if slope < 1e-11:
        assert joint.axis == (0.0, 0.0, -1.0) and not E[2, :2].any()
    else:
        assert joint.axis[0] == pytest.approx(0.5 * slope, rel=1e-12)
        # a quarter turn about (u, 0, -w) takes x to (u u, -w, -u w)
        assert E[0, 2] == pytest.approx(-0.5 * slope, rel=1e-6)


@pytest.mark.parametrize('axis', [(0.0, 0.0, 1.0), (0.0, -3.0, 0.0), (1.0, 2.0, -0.5)])
def test_rotation_about_any_axis_is_scipys(axis):
    """E is the transpose of the active rotation about the normalised axis."""
    joint = Revolute(axis)
    unit = np.array(axis) / np.linalg.norm(axis)
    assert_close(joint.axis, unit, 1e-15)
    E = array(joint.transform([0.8]).E)
    assert_close(E, Rotation.from_rotvec(0.8 * unit).as_matrix().T)
    if np.count_nonzero(axis) == 1:
        assert set(np.abs(joint.axis)) == {0.0, 1.0}
        assert np.count_nonzero(E == 0.0) == 4            # exact zeros for the compiler


@pytest.mark.parametrize('make,words', [
    (lambda: Revolute((0.0, 0.0, 0.0)), 'axis of a revolute joint is zero'),
    (lambda: Prismatic((0.0, math.nan, 0.0)), 'axis of a prismatic joint must be three finite'),
    (lambda: Planar((1.0, 0.0)), 'normal of a planar joint must be three finite'),
    (lambda: Universal((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)), 'axis2 of a universal joint is zero'),
    (lambda: Universal((1.0, 0.0, 0.0), (-2.0, 0.0, 0.0)), 'axes of a universal joint are par'),
    (lambda: Composite(()), 'composite joint needs at least one'),
    (lambda: RackAndPinion(math.nan), 'radius of a pinion'),
    (lambda: Helical((0.0, 0.0, 1.0), math.inf), 'pitch of a helical joint must be finite')])
def test_bad_parameters_are_named(make, words):
    """The message names the joint and the parameter."""
    with pytest.raises(ModelError, match=words):
        make()


@pytest.mark.seed('RBDA 4-24', 'RBDA 4-25', 'RBDA 4-33')
def test_ball_joint_in_angles_and_in_quaternions_agree():
    """The same rotation, velocity and acceleration from angles and from Euler parameters."""
    angles, ball = RollPitchYaw(), Spherical()
    q, qd, qdd = [0.4, -0.7, 1.1], [0.3, -1.2, 0.8], np.array([0.5, 0.2, -0.4])
    p = quaternion.from_rotation(angles.transform(q).E)
    assert_close(array(ball.transform(p)), array(angles.transform(q)))
    v = angles.velocity(q, qd)
    w = array(v)[:3].tolist()
    assert_close(array(ball.velocity(p, w)), array(v))
    assert_close(ball.q_dot(p, w), derivative(lambda s: quaternion.from_rotation(
        angles.transform((np.array(q) + s * np.array(qd)).tolist()).E)), 1e-10)
    # w' of the ball joint is what the angles accelerate to: c_J of the ball is zero
    wd = derivative(lambda s: array(angles.velocity(*path(angles, q, qd, qdd, s)))[:3])
    assert_close(wd, columns(angles.subspace(q))[:3] @ qdd + array(angles.bias(q, qd))[:3], 1e-9)
    assert array(ball.bias(p, w)).tolist() == [0.0] * 6


@pytest.mark.seed('RBDA 4-33', 'RBDA 4-24')
def test_euler_parameters_stay_normalised():
    """Zero rotation is (0, 0, 0, 1) here; the length stays 1 through many steps and is ignored."""
    ball = Spherical()
    p = ball.neutral()
    assert p == [0.0, 0.0, 0.0, 1.0]
    assert ball.q_dot(p, [1.0, 2.0, 3.0]) == [0.5, 1.0, 1.5, 0.0]
    for _ in range(1000):
        p = ball.integrate(p, [0.3, -0.2, 0.5])
    assert math.hypot(*p) == pytest.approx(1.0, abs=4e-16)
    turned = Rotation.from_rotvec([300.0, -200.0, 500.0]).as_matrix()
    assert_close(array(ball.transform(p).E), turned.T, 1e-11)       # a thousand roundings
    doubled = [2.0 * x for x in p]
    assert_close(array(ball.transform(doubled).E), array(ball.transform(p).E))
    assert_close(array(ball.transform([-x for x in p]).E), array(ball.transform(p).E))


def test_quaternions_are_those_of_scipy():
    """Rotation, product, logarithm, exponential and the inverse of each agree with SciPy."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        a, b = Rotation.random(random_state=rng), Rotation.random(random_state=rng)
        p, q = a.as_quat().tolist(), b.as_quat().tolist()
        E = quaternion.rotation(p)
        assert_close(array(E), a.as_matrix().T)
        assert_close(np.array(quaternion.from_rotation(E)), a.as_quat(canonical=True), 1e-14)
        assert_close(array(quaternion.rotation(quaternion.product(p, q))), (a * b).as_matrix().T)
        assert_close(array(quaternion.logarithm(p)), a.as_rotvec(), 1e-12)
        turn = quaternion.exponential(Vec3(*a.as_rotvec().tolist()))
        assert_close(array(quaternion.rotation(turn)), a.as_matrix().T)
    for w in ([0.0, 0.0, 0.0], [1e-12, 0.0, 0.0], [math.pi, 0.0, 0.0]):
        back = quaternion.logarithm(quaternion.exponential(Vec3(*w)))
        assert_close(np.abs(array(back)), w, 1e-15)
    half = quaternion.from_rotation(Transform.rotation(quaternion.rotation([1, 0, 0, 0])).E)
    assert half == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.seed('RBDA 4-23', 'RBDA 4-26')
def test_free_and_planar_steps_are_pinocchios():
    """Steps and differences of a free body are those of Pinocchio's free flyer, swapped."""
    pin = pytest.importorskip('pinocchio', reason='the peer "pin" is not installed')
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'free')
    joint, rng = Free(), np.random.default_rng(6)
    for scale in (0.0, 1e-9, 0.5, 1.0):
        q, v = np.array(joint.random(rng)), scale * rng.normal(size=6)
        swapped = np.concatenate((v[3:], v[:3]))
        reached = pin.integrate(model, q, swapped)
        ours = np.array(joint.integrate(q.tolist(), v.tolist()))
        ours[3:] *= np.sign(ours[3:] @ reached[3:])
        assert_close(ours, reached, 1e-11)
        back = pin.difference(model, q, reached)
        # 1e-9: Pinocchio's logarithm is a series near zero
        assert_close(joint.difference(q.tolist(), reached.tolist()),
                     np.concatenate((back[3:], back[:3])), 1e-9)
    # a planar joint is a free one in its plane
    planar = Planar()
    q, step = planar.random(rng), rng.normal(size=3).tolist()
    half = q[0] / 2
    free = Free().integrate([q[1], q[2], 0, 0, 0, math.sin(half), math.cos(half)],
                            [0, 0, step[0], step[1], step[2], 0])
    assert_close(array(planar.transform(planar.integrate(q, step))), array(Free().transform(free)))


@pytest.mark.seed('RBDA 4-31', 'RBDA 4-07')
@pytest.mark.parametrize('joint', JOINTS, ids=[j.type_name for j in JOINTS])
def test_reversed_joint_is_the_inverse_motion(joint):
    """Table 4.2: the inverse transform, and the negative velocity seen from the other body."""
    q, qd, _ = state(joint, 7)
    back = Reversed(joint)
    X = array(joint.transform(q, TIME))
    assert_close(array(back.transform(q, TIME)), np.linalg.inv(X))
    assert_close(array(back.velocity(q, qd, TIME)),
                 -np.linalg.inv(X) @ array(joint.velocity(q, qd, TIME)))
    assert_close(columns(back.subspace(q, TIME)),
                 -np.linalg.inv(X) @ columns(joint.subspace(q, TIME)))
    T = columns(joint.constraint_subspace(q, TIME))
    assert_close(columns(back.constraint_subspace(q, TIME)), X.T @ T)  # with the lost star (E3)
    twice = Reversed(back)
    assert_close(array(twice.transform(q, TIME)), X)
    assert_close(array(twice.bias(q, qd, TIME)), array(joint.bias(q, qd, TIME)))


@pytest.mark.seed('RBDA 4-07')
def test_symmetric_joints_may_be_flipped():
    """Reversing a revolute joint is turning the other way; rack-and-pinion is not symmetric."""
    q, qd = [0.6], [1.3]
    for joint in (Revolute(), Prismatic(), Helical(pitch=0.2)):
        back = Reversed(joint)
        flipped = type(joint)((0.0, 0.0, -1.0), *([0.2] if isinstance(joint, Helical) else []))
        assert_close(array(back.transform(q)), array(flipped.transform(q)))
        assert_close(array(back.velocity(q, qd)), array(flipped.velocity(q, qd)))
    pinion, rack = RackAndPinion(0.5), Reversed(RackAndPinion(0.5))
    assert array(pinion.velocity(q, qd))[4] != 0.0
    assert_close(array(rack.velocity(q, qd))[3:], [-0.5 * 1.3, 0.5 * 0.6 * 1.3, 0.0])
    # no change of sign or direction makes one of the other: the axes of rotation differ
    assert abs(array(rack.transform(q).r)[1]) > 0.1 > abs(array(pinion.transform(q).r)[1])


@pytest.mark.parametrize('joint', SIMPLE, ids=[j.type_name for j in SIMPLE])
def test_random_positions_are_reproducible(joint):
    """The same generator state gives the same position, of nq plain floats."""
    one, two = (joint.random(np.random.default_rng(8)) for _ in range(2))
    assert one == two and len(one) == joint.nq
    assert all(type(x) is float for x in one)
    verify(joint, one, [0.5] * joint.nv)


@pytest.mark.seed('RBDA 4-30', 'RBDA 4-31')
@pytest.mark.parametrize('joint', EVERY, ids=NAMES)
def test_position_and_closure_error_of_a_transform(joint):
    """The third form of jcalc: delta is zero on the joint's own transforms, T^T v_J off them."""
    q, _, _ = state(joint, 9)
    X = joint.transform(q, TIME)
    if 'composite' in joint.type_name or 'user' in joint.type_name or any(
            word in joint.type_name for word in ('my revolute', 'lift', 'rolling')):
        with pytest.raises(ModelError, match='joint cannot find its position from a transform'):
            joint.closure_error(X, TIME)
        return
    found = joint.locate(X, TIME)
    assert_close(array(joint.transform(found, TIME)), array(X))
    T = columns(joint.constraint_subspace(found, TIME))
    assert_close(joint.closure_error(X, TIME), np.zeros(T.shape[1]))
    # displace F_s by a small twist: delta grows by T^T twist
    twist = np.random.default_rng(10).normal(size=6)

    def error(s):
        moved = expm(-crm6(twist) * s) @ array(X)
        E = moved[:3, :3]
        r = -E.T @ moved[3:, :3]
        off = Transform(Mat3(E.tolist()), Vec3(r[2, 1], r[0, 2], r[1, 0]))
        return np.array(joint.closure_error(off, TIME))
    assert_close(derivative(error), T.T @ twist, 1e-8)


@pytest.mark.parametrize('pitch', [0.3, -0.05])
@pytest.mark.parametrize('angle', [0.4, 3.0, 3.3, -3.3, 7.0, -20.0, 100.0])
def test_screw_is_located_with_its_turns(pitch, angle):
    """The distance along the axis shows how many turns a screw has made, in either direction."""
    for joint in (Helical((0.0, 0.6, 0.8), pitch), RackAndPinion(pitch)):
        assert joint.locate(joint.transform([angle]))[0] == pytest.approx(angle, abs=1e-12)
    # a gap along the axis of less than half a turn's advance does not change the count
    screw = Helical((0.0, 0.0, 1.0), pitch)
    X = screw.transform([angle])
    off = Transform(X.E, X.r + Vec3(0.0, 0.0, 0.4 * 2.0 * math.pi * pitch))
    assert screw.locate(off)[0] == pytest.approx(angle, abs=1e-12)
    off = Transform(X.E, X.r + Vec3(0.0, 0.0, 0.6 * 2.0 * math.pi * pitch))
    assert screw.locate(off)[0] == pytest.approx(angle + 2.0 * math.pi, abs=1e-12)
