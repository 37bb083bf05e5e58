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
many rows as there happen to be, is written as functions on arrays, which Python runs as they
stand and which are translated here. They may hold:

- parameters without defaults: arrays, ``Vector`` and ``Matrix``; a ``Kernel``, whose call returns
  zero unless it has failed; named tuples of these; ``int`` and ``float``;
- ``for`` over a ``range``, ``while``, ``if``, ``break``, ``continue``, ``return``, assignments;
- numbers, which keep the type of their first assignment; numbers of the module, as constants;
- arithmetic but for ``//``, ``%`` and ``**``; single comparisons; ``and``, ``or``, ``not``,
  ``x if c else y``; ``abs``, ``min`` and ``max`` of two, ``len``, ``int``, ``float``,
  ``math.sqrt``, and other such functions.

Indices are not checked and must not be negative. A division by zero gives infinity or NaN.
"""

from __future__ import annotations

import ast
import inspect

from rbd_ros import source_state
from rbd_ros.compiler.native.expressions import Expressions, Value
from rbd_ros.compiler.native.signatures import (
    definition, Function, KERNEL, parameters_of, passed, result_of, symbol, TYPES)
from rbd_ros.compiler.native.target import pointer


def translate(entry: Function) -> tuple[list[str], list[str]]:
    """
    Return the lines of a function and all that it calls, and the types of what it takes.

    The function is ``rbd_procedure`` of one address, that of a table with three numbers for each
    array or kernel: of an array its address and its numbers of rows and columns, of a kernel the
    addresses of its code and of its block of memory.

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
    kinds = [kind for each in parameters_of(entry) for _, kind in each.fields]
    if {'int', 'float'} & set(kinds) or result_of(definition(entry)) != 'None':
        raise TypeError(f'{entry.__name__} can be called from Python if it takes no numbers but '
                        'those in arrays, and returns nothing')
    word, real = pointer('i64'), pointer('double')
    lines, given = [], []
    for k, kind in enumerate(kinds):
        words = [f'%word{3 * k + j}' for j in range(3)]
        for j, each in enumerate(words):
            lines += [f'{each}.p = getelementptr i64, {word} %table, i64 {3 * k + j}',
                      f'{each} = load i64, {word} {each}.p']
        if kind == KERNEL:
            given += [f'i64 {each}' for each in words[:2]]
        else:
            lines.append(f'%data{k} = inttoptr i64 {words[0]} to {real}')
            given += [f'{real} %data{k}', *[f'i64 {each}' for each in words[1:]]]
    head = f'define void @rbd_procedure({word} %table) nounwind {{'
    call = f'call void {symbol(entry)}({", ".join(given)})'
    declared = [f'declare double @llvm.{name}.f64(double)' for name in ('sqrt', 'fabs')]
    return [*declared, *[line for each in done.values() for line in each],
            head, *lines, call, 'ret void', '}'], kinds


class _Body(Expressions):
    """The lines of one function."""

    def lines(self) -> list[str]:
        """Return the function."""
        tree, given, result = self._tree, [], result_of(self._tree)
        for parameter in parameters_of(self._function):
            name, kind = parameter.name, parameter.kind
            if kind in ('int', 'float'):
                given.append(f'{TYPES[kind]} %{name}.given')
                self._assign(name, Value(kind, f'%{name}.given'), tree)
                continue
            for part, held in parameter.parts(name):
                self._held[part] = held
                given += passed(part, held)
        self._block(tree.body)
        # After a return at the end nothing comes here, but a block has to end.
        self._lines.append('ret void' if result == 'None' else 'unreachable')
        listed = ', '.join(given)
        head = f'define internal {TYPES[result]} {symbol(self._function)}({listed}) nounwind {{'
        return [head, *self._places, *self._lines, '}']

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

    def _do_augassign(self, node: ast.AugAssign) -> None:
        old = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        self._store(node.target, self._expression(old))

    def _store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, value, target)
        elif isinstance(target, ast.Subscript):
            address = self._address(target)
            self._lines.append(f'store double {self._as("float", value, target)}, {address}')
        else:
            self._refuse(target, 'it is neither a name nor an element')

    def _assign(self, name: str, value: Value, node: ast.AST) -> None:
        if name in self._held:
            self._refuse(node, f'{name} is an array; assign its elements')
        if name not in self._numbers:
            self._numbers[name] = value.kind
            self._places.append(f'%{name}.at = alloca {TYPES[value.kind]}')
        kind = self._numbers[name]
        self._lines.append(f'store {TYPES[kind]} {self._as(kind, value, node)}, '
                           f'{pointer(TYPES[kind])} %{name}.at')

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
                and ast.unparse(node.iter.func) == 'range'):
            self._refuse(node, 'a loop is over a range')
        given = [self._expression(each) for each in node.iter.args]
        if any(each.kind != 'int' for each in given):
            self._refuse(node.iter, 'a range is of integers')
        first, last = (Value('int', '0'), given[0]) if len(given) == 1 else given[:2]
        step = int(given[2].text) if len(given) == 3 else 1     # a constant, or an error here
        tag = self._name()
        self._places.append(f'%{tag}.at = alloca i64')
        place = f'{pointer("i64")} %{tag}.at'
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
