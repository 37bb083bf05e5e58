# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which joints are prescribed, by name and among the velocity variables (RBDA 9.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_ros.errors import ModelError, UnknownName
from rbd_ros.model.model import Model


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
