# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Derivatives of graphs, as graphs.

Forward mode carries, with each value, its derivatives; reverse mode carries back from each
result how much it depends on the value. Both are exact, and both are simplified like any trace.

Where a function has a kink the derivative is one-sided: that of ``abs`` at 0 is +1, of ``min`` and
``max`` at a tie that of the first argument, of ``where`` that of the chosen side. Comparisons,
logic and ``floor`` have derivative zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rbd_ros.compiler.graph.expression import Scalar
from rbd_ros.compiler.graph.functions import (
    cos, divide, is_zero, less, less_equal, sin, sqrt, where)
from rbd_ros.compiler.graph.graph import Argument, Graph
from rbd_ros.compiler.graph.lower import lower
from rbd_ros.compiler.graph.simplify import Simplifier

Names = str | Sequence[str]

#: Constant between jumps.
_STEPS = ('lt', 'le', 'eq', 'and', 'or', 'not', 'finite', 'floor')


def _times(x: Scalar) -> Callable[[Scalar], Scalar]:
    return lambda d: d * x


#: For each operation, given its value y and arguments, the derivative along each argument,
#: as a function that multiplies by it.
_PARTIALS: dict[str, Callable[..., tuple[Callable[[Scalar], Scalar], ...]]] = {
    'neg': lambda y, a: (lambda d: -d,),
    'add': lambda y, a, b: (lambda d: d, lambda d: d),
    'sub': lambda y, a, b: (lambda d: d, lambda d: -d),
    'mul': lambda y, a, b: (_times(b), _times(a)),
    'div': lambda y, a, b: (_times(divide(1.0, b)), _times(-(y * divide(1.0, b)))),
    'sqrt': lambda y, a: (_times(divide(0.5, y)),),
    'sin': lambda y, a: (_times(cos(a)),),
    'cos': lambda y, a: (_times(-sin(a)),),
    'tan': lambda y, a: (_times(1.0 + y * y),),
    'asin': lambda y, a: (_times(divide(1.0, sqrt(1.0 - a * a))),),
    'acos': lambda y, a: (_times(divide(-1.0, sqrt(1.0 - a * a))),),
    'atan2': lambda y, a, b: _of_angle(a, b),
    'exp': lambda y, a: (_times(y),),
    'log': lambda y, a: (_times(divide(1.0, a)),),
    'tanh': lambda y, a: (_times(1.0 - y * y),),
    'abs': lambda y, a: (lambda d: where(less(a, 0.0), -d, d),),
    'min': lambda y, a, b: _first_if(less_equal(a, b)),
    'max': lambda y, a, b: _first_if(less_equal(b, a)),
}


def _of_angle(y: Scalar, x: Scalar) -> tuple[Callable[[Scalar], Scalar], ...]:
    inverse = divide(1.0, y * y + x * x)
    return _times(x * inverse), _times(-(y * inverse))


def _first_if(condition: Scalar) -> tuple[Callable[[Scalar], Scalar], ...]:
    return (lambda d: where(condition, d, 0.0), lambda d: where(condition, 0.0, d))


def jvp(graph: Graph, of: Names, wrt: Names, *, name: str | None = None) -> Graph:
    """
    Return the directional derivative: inputs of the graph, then ``x_dot`` for each x in wrt.

    Its outputs are ``y_dot`` for each y in of.

    :param graph: what to differentiate.
    :param of: names of outputs.
    :param wrt: names of inputs.
    :param name: name of the new graph.
    """
    of, wrt = _names(of), _names(wrt)
    extra = [Argument(f'{x}_dot', graph.inputs[graph.input_index(x)].shape) for x in wrt]
    work = _Replay(graph, extra)
    seeds: dict[tuple[int, int], dict[int, Scalar]] = {}
    for k, x in enumerate(wrt):
        along = work.values[len(graph.inputs) + k]
        seeds.update({(graph.input_index(x), e): {0: d} for e, d in enumerate(along)})
    tangents = work.forward(seeds)
    outputs = [Argument(f'{y}_dot', graph.outputs[graph.output_index(y)].shape) for y in of]
    results = [tangents[r].get(0, 0.0) for y in of for r in graph.output_results(y)]
    return work.graph(name or f'{graph.name}_jvp', outputs, results)


