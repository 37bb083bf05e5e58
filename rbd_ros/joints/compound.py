# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joints in series without bodies between them: universal, roll-pitch-yaw, any chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbd_ros.compiler import atan2, Scalar, sqrt, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints.axial import Revolute, UNITS
from rbd_ros.joints.base import Joint, Random
from rbd_ros.joints.directions import couple, dual_complement, push, unit_axis
from rbd_ros.spatial import Force, LinkTransform, Motion, Transform, Vec3

# square of the sine below which two axes count as parallel
PARALLEL = 1.0e-16


class _Chain(Joint):
    """Joints in series without mass between them; the first one sits on the predecessor."""

    __slots__ = ()

    @property
    def stages(self) -> tuple[Joint, ...]:
        """Return the joints in series, first the one next to the predecessor."""
        raise NotImplementedError

    @property
    def nq(self) -> int:
        """Return the number of position variables."""
        return sum(joint.nq for joint in self.stages)

    @property
    def nv(self) -> int:
        """Return the number of velocity variables."""
        return sum(joint.nv for joint in self.stages)

    @property
    def time_dependent(self) -> bool:
        """Whether any stage moves with time by itself."""
        return any(joint.time_dependent for joint in self.stages)

    @property
    def additive(self) -> bool:
        """Whether the positions of every stage simply add up."""
        return all(joint.additive for joint in self.stages)

    def _split(self, q: Values) -> list[Values]:
        return _cut(q, [joint.nq for joint in self.stages])

    def _split_velocity(self, qd: Values) -> list[Values]:
        return _cut(qd, [joint.nv for joint in self.stages])

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return the product of the stages' transforms, applied one after the other."""
        steps: list[Transform] = []
        for joint, part in zip(self.stages, self._split(q)):
            X = joint.transform(part, t)
            steps.extend(X.vector_steps if isinstance(X, LinkTransform) else (X,))
        return steps[0] if len(steps) == 1 else LinkTransform(tuple(steps))

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the columns of every stage, carried to the successor frame."""
        columns: list[Motion] = []
        for joint, part in zip(self.stages, self._split(q)):
            X = joint.transform(part, t)
            columns = [X @ s for s in columns]
            columns.extend(joint.subspace(part, t))
        return tuple(columns)

    def velocity(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return the sum of the stages' velocities."""
        return self._sweep(q, qd, t)[0]

    def drift(self, q: Values, t: Scalar = 0.0) -> Motion:
        """Return the velocity at qd = 0."""
        return self._sweep(q, [0.0] * self.nv, t)[0]

    def bias(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return the acceleration at zero second derivatives, by the recursion of RBDA 5.16."""
        return self._sweep(q, qd, t)[1]

    def _sweep(self, q: Values, qd: Values, t: Scalar) -> tuple[Motion, Motion]:
        v, c = Motion.zero(), Motion.zero()
        for joint, part, rate in zip(self.stages, self._split(q), self._split_velocity(qd)):
            X = joint.transform(part, t)
            v_J = joint.velocity(part, rate, t)
            v = X @ v + v_J
            c = X @ c + joint.bias(part, rate, t) + v.cross(v_J)
        return v, c

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the dual complement of S."""
        return dual_complement(self.subspace(q, t))

    def q_dot(self, q: Values, qd: Values) -> list[Scalar]:
        """Return the derivative of q, stage by stage."""
        return [x for joint, part, rate in zip(self.stages, self._split(q),
                                               self._split_velocity(qd))
                for x in joint.q_dot(part, rate)]

    def integrate(self, q: Values, step: Values) -> list[Scalar]:
        """Move every stage by its part of the step."""
        return [x for joint, part, rate in zip(self.stages, self._split(q),
                                               self._split_velocity(step))
                for x in joint.integrate(part, rate)]

    def difference(self, q0: Values, q1: Values) -> list[Scalar]:
        """Return the steps of all stages."""
        return [x for joint, a, b in zip(self.stages, self._split(q0), self._split(q1))
                for x in joint.difference(a, b)]

    def neutral(self) -> list[float]:
        """Return the neutral positions of all stages."""
        return [x for joint in self.stages for x in joint.neutral()]

    def random(self, rng: Random) -> list[float]:
        """Return random positions of all stages."""
        return [x for joint in self.stages for x in joint.random(rng)]


def _cut(values: Values, sizes: Sequence[int]) -> list[Values]:
    parts, start = [], 0
    for size in sizes:
        parts.append(values[start:start + size])
        start += size
    return parts


@dataclass(frozen=True)
class Composite(_Chain):
    """
    Any joints in series, without bodies between them.

    :param joints: at least one, first the one next to the predecessor.
    """

    joints: tuple[Joint, ...]

    def __post_init__(self) -> None:
        if not self.joints:
            raise ModelError('a composite joint needs at least one joint')
        object.__setattr__(self, 'joints', tuple(self.joints))

    @property
    def stages(self) -> tuple[Joint, ...]:
        """Return the joints in series."""
        return self.joints

    def normalise(self, start: Values, q: Values) -> list[Scalar]:
        """Return the valid positions of all stages."""
        return [x for joint, a, b in zip(self.stages, self._split(start), self._split(q))
                for x in joint.normalise(a, b)]


@dataclass(frozen=True)
class Universal(_Chain):
    """
    Two rotations: by q0 about axis1 of the predecessor, then by q1 about axis2 of the successor.

    :param axis1: direction in F_p.
    :param axis2: direction in F_s; it must not be parallel to axis1.
    """

    axis1: tuple[float, float, float] = (1.0, 0.0, 0.0)
    axis2: tuple[float, float, float] = (0.0, 1.0, 0.0)

    def __post_init__(self) -> None:
        for name in ('axis1', 'axis2'):
            axis = unit_axis(getattr(self, name), f'{name} of a universal joint')
            object.__setattr__(self, name, axis)
        normal = Vec3(*self.axis1).cross(Vec3(*self.axis2))
        if normal.dot(normal) < PARALLEL:
            raise ModelError('the axes of a universal joint are parallel; use Revolute')

    @property
    def stages(self) -> tuple[Joint, ...]:
        """Return the two rotations."""
        return Revolute(self.axis1), Revolute(self.axis2)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return both angles: the first turns axis2 in F_p, the second axis1 in F_s."""
        one, two = Vec3(*self.axis1), Vec3(*self.axis2)
        return [_angle_between(two, X.E.transpose_times(two), one),
                -_angle_between(one, X.E @ one, two)]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the couple across both axes and all forces."""
        one, two = self.subspace(q, t)
        return (couple(one.ang.cross(two.ang)), *(push(e) for e in UNITS))


def _angle_between(a: Vec3, b: Vec3, axis: Vec3) -> Scalar:
    """Return the angle about a unit axis from a to b, both taken across the axis."""
    return atan2(axis.dot(a.cross(b)), a.dot(b) - axis.dot(a) * axis.dot(b))


@dataclass(frozen=True)
class RollPitchYaw(_Chain):
    """
    A ball joint in angles: q is [roll, pitch, yaw] as in URDF (RBDA Eqs. 4.7 to 4.9).

    F_s is reached by yaw about z, then pitch about y, then roll about x. qd are the derivatives
    of q. At a pitch of +-90 degrees the angles are singular: use Spherical where that can happen.
    """

    @property
    def stages(self) -> tuple[Joint, ...]:
        """Yaw, pitch and roll, in the order in which they turn the frame."""
        return (Revolute((0.0, 0.0, 1.0)), Revolute((0.0, 1.0, 0.0)), Revolute((1.0, 0.0, 0.0)))

    def _split(self, q: Values) -> list[Values]:
        return [q[2:3], q[1:2], q[0:1]]

    def _split_velocity(self, qd: Values) -> list[Values]:
        return self._split(qd)

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the columns of roll, pitch and yaw (RBDA Eq. 4.8)."""
        return super().subspace(q, t)[::-1]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the three forces through the centre."""
        return tuple(push(e) for e in UNITS)

    def closure_error(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the displacement of the centre, in F_s."""
        return [*(X.E @ X.r)]

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return roll, pitch and yaw, the pitch within a quarter turn."""
        (e11, e12, e13), (_, _, e23), (_, _, e33) = X.E.rows
        return [atan2(e23, e33), atan2(-e13, sqrt(e11 * e11 + e12 * e12)), atan2(e12, e11)]

    # Its angles add up like those of a single joint, unlike those of its stages.
    q_dot, integrate, difference = Joint.q_dot, Joint.integrate, Joint.difference
