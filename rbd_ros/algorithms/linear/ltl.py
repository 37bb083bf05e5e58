# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Branch-sparse factorisation of the joint-space inertia matrix, and what it is good for (RBDA 6.5).

``parent`` is the expanded parent array: ``parent[k]`` is the velocity variable that supports
variable k, or -1. Only entries H[i][j] with j an ancestor of i are read or written, so that no
operation is spent on a structural zero and none is filled in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rbd_ros.algorithms.linear import dense
from rbd_ros.compiler import Matrix, Rows, Scalar, sqrt, Values, where
from rbd_ros.spatial import Force


def ancestors(parent: Sequence[int], k: int) -> Iterator[int]:
    """Yield the variables that support k, nearest first."""
    k = parent[k]
    while k != -1:
        yield k
        k = parent[k]


def ltl(H: Rows, parent: Sequence[int]) -> Matrix:
    """Return the lower-triangular L with H = L^T L (RBDA Table 6.3)."""
    L = _lower(H)
    for k in range(len(L) - 1, -1, -1):
        L[k][k] = sqrt(L[k][k])
        for i in ancestors(parent, k):
            L[k][i] = L[k][i] / L[k][k]
        for i in ancestors(parent, k):
            L[i][i] = L[i][i] - L[k][i] * L[k][i]
            for j in ancestors(parent, i):
                L[i][j] = L[i][j] - L[k][i] * L[k][j]
    return L


def ltdl(H: Rows, parent: Sequence[int]) -> tuple[Matrix, list[Scalar]]:
    """Return the unit lower-triangular L and the diagonal D with H = L^T D L (RBDA Table 6.3)."""
    L = _lower(H)
    n = len(L)
    for k in range(n - 1, -1, -1):
        for i in ancestors(parent, k):
            a = L[k][i] / L[k][k]
            L[i][i] = L[i][i] - a * L[k][i]
            for j in ancestors(parent, i):
                L[i][j] = L[i][j] - a * L[k][j]
            L[k][i] = a
    D = [L[k][k] for k in range(n)]
    for k in range(n):
        L[k][k] = 1.0
    return L, D


def _lower(H: Rows) -> Matrix:
    """Return a copy of H whose part above the diagonal is zero."""
    n = len(H)
    return [[H[i][j] if j <= i else 0.0 for j in range(n)] for i in range(n)]


def masked(H: Rows, parent: Sequence[int], free: Values) -> Matrix:
    """
    Return H with rows and columns of the identity matrix for the variables that are held.

    The lower triangle alone; it keeps the sparsity of H.

    :param free: 1.0 for each variable that moves, 0.0 for one that is held.
    """
    out: Matrix = [[0.0] * len(H) for _ in H]
    for i, row in enumerate(H):
        out[i][i] = where(free[i], row[i], 1.0)
        for j in ancestors(parent, i):
            out[i][j] = row[j] * (free[i] * free[j])
    return out


def multiply(L: Rows, parent: Sequence[int], x: Values) -> list[Scalar]:
    """Return L x (RBDA Table 6.5)."""
    y = []
    for i in range(len(x)):
        y_i = L[i][i] * x[i]
        for j in ancestors(parent, i):
            y_i = y_i + L[i][j] * x[j]
        y.append(y_i)
    return y


def multiply_transposed(L: Rows, parent: Sequence[int], x: Values) -> list[Scalar]:
    """Return L^T x (RBDA Table 6.5)."""
    y = [L[i][i] * x[i] for i in range(len(x))]
    for i in range(len(x)):
        for j in ancestors(parent, i):
            y[j] = y[j] + L[i][j] * x[i]
    return y


def multiply_symmetric(H: Rows, parent: Sequence[int], x: Values) -> list[Scalar]:
    """Return H x, reading the lower triangle of H only (RBDA Table 6.5)."""
    y = [H[i][i] * x[i] for i in range(len(x))]
    for i in range(len(x)):
        for j in ancestors(parent, i):
            y[i] = y[i] + H[i][j] * x[j]
            y[j] = y[j] + H[i][j] * x[i]
    return y


def solve_lower(L: Rows, parent: Sequence[int], x: Values) -> list[Scalar]:
    """Return L^-1 x (RBDA Table 6.5)."""
    y = list(x)
    for i in range(len(y)):
        for j in ancestors(parent, i):
            y[i] = y[i] - L[i][j] * y[j]
        y[i] = y[i] / L[i][i]
    return y


