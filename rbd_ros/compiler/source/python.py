# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Straight-line Python from a graph: needs nothing but the standard library.

The same source runs on floats, one state at a time, and on NumPy columns, many states at a time:
only the functions that it finds under its names differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import inspect
import keyword
import math
from types import CodeType
from typing import Any, cast

import numpy as np

from rbd_ros.compiler.arguments import Array
from rbd_ros.compiler.graph import float_functions
from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.graph.partition import Part, partition
from rbd_ros.compiler.kernel import Kernel
from rbd_ros.compiler.source.writer import Dialect, Names, PART, Writer

#: States per chunk of a batch: short enough for the columns to stay in the processor's cache.
_CHUNK = 512

_FUNCTION = {
    'div': 'div', 'sqrt': 'sqrt', 'sin': 'sin', 'cos': 'cos', 'tan': 'tan', 'asin': 'asin',
    'acos': 'acos', 'atan2': 'atan2', 'exp': 'exp', 'log': 'log', 'tanh': 'tanh',
    'abs': 'absolute', 'min': 'minimum', 'max': 'maximum', 'lt': 'less', 'le': 'less_equal',
    'select': 'select', 'eq': 'equal', 'and': 'logical_and', 'or': 'logical_or',
    'not': 'logical_not', 'finite': 'is_finite', 'floor': 'floor',
}
_DIALECT = Dialect(_FUNCTION, repr)
_CONSTANTS = {'inf': math.inf, 'nan': math.nan}
_ON_FLOATS = {**_CONSTANTS,
              **{name: getattr(float_functions, name) for name in _FUNCTION.values()}}


def _known(truth: Array, a: Array, b: Array) -> Array:
    """Return a truth as number, NaN where an operand is."""
    return np.where((a != a) | (b != b), np.nan, np.where(truth, 1.0, 0.0))


_ON_COLUMNS = {
    **_CONSTANTS,
    'div': np.divide, 'sqrt': np.sqrt, 'sin': np.sin, 'cos': np.cos, 'tan': np.tan,
    'asin': np.arcsin, 'acos': np.arccos, 'atan2': np.arctan2, 'exp': np.exp, 'log': np.log,
    'tanh': np.tanh, 'absolute': np.abs, 'minimum': np.minimum, 'maximum': np.maximum,
    'less': lambda a, b: _known(a < b, a, b),
    'less_equal': lambda a, b: _known(a <= b, a, b),
    'select': lambda c, a, b: np.where(c != c, c, np.where(c != 0.0, a, b)),
    'equal': lambda a, b: _known(a == b, a, b),
    'logical_and': lambda a, b: _known((a != 0.0) & (b != 0.0), a, b),
    'logical_or': lambda a, b: _known((a != 0.0) | (b != 0.0), a, b),
    'logical_not': lambda a: _known(a == 0.0, a, a),
    'is_finite': lambda x: np.where(np.isfinite(x), 1.0, 0.0), 'floor': np.floor,
}


def emit_python(graph: Graph, *, max_nodes: int = PART) -> str:
    """
    Return the source of a module with one function, which needs only ``math``.

    The function takes one flat sequence of floats per input and returns the list of all output
    elements, outputs one after another, row-major.

    :param graph: what to compute.
    :param max_nodes: operations per generated function; a longer graph becomes several.
    """
    body = _functions(graph, max_nodes)
    used = {_FUNCTION[node.op] for node in graph.nodes if node.op in _FUNCTION}
    helpers = [inspect.getsource(getattr(float_functions, name)) for name in sorted(used)]
    head = f'"""Generated from the graph {graph.name}: {graph.count()}."""\n\nimport math\n'
    constants = '\n'.join(f'{name} = math.{name}' for name in _CONSTANTS)
    return '\n\n'.join([f'{head}\n{constants}\n', *helpers, body])


