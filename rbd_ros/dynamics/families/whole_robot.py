# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The whole robot: energy, momentum, centre of mass, and the Coriolis matrix."""

from __future__ import annotations


from numpy.typing import ArrayLike

from rbd_ros.algorithms import christoffel, coriolis, energy, kinematics
from rbd_ros.algorithms.crba import crba
from rbd_ros.compiler import Array, Matrix, Rows, Values
from rbd_ros.dynamics.families.tree import (
    GRAVITY, Q, QD, reduce_matrix, reduce_rows, Results, six_rows, tree)
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.quantity import AS_TREE, FINITE, Quantity, Traits
from rbd_ros.dynamics.state import State

_CENTRE = Traits(finite=True, solves='centre')

# --- rules ----------------------------------------------------------------------------------


def kinetic_energy(s: State) -> Results:
    """Return the sum over bodies and rotors."""
    v, _ = kinematics.velocities(s.model, tree(s), s.q, s.qd, s.conditions.t)
    total = energy.kinetic_energy(s.model, v, s.conditions.inertia)
    for rotor, rate in zip(s.model.rotor_inertia, s.inputs['qd'], strict=True):
        total = total + 0.5 * rotor * rate * rate
    return {'energy': [total]}


def potential_energy(s: State) -> Results:
    """Return -h . a_g with the first moment h of all bodies."""
    h = energy.composite(s.model, tree(s), s.conditions.inertia).h
    return {'energy': [-h.dot(s.conditions.gravity)]}


def center_of_mass(s: State) -> Results:
    """Return the first moment of all bodies over their mass."""
    m, h = energy.composite(s.model, tree(s), s.conditions.inertia)
    return {'com': [x / m for x in h]}


def momentum(s: State) -> Results:
    """Return the sum of the momenta of the bodies at the base."""
    links = tree(s)
    v, _ = kinematics.velocities(s.model, links, s.q, s.qd, s.conditions.t)
    return {'h': energy.momentum(s.model, links, v, s.conditions.inertia).to_list()}


def _of_changing_gears(s: State, yd: Values) -> Matrix | None:
    """Return G^T H G_dot at a velocity, None where no ratio changes with the position."""
    coupling = s.model.coupling
    if coupling is None or coupling.constant:
        return None
    rates = coupling.rows_rate(s.inputs['q'], yd)
    H = crba(s.model, tree(s), s.conditions.inertia)
    return reduce_rows(s, [coupling.gather(rates, row) for row in H])


def _plus(A: Rows, B: Matrix | None) -> Rows:
    if B is None:
        return A
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(A, B, strict=True)]


def coriolis_matrix(s: State) -> Results:
    """Return C(q, qd), by composite bodies; of a geared tree G^T (C G + H G_dot)."""
    C = coriolis.coriolis_matrix(s.model, tree(s), s.q, s.qd, s.conditions.inertia)
    return {'C': _plus(reduce_matrix(s, C), _of_changing_gears(s, s.inputs['qd']))}


def christoffel_symbols(s: State) -> Results:
    """Return the symbols Gamma, by differentiating H."""
    Gamma = christoffel.christoffel_symbols(s.model, s.q, s.conditions.inertia)
    # The last index first, then the other two, each by G.
    planes = [reduce_matrix(s, plane) for plane in zip(*(
        zip(*(s.reduce(line) for line in sheet), strict=True) for sheet in Gamma), strict=True)]
    planes = [_plus(plane, _of_changing_gears(s, [float(n == k) for n in range(s.model.nv)]))
              for k, plane in enumerate(planes)]
    return {'Gamma': [[[plane[i][j] for plane in planes] for j in range(s.model.nv)]
                      for i in range(s.model.nv)]}


def centroidal_momentum_matrix(s: State) -> Results:
    """Return A(q) from the composite bodies."""
    return {'A': six_rows(s, coriolis.centroidal_momentum_matrix(
        s.model, tree(s), s.conditions.inertia))}


