# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Many states at once: the same graph on the lanes of the vector registers, and on all cores.

States come as arrays of structures, (count, n). For each group of as many states as there are
lanes, small transpositions in registers bring every element onto its lanes in the workspace, the
parts of the graph run there, and the results go back the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
from itertools import pairwise
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.graph.graph import Argument, Graph
from rbd_ros.compiler.native.body import Body, first_of_two_products, Layout
from rbd_ros.compiler.native.instructions import Lanes
from rbd_ros.compiler.native.loader import Code
from rbd_ros.compiler.native.modules import function, in_parts, module, PART, whole
from rbd_ros.compiler.native.pool import run_together
from rbd_ros.compiler.native.shuffle import join, piece, shuffle
from rbd_ros.compiler.native.target import pointer
from rbd_ros.compiler.scalar import FLOAT64, ScalarType

#: Operations times states below which a second thread costs more than it saves.
_WORTH_A_THREAD = 400_000
#: An argument of up to so many numbers is moved without a call where there are two lanes: the call
#: would take more instructions than a tile of two by two. Longer ones would only be longer code.
_INLINE = 64


def batch_modules(graph: Graph, width: int, size: int = PART, fused: bool = True,
                  table: bool = False,
                  scalar: ScalarType = FLOAT64) -> tuple[list[str], int]:
    """
    Return modules with ``rbd_batch``, and how many numbers its workspace holds.

    Its arguments are the workspace, address and stride (in elements; 0 for one shared by all
    states) of each input, the address of each output, and the range of states, which must hold
    at least as many as there are lanes.

    :param graph: what to compute.
    :param width: number of lanes.
    :param size: operations per part.
    :param fused: see ``Lanes``.
    :param table: load constants from a table, see ``constant_table``.
    :param scalar: type of all numbers.
    """
    lanes, (parts, slots) = Lanes(width, fused, scalar), in_parts(graph, size)
    layout = Layout.of_workspace(graph)
    real, alone = pointer(lanes.real), first_of_two_products(graph)
    texts = [module(_driver(graph, lanes, layout, len(parts)),
                    [f'declare void @rbd_part{k}({real})' for k in range(len(parts))])]
    for k, part in enumerate(parts):
        lines = Body(graph, lanes, layout, alone).write(part, late=True)
        head = function(f'rbd_part{k}', [f'{real} noalias %ws'])
        texts.append(module(whole(head, lines, lanes, table), table=table))
    return texts, width * max(1, layout.slots + slots)


def _driver(graph: Graph, lanes: Lanes, layout: Layout, parts: int) -> list[str]:
    real, row = pointer(lanes.real), pointer(lanes.scalar.c)
    ins, outs = range(len(graph.inputs)), range(len(graph.outputs))
    head = function('rbd_batch', [
        f'{real} noalias %ws', *[p for k in ins for p in (f'{row} %in{k}', f'i64 %stride{k}')],
        *[f'{row} %out{k}' for k in outs], 'i64 %begin', 'i64 %end'])
    # The last group is moved back to be full: it computes some states again.
    lines = [head, f'%last = sub i64 %end, {lanes.count}', 'br label %loop', 'loop:',
             '%k = phi i64 [ %begin, %0 ], [ %next, %loop ]',
             '%inside = icmp slt i64 %k, %last',
             '%at = select i1 %inside, i64 %k, i64 %last']
    widths: set[tuple[str, int]] = set()
    for k, argument in enumerate(graph.inputs):
        lines += [f'%ia{k} = mul i64 %at, %stride{k}']
        lines += _transfers('pack', lanes, f'in{k}', f'%ia{k}', f'%stride{k}', argument,
                            layout.inputs[k].at, widths)
    lines += [f'call void @rbd_part{k}({real} %ws)' for k in range(parts)]
    for k, argument in enumerate(graph.outputs):
        lines += [f'%oa{k} = mul i64 %at, {argument.size}']
        lines += _transfers('unpack', lanes, f'out{k}', f'%oa{k}', str(argument.size),
                            argument, layout.outputs[k].at, widths)
    lines += [f'%next = add i64 %k, {lanes.count}',
              'br i1 %inside, label %loop, label %done', 'done:', 'ret void', '}']
    return [line for kind, c in sorted(widths)
            for line in _transfer_function(kind, lanes, c)] + lines