def solve_transposed(L: Rows, parent: Sequence[int], x: Values) -> list[Scalar]:
    """Return L^-T x (RBDA Table 6.5)."""
    y = list(x)
    for i in range(len(y) - 1, -1, -1):
        y[i] = y[i] / L[i][i]
        for j in ancestors(parent, i):
            y[j] = y[j] - L[i][j] * y[i]
    return y


def solve(H: Rows, parent: Sequence[int], b: Values) -> list[Scalar]:
    """Return H^-1 b through L^T D L: L^-T first, then D, then L^-1."""
    L, D = ltdl(H, parent)
    y = solve_transposed(L, parent, b)
    return solve_lower(L, parent, [y_k / d for y_k, d in zip(y, D, strict=True)])


class Inverse:
    """
    H^-1 = L^-1 D^-1 L^-T as its factors.

    L^-1 has the sparsity of L: variable i has one entry for each variable that supports it, and
    itself. Products with the factors spend nothing between branches but on what supports both.
    """

    def __init__(self, H: Rows, parent: Sequence[int]) -> None:
        L, D = ltdl(H, parent)
        self._K: list[dict[int, Scalar]] = []           # rows of L^-1, by ancestor
        for i in range(len(D)):
            row: dict[int, Scalar] = {}
            for j in ancestors(parent, i):
                for k, value in self._K[j].items():
                    row[k] = row.get(k, 0.0) - L[i][j] * value
            row[i] = 1.0
            self._K.append(row)
        D_inv = [1.0 / d for d in D]                    # a division takes as long as ten products
        self._scaled = [{k: value * D_inv[k] for k, value in row.items()} for row in self._K]

    @classmethod
    def of(cls, numbers: Values, parent: Sequence[int]) -> Inverse:
        """Return what has these :attr:`numbers`."""
        found, left = cls([], []), iter(numbers)
        for i in range(len(parent)):
            above = list(ancestors(parent, i))[::-1]
            found._K.append({**{k: next(left) for k in above}, i: 1.0})
            found._scaled.append({k: next(left) for k in (*above, i)})
        return found

    @property
    def numbers(self) -> list[Scalar]:
        """Return all numbers of the factors but the ones, in one row."""
        return [x for i, (row, scaled) in enumerate(zip(self._K, self._scaled, strict=True))
                for x in (*[value for k, value in row.items() if k != i], *scaled.values())]

    def matrix(self) -> Matrix:
        """Return H^-1: entry (i, j) is a sum over the common ancestors of i and j."""
        n = len(self._K)
        X: Matrix = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                total: Scalar = 0.0
                for k, value in self._scaled[i].items():
                    if k in self._K[j]:
                        total = total + value * self._K[j][k]
                X[i][j] = X[j][i] = total
        return X

    def times(self, b: Values) -> list[Scalar]:
        """Return H^-1 b; what is zero of b as written costs nothing, as in traces."""
        y: list[Scalar] = [0.0] * len(b)
        for i, x in enumerate(b):
            for k, value in self._K[i].items():
                y[k] = y[k] + value * x
        return [dense.dot(list(row.values()), [y[k] for k in row]) for row in self._scaled]


def inverse(H: Rows, parent: Sequence[int]) -> Matrix:
    """Return H^-1."""
    return Inverse(H, parent).matrix()


class Dense:
    """A small symmetric positive-definite matrix, factorised as a chain: L^T D L without zeros."""

    def __init__(self, A: Rows) -> None:
        self._chain = range(-1, len(A) - 1)
        self._L, D = ltdl(A, self._chain)
        self._D_inv = [1.0 / d for d in D]

    def solve(self, b: Values) -> list[Scalar]:
        """Return A^-1 b."""
        y = solve_transposed(self._L, self._chain, b)
        return solve_lower(self._L, self._chain, [k * d for k, d in zip(y, self._D_inv)])

    def solve_columns(
        self, U: Sequence[Force], known: Mapping[int, Values] | None = None,
    ) -> list[Force]:
        """
        Return the columns of U A^-1, for U given by columns.

        :param known: rows of the result (0..5) that follow from the structure of U and A, and are
            taken as they are: rounding must not decide whether a one is a one.
        """
        rows = zip(*(f.to_list() for f in U), strict=True)
        known = known or {}
        solved = [known[i] if i in known else self.solve(row) for i, row in enumerate(rows)]
        return [Force.from_list(column) for column in zip(*solved, strict=True)]
