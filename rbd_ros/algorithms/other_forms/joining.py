# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Articulated bodies with several handles, and how they are joined (RBDA 7.5).

All vectors are in base coordinates, where a handle needs no place of its own: any number of joints
at one body act upon one handle, the body itself. Sets of bodies are joined at one joint, at
several at once, or closed by a joint between two bodies of the same set (a loop).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.linear import ltl
from rbd_ros.algorithms.linear.dense import add, apply, minus, subtract, times, transposed, zeros
from rbd_ros.algorithms.linear.jacobi import largest_and_smallest, symmetric_eigen
from rbd_ros.compiler import less, Matrix, maximum, Rows, Scalar, Values, where

#: Below this share of the largest eigenvalue of Y a constraint repeats others.
REDUNDANT = 1e-10
SWEEPS = 10


class Handles(NamedTuple):
    """
    A set of bodies by the inverse inertia of its handles: a = Phi f + b (7.57).

    :param bodies: the body of each handle, in the order of the blocks.
    :param Phi: 6h x 6h, symmetric; block ij is what a force on handle j does to handle i.
    :param b: 6h numbers, the accelerations without any force on the handles.
    """

    bodies: tuple[int, ...]
    Phi: Rows
    b: Values

    def rows(self, body: int) -> slice:
        """Return the place of a handle."""
        at = 6 * self.bodies.index(body)
        return slice(at, at + 6)


class Constraint(NamedTuple):
    """
    A joint as a constraint: T^T (a_s - a_p) = T^T c, and the force T lambda on s, minus that on p.

    :param predecessor: body p, 0 for the base.
    :param successor: body s.
    :param T: constraint-force subspace, 6 x m.
    :param c: velocity-product acceleration; for a joint on the base the base's own is added.
    :param give: by how much each constraint yields to its own lambda, m numbers: T^T (a_s - a_p)
        is less by it; none where all are rigid.
    """

    predecessor: int
    successor: int
    T: Rows
    c: Values
    give: Values = ()

    @property
    def m(self) -> int:
        """Return the number of constraints."""
        return len(self.T[0])

    @property
    def parts(self) -> list[tuple[int, Rows]]:
        """Return the bodies at both ends, without the base, and what multiplies their a."""
        ends = ((self.successor, 1.0), (self.predecessor, -1.0))
        return [(body, [[sign * x for x in row] for row in self.T]) for body, sign in ends if body]

    @property
    def right(self) -> Values:
        """Return T^T c."""
        return apply(transposed(self.T, self.m), self.c)


class Tie(NamedTuple):
    """
    One constraint across several joints: sum N_i^T a_i = c, and the force N_i lambda on body i.

    :param parts: bodies, without the base, and N_i, 6 x 1, of each.
    :param right: c, one number.
    :param give: as for a joint.
    """

    parts: list[tuple[int, Rows]]
    right: Values
    give: Values = ()

    @property
    def m(self) -> int:
        """Return the number of constraints."""
        return 1


class Joined(NamedTuple):
    """
    Sets of bodies after joining.

    :param handles: handles that remain.
    :param before: all handles there were, on which lambda = Y^-1 (z - N^T Phi f) acts as N lambda.
    """

    handles: Handles
    before: Handles
    N: Matrix
    NPhi: Matrix
    Y: ltl.Dense | PseudoInverse
    z: list[Scalar]

    def forces(self, f: Values) -> list[Scalar]:
        """
        Return the forces of the joints on all handles there were, 6h numbers (7.61, 7.62).

        :param f: forces on the handles that remain.
        """
        spread: list[Scalar] = [0.0] * len(self.before.b)
        for body in self.handles.bodies:
            spread[self.before.rows(body)] = f[self.handles.rows(body)]
        multipliers = self.Y.solve(subtract(self.z, apply(self.NPhi, spread)))             # 7.62
        return add(spread, apply(self.N, multipliers))                                     # 7.61


class PseudoInverse:
    """A symmetric matrix without negative eigenvalues, inverted where it is not zero."""

    def __init__(self, A: Rows) -> None:
        w, self._V = symmetric_eigen(A, SWEEPS)
        floor = REDUNDANT * largest_and_smallest(w)[0]
        self._w = [where(less(floor, x), 1.0 / maximum(x, floor), 0.0) for x in w]

    def solve(self, b: Values) -> list[Scalar]:
        """Return the shortest x among those that come nearest to A x = b."""
        y = apply(transposed(self._V, len(b)), b)
        return apply(self._V, [w * x for w, x in zip(self._w, y, strict=True)])


def side_by_side(one: Handles, two: Handles) -> Handles:
    """Return two sets as one, not yet joined."""
    n, m = len(one.b), len(two.b)
    Phi = [[*row, *[0.0] * m] for row in one.Phi] + [[*[0.0] * n, *row] for row in two.Phi]
    return Handles(one.bodies + two.bodies, Phi, [*one.b, *two.b])


def join(
    whole: Handles, joints: Sequence[Constraint | Tie], keep: Sequence[int], *,
    redundant: bool = False,
) -> Joined:
    """
    Join the handles of a set by some joints at once (7.57 to 7.63).

    :param keep: bodies whose handles are needed later.
    :param redundant: whether a joint may repeat constraints that are there already, as in a loop:
        Y is singular then, and lambda not unique, but the accelerations are.
    """
    size, m = len(whole.b), sum(joint.m for joint in joints)
    N = zeros(size, m)
    c: list[Scalar] = []
    for joint in joints:
        at = len(c)
        for body, T in joint.parts:
            for row, values in zip(N[whole.rows(body)], T, strict=True):
                row[at:at + joint.m] = values
        c += joint.right
    NT = transposed(N, m)
    NPhi = times(NT, whole.Phi, size)
    Y_matrix = times(NPhi, N, m)
    give = [x for joint in joints for x in joint.give or [0.0] * joint.m]
    for k, x in enumerate(give):
        Y_matrix[k][k] = Y_matrix[k][k] + x
    Y = PseudoInverse(Y_matrix) if redundant else ltl.Dense(Y_matrix)
    z = subtract(c, apply(NT, whole.b))                                                    # 7.60
    share = transposed([Y.solve(row) for row in transposed(NPhi, size)], m)       # Y^-1 N^T Phi
    PhiN = transposed(NPhi, size)
    Phi = minus(whole.Phi, times(PhiN, share, size))                                       # 7.63
    b = add(whole.b, apply(PhiN, Y.solve(z)))
    places = [k for body in keep for k in range(*whole.rows(body).indices(size))]
    left = Handles(tuple(keep), [[Phi[i][j] for j in places] for i in places],
                   [b[i] for i in places])
    return Joined(left, whole, N, NPhi, Y, z)