def jacobian(graph: Graph, of: Names, wrt: Names, *, name: str | None = None,
             mode: str = 'forward', values: bool = False) -> Graph:
    """
    Return the matrix of derivatives: outputs ``dy_dx`` of shape y.shape + x.shape.

    :param graph: what to differentiate; the result has the same inputs.
    :param of: names of outputs.
    :param wrt: names of inputs.
    :param name: name of the new graph.
    :param mode: 'forward', cheaper for few inputs, or 'reverse', cheaper for few outputs.
    :param values: give all outputs of the graph as well, before the derivatives.
    """
    of, wrt = _names(of), _names(wrt)
    if mode not in ('forward', 'reverse'):
        raise ValueError(f'no mode "{mode}" (known: forward, reverse)')
    work = _Replay(graph, [])
    sources = {x: graph.input_index(x) for x in wrt}
    leaves = [(k, e) for k in sources.values() for e in range(graph.inputs[k].size)]
    if mode == 'forward':
        tangents = work.forward({leaf: {n: 1.0} for n, leaf in enumerate(leaves)})
        rows = {r: tangents[r] for y in of for r in graph.output_results(y)}
    else:
        rows = {}
        for r in dict.fromkeys([r for y in of for r in graph.output_results(y)]):
            bars = work.reverse({r: 1.0})
            rows[r] = {n: bars.get(leaf, 0.0) for n, leaf in enumerate(leaves)}
    place = {leaf: n for n, leaf in enumerate(leaves)}
    outputs, results = ([*graph.outputs], [work.work[r] for r in graph.results]) \
        if values else ([], [])
    for y in of:
        shape = graph.outputs[graph.output_index(y)].shape
        for x, k in sources.items():
            outputs.append(Argument(f'd{y}_d{x}', (*shape, *graph.inputs[k].shape)))
            results += [rows[r].get(place[k, e], 0.0) for r in graph.output_results(y)
                        for e in range(graph.inputs[k].size)]
    return work.graph(name or f'{graph.name}_jacobian', outputs, results)


def vjp(graph: Graph, of: Names, wrt: Names, *, name: str | None = None) -> Graph:
    """
    Return the transposed derivative: inputs of the graph, then ``y_bar`` for each y in of.

    Its outputs ``x_bar``, for each x in wrt, are the sums of y_bar times dy/dx.

    :param graph: what to differentiate.
    :param of: names of outputs.
    :param wrt: names of inputs.
    :param name: name of the new graph.
    """
    of, wrt = _names(of), _names(wrt)
    extra = [Argument(f'{y}_bar', graph.outputs[graph.output_index(y)].shape) for y in of]
    work = _Replay(graph, extra)
    seeds: dict[int, Scalar] = {}
    for k, y in enumerate(of):
        for r, bar in zip(graph.output_results(y), work.values[len(graph.inputs) + k]):
            seeds[r] = seeds.get(r, 0.0) + bar
    return _pulled_back(work, seeds, wrt, '{}_bar', name or f'{graph.name}_vjp')


def gradient(graph: Graph, of: str, wrt: Names, *, name: str | None = None) -> Graph:
    """
    Return the derivatives of one scalar output in reverse mode: outputs ``dy_dx``.

    :param graph: what to differentiate; the result has the same inputs.
    :param of: name of an output with one element.
    :param wrt: names of inputs.
    :param name: name of the new graph.
    """
    results = graph.output_results(of)
    if len(results) != 1:
        raise ValueError(f'output "{of}" has {len(results)} elements and a gradient needs one; '
                         'use jacobian or vjp')
    work = _Replay(graph, [])
    return _pulled_back(work, {results[0]: 1.0}, _names(wrt), f'd{of}_d{{}}',
                        name or f'{graph.name}_gradient')


def _pulled_back(work: _Replay, seeds: dict[int, Scalar], wrt: Sequence[str], pattern: str,
                 name: str) -> Graph:
    bars = work.reverse(seeds)
    outputs, results = [], []
    for x in wrt:
        k = work.source.input_index(x)
        argument = work.source.inputs[k]
        outputs.append(Argument(pattern.format(x), argument.shape))
        results += [bars.get((k, e), 0.0) for e in range(argument.size)]
    return work.graph(name, outputs, results)


