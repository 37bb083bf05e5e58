# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
An inertia of the frame that a sensor is to shape, and whether it can.

The robot has S = Lambda M^-1 times the inertia M that is wanted, and its force is fed back by
S - 1, late by the filter and a period: with S above 1 that is negative damping in a hard contact.
Below a tenth little is left of the force itself. The law keeps S within these bounds in every
pose; what is beyond them in most poses is refused. Springs are judged with the inertia of the
robot itself, which the frame has whenever the force is not known, and in ``comply``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rbd_ros.control.kernels.impedance import HEAVIER, LIGHTER
from rbd_ros.control.modes import TIP_SPRINGS
from rbd_ros.control.parameters.values import AXES

__all__ = ['inertia_reasons', 'usual_masses']

Array = npt.NDArray[np.float64]


def usual_masses(poses: Sequence[tuple[Array, Array]]) -> Array:
    """
    Return the inertia that the frame has along each direction in half of the poses.

    :param poses: inertia matrices of the joints, and Jacobians of the frame.
    """
    inverses = [np.diag(J @ np.linalg.solve(H, J.T)) for H, J in poses]
    found: Array = np.median([1.0 / np.maximum(x, np.finfo(float).tiny) for x in inverses], axis=0)
    return found


def inertia_reasons(inertia: Sequence[float], masses: Sequence[float], chosen: Sequence[int], *,
                    sensor: str, tip: str, together: bool) -> list[str]:
    """
    Return why an inertia cannot be shaped; empty if it can, or none is wanted.

    :param inertia: that is wanted along each of ``AXES``; 0: that of the robot.
    :param masses: that the robot has along them.
    :param chosen: which of them are controlled.
    :param sensor: frame of the sensor; empty: there is none.
    :param tip: frame that is moved.
    :param together: whether both are fixed to one link.
    """
    names = f'{TIP_SPRINGS.name}.linear_inertia and angular_inertia'
    if not any(inertia):
        return []
    if not all(inertia[i] for i in chosen):
        return [f'{names}: give a number above 0 for each of task.axes, or 0 for all of them']
    if not sensor:
        return [f'{names} need a sensor: give force_torque.frame']
    if not together:
        return [f'force_torque.frame "{sensor}" moves relative to task.frame "{tip}": for '
                f'{names} both must be fixed to one link']
    reasons = []
    for i in chosen:
        part, unit = ('angular', 'kg.m^2') if i < 3 else ('linear', 'kg')
        least, most = masses[i] / LIGHTER, masses[i] / HEAVIER
        if not least <= inertia[i] <= most:
            reasons.append(
                f'{TIP_SPRINGS.name}.{part}_inertia {inertia[i]:g} {unit} of {AXES[i]} is too far '
                f'from the {masses[i]:.3g} {unit} that the robot has there in half of the '
                f'sampled poses: give {least:.3g} to {most:.3g} {unit}')
    return reasons
