# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How many rows of a constraint count: the one place where a rank is decided from data.

The decision is made on L^-T K^T, where H = L^T L, never on A = K H^-1 K^T, whose singular values
are the squares of these: a direction lost at 1e-8 here is lost at 1e-16 there, in rounding.
Rows are scaled first, so that radians and metres compare; the threshold is relative to the
largest singular value; and a rank once decided is kept while the value in question lies within a
band about the threshold, so that it does not flicker from one step to the next. Accelerations
and projections take the same threshold: a direction that one of them drops and the other keeps
lets energy in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Array

#: Singular values below this share of the largest count as zero.
TOLERANCE = 1e-8
#: Factor of the band about the threshold within which an earlier decision stays.
BAND = 10.0
#: Share of the largest from which on a value beyond the nominal rank counts. Rows that depend on
#: others at closed positions only do not quite do so where a step has opened the loops a little.
OFF = 1e-3


class Rank(NamedTuple):
    """
    What was decided about the rows of a constraint, and on what grounds.

    :param rank: rows that count as independent.
    :param residual: the part of the right-hand side, with rows scaled, that no motion satisfies:
        zero up to rounding where the rows that do not count agree with those that do.
    :param method: what the decision rests on: ``'svd'``, or ``'pivots'`` of a factorisation.
    :param smallest: the smallest value that counts, as a share of the largest; 0 for rank 0.
    """

    rank: int
    residual: float
    method: str
    smallest: float


class Decomposition(NamedTuple):
    """
    Scaled rows D K = U diag(s) V^T L^T of rank r, L^T being one where no H is given.

    :param U: (rows, k), k the smaller of rows and columns.
    :param s: singular values, falling, (k,).
    :param Vt: (n, n): the first k rows belong to s, the last n - k to motions that K permits.
    :param scale: diagonal of D.
    :param back: L^-T, from the directions of ``Vt`` to those of the columns of K; None if one.
    :param rank: how many of ``s`` count.
    """

    U: Array
    s: Array
    Vt: Array
    scale: Array
    back: Array | None
    rank: int

    @property
    def condition(self) -> float:
        """Largest over smallest singular value, of those there are, counted or not."""
        return float(self.s[0] / self.s[-1]) if self.s.size and self.s[-1] > 0.0 else float('inf')

    def inverses(self, damping: float = 0.0) -> Array:
        """
        Return 1/s where s counts and 0 elsewhere, or s / (s^2 + damping^2) for all.

        :param damping: bounds the inverse by 1 / (2 damping), at the price of its accuracy.
        """
        if damping > 0.0:
            return self.s / (self.s**2 + damping**2)
        out = np.zeros_like(self.s)
        out[:self.rank] = 1.0 / self.s[:self.rank]
        return out

    def solve(self, b: ArrayLike, damping: float = 0.0) -> Array:
        """Return the x nearest to zero with K x = b in the rows that count: K^+ b."""
        modes = (self.U.T @ (self.scale * np.asarray(b, float))) * self.inverses(damping)
        x = self.Vt[:self.s.size].T @ modes
        return x if self.back is None else self.back @ x

    def multipliers(self, b: ArrayLike) -> Array:
        """Return the shortest lambda, in scaled rows, with K H^-1 K^T lambda = b."""
        modes = (self.U.T @ (self.scale * np.asarray(b, float))) * self.inverses()**2
        return self.scale * (self.U @ modes)

    def decision(self, b: ArrayLike | None = None) -> Rank:
        """
        Return what was decided.

        :param b: right-hand side, whose part outside the range of K is the residual.
        """
        residual = 0.0
        if b is not None:
            scaled = self.scale * np.asarray(b, float)
            kept = self.U[:, :self.rank]
            residual = float(np.linalg.norm(scaled - kept @ (kept.T @ scaled)))
        smallest = float(self.s[self.rank - 1] / self.s[0]) if self.rank else 0.0
        return Rank(self.rank, residual, 'svd', smallest)


def decompose(
    K: ArrayLike, H: ArrayLike | None = None, *, scale: ArrayLike | None = None,
    tolerance: float = TOLERANCE, previous: int | None = None,
) -> Decomposition:
    """
    Return the singular value decomposition of a constraint and its rank.

    :param K: rows of the constraint, (rows, n).
    :param H: inertia matrix, (n, n), for the decision on L^-T K^T; None decides on K itself.
    :param scale: factor of each row: 1 for radians, 1 / length of the mechanism for metres.
    :param tolerance: share of the largest singular value below which one counts as zero.
    :param previous: rank of the step before, kept within ``BAND`` of the threshold.
    """
    K = np.asarray(K, float)
    weights = np.ones(len(K)) if scale is None else np.asarray(scale, float)
    scaled, back = weights[:, None] * K, None
    if H is not None:
        back = np.linalg.inv(np.linalg.cholesky(np.asarray(H, float))).T
        scaled = scaled @ back
    U, s, Vt = np.linalg.svd(scaled, full_matrices=True)
    return Decomposition(U[:, :s.size], s, Vt, weights, back, counted(s, tolerance, previous))


def counted(
    values: ArrayLike, tolerance: float = TOLERANCE, previous: int | None = None,
    nominal: int | None = None,
) -> int:
    """
    Return how many values, none negative, count against the largest.

    :param values: singular values or pivots, in any order.
    :param previous: what was decided before: values that counted then count down to
        tolerance / ``BAND``, the others only from tolerance * ``BAND`` on.
    :param nominal: rank of the mechanism at closed positions; values beyond it count only where
        they are large, from ``OFF`` on.
    """
    s = np.sort(np.asarray(values, float))[::-1]
    if not s.size or s[0] <= 0.0:
        return 0
    threshold = np.full(s.size, tolerance)
    if previous is not None:
        threshold[:previous] /= BAND
        threshold[previous:] *= BAND
    if nominal is not None:
        threshold[nominal:] = np.maximum(threshold[nominal:], OFF)
    return int(np.count_nonzero(s > threshold * s[0]))
