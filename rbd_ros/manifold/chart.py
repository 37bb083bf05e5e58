# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Coordinates y of a manifold: choosing them, judging them, and the way back to q (thesis 2.2, 2.3).

A choice is R(q, y) = 0 in addition to phi(q) = 0. It is good where both [D1 R; K] and D2 R can be
inverted (theorem 2.3.1). Linear choices are y = R (q - q_bar): some of the coordinates
themselves, the directions of the tangent space, or any that the user names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear.rank import counted, decompose, TOLERANCE
from rbd_ros.compiler import Array
from rbd_ros.errors import SettingError, ShapeError, SingularError
from rbd_ros.manifold.system import ConstrainedSystem, State
from scipy.linalg import null_space, qr

#: Condition number of [R; K] from which on a chart is to be changed for another.
LIMIT = 1e6
#: Steps of Newton's method before it gives up.
STEPS = 50


class Validity(NamedTuple):
    """
    Whether a choice of coordinates is one (theorem 2.3.1).

    :param manifold: condition number of [D1 R; K]: infinite where y does not distinguish
        points of the manifold.
    :param own: condition number of D2 R.
    """

    manifold: float
    own: float

    @property
    def valid(self) -> bool:
        """Return whether both matrices can be inverted with digits to spare."""
        return max(self.manifold, self.own) < 1.0 / TOLERANCE


@dataclass(frozen=True)
class Chart:
    """
    Linear coordinates y = R (q - q_bar), with w = S (q - q_bar) for the rest (2.32 to 2.36).

    :param q_bar: where y = 0.
    :param R: (p, nv).
    :param S: (m, nv), so that [R; S] has the inverse [R_bar S_bar].
    :param rows: the independent rows of the constraint, as many as m.
    """

    q_bar: Array
    R: Array
    S: Array
    R_bar: Array
    S_bar: Array
    rows: tuple[int, ...]

    @property
    def p(self) -> int:
        """Return the number of coordinates: the degrees of freedom."""
        return len(self.R)

    def reduced(self, K: Array) -> Array:
        """Return the rows that count, of K, k or phi."""
        return K[list(self.rows)]

    def validity(self, K: Array) -> Validity:
        """Return how well the coordinates fit where the constraint has the Jacobian K."""
        return validity(self.R, -np.eye(self.p), self.reduced(K))


def validity(D1: ArrayLike, D2: ArrayLike, K: ArrayLike) -> Validity:
    """
    Return whether R(x, y) = 0 is a choice of coordinates (2.20 to 2.24, 2.27, 2.28).

    :param D1: derivative of R by x.
    :param D2: derivative of R by y.
    :param K: derivative of the constraint by x, of full rank; x may be q, or (q, qd) with the
        constraint h: for a choice of positions both ask the same.
    """
    both = np.vstack([np.asarray(D1, float), np.asarray(K, float)])
    if both.shape[0] != both.shape[1]:
        raise ShapeError(f'{len(np.asarray(D1))} coordinates and {len(np.asarray(K))} independent '
                         f'constraints do not make up {both.shape[1]} variables')
    return Validity(_condition(both), _condition(np.asarray(D2, float)))


def _condition(A: Array) -> float:
    s = np.linalg.svd(A, compute_uv=False)
    if not s.size:
        return 1.0
    return float(s[0] / s[-1]) if s[-1] > 0.0 else float('inf')


def inverse(R: Array, K: Array) -> tuple[Array, Array]:
    """
    Return G and W of [R; K]^-1 = [G W].

    :param K: independent rows.
    :returns: velocities at unit rates of the coordinates, (nv, p), and those that make up for a
        unit violation of each row of K, (nv, m).
    :raises SingularError: where the coordinates are none.
    """
    try:
        both = np.linalg.inv(np.vstack([R, K]))
    except np.linalg.LinAlgError:
        raise SingularError('[R; K] is singular: choose other coordinates') from None
    return both[:, :len(R)], both[:, len(R):]


def independent_rows(K: Array, tolerance: float = TOLERANCE) -> tuple[int, ...]:
    """Return the numbers of as many rows as K has rank, found by pivoting."""
    if not K.size:
        return ()
    _, upper, pivots = qr(K.T, mode='economic', pivoting=True)
    return tuple(sorted(pivots[:counted(np.abs(np.diag(upper)), tolerance)].tolist()))


