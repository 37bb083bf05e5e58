# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Several graphs as one object file that needs no library."""

from __future__ import annotations

from collections.abc import Sequence
import re
from typing import NamedTuple

from rbd_ros.compiler.embedded.library import declarations, floor_lines, library
from rbd_ros.compiler.embedded.processors import Processor
from rbd_ros.compiler.gpu.functions import FUNCTIONS
from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.native.instructions import Lanes
from rbd_ros.compiler.native.modules import module, part_size, scalar_functions
from rbd_ros.compiler.native.target import binding
from rbd_ros.compiler.scalar import FLOAT64, ScalarType
from rbd_ros.errors import SettingError

#: Names inside a module of a graph: the kernel, and what it calls.
_KERNEL, _OWN = re.compile(r'@rbd_kernel\b'), re.compile(r'@rbd_(?=part|nonzero|copy)')
_WORKSPACE = re.compile(r'^%ws = alloca \w+, i64 (\d+)', re.MULTILINE)
_LIBRARY = re.compile(r'declare double @(\w+)\(.*')


class ObjectFile(NamedTuple):
    """
    Object code of graphs.

    :param code: the file.
    :param stack: bytes that it takes of the stack, besides registers: what functions in parts hand
        on from part to part, and pairs of sine and cosine, each of which LLVM gives its own place.
    """

    code: bytes
    stack: int


def emit_object(graphs: Sequence[Graph], prefix: str, processor: Processor,
                scalar: ScalarType) -> ObjectFile:
    """
    Return an object file with one function ``prefix_name`` for each graph.

    A function takes a pointer to each input, then to each output, row-major. It reads all inputs
    before it writes any output, and keeps no state.

    :param graphs: what to compute.
    :param prefix: begins every name.
    :param processor: that it runs on.
    :param scalar: type of all numbers.
    """
    machine = processor.target.machine(2)
    head = (f'target datalayout = "{machine.target_data}"\n'
            f'target triple = "{processor.target.triple}"\n')
    text = module_text(graphs, prefix, processor, scalar)
    llvm = binding()
    module = llvm.parse_assembly(head + text, llvm.create_context())
    slots = max(map(int, _WORKSPACE.findall(text)), default=0)
    pairs = 2 * FLOAT64.size * text.count('@sine_cosine_')
    return ObjectFile(machine.emit_object(module), slots * scalar.size + pairs)


def module_text(graphs: Sequence[Graph], prefix: str, processor: Processor,
                scalar: ScalarType) -> str:
    """Return graphs as the text of one module, but for the name of the target."""
    lines: list[str] = []
    angular = Lanes(1, scalar=processor.angles)
    for graph in graphs:
        scalar.check(graph)
        _check_functions(graph, processor)
        found = scalar_functions(graph, part_size(graph), scalar=scalar, angular=angular)
        own = '\n'.join([*found.kernel, *[line for part in found.parts for line in part]])
        own = own.replace('define void @rbd_part', 'define internal void @rbd_part')
        own = own.replace('define void @rbd_nonzero', 'define internal void @rbd_nonzero')
        name = f'{prefix}_{graph.name}'
        lines.append(_OWN.sub(f'@{name}_', _KERNEL.sub(f'@{name}', own)))
    text = module(lines)
    lanes = Lanes(1, scalar=scalar)
    floor = f'@llvm.floor.{lanes.suffix}'
    if not processor.floor and f'call {lanes.real} {floor}(' in text:
        text = '\n'.join([text.replace(f'call {lanes.real} {floor}(',
                                       f'call {lanes.real} @rbd_floor('), *floor_lines(lanes)])
    # the module is whole: what it calls is defined in it, not declared
    text = '\n'.join(line for line in text.splitlines() if not _LIBRARY.fullmatch(line)
                     or line.startswith('declare double @llvm.'))
    return '\n'.join([text, *library(text), *declarations(), ''])


def _check_functions(graph: Graph, processor: Processor) -> None:
    """Refuse functions that need doubles where a processor has none."""
    used = sorted({node.op for node in graph.nodes} & set(FUNCTIONS))
    if used and FLOAT64 not in processor.scalars:
        raise SettingError(
            f'{graph.name} needs {", ".join(used)}, which is computed in double, and '
            f'{processor.name} has no instructions for it: choose cortex-m7, or write C99 '
            '(rbd codegen without --target) and compile it with your C library')
