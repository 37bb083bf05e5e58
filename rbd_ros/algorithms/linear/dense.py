# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Products of small dense matrices over generic scalars: lists of rows, plain or traced."""

from __future__ import annotations

from rbd_ros.compiler import Matrix, Rows, Scalar, Values


def zeros(rows: int, columns: int) -> Matrix:
    """Return a matrix of exact zeros."""
    return [[0.0] * columns for _ in range(rows)]


def identity(n: int) -> Matrix:
    """Return the n x n matrix one."""
    return [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]


def dot(x: Values, y: Values) -> Scalar:
    """Return the sum of the products of two vectors of equal length."""
    total: Scalar = 0.0
    for a, b in zip(x, y, strict=True):
        total = total + a * b
    return total


def transposed(A: Rows, columns: int) -> Matrix:
    """
    Return A^T.

    :param columns: number of columns of A, which a matrix without rows does not have.
    """
    return [[row[j] for row in A] for j in range(columns)]


def apply(A: Rows, x: Values) -> list[Scalar]:
    """Return A x."""
    return [dot(row, x) for row in A]


def times(A: Rows, B: Rows, columns: int) -> Matrix:
    """
    Return A B.

    :param columns: number of columns of B.
    """
    BT = transposed(B, columns)
    return [[dot(row, column) for column in BT] for row in A]


def plus(A: Rows, B: Rows) -> Matrix:
    """Return A + B."""
    return [add(a, b) for a, b in zip(A, B, strict=True)]


def minus(A: Rows, B: Rows) -> Matrix:
    """Return A - B."""
    return [subtract(a, b) for a, b in zip(A, B, strict=True)]


def add(x: Values, y: Values) -> list[Scalar]:
    """Return x + y."""
    return [a + b for a, b in zip(x, y, strict=True)]


def subtract(x: Values, y: Values) -> list[Scalar]:
    """Return x - y."""
    return [a - b for a, b in zip(x, y, strict=True)]


def eliminate(A: Rows, B: Rows) -> Matrix:
    """
    Return A^-1 B by Gauss elimination and back-substitution, without pivoting.

    The equations must stand in an order in which every pivot exists, as those of a positive-
    definite matrix do, and those of RBDA 7.4.

    :param B: as many rows as A, one column for each right-hand side.
    """
    U, R = [list(row) for row in A], [list(row) for row in B]
    n = len(U)
    for k in range(n):
        for i in range(k + 1, n):
            share = U[i][k] / U[k][k]
            U[i] = [u - share * pivot for u, pivot in zip(U[i], U[k], strict=True)]
            R[i] = [r - share * pivot for r, pivot in zip(R[i], R[k], strict=True)]
    for k in range(n - 1, -1, -1):
        R[k] = [r / U[k][k] for r in R[k]]
        for i in range(k):
            R[i] = [r - U[i][k] * solved for r, solved in zip(R[i], R[k], strict=True)]
    return R
