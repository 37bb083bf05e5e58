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
Which joints are prescribed in hybrid dynamics, and which side of the equation is known (RBDA 9.1).

A kernel takes one vector ``known``: the accelerations of the prescribed joints and the forces of
the others. So what is not known has no way into it.
"""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.errors import ModelError, NonFiniteError, ShapeError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.model.model import Model

    Array = NDArray[np.float64]


class HybridDynamics(NamedTuple):
    """
    Accelerations and forces of all joints, those given and those found.

    :param qdd: accelerations, (nv,) or (batch, nv).
    :param tau: forces of the same shape.
    """

    qdd: Array
    tau: Array


def prescribed_joints(model: Model, names: Sequence[str]) -> tuple[str, ...]:
    """
    Return the names of joints in the order of the model.

    :raises UnknownName: for a joint that the model does not have.
    :raises ModelError: for one that is named twice or follows another.
    """
    if isinstance(names, str):
        raise TypeError(f'prescribed must be a list of joint names, got the string "{names}"; '
                        f'write ["{names}"]')
    for k, name in enumerate(names):
        if name not in model.joint_names:
            raise UnknownName('joint', name, model.independent_joint_names)
        if name not in model.independent_joint_names:
            raise ModelError(f'joint "{name}" mimics another and has no acceleration of its own: '
                             'prescribe the joint that it follows')
        if name in names[:k]:
            raise ModelError(f'joint "{name}" is named twice among the prescribed joints')
    return tuple(name for name in model.independent_joint_names if name in names)


def prescribed_variables(model: Model, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return for each velocity variable whether its joint is prescribed."""
    flags = np.zeros(model.nv, dtype=bool)
    for name in names:
        flags[model.velocity_slice(name)] = True
    return flags


def known_side(model: Model, flags: NDArray[np.bool_], qdd: ArrayLike, tau: ArrayLike) -> Array:
    """Return accelerations of the prescribed variables and forces of the others, in one array."""
    sides = np.asarray(qdd, dtype=float), np.asarray(tau, dtype=float)
    for name, side in zip(('qdd', 'tau'), sides, strict=True):
        if side.ndim not in (1, 2) or side.shape[-1] != model.nv or side.shape != sides[0].shape:
            raise ShapeError(f'{name} has shape {side.shape}, "{model.name}" needs nv = '
                             f'{model.nv} entries, for one state or for as many as qdd')
    return np.where(flags, *sides)


def refuse_unknown(
    model: Model, flags: NDArray[np.bool_], qdd: ArrayLike, tau: ArrayLike,
) -> None:
    """Raise an error that names a joint whose known side is not finite, if there is one."""
    sides = {'qdd': np.asarray(qdd, dtype=float)[..., flags],
             'tau': np.asarray(tau, dtype=float)[..., ~flags]}
    places = {'qdd': np.flatnonzero(flags), 'tau': np.flatnonzero(~flags)}
    for side, values in sides.items():
        for k, column in zip(places[side], np.atleast_2d(values).T, strict=True):
            bad = column[~np.isfinite(column)]
            if bad.size:
                name = next(each for each in model.independent_joint_names
                            if k in range(model.nv)[model.velocity_slice(each)])
                raise NonFiniteError(f'{side} of joint "{name}" is {bad[0]}: it is '
                                     f'{"" if side == "qdd" else "not "}prescribed, so that its '
                                     f'{side} must be a finite number')
