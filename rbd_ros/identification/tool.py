# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The tool behind a force-torque sensor, and the bias of the sensor, from poses at rest.

A reading at rest is f = m g + b and n = h x g + d, with gravity g in the axes of the sensor, the
first moment h = m c and the biases b and d: linear in ten numbers, which least squares find from
several poses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.errors import RbdError

__all__ = ['identify_tool', 'PosesAlike', 'Tool']

Array = npt.NDArray[np.float64]

#: condition number beyond which noise decides
_WORST = 50.0


class PosesAlike(RbdError):
    """Poses that do not determine the tool; the message says what is missing."""


class Tool(NamedTuple):
    """
    What was found, with standard deviations by what the readings leave unexplained.

    :param residual: rms of what is left, moment and force, N.m and N.
    :param sides: deviations to each side of a 95 % interval, of what forces tell and of what
        moments do: with few readings, the residuals say little of the noise (Student's t).
    """

    mass: float
    com: Array
    force_bias: Array
    moment_bias: Array
    mass_deviation: float
    com_deviation: Array
    force_bias_deviation: Array
    moment_bias_deviation: Array
    residual: tuple[float, float]
    sides: tuple[float, float]

    def intervals(self) -> dict[str, float | Array]:
        """Return half the width of a 95 % interval of each value."""
        force, moment = self.sides
        return {'mass': force * self.mass_deviation, 'com': max(self.sides) * self.com_deviation,
                'force_bias': force * self.force_bias_deviation,
                'moment_bias': moment * self.moment_bias_deviation}


def identify_tool(gravity: npt.ArrayLike, wrench: npt.ArrayLike) -> Tool:
    """
    Return mass and centre of a tool and the bias of its sensor.

    :param gravity: in the axes of the sensor, one row for each pose, m/s^2.
    :param wrench: readings with the sign of a load (a tool that hangs reads downwards), moment
        first, one row for each pose.
    :raises PosesAlike: if gravity has too few directions.
    """
    g, f = np.asarray(gravity, float), np.asarray(wrench, float)
    if g.ndim != 2 or g.shape[1] != 3 or f.shape != (len(g), 6):
        raise RbdError(f'gravity has shape {g.shape} and wrench {f.shape}: (k, 3) and (k, 6) are '
                       'needed')
    if not (np.isfinite(g).all() and np.isfinite(f).all()):
        raise RbdError('gravity or wrench is not finite')
    if len(g) < 3:
        raise PosesAlike(f'{len(g)} poses: at least 3 are needed, with gravity in directions of '
                         'the sensor that are not in one line')
    size = np.linalg.norm(g, axis=1).mean()
    eye = np.tile(np.eye(3), (len(g), 1))
    x, dx, force_left = _solve(np.column_stack([g.reshape(-1, 1), eye * size]), f[:, 3:].ravel())
    turned = -np.concatenate([_cross(row) for row in g])
    y, dy, moment_left = _solve(np.column_stack([turned, eye * size]), f[:, :3].ravel())
    mass = float(x[0])
    if not mass > 0.0:
        raise RbdError(f'the mass would be {mass:.4g} kg: the readings have the opposite sign, or '
                       'gravity has (force_torque.convention)')
    return Tool(mass, y[:3] / mass, size * x[1:], size * y[3:], float(dx[0]),
                np.hypot(dy[:3], y[:3] / mass * dx[0]) / mass, size * dx[1:], size * dy[3:],
                (moment_left, force_left), (_side(3 * len(g) - 4), _side(3 * len(g) - 6)))


def _side(free: int) -> float:
    """Return how many deviations lie to each side of a 95 % interval."""
    from scipy.special import stdtrit
    return float(stdtrit(free, 0.975))


def _solve(A: Array, b: Array) -> tuple[Array, Array, float]:
    """Return the least-squares solution, its standard deviations and the rms that is left."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    if not s[-1] > 0.0 or s[0] / s[-1] > _WORST:
        raise PosesAlike('the poses are too much alike: turn the sensor so that gravity points '
                         'along several of its axes, both ways')
    x = Vt.T @ ((U.T @ b) / s)
    left = b - A @ x
    free = max(len(b) - len(x), 1)
    deviation = np.sqrt(left @ left / free * ((Vt.T / s) ** 2).sum(axis=1))
    return x, deviation, float(np.sqrt(np.mean(left ** 2)))


def _cross(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
