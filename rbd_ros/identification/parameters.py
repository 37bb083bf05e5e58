# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The parameters of a robot as one vector, and whether a rigid body can have them.

There are ten for each moving body (``rbd_ros.algorithms.regressor.PARAMETERS``). With drives, the
viscous damping, dry friction and reflected rotor inertia of each velocity variable follow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.algorithms.regressor import inertia_from_parameters, inertia_parameters, PARAMETERS
from rbd_ros.compiler import Array
from rbd_ros.errors import ModelError, ShapeError
from rbd_ros.model.model import Model
from rbd_ros.model.sound_numbers import sound_inertia

#: What a drive adds to each velocity variable.
DRIVE = ('damping', 'friction', 'rotor')


def body_parameters(model: Model) -> Array:
    """Return the parameters of all moving bodies, (10 nb,)."""
    return np.array([x for body in model.inertia[1:] for x in inertia_parameters(body)], float)


def drive_parameters(model: Model) -> Array:
    """Return damping, friction and rotor inertia of all velocity variables, (3 nv,)."""
    return np.array([*model.damping, *model.friction, *model.rotor_inertia], float)


def parameter_names(model: Model, *, drives: bool = False) -> list[str]:
    """Return a name for each parameter, such as ``m of link_1``."""
    names = [f'{word} of {body}' for body in model.body_names[1:] for word in PARAMETERS]
    if drives:
        places = [''] * model.nv
        for joint in model.independent_joint_names:
            part = range(model.nv)[model.velocity_slice(joint)]
            for k, place in enumerate(part):
                places[place] = joint if len(part) == 1 else f'{joint} [{k}]'
        names += [f'{word} of {place}' for word in DRIVE for place in places]
    return names


def with_parameters(model: Model, parameters: ArrayLike) -> Model:
    """
    Return the model with other parameters.

    :param parameters: (10 nb,), or (10 nb + 3 nv,) with those of the drives.
    :raises ModelError: for what no robot has: a negative mass or moment, negative friction.
    """
    x = np.asarray(parameters, float)
    n = 10 * model.nb
    if x.shape not in ((n,), (n + 3 * model.nv,)):
        raise ShapeError(f'parameters have shape {x.shape}; "{model.name}" has {n}, or '
                         f'{n + 3 * model.nv} with those of its drives')
    bodies = []
    for i, part in enumerate(x[:n].reshape(-1, 10).tolist(), 1):
        given, own = inertia_from_parameters(part), model.inertia[i]
        bodies.append(own if given == own else      # a description may have doubtful ones
                      sound_inertia(given, f'body "{model.body_names[i]}"'))
    changed = replace(model, inertia=(model.inertia[0], *bodies))
    if len(x) == n:
        return changed
    for name, value in zip(parameter_names(model, drives=True)[n:], x[n:], strict=True):
        if not 0.0 <= value < np.inf:
            raise ModelError(f'{name} is {value}; it must be finite and not negative')
    damping, friction, rotor = x[n:].reshape(3, -1).tolist()
    return replace(changed, damping=tuple(damping), friction=tuple(friction),
                   rotor_inertia=tuple(rotor))


def pseudo_inertia(parameters: ArrayLike) -> Array:
    """
    Return the 4 x 4 matrices of second, first and zeroth moments of mass of bodies.

    :param parameters: (..., 10).
    :returns: (..., 4, 4): ``[[sum m x x^T, h], [h^T, m]]``.
    """
    x = np.asarray(parameters, float)
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = np.moveaxis(x, -1, 0)
    half = 0.5 * (xx + yy + zz)
    rows = [[half - xx, -xy, -xz, hx], [-xy, half - yy, -yz, hy], [-xz, -yz, half - zz, hz],
            [hx, hy, hz, m]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def is_physical(parameters: ArrayLike, tolerance: float = 1e-9) -> NDArray[np.bool_]:
    """
    Return for each body whether some distribution of mass has these parameters.

    That is the case if the pseudo-inertia has no negative eigenvalue: neither the mass nor a
    moment is negative, and no principal moment exceeds the sum of the other two.

    :param parameters: (10 nb,) or (..., 10).
    :param tolerance: how negative an eigenvalue may be by rounding, relative to the largest one.
    """
    x = np.asarray(parameters, float)
    values = np.linalg.eigvalsh(pseudo_inertia(x.reshape(-1, 10) if x.ndim == 1 else x))
    return values[..., 0] >= -tolerance * np.abs(values).max(axis=-1)
