# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Statements of procedures as C99, each procedure a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rbd_ros.compiler.language.signatures import BYTES, Function, KERNEL, Kind, Layout, NUMBERS
from rbd_ros.compiler.language.tree import (
    Assign, Break, Call, Constant, Continue, Do, Element, For, Held, If, Length, Local, Procedure,
    Return, Statement, Target, While)
from rbd_ros.compiler.records import Record
from rbd_ros.compiler.source.c99 import KEYWORDS
from rbd_ros.compiler.source.c_expressions import CExpressions, LIBRARY, TYPES
from rbd_ros.compiler.source.c_order import immune, plain, safe
from rbd_ros.compiler.source.c_structs import c_name, comment, Memory, summary
from rbd_ros.compiler.source.writer import Names


def members_of(name: str, kind: Kind) -> list[str]:
    """Return the names by which something is passed."""
    if isinstance(kind, Layout):
        return [name]
    if kind == KERNEL:
        return [name, f'{name}_memory']
    return [name, f'{name}_rows', f'{name}_columns'][:3 if kind == 'Matrix' else 2]


def parameter_of(name: str, kind: Kind, memory: Memory, kernel: str) -> list[str]:
    """Return the declarations by which something is passed."""
    if isinstance(kind, Layout):
        const = '' if issubclass(kind.type, Record) else 'const '
        types = [f'{const}{memory.struct(kind.type)} *']
    elif kind == KERNEL:
        types = [f'{kernel} ', f'{memory.type} *']
    else:
        of = 'uint8_t *' if kind == BYTES else 'double *'
        types = [of, 'int64_t ', 'int64_t ']
    return [f'{kind_of}{each}' for kind_of, each in zip(types, members_of(name, kind))]


