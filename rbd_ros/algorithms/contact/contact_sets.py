# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Which contacts matter: current and active sets (RBDA 11.5), and minimal ones (RBDA 11.6).

A robot foot may touch in forty points; three carry it. The active set is a basis of all current
normals that holds every contact with a force: as equality constraints its members determine the
motion until one of their forces turns negative, or something is touched or left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Indices = NDArray[np.intp]


class ContactSets(NamedTuple):
    """
    Contacts by what they do, as indices.

    :param current: those that stay closed: their separation acceleration is zero.
    :param active: an independent part of these that spans the normals of all of them.
    """

    current: Indices
    active: Indices


def contact_sets(
    T: ArrayLike, force: ArrayLike, separation: ArrayLike, *,
    tolerance: float = 1e-9,
) -> ContactSets:
    """
    Return the current and active contacts of a basic solution (RBDA 11.5).

    The forces of a basic solution have independent normals. Where they are fewer than the rank of
    the current normals (a block on four corners: two opposite ones can carry it), contacts
    without a force complete them to a basis.

    :param T: generalized normals as columns.
    :param force: lambda, a basic solution.
    :param separation: separation accelerations.
    :param tolerance: relative size below which a number counts as zero.
    """
    T, force = np.asarray(T, float), np.asarray(force, float)
    separation = np.asarray(separation, float)
    limit = tolerance * max(1.0, float(np.abs(separation).max(initial=0.0)))
    current = np.flatnonzero(separation <= limit)
    weakest = tolerance * float(force.max(initial=0.0))
    order = sorted(current.tolist(), key=lambda i: (not force[i] > weakest, i))
    size = float(np.linalg.norm(T, axis=0).max(initial=0.0))
    Q = np.zeros((T.shape[0], 0))
    active = []
    for i in order:
        rest = T[:, i] - Q @ (Q.T @ T[:, i])
        rest -= Q @ (Q.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > tolerance * size:
            active.append(i)
            Q = np.column_stack([Q, rest / length])
    return ContactSets(current, np.array(sorted(active), dtype=np.intp))


def minimal_contacts(N: ArrayLike, *, tolerance: float = 1e-9) -> Indices:
    """
    Return contacts that constrain a motion as all of them do (RBDA 11.6).

    A normal that is a sum of others with positive weights says nothing new. Along an edge the
    ends remain, of a face its corners.

    :param N: contact normals, or generalized ones, as columns.
    """
    from scipy.optimize import nnls     # half a second to import
    N = np.asarray(N, float)
    kept = list(range(N.shape[1]))
    size = np.linalg.norm(N, axis=0)
    for i in range(N.shape[1]):
        others = [j for j in kept if j != i]
        if others and nnls(N[:, others], N[:, i])[1] <= tolerance * max(float(size[i]), 1e-300):
            kept = others
    return np.array(kept, dtype=np.intp)
