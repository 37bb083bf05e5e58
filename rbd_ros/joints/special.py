# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Joints beyond Table 4.1: user-defined, driven by time, rack-and-pinion and others (RBDA 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
import math
from typing import NamedTuple

from rbd_ros.compiler import cos, Scalar, sin, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints.axial import angle_about, axis_rotation, Prismatic, whole_turns
from rbd_ros.joints.base import (
    across, couple, dual_complement, followed, Joint, push, Random, unit_axis)
from rbd_ros.joints.compound import Composite
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


class _Definition(NamedTuple):
    """What a user gave to make a joint."""

    nq: int
    nv: int
    type_name: str
    time_dependent: bool
    neutral: tuple[float, ...]
    transform: Callable[[Values, Scalar], Transform]
    subspace: Callable[[Values, Scalar], Sequence[Motion]]
    subspace_rate: Callable[[Values, Values, Scalar], Sequence[Motion]] | None
    drift: Callable[[Values, Scalar], Motion] | None
    drift_rate: Callable[[Values, Values, Scalar], Motion] | None
    constraint_subspace: Callable[[Values, Scalar], Sequence[Force]] | None
    q_dot: Callable[[Values, Values], Values] | None
    locate: Callable[[Transform, Scalar], Values] | None


class UserJoint(Joint):
    """
    A joint defined by functions, which may depend on time (RBDA 4.6).

    Every function takes (q, t) or (q, qd, t), where t may be ignored, and is written with the
    functions of rbd_ros.compiler so that it can be traced. ``verify`` checks whether they agree.

    :param nq: number of position variables.
    :param nv: number of velocity variables.
    :param transform: (q, t) -> X_J.
    :param subspace: (q, t) -> columns of S in F_s coordinates.
    :param subspace_rate: (q, qd, t) -> columns of the apparent derivative of S, whose sum weighted
        with qd enters c_J; leave it out only when S is constant.
    :param drift: (q, t) -> sigma, the velocity at qd = 0 of a time-dependent joint.
    :param drift_rate: (q, qd, t) -> apparent derivative of sigma.
    :param constraint_subspace: (q, t) -> columns of T; by default the dual complement of S.
    :param q_dot: (q, qd) -> derivative of q; by default qd itself.
    :param locate: (X, t) -> position of a transform, which loop joints need.
    :param neutral: position at which the frames coincide; zeros by default.
    :param time_dependent: whether any of the functions uses t; implied by drift.
    :param type_name: name of the joint type in messages.
    """

    def __init__(
        self, nq: int, nv: int, *, transform: Callable[[Values, Scalar], Transform],
        subspace: Callable[[Values, Scalar], Sequence[Motion]],
        subspace_rate: Callable[[Values, Values, Scalar], Sequence[Motion]] | None = None,
        drift: Callable[[Values, Scalar], Motion] | None = None,
        drift_rate: Callable[[Values, Values, Scalar], Motion] | None = None,
        constraint_subspace: Callable[[Values, Scalar], Sequence[Force]] | None = None,
        q_dot: Callable[[Values, Values], Values] | None = None,
        locate: Callable[[Transform, Scalar], Values] | None = None,
        neutral: Sequence[float] | None = None, time_dependent: bool = False,
        type_name: str = 'user',
    ) -> None:
        if q_dot is None and nq != nv:
            raise ModelError(f'{type_name} joint has nq = {nq} and nv = {nv}: give q_dot, the '
                             'derivative of q at a velocity qd')
        if (drift is None) != (drift_rate is None):
            raise ModelError(f'{type_name} joint: give drift and drift_rate together')
        self._own = _Definition(
            nq, nv, type_name, time_dependent or drift is not None,
            (0.0,) * nq if neutral is None else tuple(neutral), transform, subspace,
            subspace_rate, drift, drift_rate, constraint_subspace, q_dot, locate)

    def __eq__(self, other: object) -> bool:
        return type(other) is UserJoint and self._own == other._own

    def __hash__(self) -> int:
        return hash(self._own)

    def __repr__(self) -> str:
        return f'UserJoint({self.nq}, {self.nv}, type_name={self.type_name!r})'

    @property
    def nq(self) -> int:
        """Return the number of position variables."""
        return self._own.nq

    @property
    def nv(self) -> int:
        """Return the number of velocity variables."""
        return self._own.nv

    @property
    def type_name(self) -> str:
        """Name of the joint type."""
        return self._own.type_name

    @property
    def time_dependent(self) -> bool:
        """Whether the joint moves with time by itself."""
        return self._own.time_dependent

    @property
    def additive(self) -> bool:
        """Whether the user left q_dot to be qd."""
        kind = type(self)
        return (self._own.q_dot is None and kind.q_dot is UserJoint.q_dot
                and kind.integrate is UserJoint.integrate)

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return X_J from the user's function."""
        return self._own.transform(q, t)

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return S from the user's function."""
        return tuple(self._own.subspace(q, t))

    def drift(self, q: Values, t: Scalar = 0.0) -> Motion:
        """Return sigma from the user's function."""
        return Motion.zero() if self._own.drift is None else self._own.drift(q, t)

    def bias(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return c_J from the apparent derivatives of S and sigma (RBDA Eq. 3.41)."""
        c = Motion.zero() if self._own.drift_rate is None else self._own.drift_rate(q, qd, t)
        if self._own.subspace_rate is not None:
            for s, rate in zip(self._own.subspace_rate(q, qd, t), qd):
                c = c + s * rate
        return c

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return T from the user's function, or the dual complement of S."""
        given = self._own.constraint_subspace
        return dual_complement(self.subspace(q, t)) if given is None else tuple(given(q, t))

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the position from the user's function."""
        if self._own.locate is None:
            return super().locate(X, t)
        return list(self._own.locate(X, t))

    def q_dot(self, q: Values, qd: Values) -> list[Scalar]:
        """Return the derivative of q."""
        return list(qd) if self._own.q_dot is None else list(self._own.q_dot(q, qd))

    def integrate(self, q: Values, step: Values) -> list[Scalar]:
        """Follow q_dot at the constant velocity ``step`` for unit time (Runge-Kutta)."""
        if self._own.q_dot is None:
            return [a + b for a, b in zip(q, step)]
        for _ in range(4):
            q = followed(self, q, step, 0.25)
        return list(q)

    def difference(self, q0: Values, q1: Values) -> list[Scalar]:
        """Return q1 - q0 where qd is the derivative of q."""
        if self._own.q_dot is not None:
            raise ModelError(f'{self.type_name} joint: the difference of two positions is not '
                             'defined where the user gave q_dot')
        return [b - a for a, b in zip(q0, q1)]

    def normalise(self, start: Values, q: Values) -> list[Scalar]:
        """Return q itself: nothing is known that ties its variables to each other."""
        return list(q)

    def neutral(self) -> list[float]:
        """Return the neutral position that was given."""
        return list(self._own.neutral)

    def random(self, rng: Random) -> list[float]:
        """Return a position reached from the neutral one by a random step."""
        step = [float(rng.uniform(-1.0, 1.0)) for _ in range(self.nv)]
        return [float(x) for x in self.integrate(self.neutral(), step)]
