# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""User-defined, time-dependent, nonholonomic and asymmetric joints (RBDA 3.4, 3.5, 4.4, 4.6)."""

from __future__ import annotations

import math

from joint_samples import (
    lift_drift, lift_drift_rate, lift_subspace, lift_transform, RHEONOMIC_LIFT, ROLLING_BALL,
    rolling_rate, rolling_subspace, rolling_transform, swing, USER_REVOLUTE)
import numpy as np
import pytest
from rbd_ros.compiler import trace
from rbd_ros.errors import ModelError
from rbd_ros.joints import (
    Composite, Cylindrical, Fixed, Helical, Prescribed, Prismatic, Reversed,
    Revolute, RollPitchYaw, Spherical, Universal, UserJoint, verify)
from rbd_ros.spatial import (
    AxialScrew, Force, Motion, rotz, Transform, Vec3)
from spatial_oracle import array, assert_close


@pytest.mark.seed('RBDA 4-32', 'SIXD P28')
def test_user_coded_revolute_is_the_built_in_one():
    """A joint of the user's functions gives what the library's gives, also for T."""
    q, qd = [0.7], [1.1]
    own, built_in = USER_REVOLUTE, Revolute()
    assert own.transform(q) == built_in.transform(q)
    assert own.subspace(q) == built_in.subspace(q)
    assert own.velocity(q, qd) == built_in.velocity(q, qd)
    assert own.bias(q, qd) == built_in.bias(q, qd)
    assert own.integrate(q, qd) == built_in.integrate(q, qd)
    T = np.array([array(f) for f in own.constraint_subspace(q)])
    reference = np.array([array(f) for f in built_in.constraint_subspace(q)])
    assert np.linalg.matrix_rank(np.vstack((T, reference))) == 5     # the same five directions
    assert 'my revolute' in repr(own)
    verify(own, q, qd)


@pytest.mark.seed('RBDA 3-19', 'RBDA 3-20', 'RBDA 3-23')
def test_rheonomic_prismatic_joint():
    """With z = q + zeta(t), sigma is zeta', c_J is zeta'', and the power splits in two."""
    joint, t = RHEONOMIC_LIFT, 0.8
    assert joint.time_dependent and not Prismatic().time_dependent
    assert_close(array(joint.drift([0.3], t)), [0, 0, 0, 0, 0, 0.5 * math.cos(t)])
    assert_close(array(joint.bias([0.3], [0.2], t)), [0, 0, 0, 0, 0, -0.5 * math.sin(t)])
    f = np.random.default_rng(1).normal(size=6)
    v = array(joint.velocity([0.3], [0.2], t))
    tau = array(joint.subspace([0.3], t)[0]) @ f                       # 3.37
    assert f @ v == pytest.approx(f @ array(joint.drift([0.3], t)) + tau * 0.2, rel=1e-13)  # 3.39
    verify(joint, [0.3], [0.2], t)


@pytest.mark.seed('RBDA 4-28', 'RBDA 3-19')
def test_prescribed_motion_leaves_no_freedom():
    """A driven joint has S of 6 x 0 and moves by sigma; in a chain it adds to its neighbour."""
    driven = Prescribed(Prismatic(), swing)
    assert (driven.nq, driven.nv, driven.subspace([], 0.1)) == (0, 0, ())
    assert len(driven.constraint_subspace([])) == 6
    assert_close(array(driven.velocity([], [], 0.3)), [0, 0, 0, 0, 0, 0.6 * math.cos(0.6)])
    assert_close(array(driven.bias([], [], 0.3)), [0, 0, 0, 0, 0, -1.2 * math.sin(0.6)])
    chain = Composite((driven, Prismatic()))
    assert_close(array(chain.transform([0.2], 0.3)),
                 array(Prismatic().transform([0.2 + 0.3 * math.sin(0.6)])))
    assert chain.time_dependent and Reversed(chain).time_dependent
    assert chain.neutral() == [0.0] and driven.type_name == 'prescribed prismatic'
    assert Fixed().velocity([], []) == Motion.zero()


