# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Inverse inertias in compact form: symmetric dyadics from F6 to M6, a = Phi f (RBDA 2.73, 7.3).

With angular and linear parts exchanged, motion vectors transform as force vectors do, so that an
inverse inertia transforms as an inertia: the same 21 numbers, at the same cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rbd_ros.compiler import is_zero, Rows
from rbd_ros.spatial.algebra import Mat3, Sym3
from rbd_ros.spatial.inertia import ArticulatedInertia
from rbd_ros.spatial.transform import Transform
from rbd_ros.spatial.value import Value, writers
from rbd_ros.spatial.vectors import Force, Motion


class InverseInertia(Value):
    """
    Symmetric 6x6 inverse inertia [A B; B^T C] of a handle.

    :param exchanged: [C B^T; B A], which has the form of an inertia.
    """

    __slots__ = ('exchanged',)

    exchanged: ArticulatedInertia

    def __init__(self, exchanged: ArticulatedInertia) -> None:
        _exchanged(self, exchanged)

    @classmethod
    def zero(cls) -> InverseInertia:
        """Return that of a body that no force moves, with exact zeros."""
        return cls(ArticulatedInertia.zero())

    @classmethod
    def from_matrix(cls, rows: Rows) -> InverseInertia:
        """Take the lower triangle of a symmetric 6x6 nested sequence."""
        full = [[rows[max(i, j)][min(i, j)] for j in range(6)] for i in range(6)]
        return cls(ArticulatedInertia(
            Sym3.from_matrix([row[3:] for row in full[3:]]), Mat3([row[:3] for row in full[3:]]),
            Sym3.from_matrix([row[:3] for row in full[:3]])))

    def to_list(self) -> list[Any]:
        """Return the symmetric 6x6 matrix as nested lists, angular first."""
        rows = self.exchanged.to_list()
        return [row[3:] + row[:3] for row in rows[3:] + rows[:3]]

    def __matmul__(self, f: Force) -> Motion:
        if type(f) is not Force:
            raise TypeError('InverseInertia maps a Force to a Motion; it cannot be applied to '
                            f'{type(f).__name__}')
        a = self.exchanged @ Motion(f.lin, f.ang)
        return Motion(a.lin, a.ang)

    def seen_through(self, X: Transform) -> InverseInertia:
        """Return X Phi X^T, the same in other coordinates."""
        return InverseInertia(X @ self.exchanged)

    def plus_symmetric(self, s: Sequence[Motion], h: Sequence[Motion]) -> InverseInertia:
        """Return Phi + sum (s_k h_k^T + h_k s_k^T)."""
        rows = self.to_list()
        for a, b in zip(s, h, strict=True):
            for i in range(6):
                for j in range(i + 1):
                    if not is_zero(a[i]):
                        rows[i][j] = rows[i][j] + a[i] * b[j]
                    if not is_zero(a[j]):
                        rows[i][j] = rows[i][j] + b[i] * a[j]
        return InverseInertia.from_matrix(rows)


_exchanged, = writers(InverseInertia)
