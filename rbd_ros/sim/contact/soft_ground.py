# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A soft world around a robot in rollouts on a GPU: the contact forces that the simulator has."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import Rows, Scalar, Values
from rbd_ros.dynamics.families.tree import sparsity
from rbd_ros.dynamics.step_graph import Surroundings
from rbd_ros.errors import SettingError
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.pattern import Pattern
from rbd_ros.sim.contact.soft_world import implicit_contacts, soft_shapes
from rbd_ros.sim.contact.world import World
from rbd_ros.sim.steps.turning import apparent
from rbd_ros.sim.steps.turning_joints import turning_joints


def soft_ground(model: Model, world: World) -> Surroundings:
    """
    Return a soft world for ``rollout(..., around=...)``; make it once, for kernels are kept by it.

    Its forces are those of the simulator, which keep light bodies still at any step. Steps of a
    rollout differ from those of the simulator in what they do about friction and stops of joints,
    and in how bodies turn within a step.

    :param world: what the robot may touch.
    :raises SettingError: if contacts of the world are rigid.
    """
    if world.kind != 'soft':
        raise SettingError(f'contact of this world is {world.kind}: a rollout takes a soft one, '
                           "World('soft', ...)")
    pattern = world.pattern()
    return Surroundings(partial(_change, model, pattern),
                        np.zeros(soft_shapes(pattern)['dents']), world.soft_inputs())


def _change(model: Model, pattern: Pattern, q: Values, qd: Values, qdd: Values, H: Rows,
            h: Scalar, memory: Any, **settings: Any) -> tuple[Any, Any]:
    """Return how accelerations change, and what the surfaces remember."""
    parent = sparsity(model)
    ahead = [a + b for a, b in zip(qdd, apparent(turning_joints(model), qd), strict=True)]
    found = implicit_contacts(model, pattern, {**settings, 'dents': memory}, q, qd, h, H, parent,
                              ltl.multiply_symmetric(H, parent, ahead))
    return ltl.solve(H, parent, found.tau), found.outputs['new_dents']
