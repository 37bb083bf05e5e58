# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The quantities a robot can be asked for: one declaration each, over generic scalars.

This is the one table from which the reference (plain floats, :mod:`rbd_ros.dynamics.uncompiled`),
the compiled robot (:class:`rbd_ros.Dynamics`), the controller's cycle and the simulator's step are
made. Its rows stand with their rules and methods in :mod:`rbd_ros.dynamics.families`. A user adds
rows for one robot with ``robot.define``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rbd_ros.dynamics.families import (
    floating_base, forward_dynamics, frames, hybrid, joint_space, regressor, whole_robot)
from rbd_ros.dynamics.families.derivatives import methods as derivatives
from rbd_ros.dynamics.families.handles import methods as handles
from rbd_ros.dynamics.families.loops import constraints, motion
from rbd_ros.dynamics.quantity import Quantity

_FAMILIES = (joint_space, forward_dynamics, hybrid, whole_robot, regressor, floating_base,
             constraints, motion, frames, handles, derivatives)
#: Every quantity that stands in a family, by name.
TABLE: Mapping[str, Quantity] = MappingProxyType({
    row.name: row for family in _FAMILIES for row in vars(family).values()
    if isinstance(row, Quantity)})
