# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What closed loops add to a step: an inertia that resists opening them, and a final projection.

Nothing branches on values, so that the scalars may be plain or traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rbd_ros.algorithms.loops.motion import Nominal, solve_regular
from rbd_ros.compiler import absolute, less_equal, Rows, Scalar, Values, where
from rbd_ros.sim.steps.coordinates import Coordinates

#: Ratio of the inertia against opening a loop to that of the robot in the same direction. Impulses
#: of friction, brakes and stops still open it by 1e-8 of their effect; the projection undoes this.
STIFFNESS = 1e8

#: Newton steps of a projection. The first reduces a gap of 1e-6 to 1e-12, the second to rounding.
NEWTON_STEPS = 2

#: Factor on the inertia of joints at rest in a projection, so that the other joints move instead.
REST = 1e6


class Loops(NamedTuple):
    """
    The loops of a robot as functions of its state.

    :param space: where positions live.
    :param sparsity: expanded parent array of the inertia matrix of the tree.
    :param inertia: H(q) of the tree.
    :param jacobian: K(q).
    :param error: delta(q).
    :param velocity: how fast the loops open at (q, v).
    :param nominal: which constraints are independent.
    """

    space: Coordinates
    sparsity: Sequence[int]
    inertia: Callable[[Values], Rows]
    jacobian: Callable[[Values], Rows]
    error: Callable[[Values], Values]
    velocity: Callable[[Values, Values], Values]
    nominal: Nominal


def stiffened(H: Rows, K: Rows, scale: Sequence[float]) -> Rows:
    """
    Return H + K^T W K, with which impulses move the robot only as its loops allow.

    With it the velocity problem of :mod:`rbd_ros.sim.steps.nonsmooth` needs no constraints: W K dv
    are the impulses of the loop joints, and the rest are those of friction, brakes and stops.

    :param scale: typical diagonal of K H^-1 K^T; 0 for rows that do nothing.
    """
    out = [list(row) for row in H]
    for row, size in zip(K, scale, strict=True):
        if size <= 0.0:
            continue
        weight = STIFFNESS / size
        for i, a in enumerate(row):
            for j in range(i + 1):
                out[i][j] = out[i][j] + weight * a * row[j]
    return [[out[max(i, j)][min(i, j)] for j in range(len(out))] for i in range(len(out))]


def closed(loops: Loops, q: Values, v: Values) -> tuple[list[Scalar], list[Scalar]]:
    """
    Return the state nearest to (q, v), in the metric of H, that the loops allow.

    The state of a robot at rest is returned unchanged, bit for bit.
    """
    rest = [less_equal(absolute(x), 0.0) for x in v]
    every: Scalar = 1.0
    for flag in rest:
        every = every * flag
    H = [list(row) for row in loops.inertia(q)]
    for i, flag in enumerate(rest):
        H[i][i] = H[i][i] * (1.0 + REST * flag)

    def correction(q: Values, gap: Values) -> list[Scalar]:
        nothing = [0.0] * len(v)
        return solve_regular(H, loops.sparsity, nothing, loops.jacobian(q), [-x for x in gap],
                             loops.nominal).qdd
    moved = list(q)
    for _ in range(NEWTON_STEPS):
        moved = loops.space.integrate(moved, correction(moved, loops.error(moved)))
    change = correction(moved, loops.velocity(moved, v))
    return ([where(every, a, b) for a, b in zip(q, moved, strict=True)],
            [where(flag, 0.0, x + dx) for flag, x, dx in zip(rest, v, change, strict=True)])
