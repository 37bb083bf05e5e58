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
full friction, against its sliding. Unlike a convex program, these conditions do not lift a sliding
contact off its surface.

Which contact is open, sticks or slides where to is guessed, the linear equations of the guess are
solved, and the guess is corrected. With the forces of the last step to begin with, the first guess
is nearly always right. Where guesses do not lead to the end, sweeps over the contacts make better
ones.
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

_UNIT = np.eye(2)

#: Rows of guesses: how many, and the part of the diagonal of M that is added to it while they are
#: solved. It keeps the forces of contacts that depend on each other near the last ones; guesses
#: that go in circles with little of it end with more. The conditions that the forces must meet in
#: the end are those of M itself.
_ROWS = ((6, 1e-6), (12, 1e-2))

#: Sweeps between two times all rows.
_SWEEPS = 5

#: Forces this much larger than what stops the motion of any one contact are no solution but of
#: opposite contacts that cannot open; over the damping, which such forces grow against.
_LARGE = 0.3


class Sliding(NamedTuple):
    """
    Forces, or impulses, at contacts with friction.

    :param force: two tangential and one normal component of each contact, (n_c, 3).
    :param motion: acceleration, or velocity, of each contact in the same directions.
    :param residual: by how much the motions miss the conditions, over the largest motion without
        forces: zero for a solution. What is above the asked tolerance was not solved.
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
    cones = _Cones(M, d, np.array(limits), count)
    force, residual = cones.by_guesses(force, tolerance)
    for done in range(0, sweeps, _SWEEPS):
        if residual <= tolerance:
            break
        force = cones.swept(force, min(_SWEEPS, sweeps - done))
        force, residual = cones.by_guesses(force, tolerance)
    return Sliding(force.reshape(-1, 3), (M @ force + d).reshape(-1, 3), residual)


class _Cones:
    """
    The conditions of contacts with friction.

    :param mu: coefficient of friction of each contact.
    """

    def __init__(self, M: Array, d: Array, mu: Array, count: int) -> None:
        self.M, self.d, self.mu, self.count = M, d, mu, count
        self.diagonal = M.diagonal().reshape(count, 3)
        #: Forces per motion of each contact, by which the two are compared.
        self.step = 1.0 / np.maximum(self.diagonal.sum(axis=1), 1e-300)
        self.size = max(float(np.abs(d).max(initial=0.0)), 1e-300)
        self.mean = max(float(self.diagonal.mean()) if count else 0.0, 1e-300)

    def trial(self, force: Array) -> tuple[Array, Array]:
        """Return f - step u of each contact, and the sizes of its tangential parts."""
        u = (self.M @ force + self.d).reshape(-1, 3)
        r = force.reshape(-1, 3) - self.step[:, None] * u
        return r, np.sqrt(r[:, 0] * r[:, 0] + r[:, 1] * r[:, 1])

    def residual(self, force: Array) -> float:
        """Return the distance of forces to where f = P(f - step u), P the way into the cone."""
        if not self.count:
            return 0.0
        r, size = self.trial(force)
        f = force.reshape(-1, 3)
        share = np.minimum(1.0, self.mu * f[:, 2] / np.maximum(size, 1e-300))
        r[:, :2] *= share[:, None]
        np.maximum(r[:, 2], 0.0, out=r[:, 2])
        return float((np.abs(f - r).max(axis=1) / self.step).max()) / self.size

    def by_guesses(self, force: Array, tolerance: float) -> tuple[Array, float]:
        """Return the best forces that guesses of open, stick and slide lead to."""
        best, least = force, self.residual(force)
        most = self.size * float(self.step.max(initial=0.0))
        for guesses, damping in _ROWS:
            force = best
            for _ in range(guesses):
                if least <= tolerance:
                    return best, least
                try:
                    force = self.solved(force, damping * self.mean)
                except np.linalg.LinAlgError:
                    break
                if float(np.abs(force).max()) > most * _LARGE / damping:
                    break
                residual = self.residual(force)
                if residual < least:
                    best, least = force, residual
        return best, least

    def solved(self, force: Array, damping: float) -> Array:
        """
        Return the forces of the guess that follows from some forces, by one step of Newton.

        A contact that sticks does not move; one that slides has its force on the cone, and turns
        it with the direction of sliding. Where contacts depend on each other, as under a block
        on four corners, the forces nearest to the given ones are taken.

        :param damping: of the change of the forces.
        """
        r, size = self.trial(force)
        closed = r[:, 2] > 0.0
        slide = closed & (size > self.mu * r[:, 2])
        kept = np.repeat(closed, 3)
        f = np.where(kept, force, 0.0)
        K, missed = self.M.copy(), self.M @ f + self.d
        for i in np.flatnonzero(slide).tolist():
            k, mu, stiff = 3 * i, float(self.mu[i]), 1.0 / float(self.step[i])
            x, y = (r[i, :2] / size[i]).tolist()
            f_x, f_y, f_n = f[k:k + 3].tolist()
            limit = mu * max(0.0, f_n)
            a = min(1.0, limit / float(size[i]))
            turning = np.array([[a * y * y, -a * x * y], [-a * x * y, a * x * x]])
            K[k:k + 2] = turning @ K[k:k + 2]
            K[k:k + 2, k:k + 2] += stiff * (_UNIT - turning)
            K[k:k + 2, k + 2] -= (stiff * mu * x, stiff * mu * y)
            missed[k:k + 2] = stiff * (f_x - limit * x), stiff * (f_y - limit * y)
        K = K[kept][:, kept]
        K.flat[::len(K) + 1] += damping
        f[kept] -= np.linalg.solve(K, missed[kept])
        return f

    def swept(self, force: Array, sweeps: int) -> Array:
        """Return forces after sweeps in which each contact answers to all others."""
        M, d, force = self.M, self.d.tolist(), force.copy()
        blocks = [M[3 * i:3 * i + 3, 3 * i:3 * i + 3] for i in range(self.count)]
        # Steps along the tangents: the trace of their block keeps a sweep from overshoot.
        stiff = np.maximum(self.diagonal[:, :2].sum(axis=1), 1e-300).tolist()
        inverses = np.linalg.pinv(np.array(blocks), rcond=1e-12, hermitian=True)
        mu = self.mu.tolist()
        for _ in range(sweeps):
            for i, A in enumerate(blocks):
                at = slice(3 * i, 3 * i + 3)
                old = force[at]
                b = M[at] @ force - A @ old
                b += d[at]
                force[at] = _settled(A, inverses[i], b, old, mu[i], stiff[i])
        return force


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
