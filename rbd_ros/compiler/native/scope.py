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
What the text of one function is written from: its names, where they are, and its lines.

Names of the source are quoted, and those that are made here begin with a dot: none clash.
"""

from __future__ import annotations

import ast
from typing import NamedTuple, NoReturn

from rbd_ros.compiler.native.instructions import double
from rbd_ros.compiler.native.signatures import (
    ARRAYS, definition, Function, Kind, Layout, looked_up, Parameter, passed, TYPES)
from rbd_ros.compiler.native.target import pointer

__all__ = ['Held', 'Scope', 'Value']

#: Words of tables never change while code runs: LLVM need not read one twice.
INVARIANT = '!invariant.load !{}'


class Value(NamedTuple):
    """A number: its type in Python, and its name or constant in LLVM."""

    kind: str
    text: str


class Held(NamedTuple):
    """
    An array, a kernel, a record or a named tuple.

    :param kind: which of them.
    :param table: name of the parameter in whose table its words are; '': it was passed itself.
    :param at: its first word there.
    :param words: values of what was passed.
    """

    kind: Kind
    table: str
    at: int
    words: tuple[str, ...] = ()


class Scope:
    """
    The lines of one function, and what its names stand for.

    :param function: what is translated.
    """

    def __init__(self, function: Function) -> None:
        self._function, self._tree = function, definition(function)
        self._held: dict[str, Held] = {}
        self._numbers: dict[str, str] = {}
        self._places: dict[str, str] = {}   # of numbers
        self._first: list[str] = []     # lines before all others
        self._words: dict[tuple[str, int, str], str] = {}
        self._lines: list[str] = []
        self._count = 0
        self._loops: list[tuple[str, str]] = []
        #: Functions that this one calls.
        self.called: list[Function] = []

    def _refuse(self, node: ast.AST, reason: str) -> NoReturn:
        line = getattr(node, 'lineno', self._tree.lineno)
        raise TypeError(f'{self._function.__module__}, line {line}: `{ast.unparse(node)}` cannot '
                        f'be translated: {reason}')

    def _name(self) -> str:
        self._count += 1
        return f'.{self._count}'

    def _value(self, kind: str, text: str) -> Value:
        name = f'%{self._name()}'
        self._lines.append(f'{name} = {text}')
        return Value(kind, name)

    def _label(self, name: str) -> None:
        """Begin a block, where the one before goes on unless it has ended otherwise."""
        self._lines += [f'br label %{name}', f'{name}:']

    def _as(self, kind: str, value: Value, node: ast.AST) -> str:
        """Return a value as one of a type; integers become floating-point numbers."""
        if value.kind == kind:
            return value.text
        if (kind, value.kind) != ('float', 'int'):
            advice = ('; write a comparison' if kind == 'bool' else
                      '; a variable keeps the type of its first value' if kind == 'int' else '')
            self._refuse(node, f'{value.kind} in place of {kind}{advice}')
        return self._value('float', f'sitofp i64 {value.text} to double').text

    def _constant(self, value: object, node: ast.AST) -> Value:
        if isinstance(value, bool):
            return Value('bool', 'true' if value else 'false')
        if isinstance(value, int):      # the member of an enumeration, too
            if abs(int(value)) >= 2 ** 63:
                self._refuse(node, 'an integer has 64 bits')
            return Value('int', str(int(value)))
        if isinstance(value, float):
            return Value('float', double(value))
        self._refuse(node, 'it is no number')

    def _place(self, kind: str) -> str:
        """Return where a number can be kept; it is zero at first."""
        name, of = f'%{self._name()}', TYPES[kind]
        self._first += [f'{name} = alloca {of}',
                        f'store {of} {"0.0" if kind == "float" else "0"}, {pointer(of)} {name}']
        return f'{pointer(of)} {name}'

    # --- what is held ---

    def _take(self, parameter: Parameter) -> list[str]:
        """Know a parameter that is no number; return how the function takes it."""
        name, types = parameter.name, passed(parameter.kind)
        words = [f'%"{name}.{k}"' for k in range(len(types))]
        if isinstance(parameter.kind, Layout):
            self._held[name] = Held(parameter.kind, words[0], 0)
        else:
            self._held[name] = Held(parameter.kind, '', 0, tuple(words))
        return [f'{each} {word}' for each, word in zip(types, words, strict=True)]

    def _holding(self, node: ast.expr) -> Held | None:
        """Return what a name or an attribute stands for, unless it is a number."""
        if isinstance(node, ast.Name):
            return self._held.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._holding(node.value)
            if owner is not None and isinstance(owner.kind, Layout):
                at, kind = owner.kind.members.get(node.attr, (0, None))
                if kind is not None:
                    return Held(kind, owner.table, owner.at + at)
        return None

    def _word(self, held: Held, k: int) -> str:
        """Return a word of what is held, which is read once, before all else."""
        if held.words:
            return held.words[k]
        of = passed(held.kind)[k] if not isinstance(held.kind, Layout) else pointer('double')
        key = held.table, held.at + k, of
        if key not in self._words:
            name, word = f'%{self._name()}', pointer('i64')
            self._first += [
                f'{name}.p = getelementptr i64, {word} {held.table}, i64 {held.at + k}',
                f'{name}.w = load i64, {word} {name}.p, {INVARIANT}']
            if of != 'i64':
                self._first.append(f'{name} = inttoptr i64 {name}.w to {of}')
            self._words[key] = name if of != 'i64' else f'{name}.w'
        return self._words[key]

    def _given(self, held: Held) -> list[str]:
        """Return how what is held is passed on."""
        types = passed(held.kind)
        if not isinstance(held.kind, Layout):
            return [f'{of} {self._word(held, k)}' for k, of in enumerate(types)]
        if not held.at:
            return [f'{types[0]} {held.table}']
        key = held.table, held.at, 'words'
        if key not in self._words:
            self._words[key] = f'%{self._name()}'
            self._first.append(f'{self._words[key]} = getelementptr i64, {types[0]} '
                               f'{held.table}, i64 {held.at}')
        return [f'{types[0]} {self._words[key]}']

    def _number_of(self, node: ast.expr) -> str | None:
        """Return where a single number of a record is, if an attribute is one."""
        owner = self._holding(node.value) if isinstance(node, ast.Attribute) else None
        if owner is None or not isinstance(owner.kind, Layout):
            return None
        k = owner.kind.numbers.get(node.attr)       # type: ignore[attr-defined]
        if k is None:
            return None
        key = owner.table, owner.at, f'number {k}'
        if key not in self._words:
            first, real = self._word(owner, 0), pointer('double')
            self._words[key] = f'%{self._name()}'
            self._first.append(
                f'{self._words[key]} = getelementptr double, {real} {first}, i64 {k}')
        return f'{pointer("double")} {self._words[key]}'

    def _array(self, node: ast.expr, axes: int = 0) -> Held | None:
        """Return an array, of so many axes if it matters how many."""
        found = self._holding(node)
        if found is None or isinstance(found.kind, Layout) or found.kind not in ARRAYS:
            return None
        return found if axes in (0, ARRAYS[found.kind]) else None

    def _of_module(self, node: ast.expr) -> object:
        """Return what a name of the module, or an attribute of such, stands for."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self._numbers | self._held:
            return looked_up(node, self._function.__globals__)
        return None
