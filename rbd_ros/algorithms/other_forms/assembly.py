# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Two articulated bodies joined by a joint: the assembly formulae of RBDA 7.2.2 and Table 7.2.

Body 1 keeps the handle, the joint goes from body 1 to body 2, and everything is in the coordinates
of one frame. Matrices are lists of rows over generic scalars. The articulated-body algorithm
(:mod:`rbd_ros.algorithms.aba`) is the standard formula with compact types; the variants serve
bodies that have no inertia (a handle with fewer than six freedoms) and joints known by their
constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.linear import ltl
from rbd_ros.algorithms.linear.dense import (
    add, apply, dot, eliminate, identity, minus, plus, subtract, times, transposed, zeros)
from rbd_ros.compiler import Matrix, Rows, Scalar, Values


class Handle(NamedTuple):
    """
    A handle by its inertia, f = I a + p (7.1); or by its inverse inertia, a = I f + p (7.3).

    :param I: 6 x 6, symmetric: I^A, or Phi^A where the inverse form is asked for.
    :param p: six numbers: the bias force p^A, or the bias acceleration b^A.
    """

    I: Rows
    p: Values


class Connection(NamedTuple):
    """
    The joint between two handles (3.33 to 3.36, 7.54, 7.55), n freedoms.

    :param S: motion subspace, 6 x n.
    :param T: constraint-force subspace, 6 x (6 - n), T^T S = 0.
    :param T_a: active-force subspace, 6 x n, T_a^T S = 1.
    :param c: velocity-product acceleration, a_2 = a_1 + c + S qdd.
    :param tau: joint forces, f_2 = T_a tau + T lambda.
    """

    S: Rows
    T: Rows
    T_a: Rows
    c: Values
    tau: Values

    @property
    def n(self) -> int:
        """Return the number of freedoms."""
        return len(self.tau)

    @property
    def active(self) -> list[Scalar]:
        """Return T_a tau, the drive as a force on body 2; body 1 gets the opposite (7.4, note)."""
        return apply(self.T_a, self.tau)

    def qdd(self, a_1: Values, a_2: Values) -> list[Scalar]:
        """Return the joint accelerations T_a^T (a_2 - a_1 - c), for the variants (7.4, note)."""
        return apply(transposed(self.T_a, self.n), subtract(subtract(a_2, a_1), self.c))


class Standard(NamedTuple):
    """
    Result of the standard formulae.

    :param joined: I^A and p^A of the handle.
    :param D: S^T I_2 S, factorised.
    :param U: I_2 S, 6 x n.
    :param z: tau - S^T p_2 - S^T I_2 c.
    """

    joined: Handle
    D: ltl.Dense
    U: Matrix
    z: list[Scalar]

    def qdd(self, a_1: Values) -> list[Scalar]:
        """Return the joint accelerations at the acceleration of the handle (7.18)."""
        UT = transposed(self.U, len(self.z))
        return self.D.solve(subtract(self.z, apply(UT, a_1)))


class Variant(NamedTuple):
    """
    Result of a variant.

    :param joined: Phi^A and b^A (variant 1), or I^A and p^A (variant 2).
    :param Y: the matrix before lambda, factorised.
    :param given: what multiplies the handle's force (variant 1) or acceleration (variant 2).
    :param z: the rest of the right-hand side.
    """

    joined: Handle
    Y: ltl.Dense
    given: Matrix
    z: list[Scalar]

    def multipliers(self, x: Values) -> list[Scalar]:
        """
        Return lambda, the constraint force along T.

        :param x: force on the handle (variant 1) or its acceleration (variant 2).
        """
        return self.Y.solve(add(self.z, apply(self.given, x)))


def standard(one: Handle, two: Handle, joint: Connection) -> Standard:
    """Join by inertias and the motion subspace (7.18 to 7.20)."""
    n = joint.n
    ST = transposed(joint.S, n)
    U = times(two.I, joint.S, n)
    D = ltl.Dense(times(ST, U, n))
    Ic = apply(two.I, joint.c)
    z = subtract(subtract(joint.tau, apply(ST, two.p)), apply(ST, Ic))
    I_A = minus(plus(one.I, two.I), times(U, _solved(D, transposed(U, n), 6), 6))          # 7.19
    p_A = add(add(add(one.p, two.p), Ic), apply(U, D.solve(z)))                            # 7.20
    return Standard(Handle(I_A, p_A), D, U, z)


def variant_1(one: Handle, two: Handle, joint: Connection) -> Variant:
    """
    Join by inverse inertias and the constraint-force subspace (Table 7.2, variant 1).

    Needs no inertia of either body; Y is regular unless the joint repeats a constraint that is
    there already.

    :param one: Phi_1, b_1.
    :param two: Phi_2, b_2.
    """
    m = 6 - joint.n
    TT = transposed(joint.T, m)
    both = plus(one.I, two.I)
    Y = ltl.Dense(times(TT, times(both, joint.T, m), m))
    z = apply(TT, subtract(subtract(add(joint.c, one.p), two.p), apply(both, joint.active)))
    W = times(one.I, joint.T, m)                                            # Phi_1 T
    WT = transposed(W, m)
    Phi = minus(one.I, times(W, _solved(Y, WT, 6), 6))
    b = subtract(subtract(one.p, apply(one.I, joint.active)), apply(W, Y.solve(z)))
    return Variant(Handle(Phi, b), Y, WT, z)