def _transfers(kind: str, lanes: Lanes, base: str, start: str, stride: str,
               argument: Argument, index: int, widths: set[tuple[str, int]]) -> list[str]:
    """Return lines that move one argument, in tiles of as many columns as fit."""
    real, row = pointer(lanes.real), pointer(lanes.scalar.c)
    inline = lanes.count == 2 and argument.size <= _INLINE
    first, column = f'%{base}.row', 0
    lines = [f'{first} = getelementptr {lanes.scalar.c}, {row} %{base}, i64 {start}']
    if inline:
        lines += _rows(lanes, f'%{base}.', first, stride)
    while column < argument.size:
        c = lanes.count
        while c > argument.size - column:
            c //= 2
        tag = f'%{base}.{column}'
        lines.append(f'{tag}.q = getelementptr {lanes.real}, {real} %ws, i64 {index + column}')
        if inline:
            lines += _tile(kind, lanes, c, _Tile(f'{tag}.', f'%{base}.', column, f'{tag}.q'))
        else:
            widths.add((kind, c))
            lines += [f'{tag}.p = getelementptr {lanes.scalar.c}, {row} {first}, i64 {column}',
                      f'call void @{kind}{c}({row} {tag}.p, i64 {stride}, {real} {tag}.q)']
        column += c
    return lines


def _transfer_function(kind: str, lanes: Lanes, c: int) -> list[str]:
    """Return the function that moves a tile of c columns."""
    real, row = pointer(lanes.real), pointer(lanes.scalar.c)
    return [f'define internal void @{kind}{c}({row} %row, i64 %stride, {real} noalias %ws) '
            'nounwind noinline {', *_rows(lanes, '%', '%row', '%stride'),
            *_tile(kind, lanes, c, _Tile('%', '%', 0, '%ws')), 'ret void', '}']


def _rows(lanes: Lanes, tag: str, first: str, stride: str) -> list[str]:
    """Return lines that find the row of each lane: pointers named by the tag, p and a number."""
    row = pointer(lanes.scalar.c)
    return [line for r in range(lanes.count) for line in (
        f'{tag}e{r} = mul i64 {stride}, {r}',
        f'{tag}p{r} = getelementptr {lanes.scalar.c}, {row} {first}, i64 {tag}e{r}')]


class _Tile(NamedTuple):
    """
    Where a tile is.

    :param tag: what its own names begin with.
    :param rows: what the names of the pointers to rows begin with.
    :param column: its first one.
    :param ws: pointer to its place in the workspace.
    """

    tag: str
    rows: str
    column: int
    ws: str


