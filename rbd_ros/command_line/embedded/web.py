# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A script for web pages and node.js: functions of a robot as WebAssembly, with an example."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

from rbd_ros.command_line.c_project import chosen_graphs
from rbd_ros.command_line.embedded.templates import filled
from rbd_ros.command_line.sample_calls import sample_call
from rbd_ros.compiler.embedded.processors import WASM
from rbd_ros.compiler.embedded.web_module import Array, web_module
from rbd_ros.compiler.scalar import FLOAT64
from rbd_ros.quoting import in_comment, js_value

if TYPE_CHECKING:
    from rbd_ros.compiler.graph.graph import Graph
    from rbd_ros.compiler.scalar import ScalarType
    from rbd_ros.dynamics.quantity import Target
    from rbd_ros.model.model import Model

__all__ = ['robot_script', 'web_project']

#: States of the example, of each function.
STATES = 10
#: Of the largest number of a result: what the example accepts, by type of number.
TOLERANCE = {'double': 1e-10, 'float': 1e-3}


def web_project(model: Model, quantities: Sequence[tuple[str, Target]], *, prefix: str,
                scalar: str | None = None) -> dict[str, str | bytes]:
    """
    Return the files of a project by name.

    :param model: the robot.
    :param quantities: names from the table of quantities, each with its frame or None.
    :param prefix: names the files and the object that a page gets.
    :param scalar: type of the numbers, ``double`` where nothing is said.
    """
    kind = WASM.scalar(scalar)
    graphs = chosen_graphs(model, quantities, prefix)
    script, code = _script(model, graphs, prefix, kind)
    calls = {graph.name: [_call(model, graph, seed, kind) for seed in range(STATES)]
             for graph in graphs}
    example = filled('example.js.in', prefix=prefix, calls=js_value(calls),
                     tolerance=f'{TOLERANCE[kind.c]:g}')
    return {f'{prefix}.wasm': code, f'{prefix}.js': script, 'example.js': example}


def robot_script(model: Model, quantities: Sequence[tuple[str, Target]], prefix: str) -> str:
    """Return the script alone, with its code in it: all that a page needs."""
    return _script(model, chosen_graphs(model, quantities, prefix), prefix, FLOAT64)[0]


def _script(model: Model, graphs: Sequence[Graph], prefix: str, scalar: ScalarType,
            ) -> tuple[str, bytes]:
    """Return a script and the module in it."""
    module = web_module(graphs, prefix, scalar)
    functions = {graph.name: {'inputs': [_shown(a) for a in call.inputs],
                              'outputs': [_shown(a) for a in call.outputs]}
                 for graph, call in zip(graphs, module.calls, strict=True)}
    script = filled(
        'robot.js.in', prefix=prefix, robot=in_comment(model.name),
        joints=js_value(list(model.independent_joint_names)),
        functions=js_value(functions), code=b64encode(module.code).decode(),
        Numbers='Float64Array' if scalar is FLOAT64 else 'Float32Array')
    return script, module.code


def _shown(array: Array) -> dict[str, Any]:
    return {'name': array.argument.name, 'shape': array.argument.shape, 'address': array.address}


def _call(model: Model, graph: Graph, seed: int, scalar: ScalarType) -> dict[str, Any]:
    inputs, outputs = sample_call(model, graph, seed, scalar.name)
    return {'inputs': [x.tolist() for x in inputs.values()],
            'outputs': {name: y.tolist() for name, y in outputs.items()}}
