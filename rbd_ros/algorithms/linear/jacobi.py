# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Eigenvalues of small symmetric matrices without branches, so that they can be traced."""

from __future__ import annotations


from rbd_ros.compiler import (
    absolute, is_zero, less, Matrix, maximum, minimum, Rows, Scalar, sqrt, Values, where)

#: Sweeps after which the off-diagonal part of a 6 x 6 matrix is below rounding.
SWEEPS = 6
#: What makes no difference to a sum, and is not zero in single precision either.
TINY = 1e-37


def symmetric_eigen(A: Rows, sweeps: int = SWEEPS) -> tuple[list[Scalar], Matrix]:
    """
    Return eigenvalues w and eigenvectors V (columns) of a symmetric matrix: A = V diag(w) V^T.

    Cyclic Jacobi with a fixed number of sweeps, in round-robin order: the rotations of one round
    touch disjoint rows, so that the processor can run them side by side.
    """
    n = len(A)
    B = [list(row) for row in A]
    V: Matrix = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for _ in range(sweeps):
        for p, q in _round_robin(n):
            if not is_zero(B[p][q]):
                _rotate(B, V, p, q)
    return [B[i][i] for i in range(n)], V


def _rotate(A: Matrix, V: Matrix, p: int, q: int) -> None:
    """Annihilate A[p][q] by a rotation in the plane of p and q, always of the smaller angle."""
    half, a = 0.5 * (A[q][q] - A[p][p]), A[p][q]
    # The tiny term makes t zero, not NaN, where there is nothing to turn.
    size = absolute(half) + sqrt(half * half + a * a) + TINY
    t = where(less(half, 0.0), -a, a) / size
    c = 1.0 / sqrt(1.0 + t * t)
    s = t * c
    A[p][p], A[q][q] = A[p][p] - t * a, A[q][q] + t * a
    A[p][q] = A[q][p] = 0.0
    for k in range(len(A)):
        if k not in (p, q):
            x, y = A[k][p], A[k][q]
            A[k][p] = A[p][k] = c * x - s * y
            A[k][q] = A[q][k] = s * x + c * y
        x, y = V[k][p], V[k][q]
        V[k][p], V[k][q] = c * x - s * y, s * x + c * y


def _round_robin(n: int) -> list[tuple[int, int]]:
    """Return all pairs below n, rounds of disjoint pairs one after the other."""
    m = n + n % 2
    ring = list(range(m))
    pairs = []
    for _ in range(m - 1):
        for k in range(m // 2):
            p, q = sorted((ring[k], ring[m - 1 - k]))
            if q < n:
                pairs.append((p, q))
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return pairs


def largest_and_smallest(w: Values) -> tuple[Scalar, Scalar]:
    """Return the largest and the smallest of some scalars."""
    high = low = w[0]
    for value in w[1:]:
        high, low = maximum(high, value), minimum(low, value)
    return high, low
