# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Rigid-body and articulated-body inertias in compact form (RBDA 2.13, 7.1, Tables A.3 and A.4).

Both are dyadics from M6 to F6. A rigid inertia keeps its 10 parameters, an articulated one its 21.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, overload

from rbd_ros.compiler import is_zero, Rows, Scalar
from rbd_ros.spatial.algebra import Mat3, Sym3, Vec3
from rbd_ros.spatial.value import Value, writers
from rbd_ros.spatial.vectors import Force, Motion


class RigidInertia(Value):
    """
    Inertia of a rigid body about the origin of the frame it is expressed in.

    :param m: mass.
    :param h: first moment m c, where c is the centre of mass.
    :param I: rotational inertia about the frame origin (not about the centre of mass).
    """

    __slots__ = ('m', 'h', 'I')

    m: Scalar
    h: Vec3
    I: Sym3

    def __init__(self, m: Scalar, h: Vec3, I: Sym3) -> None:
        _m(self, m)
        _h(self, h)
        _I(self, I)

    @classmethod
    def zero(cls) -> RigidInertia:
        """Return the inertia of nothing, with exact zeros."""
        return cls(0.0, Vec3.zero(), Sym3.zero())

    @classmethod
    def from_com(cls, m: Scalar, c: Vec3, I_c: Sym3) -> RigidInertia:
        """Make an inertia from mass, centre of mass and inertia about it (RBDA Eq. 2.63)."""
        h = c * m
        xx, yy, zz = h.x * c.x, h.y * c.y, h.z * c.z
        return cls(m, h, Sym3(
            I_c.xx + yy + zz, I_c.xy - h.x * c.y, I_c.xz - h.x * c.z,
            I_c.yy + xx + zz, I_c.yz - h.y * c.z, I_c.zz + xx + yy))

    def com_form(self) -> tuple[Scalar, Vec3, Sym3]:
        """Return mass, centre of mass and inertia about it; the mass must not be zero."""
        h, inertia = self.h, self.I
        c = Vec3(h.x / self.m, h.y / self.m, h.z / self.m)
        xx, yy, zz = h.x * c.x, h.y * c.y, h.z * c.z
        return self.m, c, Sym3(
            inertia.xx - yy - zz, inertia.xy + h.x * c.y, inertia.xz + h.x * c.z,
            inertia.yy - xx - zz, inertia.yz + h.y * c.z, inertia.zz - xx - yy)

    def to_list(self) -> list[Any]:
        """Return the symmetric 6x6 matrix as nested lists, angular first."""
        return self.articulated().to_list()

    def articulated(self) -> ArticulatedInertia:
        """Return the same inertia in the 21-parameter form."""
        return ArticulatedInertia(self.I, self.h.skew(), Sym3.diagonal(self.m, self.m, self.m))

    @overload
    def __add__(self, other: RigidInertia) -> RigidInertia: ...

    @overload
    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia: ...

    def __add__(self, other: RigidInertia | ArticulatedInertia) -> (
            RigidInertia | ArticulatedInertia):
        if type(other) is RigidInertia:
            return RigidInertia(self.m + other.m, self.h + other.h, self.I + other.I)
        if type(other) is ArticulatedInertia:
            return other + self
        return NotImplemented

    def __mul__(self, factor: Scalar) -> RigidInertia:
        return RigidInertia(self.m * factor, self.h * factor, self.I * factor)

    __rmul__ = __mul__

    def __matmul__(self, v: Motion) -> Force:
        if type(v) is not Motion:
            raise _not_motion(self, v)
        m, h, w, u = self.m, self.h, v.ang, v.lin
        n = self.I @ w
        return Force(                                             # RBDA Table A.4
            Vec3(n.x + h.y * u.z - h.z * u.y, n.y + h.z * u.x - h.x * u.z,
                 n.z + h.x * u.y - h.y * u.x),
            Vec3(m * u.x - h.y * w.z + h.z * w.y, m * u.y - h.z * w.x + h.x * w.z,
                 m * u.z - h.x * w.y + h.y * w.x))

    def moved(self, r: Vec3) -> RigidInertia:
        """
        Return xlt(r)^T I xlt(r), the inertia seen from the origin of a frame of which r is ours.

        This takes 12m + 18a, three of each fewer than in RBDA Table A.4.
        """
        rx, ry, rz = r.x, r.y, r.z
        if is_zero(rx) and is_zero(ry) and is_zero(rz):
            return self
        m, h, I = self.m, self.h, self.I
        yx, yy, yz = h.x + m * rx, h.y + m * ry, h.z + m * rz
        tx, ty, tz = rx * (h.x + yx), ry * (h.y + yy), rz * (h.z + yz)
        return RigidInertia(m, Vec3(yx, yy, yz), Sym3(
            I.xx + (ty + tz), I.xy - h.x * ry - rx * yy, I.xz - h.x * rz - rx * yz,
            I.yy + (tx + tz), I.yz - h.y * rz - ry * yz, I.zz + (tx + ty)))

    def rate(self, v: Motion) -> RigidInertia:
        """
        Return v x* I - I v x, the derivative of the inertia of a body that moves with v (2.65).

        It has the form of a rigid inertia without mass: the mass does not change.
        """
        if type(v) is not Motion:
            raise _not_motion(self, v)
        m, h, w, u = self.m, self.h, v.ang, v.lin
        wI = w.skew() @ Mat3(self.I.to_list())
        (a, ab, ac), (ba, b, bc), (ca, cb, c) = wI.rows
        x, y, z = h.x * u.x, h.y * u.y, h.z * u.z
        # w x I - I w x is twice the symmetric part of w x I
        return RigidInertia(0.0, w.cross(h) + u * m, Sym3(
            a + a + 2.0 * (y + z), ab + ba - h.x * u.y - h.y * u.x,
            ac + ca - h.x * u.z - h.z * u.x, b + b + 2.0 * (x + z),
            bc + cb - h.y * u.z - h.z * u.y, c + c + 2.0 * (x + y)))

    def solve(self, f: Force) -> Motion:
        """
        Return the motion a with I a = f, the product with the inverse inertia (RBDA Eq. 2.74).

        Mass and inertia about the centre of mass must not be singular.
        """
        if type(f) is not Force:
            raise TypeError(f'RigidInertia.solve takes a Force, not {type(f).__name__}')
        m, c, I_c = self.com_form()
        w = I_c.solve(f.ang - c.cross(f.lin))
        return Motion(w, f.lin * (1.0 / m) + c.cross(w))