@pytest.mark.seed('RBDA 3-19')
def test_rolling_ball_is_nonholonomic():
    """
    A ball on a plane has 3 velocities and 5 freedoms of position: nq > nv, rolling is a path.

    Rolling about x, then y, and back in the other order does not return the ball: the constraint
    is on velocities alone. It is linear in them, and the contact point does not slip.
    """
    joint = ROLLING_BALL
    assert (joint.nq, joint.nv) == (6, 3)
    q = joint.neutral()
    for step in ([1.0, 0, 0], [0, 1.0, 0], [-1.0, 0, 0], [0, -1.0, 0]):
        q = joint.integrate(q, [float(x) for x in step])
    assert np.abs(np.array(q) - joint.neutral()).max() > 0.05
    q, w = joint.random(np.random.default_rng(2)), [0.4, -0.7, 0.9]
    v = joint.transform(q).inv_apply(joint.velocity(q, w))            # in plane coordinates
    contact = Vec3(q[4], q[5], 0.0)
    assert_close(array(v.lin + v.ang.cross(contact)), np.zeros(3), 1e-12)
    assert_close(array(joint.velocity(q, [2 * x for x in w])), 2 * array(joint.velocity(q, w)))
    verify(joint, q, w)
    with pytest.raises(ModelError, match='rolling ball joint: the difference'):
        joint.difference(q, q)


@pytest.mark.seed('RBDA 4-32')
@pytest.mark.parametrize('change,words', [
    ({'subspace': lambda q, t: (Motion.unit(4),)}, 'velocity disagrees with the derivative'),
    ({'drift_rate': lambda q, qd, t: Motion.zero()}, 'bias disagrees with the apparent'),
    ({'constraint_subspace': lambda q, t: Prismatic((1.0, 0.0, 0.0)).constraint_subspace(q)},
     'constraint_subspace disagrees with subspace')])
def test_verify_names_what_disagrees(change, words):
    """A user joint that contradicts itself is refused with the name of the method."""
    functions = {'transform': lift_transform, 'subspace': lift_subspace, 'drift': lift_drift,
                 'drift_rate': lift_drift_rate}
    joint = UserJoint(1, 1, **{**functions, **change}, type_name='lift')
    with pytest.raises(ModelError, match=f'lift joint: {words}'):
        verify(joint, [0.3], [0.7], 0.8)


def test_verify_compares_a_velocity_of_its_own_with_the_subspace():
    """A joint that computes its velocity itself may still have another S."""
    class Split(Revolute):

        def velocity(self, q, qd, t=0.0):
            return Motion.unit(2) * qd[0]

    verify(Split(), [0.3], [0.7])
    Split.subspace = lambda self, q, t=0.0: (Motion.unit(1),)
    with pytest.raises(ModelError, match='velocity disagrees with subspace and drift by 0.7'):
        verify(Split(), [0.3], [0.7])


def test_incomplete_user_joints_are_refused():
    """What is missing is named: q_dot where nq differs from nv, drift_rate with a drift."""
    with pytest.raises(ModelError, match='ball joint has nq = 6 and nv = 3: give q_dot'):
        UserJoint(6, 3, transform=rolling_transform, subspace=rolling_subspace, type_name='ball')
    with pytest.raises(ModelError, match='give drift and drift_rate together'):
        UserJoint(1, 1, transform=lift_transform, subspace=lift_subspace, drift=lift_drift)
    # a position-dependent S without its derivative is found out
    forgetful = UserJoint(6, 3, transform=rolling_transform, subspace=rolling_subspace,
                          q_dot=rolling_rate, neutral=ROLLING_BALL.neutral())
    q = forgetful.random(np.random.default_rng(3))
    with pytest.raises(ModelError, match='user joint: bias disagrees'):
        verify(forgetful, q, [0.3, 0.5, -0.2])


