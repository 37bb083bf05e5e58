# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One joint of every kind, for tests; module-level functions so that user joints pickle."""

from __future__ import annotations

from rbd_ros.compiler import cos, sin
from rbd_ros.joints import (
    Composite, Cylindrical, Fixed, Free, Helical, Planar, Prescribed, Prismatic, RackAndPinion,
    Reversed, Revolute, RollPitchYaw, RotationVector, Spherical, Translation, Universal, UserJoint)
from rbd_ros.spatial import AxialScrew, Force, Mat3, Motion, quaternion, Transform, Vec3

RADIUS = 0.4


def swing(t):
    """Return position, velocity and acceleration of a motion prescribed by time."""
    return [0.3 * sin(2.0 * t)], [0.6 * cos(2.0 * t)], [-1.2 * sin(2.0 * t)]


def user_revolute_transform(q, t):
    """Return the transform of a revolute joint about z."""
    return AxialScrew(2, cos(q[0]), sin(q[0]))


def user_revolute_subspace(q, t):
    """Return the axis of a revolute joint about z."""
    return (Motion.unit(2),)


USER_REVOLUTE = UserJoint(1, 1, transform=user_revolute_transform,
                          subspace=user_revolute_subspace, type_name='my revolute')


def lift_transform(q, t):
    """Slide along z by q + sin(t)/2."""
    return Transform.translation(Vec3(0.0, 0.0, q[0] + 0.5 * sin(t)))


def lift_subspace(q, t):
    """Return the slide along z."""
    return (Motion.unit(5),)


def lift_drift(q, t):
    """Return the velocity due to time alone."""
    return Motion(Vec3.zero(), Vec3(0.0, 0.0, 0.5 * cos(t)))


def lift_drift_rate(q, qd, t):
    """Return the acceleration due to time alone."""
    return Motion(Vec3.zero(), Vec3(0.0, 0.0, -0.5 * sin(t)))


RHEONOMIC_LIFT = UserJoint(1, 1, transform=lift_transform, subspace=lift_subspace,
                           drift=lift_drift, drift_rate=lift_drift_rate, type_name='lift')


def rolling_transform(q, t):
    """Return the transform to a ball on the plane z = 0: q is [quaternion, x, y]."""
    return Transform(quaternion.rotation(q[:4]), Vec3(q[4], q[5], RADIUS))


def _normal(q):
    """Return the plane's normal in the ball's coordinates."""
    return quaternion.rotation(q[:4]) @ Vec3(0.0, 0.0, 1.0)


def rolling_subspace(q, t):
    """Return the three ways to roll and spin without slipping: [1; -radius n x]."""
    columns = (_normal(q).skew() * -RADIUS).T.rows
    return tuple(Motion(Vec3.unit(i), Vec3(*columns[i])) for i in range(3))


def rolling_subspace_rate(q, qd, t):
    """Return the apparent derivative of the subspace: n turns by -w x n in the ball."""
    rate = _normal(q).cross(Vec3(*qd))
    columns = (rate.skew() * -RADIUS).T.rows
    return tuple(Motion(Vec3.zero(), Vec3(*columns[i])) for i in range(3))


def rolling_constraint(q, t):
    """Return the contact forces: [-radius n x; 1]."""
    columns = (_normal(q).skew() * -RADIUS).T.rows
    return tuple(Force(Vec3(*columns[i]), Vec3.unit(i)) for i in range(3))


def rolling_rate(q, qd):
    """Return the derivative of [quaternion, x, y]."""
    w = quaternion.rotation(q[:4]).transpose_times(Vec3(*qd))
    return quaternion.rate(q[:4], Vec3(*qd)) + [RADIUS * w.y, -RADIUS * w.x]


ROLLING_BALL = UserJoint(
    6, 3, transform=rolling_transform, subspace=rolling_subspace,
    subspace_rate=rolling_subspace_rate, constraint_subspace=rolling_constraint,
    q_dot=rolling_rate, neutral=(0.0, 0.0, 0.0, 1.0, 0.0, 0.0), type_name='rolling ball')

SIMPLE = [
    Revolute(), Revolute((0.0, -2.0, 0.0)), Revolute((1.0, 2.0, 3.0)), Prismatic(),
    Prismatic((-1.0, 0.0, 0.0)), Prismatic((1.0, 2.0, 3.0)), Helical((1.0, 0.0, 0.0), 0.3),
    Helical((1.0, -1.0, 0.0), 0.1), Cylindrical(), Cylindrical((0.0, 1.0, 1.0)), Planar(),
    Planar((0.0, -1.0, 0.0)), Planar((1.0, 2.0, 2.0)), Translation(), Spherical(), Free(),
    Universal(), Universal((0.0, 1.0, 1.0), (1.0, 2.0, 0.0)), RollPitchYaw(), RotationVector(),
    Fixed()]
SPECIAL = [
    RackAndPinion(0.5), Composite((Planar(), Revolute((1.0, 1.0, 0.0)))), USER_REVOLUTE,
    RHEONOMIC_LIFT, ROLLING_BALL, Prescribed(Prismatic(), swing),
    Composite((Prescribed(Revolute((1.0, 0.0, 0.0)), swing), Prismatic((0.0, 1.0, 0.0)),
               RollPitchYaw()))]
JOINTS = SIMPLE + SPECIAL
EVERY = JOINTS + [Reversed(joint) for joint in JOINTS]
NAMES = [joint.type_name for joint in EVERY]


def matrix_of(E):
    """Return a Mat3 of a NumPy array."""
    return Mat3(E.tolist())
