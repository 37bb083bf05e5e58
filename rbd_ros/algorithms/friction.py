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
Coulomb friction at rigid contacts. Beyond the book, whose rigid contact is frictionless.

Three numbers per contact: two tangential ones and the normal one. The force lies in the friction
cone, the normal part obeys the complementarity of RBDA 11.42, and a contact that slides has the
full friction, against its sliding. The conditions are solved by sweeps over the contacts; unlike
a convex program they do not lift a sliding contact off its surface.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms.contact import normal
from rbd_ros.errors import NonFiniteError, SettingError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


class Sliding(NamedTuple):
    """
    Forces, or impulses, at contacts with friction.

    :param force: two tangential and one normal component of each contact, (n_c, 3).
    :param motion: acceleration, or velocity, of each contact in the same directions.
    :param residual: largest change of a force, over the largest force, by one more sweep.
    """

    force: Array
    motion: Array
    residual: float


def tangents(direction: ArrayLike) -> tuple[Array, Array]:
    """Return two unit vectors that make a right-handed frame with a unit normal."""
    n = np.asarray(direction, float)
    first = np.eye(3)[int(np.argmin(np.abs(n)))]
    x = np.cross(first, n)
    x /= np.linalg.norm(x)
    return x, np.cross(n, x)


def contact_frame(point: ArrayLike, direction: ArrayLike) -> Array:
    """Return the lines of action through a contact: two tangential, one normal, (6, 3)."""
    return np.column_stack([normal(point, axis) for axis in (*tangents(direction), direction)])


def coulomb(
    M: ArrayLike, d: ArrayLike, mu: ArrayLike, *, start: ArrayLike | None = None,
    tolerance: float = 1e-12, sweeps: int = 500,
) -> Sliding:
    """
    Return the forces of contacts with Coulomb friction.

    :param M: how the contacts answer to forces, (3 n_c, 3 n_c), tangential rows before the
        normal one of each contact.
    :param d: their motion without forces, (3 n_c,).
    :param mu: coefficient of friction of each contact, or one for all.
    :param start: forces to begin with, such as those of the last step.
    :param tolerance: residual at which to stop.
    :param sweeps: most of them.
    """
    M, d = np.asarray(M, float), np.asarray(d, float)
    count = d.size // 3
    if d.ndim != 1 or d.size != 3 * count or M.shape != (d.size, d.size):
        raise ShapeError(f'M has shape {M.shape} and d {d.shape}; needed are three rows for each '
                         'contact')
    if not (np.isfinite(M).all() and np.isfinite(d).all()):
        raise NonFiniteError('M or d of contacts with friction is not finite: check positions, '
                             'velocities and joint forces')
    limits: list[float] = np.broadcast_to(np.asarray(mu, float), (count,)).tolist()
    if not all(0.0 <= each < math.inf for each in limits):
        raise SettingError(f'mu is {limits}; a coefficient of friction is zero or more')
    force = np.zeros(d.size) if start is None else np.array(start, float).ravel()
    blocks = [M[3 * i:3 * i + 3, 3 * i:3 * i + 3] for i in range(count)]
    # Steps along the tangents: the larger eigenvalue of their block keeps a sweep from overshoot.
    stiff = [max(float(np.linalg.eigvalsh(block[:2, :2])[-1]), 1e-300) for block in blocks]
    inverses = [np.linalg.pinv(block, rcond=1e-12, hermitian=True) for block in blocks]
    residual = 0.0
    for _ in range(sweeps):
        change = 0.0
        for i in range(count):
            at = slice(3 * i, 3 * i + 3)
            old = force[at].copy()
            u = M[at] @ force + d[at]
            force[at] = _settled(
                blocks[i], inverses[i], u - blocks[i] @ old, old, limits[i], stiff[i])
            change = max(change, float(np.abs(force[at] - old).max()))
        residual = change / max(float(np.abs(force).max(initial=0.0)), 1e-300)
        if residual <= tolerance:
            break
    return Sliding(force.reshape(-1, 3), (M @ force + d).reshape(-1, 3), residual)


def _settled(
    A: Array, inverse: Array, b: Array, old: Array, mu: float, stiff: float,
) -> Array:
    """Return the force at one contact with motion A f + b, one exact step or a projected one."""
    if b[2] >= 0.0 and not old.any():
        return np.zeros(3)
    if A[2, 2] <= 0.0:
        return old
    stick = -(inverse @ b)
    if stick[2] >= 0.0 and stick[0] ** 2 + stick[1] ** 2 <= (mu * stick[2]) ** 2:
        return stick
    f = old.copy()
    f[2] = max(0.0, -(b[2] + A[2, 0] * f[0] + A[2, 1] * f[1]) / A[2, 2])
    u = A[:2] @ f + b[:2]
    trial = f[:2] - u / stiff
    size, limit = math.hypot(*trial.tolist()), mu * float(f[2])
    f[:2] = trial if size <= limit else trial * (limit / size)
    return f