_m, _h, _I = writers(RigidInertia)


class ArticulatedInertia(Value):
    """
    Symmetric 6x6 inertia [I H; H^T M] of a body that drags others along (RBDA 7.1).

    :param I: angular block.
    :param H: upper right block, angular rows and linear columns.
    :param M: linear block.
    """

    __slots__ = ('I', 'H', 'M')

    I: Sym3
    H: Mat3
    M: Sym3

    def __init__(self, I: Sym3, H: Mat3, M: Sym3) -> None:
        _angular(self, I)
        _mixed(self, H)
        _linear(self, M)

    @classmethod
    def zero(cls) -> ArticulatedInertia:
        """Return the inertia of exact zeros."""
        return cls(Sym3.zero(), Mat3.zero(), Sym3.zero())

    @classmethod
    def from_matrix(cls, rows: Rows) -> ArticulatedInertia:
        """Take the upper triangle of a symmetric 6x6 nested sequence."""
        return cls(Sym3.from_matrix([row[:3] for row in rows[:3]]),
                   Mat3([row[3:] for row in rows[:3]]),
                   Sym3.from_matrix([row[3:] for row in rows[3:]]))

    def to_list(self) -> list[Any]:
        """Return the symmetric 6x6 matrix as nested lists, angular first."""
        inertia, H, M = self.I.to_list(), self.H.to_list(), self.M.to_list()
        return ([a + b for a, b in zip(inertia, H)]
                + [[row[i] for row in H] + M[i] for i in range(3)])

    def __add__(self, other: RigidInertia | ArticulatedInertia) -> ArticulatedInertia:
        if type(other) is ArticulatedInertia:
            return ArticulatedInertia(self.I + other.I, self.H + other.H, self.M + other.M)
        if type(other) is not RigidInertia:
            return NotImplemented
        M, h, m = self.M, other.h, other.m
        (a, b, c), (d, e, f), (g, i, j) = self.H.rows
        return ArticulatedInertia(
            self.I + other.I,
            Mat3(((a, b - h.z, c + h.y), (d + h.z, e, f - h.x), (g - h.y, i + h.x, j))),
            Sym3(M.xx + m, M.xy, M.xz, M.yy + m, M.yz, M.zz + m))

    def __mul__(self, factor: Scalar) -> ArticulatedInertia:
        return ArticulatedInertia(self.I * factor, self.H * factor, self.M * factor)

    __rmul__ = __mul__

    def __matmul__(self, v: Motion) -> Force:
        if type(v) is not Motion:
            raise _not_motion(self, v)
        return Force(self.I @ v.ang + self.H @ v.lin,             # RBDA Table A.4
                     self.M @ v.lin + self.H.transpose_times(v.ang))

    def moved(self, r: Vec3) -> ArticulatedInertia:
        """
        Return xlt(r)^T I xlt(r), the inertia seen from the origin of a frame of which r is ours.

        This takes 30m + 42a, 11m fewer than in RBDA Table A.4.
        """
        rx, ry, rz = r.x, r.y, r.z
        if is_zero(rx) and is_zero(ry) and is_zero(rz):
            return self
        I, M = self.I, self.M
        (a, b, c), (d, e, f), (g, h, i) = self.H.rows
        px, py, pz = rx * M.yz, ry * M.xz, rz * M.xy
        ya, yb, yc = a + (py - pz), b + (ry * M.yz - rz * M.yy), c + (ry * M.zz - rz * M.yz)
        yd, ye, yf = d + (rz * M.xx - rx * M.xz), e + (pz - px), f + (rz * M.xz - rx * M.zz)
        yg, yh, yi = g + (rx * M.xy - ry * M.xx), h + (rx * M.yy - ry * M.xy), i + (px - py)
        return ArticulatedInertia(
            Sym3(I.xx + (ry * (c + yc) - rz * (b + yb)),
                 I.xy + (rz * (ya - e) + ry * f - rx * yc),
                 I.xz + (ry * (i - ya) - rz * h + rx * yb),
                 I.yy + (rz * (d + yd) - rx * (f + yf)),
                 I.yz + (rx * (ye - i) + rz * g - ry * yd),
                 I.zz + (rx * (h + yh) - ry * (g + yg))),
            Mat3(((ya, yb, yc), (yd, ye, yf), (yg, yh, yi))), M)

    def minus_dyads(self, U: Sequence[Force], V: Sequence[Force],
                    zero: Collection[int] = ()) -> ArticulatedInertia:
        """
        Return I - sum U_k V_k^T, whose result is known to be symmetric (RBDA Eq. 7.47).

        :param zero: rows and columns (0..5) that are known to vanish, see vanishing_rows: they
            become exact zeros, which the simplifier could not prove by itself.
        """
        rows = self.to_list()
        left = [u.to_list() for u in U]
        right = [v.to_list() for v in V]
        for i in range(6):
            for j in range(i, 6):
                if i in zero or j in zero:
                    rows[i][j] = 0.0
                    continue
                for u, v in zip(left, right):
                    if not (is_zero(u[i]) or is_zero(v[j])):
                        rows[i][j] = rows[i][j] - u[i] * v[j]
        return ArticulatedInertia.from_matrix(rows)


_angular, _mixed, _linear = writers(ArticulatedInertia)


def _not_motion(inertia: object, v: object) -> TypeError:
    return TypeError(f'{type(inertia).__name__} maps a Motion to a Force; '
                     f'it cannot be applied to {type(v).__name__}')
