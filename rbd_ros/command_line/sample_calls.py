# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Calls with random arguments, and their results: what the examples of generated code compare."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.model.model import Model
from rbd_ros.model.positions import integrate, random_position

#: rad or m by which joints of a robot with loops are moved before the loops are closed again.
_AWAY = 0.2
#: Values of inputs that are not random: no payload, no external force.
_FIXED = {'payload': 0.0, 'f_ext': 0.0, 'time': 0.0, 'max_condition': 1e12}


class SampleCall(NamedTuple):
    """
    One call of a function.

    :param inputs: flat array of each argument by its name.
    :param outputs: the same of each result, computed by the graph over Python's floats.
    """

    inputs: dict[str, NDArray[np.float64]]
    outputs: dict[str, NDArray[np.float64]]


def sample_call(model: Model, graph: Graph, seed: int = 0, scalar: str = 'float64') -> SampleCall:
    """
    Return a call with random arguments.

    :param model: the robot.
    :param graph: what is computed.
    :param seed: of the random numbers.
    :param scalar: type to which arguments are rounded before they are used.
    """
    rng = np.random.default_rng(seed)
    given = {}
    for argument in graph.inputs:
        values = rng.uniform(-1.0, 1.0, argument.size)
        if argument.name in _FIXED:
            values[:] = _FIXED[argument.name]
        given[argument.name] = values.round(3)
    given['q'] = _position(model, np.random.default_rng(seed))
    given['gravity'] = np.array(model.gravity)
    inputs = {a.name: given[a.name].astype(scalar).astype(float) for a in graph.inputs}
    results = np.array(graph.evaluate(*(x.tolist() for x in inputs.values())), float)
    outputs, start = {}, 0
    for a in graph.outputs:
        outputs[a.name] = results[start:start + a.size]
        start += a.size
    return SampleCall(inputs, outputs)


def _position(model: Model, rng: np.random.Generator) -> NDArray[np.float64]:
    """
    Return a random position; of a robot with loops one that closes them.

    Where loops are open, their constraints may nearly depend on each other, and rounding decides
    on an acceleration: see the page on embedded code.
    """
    if not model.loops:
        return np.array(random_position(model, rng))
    robot = _robot(model)
    closed = robot.loop_report.q
    away = integrate(model, closed.tolist(), rng.uniform(-_AWAY, _AWAY, model.nv).tolist())
    found = robot.assemble(np.array(away, float))
    return found.q if found.success else closed


@lru_cache(maxsize=4)
def _robot(model: Model) -> Dynamics:
    """Return what closes the loops of a robot."""
    return Dynamics(model)
