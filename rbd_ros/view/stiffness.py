# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The stiffness that somebody feels who pushes the tool, from the gains of a mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.compiler import Array

if TYPE_CHECKING:
    from rbd_ros.dynamics.robot import Dynamics

__all__ = ['felt_stiffness', 'GAINS', 'joint_stiffness', 'RIGID', 'Stiffness', 'text_of']

#: Parameters of the controller from which the stiffness is found, by mode.
GAINS: Mapping[str, tuple[str, ...]] = {
    'computed_torque': ('stiffness',), 'hold': ('stiffness',),
    'operational_space': ('task.linear_stiffness', 'task.angular_stiffness'),
    'joint_impedance': ('joint_impedance.stiffness',),
    'cartesian_impedance': ('cartesian_impedance.linear_stiffness',
                            'cartesian_impedance.angular_stiffness')}
RIGID = 1e6  # N/m; what is stiffer is called rigid
LOOSE = 1e-9  # stiffness of what has none, of the largest at a joint: it must have an inverse
IMMOBILE = 1e-4  # motion of the tool, of its largest, below which it has none in a direction
AXES = ('rx', 'ry', 'rz', 'tx', 'ty', 'tz')  # rows of a Jacobian
SHORT = {'x': 'tx', 'y': 'ty', 'z': 'tz'}


class Stiffness(NamedTuple):
    """
    Principal values, N/m, and their axes.

    :param values: from soft to stiff; infinite where the tool cannot move.
    :param R: the axes as the columns of a rotation.
    """

    values: Array
    R: Array


def felt_stiffness(J_v: Array, K: Array) -> Stiffness | None:
    """
    Return how stiff a frame is against a force, without a moment, where its joints have springs.

    A force f turns the joints by K^-1 J_v^T f, which moves the frame by J_v K^-1 J_v^T f.

    :param J_v: linear rows of the Jacobian, (3, n).
    :param K: torque over deflection of the joints, (n, n); a joint without a spring has zero.
    :returns: along the axes of the Jacobian; None: the frame cannot move, or there is no spring.
    """
    U, reach, _ = np.linalg.svd(J_v)
    if len(reach) < 3:
        reach = np.append(reach, np.zeros(3 - len(reach)))
    top = float(np.abs(K).max(initial=0.0))
    if top <= 0.0 or reach[0] <= 0.0:
        return None
    moving = reach > IMMOBILE * reach[0]
    U_m = U[:, moving]
    give = J_v @ np.linalg.solve(K + LOOSE * top * np.eye(len(K)), J_v.T)  # compliance, m/N
    k, V = np.linalg.eigh(np.linalg.inv(U_m.T @ (0.5 * (give + give.T)) @ U_m))
    k = np.where(k > 1e3 * LOOSE * k.max(), k, 0.0)
    R = np.hstack([U_m @ V, U[:, ~moving]])
    if np.linalg.det(R) < 0.0:
        R[:, 2] = -R[:, 2]
    return Stiffness(np.append(k, np.full(3 - len(k), np.inf)), R)


def joint_stiffness(
    robot: Dynamics, q: Array, mode: str, gains: Mapping[str, Any], index: Sequence[int],
    frame: str,
) -> Array | None:
    """
    Return the stiffness of a mode at its joints, N.m/rad: what its law adds for a deflection.

    Integral terms, and the posture where there is freedom left, are not in it.

    :param gains: parameters of the controller by name.
    :param index: places of the controlled joints in the vectors of the robot.
    :param frame: that the mode moves, if it moves one.
    :returns: (n, n) in the order of ``index``; None: the mode has no springs, or the gains are
        not known.
    """
    n, at = len(index), list(index)
    if mode not in GAINS or any(gains.get(name) is None for name in GAINS[mode]):
        return None
    first = _each(gains[GAINS[mode][0]], n if len(GAINS[mode]) == 1 else 3)
    if first is None:
        return None
    if mode == 'joint_impedance':
        return np.diag(first)
    H = robot.mass_matrix(q)[np.ix_(at, at)]
    if mode in ('computed_torque', 'hold'):
        return H * first  # H diag(K)
    angular = _each(gains[GAINS[mode][1]], 3)
    if angular is None:
        return None
    named = [SHORT.get(name, name) for name in gains.get('task.axes') or AXES]
    rows = [k for k, name in enumerate(AXES) if name in named]
    J = robot.jacobian(q, frame)[np.ix_(rows, at)]
    K = np.concatenate([angular, first])[rows]
    if mode == 'cartesian_impedance':
        return (J.T * K) @ J
    Phi = J @ np.linalg.solve(H, J.T)  # inverse of Lambda
    return J.T @ np.linalg.pinv(Phi, rcond=1e-9, hermitian=True) @ (K[:, None] * J)


def text_of(stiffness: Stiffness | None) -> tuple[str, str, str]:
    """Return the principal values in words."""
    if stiffness is None:
        return ('', '', '')
    a, b, c = (f'{k:.3g} N/m' if k < 1e3 else f'{k:.0f} N/m' if k < RIGID else 'rigid'
               for k in stiffness.values)
    return a, b, c


def _each(value: Any, count: int) -> Array | None:
    """Return one number per joint or axis; None if there is another number of them."""
    found = np.atleast_1d(np.asarray(value, float))
    if len(found) not in (1, count) or not np.isfinite(found).all() or (found < 0.0).any():
        return None
    return np.broadcast_to(found, count).copy()
