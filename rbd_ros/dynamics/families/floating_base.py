# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A robot on a floating base, which gives way to what the joints do (RBDA 9.3 to 9.5).

Joints that follow others, and rotors, are taken in as everywhere: what the algorithms call H, C
and tau is over the independent coordinates after the base.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms import floating
from rbd_ros.algorithms.linear import dense, ltl
from rbd_ros.compiler import Array, Matrix, Scalar
from rbd_ros.dynamics.families.forward_dynamics import suits_inertia_matrix
from rbd_ros.dynamics.families.frames import jacobian as frame_jacobian
from rbd_ros.dynamics.families.joint_space import bias_3d
from rbd_ros.dynamics.families.tree import GRAVITY, inertia, moves_freely, Q, QD, Results
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.quantity import Choice, OnLoops, Quantity, Traits
from rbd_ros.dynamics.state import State

_BASE = [0.0] * 6
_TREES = OnLoops(
    instead='mass_matrix, bias and loop_dynamics, which have the base among the coordinates')


class FloatingInverseDynamics(NamedTuple):
    """
    What given joint accelerations do to a robot on a floating base.

    :param a_0: spatial acceleration of the base in its own coordinates, (6,): what ``qdd[:6]`` is.
    :param tau: joint forces, (nv - 6,).
    """

    a_0: Array
    tau: Array


class FloatingForwardDynamics(NamedTuple):
    """
    What given joint forces do to a robot on a floating base.

    :param a_0: spatial acceleration of the base in its own coordinates, (6,).
    :param qdd: joint accelerations, (nv - 6,).
    """

    a_0: Array
    qdd: Array


class FloatingEquations(NamedTuple):
    """
    [I_0 F; F^T H] [a_0; qdd] + [p_0; C] = [0; tau], the floating-base equation of motion (9.13).

    :param I_0: composite inertia of the whole robot at its base, (6, 6).
    :param F: forces at the base for unit accelerations of the joints, (6, n).
    :param H: inertia matrix of the joints with the base held, (n, n).
    :param p_0: bias force at the base, gravity included, (6,).
    :param C: bias forces at the joints, (n,).
    """

    I_0: Array
    F: Array
    H: Array
    p_0: Array
    C: Array


# --- rules ----------------------------------------------------------------------------------


def equations(s: State) -> Results:
    """Return the coefficients of the equation of motion (RBDA Table 9.5)."""
    e = _equations(s)
    return {**e._asdict(), 'H': _square(e.H)}


def _equations(s: State) -> floating.Equations:
    return floating.equations(s.model, inertia(s), bias_3d(s)['tau'])


def reduced_equations(s: State) -> Results:
    """Return H_fl and C_fl, the base eliminated (9.14 to 9.16)."""
    H, C = floating.eliminate_base(_equations(s))
    return {'H_fl': _square(H), 'C_fl': C}


def _square(H: Matrix) -> Any:
    """Return a matrix with the shape that lists lose where there is no joint."""
    return H or np.empty((0, 0))


def inverse_dynamics(s: State) -> Results:
    """Return a_0 and tau for given joint accelerations (RBDA Table 9.6)."""
    given = s.inputs['joint_qdd']
    qdd = s.model.expand_a([*_BASE, *given], s.inputs['qd'], s.inputs['q'])
    a_0, tree_tau = floating.inverse_dynamics(s.model, s.q, s.qd, qdd[6:], s.conditions)
    tau = s.reduce([*_BASE, *tree_tau])[6:]
    rotors = s.model.rotor_inertia[6:]
    return {'a_0': a_0.to_list(), 'tau': [
        t + rotor * x for t, rotor, x in zip(tau, rotors, given, strict=True)]}


def forward_dynamics_by_bodies(s: State) -> Results:
    """Return a_0 and qdd by articulated bodies (RBDA Table 9.4)."""
    a_0, qdd = floating.forward_dynamics(
        s.model, s.q, s.qd, s.inputs['joint_tau'], s.conditions, s.model.rotor_inertia[6:])
    return {'a_0': a_0.to_list(), 'qdd': qdd}


def forward_dynamics_by_inertia(s: State) -> Results:
    """Return a_0 and qdd from the equation of motion, the base eliminated (9.14)."""
    e = _equations(s)
    H, C = floating.eliminate_base(e)
    rhs = [t - c for t, c in zip(s.inputs['joint_tau'], C, strict=True)]
    qdd: list[Scalar] = ltl.solve(H, range(-1, len(H) - 1), rhs)
    force = [-p - dense.dot(row, qdd) for p, row in zip(e.p_0, e.F, strict=True)]          # 9.13
    return {'a_0': ltl.Dense(e.I_0).solve(force), 'qdd': qdd}


def momentum(s: State) -> Results:
    """Return the momentum of the robot from the same coefficients (RBDA Ex 9.3)."""
    e = floating.equations(s.model, inertia(s), [0.0] * s.model.nv)
    return {'h': floating.momentum(e, s.inputs['qd']).to_list()}


