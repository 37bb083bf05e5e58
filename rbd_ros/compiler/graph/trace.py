# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Running a function on traced scalars, to get its graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real

from rbd_ros.compiler.graph.expression import Expr, Recorder
from rbd_ros.compiler.graph.graph import Argument, flatten, Graph, nest, Nested
from rbd_ros.compiler.graph.lower import lower
from rbd_ros.compiler.graph.simplify import Simplifier


def trace(function: Callable[..., Nested | Mapping[str, Nested]],
          inputs: Mapping[str, int | Sequence[int]], *, name: str = 'f',
          outputs: Sequence[str] | None = None, simplify: bool = True) -> Graph:
    """
    Return the graph of a function of small arrays (RBDA 10.4).

    :param function: gets one positional argument per input, nested lists of traced scalars
        (a scalar for shape ()), and returns a dict of name to nested sequence or array, or one
        such value, or a tuple of them that matches ``outputs``.
    :param inputs: name and shape of each argument.
    :param name: name of the graph, an identifier.
    :param outputs: names of the results where the function returns no dict.
    :param simplify: fold constants and share common subexpressions while recording; without,
        every operation is kept as it was executed.
    """
    arguments = tuple([Argument(key, _shape(shape)) for key, shape in inputs.items()])
    for kind, word in [('graph', name), *(('input', a.name) for a in arguments)]:
        _check_identifier(kind, word)
    recorder = Simplifier() if simplify else Recorder()
    values = [nest([recorder.input(k, e) for e in range(a.size)], a.shape)
              for k, a in enumerate(arguments)]
    named = _named(function(*values), outputs)
    results, targets = [], []
    for key, value in named.items():
        _check_identifier('output', key)
        elements, shape = flatten(value, key)
        results.extend([_scalar(e, key) for e in elements])
        targets.append(Argument(key, shape))
    return lower(recorder, name, arguments, targets, results, keep_all=not simplify)


def simplify(graph: Graph) -> Graph:
    """Return an equal graph with constants folded, subexpressions shared, dead code gone."""
    while True:
        recorder = Simplifier()
        values = [[recorder.input(k, e) for e in range(a.size)]
                  for k, a in enumerate(graph.inputs)]
        results = graph.evaluate(*values)
        smaller = lower(recorder, graph.name, graph.inputs, graph.outputs, results)
        if len(smaller.nodes) >= len(graph.nodes):
            return smaller
        graph = smaller


def _shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple([int(n) for n in shape])


def _check_identifier(kind: str, word: str) -> None:
    if not (isinstance(word, str) and word.isascii() and word.isidentifier()):
        raise ValueError(
            f'{kind} name {word!r} is not an identifier: use letters, digits and underscores, '
            'it becomes a name in the generated code')


def _named(value: Nested | Mapping[str, Nested], outputs: Sequence[str] | None,
           ) -> dict[str, Nested]:
    if isinstance(value, Mapping):
        if outputs is None:
            return dict(value)
        if set(outputs) != set(value):
            raise ValueError(f'the function returned {", ".join(value)}, '
                             f'but the outputs are declared as {", ".join(outputs)}; '
                             'return these')
        return {key: value[key] for key in outputs}
    if outputs is None or len(outputs) == 1:
        return {outputs[0] if outputs else 'out': value}
    if not isinstance(value, (list, tuple)) or len(value) != len(outputs):
        raise ValueError(f'the function must return {len(outputs)} values '
                         f'({", ".join(outputs)}) or a dict of them')
    return dict(zip(outputs, value))


def _scalar(value: object, name: str) -> float | Expr:
    if type(value) is Expr:
        return value
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f'output "{name}" holds a {type(value).__name__}, '
                    'expected numbers or traced values in nested lists or arrays')
