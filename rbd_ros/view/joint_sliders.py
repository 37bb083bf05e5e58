# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sliders that move the joints of a robot that is only looked at."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

from rbd_ros.compiler import Array
from rbd_ros.model.model import Model

__all__ = ['joint_sliders', 'single_joints']

STEP = 1e-3  # rad or m


def single_joints(model: Model) -> list[str]:
    """Return the joints with one coordinate, which a slider can move."""
    return [name for name in model.independent_joint_names
            if model.position_slice(name).stop - model.position_slice(name).start == 1]


def joint_sliders(gui: Any, model: Model, q: Array, moved: Callable[[], None]) -> list[Any]:
    """
    Add a slider for each joint with one coordinate.

    :param gui: of the page.
    :param model: the robot.
    :param q: its position, (nq,); a slider changes it.
    :param moved: called after each change.
    :returns: the sliders.
    """
    def slider(name: str) -> Any:
        k = model.position_slice(name).start
        low = model.lower[k] if math.isfinite(model.lower[k]) else -math.pi
        high = model.upper[k] if math.isfinite(model.upper[k]) else math.pi
        q[k] = min(max(q[k], low), high)
        handle = gui.add_slider(name, low, max(high, low + STEP), STEP, float(q[k]))

        def take(_: object) -> None:
            q[k] = handle.value
            moved()
        handle.on_update(take)
        return handle
    return [slider(name) for name in single_joints(model)]
