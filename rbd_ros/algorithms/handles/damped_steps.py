# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Steps of a search that brings frames to targets within joint limits, over generic scalars.

Least squares with damping: the step d has the least |J d - e|^2 + damping |d|^2, where J d is what
the errors e fall by.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.algorithms.linear import dense, ltl
from rbd_ros.compiler import (
    absolute, atan2, divide, is_zero, less, Matrix, maximum, minimum, Rows, Scalar, sqrt, tan,
    Values, where)
from rbd_ros.spatial import Mat3, quaternion

Bounds = Sequence[Scalar | None]

#: Times that entries outside of their bounds are held there and the others found again.
HOLDS = 2


def rotation_error(E: Mat3) -> list[Scalar]:
    """
    Return the shortest rotation vector of a frame, half a turn included.

    :param E: from fixed to turned components.
    """
    x, y, z, w = quaternion.from_rotation(E)
    # the small number decides at no turn at all only, where angle / sine is one
    sine = sqrt(x * x + y * y + z * z + 1e-300)
    size = divide(2.0 * atan2(sine, w), sine)
    return [size * x, size * y, size * z]


def rotation_slope(e: Values) -> Matrix:
    """Return by what the rotation vector e of a target falls as the frame turns."""
    a, b, c = e
    x = a * a + b * b + c * c
    small = less(x, 1e-4)
    safe = where(small, 1.0, x)
    half = 0.5 * sqrt(safe)
    k = where(small, 1.0 / 12.0 + x / 720.0, divide(1.0 - divide(half, tan(half)), safe))
    # 1 - [e]/2 + k [e]^2
    return [[1.0 - k * (b * b + c * c), 0.5 * c + k * a * b, k * a * c - 0.5 * b],
            [k * a * b - 0.5 * c, 1.0 - k * (a * a + c * c), 0.5 * a + k * b * c],
            [k * a * c + 0.5 * b, k * b * c - 0.5 * a, 1.0 - k * (a * a + b * b)]]


def bounded_step(J: Rows, e: Values, damping: Scalar, low: Bounds, high: Bounds) -> list[Scalar]:
    """
    Return a step within bounds that include zero, the least-squares one where none is met.

    Entries outside are held at their bounds and the others found again, a fixed number of times;
    what is outside after that is cut off.

    :param low: per entry, None for none.
    :param high: the same above.
    """
    n = len(low)
    free: list[Scalar] = [1.0] * n
    held: list[Scalar] = [0.0] * n
    within: list[Scalar] = []
    for _ in range(HOLDS):
        masked = [[x * f for x, f in zip(row, free, strict=True)] for row in J]
        rest = dense.subtract(e, dense.apply(J, held))
        d = dense.add(held, _damped(masked, rest, damping))
        within = [_clamped(x, a, b) for x, a, b in zip(d, low, high, strict=True)]
        for j in range(n):
            if low[j] is not None or high[j] is not None:
                outside = less(0.0, absolute(d[j] - within[j]))
                held[j] = where(outside, within[j], 0.0)
                free[j] = where(outside, 0.0, 1.0)
    return within


def _clamped(x: Scalar, low: Scalar | None, high: Scalar | None) -> Scalar:
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


def _damped(J: Rows, e: Values, damping: Scalar) -> list[Scalar]:
    """Return the least-squares step, by the smaller one of J J^T and J^T J."""
    n = len(J[0])
    columns = [j for j in range(n) if not all(is_zero(row[j]) for row in J)]
    A = [[row[j] for j in columns] for row in J]
    if len(A) <= len(columns):
        y = _solved(A, e, damping)
        found = [dense.dot([row[j] for row in A], y) for j in range(len(columns))]
    else:
        turned = dense.transposed(A, len(columns))
        found = _solved(turned, dense.apply(turned, e), damping)
    d: list[Scalar] = [0.0] * n
    for j, x in zip(columns, found, strict=True):
        d[j] = x
    return d


def _solved(A: Rows, b: Values, damping: Scalar) -> list[Scalar]:
    """Return (A A^T + damping 1)^-1 b."""
    n = len(A)
    H = [[dense.dot(A[i], A[j]) if j < i else dense.dot(A[i], A[i]) + damping if j == i else 0.0
          for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i):
            H[j][i] = H[i][j]
    return ltl.solve(H, range(-1, n - 1), b)


def shortened(d: Values, longest: Values) -> list[Scalar]:
    """Return a step whose entries are no longer than these, its direction kept."""
    ratio: Scalar = 1.0
    for x, limit in zip(d, longest, strict=True):
        ratio = maximum(ratio, divide(absolute(x), limit))
    return [divide(x, ratio) for x in d]
