# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The lines of one thread: what it loads, computes and stores for its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import struct

from rbd_ros.compiler.gpu.angles import sine_cosine
from rbd_ros.compiler.gpu.dialect import Dialect
from rbd_ros.compiler.gpu.finiteness import doubtful
from rbd_ros.compiler.gpu.functions import FUNCTIONS, Lines
from rbd_ros.compiler.gpu.quotient import quotient
from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.graph.partition import ANGULAR, LEAVES, Part
from rbd_ros.compiler.native.instructions import double, Lanes
from rbd_ros.compiler.scalar import FLOAT64, ScalarType


class Constants:
    """
    The constants of a kernel in a table that others can see, loaded at every use.

    A double is two moves into a register, where an operand out of constant memory is free. A table
    that is private, or whose content LLVM may rely on, would be folded back into the code.
    """

    def __init__(self, dialect: Dialect, scalar: ScalarType) -> None:
        self._dialect, self._scalar = dialect, scalar
        self._places: dict[float, int] = {}

    def place(self, value: float) -> int | None:
        """Return where a constant stands, None for one that is short enough to be in the code."""
        if struct.unpack('<Q', struct.pack('<d', value))[0] & 0xffffffff == 0:
            return None
        return self._places.setdefault(value, len(self._places))

    @property
    def pointer(self) -> str:
        """Return the type of a pointer to a constant."""
        return f'ptr{self._dialect.constants}'

    def declaration(self) -> list[str]:
        """Return the lines of the table."""
        if not self._places:
            return []
        kind = self._scalar.c
        values = ', '.join(f'{kind} {double(value)}' for value in self._places)
        return [f'@rbd_constants ={self._dialect.constants} externally_initialized constant '
                f'[{len(self._places)} x {kind}] [{values}], align 16']


