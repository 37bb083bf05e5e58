# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One step of the motion of a robot as a graph, with or without what decides on its torques."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler import Graph, trace
from rbd_ros.compiler.graph.graph import flatten
from rbd_ros.errors import RbdError
from rbd_ros.model.model import Model
from rbd_ros.model.positions import integrate

#: Torques, (nv,), of q, qd, time and parameters by name, over traced numbers.
Policy = Callable[..., Sequence[Any]]
#: Names of the arguments for the length of a step, s, and for what surroundings remember.
LENGTH, MEMORY = 'step', 'memory'


class Surroundings(NamedTuple):
    """
    What acts on the bodies of a robot from step to step, with a memory of its own.

    :param change: of q, qd, qdd without it, the inertia matrix, the length of the step, the memory
        and settings by name, over traced numbers: by how much it changes qdd, (nv,), and the new
        memory.
    :param memory: at the start of every state.
    :param settings: of all states, by name.
    """

    change: Callable[..., tuple[Sequence[Any], Sequence[Any]]]
    memory: NDArray[np.float64]
    settings: Mapping[str, NDArray[np.float64]]

    @property
    def inputs(self) -> dict[str, NDArray[np.float64]]:
        """Return what a step takes of them, by name."""
        return {**self.settings, MEMORY: self.memory}


def step_graph(model: Model, forward: Graph, policy: Policy | None,
               parameters: Mapping[str, tuple[int, ...]],
               around: Surroundings | None = None, inertia: Graph | None = None) -> Graph:
    """
    Return one step by the semi-implicit Euler rule: velocities first, then positions with them.

    Its results ``q``, ``qd``, ``time``, and ``memory`` where something is around the robot, are
    the arguments of the next step.

    :param forward: forward dynamics.
    :param policy: from state, time and parameters to torques; without it they are an argument.
    :param parameters: shapes of the policy's parameters, of one state.
    :param around: what acts on the bodies; nothing by default.
    :param inertia: the inertia matrix, where something is around the robot.
    """
    known = {a.name: a.shape for a in forward.inputs}
    moved = {name: known.pop(name) for name in ('q', 'qd', 'tau')}
    if policy is not None:
        del moved['tau']
    own = {} if around is None else {name: x.shape for name, x in around.inputs.items()}
    # what a caller gives comes first
    shapes = {**moved, **parameters, **known, **own, 'time': (1,), LENGTH: ()}

    def step(*values: Any) -> dict[str, Sequence[Any]]:
        given = dict(zip(shapes, values, strict=True))
        q, qd, (t,), h = given['q'], given['qd'], given['time'], given[LENGTH]
        if policy is not None:
            own = {name: given[name] for name in parameters}
            given['tau'] = tau = list(policy(q, qd, t, **own))
            if len(tau) != model.nv:
                raise RbdError(f'the policy gives {len(tau)} torques, "{model.name}" takes '
                               f'{model.nv}')
        after = {}
        qdd = forward.evaluate(*[flatten(given[a.name], a.name)[0] for a in forward.inputs])
        if around is not None and inertia is not None:
            entries = inertia.evaluate(*[flatten(given[a.name], a.name)[0]
                                         for a in inertia.inputs])
            H = [entries[k:k + model.nv] for k in range(0, len(entries), model.nv)]
            settings = {name: given[name] for name in around.settings}
            change, after[MEMORY] = around.change(q, qd, qdd, H, h, given[MEMORY], **settings)
            qdd = [a + b for a, b in zip(qdd, change, strict=True)]
        v = [a + h * b for a, b in zip(qd, qdd, strict=True)]
        return {'q': integrate(model, q, [h * a for a in v]), 'qd': v, 'time': [t + h], **after}
    return trace(step, shapes, name='rollout')
