# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Why a quantity has no finite value for the arguments of a call."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.dynamics.kernels.existence import massless_joint
from rbd_ros.dynamics.quantity import Quantity
from rbd_ros.errors import NonFiniteError, RbdError, SingularError
from rbd_ros.model.model import Model
from rbd_ros.spatial import RigidInertia


def no_result(
    model: Model, quantity: Quantity, arrays: Sequence[ArrayLike], inertia: Sequence[RigidInertia],
    state: int | None = None,
) -> RbdError:
    """
    Return the error for a result that is not finite.

    :param arrays: arguments of the call, q first, of one state or of many.
    :param inertia: of each body, payloads included.
    :param state: number of the one to look at, None for all.
    """
    positions = np.atleast_2d(np.asarray(arrays[0], float)).tolist()
    several = len(positions) > 1
    for k in range(len(positions)) if state is None or not several else (state,):
        q, where = positions[k], f' (state {k})' if several else ''
        if reason := impossible_position(model, q):
            return NonFiniteError(f'{quantity.name}{where}: {reason}')
        if quantity.traits.solves == 'joints':
            joint = massless_joint(model.spanning_tree, inertia, at=q)
            if joint is not None:
                return SingularError(
                    f'{quantity.name} of "{model.name}" does not exist{where}: at this position '
                    f'joint "{joint}" can move while no inertia does; move away from it, or give '
                    'what it carries a mass or the joint a rotor inertia')
    return NonFiniteError(f'{quantity.name} of "{model.name}" is not finite: some arguments, '
                          'or numbers of the robot, are too large or too small for float64')


def impossible_position(model: Model, q: Sequence[float]) -> str:
    """Return which joint has a position that is none, such as a quaternion of zeros; or ''."""
    tree = model.expand_q(q)
    for i, name in enumerate(model.joint_names, 1):
        own = [float(x) for x in tree[model.q_index[i]]]
        try:
            E = model.joint[i].transform(own).E
            sound = all(math.isfinite(x) for row in E.rows for x in row)
        except (ZeroDivisionError, OverflowError):
            sound = False
        if not sound:
            return (f'joint "{name}" cannot be at q = {own}; a quaternion (x, y, z, w) has length '
                    '1, and its length must not vanish')
    return ''