def centroidal_momentum_matrix_rate(s: State) -> Results:
    """Return dA/dt; of a geared tree dA/dt G + A G_dot."""
    rate = six_rows(s, coriolis.centroidal_momentum_rate(
        s.model, tree(s), s.q, s.qd, s.conditions.inertia))
    coupling = s.model.coupling
    if coupling is None or coupling.constant:
        return {'Adot': rate}
    A = coriolis.centroidal_momentum_matrix(s.model, tree(s), s.conditions.inertia)
    rates = coupling.rows_rate(s.inputs['q'], s.inputs['qd'])
    return {'Adot': _plus(rate, [coupling.gather(rates, row) for row in zip(
        *(column.to_list() for column in A), strict=True)])}


# --- rows of the table ----------------------------------------------------------------------

KINETIC_ENERGY = Quantity(
    'kinetic_energy', QD, rules={'bodies': kinetic_energy}, loops=AS_TREE, traits=FINITE,
    meaning='kinetic energy, rotors included')
POTENTIAL_ENERGY = Quantity(
    'potential_energy', Q, environment=GRAVITY, rules={'composite': potential_energy},
    loops=AS_TREE, traits=FINITE,
    meaning='potential energy of gravity, zero with all mass at the base origin')
CENTER_OF_MASS = Quantity(
    'center_of_mass', Q, rules={'composite': center_of_mass}, loops=AS_TREE, traits=_CENTRE,
    meaning='centre of mass of all that moves, base coordinates')
MOMENTUM = Quantity(
    'momentum', QD, rules={'bodies': momentum}, loops=AS_TREE, traits=FINITE,
    meaning='spatial momentum about the base origin, base coordinates, angular first')
CORIOLIS_MATRIX = Quantity(
    'coriolis_matrix', QD, rules={'bodies': coriolis_matrix}, loops=AS_TREE, traits=FINITE,
    meaning='C(q, qd) with dH/dt - 2 C skew-symmetric; C qd + g is the bias force')
CHRISTOFFEL_SYMBOLS = Quantity(
    'christoffel_symbols', Q, rules={'differentiated': christoffel_symbols}, loops=AS_TREE,
    traits=FINITE, meaning='Gamma with C = Gamma qd')
CENTROIDAL_MOMENTUM_MATRIX = Quantity(
    'centroidal_momentum_matrix', Q, rules={'composite': centroidal_momentum_matrix},
    loops=AS_TREE, traits=_CENTRE,
    meaning='A(q), 6 x nv: A qd is the momentum about the centre of mass, base axes')
CENTROIDAL_MOMENTUM_MATRIX_RATE = Quantity(
    'centroidal_momentum_matrix_rate', QD, rules={'composite': centroidal_momentum_matrix_rate},
    loops=AS_TREE, traits=_CENTRE, meaning='dA/dt, 6 x nv')

# --- methods --------------------------------------------------------------------------------


class WholeRobotMethods(Family):
    """Energy, momentum and what belongs to them."""

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the kinetic energy in J, rotors included."""
        return self._calls[KINETIC_ENERGY](q, qd)[..., 0]

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy of gravity in J, zero with all mass at the base origin."""
        return self._calls[POTENTIAL_ENERGY](q)[..., 0]

    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the centre of mass of all that moves, base coordinates, (3,)."""
        return self._calls[CENTER_OF_MASS](q, out=out)

    def momentum(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the spatial momentum about the base origin, base coordinates, (6,)."""
        return self._calls[MOMENTUM](q, qd, out=out)

    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """
        Return C(q, qd) with C qd + g = bias and dH/dt - 2 C skew-symmetric, (nv, nv).

        :raises ModelError: for a robot with joints that move with time by themselves.
        """
        return self._calls[CORIOLIS_MATRIX](q, qd, out=out)

    def christoffel_symbols(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return Gamma with C = Gamma qd, (nv, nv, nv): for small robots, it grows as nv^3."""
        return self._calls[CHRISTOFFEL_SYMBOLS](q, out=out)

    def centroidal_momentum_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return A: A qd is the momentum about the centre of mass, base axes, (6, nv)."""
        return self._calls[CENTROIDAL_MOMENTUM_MATRIX](q, out=out)

    def centroidal_momentum_matrix_rate(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """Return dA/dt: A qdd + dA/dt qd is the net force on the robot, (6, nv)."""
        return self._calls[CENTROIDAL_MOMENTUM_MATRIX_RATE](q, qd, out=out)
