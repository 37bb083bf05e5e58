# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Pushes after which dampers act in time, by how fast torques may change.

A push F that ends at once leaves the acceleration Phi F behind, with Phi = J H^-1 J^T where
springs act. The torque of the dampers D then changes by J^T D Phi F per second, for one mode of
the frequency w and the damping ratio z by 2 z w F. A joint whose torque may not change as fast
lets its damper act late, and a fast mode swings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ['PUSH', 'Pushed', 'pushes', 'torque_rates_after']

Array = npt.NDArray[np.float64]

#: share of the torque limits that a push should be allowed to have
PUSH = 0.1

#: share of the largest eigenvalue that counts as zero, as where a direction has no spring
_FLOOR = 1e-12

#: 1/N.m or 1/N of a direction in which nothing moves
_TINY = 1e-12


class Pushed(NamedTuple):
    """
    What pushes ask for in half of the poses.

    :param rates: N.m/s or N/s of each joint, after a push of ``PUSH`` of the torque limits.
    :param largest: push at each place, by its name, that the torque rates allow, N.m or N.
    """

    rates: Array
    largest: dict[str, float]


def torque_rates_after(J: Array, Phi: Array, stiffness: Array, damping: Array,
                       ratio: float) -> Array:
    """
    Return by how much torques change per second after a unit push, a column for each place.

    :param J: a row for each place where a spring acts.
    :param Phi: J H^-1 J^T.
    :param stiffness: of each place.
    :param damping: of each place.
    :param ratio: damping ratio that is made besides, z of 2 z K^1/2 (K^1/2 Phi K^1/2)^-1/2 K^1/2.
    """
    root = np.sqrt(stiffness)
    w, V = np.linalg.eigh(root[:, None] * Phi * root)
    w = np.maximum(w, max(_FLOOR * w.max(initial=0.0), np.finfo(float).tiny))
    made = 2.0 * ratio * root[:, None] * (V / np.sqrt(w) @ V.T) * root
    found: Array = J.T @ (made + np.diag(damping)) @ Phi
    return np.abs(found)


def pushes(places: Sequence[str], poses: Sequence[tuple[Array, Array]], stiffness: Array,
           damping: Array, ratio: float, limits: Array, rates: Array) -> Pushed:
    """
    Return what pushes ask of the joints, and how large they may be.

    :param places: joints or directions, by name.
    :param poses: inertia matrix, and a row for each place where a spring acts.
    :param stiffness: of each place.
    :param damping: of each place.
    :param ratio: damping ratio that is made besides.
    :param limits: torque limits.
    :param rates: torque rate limits.
    """
    asked, largest = [], []
    for H, J in poses:
        each = torque_rates_after(J, J @ np.linalg.solve(H, J.T), stiffness, damping, ratio)
        shares = (np.abs(J.T) / limits[:, None]).max(axis=0)
        asked.append((each * PUSH / np.maximum(shares, _TINY)).max(axis=1))
        largest.append(1.0 / np.maximum((each / rates[:, None]).max(axis=0), _TINY))
    return Pushed(np.median(asked, axis=0),
                  dict(zip(places, np.median(largest, axis=0).tolist())))
