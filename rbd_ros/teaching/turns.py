# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Joints that turn without end: the controller takes the short way from each point to the next.

So plans do the same, and drivers that wrap positions at pi do no harm: positions are shifted by
full turns to be near those before, and steps are kept well below half a turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler import Array
from rbd_ros.model.model import Model

__all__ = ['endless', 'finer', 'LONGEST', 'near', 'unwrapped']

#: rad between two points of a joint that turns without end.
LONGEST = 0.5 * np.pi


def endless(model: Model) -> npt.NDArray[np.bool_]:
    """Return which independent joints turn without end."""
    return np.array([np.isinf(low) and np.isinf(high) and model.joint[
        model.joint_index(name)].type_name == 'revolute' for name, low, high in zip(
            model.independent_joint_names, model.lower, model.upper, strict=True)], bool)


def unwrapped(q: Array, turning: npt.NDArray[np.bool_]) -> Array:
    """Return positions, (count, n), of which each takes the short way from the one before."""
    return np.where(turning, np.unwrap(q, axis=0), q)


def near(q: Array, there: Array, turning: npt.NDArray[np.bool_]) -> Array:
    """Return positions shifted by full turns, so that they are as near as can be."""
    return np.where(turning, q + 2.0 * np.pi * np.round((there - q) / (2.0 * np.pi)), q)


def finer(curve: Any, t: Array, turning: npt.NDArray[np.bool_]) -> Array:
    """Return the times with some more between them, so that no step of a curve is too long."""
    while True:
        far = (np.abs(np.diff(curve(t), axis=0))[:, turning] > LONGEST).any(axis=1)
        if not far.any():
            return t
        t = np.sort(np.concatenate([t, 0.5 * (t[:-1] + t[1:])[far]]))
