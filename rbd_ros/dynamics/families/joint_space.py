# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Joint space: forces for a motion, and the inertia matrix (RBDA 5 and 6).

For robots that move in one plane, rules in planar vectors (RBDA 2.16) need fewer operations.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from rbd_ros.algorithms import rnea
from rbd_ros.algorithms.linear import ltl
from rbd_ros.algorithms.other_forms import planar
from rbd_ros.compiler import Array
from rbd_ros.dynamics.families.tree import (
    GRAVITY, inertia, joint_force, Q, QD, QDD, Results, sparsity, with_rotors)
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.quantity import AS_TREE, Choice, FINITE, OnLoops, Quantity, Traits
from rbd_ros.dynamics.state import State

_PLANAR = Choice(where={'planar': planar.is_planar})

# --- rules ----------------------------------------------------------------------------------


def inverse_dynamics_spatial(s: State) -> Results:
    """Return tau by RBDA Table 5.1."""
    tau = rnea.rnea(s.model, s.q, s.qd, s.qdd, s.conditions).tau
    return joint_force(s, tau, s.inputs['qdd'])


def inverse_dynamics_3d(s: State) -> Results:
    """Return tau by RBDA Table 5.2."""
    tau = rnea.newton_euler_3d(s.model, s.q, s.qd, s.qdd, s.conditions)
    return joint_force(s, tau, s.inputs['qdd'])


def inverse_dynamics_planar(s: State) -> Results:
    """Return tau in planar vectors (RBDA 2.16)."""
    tau = planar.rnea(s.model, s.q, s.qd, s.qdd, s.conditions)
    return joint_force(s, tau, s.inputs['qdd'])


def bias_spatial(s: State) -> Results:
    """Return C by RBDA Table 5.1."""
    return joint_force(s, rnea.rnea(s.model, s.q, s.qd, s.g, s.conditions).tau)


def bias_3d(s: State) -> Results:
    """Return C by RBDA Table 5.2."""
    return joint_force(s, rnea.newton_euler_3d(s.model, s.q, s.qd, s.g, s.conditions))


def bias_planar(s: State) -> Results:
    """Return C in planar vectors."""
    return joint_force(s, planar.rnea(s.model, s.q, s.qd, s.g, s.conditions))


def gravity(s: State) -> Results:
    """Return g(q) from the composite bodies (RBDA 5.12)."""
    return joint_force(s, rnea.gravity_forces(s.model, s.q, s.conditions))


def gravity_planar(s: State) -> Results:
    """Return g(q) in planar vectors."""
    still = s.conditions._replace(f_ext=None)
    return joint_force(s, planar.rnea(s.model, s.q, None, None, still))


def joint_wrenches(s: State) -> Results:
    """Return the force across each joint, which RBDA Table 5.1 finds on its way."""
    f = rnea.rnea(s.model, s.q, s.qd, s.qdd, s.conditions).f
    return {'f': [force.to_list() for force in f[1:]]}


def mass_matrix(s: State) -> Results:
    """Return H(q) by composite rigid bodies (RBDA Table 6.2)."""
    return {'H': inertia(s)}


def mass_matrix_planar(s: State) -> Results:
    """Return H(q) in planar vectors."""
    return {'H': with_rotors(s, planar.crba(s.model, s.q, s.conditions.inertia))}


def inverse_mass_matrix(s: State) -> Results:
    """Return H(q)^-1 through its branch-sparse factors (RBDA 6.5)."""
    return {'Hinv': ltl.inverse(inertia(s), sparsity(s.model))}


# --- rows of the table ----------------------------------------------------------------------

INVERSE_DYNAMICS = Quantity(
    'inverse_dynamics', QDD, environment=GRAVITY,
    rules={'spatial': inverse_dynamics_spatial, '3d': inverse_dynamics_3d,
           'planar': inverse_dynamics_planar},
    choice=_PLANAR, loops=AS_TREE, traits=Traits(finite=True, equivalent='3d'),
    meaning='tau that gives accelerations qdd: recursive Newton-Euler (RBDA 5)')