def variant_2(one: Handle, two: Handle, joint: Connection) -> Variant:
    """Join by inertias and the constraint-force subspace (Table 7.2, variant 2)."""
    m = 6 - joint.n
    TT = transposed(joint.T, m)
    I_2 = ltl.Dense(two.I)
    Y = ltl.Dense(times(TT, _solved(I_2, joint.T, m), m))
    z = apply(TT, subtract(joint.c, I_2.solve(subtract(joint.active, two.p))))
    I_A = plus(one.I, times(joint.T, _solved(Y, TT, 6), 6))
    p_A = add(add(one.p, joint.active), apply(joint.T, Y.solve(z)))
    return Variant(Handle(I_A, p_A), Y, TT, z)


def _solved(A: ltl.Dense, B: Rows, columns: int) -> Matrix:
    """Return A^-1 B."""
    return transposed([A.solve(column) for column in transposed(B, columns)], len(B))


def by_elimination(
    one: Handle, two: Handle, joint: Connection, variant: int = 0,
) -> tuple[Handle, Handle]:
    """
    Join by eliminating the five equations of bodies, joint and force balance (RBDA 7.4).

    The five equations stand in the order of Table 7.2, as near to upper-triangular form as they
    come; what is left in the first row after elimination is the equation of the handle.

    :param variant: 0 for the standard equations, 1 and 2 for the variants; the bodies are given
        by Phi and b for variant 1.
    :returns: the handle of the whole; and qdd (standard) or lambda (variants) in the same form,
        as a matrix times the acceleration or force of the handle, plus a vector.
    """
    blocks, known, target = (_standard_rows, _variant_1_rows, _variant_2_rows)[variant](
        one, two, joint)
    A = [list(row) for block in blocks for row in _side_by_side(block)]
    right = [[*target_row, value] for matrix, vector in zip(target, known, strict=True)
             for target_row, value in zip(matrix, vector, strict=True)]
    solved = eliminate(A, right)
    return tuple(Handle([row[:-1] for row in part], [row[-1] for row in part])
                 for part in (solved[:6], solved[24:]))  # type: ignore[return-value]


def _side_by_side(block: Sequence[Rows]) -> Matrix:
    return [[x for part in rows for x in part] for rows in zip(*block, strict=True)]


Equations = tuple['list[list[Rows]]', 'list[Values]', 'list[Rows]']


def _negative(A: Rows) -> Matrix:
    return [[-x for x in row] for row in A]


def _standard_rows(one: Handle, two: Handle, joint: Connection) -> Equations:
    """Return the composite equation for f, f_1, f_2, a_2, qdd against a_1 (7.51 to 7.55)."""
    n = joint.n
    i, o, on, no = identity(6), zeros(6, 6), zeros(6, n), zeros(n, 6)
    return [
        [i, _negative(i), _negative(i), o, on],                                            # 7.53
        [o, i, o, o, on],                                                                  # 7.51
        [o, o, i, _negative(two.I), on],                                                   # 7.52
        [o, o, o, i, _negative(joint.S)],                                                  # 7.54
        [no, no, transposed(joint.S, n), no, zeros(n, n)],                                 # 7.55
    ], [[0.0] * 6, one.p, two.p, joint.c, joint.tau], [o, one.I, o, i, no]


def _variant_1_rows(one: Handle, two: Handle, joint: Connection) -> Equations:
    """Return the composite equation for a_1, a_2, f_1, f_2, lambda against f."""
    m = 6 - joint.n
    i, o, om, mo = identity(6), zeros(6, 6), zeros(6, m), zeros(m, 6)
    TT = transposed(joint.T, m)
    return [
        [i, o, _negative(one.I), o, om],
        [o, i, o, _negative(two.I), om],
        [o, o, i, i, om],
        [o, o, o, i, _negative(joint.T)],
        [_negative(TT), TT, mo, mo, zeros(m, m)],
    ], [one.p, two.p, [0.0] * 6, joint.active, apply(TT, joint.c)], [o, o, i, o, mo]


def _variant_2_rows(one: Handle, two: Handle, joint: Connection) -> Equations:
    """Return the composite equation for f, f_1, f_2, a_2, lambda against a_1."""
    m = 6 - joint.n
    i, o, om, mo = identity(6), zeros(6, 6), zeros(6, m), zeros(m, 6)
    TT = transposed(joint.T, m)
    return [
        [i, _negative(i), _negative(i), o, om],
        [o, i, o, o, om],
        [o, o, i, _negative(two.I), om],
        [o, o, i, o, _negative(joint.T)],
        [mo, mo, mo, TT, zeros(m, m)],
    ], [[0.0] * 6, one.p, two.p, joint.active, apply(TT, joint.c)], [o, one.I, o, o, TT]


def active_subspace(S: Rows, n: int) -> Matrix:
    """
    Return the T_a = S (S^T S)^-1 of a drive along S itself, T_a^T S = 1 (3.35).

    Any other T_a with that property moves the bodies alike; only lambda depends on the choice.

    :param n: number of columns of S.
    """
    ST = transposed(S, n)
    gram = ltl.Dense([[dot(a, b) for b in ST] for a in ST])
    return [gram.solve(row) for row in S]
