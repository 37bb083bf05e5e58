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
Expressions of Python as LLVM assembly text, see :mod:`rbd_ros.compiler.native.statements`.

Every number has a place on the stack, which LLVM's passes turn into registers.
"""

from __future__ import annotations

import ast

from rbd_ros.compiler.native.scope import Scope, Value
from rbd_ros.compiler.native.signatures import TYPES
from rbd_ros.compiler.native.target import pointer

_ARITHMETIC = {ast.Add: 'add', ast.Sub: 'sub', ast.Mult: 'mul'}
#: Of integers, and of floating-point numbers: false for NaN, as in Python, but for ``!=``.
COMPARISONS = {ast.Lt: ('slt', 'olt'), ast.LtE: ('sle', 'ole'), ast.Gt: ('sgt', 'ogt'),
               ast.GtE: ('sge', 'oge'), ast.Eq: ('eq', 'oeq'), ast.NotEq: ('ne', 'une')}


class Expressions(Scope):
    """How expressions add to the lines of a function."""

    def _expression(self, node: ast.expr) -> Value:
        handler = getattr(self, f'_of_{type(node).__name__.lower()}', None)
        if handler is None:
            self._refuse(node, 'there is no such expression here')
        return handler(node)

    def _condition(self, node: ast.expr) -> str:
        return self._as('bool', self._expression(node), node)

    def _of_constant(self, node: ast.Constant) -> Value:
        return self._constant(node.value, node)

    def _of_name(self, node: ast.Name) -> Value:
        if node.id in self._numbers:
            kind = self._numbers[node.id]
            return self._value(kind, f'load {TYPES[kind]}, {self._places[node.id]}')
        if node.id in self._held:
            self._refuse(node, f'it is a {self._held[node.id].kind}, not a number')
        return self._constant(self._of_module(node), node)

    def _of_attribute(self, node: ast.Attribute) -> Value:
        place = self._number_of(node)
        if place is not None:
            return self._value('float', f'load double, {place}')
        held, owner = self._holding(node), self._holding(node.value)
        if held is not None:
            self._refuse(node, f'it is a {held.kind}, not a number')
        if owner is not None:
            self._refuse(node, f'{owner.kind} has no {node.attr}')
        return self._constant(self._of_module(node), node)

    def _address(self, node: ast.Subscript) -> str:
        at = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        array = self._array(node.value, len(at))
        if array is None:
            self._refuse(node, 'it takes an array, and one index for each of its axes')
        index = [self._as('int', self._expression(each), each) for each in at]
        k = index[0]
        if len(index) == 2:
            row = self._value('int', f'mul i64 {k}, {self._word(array, 2)}').text
            k = self._value('int', f'add i64 {row}, {index[1]}').text
        real = pointer('double')
        return f'{real} ' + self._value(
            'float', f'getelementptr double, {real} {self._word(array, 0)}, i64 {k}').text

    def _of_subscript(self, node: ast.Subscript) -> Value:
        return self._value('float', f'load double, {self._address(node)}')

    def _of_unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self._value('bool', f'xor i1 {self._condition(node.operand)}, true')
        if not isinstance(node.op, ast.USub):
            self._refuse(node, 'there is no such operation here')
        if isinstance(node.operand, ast.Constant) and isinstance(
                node.operand.value, (int, float)):
            return self._constant(-node.operand.value, node)
        found = self._expression(node.operand)
        if found.kind == 'int':
            return self._value('int', f'sub i64 0, {found.text}')
        return self._value('float', f'fneg double {self._as("float", found, node)}')

    def _of_binop(self, node: ast.BinOp) -> Value:
        a, b = self._expression(node.left), self._expression(node.right)
        if isinstance(node.op, ast.Div):
            x, y = self._as('float', a, node), self._as('float', b, node)
            return self._value('float', f'fdiv double {x}, {y}')
        if type(node.op) not in _ARITHMETIC:
            self._refuse(node, 'there is no such operation here')
        op = _ARITHMETIC[type(node.op)]
        if a.kind == b.kind == 'int':
            return self._value('int', f'{op} i64 {a.text}, {b.text}')
        x, y = self._as('float', a, node), self._as('float', b, node)
        return self._value('float', f'f{op} double {x}, {y}')

    def _of_compare(self, node: ast.Compare) -> Value:
        """Compare neighbours until one comparison is false; evaluate the rest not at all."""
        if any(type(each) not in COMPARISONS for each in node.ops):
            self._refuse(node, 'there is no such comparison here')
        a, last = self._expression(node.left), len(node.ops) - 1
        tag, place = self._name(), self._place('bool') if last else ''
        for k, (op, each) in enumerate(zip(node.ops, node.comparators, strict=True)):
            b = self._expression(each)
            found = self._compared(COMPARISONS[type(op)], a, b, node)
            if not last:
                return found
            self._lines.append(f'store i1 {found.text}, {place}')
            if k < last:
                self._lines += [f'br i1 {found.text}, label %{tag}.{k}, label %{tag}.end',
                                f'{tag}.{k}:']
            a = b
        self._label(f'{tag}.end')
        return self._value('bool', f'load i1, {place}')

    def _compared(
        self, words: tuple[str, str], a: Value, b: Value, node: ast.AST,
    ) -> Value:
        if a.kind == b.kind == 'int':
            return self._value('bool', f'icmp {words[0]} i64 {a.text}, {b.text}')
        x, y = self._as('float', a, node), self._as('float', b, node)
        return self._value('bool', f'fcmp {words[1]} double {x}, {y}')

    def _of_boolop(self, node: ast.BoolOp) -> Value:
        """Evaluate what is needed only: the rest may lie outside of an array."""
        tag, place = self._name(), self._place('bool')
        for k, each in enumerate(node.values):
            found = self._condition(each)
            self._lines.append(f'store i1 {found}, {place}')
            go, stop = f'{tag}.{k}', f'{tag}.end'
            yes, no = (go, stop) if isinstance(node.op, ast.And) else (stop, go)
            self._lines += [f'br i1 {found}, label %{yes}, label %{no}', f'{go}:']
        self._label(f'{tag}.end')
        return self._value('bool', f'load i1, {place}')

    def _of_ifexp(self, node: ast.IfExp) -> Value:
        tag = self._name()
        self._lines += [f'br i1 {self._condition(node.test)}, label %{tag}.yes, label %{tag}.no',
                        f'{tag}.yes:']
        yes = self._expression(node.body)
        kind, place = TYPES[yes.kind], self._place(yes.kind)
        self._lines += [f'store {kind} {yes.text}, {place}', f'br label %{tag}.end', f'{tag}.no:']
        no = self._as(yes.kind, self._expression(node.orelse), node)
        self._lines.append(f'store {kind} {no}, {place}')
        self._label(f'{tag}.end')
        return self._value(yes.kind, f'load {kind}, {place}')
