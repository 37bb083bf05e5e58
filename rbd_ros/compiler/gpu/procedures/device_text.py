# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Procedures as LLVM assembly for a GPU, from the trees that machine code of the processor is of.

Every function is written once for each set of things that it is called with: their places are part
of its text. So a length is a constant, a call of a kernel is a call of its function, and LLVM sees
which numbers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from rbd_ros.compiler.gpu.dialect import Dialect
from rbd_ros.compiler.gpu.procedures.places import identity, member, Memory, Place, Places, TILE
from rbd_ros.compiler.language.kernels import check_sizes
from rbd_ros.compiler.language.signatures import Function, Kind
from rbd_ros.compiler.language.statements import read
from rbd_ros.compiler.language.tree import (
    Assign, Call, Element, ForeignCall, Held, KernelCall, Length, Local, Number, Octets,
    Procedure, Target)
from rbd_ros.compiler.native.expression_text import TYPES
from rbd_ros.compiler.native.procedure_text import ProcedureText

#: Functions of the C library, which stand beside the procedures as our own.
LIBRARY = ('exp', 'sin', 'cos', 'atan2')


class Spaces(NamedTuple):
    """
    How pointers to the three kinds of memory are written.

    :param dialect: words of the processor.
    """

    dialect: Dialect

    def pointer(self, memory: Memory) -> str:
        """Return the type of a pointer."""
        return self.dialect.near if memory is Memory.NEAR else self.dialect.memory

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the parameters of every function."""
        return tuple([f'{self.pointer(each)} %{each.value}' for each in Memory])

    @staticmethod
    def step(memory: Memory) -> int:
        """Return how many numbers one is from the next of the same thread."""
        return TILE if memory is Memory.OWN else 1


class Instance(NamedTuple):
    """A function, and what it is called with besides numbers."""

    function: Function
    given: tuple[Any, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """Return what tells it from others."""
        return self.function, *[identity(each) for each in self.given]


class DeviceText:
    """
    The text of a procedure and of all that it calls.

    :param entry: the procedure.
    :param given: what it is bound to.
    :param places: of all numbers.
    :param kernels: names of the functions of kernels, by the identity of what is called.
    :param dialect: words of the processor.
    """

    def __init__(self, entry: Function, given: Sequence[object], places: Places,
                 kernels: dict[int, str], dialect: Dialect) -> None:
        check_sizes(given)
        self.places, self.kernels, self.spaces = places, kernels, Spaces(dialect)
        self._procedures = {each.function: each for each in read(entry)}
        self._names: dict[tuple[object, ...], str] = {}
        self._todo: list[Instance] = []
        #: Name of the entry, a function of the three memories.
        self.name = self.called(Instance(entry, tuple(given)))
        #: The functions.
        self.lines: list[str] = []
        while self._todo:
            instance = self._todo.pop()
            self.lines += _Text(self._procedures[instance.function], instance, self).lines()

    def called(self, instance: Instance) -> str:
        """Return the name of a function for what it is called with; it is written if it is new."""
        key = instance.key
        if key not in self._names:
            self._names[key] = f'@"{instance.function.__name__}.{len(self._names)}"'
            self._todo.append(instance)
        return self._names[key]


class _Text(ProcedureText):
    """
    Lines of one function.

    :param procedure: what is written.
    :param instance: for what.
    :param text: to which it belongs.
    """

    _long = ''
    _short = 20
    _moves = False

    def __init__(self, procedure: Procedure, instance: Instance, text: DeviceText) -> None:
        super().__init__(procedure)
        self._text, self._instance = text, instance
        self._first_parameters = text.spaces.parameters
        held = [each.name for each in procedure.parameters if not each.is_number]
        self._known = dict(zip(held, instance.given, strict=True))

    def _symbol(self) -> str:
        return self._text.called(self._instance)

    def _passed(self, name: str, kind: Kind) -> list[str]:
        return []

    def _thing(self, held: Held) -> Any:
        return member(self._known[held.root], held.path)

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(f'{self._instance.function.__module__}.'
                        f'{self._instance.function.__name__} cannot run on a device: {what}')

    # --- memory ---

    def _pointer(self, place: Place, index: str = '') -> str:
        """Return the address of a number, so many behind a place."""
        memory, step = place.memory, Spaces.step(place.memory)
        of = self._text.spaces.pointer(memory)
        base = self._value(f'getelementptr inbounds double, {of} %{memory.value}, '
                           f'i64 {place.at * step}')
        if index:
            by = self._value(f'mul nsw i64 {index}, {step}') if step > 1 else index
            base = self._value(f'getelementptr inbounds double, {of} {base}, i64 {by}')
        return f'{of} {base}'

    def _place_of(self, target: Number | Element) -> Place:
        if isinstance(target, Number):
            record = self._thing(target.record)
            first = self._text.places.of(record.memory[:1])
            return Place(first.memory, first.at + record.single_place(target.name))
        return self._text.places.of(self._thing(target.array))

    def _address(self, target: Target) -> str:
        if isinstance(target, Local):
            return self._places[target.name]
        place = self._place_of(target)
        if isinstance(target, Number):
            return self._pointer(place)
        index = [self._of(each) for each in target.places]
        k = index[0]
        if len(index) == 2:
            row = self._value(f'mul nsw i64 {k}, {self._thing(target.array).shape[1]}')
            k = self._value(f'add nsw i64 {row}, {index[1]}')
        return self._pointer(place, k)

    def _of_number(self, node: Target) -> str:
        if isinstance(node, Local):
            return super()._of_local(node)
        common = self._place_of(node).memory is Memory.COMMON
        return self._value(f'load double, {self._address(node)}, align 8'
                           + (', !invariant.load !0' if common else ''))

    _of_element = _of_number

    def _do_assign(self, node: Assign) -> None:
        for each in node.targets:
            if not isinstance(each, Local) and self._place_of(each).memory is Memory.COMMON:
                self._refuse('it writes to what all threads share')
        super()._do_assign(node)

    def _of_length(self, node: Length) -> str:
        return str(self._thing(node.array).shape[node.axis])

    # --- calls ---

    def _spaces(self) -> list[str]:
        return list(self._text.spaces.parameters)

    def _of_kernelcall(self, node: KernelCall) -> str:
        name = self._text.kernels.get(id(self._thing(node.kernel)))
        if name is None:
            self._refuse(f'it calls {".".join((node.kernel.root, *node.kernel.path))}, of which '
                         'no graph was given')
        self._lines.append(f'call void {name}({", ".join(self._spaces())})')
        return '0'

    def _of_call(self, node: Call) -> str:
        held = tuple([self._thing(each) for each in node.given if isinstance(each, Held)])
        given = [f'{TYPES[each.kind]} {self._of(each)}' for each in node.given
                 if not isinstance(each, Held)]
        name = self._text.called(Instance(node.function, held))
        text = f'call {TYPES[node.kind]} {name}({", ".join([*self._spaces(), *given])})'
        if node.kind != 'None':
            return self._value(text)
        self._lines.append(text)
        return ''

    def _of_foreigncall(self, node: ForeignCall) -> str:
        self._refuse('it calls a function of C')

    def _of_octets(self, node: Octets) -> str:
        self._refuse('it works on bytes')

    def _function(self, name: str, given: Sequence[str]) -> str:
        if name not in LIBRARY:
            return super()._function(name, given)
        return self._value(f'call double @"rbd.{name}"('
                           + ', '.join(f'double {each}' for each in given) + ')')
