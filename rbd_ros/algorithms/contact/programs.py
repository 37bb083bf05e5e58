# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The two quadratic programs of contact (RBDA 11.43, 11.44), by an interior-point solver.

They find what the complementarity problem finds. The first one asks for the forces, the second
one for the accelerations, which are unique, and is the smaller one where contacts outnumber
degrees of freedom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear import quadratic_program
from rbd_ros.compiler import Array


class Infeasible(quadratic_program.Infeasible):
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
    try:
        return quadratic_program.minimise(P, q, A, b, purpose='quadratic programs of contact')
    except quadratic_program.Infeasible:
        raise Infeasible('no contact forces keep the contacts from penetrating: their normals '
                         'cancel, so only an impulse can') from None