BIAS = Quantity(
    'bias', QD, environment=GRAVITY,
    rules={'spatial': bias_spatial, '3d': bias_3d, 'planar': bias_planar},
    choice=_PLANAR, loops=AS_TREE, traits=Traits(finite=True, equivalent='3d'),
    meaning='C(q, qd): joint forces of motion without acceleration, gravity included')
GRAVITY_FORCES = Quantity(
    'gravity', Q, environment=GRAVITY,
    rules={'composite': gravity, 'planar': gravity_planar},
    choice=_PLANAR, loops=AS_TREE, traits=Traits(finite=True, equivalent='3d'),
    meaning='g(q): joint forces that hold the robot still')
JOINT_WRENCHES = Quantity(
    'joint_wrenches', QDD, environment=GRAVITY, rules={'spatial': joint_wrenches},
    loops=OnLoops(instead='loop_dynamics, whose forces in the loop joints act on the tree as '
                          'f_ext of joint_wrenches'),
    traits=FINITE,
    meaning='whole force across each joint, (nb, 6), body coordinates, angular first')
MASS_MATRIX = Quantity(
    'mass_matrix', Q, rules={'crba': mass_matrix, 'planar': mass_matrix_planar},
    choice=_PLANAR, loops=AS_TREE, traits=Traits(finite=True, equivalent='spatial'),
    meaning='H(q), by composite rigid bodies (RBDA 6.2)')
INVERSE_MASS_MATRIX = Quantity(
    'inverse_mass_matrix', Q, rules={'ltdl': inverse_mass_matrix},
    loops=OnLoops(instead='independent_equations, whose H belongs to the freedoms that the loops '
                          'leave'),
    traits=Traits(finite=True, solves='joints'),
    meaning='H(q)^-1, through its branch-sparse factors')

# --- methods --------------------------------------------------------------------------------


class JointSpaceMethods(Family):
    """Forces for a motion, and the inertia matrix."""

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None, *,
        out: Array | None = None,
    ) -> Array:
        """
        Return the joint forces that produce ``qdd`` (recursive Newton-Euler, RBDA 5.3).

        :param q: joint positions, (nq,).
        :param qd: joint velocities, (nv,).
        :param qdd: joint accelerations, (nv,).
        :param f_ext: force of the environment on each body, (nb, 6), base coordinates about the
            base origin, angular first.
        :returns: tau, (nv,).
        """
        if f_ext is not None:
            return self._store.call(INVERSE_DYNAMICS, loaded=True)(q, qd, qdd, f_ext, out=out)
        call = self._calls[INVERSE_DYNAMICS]
        return call(q, qd, qdd) if out is None else call(q, qd, qdd, out=out)

    def gravity(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return g(q), the joint forces that hold the robot still, (nv,)."""
        call = self._calls[GRAVITY_FORCES]
        return call(q) if out is None else call(q, out=out)

    def bias(
        self, q: ArrayLike, qd: ArrayLike, f_ext: ArrayLike | None = None, *,
        out: Array | None = None,
    ) -> Array:
        """Return C(q, qd), the joint forces at zero acceleration, gravity included, (nv,)."""
        if f_ext is not None:
            return self._store.call(BIAS, loaded=True)(q, qd, f_ext, out=out)
        return self._calls[BIAS](q, qd, out=out)

    def joint_wrenches(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None, *,
        out: Array | None = None,
    ) -> Array:
        """
        Return the whole force that each joint transmits to the body it carries, (nb, 6).

        In the coordinates of that body, angular first: bearing loads and drive together.
        """
        if f_ext is not None:
            return self._store.call(JOINT_WRENCHES, loaded=True)(q, qd, qdd, f_ext, out=out)
        return self._calls[JOINT_WRENCHES](q, qd, qdd, out=out)

    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the symmetric joint-space inertia matrix H(q) (RBDA 6.2), (nv, nv)."""
        call = self._calls[MASS_MATRIX]
        return call(q) if out is None else call(q, out=out)

    def inverse_mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return H(q)^-1, (nv, nv)."""
        return self._calls[INVERSE_MASS_MATRIX](q, out=out)
