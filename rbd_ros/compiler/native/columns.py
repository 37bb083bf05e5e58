# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A kernel that does the same with each column of a matrix: a loop, with columns on the lanes.

As a straight line the product of two matrices of fifty rows takes a megabyte of instructions,
whose fetching takes several times as long as their execution. Here one function holds the
operations for as many columns as there are lanes, and stays in the cache while it is called again
and again.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler.graph.graph import Columns, Graph, Node
from rbd_ros.compiler.graph.partition import LEAVES, operations, partition
from rbd_ros.compiler.native.body import Body, Layout, Place
from rbd_ros.compiler.native.instructions import Lanes
from rbd_ros.compiler.native.modules import function, module, scalar_functions, whole, workspace
from rbd_ros.compiler.native.target import pointer
from rbd_ros.compiler.scalar import ScalarType


def column_modules(graph: Graph, columns: Columns, extra: Sequence[str], width: int, size: int,
                   table: bool, scalar: ScalarType) -> list[str]:
    """
    Return modules with ``rbd_kernel`` of a graph, see ``scalar_modules``.

    :param graph: what is computed.
    :param columns: how, see there.
    :param extra: lines of functions that call it.
    :param width: the most lanes.
    :param size: operations per part of what comes before the loop.
    :param table: load constants from a table, see ``constant_table``.
    :param scalar: type of all numbers.
    """
    lanes = Lanes(1, scalar=scalar)
    while width > _rows(columns)[1]:
        width //= 2
    first = scalar_functions(columns.first, size, table=table, scalar=scalar)
    before = '\n'.join(first.kernel).replace('@rbd_kernel(', '@rbd_first(')
    real = pointer(lanes.real)
    given = ', '.join([real] * (len(columns.first.inputs) + len(columns.first.outputs)))
    lines = [*extra, *_one_column(columns, width, lanes, table),
             *_kernel(graph, columns, width, lanes)]
    return [module(lines, [f'declare void @rbd_first({given})'], table=table),
            module([before], first.declared, table=table),
            *[module(part, table=table) for part in first.parts]]


def _rows(columns: Columns) -> tuple[int, ...]:
    """Return the shape of the matrices."""
    matrix, _ = columns.matrices[0]
    return columns.first.outputs[columns.first.output_index(matrix)].shape


def _kernel(graph: Graph, columns: Columns, width: int, lanes: Lanes) -> list[str]:
    """Return the kernel: what all columns need, then a loop for each matrix."""
    kind, real = lanes.real, pointer(lanes.real)
    place = {a.name: f'%in{k}' for k, a in enumerate(graph.inputs)}
    place.update({a.name: f'%out{k}' for k, a in enumerate(graph.outputs)})
    lines, room = [], 0
    for a in columns.first.outputs:
        if a.name not in place:
            place[a.name] = f'%w{room}'
            lines.append(f'%w{room} = getelementptr {kind}, {real} %ws, i64 {room}')
            room += -(-a.size // 8) * 8
    head = function('rbd_kernel', [f'{real} {place[a.name]}'
                                   for a in (*graph.inputs, *graph.outputs)])

    def passed(names: Sequence[str]) -> str:
        return ', '.join(f'{real} {name}' for name in names)
    lines = [head, *workspace(lanes, room), *lines,
             f'call void @rbd_first({passed([place[a.name] for a in columns.first.inputs])}, '
             f'{passed([place[a.name] for a in columns.first.outputs])})', 'br label %column0']
    shared = [place[a.name] for a in columns.column.inputs[:-1]]
    for k, (matrix, result) in enumerate(columns.matrices):
        # The last group is moved back to be full: it computes some columns again.
        last = _rows(columns)[1] - width
        lines += [f'column{k}:', f'br label %loop{k}', f'loop{k}:',
                  f'%c{k} = phi i64 [ 0, %column{k} ], [ %next{k}, %loop{k} ]',
                  f'%b{k} = getelementptr {kind}, {real} {place[matrix]}, i64 %c{k}',
                  f'%x{k} = getelementptr {kind}, {real} {place[result]}, i64 %c{k}',
                  f'call void @rbd_column({passed([*shared, f"%b{k}", f"%x{k}"])})',
                  f'%more{k} = icmp slt i64 %c{k}, {last}',
                  f'%far{k} = add i64 %c{k}, {width}',
                  f'%over{k} = icmp sgt i64 %far{k}, {last}',
                  f'%next{k} = select i1 %over{k}, i64 {last}, i64 %far{k}',
                  f'br i1 %more{k}, label %loop{k}, label %column{k + 1}']
    return [*lines, f'column{len(columns.matrices)}:', 'ret void', '}']


def _one_column(columns: Columns, width: int, lanes: Lanes, table: bool) -> list[str]:
    """Return ``rbd_column``, which works on as many neighbours in the rows as there are lanes."""
    graph, widths = _widened(columns, width)
    real, count = pointer(lanes.real), len(graph.inputs)
    names = [*[f'%in{k}' for k in range(count)], '%out0']
    layout = Layout([Place(name, 0) for name in names[:count]], [Place('%out0', 0)], 0)
    (part,), _ = partition(graph, len(graph.nodes), operations(graph), widths=widths)
    stride = graph.outputs[0].shape[1]
    part = part._replace(results=[(k * stride, i) for k, i in part.results])
    body = Body(graph, lanes, layout, set(), widths=widths)
    head = function('rbd_column', [f'{real} noalias {name}' for name in names])
    return whole(head.replace('define', 'define internal', 1), body.write(part, late=True), lanes,
                 table)


def _widened(columns: Columns, width: int) -> tuple[Graph, dict[int, int]]:
    """Return the graph of a column with vectors for what differs between columns."""
    graph, widths = columns.column, {}
    mine = len(graph.inputs) - 1
    rows = _rows(columns)
    nodes: list[Node] = []
    for i, node in enumerate(graph.nodes):
        if node.op == 'input' and node.element[0] == mine:
            nodes.append(node._replace(value=(mine, node.element[1] * rows[1])))
            widths[i] = width
        elif node.op not in LEAVES and not widths.keys().isdisjoint(node.args):
            nodes.append(node)
            widths[i] = width
        else:
            nodes.append(node)
    whole_rows = [a._replace(shape=rows) for a in (graph.inputs[-1], graph.outputs[0])]
    return Graph(graph.name, (*graph.inputs[:-1], whole_rows[0]), (whole_rows[1],), tuple(nodes),
                 graph.results), widths if width > 1 else {}