@pytest.mark.seed('RBDA 4-22', 'SIXD P06')
def test_compound_joints_are_their_chains():
    """Cylindrical, universal and ball joints equal chains of joints without bodies between."""
    q, qd = [0.4, -0.9], [1.2, 0.7]
    chain = Composite((Revolute(), Prismatic()))
    one = Cylindrical()
    for name in ('transform', 'subspace'):
        a, b = getattr(one, name)(q), getattr(chain, name)(q)
        assert_close(array(a), array(b)) if name == 'transform' else [
            assert_close(array(x), array(y)) for x, y in zip(a, b)]
    assert_close(array(one.velocity(q, qd)), array(chain.velocity(q, qd)))
    assert_close(array(chain.bias(q, qd)), np.zeros(6))
    cross = Universal((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    two = Composite((Revolute((1.0, 0.0, 0.0)), Revolute((0.0, 1.0, 0.0))))
    assert_close(array(cross.bias(q, qd)), array(two.bias(q, qd)))
    assert_close(array(cross.transform(q)), array(two.transform(q)))
    angles, rates = [0.3, 0.2, 0.1], [0.5, -0.6, 0.7]
    three = Composite((Revolute(), Revolute((0, 1, 0)), Revolute((1, 0, 0))))
    ball = RollPitchYaw()
    assert_close(array(ball.transform(angles)), array(three.transform(angles[::-1])))
    assert_close(array(ball.bias(angles, rates)), array(three.bias(angles[::-1], rates[::-1])))
    assert ball.integrate(angles, rates) == [a + b for a, b in zip(angles, rates)]
    assert ball.difference(angles, angles) == [0.0] * 3


def test_joints_can_be_traced():
    """Every method of a quaternion joint runs on traced scalars, without branches."""
    ball = Spherical()

    def everything(q0, q1, w):
        return {'E': ball.transform(q0).E.to_list(), 'qd': ball.q_dot(q0, w),
                'q': ball.integrate(q0, w), 'd': ball.difference(q0, q1)}
    graph = trace(everything, {'q0': (4,), 'q1': (4,), 'w': (3,)})
    assert graph.count().trig > 0
    assert graph.count().div > 0


def test_helical_and_reversed_names_tell_the_kind():
    """Names for messages: the type in lower case, with what was done to it."""
    assert Helical(pitch=0.1).type_name == 'helical'
    assert Reversed(Helical(pitch=0.1)).type_name == 'reversed helical'


def rotating(transform, **more):
    """Return a joint that turns about z."""
    return UserJoint(1, 1, transform=transform, subspace=lambda q, t: (Motion.unit(2),), **more)


def test_right_angles_are_exact_only_where_constant():
    """A plain angle near pi/2 is made exact; a traced one keeps its cosine."""
    nearly = 0.5 * math.pi + 1e-12
    assert rotz(nearly).c == 0.0
    graph = trace(lambda q: rotz(q[0]).c, {'q': (1,)})
    assert graph.evaluate([nearly])[0] == math.cos(nearly) != 0.0


@pytest.mark.parametrize(('method', 'joint'), [
    ('transform', rotating(lambda q, t: Transform.translation(Vec3(0.0, 0.0, 0.0)) @ AxialScrew(
        2, math.cos(q[0]), math.sin(q[0])))),
    ('transform', rotating(lambda q, t: rotz(q[0]) if q[0] > 0.0 else rotz(2.0 * q[0]))),
    ('constraint_subspace', rotating(
        lambda q, t: rotz(q[0]),
        constraint_subspace=lambda q, t: [Force.unit(k) * math.exp(q[0]) for k in (0, 1, 3)])),
    ('q_dot', rotating(lambda q, t: rotz(q[0]), q_dot=lambda q, qd: [math.fabs(qd[0])])),
])
def test_verify_refuses_what_cannot_be_compiled(method, joint):
    """What only works on plain floats does not pass; the message names the method."""
    with pytest.raises(ModelError, match=f'user joint: {method} cannot be compiled: .*rbd_ros.c'):
        verify(joint, [0.4], [1.3])


@pytest.mark.parametrize('joint', [
    RHEONOMIC_LIFT, Reversed(RHEONOMIC_LIFT), Composite([RHEONOMIC_LIFT, Revolute()]),
    Prescribed(Revolute(), swing), Reversed(Prescribed(Revolute(), swing))],
    ids=['user', 'reversed', 'composite', 'prescribed', 'reversed prescribed'])
@pytest.mark.parametrize('name', ['transform', 'subspace', 'velocity', 'drift', 'bias'])
def test_without_a_time_it_is_zero(joint, name):
    """A joint that moves by itself is asked for its motion at t = 0 where none is given."""
    q, qd = [0.3] * joint.nq, [0.7] * joint.nv
    arguments = (q, qd) if name in ('velocity', 'bias') else (q,)
    call = getattr(joint, name)
    assert call(*arguments) == call(*arguments, 0.0)
    assert joint.time_dependent and (name == 'subspace' or call(*arguments) != call(
        *arguments, 0.1))
