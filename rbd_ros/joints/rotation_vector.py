# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A ball joint in exponential coordinates (Liu and Jain, 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbd_ros.compiler import Scalar, Values
from rbd_ros.joints.axial import UNITS
from rbd_ros.joints.base import Joint, Random
from rbd_ros.joints.directions import push, turn
from rbd_ros.spatial import Force, Mat3, Motion, Transform, Vec3
from rbd_ros.spatial.exponential import (
    body_jacobian, body_jacobian_rate, rotation, rotation_vector, shorter)


@dataclass(frozen=True)
class RotationVector(Joint):
    """
    A ball joint whose q is the rotation vector of F_s in F_p, and qd its derivative.

    Three coordinates without constraint, and rates that are those of the coordinates, as
    Lagrange's equations need them. S is singular after a full turn; ``rewound`` changes to the
    shorter vector of the same rotation before that.
    """

    nq = 3
    nv = 3

    @property
    def type_name(self) -> str:
        """Name of the joint type."""
        return 'rotation vector'

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return X_J = rot(exp([q])^T) (53)."""
        return Transform.rotation(rotation(Vec3(*q)).T)

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the columns of R^T J, by which qd gives the angular velocity in F_s (54)."""
        return tuple(turn(Vec3(*column)) for column in body_jacobian(Vec3(*q)).T.rows)

    def bias(self, q: Values, qd: Values, t: Scalar = 0.0) -> Motion:
        """Return the apparent derivative of S times qd."""
        rate = Vec3(*qd)
        return turn(body_jacobian_rate(Vec3(*q), rate) @ rate)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the shortest rotation vector of X, for plain floats."""
        return rotation_vector(X.E).to_list()

    def closure_error(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the displacement of the centre, in F_s."""
        return [*(X.E @ X.r)]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the three forces through the centre."""
        return tuple(push(e) for e in UNITS)

    def rewound(
        self, q: Sequence[float], qd: Sequence[float],
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return the state with the shorter rotation vector: the same place and motion, floats."""
        old, new = Vec3(*q), shorter(Vec3(*q))
        w = body_jacobian(old) @ Vec3(*qd)
        return new.to_list(), _solve(body_jacobian(new), w)

    def random(self, rng: Random) -> list[float]:
        """Return a random rotation of less than half a turn."""
        return [float(rng.uniform(-1.8, 1.8)) for _ in range(3)]


def _solve(A: Mat3, b: Vec3) -> list[Scalar]:
    """Return A^-1 b of a 3x3 matrix by Cramer's rule."""
    x, y, z = (Vec3(*column) for column in A.T.rows)
    scale = 1.0 / x.dot(y.cross(z))
    return [scale * b.dot(y.cross(z)), scale * x.dot(b.cross(z)), scale * x.dot(y.cross(b))]
