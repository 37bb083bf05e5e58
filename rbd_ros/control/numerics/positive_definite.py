# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Linear equations with a positive definite matrix, inside the step."""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.control.interface.events import NONE

__all__ = ['solve_positive_definite']


def solve_positive_definite(A: Matrix, b: Vector) -> bool:
    """
    Solve A x = b by the Cholesky factor of A; return whether A has one.

    :param A: becomes its factor, in the lower half.
    :param b: becomes x.
    """
    n = len(b)
    for j in range(n):
        total = A[j, j]
        for k in range(j):
            total -= A[j, k] * A[j, k]
        if not 0.0 < total <= NONE:
            return False
        A[j, j] = math.sqrt(total)
        for i in range(j + 1, n):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = total / A[j, j]
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= A[i, k] * b[k]
        b[i] = total / A[i, i]
    for i in range(n - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, n):
            total -= A[k, i] * b[k]
        b[i] = total / A[i, i]
    return True
