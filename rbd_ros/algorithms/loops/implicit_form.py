# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The implicit form of a constraint (RBDA 3.2), next to the explicit one of ``model.coupling``.

    phi(q) = 0,    K(q) q_dot = 0,    K(q) q_ddot = k(q, q_dot),    k = -K_dot q_dot

A constraint that has both forms has phi(gamma(y)) = 0, K G = 0 and K g = k (3.12). K and k are
what :func:`rbd_ros.algorithms.loops.constraints.implicit` solves with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Array, jacobian, jvp, Matrix, Scalar, trace, Values
from rbd_ros.compiler.arguments import vector
from rbd_ros.model.coupling import partials, partials_rate
from rbd_ros.model.model import Model


class ImplicitConstraint:
    """
    A constraint given by a function phi; K and k are found by differentiating it.

    :param phi: of a list of n positions, written with the functions of rbd_ros.compiler; gives
        one number for each constraint. Velocities must be the rates of these positions.
    """

    def __init__(self, phi: Callable[[Values], Values], n: int) -> None:
        self.n = n
        self._phi = trace(lambda q: {'phi': phi(q)}, {'q': n}, name='phi')
        self._K = jacobian(self._phi, 'phi', 'q')
        self._K_rate = jvp(self._K, 'dphi_dq', 'q')

    def phi(self, q: ArrayLike) -> Array:
        """Return how far q is from fulfilling the constraint."""
        return np.array(self._phi.evaluate(self._given('q', q)), float)

    def K(self, q: ArrayLike) -> Array:
        """Return d phi / d q, n_c x n."""
        return np.array(self._K.evaluate(self._given('q', q)), float).reshape(-1, self.n)

    def k(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return -K_dot q_dot."""
        values = self._given('q', q), self._given('qd', qd)
        return -np.array(self._K_rate.evaluate(*values), float).reshape(-1, self.n) @ values[1]

    def _given(self, name: str, values: ArrayLike) -> list[float]:
        return vector(name, values, self.n).tolist()


class GearConstraint(NamedTuple):
    """
    The gears of a model in implicit form, over the coordinates of all joints of its tree.

    :param phi: one number for each joint that follows: its position minus what its law says.
    :param K: rows over tree velocities, by column; what is zero by structure is left out.
    :param k: one number for each row.
    """

    phi: list[Scalar]
    K: list[dict[int, Scalar]]
    k: list[Scalar]

    def matrix(self, n: int) -> Matrix:
        """Return K with all its n columns."""
        return [[row.get(j, 0.0) for j in range(n)] for row in self.K]


def gear_constraint(model: Model, q: Values, qd: Values) -> GearConstraint:
    """
    Return phi, K and k of the joints of a model that follow others, over any scalars.

    :param q: positions of all joints of the tree; they need not obey the gears.
    :param qd: velocities of all joints of the tree.
    """
    found = GearConstraint([], [], [])
    coupling = model.coupling
    if coupling is None:
        return found
    own_q, own_v = own_places(model)
    gears = {gear.v: gear for gear in coupling.gears}
    for body in coupling.followers:
        for at_q, at_v in zip(range(model.tree_nq)[model.q_index[body]],
                              range(model.tree_nv)[model.v_index[body]], strict=True):
            row: dict[int, Scalar] = {at_v: 1.0}
            gear = gears.get(at_v)
            k: Scalar = 0.0
            slopes: list[tuple[int, Scalar]]
            if gear is None:
                law: Scalar = coupling.q0[at_q]
                for n, weight in coupling.rows_q[at_q]:
                    law = law + weight * q[own_q[n]]
                slopes = [(own_v[n], weight) for n, weight in coupling.rows_v[at_v]]
            else:
                x, rate = [q[at] for at, _ in gear.sources], [qd[at] for _, at in gear.sources]
                law = gear.function(*x)
                slopes = [(at, slope) for (_, at), slope in zip(
                    gear.sources, partials(gear.function, x), strict=True)]
                for change, v in zip(partials_rate(gear.function, x, rate), rate, strict=True):
                    k = k + change * v                      # -K_dot q_dot: K has minus the slopes
            for at, slope in slopes:
                row[at] = row.get(at, 0.0) - slope
            found.phi.append(q[at_q] - law)
            found.K.append(row)
            found.k.append(k)
    return found


def own_places(model: Model) -> tuple[list[int], list[int]]:
    """Return where the tree has the independent positions and velocities themselves."""
    followers = () if model.coupling is None else model.coupling.followers
    bodies = [i for i in range(1, model.nb + 1) if i not in followers]
    return ([n for i in bodies for n in range(model.tree_nq)[model.q_index[i]]],
            [n for i in bodies for n in range(model.tree_nv)[model.v_index[i]]])
