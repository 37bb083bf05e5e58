# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Loops cut at a joint, which stays as a virtual link (thesis A.2, A.3.2, A.3.3 and 4.4).

The cut joint keeps its coordinates: it carries a body without mass, whose frame must meet a
frame on the other side of the cut. With J the stacked Jacobians of all bodies the constraint is
K qd = A J qd = 0, A constant, so that all derivatives of K are those of J. Eliminating the
coordinates of the cut joints gives the constraint on the others alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.algorithms.linear.rank import counted
from rbd_ros.compiler import Array
from rbd_ros.errors import ModelError, SingularError
from rbd_ros.manifold.body_jacobians import BodyJacobians
from rbd_ros.manifold.chart import inverse
from rbd_ros.model.model import Frame, Model
from rbd_ros.spatial import RigidInertia, Transform
from scipy.linalg import qr

SPATIAL = (0, 1, 2, 3, 4, 5)
#: Rows of a planar loop in the x-y plane: the others hold by themselves.
PLANAR = (2, 3, 4)


class Closure(NamedTuple):
    """
    A virtual link: a frame behind the joint that was cut, which must meet another frame.

    :param virtual: name of the frame of the body without mass behind the joint.
    :param partner: name of the frame on the body where the loop was cut.
    :param rows: directions of motion of the frame that count, angular first; a planar loop has
        three (``PLANAR``), as the others hold by themselves.
    """

    virtual: str
    partner: str
    rows: tuple[int, ...] = SPATIAL


def cut_loops(
    model: Model, rows: Sequence[int] = SPATIAL,
) -> tuple[Model, tuple[Closure, ...]]:
    """
    Return the tree of a model with a virtual link for each loop joint, and what must meet.

    :param rows: of every closure.
    :raises ModelError: for a model without loops, or whose joints follow each other.
    """
    if not model.loops:
        raise ModelError(f'"{model.name}" has no loop to cut')
    if model.coupling is not None:
        raise ModelError(f'"{model.name}" has joints that follow others; virtual links are for '
                         'models whose joints are independent of each other in the tree')
    frames, closures = dict(model.frames), []
    more: dict[str, list[Any]] = {name: list(getattr(model, name)) for name in (
        'parent', 'joint', 'X_T', 'inertia', 'body_names', 'joint_names', 'lower', 'upper',
        'effort_limit', 'velocity_limit', 'friction', 'damping', 'rotor_inertia', 'gear_ratio')}
    for loop in model.loops:
        virtual, partner = f'{loop.name}_virtual', f'{loop.name}_partner'
        frames[virtual] = Frame(virtual, len(more['parent']), Transform.identity())
        frames[partner] = Frame(partner, loop.successor, loop.X_S)
        nq, nv, inf = loop.joint.nq, loop.joint.nv, float('inf')
        for name, values in (
                ('parent', [loop.predecessor]), ('joint', [loop.joint]), ('X_T', [loop.X_P]),
                ('inertia', [RigidInertia.zero()]), ('body_names', [virtual]),
                ('joint_names', [loop.name]), ('lower', [-inf] * nq), ('upper', [inf] * nq),
                ('effort_limit', [inf] * nv), ('velocity_limit', [inf] * nv),
                ('friction', [0.0] * nv), ('damping', [0.0] * nv),
                ('rotor_inertia', [0.0] * nv), ('gear_ratio', [1.0] * nv)):
            more[name] += values
        closures.append(Closure(virtual, partner, tuple(rows)))
    fields: dict[str, Any] = {name: tuple(values) for name, values in more.items()}
    return replace(model, frames=frames, loops=(), **fields), tuple(closures)


class Topology(NamedTuple):
    """
    Pointers of a closed chain, by body from 1 on (table A.1).

    :param P: parent.
    :param C: children, virtual links not among them.
    :param T: the body and all that it carries but virtual links; empty for a virtual link.
    :param T_v: the same with virtual links.
    :param R: by virtual link, the body that it must meet.
    """

    P: tuple[int, ...]
    C: tuple[frozenset[int], ...]
    T: tuple[frozenset[int], ...]
    T_v: tuple[frozenset[int], ...]
    R: dict[int, int]


