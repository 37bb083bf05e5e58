# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Products of rotation matrices with matrices, in the cheap forms of RBDA A.4 and A.5.

Each function leaves exact zeros and ones of its operands to the scalars: a traced scalar folds
them away, so a sparse operand costs what the appendix says it should.
"""

from __future__ import annotations

from typing import Any

from rbd_ros.compiler import Matrix, Scalar
from rbd_ros.spatial.algebra import Mat3, Sym3, Vec3

# place of entry (i, j) in the six stored entries of a Sym3
SYM = ((0, 1, 2), (1, 3, 4), (2, 4, 5))

GENERAL, PERMUTATION = -1, 3


class Angle:
    """Cosine and sine of one angle with the derived products of RBDA A.5, made on demand."""

    __slots__ = ('c', 's', '_products')

    def __init__(self, c: Scalar, s: Scalar) -> None:
        self.c = c
        self.s = s
        self._products: tuple[Any, ...] | None = None

    def products(self) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """Return cs, s^2, 2cs and 1 - 2s^2."""
        if self._products is None:
            cs = self.c * self.s
            ss = self.s * self.s
            self._products = (cs, ss, cs + cs, 1.0 - (ss + ss))
        return self._products


def structure(E: Mat3) -> int:
    """
    Find the exact constants of a rotation matrix.

    :returns: 0, 1 or 2 for a rotation about that coordinate axis, PERMUTATION when every entry is
        0 or +-1 (the identity among them), else GENERAL.
    """
    known = [[type(e) is float and e in (0.0, 1.0, -1.0) for e in row] for row in E.rows]
    if all(all(row) for row in known):
        return PERMUTATION
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        if known[k][k] and E.rows[k][k] == 1.0 and all(
                known[a][b] for a, b in ((i, k), (j, k), (k, i), (k, j))):
            return k
    return GENERAL


def product(F: Mat3, G: Mat3) -> Mat3:
    """
    Multiply two rotation matrices (RBDA A.5): the third column is a vector product.

    With an exact zero in either factor the plain product is the cheaper one.
    """
    if any(type(e) is float and e == 0.0 for M in (F, G) for row in M.rows for e in row):
        return F @ G
    (p, q, _), (s, t, _), (v, w, _) = G.rows
    first = F @ Vec3(p, s, v)
    second = F @ Vec3(q, t, w)
    third = first.cross(second)
    return Mat3(zip(first, second, third))


def chain(*factors: Mat3) -> Mat3:
    """
    Multiply several rotation matrices (RBDA A.5): 18m + 12a each, and one vector product.

    Two columns go through the whole chain; the third one is made at the end.
    """
    *others, last = factors
    first, second = (Vec3(*(row[j] for row in last.rows)) for j in range(2))
    for F in reversed(others):
        first, second = F @ first, F @ second
    return Mat3(zip(first, second, first.cross(second)))


def permute_symmetric(E: Mat3, A: Sym3) -> Sym3:
    """Return E A E^T for a signed permutation E, without arithmetic."""
    index, sign = _permutation(E)
    a = A.entries()
    return Sym3(*(_signed(sign[i] * sign[j], a[SYM[index[i]][index[j]]])
                  for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))


def permute_general(E: Mat3, A: Mat3) -> Mat3:
    """Return E A E^T for a signed permutation E, without arithmetic."""
    index, sign = _permutation(E)
    return Mat3([[_signed(sign[i] * sign[j], A.rows[index[i]][index[j]])
                  for j in range(3)] for i in range(3)])


def _permutation(E: Mat3) -> tuple[list[int], list[float]]:
    index = [next(j for j in range(3) if row[j] != 0.0) for row in E.rows]
    return index, [float(row[j]) for row, j in zip(E.rows, index)]


def _signed(sign: float, x: Scalar) -> Scalar:
    return x if sign > 0.0 else -x


def axial_symmetric(i: int, j: int, k: int, angle: Angle, A: Sym3) -> Sym3:
    """
    Rotate a symmetric matrix about coordinate axis k: 8m + 7a (RBDA A.5).

    :param i: the axis after k in cyclic order; exchanged with j the rotation is the inverse one.
    """
    c, s = angle.c, angle.s
    cs, ss, cs2, cos2 = angle.products()
    a = A.entries()
    ii, jj, ij = a[SYM[i][i]], a[SYM[j][j]], a[SYM[i][j]]
    ik, jk = a[SYM[i][k]], a[SYM[j][k]]
    d = jj - ii
    alpha = cs2 * ij + ss * d
    b = list(a)
    b[SYM[i][i]] = ii + alpha
    b[SYM[j][j]] = jj - alpha
    b[SYM[i][j]] = cs * d + cos2 * ij
    b[SYM[i][k]] = c * ik + s * jk
    b[SYM[j][k]] = c * jk - s * ik
    return Sym3(*b)


def axial_general(i: int, j: int, k: int, angle: Angle, A: Mat3) -> Mat3:
    """Rotate a general matrix about coordinate axis k: 12m + 12a (RBDA A.5)."""
    c, s = angle.c, angle.s
    cs, ss, _, _ = angle.products()
    a = A.rows
    b: Matrix = [[0.0] * 3 for _ in range(3)]
    e = a[i][j] + a[j][i]
    d = a[j][j] - a[i][i]
    alpha = cs * e + ss * d
    beta = cs * d - ss * e
    b[i][i] = a[i][i] + alpha
    b[j][j] = a[j][j] - alpha
    b[i][j] = a[i][j] + beta
    b[j][i] = a[j][i] + beta
    b[i][k] = c * a[i][k] + s * a[j][k]
    b[j][k] = c * a[j][k] - s * a[i][k]
    b[k][i] = c * a[k][i] + s * a[k][j]
    b[k][j] = c * a[k][j] - s * a[k][i]
    b[k][k] = a[k][k]
    return Mat3(b)


def general_symmetric(E: Mat3, A: Sym3) -> Sym3:
    """Return E A E^T for a symmetric A: 28m + 29a (RBDA A.5)."""
    (e11, e12, _), (e21, e22, e23), (e31, e32, e33) = E.rows
    zz = A.zz
    l11, l22 = A.xx - zz, A.yy - zz
    l31, l32 = A.xz + A.xz, A.yz + A.yz
    y21 = e21 * l11 + e22 * A.xy + e23 * l31
    y22 = e21 * A.xy + e22 * l22 + e23 * l32
    y31 = e31 * l11 + e32 * A.xy + e33 * l31
    y32 = e31 * A.xy + e32 * l22 + e33 * l32
    z21 = y21 * e11 + y22 * e12
    z22 = y21 * e21 + y22 * e22
    z31 = y31 * e11 + y32 * e12
    z32 = y31 * e21 + y32 * e22
    z33 = y31 * e31 + y32 * e32
    z11 = l11 + l22 - z22 - z33          # the trace does not change
    vx, vy = -A.yz, A.xz
    wx, wy, wz = e11 * vx + e12 * vy, e21 * vx + e22 * vy, e31 * vx + e32 * vy
    return Sym3(z11 + zz, z21 + wz, z31 - wy, z22 + zz, z32 + wx, z33 + zz)


def general_general(E: Mat3, A: Mat3) -> Mat3:
    """Return E A E^T for a general A: 40m + 39a (RBDA A.5)."""
    (e11, e12, e13), (e21, e22, e23), (e31, e32, e33) = E.rows
    (a11, a12, a13), (a21, a22, a23), (a31, a32, a33) = A.rows
    l11, l22, l31, l32 = a11 - a33, a22 - a33, a31 + a13, a32 + a23
    y11, y12 = e11 * l11 + e12 * a21 + e13 * l31, e11 * a12 + e12 * l22 + e13 * l32
    y21, y22 = e21 * l11 + e22 * a21 + e23 * l31, e21 * a12 + e22 * l22 + e23 * l32
    y31, y32 = e31 * l11 + e32 * a21 + e33 * l31, e31 * a12 + e32 * l22 + e33 * l32
    z22, z33 = y21 * e21 + y22 * e22, y31 * e31 + y32 * e32
    z11 = l11 + l22 - z22 - z33          # the trace does not change
    wx, wy, wz = (e12 * a13 - e11 * a23, e22 * a13 - e21 * a23, e32 * a13 - e31 * a23)
    return Mat3((
        (z11 + a33, y11 * e21 + y12 * e22 - wz, y11 * e31 + y12 * e32 + wy),
        (y21 * e11 + y22 * e12 + wz, z22 + a33, y21 * e31 + y22 * e32 - wx),
        (y31 * e11 + y32 * e12 - wy, y31 * e21 + y32 * e22 + wx, z33 + a33)))