def partitioned(K: Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """
    Return the independent and the dependent coordinates: coordinate partitioning (1.1).

    :param K: independent rows; the first pivots of its columns are the dependent ones.
    """
    _, _, pivots = qr(K, mode='economic', pivoting=True)
    dependent = tuple(sorted(pivots[:len(K)].tolist()))
    return tuple(i for i in range(K.shape[1]) if i not in dependent), dependent


def choose(
    system: ConstrainedSystem, q: Array, method: str | Sequence[int] | Array = 'partition', *,
    limit: float = LIMIT, tolerance: float = TOLERANCE,
) -> Chart:
    """
    Return coordinates of the manifold about a position.

    :param method: ``'partition'`` (coordinates of q), ``'tangent'`` (directions of the tangent
        space), the numbers of the coordinates, or R itself, (p, nv).
    :param limit: largest condition number of [R; K].
    :raises SingularError: where the coordinates do not distinguish the positions about q.
    """
    K = system.jacobian(q)
    rows = independent_rows(K, tolerance)
    K = K[list(rows)]
    n, m = system.nv, len(rows)
    if isinstance(method, str):
        R, S = _automatic(method, K)
    else:
        R = np.asarray(method)
        R = np.eye(n)[R.astype(int)] if R.ndim == 1 else R.astype(float)
        if R.shape != (n - m, n):
            raise ShapeError(f'R is {R.shape[0]} x {R.shape[1]}; {n} velocity variables under '
                             f'{m} independent constraints need {n - m} x {n}')
        S = null_space(R).T
    if len(S) != m:
        raise SingularError(f'the {n - m} coordinates are not independent of each other')
    chart = Chart(np.array(q), R, S, *inverse(R, S), rows)
    found = _condition(np.vstack([R, K]))
    if found > limit:
        raise SingularError(
            f'these coordinates do not distinguish positions of the mechanism here: the condition '
            f'number of [R; K] is {found:.1e}, at most {limit:.1e} is allowed; choose others')
    return chart


def _automatic(method: str, K: Array) -> tuple[Array, Array]:
    n, m = K.shape[1], len(K)
    if method == 'partition':
        independent, dependent = partitioned(K)
        return np.eye(n)[list(independent)], np.eye(n)[list(dependent)]
    if method == 'tangent':
        Vt = decompose(K).Vt
        return Vt[m:], Vt[:m]
    raise SettingError(f'method "{method}" of a chart must be "partition", "tangent", numbers of '
                       'coordinates, or a matrix')


# --- the way back ---------------------------------------------------------------------------


class Newton(NamedTuple):
    """
    A solution by Newton's method.

    :param q: the position.
    :param iterations: steps taken.
    :param sizes: length of every step.
    """

    q: Array
    iterations: int
    sizes: tuple[float, ...]


def position(
    system: ConstrainedSystem, chart: Chart, y: Array, start: Array | None = None, *,
    tolerance: float = 1e-12, weight: ArrayLike = 1.0,
) -> Newton:
    """
    Return Psi(y): the position with R (q - q_bar) = y and phi = 0 (2.11, 2.23).

    :param start: where to begin, by default q_bar.
    :param tolerance: bound on the error left, judged by the rate of contraction.
    :param weight: factors of the entries of a step in its length: radians against metres.
    :raises SingularError: where the iteration does not contract: too far from the start.
    """
    return _newton(
        system, np.array(chart.q_bar if start is None else start, float), tolerance, weight,
        lambda q: (np.concatenate([chart.R @ system.difference(chart.q_bar, q) - y,
                                   chart.reduced(system.constraint(q))]),
                   np.vstack([chart.R, chart.reduced(system.jacobian(q))])))


class UserCoordinates(NamedTuple):
    """
    Coordinates of the user, r(q) = y: any functions, also globally independent ones (2.3.4).

    :param value: r(q), (p,).
    :param jacobian: its derivative along the velocity variables, (p, nv).
    :param rate: dD/dt qd of that derivative D at (q, qd), (p,).
    """

    value: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    rate: Callable[[Array, Array], Array]


def position_of(
    system: ConstrainedSystem, coordinates: UserCoordinates, y: Array, start: Array, *,
    tolerance: float = 1e-12, weight: ArrayLike = 1.0,
) -> Newton:
    """Return the position with r(q) = y and phi = 0 that Newton's method finds from a start."""
    rows = list(independent_rows(system.jacobian(np.asarray(start, float))))
    return _newton(
        system, np.array(start, float), tolerance, weight,
        lambda q: (np.concatenate([coordinates.value(q) - y, system.constraint(q)[rows]]),
                   np.vstack([coordinates.jacobian(q), system.jacobian(q)[rows]])))


def motion_of(
    system: ConstrainedSystem, coordinates: UserCoordinates, state: State,
) -> tuple[Array, Array]:
    """Return G and g of qdd = G ydd + g in coordinates of the user, (nv, p) and (nv,)."""
    q, qd = state
    K, k = system.jacobian(q), system.constraint_bias(q, qd)
    rows = list(independent_rows(K))
    G, W = inverse(coordinates.jacobian(q), K[rows])
    return G, W @ k[rows] - G @ coordinates.rate(q, qd)


def _newton(
    system: ConstrainedSystem, q: Array, tolerance: float, weight: ArrayLike,
    equations: Callable[[Array], tuple[Array, Array]],
) -> Newton:
    sizes: list[float] = []
    for j in range(STEPS):
        residual, D = equations(q)
        try:
            step = -np.linalg.solve(D, residual)
        except np.linalg.LinAlgError:
            raise SingularError(
                '[R; K] is singular on the way: choose other coordinates') from None
        q = system.integrate(q, step)
        sizes.append(float(np.linalg.norm(np.asarray(weight) * step)))
        if np.linalg.norm(step) <= 1e-14 * (1.0 + np.linalg.norm(q)):     # rounding
            return Newton(q, j + 1, tuple(sizes))
        if j:
            rate = (sizes[-1] / sizes[0])**(1.0 / j)      # the thesis prints 1/(j + 1)
            if not rate < 1.0:
                break
            if rate / (1.0 - rate) * sizes[-1] <= tolerance:
                return Newton(q, j + 1, tuple(sizes))
    raise SingularError(
        f'the iteration does not contract after {len(sizes)} steps (the last one of length '
        f'{sizes[-1]:.1e}): shorten the step of y, or choose coordinates about a nearer position')