class CFunction(CExpressions):
    """
    Writes one procedure.

    :param procedure: what is written.
    :param memory: structs.
    :param functions: names of all procedures.
    :param helpers: those that are used are added.
    :param kernel: type of a kernel.
    """

    def __init__(self, procedure: Procedure, memory: Memory, functions: dict[Function, str],
                 helpers: set[str], kernel: str) -> None:
        super().__init__(memory, functions, helpers)
        self._procedure, self._kernel = procedure, kernel
        self._names = Names([*KEYWORDS, *LIBRARY, *functions.values()])
        self._roots = {each.name: each.kind for each in procedure.parameters}
        for each in procedure.parameters:
            name = self._names.new(c_name(each.name))
            self._names.taken |= set(members_of(name, each.kind))
            (self._local if each.is_number else self._held)[each.name] = name
        for name in procedure.variables:
            if name not in self._local:
                self._local[name] = self._names.new(c_name(name))
        self._counters = _counters(procedure)

    def head(self) -> str:
        """Return what the function takes and returns."""
        given: list[str] = []
        for name, kind in self._procedure.parameters:
            given += ([f'{TYPES[str(kind)]} {self._local[name]}'] if kind in NUMBERS
                      else parameter_of(self._held[name], kind, self._memory, self._kernel))
        return (f'{TYPES[self._procedure.result]} {self._functions[self._procedure.function]}'
                f'({", ".join(given) or "void"})')

    def lines(self, linkage: str = 'static ') -> list[str]:
        """
        Return the function.

        :param linkage: words of C before it.
        """
        self._block(self._procedure.body)
        text = '\n'.join(self._lines)
        first: list[str] = []
        for name, kind in self._procedure.parameters:
            parts = ([self._local[name]] if kind in NUMBERS
                     else members_of(self._held[name], kind))
            first += [f'    (void){part};' for part in parts if not _used(part, text)]
        given = {each.name for each in self._procedure.parameters}
        declared: list[str] = []
        for name, of in self._procedure.variables.items():
            if name in given or name in self._counters:
                continue
            zero = 'false' if of == 'bool' else '0.0' if of == 'float' else '0'
            declared.append(f'    {TYPES[of]} {self._local[name]} = {zero};')
            if name not in self._read:
                first.append(f'    (void){self._local[name]};')
        about = summary(self._procedure.function)
        return [*[comment(about)] * bool(about), f'{linkage}{self.head()}', '{', *declared, *first,
                *self._lines, '}']

    def _block(self, statements: Sequence[Statement]) -> None:
        for each in statements:
            getattr(self, f'_do_{type(each).__name__.lower()}')(each)

    def _inside(self, statements: Sequence[Statement]) -> None:
        self._indent += 1
        self._block(statements)
        self._indent -= 1

    def _do_do(self, node: Do) -> None:
        call = node.call
        if isinstance(call, Call) and not safe(call):
            text = self._called(call, [self._passed(each) if isinstance(each, Held) else
                                       [self._stepwise(each).text] for each in call.given])
        else:
            text = self._text(call)
        self._line(f'{"" if call.kind == "None" else "(void)"}{text.text};')

    def _do_break(self, node: Break) -> None:
        self._line('break;')

    def _do_continue(self, node: Continue) -> None:
        self._line('continue;')

    def _do_return(self, node: Return) -> None:
        self._line('return;' if node.value is None else f'return {self._value(node.value).text};')

    def _do_assign(self, node: Assign) -> None:
        target = node.targets[0]
        if len(node.targets) == 1 and (_immune_place(target) or (
                plain(target) and plain(node.values[0]))):
            value = self._value(node.values[0])
            self._line(f'{self._target(target)} = {value.text};')
            return
        values = [self._value(each) if isinstance(each, Constant) else
                  self._kept(each.kind, self._value(each).text) for each in node.values]
        for target, value in zip(node.targets, values, strict=True):
            self._line(f'{self._target(target)} = {value.text};')

    def _do_if(self, node: If, *, first: str = '') -> None:
        self._line(f'{first}if ({self._value(node.test).text}) {{')
        self._inside(node.yes)
        if len(node.no) == 1 and isinstance(node.no[0], If) and safe(node.no[0].test):
            self._do_if(node.no[0], first='} else ')
            return
        if node.no:
            self._line('} else {')
            self._inside(node.no)
        self._line('}')

    def _do_while(self, node: While) -> None:
        if safe(node.test):
            self._line(f'while ({self._value(node.test).text}) {{')
        else:
            self._line('while (true) {')
            self._indent += 1
            self._line(f'if (!({self._value(node.test).text})) {{ break; }}')
            self._indent -= 1
        self._inside(node.body)
        self._line('}')

    def _do_for(self, node: For) -> None:
        first, last = self._value(node.first), self._value(node.last)
        if not plain(node.last):
            first = self._kept('int', first.text) if not immune(node.first) else first
        if not isinstance(node.last, (Constant, Length)):
            last = self._kept('int', last.text)
        counter = self._local[node.target.name]
        own = node.target.name in self._counters
        k = counter if own else self._new('k')
        step = ('++' if node.step == 1 else '') + k + (
            '' if node.step == 1 else f' += {node.step}' if node.step > 0 else f' -= {-node.step}')
        self._line(f'for (int64_t {k} = {first.text}; {k} {"<" if node.step > 0 else ">"} '
                   f'{last.text}; {step}) {{')
        if not own:
            self._indent += 1
            self._line(f'{counter} = {k};')
            self._indent -= 1
        self._inside(node.body)
        self._line('}')


def _immune_place(target: Target) -> bool:
    """Return whether where a target is does not depend on memory."""
    return not isinstance(target, Element) or all(immune(each) for each in target.places)


def _used(name: str, text: str) -> bool:
    """Return whether a text has a word."""
    at = text.find(name)
    while at >= 0:
        around = text[at - 1:at] + text[at + len(name):at + len(name) + 1]
        if not any(each.isalnum() or each in '_' for each in around) and text[at - 1:at] not in (
                '.', '>'):
            return True
        at = text.find(name, at + 1)
    return False


def _counters(procedure: Procedure) -> set[str]:
    """Return the variables that count a loop, and mean nothing elsewhere."""
    loops: set[str] = set()
    other = {each.name for each in procedure.parameters}

    def look(node: Any, active: frozenset[str]) -> None:
        if isinstance(node, For):
            loops.add(node.target.name)
            if node.target.name in active:
                other.add(node.target.name)
            look((node.first, node.last), active)
            look(node.body, active | {node.target.name})
            return
        if isinstance(node, Assign):
            other.update(each.name for each in node.targets if isinstance(each, Local))
        if isinstance(node, Local) and node.name not in active:
            other.add(node.name)
        for part in node:
            if isinstance(part, tuple) and not isinstance(part, Held):
                look(part, active)
    look(procedure.body, frozenset())
    return loops - other
