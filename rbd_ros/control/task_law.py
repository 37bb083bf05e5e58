# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Operational-space law: motion of a frame, a wrench upon it, and a posture in what is left.

    tau = C(q, qd) + J^T Lambda (a_ref - J' qd) + J_w^T w + N^T tau_posture

with N^T = 1 - J^T Lambda J H^-1. Gravity and Coriolis torque enter in joint space, whole, so
that the support of the arm does not depend on how well Lambda is conditioned. Policy near a
singular pose: eigenvalues of Lambda^-1 below 1/max_condition of the largest one are raised to
that value (``rbd_ros.opspace.conditioned_inverse``); the force along such a direction stays
bounded and continuous, and the posture task gets the freedom that the frame has lost.
Generic over scalars.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler import atan2, less, Scalar, sqrt, where
from rbd_ros.opspace import sum_products

__all__ = ['pose_error', 'spatial_acceleration', 'task_acceleration', 'task_torque']

Vector = Sequence[Scalar]
Matrix = Sequence[Vector]

#: sine of the angle below which the rotation vector equals its sine to rounding
_SMALL = 1e-8


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
    turn = [[sum_products([R[k][i] for k in range(3)], [R_ref[k][j] for k in range(3)])
             for j in range(3)] for i in range(3)]  # R^T R_ref
    axis = [0.5 * (turn[2][1] - turn[1][2]), 0.5 * (turn[0][2] - turn[2][0]),
            0.5 * (turn[1][0] - turn[0][1])]
    sine = sqrt(sum_products(axis, axis))
    cosine = 0.5 * (turn[0][0] + turn[1][1] + turn[2][2] - 1.0)
    small = less(sine, _SMALL)
    factor = where(small, 1.0, atan2(sine, cosine) / where(small, 1.0, sine))
    way = [a - b for a, b in zip(p_ref, p)]
    linear = [sum_products([R[k][i] for k in range(3)], way) for i in range(3)]
    return [factor * x for x in axis] + linear


def task_acceleration(error: Vector, error_rate: Vector, acceleration: Vector, *,
                      stiffness: Vector, damping: Vector) -> list[Scalar]:
    """
    Return the acceleration that brings the frame to its reference: a + Kd e' + Kp e.

    :param error: way to the reference along the controlled directions.
    :param error_rate: reference velocity minus velocity.
    :param acceleration: reference acceleration.
    :param stiffness: Kp, 1/s^2.
    :param damping: Kd, 1/s.
    """
    return [a + kd * ed + kp * e for a, kd, ed, kp, e
            in zip(acceleration, damping, error_rate, stiffness, error)]


def spatial_acceleration(angular: Vector, linear: Vector, velocity: Vector) -> list[Scalar]:
    """
    Return the spatial acceleration of a frame whose origin accelerates as given.

    The Jacobian maps to spatial accelerations, whose linear part lacks omega x v of the origin.

    :param angular: angular acceleration in the axes of the frame, rad/s^2.
    :param linear: acceleration of the origin in the axes of the frame, m/s^2.
    :param velocity: spatial velocity of the frame, angular part first.
    """
    wx, wy, wz, vx, vy, vz = velocity
    ax, ay, az = linear
    return [*angular, ax - (wy * vz - wz * vy), ay - (wz * vx - wx * vz),
            az - (wx * vy - wy * vx)]


def task_torque(bias: Vector, J: Matrix, Lambda: Matrix, HinvJT: Matrix, Jdqd: Vector,
                acceleration: Vector, posture: Vector, *,
                J_wrench: Matrix = (), wrench: Vector = ()) -> list[Scalar]:
    """
    Return the joint torques of the operational-space law.

    :param bias: C(q, qd) with gravity, n.
    :param J: Jacobian of the controlled directions, m x n.
    :param Lambda: operational-space inertia, conditioned, m x m.
    :param HinvJT: H^-1 J^T, n x m.
    :param Jdqd: J' qd, m.
    :param acceleration: wanted acceleration along the directions, m.
    :param posture: torque of the posture task, n.
    :param J_wrench: Jacobian of the directions of force control, k x n.
    :param wrench: force to be exerted along them, k.
    """
    n, m = len(bias), len(J)
    spill = [sum_products([HinvJT[j][i] for j in range(n)], posture) for i in range(m)]
    wanted = [a - rate - s for a, rate, s in zip(acceleration, Jdqd, spill)]
    force = [sum_products(row, wanted) for row in Lambda]
    torque = []
    for j in range(n):
        tau = bias[j] + posture[j] + sum_products([row[j] for row in J], force)
        for row, f in zip(J_wrench, wrench):
            tau = tau + row[j] * f
        torque.append(tau)
    return torque
