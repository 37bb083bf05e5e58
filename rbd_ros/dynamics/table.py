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
