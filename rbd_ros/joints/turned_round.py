# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A joint with predecessor and successor exchanged (RBDA Table 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_ros.compiler import Scalar, Values
from rbd_ros.joints.base import Joint, Random
from rbd_ros.spatial import Force, Motion, Transform


@dataclass(frozen=True)
class Reversed(Joint):
    """
    The same joint with predecessor and successor exchanged (RBDA Table 4.2).

    q, qd and the joint force keep their meaning.

    :param joint: the joint as its own type describes it.
    """

    joint: Joint

    @property
    def nq(self) -> int:
        """Return the number of position variables."""
        return self.joint.nq

    @property
    def nv(self) -> int:
        """Return the number of velocity variables."""
        return self.joint.nv

    @property
    def type_name(self) -> str:
        """Name of the joint type."""
        return f'reversed {self.joint.type_name}'

    @property
    def time_dependent(self) -> bool:
        """Whether the joint moves with time by itself."""
        return self.joint.time_dependent

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return the inverse of the joint's transform."""
        return self.joint.transform(q, t).inverse()

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return -^pX_s S."""
        X = self.joint.transform(q, t)
        return tuple(-X.inv_apply(s) for s in self.joint.subspace(q, t))

    def velocity(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return -^pX_s v_J."""
        return -self.joint.transform(q, t).inv_apply(self.joint.velocity(q, qd, t))

    def drift(self, q: Values, t: Scalar = 0.0) -> Motion:
        """Return -^pX_s sigma."""
        return -self.joint.transform(q, t).inv_apply(self.joint.drift(q, t))

    def bias(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return -^pX_s c_J; what the moving frame adds to it vanishes as v_J x v_J."""
        return -self.joint.transform(q, t).inv_apply(self.joint.bias(q, qd, t))

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return ^pX_s^* T: forces transform with the star that Table 4.2 lost."""
        X = self.joint.transform(q, t)
        return tuple(X.inv_apply(f) for f in self.joint.constraint_subspace(q, t))

    def constraint_at(self, X: Transform, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return T of the joint itself, carried to its predecessor."""
        return tuple(X @ f for f in self.joint.constraint_at(X.inverse(), t))

    def closure_error(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return minus the error of the joint itself: its velocity has the other sign."""
        return [-x for x in self.joint.closure_error(X.inverse(), t)]

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the joint's own position of the inverse transform."""
        return self.joint.locate(X.inverse(), t)

    def q_dot(self, q: Values, qd: Values) -> list[Scalar]:
        """Return the joint's own rate."""
        return self.joint.q_dot(q, qd)

    def integrate(self, q: Values, step: Values) -> list[Scalar]:
        """Move as the joint does."""
        return self.joint.integrate(q, step)

    def difference(self, q0: Values, q1: Values) -> list[Scalar]:
        """Return the joint's own step."""
        return self.joint.difference(q0, q1)

    def normalise(self, start: Values, q: Values) -> list[Scalar]:
        """Return the joint's own valid position."""
        return self.joint.normalise(start, q)

    @property
    def additive(self) -> bool:
        """Whether the joint's own positions simply add up."""
        return self.joint.additive

    def neutral(self) -> list[float]:
        """Return the joint's own neutral position."""
        return self.joint.neutral()

    def random(self, rng: Random) -> list[float]:
        """Return a random position of the joint."""
        return self.joint.random(rng)
