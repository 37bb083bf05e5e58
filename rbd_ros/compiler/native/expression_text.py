# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Expressions of procedures as LLVM assembly text."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

from rbd_ros.compiler.language.signatures import BYTES, Function, Layout
from rbd_ros.compiler.language.tree import (
    Arithmetic, BuiltIn, Call, Choice, Comparison, Constant, Converted, Expression,
    ForeignCall, Held, KernelCall, Length, Local, Logic, Negative, Not, Number, Octets, Procedure,
    Target)
from rbd_ros.compiler.native.instructions import double
from rbd_ros.compiler.native.octet_text import octet_functions, octet_symbol
from rbd_ros.compiler.native.tables import passed, Words
from rbd_ros.compiler.native.target import pointer

TYPES = {'float': 'double', 'int': 'i64', 'bool': 'i1', 'None': 'void'}
_ARITHMETIC = {'+': 'add', '-': 'sub', '*': 'mul', '/': 'div', '&': 'and'}
#: Of integers, and of floating-point numbers: false for NaN, as in Python, but for ``!=``.
_COMPARISONS = {'<': ('slt', 'olt'), '<=': ('sle', 'ole'), '>': ('sgt', 'ogt'),
                '>=': ('sge', 'oge'), '==': ('eq', 'oeq'), '!=': ('ne', 'une')}
#: of the C library, which Python takes them from as well
_LIBRARY = {'exp': 1, 'sin': 1, 'cos': 1, 'atan2': 2}
#: of LLVM
_INTRINSIC = {'sqrt': 1, 'fabs': 1, 'floor': 1, 'copysign': 2}


def declarations() -> list[str]:
    """
    Return what the text refers to outside of its module.

    LLVM is not told what the functions of the C library are: it would compute those of constants
    itself, and to another last bit.
    """
    def given(count: int) -> str:
        return ', '.join(['double'] * count)
    byte = pointer('i8')
    return [*[f'declare double @llvm.{name}.f64({given(n)})' for name, n in _INTRINSIC.items()],
            'declare i64 @llvm.fptosi.sat.i64.f64(double)',
            f'declare {byte} @memmove({byte}, {byte}, i64) nounwind',
            *[f'declare double @{name}({given(n)}) nounwind readnone nobuiltin'
              for name, n in _LIBRARY.items()], *octet_functions()]


def symbol(function: Function) -> str:
    """Return the name of a function in LLVM."""
    return f'@"{function.__module__}.{function.__qualname__}"'


