# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""6x6 matrices in NumPy as an independent oracle for the spatial types, and random samples."""

from __future__ import annotations

import numpy as np
from rbd_ros.spatial import (
    ArticulatedInertia, Force, Mat3, Motion, RigidInertia, Sym3, Transform, Vec3)
from scipy.spatial.transform import Rotation


def array(x) -> np.ndarray:
    """Return the components of a spatial quantity."""
    return np.array(x.to_list(), dtype=float)


def columns(vectors) -> np.ndarray:
    """Return spatial vectors as the columns of a matrix, 6 x 0 for none."""
    return np.array([x.to_list() for x in vectors], dtype=float).reshape(-1, 6).T


def skew(a) -> np.ndarray:
    """Return a x."""
    x, y, z = np.asarray(a, dtype=float).tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def x6(E, r) -> np.ndarray:
    """Return [E 0; -E rx E]."""
    E = np.asarray(E, dtype=float)
    return np.block([[E, np.zeros((3, 3))], [-E @ skew(r), E]])


def crm6(v) -> np.ndarray:
    """Return v x."""
    v = np.asarray(v, dtype=float)
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


def crf6(v) -> np.ndarray:
    """Return v x*."""
    v = np.asarray(v, dtype=float)
    return np.block([[skew(v[:3]), skew(v[3:])], [np.zeros((3, 3)), skew(v[:3])]])


def mci6(m, c, I_c) -> np.ndarray:
    """Return the spatial inertia of mass, centre of mass and inertia about it."""
    C = skew(c)
    return np.block([[np.asarray(I_c) + m * C @ C.T, m * C], [m * C.T, m * np.eye(3)]])


class Sampler:
    """Random spatial quantities of plain floats, with a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def vector(self, n: int = 3) -> list[float]:
        """Return n normal numbers."""
        return self.rng.normal(size=n).tolist()

    def vec3(self) -> Vec3:
        """Return a 3-vector."""
        return Vec3(*self.vector())

    def rotation(self) -> np.ndarray:
        """Return a rotation matrix."""
        return Rotation.random(random_state=int(self.rng.integers(2**31))).as_matrix()

    def motion(self) -> Motion:
        """Return a motion vector."""
        return Motion.from_list(self.vector(6))

    def force(self) -> Force:
        """Return a force vector."""
        return Force.from_list(self.vector(6))

    def transform(self) -> Transform:
        """Return a general transform."""
        return Transform(Mat3(self.rotation().tolist()), self.vec3())

    def com_form(self) -> tuple[float, list[float], np.ndarray]:
        """Return mass, centre of mass and a positive-definite inertia about it."""
        A = self.rng.normal(size=(3, 3))
        return float(self.rng.uniform(0.5, 2.0)), self.vector(), A @ A.T + np.eye(3)

    def rigid(self) -> RigidInertia:
        """Return a rigid-body inertia."""
        m, c, I_c = self.com_form()
        return RigidInertia.from_com(m, Vec3(*c), Sym3.from_matrix(I_c.tolist()))

    def articulated(self) -> ArticulatedInertia:
        """Return a symmetric positive-definite 6x6 inertia."""
        A = self.rng.normal(size=(6, 6))
        return ArticulatedInertia.from_matrix((A @ A.T + np.eye(6)).tolist())


def derivative(function, h: float = 1e-3) -> np.ndarray:
    """Return the derivative at zero by differences of sixth order: about 1e-12 for smooth ones."""
    def d(k):
        return np.asarray(function(k * h)) - np.asarray(function(-k * h))
    return (45.0 * d(1) - 9.0 * d(2) + d(3)) / (60.0 * h)


def assert_close(a, b, tolerance: float = 1e-12) -> None:
    """Assert equality, relative to the largest entry or to one."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    assert a.shape == b.shape
    scale = max(1.0, float(np.abs(b).max(initial=0.0)))
    assert float(np.abs(a - b).max(initial=0.0)) <= tolerance * scale
