# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A graph as the text of kernels: one, or past a size several that hand values on in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.compiler.gpu.dialect import BLOCK, Dialect
from rbd_ros.compiler.gpu.functions import DECLARATIONS
from rbd_ros.compiler.gpu.limbs import limb_parts, Limbs, parts_of
from rbd_ros.compiler.gpu.order import best_order, local_traffic, Ranks
from rbd_ros.compiler.gpu.stages import joined
from rbd_ros.compiler.gpu.thread import Constants, table_helps, Thread
from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.graph.partition import operations, Part, partition
from rbd_ros.compiler.native.body import first_of_two_products
from rbd_ros.compiler.native.instructions import declarations, Lanes
from rbd_ros.compiler.scalar import scalar_type, ScalarType

#: Operations of a kernel. In an experiment on an H200, one of 5,800 was fast as a whole; with
#: 130 kB of code the processor waited for half an instruction per instruction, with 290 for ten.
PART = 6000
#: Operations past which inputs are loaded where they are used, see ``Thread``.
LONG = 2000
#: Operations in the time of which a number goes to memory or comes from it: of an H200, 4.3e12
#: bytes and 1.7e13 fused operations on doubles per second, of floats half of each.
TRAFFIC = 31
#: The same of a value that goes to local memory or comes from it: some of these stay in caches.
#: Of two graphs measured on an H200, one was faster in stages and one as a whole; so are the times
#: that this gives, from 18 to 24.
LOCAL = 20
#: Registers of a thread, as many as there are: the assembler takes what it needs.
REGISTERS = 255
#: Caps on registers that let more threads run at a time, and waits be hidden behind each other.
CAPS = (96, 128, 168)
#: Of registers, those for addresses, the doubt and operands on their way.
OTHER = 8
#: Share of operations that may be ways to local memory under a cap: two in a hundred were no loss
#: on an H200, and the more threads a gain of a tenth.
SPILLED = 0.02
#: Share of operations that are ways to local memory past which the driver's compiler had better
#: leave their order alone: on an H200 this saved a tenth of the time of one kernel, and a third of
#: compiling; below, and with several kernels, it cost up to two thirds.
SETTLED, LITTLE = 0.03, 1


class Hints(NamedTuple):
    """
    What is known of the arguments of a graph, for kernels of a GPU.

    :param ranks: see ``arrival``.
    :param limbs: several ways to divide arguments and results into limbs, see ``limb_parts``.
    """

    ranks: Ranks
    limbs: tuple[Limbs, ...] = ()


class Stage(NamedTuple):
    """
    A step of what a graph computes as a whole, see ``stages``.

    :param graph: its inputs are those of the whole or results of stages before.
    :param ranks: see ``arrival``.
    """

    graph: Graph
    ranks: Ranks | None = None


