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

"""Calls as LLVM assembly text: of kernels, other functions, and those that Python brings along."""

from __future__ import annotations

import ast
import inspect
import math

from rbd_ros.compiler.native.expressions import COMPARISONS, Expressions
from rbd_ros.compiler.native.instructions import double
from rbd_ros.compiler.native.scope import Value
from rbd_ros.compiler.native.signatures import (
    definition, KERNEL, parameters_of, result_of, symbol, TYPES)
from rbd_ros.compiler.native.target import pointer

#: of the C library, which Python takes them from as well
_LIBRARY = {'exp': 1, 'sin': 1, 'cos': 1, 'atan2': 2}


def declarations() -> list[str]:
    """
    Return what the text of calls refers to outside of its module.

    LLVM is not told what the functions of the C library are: it would compute those of constants
    itself, and to another last bit.
    """
    return [*[f'declare double @llvm.{name}.f64(double)' for name in ('sqrt', 'fabs', 'floor')],
            'declare double @llvm.copysign.f64(double, double)',
            'declare i64 @llvm.fptosi.sat.i64.f64(double)',
            *[f'declare double @{name}({", ".join(["double"] * count)}) nounwind readnone '
              'nobuiltin' for name, count in _LIBRARY.items()]]


class Calls(Expressions):
    """How calls add to the lines of a function."""

    def _of_call(self, node: ast.Call) -> Value:
        return self._call(node, result=True)

    def _call(self, node: ast.Call, *, result: bool) -> Value:
        name = ast.unparse(node.func)
        if node.keywords:
            self._refuse(node, 'arguments have no names here')
        held = self._holding(node.func)
        if held is not None and held.kind == KERNEL:
            kernel = self._value('', f'inttoptr i64 {self._word(held, 0)} to '
                                 f'{pointer("i64 (i64)")}').text
            return self._value('int', f'call i64 {kernel}(i64 {self._word(held, 1)})')
        built_in = getattr(self, f'_call_{name.replace(".", "_")}', None)
        if built_in is not None and result:
            wanted = built_in.__code__.co_argcount - 2     # all but self and node
            if len(node.args) != wanted:
                self._refuse(node, f'{name} of {wanted} is known here, not of {len(node.args)}')
            return built_in(node, *node.args)
        return self._call_function(node, name, result=result)

    def _call_function(self, node: ast.Call, name: str, *, result: bool) -> Value:
        function = self._of_module(node.func)
        if not inspect.isfunction(function):
            self._refuse(node, f'{name} is no function that is known here')
        parameters, kind = parameters_of(function), result_of(definition(function))
        if len(parameters) != len(node.args) or (result and kind == 'None'):
            self._refuse(node, f'{name} has other parameters, or no result')
        self.called.append(function)
        given = []
        for parameter, each in zip(parameters, node.args, strict=True):
            if parameter.is_number:
                found = self._as(str(parameter.kind), self._expression(each), each)
                given.append(f'{TYPES[str(parameter.kind)]} {found}')
                continue
            held = self._holding(each)
            if held is None or held.kind != parameter.kind:
                self._refuse(each, f'{name} takes a {parameter.kind} here')
            given += self._given(held)
        text = f'call {TYPES[kind]} {symbol(function)}({", ".join(given)})'
        if kind != 'None':
            return self._value(kind, text)
        self._lines.append(text)
        return Value('None', '')

    # --- functions of Python ---

    def _library(self, node: ast.Call, name: str, *arguments: ast.expr) -> Value:
        given = [f'double {self._as("float", self._expression(each), node)}'
                 for each in arguments]
        return self._value('float', f'call double @{name}({", ".join(given)})')

    def _call_math_sqrt(self, node: ast.Call, x: ast.expr) -> Value:
        return self._library(node, 'llvm.sqrt.f64', x)

    def _call_math_exp(self, node: ast.Call, x: ast.expr) -> Value:
        return self._library(node, 'exp', x)

    def _call_math_sin(self, node: ast.Call, x: ast.expr) -> Value:
        return self._library(node, 'sin', x)

    def _call_math_cos(self, node: ast.Call, x: ast.expr) -> Value:
        return self._library(node, 'cos', x)

    def _call_math_atan2(self, node: ast.Call, y: ast.expr, x: ast.expr) -> Value:
        return self._library(node, 'atan2', y, x)

    def _call_math_copysign(self, node: ast.Call, x: ast.expr, y: ast.expr) -> Value:
        return self._library(node, 'llvm.copysign.f64', x, y)

    def _call_math_floor(self, node: ast.Call, x: ast.expr) -> Value:
        return self._integer(self._library(node, 'llvm.floor.f64', x).text)

    def _call_math_isfinite(self, node: ast.Call, x: ast.expr) -> Value:
        size = self._library(node, 'llvm.fabs.f64', x)
        return self._value('bool', f'fcmp olt double {size.text}, {double(math.inf)}')

    def _call_math_isnan(self, node: ast.Call, x: ast.expr) -> Value:
        text = self._as('float', self._expression(x), node)
        return self._value('bool', f'fcmp uno double {text}, {text}')

    def _call_abs(self, node: ast.Call, x: ast.expr) -> Value:
        found = self._expression(x)
        if found.kind == 'int':
            less = self._value('bool', f'icmp slt i64 {found.text}, 0').text
            other = self._value('int', f'sub i64 0, {found.text}').text
            return self._value('int', f'select i1 {less}, i64 {other}, i64 {found.text}')
        text = self._as('float', found, node)
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
        beyond = self._compared(COMPARISONS[comparison], second, first, node)
        return self._value(kind, f'select i1 {beyond.text}, {TYPES[kind]} {second.text}, '
                           f'{TYPES[kind]} {first.text}')

    def _call_len(self, node: ast.Call, x: ast.expr) -> Value:
        array = self._array(x)
        if array is None:
            self._refuse(node, f'{ast.unparse(x)} is no array')
        return Value('int', self._word(array, 1))

    def _call_int(self, node: ast.Call, x: ast.expr) -> Value:
        found = self._expression(x)
        if found.kind == 'int':
            return found
        return self._integer(self._as('float', found, node))

    def _integer(self, text: str) -> Value:
        """Return a number without its fraction; what has no integer gives one all the same."""
        return self._value('int', f'call i64 @llvm.fptosi.sat.i64.f64(double {text})')

    def _call_float(self, node: ast.Call, x: ast.expr) -> Value:
        return Value('float', self._as('float', self._expression(x), node))