def _names(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


class _Replay:
    """A graph recorded anew, with all its intermediate values at hand."""

    def __init__(self, source: Graph, extra: Sequence[Argument]) -> None:
        self.source, self.recorder = source, Simplifier()
        self.inputs = (*source.inputs, *extra)
        self.values = [[self.recorder.input(k, e) for e in range(a.size)]
                       for k, a in enumerate(self.inputs)]
        self.work = source.evaluate_all(*self.values)

    def graph(self, name: str, outputs: Sequence[Argument], results: Sequence[Scalar]) -> Graph:
        """Return what was recorded."""
        return lower(self.recorder, name, self.inputs, outputs, results)

    def forward(self, seeds: dict[tuple[int, int], dict[int, Scalar]],
                ) -> list[dict[int, Scalar]]:
        """Return the derivatives of every node along every direction in which it changes."""
        tangents: list[dict[int, Scalar]] = []
        for k, node in enumerate(self.source.nodes):
            op, args, _ = node
            if op == 'input':
                tangents.append(seeds.get(node.element, {}))
                continue
            moving = [tangents[a] for a in args]
            directions = dict.fromkeys(n for t in moving for n in t)
            if not directions or op in _STEPS:
                tangents.append({})
                continue
            values = [self.work[a] for a in args]
            if op == 'select':
                c, (_, then, otherwise) = values[0], moving
                found = {n: where(c, then.get(n, 0.0), otherwise.get(n, 0.0))
                         for n in dict.fromkeys([*then, *otherwise])}
            else:
                partials = self._partials(op, k, values)
                found = {n: _sum([p(t[n]) for p, t in zip(partials, moving) if n in t])
                         for n in directions}
            tangents.append({n: d for n, d in found.items() if not is_zero(d)})
        return tangents

    def reverse(self, seeds: dict[int, Scalar]) -> dict[tuple[int, int], Scalar]:
        """
        Return, for each input element, how much the seeded nodes depend on it.

        What flows back through one side of a ``where`` is kept with the condition, which is
        applied last: on the side not taken a derivative may be infinite, and zero times that
        is not zero.
        """
        bars: dict[int, dict[_Guard, Scalar]] = {k: {(): d} for k, d in seeds.items()}
        leaves: dict[tuple[int, int], Scalar] = {}
        for k in range(len(self.source.nodes) - 1, -1, -1):
            parts = bars.pop(k, None)
            if parts is None:
                continue
            node = self.source.nodes[k]
            op, args, _ = node
            guard, bar = _merged(parts)
            if op == 'input':
                leaves[node.element] = leaves.get(node.element, 0.0) + _guarded(guard, bar)
            elif op == 'select':
                c = self.work[args[0]]
                _contribute(bars, args[1], (*guard, (c, True)), bar)
                _contribute(bars, args[2], (*guard, (c, False)), bar)
            elif op not in ('const', *_STEPS):
                partials = self._partials(op, k, [self.work[a] for a in args])
                for a, partial in zip(args, partials):
                    if self.source.nodes[a].op != 'const':
                        _contribute(bars, a, guard, partial(bar))
        return leaves

    def _partials(self, op: str, k: int, values: Sequence[Scalar],
                  ) -> tuple[Callable[[Scalar], Scalar], ...]:
        return _PARTIALS[op](self.work[k], *values)


#: Conditions under which a contribution counts, outermost first.
_Guard = tuple[tuple[Scalar, bool], ...]


def _sum(terms: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for term in terms:
        total = total + term
    return total


def _contribute(bars: dict[int, dict[_Guard, Scalar]], k: int, guard: _Guard, bar: Scalar,
                ) -> None:
    if not is_zero(bar):
        parts = bars.setdefault(k, {})
        parts[guard] = parts.get(guard, 0.0) + bar


def _merged(parts: dict[_Guard, Scalar]) -> tuple[_Guard, Scalar]:
    """Return all contributions as one; a guard stays outside only where all share it."""
    if len(parts) == 1:
        return next(iter(parts.items()))
    return (), _sum([_guarded(guard, bar) for guard, bar in parts.items()])


def _guarded(guard: _Guard, bar: Scalar) -> Scalar:
    for condition, chosen in reversed(guard):
        bar = where(condition, bar, 0.0) if chosen else where(condition, 0.0, bar)
    return bar
