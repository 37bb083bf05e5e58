# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A graph as LLVM functions, one straight line or several past a size, and as object code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.graph.partition import angles_first, even, operations, Partition, partition
from rbd_ros.compiler.kernel import Progress
from rbd_ros.compiler.native.body import Body, first_of_two_products, Layout, Place
from rbd_ros.compiler.native.constant_table import in_memory
from rbd_ros.compiler.native.instructions import (
    declarations, Lanes, LIBRARY, library_loop, sine_cosine, sine_cosine_name)
from rbd_ros.compiler.native.target import pointer, Target
from rbd_ros.compiler.native.zeros import left_out
from rbd_ros.compiler.scalar import FLOAT32, FLOAT64, ScalarType

#: Operations per function once a graph is cut, which it is past twice as many; measured: shorter
#: parts cost memory traffic, longer ones compile time and, past a few thousand, run time.
PART = 1000
#: A graph of up to so many operations is left whole where more than this share of them would
#: cross cuts; measured: kernels of derivatives, which keep much alive, are a fifth faster then,
#: while inverse dynamics of a humanoid, whose branches part, would be a tenth slower.
WHOLE, CROSSING = 8000, 0.2
#: Elements of an input that are copied one by one; more take a loop, since the code generator
#: spends half a second on the copies of a chain of two hundred joints.
UNROLLED = 64
#: Operations past which code is generated without optimisation: half of the time to compile, and
#: twice the time to run.
LONG = 100_000
_EVERY = [Lanes(count, scalar=scalar) for scalar in (FLOAT64, FLOAT32)
          for count in (1, 2, 4, 8, 16)]


class Functions(NamedTuple):
    """
    The functions of a graph as lines of text.

    :param kernel: ``void rbd_kernel(real *in0, ..., real *out0, ...)``.
    :param parts: those that it calls, one after the other.
    :param declared: how a module without them declares them.
    """

    kernel: list[str]
    parts: list[list[str]]
    declared: list[str]


def scalar_modules(graph: Graph, extra: Sequence[str] = (), size: int = PART,
                   fused: bool = True, table: bool = False,
                   scalar: ScalarType = FLOAT64) -> list[str]:
    """
    Return modules with the functions of a graph, see ``scalar_functions``.

    The first module holds the kernel; its parts come one by one.

    :param extra: lines of functions that call it, for the first module.
    """
    found = scalar_functions(graph, size, fused, table, scalar)
    return [module([*extra, *found.kernel], found.declared, table=table),
            *[module(part, table=table) for part in found.parts]]


def scalar_functions(graph: Graph, size: int = PART, fused: bool = True, table: bool = False,
                     scalar: ScalarType = FLOAT64, angular: Lanes | None = None) -> Functions:
    """
    Return a graph as a function, or as several past a size.

    It reads all inputs before it writes any output, uses the stack only, and may run in several
    threads at once.

    :param graph: what to compute.
    :param size: operations per part.
    :param fused: see ``Lanes``.
    :param table: load constants from a table, see ``constant_table``.
    :param scalar: type of all numbers.
    :param angular: see ``Body``.
    """
    lanes, (parts, slots) = Lanes(1, fused, scalar), in_parts(graph, size)
    real, alone = pointer(lanes.real), first_of_two_products(graph)
    arguments = [f'%in{k}' for k in range(len(graph.inputs))]
    results = [f'%out{k}' for k in range(len(graph.outputs))]
    outputs = [Place(name, 0) for name in results]
    head, zeros = _head(graph, lanes, arguments, results), not left_out(graph)
    if len(parts) == 1:
        layout = Layout([Place(name, 0) for name in arguments], outputs, 0)
        lines = Body(graph, lanes, layout, alone, zeros, angular).write(parts[0])
        return Functions(whole(head, lines, lanes, table), [], [])
    shared = Layout.of_workspace(graph)
    layout = Layout(shared.inputs, outputs, sum(a.size for a in graph.inputs))
    passed = ', '.join(f'{real} {name}' for name in ['%ws', *results])
    copier = _copy(lanes) if max(a.size for a in graph.inputs) > UNROLLED else []
    driver = [*copier, head, *workspace(lanes, layout.slots + slots),
              *_copy_inputs(graph, layout, lanes),
              *[f'call void @rbd_part{k}({passed})' for k in range(len(parts))], 'ret void', '}']
    listed = ', '.join([real] * (1 + len(results)))
    # The workspace is the caller's own stack: nothing else points to it. Inputs and outputs
    # must never be called noalias, since an output may be an input.
    names = [f'{real} noalias %ws', *[f'{real} {name}' for name in results]]
    texts = [whole(function(f'rbd_part{k}', names),
                   Body(graph, lanes, layout, alone, zeros, angular).write(part), lanes, table)
             for k, part in enumerate(parts)]
    return Functions(driver, texts,
                     [f'declare void @rbd_part{k}({listed})' for k in range(len(parts))])


