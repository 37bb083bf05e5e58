# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Convex quadratic programs by Clarabel, an interior-point solver, imported when it is needed."""

from __future__ import annotations

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import RbdError


class Infeasible(RbdError):
    """A quadratic program that nothing satisfies."""


def minimise(P: Array, q: Array, A: Array, b: Array, *, purpose: str) -> Array:
    """
    Return x that minimises x . P x / 2 + q . x with A x <= b.

    :param P: symmetric, positive semidefinite; it may be singular.
    :param purpose: what the program is for, for messages.
    :raises Infeasible: where no x satisfies the inequalities.
    """
    try:
        import clarabel  # type: ignore[import-untyped]
    except ImportError as error:
        raise RbdError(f'{purpose} need a solver: pip install clarabel') from error
    from scipy import sparse
    # Unit diagonal, rows of unit length, and a solution of about the size one: what moves it away
    # from zero is the gradient there, and the inequalities that zero does not satisfy.
    size = 1.0 / np.sqrt(np.maximum(np.diag(P), 1e-12 * max(float(np.diag(P).max()), 1e-300)))
    rows = A * size
    length = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
    scale = max(float(np.abs(q * size).max(initial=0.0)),
                float((-b / length).max(initial=0.0)), 1e-300)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = 1e-14
    settings.tol_feas = 1e-12
    found = clarabel.DefaultSolver(
        sparse.triu(sparse.csc_matrix(size[:, None] * P * size), format='csc'), q * size / scale,
        sparse.csc_matrix(rows / length[:, None]), b / (length * scale),
        [clarabel.NonnegativeConeT(len(b))], settings).solve()
    status = str(found.status)
    if 'Infeasible' in status:
        raise Infeasible(f'{purpose}: nothing satisfies all inequalities')
    if 'Solved' not in status and 'InsufficientProgress' not in status:
        raise RbdError(f'{purpose}: the solver stopped with "{status}"; check the units, numbers '
                       'of very different size are hard on it')
    return size * scale * np.array(found.x)
