# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Control laws over generic scalars: floats, or traced values that become one kernel.

Nothing here branches on a value. The dynamics enter as functions or as their results, so that
a law and the dynamics it needs can be traced together. Vectors are sequences of scalars in the
order of the controlled joints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rbd_ros.compiler import atan2, clamp, cos, less, Scalar, sin, tanh, where

__all__ = [
    'Friction', 'computed_torque', 'damping', 'friction_torque', 'gravity_compensation',
    'integrate_error', 'tracking_error',
]

Vector = Sequence[Scalar]


class Friction(NamedTuple):
    """Joint friction to be compensated: viscous plus Coulomb, smooth at rest."""

    viscous: Vector  # N.m.s/rad
    coulomb: Vector  # N.m
    speed: Vector  # rad/s at which tanh has reached 76 % of the Coulomb torque

    @classmethod
    def of(cls, x: Mapping[str, Vector]) -> Friction:
        """Return what a kernel is given."""
        return cls(x['viscous'], x['coulomb'], x['friction_speed'])


def friction_torque(qd: Vector, friction: Friction) -> list[Scalar]:
    """
    Return the torque that overcomes friction at this velocity.

    :param qd: joint velocities.
    :param friction: its parameters; a speed must not be zero.
    """
    return [viscous * v + coulomb * tanh(v / speed)
            for v, viscous, coulomb, speed in zip(qd, *friction)]


def gravity_compensation(qd: Vector, gravity: Vector, *, scale: Vector, friction: Friction,
                         damping: Vector) -> list[Scalar]:
    """
    Let the robot float: scale g(q) + friction(qd) - D qd.

    :param qd: joint velocities.
    :param gravity: g(q), N.m.
    :param scale: share of gravity per joint, 1 for all of it.
    :param friction: friction to be compensated.
    :param damping: D, N.m.s/rad.
    """
    rubbing = friction_torque(qd, friction)
    return [share * g + f - d * v
            for share, g, f, d, v in zip(scale, gravity, rubbing, damping, qd)]


def damping(qd: Vector, gravity: Vector, damping: Vector) -> list[Scalar]:
    """
    Bring the robot to rest: g(q) - D qd.

    :param qd: joint velocities.
    :param gravity: g(q), N.m.
    :param damping: D, N.m.s/rad.
    """
    return [g - d * v for g, d, v in zip(gravity, damping, qd)]


def tracking_error(q: Vector, reference: Vector, continuous: Sequence[bool]) -> list[Scalar]:
    """
    Return reference minus position, the short way round for continuous joints.

    :param q: joint positions.
    :param reference: reference positions.
    :param continuous: which joints turn without end; part of the structure, not traced.
    """
    error = []
    for x, wanted, endless in zip(q, reference, continuous):
        e = wanted - x
        error.append(atan2(sin(e), cos(e)) if endless else e)
    return error


def computed_torque(inverse_dynamics: Callable[[Vector, Vector, Vector], Vector],
                    q: Vector, qd: Vector, reference: Sequence[Vector], *,
                    stiffness: Vector, damping: Vector, integral: Vector,
                    continuous: Sequence[bool]) -> list[Scalar]:
    """
    Follow a reference: H(q) (qdd_ref + Kd e' + Kp e + z) + C(q, qd).

    One call of the inverse dynamics gives both terms.

    :param inverse_dynamics: function of q, qd, qdd.
    :param q: joint positions.
    :param qd: joint velocities.
    :param reference: position, velocity and acceleration.
    :param stiffness: Kp, 1/s^2.
    :param damping: Kd, 1/s.
    :param integral: z, rad/s^2, as ``integrate_error`` gives it; zeros switch it off.
    :param continuous: which joints turn without end.
    """
    q_ref, qd_ref, qdd_ref = reference
    error = tracking_error(q, q_ref, continuous)
    qdd = [a + kd * (vr - v) + kp * e + z for a, kd, vr, v, kp, e, z
           in zip(qdd_ref, damping, qd_ref, qd, stiffness, error, integral)]
    return list(inverse_dynamics(q, qd, qdd))


def integrate_error(integral: Vector, error: Vector, *, gain: Vector, dt: Scalar,
                    limit: Vector, saturation: Vector) -> list[Scalar]:
    """
    Advance the integral term; it neither winds up nor leaves its bound.

    A joint whose torque is at a limit integrates only in the direction that leaves the limit.

    :param integral: z before, rad/s^2.
    :param error: e, rad.
    :param gain: Ki, 1/s^3.
    :param dt: s since the last step.
    :param limit: bound of z, rad/s^2.
    :param saturation: per joint 1 at the upper torque limit, -1 at the lower one, else 0.
    """
    result = []
    for z, e, ki, bound, side in zip(integral, error, gain, limit, saturation):
        step = where(less(0.0, side * e), 0.0, ki * e * dt)
        result.append(clamp(z + step, -bound, bound))
    return result
