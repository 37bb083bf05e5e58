# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
A surface as an array of spring-dampers (RBDA 11.8), for contacts that move.

Each node of a grid is a massless patch of its own. The surface between nodes is interpolated, and
a force acts on nodes with the same weights. A dent that the body leaves stays and recovers; the
body climbs out of it at a cost, which the force along the surface accounts for exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.contact.soft import check_positive
from rbd_ros.compiler import Array
from rbd_ros.errors import NonFiniteError, SettingError


class ArrayContact(NamedTuple):
    """
    What an array of springs does to a body.

    :param normal: force along the normal, never negative.
    :param tangential: force along both axes of the grid.
    :param rate: of the heights of all nodes.
    """

    normal: float
    tangential: Array
    rate: Array


class SpringArray:
    """
    A rectangular grid of spring-dampers, its middle at the origin.

    :param stiffness: of each node, N/m.
    :param damping: of each node, N.s/m.
    :param spacing: between nodes, m.
    :param shape: nodes along both axes, at least two each.
    """

    def __init__(
        self, stiffness: float, damping: float, spacing: float, shape: tuple[int, int],
    ) -> None:
        check_positive(stiffness=stiffness, damping=damping, spacing=spacing)
        if min(shape) < 2:
            raise SettingError(f'shape is {shape}; an array needs two nodes along each axis')
        self.stiffness, self.damping, self.spacing = stiffness, damping, spacing
        self.shape = shape
        self.z = np.zeros(shape)
        self._touched = False

    def weights(self, position: ArrayLike) -> tuple[Array, Array]:
        """
        Return the weight of each node at a point, and its slopes along both axes.

        :param position: two coordinates along the surface; zero weights beyond its edge.
        """
        across = []
        for value, count in zip(np.asarray(position, float).tolist(), self.shape, strict=True):
            place = value / self.spacing + 0.5 * (count - 1)
            w, slope = np.zeros(count), np.zeros(count)
            if 0.0 <= place <= count - 1:
                i = min(int(place), count - 2)
                w[i], w[i + 1] = 1.0 - (place - i), place - i
                slope[i], slope[i + 1] = -1.0 / self.spacing, 1.0 / self.spacing
                if place == i and i > 0:        # on a node: the mean of both sides
                    slope[i - 1:i + 2] = np.array([-0.5, 0.0, 0.5]) / self.spacing
            across.append((w, slope))
        (w_x, s_x), (w_y, s_y) = across
        return np.outer(w_x, w_y), np.array([np.outer(s_x, w_y), np.outer(w_x, s_y)])

    def height(self, position: ArrayLike) -> float:
        """Return the height of the surface at a point."""
        return float((self.weights(position)[0] * self.z).sum())

    def contact(
        self, position: ArrayLike, travel: ArrayLike, p: float, p_rate: float,
    ) -> ArrayContact:
        """
        Return the forces on a body that touches at a point.

        :param position: of the point of contact along the surface.
        :param travel: its velocity along the surface.
        :param p: height of the body; the surface is moved to it while they touch, which ends when
            the force does.
        :param p_rate: its rate.
        """
        if not np.isfinite([*np.ravel(position), *np.ravel(travel), p, p_rate]).all():
            raise NonFiniteError(f'position {position!r}, travel {travel!r}, height {p} or '
                                 f'its rate {p_rate} is not finite')
        w, slopes = self.weights(position)
        square = float((w * w).sum())
        level = float((w * self.z).sum())
        self._touched = bool(square) and (self._touched or p <= level)
        if self._touched:
            self.z += w * ((p - level) / square)
            climb = np.array([float((slope * self.z).sum()) for slope in slopes])
            # The interpolated surface moves with the body: w . z-dot = p-dot - climb . travel
            sinking = p_rate - float(climb @ np.asarray(travel, float))
            force = -(self.stiffness * p + self.damping * sinking) / square
            if force > 0.0:
                rate = -(self.stiffness * self.z + w * force) / self.damping
                return ArrayContact(force, -force * climb, rate)
            self._touched = False
        return ArrayContact(0.0, np.zeros(2), -self.stiffness / self.damping * self.z)

    def advance(self, rate: Array, h: float) -> None:
        """Move the nodes on by one step of Euler's rule."""
        self.z += h * rate

    def energy(self) -> float:
        """Return the energy stored in the springs, J."""
        return 0.5 * self.stiffness * float((self.z * self.z).sum())
