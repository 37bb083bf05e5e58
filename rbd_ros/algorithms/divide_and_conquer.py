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
Articulated bodies with several handles, and divide-and-conquer forward dynamics (RBDA 7.5).

All vectors are in base coordinates, where a handle needs no place of its own: any number of joints
at one body act upon one handle, the body itself. Sets of bodies are joined at one joint, at
several at once, or closed by a joint between two bodies of the same set (a loop); halves of a
robot know nothing of each other until they are joined, so that they can be computed side by side.
"""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms import ltl
from rbd_ros.algorithms.assembly import active_subspace
from rbd_ros.algorithms.dense import add, apply, minus, subtract, times, transposed, zeros
from rbd_ros.algorithms.jacobi import largest_and_smallest, symmetric_eigen
from rbd_ros.algorithms.kinematics import links, placements, velocities, velocity_products
from rbd_ros.compiler import less, maximum, where
from rbd_ros.errors import ModelError, SingularError
from rbd_ros.spatial import Force, Motion, Vec3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rbd_ros.algorithms.dense import Matrix, Rows, Vector
    from rbd_ros.algorithms.kinematics import Conditions
    from rbd_ros.compiler import Scalar
    from rbd_ros.model.model import Model
    from rbd_ros.spatial import RigidInertia

#: Below this share of the largest eigenvalue of Y a constraint repeats others.
REDUNDANT = 1e-10
SWEEPS = 10
#: Smaller shares of the largest principal moment of a body are none.
SMALLEST = 1e-13


class Handles(NamedTuple):
    """
    A set of bodies by the inverse inertia of its handles: a = Phi f + b (7.57).

    :param bodies: the body of each handle, in the order of the blocks.
    :param Phi: 6h x 6h, symmetric; block ij is what a force on handle j does to handle i.
    :param b: 6h numbers, the accelerations without any force on the handles.
    """

    bodies: tuple[int, ...]
    Phi: Rows
    b: Vector

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
    """

    predecessor: int
    successor: int
    T: Rows
    c: Vector

    @property
    def m(self) -> int:
        """Return the number of constraints."""
        return len(self.T[0])


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

    def forces(self, f: Vector) -> list[Scalar]:
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

    def solve(self, b: Vector) -> list[Scalar]:
        """Return the shortest x among those that come nearest to A x = b."""
        y = apply(transposed(self._V, len(b)), b)
        return apply(self._V, [w * x for w, x in zip(self._w, y, strict=True)])


def side_by_side(one: Handles, two: Handles) -> Handles:
    """Return two sets as one, not yet joined."""
    n, m = len(one.b), len(two.b)
    Phi = [[*row, *[0.0] * m] for row in one.Phi] + [[*[0.0] * n, *row] for row in two.Phi]
    return Handles(one.bodies + two.bodies, Phi, [*one.b, *two.b])


def join(
    whole: Handles, joints: Sequence[Constraint], keep: Sequence[int], *,
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
        for body, sign in ((joint.successor, 1.0), (joint.predecessor, -1.0)):
            if body:
                for row, values in zip(N[whole.rows(body)], joint.T, strict=True):
                    row[at:at + joint.m] = [sign * x for x in values]
        c += apply(transposed(joint.T, joint.m), joint.c)
    NT = transposed(N, m)
    NPhi = times(NT, whole.Phi, size)
    Y_matrix = times(NPhi, N, m)
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


class _Part(NamedTuple):
    """A part of the robot: what is left of its handles, how it was joined, and of what."""

    handles: Handles
    joined: Joined | None = None
    halves: tuple[_Part, ...] = ()


def divide_and_conquer(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar],
    conditions: Conditions,
) -> list[Scalar]:
    """
    Return qdd of a tree by joining halves of halves of it (RBDA 7.5).

    The recursion is as deep as the logarithm of the number of bodies. Every body needs an inertia
    that can be inverted; rotors are refused.
    """
    _refuse(model)
    leaves, joints, T_a = _in_base(model, q, qd, tau, conditions)
    whole = _conquer(model, leaves, joints, 1, model.nb)
    ground = join(whole.handles, [joints[i] for i in model.children[0]], [])
    a: list[Vector] = [[0.0] * 6] * (model.nb + 1)
    _hand_out(whole, ground.forces([]), a)
    qdd: list[Scalar] = [0.0] * model.tree_nv
    for i in range(1, model.nb + 1):
        relative = subtract(subtract(a[i], a[model.parent[i]]), joints[i].c)
        qdd[model.v_index[i]] = apply(transposed(T_a[i], model.joint[i].nv), relative)     # 7.4
    return qdd


