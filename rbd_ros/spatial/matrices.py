# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Spatial quantities as NumPy matrices (RBDA Table A.2), for reading, tests and small programs.

Algorithms use the compact types; a 6x6 matrix hides their zeros and doubles the work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.spatial.algebra import Sym3, Vec3
from rbd_ros.spatial.inertia import ArticulatedInertia, RigidInertia
from rbd_ros.spatial.transform import Transform
from rbd_ros.spatial.vectors import Motion

Matrix = NDArray[np.float64]


def crm(v: Motion) -> Matrix:
    """Return the 6x6 matrix v x that acts on motions (RBDA Eq. 2.31)."""
    w, u = np.array(v.ang.skew().to_list()), np.array(v.lin.skew().to_list())
    return np.block([[w, np.zeros((3, 3))], [u, w]])


def crf(v: Motion) -> Matrix:
    """Return the 6x6 matrix v x* that acts on forces (RBDA Eq. 2.32)."""
    return -crm(v).T


def motion_matrix(X: Transform) -> Matrix:
    """Return the 6x6 matrix X that transforms motions (RBDA Eq. 2.24)."""
    return np.array(X.to_list())


def force_matrix(X: Transform) -> Matrix:
    """Return the 6x6 matrix X* that transforms forces (RBDA Eq. 2.25)."""
    E = np.array(X.E.to_list())
    return np.block([[E, -E @ np.array(X.r.skew().to_list())], [np.zeros((3, 3)), E]])


def inertia_matrix(inertia: RigidInertia | ArticulatedInertia) -> Matrix:
    """Return the symmetric 6x6 matrix of an inertia (RBDA Eq. 2.63)."""
    return np.array(inertia.to_list())


def rigid_inertia(matrix: ArrayLike) -> RigidInertia:
    """
    Return the ten parameters of the 6x6 matrix of a rigid-body inertia.

    :param matrix: symmetric, with the structure of Eq. 2.63; only the needed entries are read.
    """
    rows = np.asarray(matrix, dtype=float).tolist()
    return RigidInertia(rows[5][5], Vec3(rows[2][4], rows[0][5], rows[1][3]),
                        Sym3.from_matrix([row[:3] for row in rows[:3]]))


def inverse_inertia(inertia: RigidInertia) -> Matrix:
    """Return the 6x6 inverse inertia Phi, which maps forces to motions (RBDA Eq. 2.74)."""
    m, c, I_c = inertia.com_form()
    J = np.linalg.inv(np.array(I_c.to_list()))
    cx = np.array(c.skew().to_list())
    return np.block([[J, J @ cx.T], [cx @ J, np.eye(3) / float(m) + cx @ J @ cx.T]])
