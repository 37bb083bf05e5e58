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
import inspect
from typing import NamedTuple, NoReturn

from rbd_ros.compiler.native.instructions import double
from rbd_ros.compiler.native.signatures import (
    ARRAYS, definition, Function, KERNEL, parameters_of, passed, result_of, symbol, TYPES)
from rbd_ros.compiler.native.target import pointer

_ARITHMETIC = {ast.Add: 'add', ast.Sub: 'sub', ast.Mult: 'mul'}
#: Of integers, and of floating-point numbers: false for NaN, as in Python, but for ``!=``.
_COMPARISONS = {ast.Lt: ('slt', 'olt'), ast.LtE: ('sle', 'ole'), ast.Gt: ('sgt', 'ogt'),
                ast.GtE: ('sge', 'oge'), ast.Eq: ('eq', 'oeq'), ast.NotEq: ('ne', 'une')}


class Value(NamedTuple):
    """A number: its type in Python, and its name or constant in LLVM."""

    kind: str
    text: str


class Expressions:
    """
    The lines of one function, and how expressions add to them.

    :param function: what is translated.
    """

    def __init__(self, function: Function) -> None:
        self._function, self._tree = function, definition(function)
        self._held: dict[str, str] = {}     # types of arrays and kernels
        self._numbers: dict[str, str] = {}
        self._places: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._loops: list[tuple[str, str]] = []
        #: Functions that this one calls.
        self.called: list[Function] = []

    def _refuse(self, node: ast.AST, reason: str) -> NoReturn:
        line = self._function.__code__.co_firstlineno + getattr(node, 'lineno', 1) - 1
        raise TypeError(f'{self._function.__module__}, line {line}: `{ast.unparse(node)}` cannot '
                        f'be translated: {reason}')

    def _name(self) -> str:
        self._count += 1
        return f't{self._count}'

    def _value(self, kind: str, text: str) -> Value:
        name = f'%{self._name()}'
        self._lines.append(f'{name} = {text}')
        return Value(kind, name)

    def _label(self, name: str) -> None:
        """Begin a block, where the one before goes on unless it has ended otherwise."""
        self._lines += [f'br label %{name}', f'{name}:']

    def _expression(self, node: ast.expr) -> Value:
        handler = getattr(self, f'_of_{type(node).__name__.lower()}', None)
        if handler is None:
            self._refuse(node, 'there is no such expression here')
        return handler(node)

    def _as(self, kind: str, value: Value, node: ast.AST) -> str:
        """Return a value as one of a type; integers become floating-point numbers."""
        if value.kind == kind:
            return value.text
        if (kind, value.kind) != ('float', 'int'):
            self._refuse(node, f'{value.kind} in place of {kind}')
        return self._value('float', f'sitofp i64 {value.text} to double').text

    def _condition(self, node: ast.expr) -> str:
        return self._as('bool', self._expression(node), node)

    def _constant(self, value: object, node: ast.AST) -> Value:
        if isinstance(value, bool):
            return Value('bool', 'true' if value else 'false')
        if isinstance(value, int):
            return Value('int', str(value))
        if isinstance(value, float):
            return Value('float', double(value))
        self._refuse(node, 'it is no number')

    def _of_constant(self, node: ast.Constant) -> Value:
        return self._constant(node.value, node)

    def _of_name(self, node: ast.Name) -> Value:
        if node.id in self._numbers:
            kind = self._numbers[node.id]
            return self._value(kind, f'load {TYPES[kind]}, {pointer(TYPES[kind])} '
                               f'%{node.id}.at')
        return self._constant(self._function.__globals__.get(node.id), node)

    def _address(self, node: ast.Subscript) -> str:
        name = ast.unparse(node.value)
        at = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if ARRAYS.get(self._held.get(name, '')) != len(at):
            self._refuse(node, 'it takes an array, and one index for each of its axes')
        index = [self._as('int', self._expression(each), each) for each in at]
        k = index[0]
        if len(index) == 2:
            row = self._value('int', f'mul i64 {k}, %{name}.columns').text
            k = self._value('int', f'add i64 {row}, {index[1]}').text
        real = pointer('double')
        return f'{real} ' + self._value(
            'float', f'getelementptr double, {real} %{name}.data, i64 {k}').text

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
        if len(node.ops) > 1 or type(node.ops[0]) not in _COMPARISONS:
            self._refuse(node, 'compare two numbers, one time')
        a, b = self._expression(node.left), self._expression(node.comparators[0])
        return self._compared(_COMPARISONS[type(node.ops[0])], a, b, node)

    def _compared(
        self, words: tuple[str, str], a: Value, b: Value, node: ast.AST,
    ) -> Value:
        if a.kind == b.kind == 'int':
            return self._value('bool', f'icmp {words[0]} i64 {a.text}, {b.text}')
        x, y = self._as('float', a, node), self._as('float', b, node)
        return self._value('bool', f'fcmp {words[1]} double {x}, {y}')

    def _of_boolop(self, node: ast.BoolOp) -> Value:
        """Evaluate what is needed only: the rest may lie outside of an array."""
        tag, place = self._name(), f'{pointer("i1")} %{self._name()}.at'
        self._places.append(f'{place.split()[1]} = alloca i1')
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
        kind, place = TYPES[yes.kind], f'{pointer(TYPES[yes.kind])} %{tag}.at'
        self._places.append(f'%{tag}.at = alloca {kind}')
        self._lines += [f'store {kind} {yes.text}, {place}', f'br label %{tag}.end', f'{tag}.no:']
        no = self._as(yes.kind, self._expression(node.orelse), node)
        self._lines.append(f'store {kind} {no}, {place}')
        self._label(f'{tag}.end')
        return self._value(yes.kind, f'load {kind}, {place}')

    def _of_call(self, node: ast.Call) -> Value:
        return self._call(node, result=True)

    def _call(self, node: ast.Call, *, result: bool) -> Value:
        name = ast.unparse(node.func)
        built_in = getattr(self, f'_call_{name.replace(".", "_")}', None)
        if built_in is not None and result and not node.keywords:
            return built_in(node, *node.args)
        if self._held.get(name) == KERNEL:
            kernel = self._value('', f'inttoptr i64 %{name}.run to {pointer("i64 (i64)")}').text
            return self._value('int', f'call i64 {kernel}(i64 %{name}.block)')
        function = self._function.__globals__.get(name)
        if not inspect.isfunction(function) or node.keywords:
            self._refuse(node, f'{name} is no function that is known here')
        parameters, kind = parameters_of(function), result_of(definition(function))
        if len(parameters) != len(node.args) or (result and kind == 'None'):
            self._refuse(node, f'{name} has other parameters, or no result')
        self.called.append(function)
        given = []
        for parameter, each in zip(parameters, node.args, strict=True):
            if parameter.kind in ('int', 'float'):
                found = self._as(parameter.kind, self._expression(each), each)
                given.append(f'{TYPES[parameter.kind]} {found}')
                continue
            for part, wanted in parameter.parts(ast.unparse(each)):
                if self._held.get(part) != wanted:
                    self._refuse(each, f'{name} takes a {parameter.kind} here')
                given += passed(part, wanted)
        text = f'call {TYPES[kind]} {symbol(function)}({", ".join(given)})'
        if kind != 'None':
            return self._value(kind, text)
        self._lines.append(text)
        return Value('None', '')

    def _call_math_sqrt(self, node: ast.Call, x: ast.expr) -> Value:
        text = self._as('float', self._expression(x), node)
        return self._value('float', f'call double @llvm.sqrt.f64(double {text})')

    def _call_abs(self, node: ast.Call, x: ast.expr) -> Value:
        text = self._as('float', self._expression(x), node)
        return self._value('float', f'call double @llvm.fabs.f64(double {text})')

    def _call_min(self, node: ast.Call, a: ast.expr, b: ast.expr) -> Value:
        return self._extreme(node, ast.Lt, a, b)

    def _call_max(self, node: ast.Call, a: ast.expr, b: ast.expr) -> Value:
        return self._extreme(node, ast.Gt, a, b)

    def _extreme(
        self, node: ast.Call, comparison: type[ast.cmpop], a: ast.expr, b: ast.expr,
    ) -> Value:
        """Return the second if it is beyond the first, else the first, as Python does."""
        x, y = self._expression(a), self._expression(b)
        kind = 'int' if x.kind == y.kind == 'int' else 'float'
        first, second = (Value(kind, self._as(kind, each, node)) for each in (x, y))
        beyond = self._compared(_COMPARISONS[comparison], second, first, node)
        return self._value(kind, f'select i1 {beyond.text}, {TYPES[kind]} {second.text}, '
                           f'{TYPES[kind]} {first.text}')

    def _call_len(self, node: ast.Call, x: ast.expr) -> Value:
        name = ast.unparse(x)
        if self._held.get(name) not in ARRAYS:
            self._refuse(node, f'{name} is no array')
        return Value('int', f'%{name}.rows')

    def _call_int(self, node: ast.Call, x: ast.expr) -> Value:
        text = self._as('float', self._expression(x), node)
        return self._value('int', f'fptosi double {text} to i64')

    def _call_float(self, node: ast.Call, x: ast.expr) -> Value:
        return Value('float', self._as('float', self._expression(x), node))
