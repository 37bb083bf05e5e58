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

"""A soft world around a robot in rollouts on a GPU: the contact forces that the simulator has."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rbd_ros.compiler import Scalar, Values
from rbd_ros.dynamics.step_graph import Surroundings
from rbd_ros.errors import SettingError
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.pattern import Pattern
from rbd_ros.sim.contact.soft_world import soft_contacts, soft_shapes
from rbd_ros.sim.contact.world import World


def soft_ground(model: Model, world: World) -> Surroundings:
    """
    Return a soft world for ``rollout(..., around=...)``; make it once, for kernels are kept by it.

    Forces are those of the surfaces at the start of each step; the simulator's own are those at
    its end, which keeps light bodies still at any step. Its steps differ too in what they do about
    friction and stops of joints, and in how a free body turns within a step.

    :param world: what the robot may touch.
    :raises SettingError: if contacts of the world are rigid.
    """
    if world.kind != 'soft':
        raise SettingError(f'contact of this world is {world.kind}: a rollout takes a soft one, '
                           "World('soft', ...)")
    pattern = world.pattern()
    return Surroundings(partial(_forces, model, pattern),
                        np.zeros(soft_shapes(pattern)['dents']), world.soft_inputs())


def _forces(model: Model, pattern: Pattern, q: Values, qd: Values, h: Scalar, memory: Any,
            **settings: Any) -> tuple[Any, Any]:
    """Return forces on the bodies, and what the surfaces remember."""
    nothing = [[0.0] * 6 for _ in range(model.nb)]
    return soft_contacts(
        model, pattern, {**settings, 'dents': memory, 'f_ext': nothing}, q, qd, h)
