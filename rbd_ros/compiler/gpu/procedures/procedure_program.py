# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The kernels of a procedure on a GPU: run it many times, and move numbers to and from the threads.

All have parameters of eight bytes. ``rbd_run`` lets each thread run the procedure ``steps`` times,
with the numbers of ``NEAR`` memory on its stack meanwhile, and records watched numbers after every
so many. Between launches what is near has its home behind what is its own. ``rbd_fill`` gives all
threads the same numbers, ``rbd_put`` and ``rbd_get`` copy some, from and to an array with evenly
spaced threads and numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rbd_ros.compiler.gpu.dialect import Dialect, NVIDIA
from rbd_ros.compiler.gpu.functions import DECLARATIONS
from rbd_ros.compiler.gpu.procedures.device_text import DeviceText, Spaces
from rbd_ros.compiler.gpu.procedures.graph_function import (
    Arrays, graph_function, library, no_function)
from rbd_ros.compiler.gpu.procedures.places import Memory, Place, Places, TILE
from rbd_ros.compiler.gpu.thread import Constants
from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.language.signatures import Function
from rbd_ros.compiler.native.instructions import declarations, Lanes
from rbd_ros.compiler.scalar import FLOAT64

#: Names of the kernels.
ENTRIES = ('rbd_run', 'rbd_fill', 'rbd_put', 'rbd_get')
_SHIFT = TILE.bit_length() - 1
#: What procedures call of LLVM, besides what graphs do.
_INTRINSICS = ('declare double @llvm.copysign.f64(double, double)',
               'declare double @llvm.floor.f64(double)',
               'declare i64 @llvm.fptosi.sat.i64.f64(double)')


class Called(NamedTuple):
    """
    A kernel that a procedure calls.

    :param graph: what it computes; None: it is never needed, and gives NaN if it is called.
    :param inputs: arrays of the processor that it is bound to.
    :param outputs: the same of its results.
    """

    graph: Graph | None
    inputs: Arrays
    outputs: Arrays


class Watched(NamedTuple):
    """Numbers that are recorded: where they begin, and how many they are."""

    place: Place
    numbers: int


def own_size(places: Places) -> int:
    """Return how many numbers each thread has in the memory of the device."""
    return places.sizes[Memory.OWN] + places.sizes[Memory.NEAR]


def home(places: Places, place: Place) -> int:
    """Return where a number is between launches, among those of its thread."""
    return place.at + (places.sizes[Memory.OWN] if place.memory is Memory.NEAR else 0)


def procedure_program(entry: Function, given: Sequence[object], places: Places,
                      kernels: Mapping[int, Called], watched: Sequence[Watched],
                      dialect: Dialect, registers: int) -> tuple[str, str]:
    """
    Return a procedure as a module with the kernels of ``ENTRIES``, and one of what it calls.

    The second one has graphs alone. LLVM's passes do nothing for those, and take long.

    :param entry: the procedure.
    :param given: what it is bound to on the processor.
    :param places: of all numbers.
    :param kernels: that it calls, by the identity of what is called.
    :param watched: what is recorded.
    :param dialect: words of the processor.
    :param registers: most that a thread may have.
    """
    names = {which: f'@rbd_kernel_{k}' for k, which in enumerate(kernels)}
    text = DeviceText(entry, given, places, names, dialect)
    declared = [*dialect.declarations, *declarations([Lanes(1)]), *DECLARATIONS, *_INTRINSICS]
    head = ', '.join(Spaces(dialect).parameters)
    lines = [*dict.fromkeys(declared), *library(), *text.lines,
             *[f'declare void {name}({head})' for name in names.values()],
             *_run(text.name, places, watched, dialect), *_moves(places, dialect),
             f'attributes #0 = {{ {dialect.attributes(registers)} }}', '!0 = !{}', '']
    constants = Constants(dialect, FLOAT64)
    graphs = [line for name, (graph, inputs, outputs) in zip(names.values(), kernels.values())
              for line in (no_function(name, outputs, places, dialect) if graph is None else
                           graph_function(name, graph, inputs, outputs, places, dialect,
                                          constants))]
    return '\n'.join(lines), '\n'.join([
        *dict.fromkeys(declared[len(dialect.declarations):]), *constants.declaration(), *graphs,
        '!0 = !{}', ''])


def _kernel(name: str, parameters: Sequence[str], body: Sequence[str], places: Places,
            dialect: Dialect, stack: Sequence[str] = ()) -> list[str]:
    """
    Return a kernel, whose body has the numbers of its thread at %own.

    :param stack: lines that reserve memory. LLVM counts it only if a function begins with them.
    """
    memory = dialect.memory
    listed = ', '.join([f'{memory} %all', 'i64 %count', *parameters, *dialect.parameters])
    return [f'define {dialect.convention}void @{name}({listed}) #0 {{', *stack, *dialect.numbering,
            '%inside = icmp ult i64 %state, %count', 'br i1 %inside, label %work, label %done',
            'work:', f'%tile = lshr i64 %state, {_SHIFT}', f'%lane = and i64 %state, {TILE - 1}',
            f'%tile.at = mul i64 %tile, {own_size(places) * TILE}',
            '%at = add i64 %tile.at, %lane',
            f'%own = getelementptr double, {memory} %all, i64 %at', *body, 'br label %done',
            'done:', 'ret void', '}']


