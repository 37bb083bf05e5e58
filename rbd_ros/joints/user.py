# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that a user defines by functions (RBDA 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rbd_ros.compiler import Scalar, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints.base import followed, Joint, Random
from rbd_ros.joints.directions import dual_complement
from rbd_ros.spatial import Force, Motion, Transform


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
