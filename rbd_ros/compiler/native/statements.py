# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Python functions of loops and branches as LLVM assembly text, translated from their source.

A graph has no branches, and its size is fixed. What is iterated until a number is small, over as
many rows as there happen to be, or decides by what it finds, is written as functions on arrays
and records, which Python runs as they stand and which are translated here. They may hold:

- parameters without defaults: arrays, ``Vector`` and ``Matrix``; a ``Kernel``, whose call returns
  zero unless it has failed; a class of :class:`~rbd_ros.compiler.records.Record`; named tuples of
  these; ``int`` and ``float``. The result is ``float``, ``int``, ``bool`` or ``None``;
- of a record its numbers, which are read, assigned and augmented (``x.gain``), elements of its
  arrays (``x.load[j]``, ``x.m[i, j]``), and the records inside (``x.limiter.last[j]``), which
  functions take as well (``limit(x.limiter)``);
- ``for`` over a ``range``, ``while``, ``if``, ``elif``, ``else``, ``break``, ``continue``,
  ``return``, assignments, also of as many values to as many targets, and augmented ones;
- numbers, which keep the type of their first assignment; integers become floating-point numbers
  where these are wanted, and nothing else is converted. A name that has no value yet is zero;
- numbers of the module as constants, those of modules that it imports (``math.pi``), and the
  members of an ``IntEnum`` (``Kind.STATE``);
- arithmetic but for ``//``, ``%`` and ``**``; comparisons, also chained; ``and``, ``or``, ``not``
  and conditions, of comparisons and not of numbers; ``x if c else y``;
- ``abs``, ``min`` and ``max`` of two, ``len`` of an array, ``int``, ``float``; ``sqrt``, ``exp``,
  ``sin``, ``cos``, ``atan2``, ``floor``, ``copysign``, ``isfinite`` and ``isnan`` of ``math``; and
  other such functions.

