# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Contacts of a robot, compiled: one kernel for all contact sets (RBDA 11.3).

The kernel computes what any contact needs: Jacobian, velocity and velocity-product acceleration
of every body, H and C. Which bodies touch, where, and in which direction comes in afterwards: a
new contact compiles nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.contact import rigid
from rbd_ros.algorithms.contact.rigid import Contact, ContactProblem, ContactSolution
from rbd_ros.compiler import Array
from rbd_ros.compiler.arguments import shaped
from rbd_ros.dynamics.families.tree import tree
from rbd_ros.dynamics.kernels.existence import massless_joint
from rbd_ros.dynamics.quantity import Quantity
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.dynamics.state import State
from rbd_ros.errors import RbdError, SingularError
from rbd_ros.model.model import Model
from rbd_ros.spatial import Motion


class Motions(NamedTuple):
    """
    What contacts need to know of a robot at one state; arrays are views that the next call fills.

    :param E: rotation from base to body coordinates, the base first, (nb + 1, 3, 3).
    :param r: origin of each body in base coordinates, (nb + 1, 3).
    :param v: velocity of each body, base coordinates about the base origin, (nb + 1, 6).
    :param a_vp: their acceleration at zero qdd, without gravity.
    :param J: Jacobian of each body in base coordinates, (nb + 1, 6, nv).
    :param H: joint-space inertia matrix.
    :param C: bias force, gravity included.
    """

    E: Array
    r: Array
    v: Array
    a_vp: Array
    J: Array
    H: Array
    C: Array


class ContactSystem:
    """
    A robot that touches itself or the world.

    :param model: the robot, a tree.
    :param backend: as for :class:`rbd_ros.Dynamics`.
    """

    def __init__(self, model: Model, *, backend: str = 'auto') -> None:
        self.model = model
        robot = Dynamics(model, backend=backend)
        if (joint := massless_joint(model.spanning_tree)) is not None:
            raise SingularError(f'joint "{joint}" of "{model.name}" moves without inertia, and '
                                'contacts need its acceleration; give what it carries a mass or '
                                'the joint a rotor inertia')
        robot.add(Quantity('contact_terms', ('q', 'qd'), {'bodies': _terms},
                           environment=('gravity',), modules=(__name__,)))
        self._kernel = robot.bind('contact_terms')
        outputs = self._kernel.outputs
        self._motions = Motions(*(outputs[name] for name in Motions._fields))

    def motions(self, q: ArrayLike, qd: ArrayLike) -> Motions:
        """Return what contacts need at a state."""
        for name, value, size in (('q', q, self.model.nq), ('qd', qd, self.model.nv)):
            self._kernel.inputs[name][:] = shaped(name, value, (size,), self.model.name)
        self._kernel()
        return self._motions

    def problem(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, contacts: Sequence[Contact],
        f_ext: ArrayLike | None = None, *, K: ArrayLike | None = None,
        k: ArrayLike | None = None,
    ) -> ContactProblem:
        """
        Return the complementarity problem of some contacts (RBDA 11.31 to 11.36).

        :param tau: joint forces, (nv,).
        :param contacts: any number, on any bodies.
        :param f_ext: other forces on the bodies in base coordinates, (nb, 6).
        :param K: constraints K qdd = k of loops that the model leaves open.
        """
        for each in contacts:
            for body in (each.predecessor, each.successor):
                if not 0 <= body <= self.model.nb:
                    raise RbdError(f'a contact names body {body}; "{self.model.name}" has bodies '
                                   f'0 (the base) to {self.model.nb}')
        s = self.motions(q, qd)
        force = shaped('tau', tau, (self.model.nv,), self.model.name) - s.C
        if f_ext is not None:
            outer = shaped('f_ext', f_ext, (self.model.nb, 6), self.model.name)
            force = force + np.einsum('bij,bi->j', s.J[1:], outer)
        return rigid.system_problem(
            s.H, force, rigid.generalized_normals(contacts, s.J),
            rigid.velocity_products(contacts, s.v, s.a_vp), K, k)

    def accelerations(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, contacts: Sequence[Contact],
        f_ext: ArrayLike | None = None,
    ) -> ContactSolution:
        """
        Return joint accelerations and contact forces.

        :raises NoContactSolution: where no finite forces keep the contacts from penetrating.
        """
        return self.problem(q, qd, tau, contacts, f_ext).solve()


def _terms(s: State) -> dict[str, Sequence[Any]]:
    model, links = s.model, tree(s)
    X_0 = kinematics.placements(model, links)
    v, v_J = kinematics.velocities(model, links, s.q, s.qd, s.conditions.t)
    c = kinematics.velocity_products(model, s.q, s.qd, v, v_J, s.conditions.t)
    a = kinematics.accelerations(model, links, c, s.g, Motion.zero())
    columns = [Motion.zero()] * model.tree_nv
    for i in range(1, model.nb + 1):
        columns[model.v_index[i]] = [X_0[i].inv_apply(axis) for axis in links.S[i]]
    J = [_jacobian(s, columns, i) for i in range(model.nb + 1)]
    return {
        'E': [X.E.rows for X in X_0], 'r': [list(X.r) for X in X_0],
        'v': [X.inv_apply(x).to_list() for X, x in zip(X_0, v, strict=True)],
        'a_vp': [X.inv_apply(x).to_list() for X, x in zip(X_0, a, strict=True)],
        'J': J, 'H': s.compute('mass_matrix'), 'C': s.compute('bias')}


def _jacobian(s: State, columns: Sequence[Motion], body: int) -> list[Any]:
    """Return the Jacobian of a body over the independent velocities: zero off its path."""
    held = [[0.0] * 6] * s.model.tree_nv
    for i in s.model.support[body]:
        held[s.model.v_index[i]] = [column.to_list() for column in columns[s.model.v_index[i]]]
    return [s.reduce(row) for row in zip(*held, strict=True)]