def _copied(tag: str, source: str, target: str, count: str, before: str) -> list[str]:
    """
    Return a loop over numbers.

    :param source: how one is addressed, with {k} for its number.
    :param before: label of the block that comes first.
    """
    return [f'br label %{tag}', f'{tag}:',
            f'%{tag}.k = phi i64 [ 0, %{before} ], [ %{tag}.next, %{tag}.one ]',
            f'%{tag}.more = icmp ult i64 %{tag}.k, {count}',
            f'br i1 %{tag}.more, label %{tag}.one, label %{tag}.end', f'{tag}.one:',
            *_address(f'%{tag}.from', source, f'%{tag}.k'),
            *_address(f'%{tag}.to', target, f'%{tag}.k'),
            f'%{tag}.x = load double, {source.partition(" %")[0]} %{tag}.from, align 8',
            f'store double %{tag}.x, {target.partition(" %")[0]} %{tag}.to, align 8',
            f'%{tag}.next = add i64 %{tag}.k, 1', f'br label %{tag}', f'{tag}.end:']


def _address(name: str, base: str, k: str) -> list[str]:
    """Return the lines of an address: pointer, number that one begins at, step."""
    pointer, first, step = base.split(';')
    return [f'{name}.s = mul i64 {k}, {step}', f'{name}.i = add i64 {name}.s, {first}',
            f'{name} = getelementptr double, {pointer}, i64 {name}.i']


def _run(entry: str, places: Places, watched: Sequence[Watched], dialect: Dialect) -> list[str]:
    """Return the kernel that runs the procedure."""
    memory, near, spaces = dialect.memory, places.sizes[Memory.NEAR], Spaces(dialect)
    size = max(1, near)
    stack = [f'%stack = alloca double, i64 {size}, align 16']
    if dialect is NVIDIA:
        stack += [f'%near = addrspacecast ptr %stack to {dialect.near}']
    else:
        stack += ['%near = getelementptr double, ptr %stack, i64 0']
    homes = f'{memory} %own;{places.sizes[Memory.OWN] * TILE};{TILE}'
    here = f'{dialect.near} %near;0;1'
    body = [*_copied('come', homes, here, str(near), 'work'),
            'br label %loop', 'loop:',
            '%step = phi i64 [ 0, %come.end ], [ %step.next, %tail ]',
            '%row = phi i64 [ 0, %come.end ], [ %row.next, %tail ]',
            '%left = phi i64 [ %every, %come.end ], [ %left.next, %tail ]',
            f'call void {entry}({", ".join(spaces.parameters)})',
            '%step.next = add i64 %step, 1', '%fewer = sub i64 %left, 1',
            '%due = icmp eq i64 %fewer, 0', 'br i1 %due, label %record, label %tail', 'record:',
            *_recorded(watched, spaces), 'br label %tail', 'tail:',
            '%row.one = add i64 %row, 1', '%row.next = select i1 %due, i64 %row.one, i64 %row',
            '%left.next = select i1 %due, i64 %every, i64 %fewer',
            '%more = icmp ult i64 %step.next, %steps', 'br i1 %more, label %loop, label %out',
            'out:', *_copied('go', here, homes, str(near), 'out')]
    return _kernel(ENTRIES[0], [f'{memory} %common', 'i64 %steps', 'i64 %every',
                                f'{memory} %records'], body, places, dialect, stack)


def _recorded(watched: Sequence[Watched], spaces: Spaces) -> list[str]:
    """Return the lines that record what is watched in a row of it."""
    memory, total = spaces.dialect.memory, sum(each.numbers for each in watched)
    lines, element = [f'%row.at = mul i64 %row, {total}'], 0
    for place, numbers in watched:
        of, step = spaces.pointer(place.memory), Spaces.step(place.memory)
        for k in range(numbers):
            tag = f'%r{element}'
            lines += [f'{tag}.p = getelementptr double, {of} %{place.memory.value}, '
                      f'i64 {(place.at + k) * step}',
                      f'{tag} = load double, {of} {tag}.p, align 8',
                      f'{tag}.e = add i64 %row.at, {element}',
                      f'{tag}.s = mul i64 {tag}.e, %count', f'{tag}.i = add i64 {tag}.s, %state',
                      f'{tag}.q = getelementptr double, {memory} %records, i64 {tag}.i',
                      f'store double {tag}, {memory} {tag}.q, align 8']
            element += 1
    return lines


def _moves(places: Places, dialect: Dialect) -> list[str]:
    """Return the kernels that move numbers to and from the threads."""
    memory = dialect.memory
    own, same = f'{memory} %own;0;{TILE}', f'{memory} %array;0;1'
    part, given = f'{memory} %own;%first.at;{TILE}', f'{memory} %array;%given.at;%from.number'
    shift = [f'%first.at = mul i64 %first, {TILE}',
             '%given.at = mul i64 %state, %from.thread']
    extra = [f'{memory} %array', 'i64 %first', 'i64 %numbers', 'i64 %from.thread',
             'i64 %from.number']
    return [
        *_kernel(ENTRIES[1], extra[:1], _copied(
            'copy', same, own, str(own_size(places)), 'work'), places, dialect),
        *_kernel(ENTRIES[2], extra, [*shift, *_copied(
            'copy', given, part, '%numbers', 'work')], places, dialect),
        *_kernel(ENTRIES[3], extra, [*shift, *_copied(
            'copy', part, given, '%numbers', 'work')], places, dialect)]