Integers have 64 bits. Indices are not checked and must not be negative. Where Python would raise,
a division by zero and the functions give infinity or NaN; ``int`` and ``floor`` give 0 of NaN, and
of what is too large the largest integer. Comparisons with NaN are false but for ``!=``, and
``min`` and ``max`` return their first argument where one is NaN, as in Python. Zeros have a sign,
but for the integers that Python keeps where a floating-point number is wanted.
"""

from __future__ import annotations

import ast
import inspect

from rbd_ros import source_state
from rbd_ros.compiler.native.calls import Calls, declarations
from rbd_ros.compiler.native.scope import Held, Scope, Value
from rbd_ros.compiler.native.signatures import (
    definition, Function, Kind, parameters_of, result_of, symbol, TYPES, words_of)
from rbd_ros.compiler.native.target import pointer


def translate(entry: Function) -> tuple[list[str], list[Kind]]:
    """
    Return the lines of a function and all that it calls, and the kinds of what it takes.

    The function is ``rbd_procedure`` of one address, that of a table with the words of all that it
    takes, see :mod:`rbd_ros.compiler.native.signatures`.

    :param entry: its parameters are no numbers, and it returns nothing.
    :raises OSError: if a source cannot be read, or is not what was imported.
    :raises TypeError: for what cannot be translated; says what, and where.
    """
    done: dict[Function, list[str]] = {}
    todo = [entry]
    while todo:
        function = todo.pop()
        if function not in done:
            body = _Body(function)
            done[function] = body.lines()
            todo += body.called
    changed = {inspect.getsourcefile(each) for each in done} & set(source_state.changed())
    if changed:
        raise OSError(f'{min(map(str, changed))} has changed since it was imported')
    parameters = parameters_of(entry)
    if (any(each.is_number for each in parameters)
            or result_of(definition(entry)) != 'None'):
        raise TypeError(f'{entry.__name__} can be called from Python if it takes no numbers but '
                        'those in arrays and records, and returns nothing')
    kinds = [each.kind for each in parameters]
    return [*declarations(), *[line for each in done.values() for line in each],
            *_Entry(entry).entry(kinds)], kinds


class _Entry(Scope):
    """The lines of the function that machine code is entered by."""

    def entry(self, kinds: list[Kind]) -> list[str]:
        """Return the function."""
        given, at, table = [], 0, '%table'
        for kind in kinds:
            given += self._given(Held(kind, table, at))
            at += words_of(kind)
        call = f'call void {symbol(self._function)}({", ".join(given)})'
        return [f'define void @rbd_procedure({pointer("i64")} {table}) nounwind {{',
                *self._first, call, 'ret void', '}']


class _Body(Calls):
    """The lines of one function."""

    def lines(self) -> list[str]:
        """Return the function."""
        tree, given, result = self._tree, [], result_of(self._tree)
        for parameter in parameters_of(self._function):
            name = parameter.name
            if parameter.is_number:
                kind = str(parameter.kind)
                given.append(f'{TYPES[kind]} %"{name}.given"')
                self._assign(name, Value(kind, f'%"{name}.given"'), tree)
            else:
                given += self._take(parameter)
        self._block(tree.body)
        if result != 'None' and not _ends(tree.body):
            self._refuse(tree.body[-1], f'{tree.name} can end here without its result')
        # After a return at the end nothing comes here, but a block has to end.
        self._lines.append('ret void' if result == 'None' else 'unreachable')
        head = (f'define internal {TYPES[result]} {symbol(self._function)}({", ".join(given)}) '
                'nounwind {')
        return [head, *self._first, *self._lines, '}']

    def _block(self, statements: list[ast.stmt]) -> None:
        for node in statements:
            handler = getattr(self, f'_do_{type(node).__name__.lower()}', None)
            if handler is None:
                self._refuse(node, 'there is no such statement here')
            handler(node)

    def _leave(self, text: str) -> None:
        """End a block; what follows it in the source is out of reach."""
        self._lines += [text, f'{self._name()}:']

    def _do_expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._call(node.value, result=False)
        elif not isinstance(node.value, ast.Constant):
            self._refuse(node, 'it has no effect')

    def _do_pass(self, node: ast.Pass) -> None:
        pass

    def _do_return(self, node: ast.Return) -> None:
        kind = result_of(self._tree)
        if (node.value is None) != (kind == 'None'):
            self._refuse(node, f'{self._tree.name} returns {kind}')
        if node.value is None:
            self._leave('ret void')
            return
        found = self._as(kind, self._expression(node.value), node)
        self._leave(f'ret {TYPES[kind]} {found}')

    def _do_assign(self, node: ast.Assign) -> None:
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            targets, sources = node.targets[0].elts, node.value.elts
        else:
            targets, sources = node.targets, [node.value]
        if len(targets) != len(sources):
            self._refuse(node, 'there must be one value for each target')
        for target, value in list(zip(targets, [self._expression(s) for s in sources])):
            self._store(target, value)

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        kind = ast.unparse(node.annotation)
        if node.value is None or kind not in ('int', 'float', 'bool'):
            self._refuse(node, 'it needs a value, and int, float or bool as its type')
        self._store(node.target, Value(kind, self._as(kind, self._expression(node.value), node)))

    def _do_augassign(self, node: ast.AugAssign) -> None:
        old = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        self._store(node.target, self._expression(old))

    def _store(self, target: ast.expr, value: Value) -> None:
        number = self._number_of(target)
        if isinstance(target, ast.Name):
            self._assign(target.id, value, target)
        elif number is not None:
            self._lines.append(f'store double {self._as("float", value, target)}, {number}')
        elif isinstance(target, ast.Subscript):
            address = self._address(target)
            self._lines.append(f'store double {self._as("float", value, target)}, {address}')
        else:
            self._refuse(target, 'it is neither a name, nor an element, nor a number of a record')

    def _assign(self, name: str, value: Value, node: ast.AST) -> None:
        if name in self._held:
            self._refuse(node, f'{name} is a {self._held[name].kind}; assign what it holds')
        if name not in self._numbers:
            self._numbers[name] = value.kind
            self._places[name] = self._place(value.kind)
        kind = self._numbers[name]
        self._lines.append(f'store {TYPES[kind]} {self._as(kind, value, node)}, '
                           f'{self._places[name]}')

    def _do_if(self, node: ast.If) -> None:
        tag = self._name()
        self._lines.append(f'br i1 {self._condition(node.test)}, label %{tag}.yes, '
                           f'label %{tag}.no')
        self._lines.append(f'{tag}.yes:')
        self._block(node.body)
        self._lines += [f'br label %{tag}.end', f'{tag}.no:']
        self._block(node.orelse)
        self._label(f'{tag}.end')

    def _do_while(self, node: ast.While) -> None:
        tag = self._name()
        self._label(f'{tag}.again')
        self._lines.append(f'br i1 {self._condition(node.test)}, label %{tag}.body, '
                           f'label %{tag}.end')
        self._lines.append(f'{tag}.body:')
        self._loop(node, f'{tag}.again', f'{tag}.end')
        self._lines += [f'br label %{tag}.again', f'{tag}.end:']

    def _loop(self, node: ast.For | ast.While, again: str, end: str) -> None:
        if node.orelse:
            self._refuse(node, 'a loop may have no else')
        self._loops.append((again, end))
        self._block(node.body)
        self._loops.pop()

    def _do_for(self, node: ast.For) -> None:
        if not (isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
                and ast.unparse(node.iter.func) == 'range' and 0 < len(node.iter.args) < 4):
            self._refuse(node, 'a loop is over a range')
        given = [self._expression(each) for each in node.iter.args]
        if any(each.kind != 'int' for each in given):
            self._refuse(node.iter, 'a range is of integers')
        first, last = (Value('int', '0'), given[0]) if len(given) == 1 else given[:2]
        if len(given) == 3 and given[2].text.strip('-').isdecimal() and int(given[2].text):
            step = int(given[2].text)
        elif len(given) == 3:
            self._refuse(node.iter, 'the step of a range is a constant')
        else:
            step = 1
        tag, place = self._name(), self._place('int')
        self._lines.append(f'store i64 {first.text}, {place}')
        self._label(f'{tag}.again')
        k = self._value('int', f'load i64, {place}')
        inside = self._value('bool', f'icmp {"slt" if step > 0 else "sgt"} i64 {k.text}, '
                             f'{last.text}')
        self._lines += [f'br i1 {inside.text}, label %{tag}.body, label %{tag}.end',
                        f'{tag}.body:']
        self._assign(node.target.id, k, node)
        self._loop(node, f'{tag}.next', f'{tag}.end')
        self._label(f'{tag}.next')
        following = self._value('int', f'add i64 {k.text}, {step}')
        self._lines += [f'store i64 {following.text}, {place}', f'br label %{tag}.again',
                        f'{tag}.end:']

    def _do_break(self, node: ast.Break) -> None:
        self._leave(f'br label %{self._loops[-1][1]}')

    def _do_continue(self, node: ast.Continue) -> None:
        self._leave(f'br label %{self._loops[-1][0]}')


def _ends(block: list[ast.stmt]) -> bool:
    """Return whether nothing comes after a block: all its ways end with a return."""
    last = block[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.While):
        return (isinstance(last.test, ast.Constant) and last.test.value is True
                and not any(isinstance(each, ast.Break) for each in ast.walk(last)))
    return isinstance(last, ast.Return)