def _refuse(model: Model) -> None:
    """Raise an error where the method cannot be used."""
    model.refuse_loops()
    if model.coupling is not None or any(model.rotor_inertia):
        raise ModelError(
            f'"{model.name}" has joints that follow others or rotors: divide and conquer takes '
            'trees without them; use forward_dynamics')
    for name, body in zip(model.body_names[1:], model.inertia[1:], strict=True):
        if body.m <= 0.0 or _flat(body):
            raise SingularError(
                f'body "{name}" of "{model.name}" has no inverse inertia, which divide and '
                'conquer needs of each body; give it a mass with a size')


def _flat(body: RigidInertia) -> bool:
    """Return whether a body of some mass has a direction about which it has no inertia."""
    moments = np.linalg.eigvalsh(np.array(body.com_form()[2].to_list()))
    return bool(moments[0] <= SMALLEST * moments[-1])


def _in_base(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar],
    conditions: Conditions,
) -> tuple[list[Handles], list[Constraint], list[Matrix]]:
    """Return every body, the joint that carries it and the joint's T_a, in base coordinates."""
    tree = links(model, q, conditions.t)
    v, v_J = velocities(model, tree, q, qd, conditions.t)
    c = velocity_products(model, q, qd, v, v_J, conditions.t)
    X_0 = placements(model, tree)
    inertia = conditions.inertia or model.inertia
    f: list[list[Scalar]] = [[0.0] * 6]
    T_a: list[Matrix] = [[]]
    joints = [Constraint(0, 0, [[]] * 6, [0.0] * 6)]
    Phi: list[Matrix] = [[]]
    gravity = Motion(Vec3.zero(), conditions.gravity)
    for i in range(1, model.nb + 1):
        X, p = X_0[i], model.parent[i]
        T = model.joint[i].constraint_subspace(q[model.q_index[i]], conditions.t)
        # gravity as an acceleration of the base
        c_i = X.inv_apply(c[i]) - (gravity if p == 0 else Motion.zero())
        joints.append(Constraint(p, i, _columns([X.inv_apply(f) for f in T]), c_i.to_list()))
        S = _columns([X.inv_apply(s) for s in tree.S[i]])
        T_a.append(active_subspace(S, len(tree.S[i])))
        body, v_i = X.inv_apply(inertia[i]), X.inv_apply(v[i])
        active = apply(T_a[i], tau[model.v_index[i]])
        # the drive is a pair of external forces on the bodies at both ends (7.4, note)
        f.append(subtract(active, v_i.cross(body @ v_i).to_list()))
        f[p] = subtract(f[p], active)
        if conditions.f_ext is not None and (external := conditions.f_ext[i]) is not None:
            f[i] = add(f[i], external.to_list())
        Phi.append(_columns([body.solve(Force.unit(k)) for k in range(6)]))                # 2.74
    leaves = [Handles((i,), Phi_i, apply(Phi_i, f_i))
              for i, (Phi_i, f_i) in enumerate(zip(Phi, f, strict=True))]
    return leaves, joints, T_a


def _columns(vectors: Sequence[Motion] | Sequence[Force]) -> Matrix:
    """Return spatial vectors as the columns of a matrix."""
    return transposed([vector.to_list() for vector in vectors], 6)


def _conquer(
    model: Model, leaves: Sequence[Handles], joints: Sequence[Constraint], first: int, last: int,
) -> _Part:
    """Return bodies first to last, joined, with the handles that other bodies still need."""
    if first == last:
        return _Part(leaves[first])
    middle = (first + last) // 2
    halves = (_conquer(model, leaves, joints, first, middle),
              _conquer(model, leaves, joints, middle + 1, last))
    both = side_by_side(halves[0].handles, halves[1].handles)
    between = [joints[i] for i in range(middle + 1, last + 1)
               if first <= model.parent[i] <= middle]
    keep = [i for i in both.bodies if any(
        not first <= other <= last for other in (model.parent[i], *model.children[i]))]
    joined = join(both, between, keep)
    return _Part(joined.handles, joined, halves)


def _hand_out(part: _Part, f: Vector, a: list[Vector]) -> None:
    """Find the accelerations of all bodies of a part from the forces on its handles."""
    if part.joined is None:
        body, = part.handles.bodies
        a[body] = add(apply(part.handles.Phi, f), part.handles.b)
        return
    inner = part.joined.forces(f)
    start = 0
    for half in part.halves:
        end = start + len(half.handles.b)
        _hand_out(half, inner[start:end], a)
        start = end
