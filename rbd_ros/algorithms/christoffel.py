# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Christoffel symbols of a tree, by differentiating its inertia matrix; split of the bias force.

Gamma[i][j][k] gives the Coriolis matrix C[i][j] = sum_k Gamma[i][j][k] qd[k]. Where qd are the
derivatives of q they are the symbols of the textbooks, 1/2 (d_k H_ij + d_j H_ik - d_i H_jk). The
velocities of ball joints and of free bodies are no derivatives of coordinates: there the
directions do not commute, and Koszul's formula adds their brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.coriolis import apparent_rate
from rbd_ros.algorithms.crba import crba
from rbd_ros.algorithms.kinematics import links
from rbd_ros.algorithms.linear import dense, ltl
from rbd_ros.compiler import is_zero, jacobian, Matrix, Rows, Scalar, trace, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints import Joint
from rbd_ros.model.model import Model
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

Cube = list[Matrix]


def christoffel_symbols(
    model: Model, q: Values, inertia: Sequence[RigidInertia] | None = None,
) -> Cube:
    """
    Return Gamma of the tree, nv x nv x nv: for small robots, since all of dH/dq is needed.

    :param inertia: inertia of each body, where it is not the one of the model.
    """
    if model.time_dependent:
        raise ModelError(f'"{model.name}" has joints that move with time by themselves: its '
                         'bias force is no quadratic form in qd and has no Christoffel symbols')
    n = model.tree_nv
    H, slope = _inertia_and_slopes(model, q, inertia)
    bracket = _lowered_brackets(model, q, H)
    return [[[0.5 * (slope[k][i][j] + slope[j][i][k] - slope[i][j][k]
                     + bracket[k][j][i] - bracket[k][i][j] - bracket[j][i][k])
              for k in range(n)] for j in range(n)] for i in range(n)]


def _inertia_and_slopes(
    model: Model, q: Values, inertia: Sequence[RigidInertia] | None,
) -> tuple[Matrix, Cube]:
    """Return H, and slope[k], its derivative along the velocity variable k."""
    n, given = model.tree_nv, [_numbers(body) for body in inertia or model.inertia]

    def H_of(q: Values, bodies: Rows) -> dict[str, Matrix]:
        return {'H': crba(model, links(model, q), [_body(x) for x in bodies])}

    graph = trace(H_of, {'q': (model.tree_nq,), 'bodies': (model.nb + 1, 10)})
    both = jacobian(graph, 'H', 'q', values=True)
    numbers = both.evaluate(q, [x for body in given for x in body])
    H = [numbers[i * n:(i + 1) * n] for i in range(n)]
    ways = _directions(model, q)
    slope: Cube = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            start = n * n + (i * n + j) * model.tree_nq
            along = numbers[start:start + model.tree_nq]
            for k, way in enumerate(ways):
                total: Scalar = 0.0
                for place, rate in way:
                    total = total + along[place] * rate
                slope[k][i][j] = slope[k][j][i] = total
    return H, slope


def _numbers(body: RigidInertia) -> list[Scalar]:
    return [body.m, *body.h, *body.I.entries()]


def _body(x: Values) -> RigidInertia:
    return RigidInertia(x[0], Vec3(*x[1:4]), Sym3(*x[4:]))


def _directions(model: Model, q: Values) -> list[list[tuple[int, Scalar]]]:
    """Return, for each velocity variable, which positions change at its unit value, and how."""
    ways: list[list[tuple[int, Scalar]]] = []
    for i in range(1, model.nb + 1):
        joint, place = model.joint[i], model.q_index[i]
        for k in range(joint.nv):
            rates = joint.q_dot(q[place], _unit(joint.nv, k))
            ways.append([(place.start + a, rate) for a, rate in enumerate(rates)
                         if not is_zero(rate)])
    return ways


def _unit(n: int, k: int) -> list[Scalar]:
    return [1.0 if m == k else 0.0 for m in range(n)]


def _lowered_brackets(model: Model, q: Values, H: Matrix) -> Cube:
    """Return H_lk c^l_ij as [i][j][k], where [E_i, E_j] = c^l_ij E_l are the brackets."""
    n = model.tree_nv
    out: Cube = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for b in range(1, model.nb + 1):
        joint, place = model.joint[b], model.v_index[b]
        if joint.additive or joint.nv < 2:
            continue
        brackets = _brackets(joint, q[model.q_index[b]])
        for i, line in enumerate(brackets):
            for j, c in enumerate(line):
                for k in range(n):
                    total: Scalar = 0.0
                    for m, value in enumerate(c):
                        total = total + value * H[place.start + m][k]
                    out[place.start + i][place.start + j][k] = total
    return out


def _brackets(joint: Joint, q: Values) -> Cube:
    """
    Return c[i][j], the velocity variables of the bracket of directions i and j of a joint.

    The equation of Maurer and Cartan for velocities in the moving frame: S c_ij is
    E_i S_j - E_j S_i + S_i x S_j.
    """
    S = joint.subspace(q)
    n = joint.nv
    slope = [apparent_rate(joint, q, _unit(n, k)) for k in range(n)]
    parts = [s.to_list() for s in S]
    normal = ltl.Dense([[dense.dot(a, b) for b in parts] for a in parts])
    out: Cube = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(i):
            x = (slope[i][j] - slope[j][i] + S[i].cross(S[j])).to_list()
            c = normal.solve([dense.dot(part, x) for part in parts])
            out[i][j], out[j][i] = c, [-value for value in c]
    return out


class Split(NamedTuple):
    """
    The bias force without gravity in two parts, (nv,) each.

    :param centrifugal: what grows with the square of one velocity.
    :param coriolis: what grows with the product of two different ones.
    """

    centrifugal: list[Scalar]
    coriolis: list[Scalar]


def split(Gamma: Sequence[Rows], qd: Values) -> Split:
    """
    Split C qd into centrifugal and Coriolis forces.

    :param Gamma: Christoffel symbols.
    """
    n = len(qd)
    centrifugal: list[Scalar] = [0.0] * n
    coriolis: list[Scalar] = [0.0] * n
    for i in range(n):
        for j in range(n):
            centrifugal[i] = centrifugal[i] + Gamma[i][j][j] * qd[j] * qd[j]
            for k in range(j):
                pair = (Gamma[i][j][k] + Gamma[i][k][j]) * qd[k]
                coriolis[i] = coriolis[i] + pair * qd[j]
    return Split(centrifugal, coriolis)
