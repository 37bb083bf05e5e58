# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Procedures as LLVM assembly text.

Every number has a place on the stack, which LLVM's passes turn into registers. Names of parameters
are quoted, and those that are made here begin with a dot: none clash.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler.language.signatures import Function, Kind, NUMBERS, words_of
from rbd_ros.compiler.language.statements import read
from rbd_ros.compiler.language.tree import (
    Assign, Break, Constant, Continue, Do, Element, For, Held, If, Length, Return, Statement,
    While)
from rbd_ros.compiler.native.expression_text import (
    declarations, ExpressionText, symbol, TYPES)
from rbd_ros.compiler.native.tables import passed, TABLE, Words
from rbd_ros.compiler.native.target import pointer

#: Lines of a function that is put in the place of its call. A longer one would be compiled for
#: each of them: a controller took almost twice the time, and solving contacts became no faster.


def translate(entry: Function) -> list[str]:
    """
    Return the lines of a function and all that it calls.

    The function is ``rbd_procedure`` of one address, that of a table with the words of all that it
    takes, see :mod:`rbd_ros.compiler.language.signatures`.

    :param entry: its parameters are no numbers, and it returns nothing.
    :raises OSError: if a source cannot be read, or is not what was imported.
    :raises TypeError: for what cannot be translated; says what, and where.
    """
    procedures = read(entry)
    kinds = [each.kind for each in procedures[0].parameters]
    lines = [line for each in procedures for line in ProcedureText(each).lines()]
    return [*declarations(), *lines, *_entry(entry, kinds)]


def _entry(entry: Function, kinds: Sequence[Kind]) -> list[str]:
    """Return the function that machine code is entered by."""
    words, given, at = Words({}), [], 0
    for kind in kinds:
        given += words.given(Held(kind, TABLE, (), at))
        at += words_of(kind)
    call = f'call void {symbol(entry)}({", ".join(given)})'
    return [f'define void @rbd_procedure({pointer("i64")} {TABLE}) nounwind {{', *words.lines,
            call, 'ret void', '}']


def _copied(node: For) -> tuple[Held, Held] | None:
    """Return the matrices, of which a loop copies all of the second to the first."""
    match node:
        case For(i, Constant('int', 0), Length(to, 0), 1, (
                For(j, Constant('int', 0), Length(columns_of, 1), 1, (
                    Assign((Element(target, to_places),), (Element(source, places),)),)),)):
            if to == columns_of == target and to_places == places == (i, j):
                return to, source
    return None


class ProcedureText(ExpressionText):
    """How statements add to the lines of a procedure."""

    def lines(self) -> list[str]:
        """Return the function."""
        given = list(self._first_parameters)
        for name, of in self._procedure.variables.items():
            self._places[name] = self._place(of)
        for name, kind in self._procedure.parameters:
            if kind in NUMBERS:
                given.append(f'{TYPES[str(kind)]} %"{name}.0"')
                self._lines.append(f'store {given[-1]}, {self._places[name]}')
            else:
                given += self._passed(name, kind)
        self._block(self._procedure.body)
        # After a return at the end nothing comes here, but a block has to end.
        result = self._procedure.result
        self._lines.append('ret void' if result == 'None' else 'unreachable')
        body = [*self._words.lines, *self._first, *self._lines, '}']
        alone = self._long if len(body) > self._short else 'alwaysinline'
        head = (f'define internal {TYPES[result]} {self._symbol()}({", ".join(given)}) nounwind '
                f'{alone} {{')
        return [head, *body]

    #: Parameters that every function has.
    _first_parameters: tuple[str, ...] = ()
    #: What LLVM is told of a long function.
    _long = 'noinline'
    #: Lines of a function that takes the place of its calls. With as many as these there is less
    #: code than with fewer or more.
    _short = 90
    #: Whether whole matrices are copied by the C library.
    _moves = True

    def _symbol(self) -> str:
        return symbol(self._procedure.function)

    def _passed(self, name: str, kind: Kind) -> list[str]:
        """Return how a function is given a parameter that is no number."""
        return [f'{each} %"{name}.{k}"' for k, each in enumerate(passed(kind))]

    def _block(self, statements: Sequence[Statement]) -> None:
        for each in statements:
            getattr(self, f'_do_{type(each).__name__.lower()}')(each)

    def _leave(self, text: str) -> None:
        """End a block; what follows it in the source is out of reach."""
        self._lines += [text, f'{self._name()}:']

    def _do_do(self, node: Do) -> None:
        self._of(node.call)

    def _do_return(self, node: Return) -> None:
        self._leave('ret void' if node.value is None else
                    f'ret {TYPES[node.value.kind]} {self._of(node.value)}')

    def _do_break(self, node: Break) -> None:
        self._leave(f'br label %{self._loops[-1][1]}')

    def _do_continue(self, node: Continue) -> None:
        self._leave(f'br label %{self._loops[-1][0]}')

    def _do_assign(self, node: Assign) -> None:
        values = [self._of(each) for each in node.values]
        for target, value in zip(node.targets, values, strict=True):
            self._lines.append(f'store {TYPES[target.kind]} {value}, {self._address(target)}')

    def _do_if(self, node: If) -> None:
        tag = self._name()
        self._branch(self._of(node.test), f'{tag}.yes', f'{tag}.no')
        self._lines.append(f'{tag}.yes:')
        self._block(node.yes)
        self._lines += [f'br label %{tag}.end', f'{tag}.no:']
        self._block(node.no)
        self._label(f'{tag}.end')

    def _do_while(self, node: While) -> None:
        tag = self._name()
        self._label(f'{tag}.again')
        self._branch(self._of(node.test), f'{tag}.body', f'{tag}.end')
        self._lines.append(f'{tag}.body:')
        self._loop(node.body, f'{tag}.again', f'{tag}.end')
        self._lines += [f'br label %{tag}.again', f'{tag}.end:']

    def _loop(self, body: Sequence[Statement], again: str, end: str) -> None:
        self._loops.append((again, end))
        self._block(body)
        self._loops.pop()

    def _do_for(self, node: For) -> None:
        copied = _copied(node) if self._moves else None
        if copied is not None:
            self._move(*copied)
            return
        first, last = self._of(node.first), self._of(node.last)
        tag, place = self._name(), self._place('int')
        self._lines.append(f'store i64 {first}, {place}')
        self._label(f'{tag}.again')
        k = self._value(f'load i64, {place}')
        inside = self._value(f'icmp {"slt" if node.step > 0 else "sgt"} i64 {k}, {last}')
        self._branch(inside, f'{tag}.body', f'{tag}.end')
        self._lines += [f'{tag}.body:', f'store i64 {k}, {self._places[node.target.name]}']
        self._loop(node.body, f'{tag}.next', f'{tag}.end')
        self._label(f'{tag}.next')
        following = self._value(f'add i64 {k}, {node.step}')
        self._lines += [f'store i64 {following}, {place}', f'br label %{tag}.again',
                        f'{tag}.end:']

    def _move(self, to: Held, of: Held) -> None:
        """Copy a matrix to one of the same shape."""
        rows, columns = [self._words.word(to, k) for k in (1, 2)]
        count, byte = self._value(f'mul i64 {rows}, {columns}'), pointer('i8')
        given = [self._value(f'bitcast {pointer("double")} {self._words.word(each, 0)} to {byte}')
                 for each in (to, of)]
        given.append(self._value(f'shl i64 {count}, 3'))
        self._value('call {0} @memmove({0} {1}, {0} {2}, i64 {3})'.format(byte, *given))
