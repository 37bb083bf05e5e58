# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A graph as a function on a GPU, which procedures call as a kernel, and the C library's own."""

from __future__ import annotations

from collections.abc import Mapping
import math

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.gpu.angles import sine_cosine
from rbd_ros.compiler.gpu.dialect import Dialect
from rbd_ros.compiler.gpu.functions import FUNCTIONS, Lines
from rbd_ros.compiler.gpu.procedures.device_text import LIBRARY, Spaces
from rbd_ros.compiler.gpu.procedures.places import Memory, Place, Places
from rbd_ros.compiler.gpu.thread import Constants, Thread
from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.graph.partition import LEAVES, operations
from rbd_ros.compiler.native.body import first_of_two_products
from rbd_ros.compiler.native.instructions import double, Lanes
from rbd_ros.compiler.scalar import FLOAT64

Arrays = Mapping[str, NDArray[np.float64]]


def graph_function(name: str, graph: Graph, inputs: Arrays, outputs: Arrays, places: Places,
                   dialect: Dialect, constants: Constants | None) -> list[str]:
    """
    Return a function of the three memories that computes a graph.

    :param name: of the function.
    :param inputs: its arguments by name, on the processor.
    :param outputs: its results.
    :param places: of both.
    """
    lanes = Lanes(1, True, FLOAT64)
    thread = _Placed(graph, lanes, dialect, first_of_two_products(graph), constants, False,
                     exact=True)
    thread.at = {
        **{('in', k): places.of(inputs[a.name]) for k, a in enumerate(graph.inputs)},
        **{('out', k): places.of(outputs[a.name]) for k, a in enumerate(graph.outputs)}}
    wanted: dict[int, list[int]] = {}
    for element, i in enumerate(graph.results):
        wanted.setdefault(i, []).append(element)
    for i in operations(graph):
        thread.compute(i)
        for element in wanted.get(i, ()):
            thread.store(i, element)
    for i, elements in wanted.items():
        if graph.nodes[i].op in LEAVES:
            for element in elements:
                thread.store(i, element)
    return [_head(name, dialect), *thread.lines, 'ret void', '}']


def no_function(name: str, outputs: Arrays, places: Places, dialect: Dialect) -> list[str]:
    """Return a function in the place of a graph that is not there: its results are NaN."""
    lines, spaces = [_head(name, dialect)], Spaces(dialect)
    for k, array in enumerate(outputs.values()):
        memory, at = places.of(array)
        of, step = spaces.pointer(memory), Spaces.step(memory)
        for e in range(array.size):
            lines += [f'%p{k}.{e} = getelementptr inbounds double, {of} %{memory.value}, '
                      f'i64 {(at + e) * step}',
                      f'store double {double(math.nan)}, {of} %p{k}.{e}, align 8']
    return [*lines, 'ret void', '}']


def _head(name: str, dialect: Dialect) -> str:
    return f'define void {name}({", ".join(Spaces(dialect).parameters)}) nounwind norecurse {{'


class _Placed(Thread):
    """A thread whose arguments have places; what is not finite is the procedure's affair."""

    #: Where arguments and results begin, by side and number.
    at: Mapping[tuple[str, int], Place]

    def load(self, argument: int, element: int, row: str = '') -> str:
        """Return the name of an element of an input, loaded here."""
        name, address = self._name('i'), self._address('in', argument, element, row)
        common = self.at['in', argument].memory is Memory.COMMON
        self.lines.append(f'{name} = load {self.real}, {address}'
                          + (', !invariant.load !0' if common else ''))
        return name

    def _address(self, side: str, argument: int, element: int, row: str = '') -> str:
        memory, at = self.at[side, argument]
        name, of = self._name('p'), Spaces(self._dialect).pointer(memory)
        self.lines.append(f'{name} = getelementptr inbounds double, {of} %{memory.value}, '
                          f'i64 {(at + element) * Spaces.step(memory)}')
        return f'{of} {name}, align 8'


def library() -> list[str]:
    """Return the functions of the C library that procedures call."""
    lines = []
    for name in LIBRARY:
        if name in ('sin', 'cos'):
            body, names = sine_cosine(FLOAT64, '%x', 'a')
            lines += [f'define internal double @"rbd.{name}"(double %x) nounwind {{', *body,
                      f'ret double {names[name]}', '}']
            continue
        made = Lines('f')
        given = ['%y', '%x'] if name == 'atan2' else ['%x']
        result = FUNCTIONS[name](made, *given)
        listed = ', '.join(f'double {each}' for each in given)
        lines += [f'define internal double @"rbd.{name}"({listed}) nounwind {{', *made.lines,
                  f'ret double {result}', '}']
    return lines
