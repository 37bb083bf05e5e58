# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Operational-space law: motion of a frame, a wrench upon it, and a posture in what is left.

    tau = H k (s J# w / k + s_0 (1 - J# J) u - qd) + C(q, qd) + J_w^T f
    w = a_ref + Kd (v_ref - v) + Kp e - J' qd + k J qd,    J# = H^-1 J^T Lambda

that is J qdd + J' qd = a_ref + Kd (v_ref - v) + Kp e wherever Lambda is the inverse of
J H^-1 J^T and s is 1. Gravity and Coriolis torque enter in joint space, whole, so that the
support of the arm does not depend on how well Lambda is conditioned; k is the largest damping
of the frame, u the joint velocity that the posture asks for. The law is a damper k towards a
joint velocity, which is bounded whatever is asked of the frame:

- Eigenvalues of Lambda^-1 below 1/max_condition of the largest one are raised to that value
  (``algorithms.handles.opspace.conditioned_inverse``): the pull fades where the frame loses a
  direction, and the posture gets the freedom that is lost. The damping is in joint space and
  never fades.
- The shares s and s_0, at most 1, are such that no joint is asked for more than a given speed
  (velocity saturation of Khatib 1987, here for the speeds of joints).
- A joint that the frame would move into its limit goes there no faster than a share of the room
  that is left (Faverjon and Tournassoud 1987). It is heavy in H, so that the others take over
  (saturation in the null space, Flacco, De Luca and Khatib 2012), or the direction is lost as
  at a singular pose.

- Where a wrench is commanded along a direction that is not under motion control, the posture is
  kept out of that direction, too: J in (1 - J# J) has its row. Otherwise the posture would pull
  against the wrench, and the force upon what is pressed would be another one.

Generic over scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.linear import dense
from rbd_ros.compiler import (
    absolute, atan2, clamp, less, maximum, minimum, Scalar, sqrt, where)

__all__ = [
    'ApproachSpeeds', 'Gains', 'Operational', 'approach_speeds', 'decoupled', 'faded_wrench',
    'joint_speed', 'null_space_speed', 'pose_error', 'posture_speed', 'slowed_near_limits',
    'spatial_acceleration', 'speed_share', 'with_heavy_joints', 'wrench_shares', 'yielded_speed',
    'yielding']

Vector = Sequence[Scalar]
Matrix = Sequence[Vector]

#: sine of the angle below which the rotation vector equals its sine to rounding
_SMALL = 1e-8

#: keeps a division by zero finite
_TINY = 1e-12

#: room beyond which there is no need to count, rad or m
_FAR = 1e6

#: times its own inertia that is added to a joint whose speed is bounded by its limit
_HEAVY = 1e6

#: by which share a wanted speed must exceed the bound for the joint to be heavy
_EXCESS = 0.1


#: share of a force along a direction from which on it is wholly one of pressing
_ALONG = 0.05


class Gains(NamedTuple):
    """Spring and damper, one pair per direction or joint."""

    stiffness: Vector  # Kp, 1/s^2
    damping: Vector  # Kd, 1/s

    def rates(self) -> list[Scalar]:
        """
        Return per direction what makes a speed, asked for, of an acceleration.

        Against the damper an acceleration a ends in a velocity a / Kd; where the damper is weak
        a spring swings through with a / sqrt(Kp) at most.
        """
        return [maximum(maximum(kd, sqrt(kp)), _TINY) for kp, kd in zip(*self)]


class Operational(NamedTuple):
    """Operational space of the controlled directions."""

    J: Matrix  # m x n
    HinvJT: Matrix  # n x m
    Lambda: Matrix  # conditioned, m x m


class ApproachSpeeds(NamedTuple):
    """Speeds at which joints may approach their lower and upper limits, not negative."""

    down: Vector
    up: Vector


def pose_error(R: Matrix, p: Vector, R_ref: Matrix, p_ref: Vector) -> list[Scalar]:
    """
    Return the way from a pose to its reference, in the axes of the frame, angular part first.

    The angular part is the rotation vector; it is unique up to half a turn, where its axis is
    not defined and it vanishes.

    :param R: axes of the frame as columns, in the base.
    :param p: origin of the frame in the base, m.
    :param R_ref: reference axes.
    :param p_ref: reference origin, m.
    """
    turn = [[dense.dot([R[k][i] for k in range(3)], [R_ref[k][j] for k in range(3)])
             for j in range(3)] for i in range(3)]  # R^T R_ref
    axis = [0.5 * (turn[2][1] - turn[1][2]), 0.5 * (turn[0][2] - turn[2][0]),
            0.5 * (turn[1][0] - turn[0][1])]
    sine = sqrt(dense.dot(axis, axis))
    cosine = 0.5 * (turn[0][0] + turn[1][1] + turn[2][2] - 1.0)
    small = less(sine, _SMALL)
    factor = where(small, 1.0, atan2(sine, cosine) / where(small, 1.0, sine))
    way = [a - b for a, b in zip(p_ref, p)]
    linear = [dense.dot([R[k][i] for k in range(3)], way) for i in range(3)]
    return [factor * x for x in axis] + linear


def spatial_acceleration(acceleration: Vector, velocity: Vector) -> list[Scalar]:
    """
    Return the spatial acceleration of a frame whose origin accelerates as given.

    The Jacobian maps to spatial accelerations, whose linear part lacks omega x v of the origin.

    :param acceleration: angular, and that of the origin, in the axes of the frame.
    :param velocity: spatial velocity of the frame, angular part first.
    """
    wx, wy, wz, vx, vy, vz = velocity
    *angular, ax, ay, az = acceleration
    return [*angular, ax - (wy * vz - wz * vy), ay - (wz * vx - wx * vz),
            az - (wx * vy - wy * vx)]


def joint_speed(space: Operational, velocity: Vector) -> list[Scalar]:
    """
    Return the joint velocities that move the frame with a velocity, as far as it can.

    :param space: operational space.
    :param velocity: along the controlled directions, m.
    """
    return _times(space.HinvJT, _times(space.Lambda, velocity))


def speed_share(wanted: Vector, speed: Vector) -> Scalar:
    """
    Return the share of joint velocities that no joint is too slow for, at most 1.

    :param wanted: joint velocities.
    :param speed: largest ones.
    """
    share: Scalar = 1.0
    for v, most in zip(wanted, speed):
        share = minimum(share, most / maximum(absolute(v), _TINY))
    return share


def approach_speeds(q: Vector, lower: Vector, upper: Vector, margin: Vector,
                    rate: Scalar) -> ApproachSpeeds:
    """
    Return how fast joints may approach their limits: the slower the nearer.

    :param q: joint positions.
    :param lower: limits; minus infinity: none.
    :param upper: limits.
    :param margin: distance from a limit that is left alone.
    :param rate: speed per distance that is left, 1/s.
    """
    return ApproachSpeeds(
        [rate * clamp(x - low - zone, 0.0, _FAR) for x, low, zone in zip(q, lower, margin)],
        [rate * clamp(up - zone - x, 0.0, _FAR) for x, up, zone in zip(q, upper, margin)])


def yielding(wanted: Vector, free: ApproachSpeeds) -> list[Scalar]:
    """
    Return per joint how far it must yield to its limit: 0 not at all, 1 wholly.

    :param wanted: joint velocities.
    :param free: speeds towards the limits.
    """
    result = []
    for v, down, up in zip(wanted, *free):
        most = where(less(v, 0.0), down, up)
        share = minimum(most / maximum(absolute(v), _TINY), 1.0)
        result.append(minimum((1.0 - share) / _EXCESS, 1.0))
    return result


def yielded_speed(speed: Vector, wanted: Vector, free: ApproachSpeeds,
                  yields: Vector) -> list[Scalar]:
    """
    Return joint velocities with those of joints that yield replaced by what is left to them.

    :param speed: joint velocities.
    :param wanted: joint velocities that some joints must not follow.
    :param free: speeds towards the limits.
    :param yields: how far joints yield.
    """
    result = []
    for u, v, down, up, share in zip(speed, wanted, *free, yields):
        weight = minimum(4.0 * share, 1.0)  # before the joint is heavy
        result.append((1.0 - weight) * u + weight * where(less(v, 0.0), -down, up))
    return result


def slowed_near_limits(speed: Vector, free: ApproachSpeeds) -> list[Scalar]:
    """
    Return joint velocities, none of which is too fast towards a limit.

    :param speed: joint velocities.
    :param free: speeds towards the limits.
    """
    return [clamp(u, -down, up) for u, down, up in zip(speed, *free)]


def with_heavy_joints(H: Matrix, yields: Vector) -> list[list[Scalar]]:
    """
    Return an inertia matrix in which joints that yield are heavy.

    :param H: inertia matrix, n x n.
    :param yields: how far joints yield.
    """
    result = [list(row) for row in H]
    for j, share in enumerate(yields):
        cube = share * share * share
        result[j][j] = H[j][j] * (1.0 + _HEAVY * cube * cube)
    return result


def posture_speed(error: Vector, speed: Vector, gains: Gains) -> list[Scalar]:
    """
    Return the joint velocities with which a posture is approached: Kp / Kd e, bounded.

    :param error: way to the posture.
    :param speed: largest ones.
    :param gains: one pair per joint.
    """
    return [clamp(kp * e / rate, -most, most) for e, most, kp, rate in zip(
        error, speed, gains.stiffness, gains.rates())]


def null_space_speed(space: Operational, speed: Vector) -> list[Scalar]:
    """
    Return what remains of joint velocities without those that move the frame.

    :param space: operational space.
    :param speed: joint velocities.
    """
    felt = joint_speed(space, _times(space.J, speed))
    return [u - v for u, v in zip(speed, felt)]


def faded_wrench(wrench: Vector, velocity: Vector, most: Vector, qd: Vector,
                 fastest: Vector) -> list[Scalar]:
    """
    Return a wrench that does not accelerate what gives way: it fades with the speed it makes.

    Moment and force act in full up to half of the speed along their own direction, and not at all
    from the speed on. The same holds for the fastest joint: near a singular pose joints are fast
    where the frame is slow.

    :param wrench: moment and force in the axes of the frame.
    :param velocity: of the frame, angular and linear, in its axes.
    :param most: largest angular and linear speed.
    :param qd: joint velocities.
    :param fastest: largest ones.
    """
    result: list[Scalar] = []
    busy: Scalar = 0.0
    for v, limit in zip(qd, fastest):
        busy = maximum(busy, absolute(v) / limit)
    for part, speed in zip((slice(0, 3), slice(3, 6)), most):
        size = sqrt(dense.dot(wrench[part], wrench[part]))
        along = dense.dot(wrench[part], velocity[part]) / maximum(size, _TINY)
        share = clamp(2.0 - 2.0 * maximum(along / speed, busy), 0.0, 1.0)
        result += [share * x for x in wrench[part]]
    return result


def wrench_shares(wrench: Vector, directions: Sequence[int]) -> list[Scalar]:
    """
    Return per direction whether a wrench acts along it: 0 not at all, 1 from a small share on.

    :param wrench: moment and force in the axes of the frame.
    :param directions: numbers from 0 to 5, angular ones first.
    """
    size = [sqrt(dense.dot(part, part)) for part in (wrench[:3], wrench[3:])]
    return [minimum(absolute(wrench[i]) / (_ALONG * size[i // 3] + _TINY), 1.0)
            for i in directions]


def decoupled(Phi: Matrix, shares: Vector) -> list[list[Scalar]]:
    """
    Return J H^-1 J^T with some directions taken in by a share, and decoupled as far as not.

    At 1 a direction counts like the others, at 0 it stands alone; the diagonal stays, so that
    what is not taken in does not look singular.

    :param Phi: J H^-1 J^T of all directions.
    :param shares: of the directions.
    """
    return [[value if i == j else a * b * value for j, (b, value) in enumerate(zip(shares, row))]
            for i, (a, row) in enumerate(zip(shares, Phi))]


def _times(A: Matrix, x: Vector) -> list[Scalar]:
    return [dense.dot(row, x) for row in A]