def jacobian(s: State) -> Results:
    """Return the motion of a frame by joints alone, while the base gives way (RBDA Ex 9.4)."""
    e = floating.equations(s.model, inertia(s), [0.0] * s.model.nv)
    J = [list(row) for row in frame_jacobian(s)['J']]
    return {'J': floating.floating_jacobian(e, J)}


# --- rows of the table ----------------------------------------------------------------------

# joint_qdd and joint_tau are of the joints after the base
INVERSE_DYNAMICS = Quantity(
    'floating_base_inverse_dynamics', (*QD, 'joint_qdd'), environment=GRAVITY,
    rules={'composite': inverse_dynamics}, loops=_TREES,
    traits=Traits(FloatingInverseDynamics, solves='base'),
    meaning='acceleration of the base, and tau of the joints (RBDA Table 9.6)')
FORWARD_DYNAMICS = Quantity(
    'floating_base_forward_dynamics', (*QD, 'joint_tau'), environment=GRAVITY,
    rules={'crba': forward_dynamics_by_inertia, 'aba': forward_dynamics_by_bodies},
    choice=Choice(where={'aba': moves_freely}, compared=('crba', 'aba'),
                  worth={'crba': suits_inertia_matrix}),
    loops=_TREES, traits=Traits(FloatingForwardDynamics, solves='joints'),
    meaning='acceleration of the base, and qdd of the joints (RBDA Table 9.4)')
EQUATIONS = Quantity(
    'floating_base_equations', QD, environment=GRAVITY, rules={'crba': equations}, loops=_TREES,
    traits=Traits(FloatingEquations),
    meaning='I_0, F, H, p_0 and C of the equation of motion (RBDA Table 9.5)')
REDUCED_EQUATIONS = Quantity(
    'floating_base_reduced_equations', QD, environment=GRAVITY,
    rules={'crba': reduced_equations}, loops=_TREES, traits=Traits(solves='base'),
    meaning='H_fl and C_fl, the base eliminated (RBDA 9.15, 9.16)')
MOMENTUM = Quantity(
    'floating_base_momentum', QD, rules={'crba': momentum}, loops=_TREES,
    meaning='I_0 v_0 + F qd, base-body coordinates, angular first (RBDA Ex 9.3)')
JACOBIAN = Quantity(
    'floating_base_jacobian', Q, target='frame', rules={'crba': jacobian}, loops=_TREES,
    traits=Traits(solves='base'),
    meaning='6 x (nv - 6): motion of a frame while the base gives way (RBDA Ex 9.4)')

# --- methods --------------------------------------------------------------------------------


class FloatingBaseMethods(Family):
    """
    Quantities of robots whose body 1 hangs on the world by a free joint without drive.

    Vectors of the joints have n = nv - 6 entries; q and qd are those of the whole robot. For any
    other robot each method raises a ModelError.
    """

    def floating_base_inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None,
    ) -> FloatingInverseDynamics:
        """
        Return joint forces for joint accelerations, and how the base gives way (RBDA Table 9.6).

        :param qdd: accelerations of the joints, (n,).
        :param f_ext: as for ``inverse_dynamics``.
        """
        if f_ext is not None:
            return self._store.call(INVERSE_DYNAMICS, loaded=True)(q, qd, qdd, f_ext)
        return self._calls[INVERSE_DYNAMICS](q, qd, qdd)

    def floating_base_forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None,
    ) -> FloatingForwardDynamics:
        """
        Return the accelerations of base and joints under joint forces (RBDA Table 9.4).

        :param tau: forces of the joints, (n,).
        :param f_ext: as for ``inverse_dynamics``.
        """
        if f_ext is not None:
            return self._store.call(FORWARD_DYNAMICS, loaded=True)(q, qd, tau, f_ext)
        return self._calls[FORWARD_DYNAMICS](q, qd, tau)

    def floating_base_equations(self, q: ArrayLike, qd: ArrayLike) -> FloatingEquations:
        """Return the coefficients of the equation of motion (RBDA Table 9.5)."""
        return self._calls[EQUATIONS](q, qd)

    def floating_base_reduced_equations(
        self, q: ArrayLike, qd: ArrayLike,
    ) -> tuple[Array, Array]:
        """Return H_fl and C_fl of H_fl qdd + C_fl = tau, the base eliminated (9.14 to 9.16)."""
        return self._calls[REDUCED_EQUATIONS](q, qd)

    def floating_base_momentum(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return I_0 v_0 + F qd, the momentum at the base in base-body coordinates, (6,)."""
        return self._calls[MOMENTUM](q, qd)

    def floating_base_jacobian(self, q: ArrayLike, frame: str) -> Array:
        """Return the motion of a frame by joints alone while the base gives way, (6, n)."""
        return self._store.call(JACOBIAN, frame)(q)
