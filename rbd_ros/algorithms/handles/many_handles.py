# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The inverse operational-space inertia of many handles, by six methods (RBDA 6.5, 7.2, 7.3).

Phi = J H^-1 J^T has a block for every pair of handles: the acceleration of the one under a force
upon the other. With n joint variables, tree depth d and m directions of handles in all:

======================  ==========================  ===============================================
``dense``               O(n^3 + n^2 m + n m^2)      Khatib 1987, RBDA 7.9
``ltl``                 O(n d^2 + m d^2 + m^2 d)    Featherstone 2010, RBDA 6.5
``krj``                 O(n + m^2 d)                Kreutz-Delgado, Jain and Rodriguez 1992
``efpa``                O(n + m d + m^2)            Wensing, Featherstone and Orin 2012
``pv``                  O(n + m^2 d)                PV-OSIM: Popov and Vereshchagin
``pvr``                 O(n + m^2)                  PV-OSIMr: Sathya, Bruyninckx and Decre 2024
======================  ==========================  ===============================================

The first two take the inertia matrix, the others articulated bodies and their propagators K (see
:mod:`rbd_ros.algorithms.handles.propagators`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from rbd_ros.algorithms.handles.opspace import Handle
from rbd_ros.algorithms.handles.propagators import articulate, in_body, inward, Joints, outward
from rbd_ros.algorithms.kinematics import combine, links, Links
from rbd_ros.algorithms.linear import ltl
from rbd_ros.algorithms.linear.dense import dot
from rbd_ros.compiler import Matrix, Scalar, Values
from rbd_ros.errors import ModelError, RbdError
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, InverseInertia, Motion, RigidInertia

Forces = list[Force]


# --- through the inertia matrix ---------------------------------------------------------------


def dense(H: Matrix, parent: Sequence[int], J: Matrix) -> Matrix:
    """Return J H^-1 J^T with the inverse written out (7.9), the plain sense of the definition."""
    Hinv = ltl.inverse(H, parent)
    JHinv = [[dot(row, column) for column in Hinv] for row in J]         # H^-1 is symmetric
    return _symmetric(lambda i, j: dot(JHinv[i], J[j]), len(J))


def sparse(H: Matrix, parent: Sequence[int], J: Matrix) -> Matrix:
    """Return Y D^-1 Y^T with Y^T = L^-T J^T (Tables 6.3, 6.5): no zero of a branch is touched."""
    L, D = ltl.ltdl(H, parent)
    Dinv = [1.0 / d for d in D]
    Y = [ltl.solve_transposed(L, parent, row) for row in J]
    scaled = [[y * d for y, d in zip(row, Dinv, strict=True)] for row in Y]
    return _symmetric(lambda i, j: dot(scaled[i], Y[j]), len(J))


def _symmetric(entry: Callable[[int, int], Scalar], m: int) -> Matrix:
    """Return a symmetric matrix from a function for the entries (i, j) with j <= i."""
    Phi: Matrix = [[0.0] * m for _ in range(m)]
    for i in range(m):
        for j in range(i + 1):
            Phi[i][j] = Phi[j][i] = entry(i, j)
    return Phi


# --- through articulated bodies ---------------------------------------------------------------


def krj(model: Model, tree: Links, joints: Joints, handles: Sequence[Handle]) -> Matrix:
    """
    Return Phi by Omega of every body, and a chain of propagators for each pair of handles.

    Omega_i is the inverse inertia of body i as a handle. For bodies i and j that meet at g, their
    greatest common ancestor, Omega_ij = K_i..g Omega_g (K_j..g)^T.
    """
    Omega = _inverse_inertias(model, tree, joints, handles)
    rows = [in_body(handle) for handle in handles]

    def arrived(g: int, body: int, a: Motion) -> Motion:
        for i in model.support[body]:
            if i > g:
                a = outward(tree, joints, i, a)
        return a

    def block(e: int, f: int) -> Matrix:
        one, two = handles[e].frame.body, handles[f].frame.body
        g = common_ancestor(model, one, two)
        columns = [arrived(g, one, Omega[g] @ k).to_list() for k in _unit_forces()]
        Omega_ef = [arrived(g, two, Motion.from_list(row)) for row in zip(*columns, strict=True)]
        return [[dot(k.to_list(), [row.dot(x) for row in Omega_ef]) for x in rows[f]]
                for k in rows[e]]

    return _assembled(handles, block)


def efpa(model: Model, tree: Links, joints: Joints, handles: Sequence[Handle]) -> Matrix:
    """
    Return Phi by Omega of every body, and force propagators from each handle to its ancestors.

    Phi_ef = k_e,g Omega_g k_f,g^T with the forces k of each handle as body g feels them: no pair
    needs a chain of its own.
    """
    Omega = _inverse_inertias(model, tree, joints, handles)
    reach: list[dict[int, Forces]] = []
    for handle in handles:
        i, k = handle.frame.body, in_body(handle)
        reach.append({i: k})
        while i != 0:
            k = inward(tree, joints, i, k)
            i = model.parent[i]
            reach[-1][i] = k

    def block(e: int, f: int) -> Matrix:
        g = common_ancestor(model, handles[e].frame.body, handles[f].frame.body)
        felt = [Omega[g] @ k for k in reach[f][g]]
        return [[k.dot(a) for a in felt] for k in reach[e][g]]

    return _assembled(handles, block)


def pv(model: Model, tree: Links, joints: Joints, handles: Sequence[Handle]) -> Matrix:
    """
    Return Phi by what every joint yields to the forces of all the handles that it carries.

    On the way to the base, joint i adds k_e S D^-1 S^T k_f^T to the block of handles e and f.
    """
    felt: list[dict[int, Matrix]] = []               # S^T k by joint, and D^-1 S^T k
    yielded: list[dict[int, Matrix]] = []
    for handle in handles:
        i, k = handle.frame.body, in_body(handle)
        felt.append({})
        yielded.append({})
        while i != 0:
            felt[-1][i] = [[s.dot(row) for s in tree.S[i]] for row in k]
            yielded[-1][i] = [joints.D[i].solve(row) for row in felt[-1][i]]
            k = inward(tree, joints, i, k)
            i = model.parent[i]

    def block(e: int, f: int) -> Matrix:
        L: Matrix = [[0.0] * len(handles[f].rows) for _ in handles[e].rows]
        for i in sorted(felt[e].keys() & felt[f].keys()):
            L = [[x + dot(z, y) for x, y in zip(line, felt[f][i], strict=True)]
                 for line, z in zip(L, yielded[e][i], strict=True)]
        return L

    return _assembled(handles, block)


def pvr(model: Model, tree: Links, joints: Joints, handles: Sequence[Handle]) -> Matrix:
    """
    Return Phi by what the joints yield, over spans between the bodies where handles meet.

    The forces of a handle go to the first body where another handle joins; from there to the next
    such body, six unit forces go for all.
    """
    meeting = sorted({
        common_ancestor(model, e.frame.body, f.frame.body)
        for n, e in enumerate(handles) for f in handles[:n]} - {0})
    spans = {g: _span(model, tree, joints, g, _unit_forces(), set(meeting) - {g})
             for g in meeting}
    Omega: dict[int, InverseInertia] = {}
    for g in meeting:                                # parents come before children
        k, L, end = spans[g]
        if end != 0:
            felt = [Omega[end] @ row for row in k]
            L = [[x + row.dot(a) for x, a in zip(line, felt, strict=True)]
                 for line, row in zip(L, k, strict=True)]
        Omega[g] = InverseInertia.from_matrix(L)
    own = [_span(model, tree, joints, handle.frame.body, in_body(handle), meeting)
           for handle in handles]
    reach: list[dict[int, Forces]] = []
    for k, _, g in own:
        reach.append({})
        while g != 0:
            reach[-1][g] = k
            k = [combine(Force.zero(), spans[g].k, row.to_list()) for row in k]
            g = spans[g].end

    def block(e: int, f: int) -> Matrix:
        if e == f:
            g, L = own[e].end, own[e].L
        else:
            g = common_ancestor(model, handles[e].frame.body, handles[f].frame.body)
            L = [[0.0] * len(own[f].k) for _ in own[e].k]
        if g == 0:
            return L
        felt = [Omega[g] @ k for k in reach[f][g]]
        return [[x + k.dot(a) for x, a in zip(line, felt, strict=True)]
                for line, k in zip(L, reach[e][g], strict=True)]

    return _assembled(handles, block)


#: Methods through articulated bodies.
METHODS = ('krj', 'efpa', 'pv', 'pvr')
_FUNCTIONS = dict(zip(METHODS, (krj, efpa, pv, pvr), strict=True))


def inverse_handle_inertia(
    model: Model, q: Values, handles: Sequence[Handle], method: str,
    inertia: Sequence[RigidInertia] | None = None, t: Scalar = 0.0,
) -> Matrix:
    """
    Return Phi of all directions of some handles, in their order, by articulated bodies.

    :param method: one of ``METHODS``.
    :param inertia: inertia of each body, where it is not the one of the model.
    """
    if method not in METHODS:
        raise RbdError(f'no method "{method}" for handles; there is {", ".join(METHODS)}')
    if model.coupling is not None:
        raise ModelError(f'"{model.name}" has coupled joints, through which articulated bodies '
                         'do not propagate forces: use the method "ltl"')
    tree = links(model, q, t)
    joints = articulate(model, tree, inertia, model.rotor_inertia)
    return _FUNCTIONS[method](model, tree, joints, handles)


class _Span(NamedTuple):
    """
    Forces on a body, carried inward through some joints.

    :param k: the forces as the last body feels them.
    :param L: inverse inertia in their directions with the last body held.
    :param end: the last body.
    """

    k: Forces
    L: Matrix
    end: int


def _span(
    model: Model, tree: Links, joints: Joints, i: int, k: Forces, stops: Collection[int],
) -> _Span:
    """Carry forces inward from body i, as far as the base or one of ``stops``."""
    L: Matrix = [[0.0] * len(k) for _ in k]
    while i != 0 and i not in stops:
        y = [[s.dot(row) for s in tree.S[i]] for row in k]
        z = [joints.D[i].solve(row) for row in y]
        L = _symmetric(lambda a, b: L[a][b] + dot(z[a], y[b]), len(k))  # noqa: B023
        k = inward(tree, joints, i, k)
        i = model.parent[i]
    return _Span(k, L, i)


def _inverse_inertias(
    model: Model, tree: Links, joints: Joints, handles: Sequence[Handle],
) -> dict[int, InverseInertia]:
    """Return Omega = K_i Omega_p K_i^T + S D^-1 S^T of all bodies that carry a handle."""
    Omega = {0: InverseInertia.zero()}
    for i in sorted({i for handle in handles for i in model.support[handle.frame.body]}):
        S, V = tree.S[i], joints.UD[i]
        moved = Omega[model.parent[i]].seen_through(tree.Xup[i])
        w = [moved @ f for f in V]
        # D^-1 + V^T (X Omega X^T) V, the yield of the joint with the parent free
        n = len(S)
        Dinv = [joints.D[i].solve([1.0 if a == b else 0.0 for b in range(n)]) for a in range(n)]
        E = [[Dinv[a][b] + V[a].dot(w[b]) for b in range(n)] for a in range(n)]
        # the part with w takes w to 0.5 E S^T, so that one symmetric product is left
        half = [combine(w[a] * -1.0, S, [0.5 * x for x in E[a]]) for a in range(n)]
        Omega[i] = moved.plus_symmetric(S, half)
    return Omega


def _unit_forces() -> Forces:
    return [Force.unit(i) for i in range(6)]


def common_ancestor(model: Model, i: int, j: int) -> int:
    """Return the greatest body that supports, or is, both of two bodies; 0 for the base."""
    return max(set(model.support[i]) & set(model.support[j]), default=0)


def _assembled(handles: Sequence[Handle], block: Callable[[int, int], Matrix]) -> Matrix:
    """Return the whole of Phi from its blocks (e, f) with f <= e."""
    start = [0]
    for handle in handles:
        start.append(start[-1] + len(handle.rows))
    Phi: Matrix = [[0.0] * start[-1] for _ in range(start[-1])]
    for e in range(len(handles)):
        for f in range(e + 1):
            for i, row in enumerate(block(e, f), start[e]):
                for j, x in enumerate(row, start[f]):
                    if j <= i:
                        Phi[i][j] = Phi[j][i] = x
    return Phi
