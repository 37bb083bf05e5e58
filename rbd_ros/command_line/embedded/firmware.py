# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Firmware for a Cortex-M: object code of a robot's functions, and an example that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, TYPE_CHECKING

from rbd_ros.command_line.c_project import chosen_graphs
from rbd_ros.command_line.embedded.templates import filled
from rbd_ros.command_line.sample_calls import sample_call
from rbd_ros.compiler.embedded.object_file import emit_object
from rbd_ros.compiler.source.c99 import emit_c, literal
from rbd_ros.quoting import in_comment

if TYPE_CHECKING:
    from rbd_ros.compiler.embedded.processors import Processor
    from rbd_ros.compiler.graph.graph import Graph
    from rbd_ros.compiler.scalar import ScalarType
    from rbd_ros.dynamics.quantity import Target
    from rbd_ros.model.model import Model

__all__ = ['firmware_project']

#: States of the example, of each function.
STATES = 4
_FILES = ('startup.c', 'semihosting.c', 'board.h', 'firmware.ld', 'Makefile', 'main.c')


class _Board(NamedTuple):
    """
    What a firmware is built for.

    :param fpu: the unit for floating-point numbers, as GCC calls it.
    :param machine: a board that QEMU emulates.
    """

    fpu: str
    machine: str


_BOARDS = {'cortex-m4': _Board('fpv4-sp-d16', 'mps2-an386'),
           'cortex-m7': _Board('fpv5-d16', 'mps2-an500')}


class _Accuracy(NamedTuple):
    """Digits that the example shows, the unit of errors, and how many it accepts."""

    digits: int
    unit: str
    tolerance: int


_ACCURACY = {'float': _Accuracy(6, '1e-9', 1_000_000), 'double': _Accuracy(12, '1e-15', 100_000)}


def firmware_project(model: Model, quantities: Sequence[tuple[str, Target]], *, prefix: str,
                     processor: Processor, scalar: str | None = None) -> dict[str, str | bytes]:
    """
    Return the files of a project by name.

    :param model: the robot.
    :param quantities: names from the table of quantities, each with its frame or None.
    :param prefix: of every name in the code, and name of its files.
    :param processor: a Cortex-M.
    :param scalar: type of the numbers; where nothing is said, double if the processor has it.
    """
    kind = processor.scalar(scalar)
    graphs = chosen_graphs(model, quantities, prefix)
    board, accuracy = _BOARDS[processor.name], _ACCURACY[kind.c]
    names = {
        'prefix': prefix, 'robot': in_comment(model.name), 'real': kind.c,
        'joints': in_comment(', '.join(model.independent_joint_names)),
        'processor': processor.name, 'fpu': board.fpu, 'machine': board.machine,
        'states': str(STATES), 'digits': str(accuracy.digits), 'unit': accuracy.unit,
        'tolerance': str(accuracy.tolerance),
        'largest': str(max(sum(a.size for a in graph.outputs) for graph in graphs)),
        'tests': _tests(model, graphs, prefix, kind)}
    return {f'{prefix}.o': emit_object(graphs, prefix, processor, kind).code,
            f'{prefix}.h': emit_c(graphs, prefix, scalar=kind).header,
            **{name: filled(f'{name}.in', **names) for name in _FILES}}


def _tests(model: Model, graphs: Sequence[Graph], prefix: str, scalar: ScalarType) -> str:
    """Return arguments and expected results of each function, and the table of all."""
    blocks, rows = [], []
    for graph in graphs:
        calls = [sample_call(model, graph, seed, scalar.name) for seed in range(STATES)]
        name = graph.name
        for kind, sides in (('in', [call.inputs for call in calls]),
                            ('expected', [call.outputs for call in calls])):
            lines = [f'    {literal(value, scalar)},' for side in sides
                     for values in side.values() for value in values.tolist()]
            blocks.append('\n'.join([f'static const real {name}_{kind}[] = {{', *lines, '};', '']))
        sizes = [[a.size for a in arguments] for arguments in (graph.inputs, graph.outputs)]
        places = [f'{side} + {at}' for side, each in zip(('in', 'out'), sizes, strict=True)
                  for at in list(accumulate(each, initial=0))[:-1]]
        blocks.append(f'static void call_{name}(const real *in, real *out)\n{{\n'
                      f'    {prefix}_{name}({", ".join(places)});\n}}\n')
        rows.append(f'    {{"{name}", call_{name}, {name}_in, {name}_expected, '
                    f'{sum(sizes[0])}, {sum(sizes[1])}}},')
    return '\n'.join([*blocks, 'static const struct test tests[] = {', *rows, '};', ''])