class ExpressionText:
    """
    Lines of one procedure, and how expressions add to them.

    :param procedure: what is written.
    """

    def __init__(self, procedure: Procedure) -> None:
        self._procedure = procedure
        self._places: dict[str, str] = {}
        self._first: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._loops: list[tuple[str, str]] = []
        held = [each for each in procedure.parameters
                if not each.is_number and not isinstance(each.kind, Layout)]
        self._words = Words({
            each.name: [f'%"{each.name}.{k}"' for k in range(len(passed(each.kind)))]
            for each in held})

    def _name(self) -> str:
        self._count += 1
        return f'.{self._count}'

    def _value(self, text: str) -> str:
        name = f'%{self._name()}'
        self._lines.append(f'{name} = {text}')
        return name

    def _label(self, name: str) -> None:
        """Begin a block, where the one before goes on unless it has ended otherwise."""
        self._lines += [f'br label %{name}', f'{name}:']

    def _branch(self, test: str, yes: str, no: str) -> None:
        self._lines.append(f'br i1 {test}, label %{yes}, label %{no}')

    def _place(self, kind: str) -> str:
        """Return where a number can be kept; it is zero at first."""
        name, of = f'%{self._name()}', TYPES[kind]
        self._first += [f'{name} = alloca {of}',
                        f'store {of} {"0.0" if kind == "float" else "0"}, {pointer(of)} {name}']
        return f'{pointer(of)} {name}'

    def _address(self, target: Target) -> str:
        if isinstance(target, Local):
            return self._places[target.name]
        if isinstance(target, Number):
            return self._words.number(target)
        index = [self._of(each) for each in target.places]
        k, real = index[0], pointer('double')
        if len(index) == 2:
            row = self._value(f'mul i64 {k}, {self._words.word(target.array, 2)}')
            k = self._value(f'add i64 {row}, {index[1]}')
        data = self._words.word(target.array, 0)
        return f'{real} ' + self._value(f'getelementptr double, {real} {data}, i64 {k}')

    def _of(self, node: Expression) -> str:
        """Return the name or the constant of a value, whose lines are added."""
        found: Any = getattr(self, f'_of_{type(node).__name__.lower()}')(node)
        return found

    def _of_constant(self, node: Constant) -> str:
        return double(node.value) if node.kind == 'float' else str(int(node.value))

    def _of_local(self, node: Target) -> str:
        return self._value(f'load {TYPES[node.kind]}, {self._address(node)}')

    _of_number = _of_element = _of_local

    def _of_length(self, node: Length) -> str:
        return self._words.word(node.array, 1 + node.axis)

    def _of_converted(self, node: Converted) -> str:
        return self._value(f'sitofp i64 {self._of(node.value)} to double')

    def _of_negative(self, node: Negative) -> str:
        value = self._of(node.value)
        return self._value(f'sub i64 0, {value}' if node.kind == 'int' else
                           f'fneg double {value}')

    def _of_not(self, node: Not) -> str:
        return self._value(f'xor i1 {self._of(node.value)}, true')

    def _of_arithmetic(self, node: Arithmetic) -> str:
        a, b = self._of(node.a), self._of(node.b)
        operation = ('f' if node.kind == 'float' else '') + _ARITHMETIC[node.operation]
        return self._value(f'{operation} {TYPES[node.kind]} {a}, {b}')

    def _of_comparison(self, node: Comparison) -> str:
        a, last = self._of(node.values[0]), len(node.operations) - 1
        tag, place = self._name(), self._place('bool') if last else ''
        for k, operation in enumerate(node.operations):
            b = self._of(node.values[k + 1])
            found = self._compared(operation, (a, node.values[k].kind),
                                   (b, node.values[k + 1].kind))
            if not last:
                return found
            self._lines.append(f'store i1 {found}, {place}')
            if k < last:
                self._branch(found, f'{tag}.{k}', f'{tag}.end')
                self._lines.append(f'{tag}.{k}:')
            a = b
        self._label(f'{tag}.end')
        return self._value(f'load i1, {place}')

    def _compared(self, operation: str, *numbers: tuple[str, str]) -> str:
        if all(kind == 'int' for _, kind in numbers):
            a, b = [text for text, _ in numbers]
            return self._value(f'icmp {_COMPARISONS[operation][0]} i64 {a}, {b}')
        a, b = [text if kind == 'float' else self._value(f'sitofp i64 {text} to double')
                for text, kind in numbers]
        return self._value(f'fcmp {_COMPARISONS[operation][1]} double {a}, {b}')

    def _of_logic(self, node: Logic) -> str:
        tag, place = self._name(), self._place('bool')
        for k, each in enumerate(node.values):
            found = self._of(each)
            self._lines.append(f'store i1 {found}, {place}')
            go, stop = f'{tag}.{k}', f'{tag}.end'
            self._branch(found, *((go, stop) if node.operation == 'and' else (stop, go)))
            self._lines.append(f'{go}:')
        self._label(f'{tag}.end')
        return self._value(f'load i1, {place}')

    def _of_choice(self, node: Choice) -> str:
        tag, kind, place = self._name(), TYPES[node.kind], self._place(node.kind)
        self._branch(self._of(node.test), f'{tag}.yes', f'{tag}.no')
        self._lines.append(f'{tag}.yes:')
        self._lines.append(f'store {kind} {self._of(node.yes)}, {place}')
        self._lines += [f'br label %{tag}.end', f'{tag}.no:']
        self._lines.append(f'store {kind} {self._of(node.no)}, {place}')
        self._label(f'{tag}.end')
        return self._value(f'load {kind}, {place}')

    # --- calls ---

    def _of_kernelcall(self, node: KernelCall) -> str:
        run, block = (self._words.word(node.kernel, k) for k in range(2))
        kernel = self._value(f'inttoptr i64 {run} to {pointer("i64 (i64)")}')
        return self._value(f'call i64 {kernel}(i64 {block})')

    def _of_foreigncall(self, node: ForeignCall) -> str:
        given: list[tuple[str, str]] = []
        for each in node.given:
            if isinstance(each, Held):
                of = pointer('i8' if each.kind == BYTES else 'double')
                given.append((of, self._words.word(each, 0)))
            else:
                given.append(('i64', self._of(each)))
        of = pointer(f'i32 ({", ".join(kind for kind, _ in given)})')
        code = self._value(f'inttoptr i64 {self._words.word(node.function, 0)} to {of}')
        found = self._value(f'call i32 {code}({", ".join(map(" ".join, given))})')
        return self._value(f'sext i32 {found} to i64')

    def _of_call(self, node: Call) -> str:
        given: list[str] = []
        for each in node.given:
            if isinstance(each, Held):
                given += self._words.given(each)
            else:
                given.append(f'{TYPES[each.kind]} {self._of(each)}')
        text = f'call {TYPES[node.kind]} {symbol(node.function)}({", ".join(given)})'
        if node.kind != 'None':
            return self._value(text)
        self._lines.append(text)
        return ''

    def _of_octets(self, node: Octets) -> str:
        given = self._words.given(node.data)
        given += [f'{TYPES[each.kind]} {self._of(each)}' for each in node.given]
        text = f'call {TYPES[node.kind]} {octet_symbol(node.name)}({", ".join(given)})'
        if node.kind != 'None':
            return self._value(text)
        self._lines.append(text)
        return ''

    def _of_builtin(self, node: BuiltIn) -> str:
        given = [self._of(each) for each in node.given]
        special = getattr(self, f'_built_in_{node.name}', None)
        if special is not None:
            return special(node.kind, *given)
        return self._function(node.name, given)

    def _function(self, name: str, given: Sequence[str]) -> str:
        symbol = f'llvm.{name}.f64' if name in _INTRINSIC else name
        return self._value(f'call double @{symbol}('
                           + ', '.join(f'double {each}' for each in given) + ')')

    def _built_in_int(self, kind: str, x: str) -> str:
        """Return a number without its fraction; what has no integer gives one all the same."""
        return self._value(f'call i64 @llvm.fptosi.sat.i64.f64(double {x})')

    def _built_in_floor(self, kind: str, x: str) -> str:
        return self._built_in_int(kind, self._function('floor', [x]))

    def _built_in_isfinite(self, kind: str, x: str) -> str:
        return self._value(f'fcmp olt double {self._function("fabs", [x])}, {double(math.inf)}')

    def _built_in_isnan(self, kind: str, x: str) -> str:
        return self._value(f'fcmp uno double {x}, {x}')

    def _built_in_abs(self, kind: str, x: str) -> str:
        if kind == 'float':
            return self._function('fabs', [x])
        less, other = self._value(f'icmp slt i64 {x}, 0'), self._value(f'sub i64 0, {x}')
        return self._value(f'select i1 {less}, i64 {other}, i64 {x}')

    def _built_in_min(self, kind: str, a: str, b: str) -> str:
        return self._extreme('<', kind, a, b)

    def _built_in_max(self, kind: str, a: str, b: str) -> str:
        return self._extreme('>', kind, a, b)

    def _extreme(self, comparison: str, kind: str, a: str, b: str) -> str:
        """Return the second if it is beyond the first, else the first, as Python does."""
        beyond, of = self._compared(comparison, (b, kind), (a, kind)), TYPES[kind]
        return self._value(f'select i1 {beyond}, {of} {b}, {of} {a}')