def _functions(graph: Graph, max_nodes: int = PART) -> str:
    """Return the source of the function, and of the parts that it calls if it is long."""
    graph = graph.pruned()
    parts, slots = partition(graph, max_nodes)
    if len(parts) == 1:
        return _function(graph, graph.name, parts[0], '', '')
    reserved = Names(_reserved(graph))
    inputs = [reserved.new(a.name) for a in graph.inputs]
    w, y = reserved.new('w'), reserved.new('y')
    named = [reserved.new(f'{graph.name}_{k}') for k in range(len(parts))]
    texts = [_function(graph, name, part, w, y) for name, part in zip(named, parts)]
    arguments = ', '.join([*inputs, w, y])
    lines = [f'def {graph.name}({", ".join(inputs)}):', f'    {w} = [0.0] * {slots}',
             f'    {y} = [0.0] * {len(graph.results)}',
             *[f'    {name}({arguments})' for name in named], f'    return {y}', '']
    return '\n\n'.join([*texts, '\n'.join(lines)])


def _reserved(graph: Graph) -> list[str]:
    return [*keyword.kwlist, *_FUNCTION.values(), *_CONSTANTS, 'math', graph.name]


def _function(graph: Graph, name: str, part: Part, w: str, y: str) -> str:
    names = Names(_reserved(graph))
    inputs = [names.new(a.name) for a in graph.inputs]
    arguments = [*inputs, w, y] if w else inputs
    names.taken.update([w, y, name])
    writer = Writer(graph, part, _DIALECT, names, inputs)
    lines = [f'def {name}({", ".join(arguments)}):']
    lines += [f'    {text} = {inputs[k]}[{e}]' for k, e, text in writer.inputs_read()]
    lines += [f'    {writer.text[k]} = {w}[{slot}]' for k, slot in part.loads.items()]
    lines += [f'    {left} = {right}' for left, right in writer.statements()]
    lines += [f'    {w}[{slot}] = {writer.text[k]}' for k, slot in part.stores.items()]
    if w:
        lines += [f'    {y}[{element}] = {writer.text[k]}' for element, k in part.results]
    else:
        lines.append(f'    return [{", ".join(writer.text[k] for _, k in part.results)}]')
    return '\n'.join(lines) + '\n'


def compile_python(graph: Graph) -> Callable[..., list[float]]:
    """
    Return the graph as a Python function of flat sequences of floats.

    :param graph: what to compute.
    """
    return _load(graph, compile(_functions(graph), f'<{graph.name}>', 'exec'), _ON_FLOATS)


def _load(graph: Graph, code: CodeType, functions: dict[str, object],
          ) -> Callable[..., list[float]]:
    namespace = dict(functions)
    exec(code, namespace)
    return cast(Callable[..., list[float]], namespace[graph.name])


class PythonKernel(Kernel):
    """A graph run by the Python interpreter; batches run on NumPy columns."""

    backend = 'python'

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        code = compile(_functions(graph), f'<{graph.name}>', 'exec')
        self._one = _load(graph, code, _ON_FLOATS)
        self._many = _load(graph, code, _ON_COLUMNS)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute the outputs, unchecked."""
        results = self._one(*[x.ravel().tolist() for x in inputs])
        start = 0
        for x in outputs:
            x.reshape(-1)[:] = results[start:start + x.size]
            start += x.size

    def run_batch(self, inputs: Sequence[Array], batched: Sequence[bool],
                  outputs: Sequence[Array], count: int, threads: int | None) -> None:
        """Compute the outputs of many states, unchecked, in chunks; always on one thread."""
        # Copies, as an output may share memory with an input that a later chunk reads.
        columns = [x.reshape(count, x.size // count).T.copy() if many
                   else x.reshape(x.size, 1).copy() for x, many in zip(inputs, batched)]
        tables = [x.reshape(count, x.size // count) for x in outputs]
        with np.errstate(all='ignore'):
            for start in range(0, count, _CHUNK):
                rows = slice(start, start + _CHUNK)
                results = iter(self._many(*[c[:, rows] if many else c
                                            for c, many in zip(columns, batched)]))
                for table in tables:
                    for k in range(table.shape[1]):
                        table[rows, k] = next(results)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the graph alone; the code is made anew."""
        return PythonKernel, (self.graph,)
