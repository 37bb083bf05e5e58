# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""From independent to tree coordinates of a model, and forces on the way back (RBDA 9.6)."""

from __future__ import annotations


from rbd_ros.compiler import Scalar, Values
from rbd_ros.errors import ModelError
from rbd_ros.model.coupling import Coupling


class CoupledCoordinates:
    """The coordinates of a model; both kinds are the same where it has no coupling."""

    name: str
    coupling: Coupling | None

    def expand_q(self, y: Values) -> list[Scalar]:
        """Return the tree positions of independent positions y, over any scalar type."""
        return list(y) if self.coupling is None else self.coupling.gamma(y)

    def expand_v(self, v: Values, y: Values | None = None) -> list[Scalar]:
        """
        Return the tree velocities of independent ones.

        :param y: independent positions, needed where a gear is not linear.
        """
        return list(v) if self.coupling is None else self.coupling.expand_v(v, self._at(y))

    def expand_a(self, a: Values, v: Values, y: Values) -> list[Scalar]:
        """Return the tree accelerations G a + g of independent ones, at velocity v (RBDA 9.6)."""
        g = self.gear_bias(v, y)
        spread = self.expand_v(a, y)
        return spread if g is None else [x + bias for x, bias in zip(spread, g, strict=True)]

    def gear_bias(self, v: Values, y: Values) -> list[Scalar] | None:
        """Return g, the tree accelerations at zero y_ddot; None where it is zero everywhere."""
        if self.coupling is None or self.coupling.constant:
            return None
        return self.coupling.g(y, v)

    def reduce_force(self, tau: Values, y: Values | None = None) -> list[Scalar]:
        """
        Return the force G^T tau on the independent coordinates of forces at all tree joints.

        :param y: independent positions, needed where a gear is not linear.
        """
        return list(tau) if self.coupling is None else self.coupling.reduce_force(
            tau, self._at(y))

    def _at(self, y: Values | None) -> Values:
        """Return a position, or refuse to go without one where G depends on it."""
        if y is None and self.coupling is not None and not self.coupling.constant:
            raise ModelError(f'"{self.name}" has gears whose ratio depends on the position: give '
                             'the independent positions too')
        return () if y is None else y
