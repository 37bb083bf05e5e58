# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The interface of every joint (RBDA 3.5 and 4.4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
import math
from typing import Protocol

from rbd_ros.compiler import Expr, jvp, Scalar, trace, Values
from rbd_ros.errors import ModelError
from rbd_ros.spatial import Force, Motion, small_motion, Transform

#: Columns of S or T, of q and time.
Columns = Callable[[Values, Scalar], Sequence[Motion | Force]]


class Random(Protocol):
    """The part of numpy.random.Generator that joints use."""

    def uniform(self, low: float, high: float) -> float:
        """Return one uniformly distributed number."""

    def normal(self) -> float:
        """Return one normally distributed number."""


class Joint(ABC):
    """
    A joint: how its successor frame F_s moves in its predecessor frame F_p.

    Vectors are in F_s coordinates. ``q`` holds nq position variables, ``qd`` the nv velocity
    variables, which are not the derivatives of q for every joint (see q_dot). All methods but
    random are generic over floats and traced scalars. ``t`` matters to time-dependent joints only.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def nq(self) -> int:
        """Return the number of position variables."""

    @property
    @abstractmethod
    def nv(self) -> int:
        """Return the number of velocity variables: degrees of freedom."""

    @property
    def type_name(self) -> str:
        """Name of the joint type in lower case."""
        return type(self).__name__.lower()

    @property
    def time_dependent(self) -> bool:
        """Whether the joint moves with time by itself (rheonomic, RBDA 3.4)."""
        return False

    @property
    def additive(self) -> bool:
        """Whether q_dot is qd, so that positions simply add up."""
        kind = type(self)
        return kind.q_dot is Joint.q_dot and kind.integrate is Joint.integrate

    @abstractmethod
    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return X_J, the transform from F_p to F_s coordinates."""

    @abstractmethod
    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace matrix S."""

    def velocity(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return v_J = S qd + sigma (RBDA Eq. 3.33)."""
        v = self.drift(q, t)
        for s, rate in zip(self.subspace(q, t), qd):
            v = v + s * rate
        return v

    def drift(self, q: Values, t: Scalar = 0.0) -> Motion:
        """Return sigma, the velocity that a time-dependent joint has at qd = 0."""
        return Motion.zero()

    def bias(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return c_J, the apparent derivative of S and sigma (RBDA Eq. 3.41)."""
        return Motion.zero()

    @abstractmethod
    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the columns of T, the forces that do no work on the joint's motion."""

    def constraint_rate(self, q: Values, qd: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """
        Return the columns of the apparent derivative of T, which loops with a moving T need.

        It is found by differentiating ``constraint_subspace`` along q_dot and time.
        """
        return tuple(map(Force.from_list, _rate(self, self.constraint_subspace, q, qd, t)))

    def subspace_rate(self, q: Values, qd: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the columns of the apparent derivative of S, found in the same way."""
        return tuple(map(Motion.from_list, _rate(self, self.subspace, q, qd, t)))

    def constraint_at(self, X: Transform, t: Scalar = 0.0) -> tuple[Force, ...]:
        """
        Return the columns of T where the transform across the joint is X, as loops need it.

        :param X: from F_p to F_s coordinates; it may violate the constraint a little.
        """
        if has_constant_constraint(self):
            return self.constraint_subspace(self.neutral(), t)
        return self.constraint_subspace(self.locate(X, t), t)

    def q_dot(self, q: Values, qd: Values) -> list[Scalar]:
        """Return the derivative of q at the velocity qd."""
        return list(qd)

    def integrate(self, q: Values, step: Values) -> list[Scalar]:
        """Return the position reached from q at the constant velocity ``step`` in unit time."""
        return [a + b for a, b in zip(q, step)]

    def difference(self, q0: Values, q1: Values) -> list[Scalar]:
        """Return the step that integrates from q0 to q1."""
        return [b - a for a, b in zip(q0, q1)]

    def normalise(self, start: Values, q: Values) -> list[Scalar]:
        """
        Return the valid position nearest to q, which was reached from ``start``.

        :param q: variables that were added up, and may have left what the joint allows, such as
            a quaternion that is no longer of unit length.
        """
        return self.integrate(start, self.difference(start, q))

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """
        Return the position whose transform is X, or near to an X that violates the constraint.

        :param X: from F_p to F_s coordinates.
        """
        raise ModelError(f'{self.type_name} joint cannot find its position from a transform')

    def closure_error(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """
        Return delta, by how much X violates the joint's constraint (RBDA 4.4, 8.3).

        To first order these are the displacements along the directions of T; their rates are
        T^T v_J. All are zero when X is the transform of some position.
        """
        q = self.locate(X, t)
        off = small_motion(X @ self.transform(q, t).inverse())
        return [f.dot(off) for f in self.constraint_subspace(q, t)]

    def neutral(self) -> list[float]:
        """Return the position at which F_s and F_p coincide."""
        return [0.0] * self.nq

    def random(self, rng: Random) -> list[float]:
        """Return a random position."""
        return [float(rng.uniform(-math.pi, math.pi)) for _ in range(self.nq)]


def followed(joint: Joint, q: Values, qd: Values, h: float) -> list[Scalar]:
    """Return the position after a time h at constant qd, by one Runge-Kutta step along q_dot."""
    k1 = joint.q_dot(q, qd)
    k2 = joint.q_dot([a + 0.5 * h * b for a, b in zip(q, k1)], qd)
    k3 = joint.q_dot([a + 0.5 * h * b for a, b in zip(q, k2)], qd)
    k4 = joint.q_dot([a + h * b for a, b in zip(q, k3)], qd)
    return [a + h / 6.0 * (b + 2.0 * (c + d) + e) for a, b, c, d, e in zip(q, k1, k2, k3, k4)]


def _rate(
    joint: Joint, columns: Columns, q: Values, qd: Values, t: Scalar,
) -> list[list[Scalar]]:
    """Return the derivative of columns of six along q_dot and time."""
    graph = trace(lambda q, t: {'out': [x.to_list() for x in columns(q, t)]},
                  {'q': (joint.nq,), 't': ()})
    found = jvp(graph, 'out', ('q', 't')).evaluate(list(q), [t], list(joint.q_dot(q, qd)), [1.0])
    return [found[k:k + 6] for k in range(0, len(found), 6)]


@lru_cache(maxsize=256)
def has_constant_constraint(joint: Joint) -> bool:
    """Return whether T of a joint is the same in F_s coordinates at every position and time."""
    return _constant(joint, joint.constraint_subspace)


@lru_cache(maxsize=256)
def has_constant_subspace(joint: Joint) -> bool:
    """Return whether S of a joint is the same in F_s coordinates at every position and time."""
    return _constant(joint, joint.subspace)


def _constant(joint: Joint, columns: Columns) -> bool:
    found: list[bool] = []

    def look(q: Values, t: Scalar) -> list[Scalar]:
        found.append(not any(isinstance(x, Expr) for column in columns(q, t)
                             for x in column.to_list()))
        return [0.0]
    trace(look, {'q': (joint.nq,), 't': ()})
    return found[0]
