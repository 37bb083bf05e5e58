# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Fixed-step integrators for q' = q_dot(q, v), v' = a(q, v), over plain or traced scalars.

Both take the space of the positions, so that quaternions keep their unit length.
"""

from __future__ import annotations

from collections.abc import Callable

from rbd_ros.compiler import Scalar, Values
from rbd_ros.sim.steps.coordinates import Coordinates

Acceleration = Callable[[Values, Values], Values]
TimedAcceleration = Callable[[Values, Values, Scalar], Values]
State = tuple[list[Scalar], list[Scalar]]


def semi_implicit_step(
    space: Coordinates, acceleration: Acceleration, q: Values, v: Values, h: Scalar,
) -> State:
    """
    Return the state after ``h`` seconds by the semi-implicit Euler rule (order 1, symplectic).

    :param space: where q lives.
    :param acceleration: a(q, v), (nv,).
    :param q: position at the start.
    :param v: velocity at the start.
    :param h: length of the step, s.
    """
    v_end = _ahead(v, h, acceleration(q, v))
    return space.integrate(q, [h * x for x in v_end]), v_end


def rk4_step(
    space: Coordinates, acceleration: Acceleration, q: Values, v: Values, h: Scalar,
) -> State:
    """
    Return the state after ``h`` seconds by the classical Runge-Kutta rule (order 4).

    The stages simply add to the entries of q. The result leaves the space by no more than the
    error of the rule, so normalising it keeps the order.

    :param space: where q lives.
    :param acceleration: a(q, v), (nv,).
    :param q: position at the start.
    :param v: velocity at the start.
    :param h: length of the step, s.
    """
    return timed_rk4_step(space, lambda q, v, _: acceleration(q, v), q, v, h)


def timed_rk4_step(
    space: Coordinates, acceleration: TimedAcceleration, q: Values, v: Values, h: Scalar,
    first: Values | None = None,
) -> State:
    """
    Return the same where the acceleration depends on time, too.

    :param acceleration: a(q, v, elapsed), (nv,), with the time since the start of the step.
    :param first: the acceleration at the start, if already known.
    """
    half, sixth = 0.5 * h, h / 6.0
    q1, a1 = space.q_dot(q, v), acceleration(q, v, 0.0) if first is None else first
    q_2, v_2 = _ahead(q, half, q1), _ahead(v, half, a1)
    q2, a2 = space.q_dot(q_2, v_2), acceleration(q_2, v_2, half)
    q_3, v_3 = _ahead(q, half, q2), _ahead(v, half, a2)
    q3, a3 = space.q_dot(q_3, v_3), acceleration(q_3, v_3, half)
    q_4, v_4 = _ahead(q, h, q3), _ahead(v, h, a3)
    q4, a4 = space.q_dot(q_4, v_4), acceleration(q_4, v_4, h)
    q_end = _ahead(q, sixth, _weighted(q1, q2, q3, q4))
    return space.normalise(q, q_end), _ahead(v, sixth, _weighted(a1, a2, a3, a4))


def _ahead(x: Values, h: Scalar, rate: Values) -> list[Scalar]:
    return [a + h * b for a, b in zip(x, rate, strict=True)]


def _weighted(k1: Values, k2: Values, k3: Values, k4: Values) -> list[Scalar]:
    return [a + 2.0 * (b + c) + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
