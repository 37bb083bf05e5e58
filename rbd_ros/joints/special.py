# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joints beyond Table 4.1: rack and pinion, ball in a tube, driven by time (RBDA 4.6, 8.10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import math

from rbd_ros.compiler import cos, Scalar, sin, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints.axial import angle_about, axis_rotation, Prismatic, whole_turns
from rbd_ros.joints.base import Joint
from rbd_ros.joints.compound import Composite
from rbd_ros.joints.directions import across, couple, push, unit_axis
from rbd_ros.joints.multi import Spherical
from rbd_ros.spatial import Force, Mat3, Motion, quaternion, Transform, Vec3


@dataclass(frozen=True)
class RackAndPinion(Joint):
    """
    A pinion (the successor) that rolls along the x axis of the predecessor (RBDA Ex. 4.6).

    Its subspace depends on the position in F_s, which makes it a good test of c_J; the reversed
    joint, with the rack as successor, is a different one.

    :param radius: of the pinion; zero makes a revolute joint about z.
    """

    nq = 1
    nv = 1

    radius: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.radius):
            raise ModelError(f'radius of a pinion must be finite, not {self.radius!r}')
        object.__setattr__(self, 'radius', float(self.radius))

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return rotz(q) xlt(radius q, 0, 0)."""
        turned = axis_rotation((0.0, 0.0, 1.0), q[0])
        return Transform(turned.E, Vec3(self.radius * q[0], 0.0, 0.0))

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the rolling motion, which turns in F_s."""
        c, s = cos(q[0]), sin(q[0])
        return (Motion(Vec3.unit(2), Vec3(self.radius * c, -self.radius * s, 0.0)),)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the angle, with the whole turns that follow from the place on the rack."""
        angle = angle_about((0.0, 0.0, 1.0), X.E)
        return [whole_turns(angle, X.r.x / self.radius) if self.radius else angle]

    def bias(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return the apparent derivative of S times qd."""
        c, s = cos(q[0]), sin(q[0])
        k = self.radius * (qd[0] * qd[0])
        return Motion(Vec3.zero(), Vec3(-s * k, -c * k, 0.0))

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the forces that do no work on the rolling motion."""
        along = self.subspace(q, t)[0].lin
        x, y = Vec3.unit(0), Vec3.unit(1)
        return (couple(x), couple(y), Force(Vec3(0.0, 0.0, -along.x), x),
                Force(Vec3(0.0, 0.0, -along.y), y), push(Vec3.unit(2)))


@dataclass(frozen=True)
class SphereInCylinder(Composite):
    """
    A ball on the successor that slides in a tube of the predecessor (RBDA 8.10).

    It turns freely: q is [distance, quaternion]. In place of a revolute joint that closes a planar
    loop it leaves two constraints of five, those that the plane does not satisfy by itself.

    :param axis: direction of the tube in F_p, any length but zero.
    """

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    joints: tuple[Joint, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        axis = unit_axis(self.axis, 'axis of a sphere-in-cylinder joint')
        object.__setattr__(self, 'axis', axis)
        object.__setattr__(self, 'joints', (Prismatic(self.axis), Spherical()))

    @property
    def type_name(self) -> str:
        """Name of the joint type."""
        return 'sphere in cylinder'

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return distance and quaternion."""
        return [Vec3(*self.axis).dot(X.r), *quaternion.from_rotation(X.E)]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the two forces across the tube, which turns in F_s."""
        return self._across(quaternion.rotation(q[1:]))

    def constraint_at(self, X: Transform, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the two forces across the tube."""
        return self._across(X.E)

    def closure_error(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the displacement of the ball across the tube."""
        return [e.dot(X.r) for e in across(self.axis)]

    def _across(self, E: Mat3) -> tuple[Force, ...]:
        return tuple(push(E @ e) for e in across(self.axis))


@dataclass(frozen=True)
class Prescribed(Joint):
    """
    A joint whose position is a given function of time: no freedom is left, S is 6 x 0.

    :param joint: the joint that is driven.
    :param motion: function of t that returns position, velocity and acceleration of that joint,
        each a sequence of scalars; write it with the functions of rbd_ros.compiler.
    """

    nq = 0
    nv = 0

    joint: Joint
    motion: Callable[[Scalar], tuple[Values, Values, Values]]

    @property
    def type_name(self) -> str:
        """Name of the joint type."""
        return f'prescribed {self.joint.type_name}'

    @property
    def time_dependent(self) -> bool:
        """Whether the joint moves with time by itself: it does."""
        return True

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return the transform of the driven joint at time t."""
        return self.joint.transform(self.motion(t)[0], t)

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return no column."""
        return ()

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return nothing: time alone gives the position."""
        return []

    def drift(self, q: Values, t: Scalar = 0.0) -> Motion:
        """Return sigma, the prescribed velocity."""
        position, rate, _ = self.motion(t)
        return self.joint.velocity(position, rate, t)

    def bias(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return the apparent derivative of sigma, the prescribed acceleration."""
        position, rate, acceleration = self.motion(t)
        c = self.joint.bias(position, rate, t)
        for s, a in zip(self.joint.subspace(position, t), acceleration):
            c = c + s * a
        return c

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return all six directions."""
        return tuple(Force.unit(i) for i in range(6))
