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
The two quadratic programs of contact (RBDA 11.43, 11.44), by an interior-point solver.

They find what the complementarity problem finds. The first one asks for the forces, the second
one for the accelerations, which are unique, and is the smaller one where contacts outnumber
degrees of freedom. Clarabel solves both; it is imported when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.errors import RbdError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


class Infeasible(RbdError):
    """A quadratic program of contact without a solution: the bodies must collide."""


def forces(M: ArrayLike, d: ArrayLike) -> Array:
    """
    Return contact forces that minimise lambda . M lambda / 2 + lambda . d, lambda >= 0 (11.43).

    :param M: symmetric, positive semidefinite, (n_c, n_c).
    :param d: separation accelerations without forces.
    """
    from scipy.optimize import nnls     # half a second to import
    M, d = np.asarray(M, float), np.asarray(d, float)
    found = np.maximum(_solve(M, d, -np.eye(d.size), np.zeros(d.size)), 0.0)
    # Where normals depend on each other, forces between contacts are undetermined, and an interior
    # point makes them large. Which contacts stay closed is clear from it: theirs are found anew.
    loaded = np.flatnonzero(found * np.diag(M) > M @ found + d)
    exact = np.zeros(d.size)
    if loaded.size:
        exact[loaded] = nnls(M[np.ix_(loaded, loaded)], -d[loaded])[0]
    scale = 1e-9 * max(float(np.abs(d).max(initial=0.0)), 1e-300)
    return exact if (M @ exact + d >= -scale).all() else found


def accelerations(
    H: ArrayLike, force: ArrayLike, T: ArrayLike, rate: ArrayLike,
) -> Array:
    """
    Return the accelerations nearest to the free ones that close no contact (RBDA 11.44).

    This is Gauss' principle of least constraint for contacts: the distance is measured with H.

    :param H: joint-space inertia matrix.
    :param force: tau - C.
    :param T: generalized normals as columns.
    :param rate: T-dot^T qd.
    """
    H, T = np.asarray(H, float), np.asarray(T, float)
    return _solve(H, -np.asarray(force, float), -T.T, np.asarray(rate, float))


def _solve(P: Array, q: Array, A: Array, b: Array) -> Array:
    """Return x that minimises x . P x / 2 + q . x with A x <= b."""
    try:
        import clarabel  # type: ignore[import-untyped]
    except ImportError as error:
        raise RbdError('quadratic programs of contact need a solver: pip install clarabel'
                       ) from error
    from scipy import sparse
    # Unit diagonal, and right-hand sides near one.
    size = 1.0 / np.sqrt(np.maximum(np.diag(P), 1e-12 * max(float(np.diag(P).max()), 1e-300)))
    scale = max(float(np.abs(q * size).max(initial=0.0)), 1e-300)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = 1e-14
    settings.tol_feas = 1e-12
    rows = A * size
    length = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
    found = clarabel.DefaultSolver(
        sparse.triu(sparse.csc_matrix(size[:, None] * P * size), format='csc'), q * size / scale,
        sparse.csc_matrix(rows / length[:, None]), b / (length * scale),
        [clarabel.NonnegativeConeT(len(b))], settings).solve()
    status = str(found.status)
    if 'Infeasible' in status:
        raise Infeasible('no contact forces keep the contacts from penetrating: their normals '
                         'cancel, so only an impulse can')
    if 'Solved' not in status and 'InsufficientProgress' not in status:
        raise RbdError(f'the solver of the contact program stopped with "{status}": check the '
                       'units of masses and contacts')
    return size * scale * np.array(found.x)