def topology(model: Model, closures: Sequence[Closure]) -> Topology:
    """Return who carries whom in a tree with virtual links."""
    R = {model.frame(each.virtual).body: model.frame(each.partner).body for each in closures}
    bodies = range(1, model.nb + 1)
    T_v = tuple(frozenset(model.subtree[i]) for i in bodies)
    return Topology(
        tuple(model.parent[1:]), tuple(frozenset(model.children[i]) - set(R) for i in bodies),
        tuple(below - set(R) for below in T_v), T_v, R)


def loop_selector(model: Model, closures: Sequence[Closure]) -> Array:
    """
    Return A of K = A J, constant, J stacking the Jacobians of bodies 1 to nb (A.9).

    Valid where the loops are closed, as frames that coincide share their coordinates.
    """
    A = np.zeros((sum(len(each.rows) for each in closures), 6 * model.nb))
    start = 0
    for each in closures:
        block = np.zeros((6, 6 * model.nb))
        for name, sign in ((each.virtual, 1.0), (each.partner, -1.0)):
            frame = model.frame(name)
            if frame.body:
                at = slice(6 * frame.body - 6, 6 * frame.body)
                block[:, at] += sign * np.array(frame.placement.to_list(), float)
        A[start:start + len(each.rows)] = block[list(each.rows)]
        start += len(each.rows)
    return A


class NullSpaceSlopes(NamedTuple):
    """
    The null space of a tree with virtual links, and its derivatives (4.11).

    Rows of all coordinates, those of cut joints among them.

    :param G: (n, p).
    :param g: K^+ k in the coordinates R, dG/dt u, (n,).
    :param slopes: dG/dy, [i] for coordinate i, (p, n, p).
    :param rate: dG/dt, (n, p).
    :param rate2: d2G/dt2, (n, p).
    """

    G: Array
    g: Array
    slopes: Array
    rate: Array
    rate2: Array


def null_space_slopes(R: Array, A: Array, bodies: BodyJacobians, qd: Array) -> NullSpaceSlopes:
    """
    Return G and its derivatives from those of the Jacobians of bodies (A.13, 4.11).

    :param R: coordinates y = R q, which may be those of a cut joint, (p, n).
    :param A: independent rows of ``loop_selector``.
    :param bodies: at the state and acceleration.
    """
    n = R.shape[1]

    def stacked(matrix: Array) -> Array:
        return A @ matrix[1:].reshape(-1, n)

    G, W = inverse(R, stacked(bodies.J))
    K_rate = stacked(bodies.rate)
    rate = -W @ K_rate @ G
    rate2 = -W @ stacked(bodies.rate2) @ G - 2.0 * W @ K_rate @ rate
    by_q = -np.stack([W @ stacked(bodies.slopes[:, j]) @ G for j in range(n)])
    # cut joints count too: y moves them as it moves the others
    slopes = np.einsum('jnp,ji->inp', by_q, G)
    return NullSpaceSlopes(G, -W @ (K_rate @ qd), slopes, rate, rate2)


def eliminate(
    K: Array, k: Array, virtual: Sequence[int],
) -> tuple[Array, Array]:
    """
    Return the constraint on the tree alone, without the coordinates of cut joints (A.10 - A.12).

    :param K: with virtual links, independent rows.
    :param virtual: numbers of the velocity variables of cut joints. As many rows, found by
        pivoting, give these; the others become the constraint.
    """
    kept = [i for i in range(K.shape[1]) if i not in set(virtual)]
    _, upper, pivots = qr(K[:, list(virtual)].T, mode='economic', pivoting=True)
    if counted(np.abs(np.diag(upper))) < len(virtual):
        raise SingularError('the motion of a cut joint does not follow from that of the others')
    own = pivots[:len(virtual)]
    rest = [i for i in range(len(K)) if i not in set(own.tolist())]
    right = np.column_stack([K[np.ix_(own, kept)], k[own]])
    solved = np.linalg.solve(K[np.ix_(own, virtual)], right)
    across = K[np.ix_(rest, virtual)]
    return K[np.ix_(rest, kept)] - across @ solved[:, :-1], k[rest] - across @ solved[:, -1]
