# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Least squares on regressors: estimates, their deviation, and what cannot be determined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import NonFiniteError, ShapeError, SingularError
from rbd_ros.model.positions import random_position

#: Singular values below this fraction of the largest one count as zero.
RANK = 1e-9
#: Columns shorter than this fraction of the longest one are rounding errors.
NOTHING = 1e-12
#: Most names that an error message lists.
_LISTED = 6


class SingularRegressor(SingularError):
    """
    The motion, or the robot, leaves parameters undetermined.

    :param names: of the parameters that cannot be distinguished, the least certain first.
    :param rank: number of combinations that are determined.
    :param count: number of parameters.
    """

    def __init__(self, names: Sequence[str], rank: int, count: int) -> None:
        self.names, self.rank = tuple(names), rank
        listed = ', '.join(self.names[:_LISTED])
        more = f' and {len(self.names) - _LISTED} more' if len(self.names) > _LISTED else ''
        super().__init__(
            f'the regressor determines {rank} of {count} parameters: {listed}{more} cannot be '
            'distinguished; move the joints that carry them, faster and in more directions, or '
            'fit the base parameters alone')


class Estimate(NamedTuple):
    """
    Fitted parameters.

    :param parameters: (p,).
    :param deviation: standard deviation of each, from the residual, (p,).
    :param condition: condition number of the regressor with columns of unit length, the
        excitation of the motion: below 100 is good; above 1e4 the result is mostly noise.
    :param residual: root mean square of the residual, in the unit of the measurement.
    """

    parameters: Array
    deviation: Array
    condition: float
    residual: float


def design(
    robot: Dynamics, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, drives: bool = False,
) -> Array:
    """
    Return the regressor of many states, stacked: (count * nv, p).

    :param q: positions, (count, nq); ``qd``, ``qdd`` likewise.
    :param drives: whether damping, friction and rotors of the joints are unknown too.
    """
    states = [np.atleast_2d(np.asarray(x, float)) for x in (q, qd, qdd)]
    Y = robot.torque_regressor(*states)
    if drives:
        _, rate, acceleration = states
        eye = np.eye(robot.model.nv)
        Y = np.concatenate([Y, rate[:, :, None] * eye, np.sign(rate)[:, :, None] * eye,
                            acceleration[:, :, None] * eye], axis=2)
    return Y.reshape(-1, Y.shape[2])


def refuse_non_finite(A: Array, b: Array) -> None:
    """Raise an error that says where the equations A x = b contain NaN or infinity."""
    for what, rows in (('regressor', A), ('measurement', b[:, None])):
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if bad.size:
            raise NonFiniteError(f'{what} {bad[0]} of {len(rows)} is not finite ({bad.size} such '
                                 'rows): leave out samples with NaN or infinity')


class Order(NamedTuple):
    """
    Which rows of equations follow each other, so that their noise may be alike.

    :param series: number of the series of each row, such as its joint, (rows,).
    :param place: number of each row in its series; numbers may be left out.
    """

    series: NDArray[np.intp]
    place: NDArray[np.intp]


def fit(A: ArrayLike, b: ArrayLike, names: Sequence[str] = (), order: Order | None = None,
        ) -> Estimate:
    """
    Return the least-squares solution of A x = b.

    :param A: stacked regressor.
    :param b: what was measured, minus what is known.
    :param names: of the columns of A, for error messages.
    :param order: of the rows in time; None: the noise of each row is its own.
    :raises SingularRegressor: if the motion does not determine all columns.
    """
    A, b = np.asarray(A, float), np.asarray(b, float).ravel()
    rows, count = A.shape
    if b.shape != (rows,):
        raise ShapeError(f'there are {b.size} measurements for {rows} rows of the regressor; '
                         'give one for each row')
    refuse_non_finite(A, b)
    size = np.linalg.norm(A, axis=0)
    felt = size > NOTHING * size.max(initial=0.0)
    size = np.where(felt, size, 1.0)
    scaled = np.where(felt, A, 0.0) / size
    U, values, V = np.linalg.svd(scaled, full_matrices=False)
    rank = int(np.sum(values > RANK * values[0])) if values.size and values[0] > 0.0 else 0
    if rank < count:
        doubt = 1.0 - np.sum(V[:rank] ** 2, axis=0) if rank else np.ones(count)
        labels = list(names) or [f'column {k}' for k in range(count)]
        doubtful = [k for k in np.argsort(-doubt, kind='stable') if doubt[k] > RANK]
        raise SingularRegressor([labels[k] for k in doubtful], rank, count)
    x = V.T @ (U.T @ b / values)
    rest = b - scaled @ x
    back = V.T / values
    if order is None:
        squares = rest @ rest / max(rows - count, 1) * np.sum(back ** 2, axis=1)
    else:
        squares = _squares(back, U, rest, order)
    deviation = np.sqrt(squares)
    return Estimate(x / size, deviation / size, float(values[0] / values[-1]),
                    float(np.sqrt(rest @ rest / rows)))


