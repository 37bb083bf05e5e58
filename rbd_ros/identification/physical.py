# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Physically consistent parameters: least squares under a semidefinite constraint.

The pseudo-inertia of each body is linear in the parameters and must have no negative eigenvalue.
This is a conic program, which Clarabel solves. Clarabel is imported on first use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Array
from rbd_ros.errors import NonFiniteError, RbdError, SettingError, ShapeError
from rbd_ros.identification.fit import refuse_non_finite
from rbd_ros.identification.parameters import pseudo_inertia

#: Upper triangle of a 4 x 4 matrix by columns, as the solver stacks it.
_TRIANGLE = [(i, j) for j in range(4) for i in range(j + 1)]


def physical_fit(
    A: ArrayLike, b: ArrayLike, bodies: int, *, prior: ArrayLike | None = None,
    weight: float = 1e-3, free: int = 0,
) -> Array:
    """
    Return the physically consistent parameters nearest to solving A x = b.

    What the motion does not determine follows the prior, so that there is always a solution.

    :param A: stacked regressor: ten columns per body, then those of drives, whose parameters must
        not be negative.
    :param b: what was measured, minus what is known.
    :param bodies: number of bodies.
    :param prior: parameters known beforehand, such as those of the model; zero if not given.
    :param weight: of a deviation from the prior, relative to the measurements.
    :param free: number of columns at the end whose parameters may be negative.
    """
    try:
        import clarabel  # type: ignore[import-untyped]
    except ImportError as error:
        raise RbdError('a physical fit needs the conic solver: pip install clarabel') from error
    from scipy import sparse
    A, b = np.asarray(A, float), np.asarray(b, float).ravel()
    p = A.shape[1]
    if b.shape != (len(A),) or p < 10 * bodies + free:
        raise ShapeError(f'A has shape {A.shape} and b {b.shape}; A needs a row for each entry of '
                         f'b, and ten columns for each of {bodies} bodies'
                         + (f' and {free} free ones' if free else ''))
    refuse_non_finite(A, b)
    start = np.zeros(p) if prior is None else np.asarray(prior, float)
    if start.shape != (p,):
        raise ShapeError(f'prior has shape {start.shape}; A has {p} columns, one for each entry')
    if not np.isfinite(start).all():
        raise NonFiniteError(f'entry {int(np.flatnonzero(~np.isfinite(start))[0])} of prior is '
                             'not finite')
    if not 0.0 <= weight < np.inf:
        raise SettingError(f'weight is {weight}; it must be finite and not negative')
    # Columns of equal length and few rows, so that the solver works with numbers near one.
    size = np.linalg.norm(A, axis=0)
    size = np.where(size > 1e-9 * size.max(initial=0.0), size, size.max(initial=1.0) or 1.0)
    R = np.linalg.qr(np.column_stack([A / size, b]), mode='r')
    scale = np.linalg.norm(b) or 1.0
    residual = np.vstack([R[:, :p], weight * np.eye(p)])
    wanted = np.concatenate([R[:, p], weight * start * size]) / scale

    # Unknowns z and y with x = scale z / size: minimise y^2 / 2 with y = residual z - wanted.
    rows = len(residual)
    equal = sparse.hstack([sparse.csc_matrix(residual), -sparse.identity(rows)])
    cone = _cones(p, bodies, free) / size
    below = sparse.hstack([sparse.csc_matrix(-cone), sparse.csc_matrix((len(cone), rows))])
    P = sparse.block_diag([sparse.csc_matrix((p, p)), sparse.identity(rows)], format='csc')
    kinds = [clarabel.ZeroConeT(rows), *[clarabel.PSDTriangleConeT(4)] * bodies]
    if p > 10 * bodies + free:
        kinds.append(clarabel.NonnegativeConeT(p - 10 * bodies - free))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    # The prior is a small part of the objective, which is a square: it needs a tight tolerance.
    settings.tol_gap_abs = settings.tol_gap_rel = 1e-14
    settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        P, np.zeros(p + rows), sparse.vstack([equal, below], format='csc'),
        np.concatenate([wanted, np.zeros(len(cone))]), kinds, settings)
    solution = solver.solve()
    if 'Solved' not in str(solution.status):
        raise RbdError(f'the conic solver stopped with "{solution.status}": check the units of '
                       'the measurements and the sign of the torques')
    return _inside(np.array(solution.x[:p]) * scale / size, bodies, free)


def _cones(p: int, bodies: int, free: int) -> Array:
    """Return the matrix from parameters to the entries of the cones, scaled for the solver."""
    rows = []
    basis = pseudo_inertia(np.eye(10))
    for k in range(bodies):
        for i, j in _TRIANGLE:
            row = np.zeros(p)
            row[10 * k:10 * k + 10] = basis[:, i, j] * (1.0 if i == j else np.sqrt(2.0))
            rows.append(row)
    drives = np.eye(p)[10 * bodies:p - free]
    return np.vstack([*rows, drives]) if rows else drives


def _inside(x: Array, bodies: int, free: int) -> Array:
    """Return the parameters, corrected for rounding by which the solver may leave the cone."""
    out = x.copy()
    drives = slice(10 * bodies, len(x) - free)
    out[drives] = np.maximum(out[drives], 0.0)
    for k in range(bodies):
        values, vectors = np.linalg.eigh(pseudo_inertia(out[10 * k:10 * k + 10]))
        M = vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
        I = np.trace(M[:3, :3]) * np.eye(3) - M[:3, :3]
        out[10 * k:10 * k + 10] = [M[3, 3], *M[:3, 3], I[0, 0], I[0, 1], I[0, 2], I[1, 1],
                                   I[1, 2], I[2, 2]]
    return out
