# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Many steps in one kernel: a graph is one step, whose results are the arguments of the next.

The state stays in registers from step to step, so that memory is read once and written where a
step is recorded. Every argument of a step is one of three: carried from step to step, varying (one
of each step), or the same in all steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbd_ros.compiler.gpu.dialect import Dialect
from rbd_ros.compiler.gpu.order import best_order
from rbd_ros.compiler.gpu.program import Form, kernel, module_text, parameters, Program
from rbd_ros.compiler.gpu.thread import Constants, Thread
from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.native.body import first_of_two_products
from rbd_ros.compiler.native.instructions import Lanes
from rbd_ros.compiler.scalar import scalar_type, ScalarType

#: Words after those of every kernel: number of steps, and steps from record to record.
_STEPS = ('i64 %steps', 'i64 %every')


def rollout_program(graph: Graph, carried: Mapping[str, str], varying: Sequence[str],
                    dialect: Dialect, scalar: str | ScalarType = 'float64',
                    form: Form | None = None) -> Program:
    """
    Return a loop over a graph as a kernel.

    Its parameters are those of ``program``, then the number of steps and the steps from record to
    record. Results, and arguments that vary, have a leading axis of records or steps, evenly
    spaced with their elements.

    :param graph: one step.
    :param carried: which result becomes which argument of the next step, by the argument's name.
    :param varying: names of the arguments that each step has of its own.
    :param dialect: words of the processor.
    :param scalar: type of all numbers.
    :param form: how, by the size of the graph where nothing is said; it is never cut.
    """
    kind = scalar_type(scalar)
    kind.check(graph)
    form = form or Form.of(graph, kind)
    lanes = Lanes(1, form.fused, kind)
    constants = Constants(dialect, kind) if form.table else None
    ends = [i for result in carried.values() for i in graph.output_results(result)]
    thread = Thread(graph, lanes, dialect, first_of_two_products(graph), constants, False,
                    not form.fused, ends)
    lines = kernel('rbd_0', [*parameters(graph, dialect), *_STEPS], dialect,
                   _loop(graph, carried, varying, thread, form.held(kind)), form)
    return Program(module_text(dialect, lanes, constants, lines, form), ('rbd_0',), 0, form)


def _loop(graph: Graph, carried: Mapping[str, str], varying: Sequence[str],
          thread: Thread, registers: int) -> list[str]:
    """Return the lines of a thread: loads, the loop, records, and the report."""
    known = {node.element: i for i, node in enumerate(graph.nodes) if node.op == 'input'}
    places = [(graph.input_index(name), result) for name, result in carried.items()]
    moving = {argument for argument, _ in places}
    late = {graph.input_index(name) for name in varying}
    for (argument, _), i in sorted(known.items()):
        if argument not in moving | late:
            thread.value(i)
    ways = [(f'%c{argument}.{e}', thread.load(argument, e), known.get((argument, e)), result)
            for argument, name in places
            for e, result in enumerate(graph.output_results(name))]
    for _, first, node, _ in ways:
        if node is not None:
            thread.look_at(node, first)
    thread.lines += ['br label %loop', 'loop:']
    top = len(thread.lines)
    for name, _, node, _ in ways:
        if node is not None:
            thread.name(node, name)
    for (argument, e), i in sorted(known.items()):
        if argument in late:
            thread.name(i, thread.load(argument, e, '%step'))
    for i in best_order(graph, registers):
        thread.compute(i)
    ends = [(name, first, thread.value(result)) for name, first, _, result in ways]
    thread.lines[top:top] = [
        '%step = phi i64 [ 0, %work ], [ %next, %tail ]',
        '%row = phi i64 [ 0, %work ], [ %row.next, %tail ]',
        '%left = phi i64 [ %every, %work ], [ %left.next, %tail ]',
        *[f'{name} = phi {thread.real} [ {first}, %work ], [ {last}, %tail ]'
          for name, first, last in ends]]
    thread.lines += ['%next = add i64 %step, 1', '%fewer = sub i64 %left, 1',
                     '%due = icmp eq i64 %fewer, 0', 'br i1 %due, label %record, label %tail',
                     'record:']
    for element, i in enumerate(graph.results):
        thread.store(i, element, '%row')
    thread.lines += [
        'br label %tail', 'tail:', '%row.one = add i64 %row, 1',
        '%row.next = select i1 %due, i64 %row.one, i64 %row',
        '%left.next = select i1 %due, i64 %every, i64 %fewer',
        '%more = icmp ult i64 %next, %steps', 'br i1 %more, label %loop, label %out', 'out:']
    for _, _, last in ends:
        thread.doubt(last)
    thread.report()
    return thread.lines
