# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Converters between the conventions of this package and those of Pinocchio, MuJoCo and KDL.

Here 6-vectors are angular first and the velocity of a free body is in its own coordinates. See
docs/conventions.md. All functions take and return NumPy arrays; leading axes are batch axes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Array
from rbd_ros.errors import ShapeError
from rbd_ros.spatial.quaternion import rotation


def _last(x: ArrayLike, size: int, name: str) -> Array:
    array = np.asarray(x, dtype=float)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ShapeError(f'{name} has shape {array.shape}, its last axis must have {size} entries')
    return array


def swap_parts(vector: ArrayLike) -> Array:
    """
    Exchange the angular and the linear part of 6-vectors: angular first <-> linear first.

    The same for motions and forces; its own inverse. Pinocchio and KDL are linear first.

    :param vector: shape (..., 6).
    """
    x = _last(vector, 6, 'vector')
    return np.concatenate((x[..., 3:], x[..., :3]), axis=-1)


def swap_rows(matrix: ArrayLike) -> Array:
    """
    Exchange the angular and the linear rows of Jacobians.

    :param matrix: shape (..., 6, n).
    """
    x = np.asarray(matrix, dtype=float)
    if x.ndim < 2 or x.shape[-2] != 6:
        raise ShapeError(f'matrix has shape {x.shape}, expected (..., 6, n)')
    return np.concatenate((x[..., 3:, :], x[..., :3, :]), axis=-2)


def swap_blocks(matrix: ArrayLike) -> Array:
    """
    Exchange both rows and columns of 6x6 matrices: inertias, operational-space inertias.

    :param matrix: shape (..., 6, 6).
    """
    x = _last(matrix, 6, 'matrix')
    return swap_parts(swap_rows(x))


def aligned_with_base(jacobian: ArrayLike, R: ArrayLike) -> Array:
    """
    Turn a Jacobian of the frame itself into one along the base axes, same origin.

    This is Pinocchio's LOCAL_WORLD_ALIGNED and KDL's Jacobian, still angular first. It is not the
    Jacobian in base coordinates, whose linear rows are of the point at the base origin.

    :param jacobian: shape (6, n), angular first, in the frame.
    :param R: orientation of the frame in the base, shape (3, 3): the transpose of E.
    """
    J, R = np.asarray(jacobian, dtype=float), np.asarray(R, dtype=float)
    return np.concatenate((R @ J[:3], R @ J[3:]))


def quaternion_to_scalar_first(q: ArrayLike) -> Array:
    """Turn (x, y, z, w) into the (w, x, y, z) of MuJoCo and of the book."""
    return np.roll(_last(q, 4, 'quaternion'), 1, axis=-1)


def quaternion_from_scalar_first(q: ArrayLike) -> Array:
    """Turn (w, x, y, z) into the (x, y, z, w) of this package, ROS and Pinocchio."""
    return np.roll(_last(q, 4, 'quaternion'), -1, axis=-1)


def _orientation(q: Array) -> Array:
    """Return R, from body to base components, of free-joint positions."""
    flat = q.reshape(-1, 7)
    E = np.array([rotation(row[3:]).to_list() for row in flat.tolist()])
    return np.swapaxes(E, -1, -2).reshape(*q.shape[:-1], 3, 3)


def free_position_to_mujoco(q: ArrayLike) -> Array:
    """Turn [x y z qx qy qz qw] into MuJoCo's [x y z qw qx qy qz]."""
    x = _last(q, 7, 'q')
    return np.concatenate((x[..., :3], quaternion_to_scalar_first(x[..., 3:])), axis=-1)


def free_position_from_mujoco(q: ArrayLike) -> Array:
    """Turn MuJoCo's [x y z qw qx qy qz] into [x y z qx qy qz qw]."""
    x = _last(q, 7, 'q')
    return np.concatenate((x[..., :3], quaternion_from_scalar_first(x[..., 3:])), axis=-1)


def free_velocity_to_mujoco(q: ArrayLike, v: ArrayLike) -> Array:
    """
    Turn the body's spatial velocity into MuJoCo's qvel of a free joint.

    :param q: position [x y z qx qy qz qw], shape (..., 7).
    :param v: [w; v] in body coordinates, shape (..., 6).
    :returns: [velocity of the origin along base axes; w along body axes].
    """
    q, v = _last(q, 7, 'q'), _last(v, 6, 'v')
    return np.concatenate((_turn(_orientation(q), v[..., 3:]), v[..., :3]), axis=-1)


def free_velocity_from_mujoco(q: ArrayLike, v: ArrayLike) -> Array:
    """Turn MuJoCo's qvel of a free joint into the body's spatial velocity; q is ours."""
    q, v = _last(q, 7, 'q'), _last(v, 6, 'v')
    E = np.swapaxes(_orientation(q), -1, -2)
    return np.concatenate((v[..., 3:], _turn(E, v[..., :3])), axis=-1)


def free_acceleration_to_mujoco(q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """
    Turn the body's spatial acceleration into MuJoCo's qacc, whose linear part is classical.

    :param q: position, shape (..., 7).
    :param v: spatial velocity in body coordinates.
    :param a: spatial acceleration in body coordinates.
    """
    v, a = _last(v, 6, 'v'), _last(a, 6, 'a')
    classical = a[..., 3:] + np.cross(v[..., :3], v[..., 3:])
    return free_velocity_to_mujoco(q, np.concatenate((a[..., :3], classical), axis=-1))


def free_acceleration_from_mujoco(q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """
    Turn MuJoCo's qacc of a free joint into the body's spatial acceleration.

    :param q: position, ours.
    :param v: spatial velocity in body coordinates, ours.
    :param a: MuJoCo's qacc.
    """
    v = _last(v, 6, 'v')
    x = free_velocity_from_mujoco(q, a)
    x[..., 3:] -= np.cross(v[..., :3], v[..., 3:])
    return x


def free_force_to_mujoco(q: ArrayLike, f: ArrayLike) -> Array:
    """Turn a force on a free body, [n; f] in body coordinates, into MuJoCo's qfrc."""
    return free_velocity_to_mujoco(q, f)


def free_force_from_mujoco(q: ArrayLike, f: ArrayLike) -> Array:
    """Turn MuJoCo's qfrc of a free joint into [n; f] in body coordinates."""
    return free_velocity_from_mujoco(q, f)


def _turn(R: Array, v: Array) -> Array:
    return np.einsum('...ij,...j->...i', R, v)
