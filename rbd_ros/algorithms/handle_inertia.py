# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
The inverse operational-space inertia Phi = J H^-1 J^T of many handles, without J or H.

A force at a handle is felt at a joint as S^T f, gives way there by D^-1 S^T f, and goes on to the
parent as X^T (f - U D^-1 S^T f): the articulated bodies of RBDA 7.3 propagate it. Two handles
move each other through the joints that carry both. The methods differ in what they keep:

====  ======================================  ==============================================
pv    O(n + m^2 d)  Popov and Vereshchagin    every force goes to the base
krj   O(n + m^2 d)  Kreutz-Delgado,           the inverse inertia of every body, from the base
                    Rodriguez, Jain           outward
efpa  O(n + m d + m^2)  Wensing, Featherstone,  the inverse inertia where paths of handles meet;
                    Orin                      forces go that far, body by body
pvr   O(n + m^2)  Sathya et al., PV-OSIMr     the same, forces of many handles cross a stretch
                    between meetings by one propagator
====  ======================================  ==============================================

for n bodies, tree depth d and m directions.
"""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from rbd_ros.algorithms.aba import aba
from rbd_ros.algorithms.kinematics import combine, Conditions, links
from rbd_ros.errors import ModelError, RbdError
from rbd_ros.spatial import Force, Vec3

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from rbd_ros.algorithms.opspace import Handle
    from rbd_ros.compiler import Scalar
    from rbd_ros.model.model import Model
    from rbd_ros.spatial import RigidInertia

    Matrix = list[list[Scalar]]
    #: Forces across one joint: at the parent, felt, and given way.
    Crossing = tuple[list[Force], Matrix, Matrix]
    Cross = Callable[[int, Sequence[Force]], Crossing]

METHODS = ('pv', 'krj', 'efpa', 'pvr')
_UNITS = tuple(Force.unit(k) for k in range(6))


class Climb(NamedTuple):
    """Forces carried towards the base: where they are, what they are there, and Phi so far."""

    body: int
    forces: list[Force]
    Phi: Matrix


def inverse_handle_inertia(
    model: Model, q: Sequence[Scalar], handles: Sequence[Handle], method: str,
    inertia: Sequence[RigidInertia] | None = None, t: Scalar = 0.0,
) -> Matrix:
    """
    Return Phi of all directions of some handles, in their order.

    :param method: one of ``METHODS``.
    :param inertia: inertia of each body, where it is not the one of the model.
    """
    if method not in METHODS:
        raise RbdError(f'no method "{method}" for handles; there is {", ".join(METHODS)}')
    if model.coupling is not None:
        raise ModelError(f'"{model.name}" has coupled joints, through which articulated bodies '
                         'do not propagate forces: use the method "ltl"')
    cross = _crossing(model, q, inertia, t)
    groups: dict[int, list[tuple[int, Force]]] = {}
    m = 0
    for handle in handles:
        for row in handle.rows:
            push = handle.frame.placement.inv_apply(Force.from_list(row))
            groups.setdefault(handle.frame.body, []).append((m, push))
            m += 1
    groups.pop(0, None)                     # the base does not give way
    Phi: Matrix = [[0.0] * m for _ in range(m)]
    if method == 'pv':
        _to_the_base(model, cross, groups, Phi)
    else:
        _to_the_meetings(model, cross, groups, Phi, method)
    return Phi


def _crossing(
    model: Model, q: Sequence[Scalar], inertia: Sequence[RigidInertia] | None, t: Scalar,
) -> Cross:
    """Return the function that takes forces on a body across its joint."""
    none: list[Scalar] = [0.0] * model.tree_nv
    rest = Conditions(Vec3.zero(), None, inertia, t)
    bodies = aba(model, q, none, none, rest, model.rotor_inertia)
    Xup, S = links(model, q, t)

    def cross(i: int, forces: Sequence[Force]) -> Crossing:
        felt = [[s.dot(f) for s in S[i]] for f in forces]
        given = [bodies.D[i].solve(e) for e in felt]
        if model.parent[i] == 0:
            return [], felt, given
        passed = [Xup[i].inv_apply(combine(f, bodies.U[i], [-y for y in ys]))              # 7.47
                  for f, ys in zip(forces, given, strict=True)]
        return passed, felt, given
    return cross


def _dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for a, b in zip(x, y, strict=True):
        total = total + a * b
    return total


def _to_the_base(
    model: Model, cross: Cross, groups: dict[int, list[tuple[int, Force]]], Phi: Matrix,
) -> None:
    """Carry all forces to the base and add what they do at each joint."""
    waiting: dict[int, list[tuple[int, Force]]] = {body: list(x) for body, x in groups.items()}
    for i in range(model.nb, 0, -1):
        here = waiting.pop(i, [])
        if not here:
            continue
        passed, felt, given = cross(i, [f for _, f in here])
        for a, (row, _) in enumerate(here):
            for b, (column, _) in enumerate(here[:a + 1]):
                Phi[row][column] = Phi[column][row] = Phi[row][column] + _dot(felt[a], given[b])
        if passed:
            waiting.setdefault(model.parent[i], []).extend(
                zip((row for row, _ in here), passed, strict=True))


def _climb(
    model: Model, cross: Cross, body: int, forces: Sequence[Force], nodes: Collection[int],
    through: bool,
) -> Climb:
    """
    Carry forces on a body to the next node, or past the last joint.

    :param nodes: bodies to stop at.
    :param through: whether to leave the body itself if it is one of them.
    """
    n = len(forces)
    Phi: Matrix = [[0.0] * n for _ in range(n)]
    here = list(forces)
    while body != 0 and (through or body not in nodes):
        here, felt, given = cross(body, here)
        for a in range(n):
            for b in range(a + 1):
                Phi[a][b] = Phi[b][a] = Phi[a][b] + _dot(felt[a], given[b])
        body, through = model.parent[body], False
    return Climb(body, here, Phi)


def _form(Omega: Matrix, f: Sequence[Force], g: Sequence[Force]) -> Matrix:
    """Return f^T Omega g for columns of forces."""
    moved = [[_dot(row, y.to_list()) for row in Omega] for y in g]
    return [[_dot(x.to_list(), motion) for motion in moved] for x in f]


def _to_the_meetings(
    model: Model, cross: Cross, groups: dict[int, list[tuple[int, Force]]], Phi: Matrix,
    method: str,
) -> None:
    """Carry forces to where the paths of handles meet, whose inverse inertias are known."""
    bodies = sorted(groups)
    meeting = {(a, b): _common(model, a, b) for a in bodies for b in bodies if b < a}
    nodes = {g for g in meeting.values() if g}
    if method == 'krj':
        nodes = {i for body in bodies for i in model.support[body]}
    spans: dict[int, Climb] = {}
    Omega: dict[int, Matrix] = {}
    for g in sorted(nodes):                 # parents first
        spans[g] = span = _climb(model, cross, g, _UNITS, nodes, True)
        Omega[g] = span.Phi if not span.body else [
            [x + y for x, y in zip(*rows, strict=True)] for rows in zip(
                span.Phi, _form(Omega[span.body], span.forces, span.forces), strict=True)]

    at: dict[int, dict[int, list[Force]]] = {}
    for body in bodies:
        rows = [row for row, _ in groups[body]]
        start = _climb(model, cross, body, [f for _, f in groups[body]], nodes, False)
        own = start.Phi
        at[body] = {start.body: start.forces}
        if start.body:
            own = [[x + y for x, y in zip(*lines, strict=True)] for lines in zip(
                own, _form(Omega[start.body], start.forces, start.forces), strict=True)]
        _store(Phi, rows, rows, own)
        g, forces = start.body, start.forces
        while g:                            # to every meeting above
            if method == 'pvr':
                span = spans[g]
                up = [combine(Force.zero(), span.forces, f.to_list()) for f in forces] \
                    if span.body else []
                g, forces = span.body, up
            else:
                ahead = _climb(model, cross, g, forces, nodes, True)
                g, forces = ahead.body, ahead.forces
            at[body][g] = forces
    for (a, b), g in meeting.items():
        if g:
            block = _form(Omega[g], at[a][g], at[b][g])
            _store(Phi, [row for row, _ in groups[a]], [row for row, _ in groups[b]], block)


def _common(model: Model, a: int, b: int) -> int:
    """Return the last body that carries both, 0 for the base."""
    while a != b:
        a, b = (model.parent[a], b) if a > b else (a, model.parent[b])
    return a


def _store(Phi: Matrix, rows: Sequence[int], columns: Sequence[int], block: Matrix) -> None:
    for row, line in zip(rows, block, strict=True):
        for column, value in zip(columns, line, strict=True):
            Phi[row][column] = Phi[column][row] = value
