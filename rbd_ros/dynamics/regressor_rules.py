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

"""Rules of the table for regressors of torque, energy and momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_ros.algorithms import kinematics, regressor
from rbd_ros.dynamics.rules import tree

if TYPE_CHECKING:
    from rbd_ros.algorithms.kinematics import Links
    from rbd_ros.dynamics.rules import Results
    from rbd_ros.dynamics.state import State
    from rbd_ros.spatial import Motion


def _motion(s: State) -> tuple[Links, list[Motion]]:
    links = tree(s)
    return links, kinematics.velocities(s.model, links, s.q, s.qd, s.conditions.t)[0]


def torque_regressor(s: State) -> Results:
    """Return Y with Y pi the joint forces of the bodies with parameters pi."""
    Y = regressor.torque_regressor(
        s.model, tree(s), s.q, s.qd, s.qdd, s.conditions.gravity, s.conditions.t)
    columns = [s.reduce(column) for column in zip(*Y, strict=True)]
    return {'Y': [list(row) for row in zip(*columns, strict=True)]}


def energy_regressor(s: State) -> Results:
    """Return the rows of kinetic and potential energy."""
    links, v = _motion(s)
    return {'Y': regressor.energy_regressor(s.model, links, v, s.conditions.gravity)}


def momentum_regressor(s: State) -> Results:
    """Return the momentum about the base origin per parameter."""
    return {'Y': regressor.momentum_regressor(s.model, *_motion(s))}
