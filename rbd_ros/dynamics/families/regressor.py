# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Regressors of torque, energy and momentum: linear in inertia parameters, without payload."""

from __future__ import annotations

from numpy.typing import ArrayLike

from rbd_ros.algorithms import kinematics, regressor
from rbd_ros.algorithms.kinematics import Links
from rbd_ros.compiler import Array
from rbd_ros.dynamics.families.tree import GRAVITY, QD, QDD, reduce_rows, Results, tree
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.quantity import AS_TREE, FINITE, Quantity
from rbd_ros.dynamics.state import State
from rbd_ros.errors import ShapeError
from rbd_ros.spatial import Motion

# --- rules ----------------------------------------------------------------------------------


def _motion(s: State) -> tuple[Links, list[Motion]]:
    links = tree(s)
    return links, kinematics.velocities(s.model, links, s.q, s.qd, s.conditions.t)[0]


def torque_regressor(s: State) -> Results:
    """Return Y with Y pi the joint forces of the bodies with parameters pi."""
    Y = regressor.torque_regressor(
        s.model, tree(s), s.q, s.qd, s.qdd, s.conditions.gravity, s.conditions.t)
    return {'Y': reduce_rows(s, Y)}


def energy_regressor(s: State) -> Results:
    """Return the rows of kinetic and potential energy."""
    links, v = _motion(s)
    return {'Y': regressor.energy_regressor(s.model, links, v, s.conditions.gravity)}


def momentum_regressor(s: State) -> Results:
    """Return the momentum about the base origin per parameter."""
    return {'Y': regressor.momentum_regressor(s.model, *_motion(s))}


# --- rows of the table ----------------------------------------------------------------------

TORQUE_REGRESSOR = Quantity(
    'torque_regressor', QDD, environment=GRAVITY, inertial=False,
    rules={'bodies': torque_regressor}, loops=AS_TREE, traits=FINITE,
    meaning='Y with Y pi the joint forces of bodies with parameters pi, nv x 10 nb')
ENERGY_REGRESSOR = Quantity(
    'energy_regressor', QD, environment=GRAVITY, inertial=False,
    rules={'bodies': energy_regressor}, loops=AS_TREE, traits=FINITE,
    meaning='rows of kinetic and potential energy, 2 x 10 nb')
MOMENTUM_REGRESSOR = Quantity(
    'momentum_regressor', QD, inertial=False, rules={'bodies': momentum_regressor},
    loops=AS_TREE, traits=FINITE,
    meaning='momentum about the base origin per parameter, 6 x 10 nb')

# --- methods --------------------------------------------------------------------------------


class RegressorMethods(Family):
    """What dynamics are per inertia parameter."""

    def torque_regressor(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """
        Return Y: Y pi are the joint forces of bodies with the parameters pi, (nv, 10 nb).

        Ten per body, see ``rbd_ros.algorithms.regressor``; those of the model are
        ``rbd_ros.identification.body_parameters(model)``. Rotors, damping, friction and payload
        are not in it: ``rbd_ros.identification`` adds their columns.
        """
        call = self._calls[TORQUE_REGRESSOR]
        if self.model.nv:
            return call(q, qd, qdd, out=out)
        return _empty(call(q, qd, qdd), (0, 10 * self.model.nb), out)

    def energy_regressor(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """Return the rows of kinetic and potential energy per parameter, (2, 10 nb)."""
        return self._calls[ENERGY_REGRESSOR](q, qd, out=out)

    def momentum_regressor(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """Return the momentum about the base origin per parameter, base axes, (6, 10 nb)."""
        call = self._calls[MOMENTUM_REGRESSOR]
        return call(q, qd, out=out) if self.model.nb else _empty(call(q, qd), (6, 0), out)


def _empty(found: Array, shape: tuple[int, int], out: Array | None) -> Array:
    """Return a matrix without entries, whose shape a kernel does not know."""
    shaped = found.reshape(*found.shape[:-1], *shape)
    if out is None:
        return shaped
    if out.shape != shaped.shape:
        raise ShapeError(f'out has shape {out.shape}, expected {shaped.shape}')
    return out