def _head(graph: Graph, lanes: Lanes, arguments: list[str], results: list[str]) -> str:
    """
    Return what comes before the body of a kernel.

    Where a bound kernel leaves zeros out, the body is that of ``rbd_nonzero``, which it calls, and
    ``rbd_kernel`` is that one and the zeros.
    """
    parameters = [f'{pointer(lanes.real)} {name}' for name in arguments + results]
    if not left_out(graph):
        return function('rbd_kernel', parameters)
    layout = Layout([], [Place(name, 0) for name in results], 0)
    return '\n'.join([
        function('rbd_kernel', parameters), f'call void @rbd_nonzero({", ".join(parameters)})',
        *Body(graph, lanes, layout, set()).write_zeros(), 'ret void', '}',
        function('rbd_nonzero', parameters)])


def in_parts(graph: Graph, size: int) -> Partition:
    """Return a graph in parts that become one function each."""
    return partition(graph, size, angles_first(graph), even)


def part_size(graph: Graph) -> int:
    """Return how many operations a function of a scalar kernel should have."""
    count = len(operations(graph))
    if count > WHOLE:
        return PART
    parts, _ = in_parts(graph, PART)
    crossing = sum(len(part.loads) + len(part.stores) for part in parts)
    return WHOLE if crossing > CROSSING * count else PART


def _copy_inputs(graph: Graph, layout: Layout, lanes: Lanes) -> list[str]:
    kind, real, lines = lanes.real, pointer(lanes.real), []
    for k, (argument, place) in enumerate(zip(graph.inputs, layout.inputs, strict=True)):
        if argument.size > UNROLLED:
            lines += [f'%to{k} = getelementptr {kind}, {real} %ws, i64 {place.at}',
                      f'call void @rbd_copy({real} %in{k}, {real} %to{k}, i64 {argument.size})']
            continue
        for e in range(argument.size):
            tag = f'%i{k}.{e}'
            lines += [f'{tag}.p = getelementptr {kind}, {real} %in{k}, i64 {e}',
                      f'{tag} = load {kind}, {real} {tag}.p, align {lanes.align}',
                      f'{tag}.q = getelementptr {kind}, {real} %ws, i64 {place.at + e}',
                      f'store {kind} {tag}, {real} {tag}.q, align {lanes.align}']
    return lines


def _copy(lanes: Lanes) -> list[str]:
    """Return a function that copies a long array, at least one element."""
    kind, real, align = lanes.real, pointer(lanes.real), lanes.align
    return [
        f'define internal void @rbd_copy({real} %from, {real} %to, i64 %count) nounwind {{',
        'entry:', 'br label %one', 'one:',
        '%k = phi i64 [ 0, %entry ], [ %next, %one ]',
        f'%source = getelementptr {kind}, {real} %from, i64 %k',
        f'%value = load {kind}, {real} %source, align {align}',
        f'%target = getelementptr {kind}, {real} %to, i64 %k',
        f'store {kind} %value, {real} %target, align {align}',
        '%next = add i64 %k, 1', '%more = icmp ult i64 %next, %count',
        'br i1 %more, label %one, label %done', 'done:', 'ret void', '}']


def workspace(lanes: Lanes, slots: int) -> list[str]:
    """Return the lines that reserve the workspace ``%ws`` on the stack."""
    return [f'%ws = alloca {lanes.real}, i64 {max(1, slots)}, align 64']


def function(name: str, parameters: list[str], result: str = 'void') -> str:
    """Return the first line of a function that others can call."""
    return f'define {result} @{name}({", ".join(parameters)}) nounwind {{'


def whole(head: str, lines: Sequence[str], lanes: Lanes, table: bool) -> list[str]:
    """Return a function from its first line and its body."""
    declared, lines = in_memory(lines, lanes, 'constants') if table else ([], lines)
    return [*declared, head, *lines, 'ret void', '}']


def module(lines: Sequence[str], extra: Sequence[str] = (), *, table: bool = False) -> str:
    """Return a module with the helpers that its lines call."""
    text = '\n'.join([*lines, *extra])
    used = [lanes for lanes in _EVERY if lanes.count == 1 or lanes.real in text]
    helpers = []
    for lanes in used:
        if lanes.scalar is FLOAT64 and f'@{sine_cosine_name(lanes)}(' in text:
            body = sine_cosine(lanes)
            declared, body = in_memory(body, lanes, f'angular{lanes.count}') if table else (
                [], body)
            helpers += [*declared, *body]
        if lanes.library('') != '':
            helpers += [library_loop(lanes, op) for op in LIBRARY
                        if f'@{lanes.library(op)}(' in text]
    return '\n'.join([*declarations(used), *helpers, text, ''])


def effort(graph: Graph) -> int:
    """Return how hard LLVM should try, from 0 to 2: not at all where it would take too long."""
    straight = graph if graph.columns is None else graph.columns.first
    return 2 if straight.count().total <= LONG else 0


def emit_all(name: str, texts: Sequence[str], target: Target, progress: Progress | None,
             opt: int = 2) -> list[bytes]:
    """Return the object code of modules, and say after each how much of all is done."""
    objects = []
    for k, text in enumerate(texts):
        objects.append(target.emit(text, opt))
        if progress is not None:
            progress(name, (k + 1) / len(texts))
    return objects
