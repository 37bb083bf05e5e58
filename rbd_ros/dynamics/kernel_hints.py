# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a compiler for GPUs is told about a robot: the order of its joints, and its limbs."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler import Graph
from rbd_ros.compiler.gpu.program import Hints
from rbd_ros.model.model import Model

#: Inputs with one number per velocity variable.
_VELOCITIES = ('qd', 'qdd', 'tau', 'known')
#: Numbers of limbs that are tried.
_LIMBS = range(2, 9)


def kernel_hints(model: Model, graph: Graph) -> Hints:
    """
    Return ranks and limbs of what goes into a graph of a robot and comes out of it.

    Inputs have the place of their joint in depth-first order: worked off in this order, one limb
    is done before the next begins. Of results, those with a number per velocity variable belong to
    the limb of its joint, and matrices to that of the joint farther out.
    """
    order = _depth_first(model)
    place = {body: k for k, body in enumerate(order)}
    positions, velocities = _owners(model)
    inputs: dict[tuple[int, int], int] = {}
    for number, argument in enumerate(graph.inputs):
        bodies: Sequence[int] = ()
        if argument.name == 'q':
            bodies = positions
        elif argument.name in _VELOCITIES:
            bodies = velocities
        elif argument.name == 'f_ext':
            bodies = [body for body in range(1, model.nb + 1) for _ in range(6)]
        inputs.update({(number, e): body for e, body in enumerate(bodies)})
    outputs: dict[tuple[int, int], int] = {}
    for number, argument in enumerate(graph.outputs):
        if argument.shape in ((model.nv,), (model.nv, model.nv)):
            outputs.update({(number, e): velocities[max(divmod(e, model.nv))
                                                    if len(argument.shape) > 1 else e]
                            for e in range(argument.size)})
    sides = {**{('in', *key): body for key, body in inputs.items()},
             **{('out', *key): body for key, body in outputs.items()}}
    tried = []
    for tops in dict.fromkeys(_tops(model, count) for count in _LIMBS):
        limb = {body: k for k, top in enumerate(tops) for body in model.subtree[top]}
        tried.append({key: limb[body] for key, body in sides.items() if body in limb})
    return Hints({key: place[body] for key, body in inputs.items()}, tuple(tried))


def _depth_first(model: Model) -> list[int]:
    order, waiting = [], [0]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(model.children[order[-1]]))
    return order


def _owners(model: Model) -> tuple[list[int], list[int]]:
    """Return the body of each position and of each velocity variable."""
    positions, velocities = [0] * model.nq, [0] * model.nv
    for name in model.independent_joint_names:
        for variables, own in ((positions, model.position_slice(name)),
                               (velocities, model.velocity_slice(name))):
            for k in range(len(variables))[own]:
                variables[k] = model.joint_index(name)
    return positions, velocities


def _tops(model: Model, count: int) -> tuple[int, ...]:
    """Return the innermost bodies of some limbs: the largest one that branches is divided."""
    def size(body: int) -> int:
        return len(model.subtree[body])

    tops = list(model.children[0])
    while len(tops) < count:
        for top in sorted(tops, key=size, reverse=True):
            body = top
            while len(model.children[body]) == 1:
                body = model.children[body][0]
            if model.children[body]:
                tops.remove(top)
                tops += model.children[body]
                break
        else:
            break
    return tuple(sorted(tops, key=size, reverse=True)[:count])
