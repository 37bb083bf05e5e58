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

"""Payloads and orientations of messages and parameters, checked and made into numbers."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt

from rbd_ros.errors import RbdError

__all__ = ['payload_vector', 'PayloadError', 'rotation']

Array = npt.NDArray[np.float64]

#: what no payload has, kg, m and kg.m^2; far beyond, squares overflow
MOST_MASS, MOST_DISTANCE, MOST_INERTIA = 1e4, 100.0, 1e4
_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


class PayloadError(RbdError, ValueError):
    """A payload that no rigid body can be; the message says why."""


def rotation(quaternion: Sequence[float]) -> Array:
    """
    Return the rotation matrix of a quaternion; its columns are the axes of the frame.

    :param quaternion: x, y, z, w; normalised here, refused if it is far from unit length.
    """
    x, y, z, w = quaternion
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not 0.9 < norm < 1.1:
        raise PayloadError(f'quaternion {tuple(quaternion)} has length {norm:.4g}, not 1')
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]])


def payload_vector(mass: float, com: Sequence[float], inertia: Sequence[float],
                   R: Array | None = None, p: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """
    Return the ten numbers of a payload given in any frame fixed to the payload frame.

    :param mass: kg.
    :param com: centre of mass in the given frame, m.
    :param inertia: about the centre of mass, given axes: xx, xy, xz, yy, yz, zz, kg.m^2.
    :param R: axes of the given frame as columns, in the payload frame; None: the same axes.
    :param p: origin of the given frame in the payload frame, m.
    """
    numbers = np.array([mass, *com, *inertia, *p], dtype=float)
    if not np.isfinite(numbers).all():
        raise PayloadError(f'payload has entries that are not finite: {numbers.tolist()}')
    if mass < 0.0:
        raise PayloadError(f'payload mass {mass:g} kg is negative')
    for name, values, most, unit in (
            ('mass', (mass,), MOST_MASS, 'kg'), ('centre of mass', com, MOST_DISTANCE, 'm'),
            ('inertia', inertia, MOST_INERTIA, 'kg.m^2')):
        largest = max(values, key=abs)
        if abs(largest) > most:
            raise PayloadError(f'payload {name} {largest:g} {unit} is beyond {most:g} {unit}')
    I_c = np.zeros((3, 3))
    for (i, j), value in zip(_UPPER, inertia):
        I_c[i, j] = I_c[j, i] = value
    principal = np.linalg.eigvalsh(I_c)
    size = max(float(np.abs(principal).max()), 1e-12)
    if principal[0] < -1e-9 * size or principal[2] > principal[0] + principal[1] + 1e-6 * size:
        raise PayloadError(f'principal moments {principal.tolist()} kg.m^2 are impossible for '
                           'a rigid body: each must be at most the sum of the other two')
    if mass == 0.0 and principal[2] > 0.0:
        raise PayloadError('a payload without mass has no inertia')
    R = np.eye(3) if R is None else R
    c = R @ np.array(com, dtype=float) + np.array(p, dtype=float)
    about = R @ I_c @ R.T + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([mass, *(mass * c), *(about[i, j] for i, j in _UPPER)])
