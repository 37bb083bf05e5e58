# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The explicit constraint q = gamma(y) between independent and tree coordinates (RBDA 9.6, 8.11).

The joints of the tree have their own position and velocity vectors; a robot with mimic joints,
gears or differentials is moved by fewer, independent coordinates y. Then

    q = gamma(y),    q_dot = G(y) y_dot,    q_ddot = G(y) y_ddot + g(y, y_dot)

with G = d gamma / d y and g = G_dot y_dot. Where every joint follows by a linear law, as URDF's
``mimic`` does, G is constant and g is zero. Everything works on any scalar type; quaternions
pass through untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rbd_ros.compiler import jacobian, jvp, Matrix, Rows, Scalar, trace, Values

#: The entries of a row of G that are not zero: pairs (independent coordinate, value).
Row = tuple[tuple[int, Scalar], ...]


class Mimic(NamedTuple):
    """One joint follows another: q = multiplier * q[joint] + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    @property
    def joints(self) -> tuple[str, ...]:
        """Return the joints that are followed."""
        return (self.joint,)


class Gear(NamedTuple):
    """
    One joint follows others by any law: q = function(q of the first joint, of the second, ...).

    A cam or a linkage follows one joint, an output of a differential two or three. Derivatives
    are found from the function itself.

    :param joints: names of the joints that are followed.
    :param function: of one scalar per joint, written with the functions of rbd_ros.compiler.
    """

    joints: tuple[str, ...]
    function: Callable[..., Scalar]


@dataclass(frozen=True)
class Affine:
    """The law of a linear gear: a weighted sum of positions, and an offset."""

    weights: tuple[float, ...]
    offset: float = 0.0

    def __call__(self, *x: Scalar) -> Scalar:
        """Return the position of the follower."""
        total: Scalar = self.offset
        for weight, position in zip(self.weights, x, strict=True):
            total = total + weight * position
        return total


class Follower(NamedTuple):
    """
    A joint of the tree that follows by a law that is not linear, or follows such a joint.

    :param q: its place among the tree positions; ``v`` among the velocities.
    :param sources: places (position, velocity) of the joints that it follows.
    """

    q: int
    v: int
    sources: tuple[tuple[int, int], ...]
    function: Callable[..., Scalar]


@dataclass(frozen=True)
class Coupling:
    """
    The map from independent to tree coordinates.

    :param rows_q: per tree position, pairs (independent position, coefficient); no pair where
        a law of ``gears`` gives it.
    :param q0: per tree position, the offset.
    :param rows_v: per tree velocity, pairs (independent velocity, coefficient).
    :param nq: number of independent positions.
    :param nv: number of independent velocities.
    :param followers: indices of the bodies whose joints own no coordinate.
    :param leaders: per follower, the indices of the bodies whose joints it follows.
    :param gears: laws that are not linear, each after those that it needs.
    """

    rows_q: tuple[tuple[tuple[int, float], ...], ...]
    q0: tuple[float, ...]
    rows_v: tuple[tuple[tuple[int, float], ...], ...]
    nq: int
    nv: int
    followers: tuple[int, ...]
    leaders: tuple[tuple[int, ...], ...]
    gears: tuple[Follower, ...] = ()

    @property
    def constant(self) -> bool:
        """Return whether G is the same everywhere, and so g zero."""
        return not self.gears

    @property
    def coupled(self) -> frozenset[int]:
        """Return the bodies whose joints share a coordinate: followers and their leaders."""
        return frozenset(self.followers).union(*self.leaders)

    def gamma(self, y: Values) -> list[Scalar]:
        """Return the tree positions q."""
        q = [value + offset for value, offset in zip(_apply(self.rows_q, y), self.q0, strict=True)]
        for gear in self.gears:
            q[gear.q] = gear.function(*(q[at] for at, _ in gear.sources))
        return q

    def rows(self, y: Values) -> list[Row]:
        """Return the rows of G = d gamma / d y, without what is zero by structure."""
        rows: list[Row] = list(self.rows_v)
        q = self.gamma(y) if self.gears else ()
        for gear in self.gears:
            total: dict[int, Scalar] = {}
            slopes = partials(gear.function, [q[at] for at, _ in gear.sources])
            for slope, (_, at) in zip(slopes, gear.sources, strict=True):
                for k, coefficient in rows[at]:
                    total[k] = total.get(k, 0.0) + slope * coefficient
            rows[gear.v] = tuple(total.items())
        return rows

    def G(self, y: Values) -> Matrix:
        """Return the dense matrix of velocities, tree_nv rows of nv entries."""
        dense: Matrix = [[0.0] * self.nv for _ in self.rows_v]
        for out, row in zip(dense, self.rows(y), strict=True):
            for k, coefficient in row:
                out[k] = out[k] + coefficient
        return dense

    def rows_rate(self, y: Values, yd: Values) -> list[Row]:
        """Return the rows of G_dot, the derivative of G at velocity y_dot."""
        rates: list[Row] = [() for _ in self.rows_v]
        if not self.gears:
            return rates
        q, rows = self.gamma(y), self.rows(y)
        qd = _apply(rows, yd)
        for gear in self.gears:
            x, total = [q[at] for at, _ in gear.sources], dict[int, Scalar]()
            changes = partials_rate(gear.function, x, [qd[at] for _, at in gear.sources])
            slopes = partials(gear.function, x)
            for slope, change, (_, at) in zip(slopes, changes, gear.sources, strict=True):
                for k, coefficient in rows[at]:
                    total[k] = total.get(k, 0.0) + change * coefficient
                for k, rate in rates[at]:
                    total[k] = total.get(k, 0.0) + slope * rate
            rates[gear.v] = tuple(total.items())
        return rates

    def g(self, y: Values, yd: Values) -> list[Scalar]:
        """Return g = G_dot y_dot, the tree accelerations at zero y_ddot."""
        return _apply(self.rows_rate(y, yd), yd)

    def expand_v(self, v: Values, y: Values) -> list[Scalar]:
        """Return the tree velocities G v."""
        return _apply(self.rows(y), v)

    def reduce_force(self, tau: Values, y: Values) -> list[Scalar]:
        """Return the generalised force G^T tau on the independent coordinates."""
        return self.gather(self.rows(y), tau)

    def reduce_symmetric(self, H: Rows, y: Values) -> Matrix:
        """Return G^T H G (9.27), exactly symmetric where H is."""
        rows = self.rows(y)
        HG = zip(*(self.gather(rows, row) for row in H), strict=True)
        return [self.gather(rows, column) for column in HG]

    def gather(self, rows: Sequence[Row], x: Values) -> list[Scalar]:
        """Return M^T x of a sparse matrix with nv columns, such as G or G_dot."""
        out: list[Scalar] = [0.0] * self.nv
        for row, value in zip(rows, x, strict=True):
            for k, coefficient in row:
                out[k] = out[k] + coefficient * value
        return out


def _apply(rows: Sequence[Row], values: Values) -> list[Scalar]:
    out: list[Scalar] = []
    for row in rows:
        total: Scalar = 0.0
        for k, coefficient in row:
            total = total + coefficient * values[k]
        out.append(total)
    return out


def partials(function: Callable[..., Scalar], x: Values) -> list[Scalar]:
    """Return the derivatives of a law with respect to each of its positions."""
    if isinstance(function, Affine):
        return list(function.weights)
    graph = trace(lambda x: {'f': [function(*x)]}, {'x': (len(x),)})
    return jacobian(graph, 'f', 'x').evaluate(list(x))


def partials_rate(function: Callable[..., Scalar], x: Values, rate: Values) -> list[Scalar]:
    """Return how fast the derivatives of a law change while its positions move."""
    if isinstance(function, Affine):
        return [0.0] * len(x)
    slopes = jacobian(trace(lambda x: {'f': [function(*x)]}, {'x': (len(x),)}), 'f', 'x')
    return jvp(slopes, 'df_dx', 'x').evaluate(list(x), list(rate))