def _squares(back: Array, U: Array, rest: Array, order: Order) -> Array:
    """
    Return squares of the deviations of x = back U^T b, where the noise is alike in nearby rows.

    The noise of a series has the covariances of its residuals, up to the first distance at which
    these are no longer alike (Geyer, "Practical Markov chain Monte Carlo", 1992). They only ever
    widen what independent rows would give. The fit has taken its part of the noise from the
    residuals: of noise with the covariance W the part tr(U^T W U), which is given back.
    """
    alone, alike = np.zeros((2, U.shape[1], U.shape[1]))
    for series in np.unique(order.series):
        rows = order.series == series
        place = order.place[rows] - order.place[rows].min()
        length = int(place.max()) + 1
        u, e, there = np.zeros((length, U.shape[1])), np.zeros(length), np.zeros(length)
        u[place], e[place], there[place] = U[rows], rest[rows], 1.0
        own = float(e @ e) / len(place) * (u.T @ u)
        alone += own
        alike += own
        for k in range(1, length // 4):
            pairs = float(there[:-k] @ there[k:])
            covariance = float(e[:-k] @ e[k:]) / max(pairs, 1.0)
            if not covariance > 0.0:
                break
            both = covariance * (u[:-k].T @ u[k:])
            alike += both + both.T
    total, found = float(rest @ rest), []
    for each in (alone, alike):
        left = max(1.0 - float(np.trace(each)) / max(total, 1e-300), 1.0 / len(rest))
        found.append(np.einsum('ij,jk,ik->i', back, each, back) / left)
    return np.maximum(*found)


class BaseParameters(NamedTuple):
    """
    The combinations of parameters that torques depend on.

    :param independent: columns that span the regressor, (r,).
    :param grouping: matrix from all parameters to the base parameters, (r, p); the columns of the
        independent ones are unit vectors.
    """

    independent: tuple[int, ...]
    grouping: Array


def base_parameters(
    robot: Dynamics, *, drives: bool = False, seed: int = 0, states: int = 0,
) -> BaseParameters:
    """
    Return the base parameters of a robot, from the rank of its regressor over random states.

    Moving inertia across single joints (RBDA 9.7) gives an upper bound on their number; near a
    fixed base there may be fewer.

    :param drives: whether damping, friction and rotors of the joints are unknown too.
    :param seed: of the random states.
    :param states: number of states; by default enough for twice as many rows as parameters.
    """
    model, rng = robot.model, np.random.default_rng(seed)
    columns = 10 * model.nb + (3 * model.nv if drives else 0)
    count = states or max(8, -(-2 * columns // max(model.nv, 1)))
    q = np.array([random_position(model, rng) for _ in range(count)])
    return independent_columns(
        design(robot, q, *rng.normal(size=(2, count, model.nv)), drives=drives))


def independent_columns(A: Array, least: float = RANK) -> BaseParameters:
    """
    Return columns that span a regressor, and how the others depend on them.

    :param A: stacked regressor.
    :param least: size, relative to the largest, below which a column adds nothing new.
    """
    from scipy.linalg import qr, solve_triangular     # slow to import, and needed only here
    columns = A.shape[1]
    _, R, order = qr(A, mode='economic', pivoting=True)
    size = np.abs(np.diag(R))
    rank = int(np.sum(size > least * size[0])) if size.size else 0
    grouping = np.zeros((rank, columns))
    grouping[:, order[:rank]] = np.eye(rank)
    grouping[:, order[rank:]] = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    ranked = np.argsort(order[:rank])
    return BaseParameters(tuple(int(k) for k in order[:rank][ranked]), grouping[ranked])