class Form(NamedTuple):
    """
    How a graph becomes kernels; chosen by its size alone.

    :param table: whether constants stand in a table.
    :param volatile: whether inputs are loaded where they are first used.
    :param part: most operations of a kernel.
    :param registers: most that a thread may have.
    :param fused: whether products may be fused into sums, see ``Lanes``, and quotients may be off
        by a unit in the last place, see ``quotient``.
    :param groups: of results, by their columns, that kernels of their own compute: what several
        need is computed several times, and fewer values are alive at a time.
    :param block: threads of a block.
    :param level: how much the driver's compiler may rearrange, 0 to 4.
    :param staged: whether stages are taken instead of the graph.
    """

    table: bool
    volatile: bool
    part: int = PART
    registers: int = REGISTERS
    fused: bool = True
    groups: int = 1
    block: int = BLOCK
    level: int = 4
    staged: bool = False

    @classmethod
    def of(cls, graph: Graph, scalar: ScalarType) -> Form:
        """Return the form of a graph, with all registers and all of the driver's effort."""
        return cls(table_helps(scalar), len(operations(graph)) > LONG)

    def fitted(self, graph: Graph, scalar: ScalarType, ranks: Ranks | None,
               stages: Sequence[Stage] = ()) -> Form:
        """
        Return the form with the fewest registers in which nearly all values have room.

        Long graphs find no room in fewer than all; there the driver may have to do less.

        :param stages: that are taken instead of the graph.
        """
        if self.volatile:
            restless = False
            for each, own in stages or [Stage(graph, ranks)]:
                count = len(operations(each))
                restless |= count <= self.part and (
                    self._traffic(each, scalar, own) > SETTLED * count)
            form = self._replace(staged=bool(stages))
            return form._replace(level=LITTLE) if restless else form
        for registers in CAPS:
            form = self._replace(registers=registers)
            if form._traffic(graph, scalar, ranks) <= SPILLED * len(operations(graph)):
                return form
        return self

    def _traffic(self, graph: Graph, scalar: ScalarType, ranks: Ranks | None) -> int:
        """Return how often values go to local memory or come from it."""
        held = self.held(scalar)
        return local_traffic(graph, best_order(graph, held, ranks), held)

    def held(self, scalar: ScalarType) -> int:
        """Return how many values registers hold, besides addresses and what is on its way."""
        return max(8, (self.registers - OTHER) * 4 // scalar.size)


class Program(NamedTuple):
    """
    Kernels of a graph, to be launched one after the other.

    Each has the same parameters of eight bytes: pointer, step from state to state and step from
    element to element of every input and output; the number of states; the status word; and
    memory for the values that go from kernel to kernel, ``slots`` for each state.

    :param text: LLVM assembly.
    :param entries: names of the kernels.
    :param slots: numbers that each state leaves from kernel to kernel.
    :param form: how they were made.
    """

    text: str
    entries: tuple[str, ...]
    slots: int
    form: Form

    def about(self, graph: Graph) -> dict[str, object]:
        """Return what ``DeviceKernel`` must know of them."""
        return {'name': graph.name, 'inputs': graph.inputs, 'outputs': graph.outputs,
                'entries': self.entries, 'slots': self.slots, 'block': self.form.block,
                'level': self.form.level}


def program(graph: Graph, dialect: Dialect, scalar: str | ScalarType = 'float64',
            hints: Hints | None = None, form: Form | None = None,
            stages: Sequence[Stage] = ()) -> Program:
    """
    Return a graph as kernels.

    :param dialect: words of the processor.
    :param scalar: type of all numbers.
    :param hints: without them there is an order less, and graphs are cut across their order.
    :param form: how, by the size of the graph where nothing is said.
    :param stages: the same in steps, where there are any.
    """
    kind = scalar_type(scalar)
    kind.check(graph)
    form = form or best_form(graph, kind, hints, stages)
    graph, parts, slots = _divided(graph, hints, form, kind, stages)
    lanes, alone = Lanes(1, form.fused, kind), first_of_two_products(graph)
    constants = Constants(dialect, kind) if form.table else None
    lines: list[str] = []
    entries = tuple(f'rbd_{k}' for k in range(len(parts)))
    for entry, part in zip(entries, parts, strict=True):
        thread = Thread(graph, lanes, dialect, alone, constants, form.volatile,
                        not form.fused)
        lines += kernel(entry, parameters(graph, dialect), dialect, thread.write(part), form)
    return Program(module_text(dialect, lanes, constants, lines, form), entries, slots, form)


def best_form(graph: Graph, scalar: ScalarType, hints: Hints | None,
              stages: Sequence[Stage] = ()) -> Form:
    """
    Return the form in which a graph, or stages of it, is fastest as far as one can count.

    :param stages: none of them is cut: they count where no one has too many operations.
    """
    ranks, form = None if hints is None else hints.ranks, Form.of(graph, scalar)
    forms = [form.fitted(graph, scalar, ranks)]
    if form.volatile and stages and all(len(operations(g)) <= form.part for g, _ in stages):
        forms.append(form.fitted(graph, scalar, ranks, stages))
    return forms[0] if len(forms) == 1 else min(forms, key=lambda each: _time(
        *_divided(graph, hints, each, scalar, stages)[:2], each.held(scalar)))


def _time(graph: Graph, parts: Sequence[Part], held: int) -> int:
    """Return the time of kernels, in operations of one thread."""
    return sum(
        len(part.nodes) + TRAFFIC * (len(part.loads) + len(part.stores) + len(part.results)
                                     + sum(graph.nodes[i].op == 'input' for i in part.leaves))
        + LOCAL * (local_traffic(graph, part.nodes, held) - len(part.loads)) for part in parts)


def _divided(graph: Graph, hints: Hints | None, form: Form, scalar: ScalarType,
             stages: Sequence[Stage]) -> tuple[Graph, list[Part], int]:
    """Return a graph, or its stages as a graph, the kernels as parts, and the number of slots."""
    if not form.staged:
        return graph, *_cut(graph, hints, form, scalar)
    whole, places = joined([stage.graph for stage in stages], graph)
    lists = [[place[i] for i in best_order(stage.graph, form.held(scalar), stage.ranks)]
             for stage, place in zip(stages, places, strict=True)]
    return whole, *parts_of(whole, lists)


def _cut(graph: Graph, hints: Hints | None, form: Form,
         scalar: ScalarType) -> tuple[list[Part], int]:
    """Return the kernels of a graph as parts, and the number of slots."""
    ranks = None if hints is None else hints.ranks
    ways = [_in_parts(graph, ranks, form, scalar)]
    if hints is not None and len(ways[0][0]) > form.groups:
        order = best_order(graph, form.held(scalar), ranks)
        along = [limb_parts(graph, order, limbs) for limbs in hints.limbs]
        ways += [way for way in along if max(len(part.nodes) for part in way[0]) <= form.part]
    return min(ways, key=_cost)


def _cost(way: tuple[list[Part], int]) -> int:
    """Return the time of kernels, in operations of one thread."""
    parts, _ = way
    return sum(len(part.nodes) + TRAFFIC * (len(part.loads) + len(part.stores))
               for part in parts)


def _in_parts(graph: Graph, ranks: Ranks | None, form: Form,
              scalar: ScalarType) -> tuple[list[Part], int]:
    """Return the kernels of a graph as parts, and the number of slots that they need."""
    groups: list[list[int]] = [[] for _ in range(form.groups)]
    element = 0
    for argument in graph.outputs:
        columns = argument.shape[-1] if argument.shape else 1
        for e in range(argument.size):
            groups[e % columns * form.groups // columns].append(element + e)
        element += argument.size
    found, most = [], 0
    for group in filter(None, groups):
        elements = set(group)
        order = best_order(graph, form.held(scalar), ranks, group)
        parts, slots = partition(graph, form.part, order)
        found += [part._replace(results=[(e, i) for e, i in part.results if e in elements])
                  for part in parts]
        most = max(most, slots)         # one group after the other: they share slots
    return found, most


def module_text(dialect: Dialect, lanes: Lanes, constants: Constants | None,
                lines: Sequence[str], form: Form) -> str:
    """Return a module from the lines of its kernels."""
    return '\n'.join([
        *dialect.declarations, *dict.fromkeys(declarations([lanes, Lanes(1)])),
        'declare float @llvm.fma.f32(float, float, float)', *DECLARATIONS,
        *(constants.declaration() if constants else ()), *lines,
        f'attributes #0 = {{ {dialect.attributes(form.registers, form.block)} }}', '!0 = !{}', ''])


def kernel(entry: str, listed: Sequence[str], dialect: Dialect, body: Sequence[str],
           form: Form) -> list[str]:
    """Return the lines of one kernel from those of a thread."""
    words = ', '.join([*listed, *dialect.parameters])
    return [f'define {dialect.convention}void @{entry}({words}) #0 {{',
            *dialect.numbered(form.block), '%inside = icmp ult i64 %state, %count',
            'br i1 %inside, label %work, label %done', 'work:', *body, 'br label %done', 'done:',
            'ret void', '}']


def parameters(graph: Graph, dialect: Dialect) -> Sequence[str]:
    """Return the parameters of every kernel of a graph."""
    listed = []
    for side, arguments in (('in', graph.inputs), ('out', graph.outputs)):
        for k in range(len(arguments)):
            listed += [f'{dialect.memory} noalias %{side}{k}', f'i64 %{side}{k}.state',
                       f'i64 %{side}{k}.element']
    return [*listed, 'i64 %count', f'{dialect.memory} noalias %status',
            f'{dialect.memory} noalias %scratch']