class Thread:
    """
    Lines of one kernel of a graph.

    :param graph: what is computed.
    :param lanes: one, of the type of all numbers.
    :param dialect: words of the processor.
    :param alone: products that are not fused, see ``first_of_two_products``.
    :param constants: table of them, None to have them in the code.
    :param volatile: whether an input is loaded right where it is first used, whatever LLVM thinks
        of that: in long kernels it would load all at the beginning, and hold them.
    :param exact: whether quotients are rounded correctly; without it they may be off by a unit in
        the last place, and take a third of the time.
    :param results: nodes that must be finite, those of the results by default.
    """

    def __init__(self, graph: Graph, lanes: Lanes, dialect: Dialect, alone: set[int],
                 constants: Constants | None, volatile: bool, exact: bool = False,
                 results: Sequence[int] | None = None) -> None:
        self._graph, self._dialect, self._alone = graph, dialect, alone
        self._lanes, self._scalar, self._constants = lanes, lanes.scalar, constants
        self._load_word, self._load_end = ('load volatile', '') if volatile else (
            'load', ', !invariant.load !0')
        self._names: dict[int, str] = {}
        self._angles: dict[int, dict[str, str]] = {}
        self._waiting: Mapping[int, int] = {}
        self._doubtful = doubtful(graph, graph.results if results is None else results)
        self._exact = exact
        self._doubt = self._lanes.constant(0.0)
        self._number = 0
        self._bases: set[str] = set()
        #: What was written so far.
        self.lines: list[str] = []
        #: Type of all numbers in the text.
        self.real = lanes.real

    def write(self, part: Part) -> list[str]:
        """Return the lines of a part, the one that reports a number that is not finite last."""
        targets: dict[int, list[int]] = {}
        for element, i in part.results:
            targets.setdefault(i, []).append(element)
        self._waiting = part.loads
        for i in part.nodes:
            self.compute(i)
            if i in part.stores:
                self._store(self._names[i], self._slot(part.stores[i]))
            if i in targets:
                self._leave(i, targets[i])
        for i, elements in targets.items():
            if self._graph.nodes[i].op in LEAVES:
                self._leave(i, elements)
        self.report()
        return self.lines

    def _name(self, start: str) -> str:
        self._number += 1
        return f'%{start}{self._number}'

    # --- values -------------------------------------------------------------------------------

    def value(self, i: int) -> str:
        """Return the name of a value, loaded now if it has none yet."""
        if i in self._names:
            return self._names[i]
        node = self._graph.nodes[i]
        if node.op == 'const':
            return self._constant(self._scalar.rounded(node.constant))
        if i in self._waiting:
            name = f'%n{i}'
            self.lines.append(f'{name} = load {self.real}, {self._slot(self._waiting[i])}')
        else:
            name = self.load(*node.element)
            self.look_at(i, name)
        self._names[i] = name
        return name

    def name(self, i: int, name: str) -> None:
        """Let a value be one that is already there."""
        self._names[i] = name

    def load(self, argument: int, element: int, row: str = '') -> str:
        """
        Return the name of an element of an input, loaded here.

        :param row: number of the step, of an input with one row for each.
        """
        name, address = self._name('i'), self._address('in', argument, element, row)
        self.lines.append(f'{name} = {self._load_word} {self.real}, {address}{self._load_end}')
        return name

    def _constant(self, value: float) -> str:
        place = None if self._constants is None else self._constants.place(value)
        if self._constants is None or place is None:
            return self._lanes.constant(value)
        name, pointer, real = self._name('k'), self._constants.pointer, self._lanes.real
        self.lines += [
            f'{name}.p = getelementptr {real}, {pointer} @rbd_constants, i64 {place}',
            f'{name} = load {real}, {pointer} {name}.p, align {self._scalar.size}']
        return name

    def compute(self, i: int) -> None:
        """Write the lines of an operation."""
        op, args, _ = self._graph.nodes[i]
        if op in FUNCTIONS:
            self._names[i] = self._called(op, [self.value(a) for a in args])
            return
        if op in ANGULAR:
            angle = args[0]
            if angle not in self._angles:
                lines, self._angles[angle] = sine_cosine(
                    self._scalar, self.value(angle), f'a{angle}')
                self.lines += lines
            self._names[i] = self._angles[angle][op]
            return
        names = [self.value(a) for a in args]
        self._names[i] = f'%n{i}'
        if op == 'div' and not self._exact:
            self.lines += quotient(self._scalar, self._dialect, f'%n{i}', *names)
            return
        self.lines += self._lanes.node(f'%n{i}', op, names, i in self._alone)

    def _called(self, op: str, names: list[str]) -> str:
        """Return the value of a function, found in double precision."""
        tag = self._name('f')
        if self._scalar is not FLOAT64:
            self.lines += [f'{tag}.x{k} = fpext float {name} to double'
                           for k, name in enumerate(names)]
            names = [f'{tag}.x{k}' for k in range(len(names))]
        made = Lines(tag[1:])
        result = FUNCTIONS[op](made, *names)
        self.lines += made.lines
        if self._scalar is FLOAT64:
            return result
        self.lines.append(f'{tag}.y = fptrunc double {result} to float')
        return f'{tag}.y'

    # --- memory -------------------------------------------------------------------------------

    def _address(self, side: str, argument: int, element: int, row: str = '') -> str:
        """
        Return the address of an element of an argument.

        The step between elements, in bytes, has 32 bits: a product of two such numbers and a sum
        of 64 bits are one instruction, and a matrix has a thousand elements.

        :param row: number of the record or step, of an argument with one row for each.
        """
        kind, memory, base = self._scalar.c, self._dialect.memory, f'%{side}{argument}'
        if base not in self._bases:
            self._bases.add(base)
            self.lines += [f'{base}.s = mul i64 %state, {base}.state',
                           f'{base}.b = getelementptr {kind}, {memory} {base}, i64 {base}.s',
                           f'{base}.t = trunc i64 {base}.element to i32',
                           f'{base}.i = mul i32 {base}.t, {self._scalar.size}',
                           f'{base}.w = sext i32 {base}.i to i64']
        name, place = self._name('p'), str(element)
        if row:
            arguments = self._graph.inputs if side == 'in' else self._graph.outputs
            self.lines += [f'{name}.r = mul i64 {row}, {arguments[argument].size}',
                           f'{name}.k = add i64 {name}.r, {element}']
            place = f'{name}.k'
        self.lines += [f'{name}.e = mul nsw i64 {base}.w, {place}',
                       f'{name} = getelementptr i8, {memory} {base}.b, i64 {name}.e']
        return f'{memory} {name}, align {self._scalar.size}'

    def _slot(self, slot: int) -> str:
        """Return the address of a value that goes from one kernel to a later one."""
        name, memory = self._name('w'), self._dialect.memory
        self.lines += [f'{name}.r = mul i64 %count, {slot}',
                       f'{name}.i = add i64 {name}.r, %state',
                       f'{name} = getelementptr {self._scalar.c}, {memory} %scratch, '
                       f'i64 {name}.i']
        return f'{memory} {name}, align {self._scalar.size}'

    def _store(self, value: str, address: str) -> None:
        self.lines.append(f'store {self.real} {value}, {address}')

    def _leave(self, i: int, elements: list[int]) -> None:
        """Store a value as elements of the results."""
        if self._graph.nodes[i].op not in LEAVES:       # inputs: where they are loaded
            self.look_at(i, self.value(i))
        for element in elements:
            self.store(i, element)

    def store(self, i: int, element: int, row: str = '') -> None:
        """
        Store a value as an element of all results.

        :param row: number of the record, of results with one row for each.
        """
        argument = 0
        while element >= self._graph.outputs[argument].size:
            element -= self._graph.outputs[argument].size
            argument += 1
        self._store(self.value(i), self._address('out', argument, element, row))

    # --- finiteness ---------------------------------------------------------------------------

    def look_at(self, i: int, value: str) -> None:
        """Take a value into doubt if it would not show elsewhere that it is not finite."""
        if i in self._doubtful:
            self.doubt(value)

    def doubt(self, value: str) -> None:
        """Take a value into the sum of all times zero: NaN where one of them is not finite."""
        name, real = self._name('d'), self._lanes.real
        self.lines += [
            f'{name}.z = fmul contract {real} {value}, {self._lanes.constant(0.0)}',
            f'{name} = fadd contract {real} {name}.z, {self._doubt}']
        self._doubt = name

    def report(self) -> None:
        """Leave the number of the state in the status word, where it is the lowest in doubt."""
        real, memory = self._lanes.real, self._dialect.memory
        self.lines += [
            f'%bad = fcmp uno {real} {self._doubt}, {self._lanes.constant(0.0)}',
            'br i1 %bad, label %report, label %done', 'report:',
            f'%before = atomicrmw umin {memory} %status, i64 %state monotonic']


def table_helps(scalar: ScalarType) -> bool:
    """Return whether constants should stand in a table: measured, of doubles alone."""
    return scalar is FLOAT64