def _tile(kind: str, lanes: Lanes, c: int, place: _Tile) -> list[str]:
    """
    Return lines that move a tile between rows in memory and lanes in the workspace.

    The tile has one row per lane and c columns. Seen as c vectors, each of which holds every
    c-th row, both directions are the transposition of square blocks of c.
    """
    w, real, row = lanes.count, pointer(lanes.real), pointer(lanes.scalar.c)
    tile_row, align, tag = Lanes(c, scalar=lanes.scalar).real, lanes.scalar.size, place.tag
    lines = []
    for r in range(w):
        lines += [f'{tag}c{r} = getelementptr {lanes.scalar.c}, {row} {place.rows}p{r}, '
                  f'i64 {place.column}',
                  f'{tag}r{r} = bitcast {row} {tag}c{r} to {pointer(tile_row)}']
    lines += [f'{tag}s{j} = getelementptr {lanes.real}, {real} {place.ws}, i64 {j}'
              for j in range(c)]
    if kind == 'pack':
        lines += [f'{tag}x{r} = load {tile_row}, {pointer(tile_row)} {tag}r{r}, align {align}'
                  for r in range(w)]
        names = [join(lines, f'{tag}v{j}', [f'{tag}x{b * c + j}' for b in range(w // c)], c,
                      lanes.scalar) for j in range(c)]
    else:
        names = [f'{tag}v{j}' for j in range(c)]
        lines += [f'{tag}v{j} = load {lanes.real}, {real} {tag}s{j}, align {lanes.align}'
                  for j in range(c)]
    names = _transpose(lines, names, lanes, c)
    if kind == 'pack':
        lines += [f'store {lanes.real} {name}, {real} {tag}s{j}, align {lanes.align}'
                  for j, name in enumerate(names)]
    else:
        for r in range(w):
            lines.append(piece(f'{tag}y{r}', names[r % c], lanes, r // c, c))
            lines.append(f'store {tile_row} {tag}y{r}, {pointer(tile_row)} {tag}r{r}, '
                         f'align {align}')
    return lines


def _transpose(lines: list[str], names: list[str], lanes: Lanes, c: int) -> list[str]:
    """Transpose the blocks of c by c in c vectors; return the names of the results."""
    w, step = lanes.count, c // 2
    while step:
        merged = list(names)
        for j in range(c):
            if j & step:
                continue
            a, b = names[j], names[j + step]
            low = [p if not p & step else w + p - step for p in range(w)]
            high = [p + step if not p & step else w + p for p in range(w)]
            for k, indices in ((j, low), (j + step, high)):
                merged[k] = f'{names[k]}.{step}'
                lines.append(shuffle(merged[k], lanes.real, a, b, indices))
        names, step = merged, step // 2
    return names


class BatchProgram:
    """
    A loaded batch kernel.

    :param code: the loaded modules.
    :param inputs: arguments of the graph.
    :param outputs: its results.
    :param width: number of lanes.
    :param workspace: how many numbers each thread needs.
    :param cost: operations per state.
    :param scalar: type of all numbers.
    """

    def __init__(self, code: Code, inputs: Sequence[Argument], outputs: Sequence[Argument],
                 width: int, workspace: int, cost: int, scalar: ScalarType = FLOAT64) -> None:
        self._code, self._width, self._workspace = code, width, workspace
        self._cost, self._dtype = cost, np.dtype(scalar.name)
        self._inputs, self._outputs = inputs, outputs
        kinds = [ctypes.c_void_p, *[ctypes.c_void_p, ctypes.c_int64] * len(inputs),
                 *[ctypes.c_void_p] * len(outputs), ctypes.c_int64, ctypes.c_int64]
        # CFUNCTYPE gives up the interpreter's lock during the call; PYFUNCTYPE would not.
        self._function = ctypes.CFUNCTYPE(None, *kinds)(code.address('rbd_batch'))

    def run(self, inputs: Sequence[NDArray[Any]], batched: Sequence[bool],
            outputs: Sequence[NDArray[Any]], count: int, threads: int | None) -> None:
        """Compute many states; see ``Kernel.run_batch``."""
        if count < self._width:
            self._run_few(inputs, batched, outputs, count)
            return
        targets = [np.empty_like(y) if any(np.may_share_memory(x, y) for x in inputs) else y
                   for y in outputs]
        addresses = []
        for argument, array, leading in zip(self._inputs, inputs, batched, strict=True):
            addresses += [array.ctypes.data, argument.size if leading else 0]
        addresses += [y.ctypes.data for y in targets]
        self._share(addresses, count, threads, (inputs, targets))
        for target, y in zip(targets, outputs, strict=True):
            if target is not y:
                y[...] = target

    def _share(self, addresses: list[int], count: int, threads: int | None,
               arrays: object) -> None:
        if threads is None:
            threads = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else (
                os.cpu_count() or 1)
            threads = min(threads, 1 + count * self._cost // _WORTH_A_THREAD)
        threads = max(1, min(threads, count // self._width))
        cuts = [count * k // threads for k in range(threads + 1)]

        def task(begin: int, end: int) -> Callable[[], None]:
            block = np.empty(self._workspace + 16, self._dtype)
            place = -(-block.ctypes.data // 64) * 64

            # Its memory stays as long as a task does, whatever becomes of the caller.
            def work(keep: object = (block, arrays)) -> None:
                self._function(place, *addresses, begin, end)
            return work
        tasks = [task(begin, end) for begin, end in pairwise(cuts)]
        if threads == 1:
            tasks[0]()
        else:
            run_together(tasks)

    def _run_few(self, inputs: Sequence[NDArray[Any]], batched: Sequence[bool],
                 outputs: Sequence[NDArray[Any]], count: int) -> None:
        """Fill the lanes with repetitions of the last state."""
        rows = np.minimum(np.arange(self._width), count - 1)
        wide = [x[rows] if leading else x for x, leading in zip(inputs, batched, strict=True)]
        results = [np.empty((self._width, *y.shape[1:]), self._dtype) for y in outputs]
        self.run(wide, batched, results, self._width, 1)
        for y, result in zip(outputs, results, strict=True):
            y[...] = result[:count]
