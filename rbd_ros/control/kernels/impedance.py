# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Impedance laws in physical units: springs and dampers that whoever pushes the robot feels.

They leave the inertia of the robot as it is, and are passive by themselves, whatever the robot
touches. ``shaped_force`` changes it, which needs the measured force and is not passive.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.linear.jacobi import largest_and_smallest, symmetric_eigen
from rbd_ros.compiler import clamp, cos, less, maximum, Scalar, sin, sqrt, where

__all__ = ['critical_damping', 'HEAVIER', 'LIGHTER', 'shaped_force', 'spring_wrench']

Vector = Sequence[Scalar]
Matrix = Sequence[Vector]

#: rad below which the curvature of a turn is that of its series
_SMALL = 1e-2

#: share of the largest eigenvalue to which those of directions without stiffness are raised
_FLOOR = 1e-12

#: times the wanted inertia that the robot may have at most, and at least, along any direction. A
#: robot that shall feel lighter than it is feeds its force back with the sign of negative damping,
#: K_e (S - 1) times the delay against a wall of the stiffness K_e: it would hammer
LIGHTER, HEAVIER = 1.0, 0.1

#: the least number to divide by, 1/s^2
_TINY = 1e-37


def spring_wrench(error: Vector, stiffness: Vector) -> list[Scalar]:
    """
    Return the moment and force that springs along the axes of a frame exert upon it.

    They are the gradient of e K e / 2, with e the rotation vector and the way to the reference in
    the axes of the frame, so that no closed path gains energy. K e alone is not: the axes turn
    with the frame, which a spring that is stiffer along one of them resists.

    :param error: e, angular part first, rad and m.
    :param stiffness: K per axis, N.m/rad and N/m.
    """
    turn, way = error[:3], error[3:]
    moment = [k * x for k, x in zip(stiffness[:3], turn)]
    force = [k * x for k, x in zip(stiffness[3:], way)]
    # de/dt = -J_l(turn)^-1 omega, J_l^-T = 1 + turn x / 2 + c turn x turn x
    once = _cross(turn, moment)
    twice, c = _cross(turn, once), _curvature(sqrt(dense.dot(turn, turn)))
    lever = _cross(way, force)
    return [m + 0.5 * a + c * b + d for m, a, b, d in zip(moment, once, twice, lever)] + force


def _curvature(angle: Scalar) -> Scalar:
    """Return (1 - angle/2 cot(angle/2)) / angle^2, 1/12 at zero."""
    small = less(angle, _SMALL)
    half = 0.5 * where(small, 1.0, angle)
    exact = (1.0 - half * cos(half) / sin(half)) / (4.0 * half * half)
    return where(small, 1.0 / 12.0 + angle * angle / 720.0, exact)


def _cross(a: Vector, b: Vector) -> list[Scalar]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def critical_damping(Phi: Matrix, stiffness: Vector) -> list[list[Scalar]]:
    """
    Return the damping with which every mode of Lambda x'' + D x' + K x = 0 is critically damped.

    Where Q diagonalises both, Lambda = Q^T Q and K = Q^T w^2 Q, it is D = 2 Q^T w Q
    (Albu-Schaeffer et al. 2003). That is twice the geometric mean of Lambda and K, which needs one
    eigensystem: 2 sqrt(K) (sqrt(K) Phi sqrt(K))^(-1/2) sqrt(K). A share z of it has the ratio z.

    :param Phi: inverse of Lambda, m x m, positive definite.
    :param stiffness: of each direction; zero: it is not damped.
    """
    root = [sqrt(k) for k in stiffness]
    m = len(root)
    w, V = symmetric_eigen([[root[i] * Phi[i][j] * root[j] for j in range(m)] for i in range(m)])
    high, _ = largest_and_smallest(w)
    rate = [2.0 / sqrt(maximum(maximum(value, _FLOOR * high), _TINY)) for value in w]
    return [[root[i] * root[j] * dense.dot([V[i][k] * rate[k] for k in range(m)], V[j])
             for j in range(m)] for i in range(m)]


def shaped_force(Lambda: Matrix, inertia: Vector, force: Vector, external: Vector) -> list[Scalar]:
    """
    Return the force with which a frame moves as if it had another inertia M.

    S (F + f_ext) - f_ext with S = Lambda M^-1 makes Lambda x'' = F' + f_ext into
    M x'' = F + f_ext (Hogan 1985). S has the eigenvalues of M^-1/2 Lambda M^-1/2. They are kept
    within bounds: beyond these, as near singular poses, the frame is heavier or lighter than M.

    :param Lambda: inertia of the frame, m x m.
    :param inertia: M of each direction, positive.
    :param force: F of springs and dampers.
    :param external: f_ext that acts on the frame.
    """
    root = [sqrt(mass) for mass in inertia]
    m = len(root)
    w, V = symmetric_eigen([[Lambda[i][j] / (root[i] * root[j]) for j in range(m)]
                            for i in range(m)])
    share = [clamp(value, HEAVIER, LIGHTER) for value in w]
    acting = [(f + e) / r for f, e, r in zip(force, external, root)]
    modes = [share[k] * dense.dot([V[i][k] for i in range(m)], acting) for k in range(m)]
    return [root[i] * dense.dot(V[i], modes) - external[i] for i in range(m)]
