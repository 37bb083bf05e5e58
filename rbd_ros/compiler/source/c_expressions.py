# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Expressions of procedures as C99, in several statements where :mod:`.c_order` says so."""

from __future__ import annotations

from typing import Any, NamedTuple

from rbd_ros.compiler.language.signatures import Function, KERNEL, Layout
from rbd_ros.compiler.language.tree import (
    Arithmetic, BuiltIn, Call, Choice, Comparison, Constant, Converted, Element, Expression, Held,
    KernelCall, Length, Local, Logic, Negative, Not, Number, Octets, Target)
from rbd_ros.compiler.records import Record
from rbd_ros.compiler.scalar import FLOAT64
from rbd_ros.compiler.source.c99 import literal
from rbd_ros.compiler.source.c_octets import OCTET_HELPERS
from rbd_ros.compiler.source.c_order import immune, safe
from rbd_ros.compiler.source.c_structs import c_name, Memory
from rbd_ros.compiler.source.writer import Names

TYPES = {'float': 'double', 'int': 'int64_t', 'bool': 'bool', 'None': 'void'}
#: What has no function of its name in the C library: type, parameters and result.
HELPERS = {
    'min': ('double', 'double a, double b', 'b < a ? b : a'),
    'max': ('double', 'double a, double b', 'b > a ? b : a'),
    'min_int': ('int64_t', 'int64_t a, int64_t b', 'b < a ? b : a'),
    'max_int': ('int64_t', 'int64_t a, int64_t b', 'b > a ? b : a'),
    'abs_int': ('int64_t', 'int64_t a', 'a < 0 ? -a : a'),
    'int': ('int64_t', 'double a', 'a != a ? 0 : a >= 9223372036854775808.0 ? INT64_MAX : '
            'a <= -9223372036854775808.0 ? INT64_MIN : (int64_t)a'),
}
_HELPED = {('min', 'float'): 'min', ('max', 'float'): 'max', ('min', 'int'): 'min_int',
           ('max', 'int'): 'max_int', ('abs', 'int'): 'abs_int', ('int', 'int'): 'int',
           ('floor', 'int'): 'int'}
#: Names of C that the text may use.
LIBRARY = ('atan2', 'copysign', 'cos', 'exp', 'fabs', 'floor', 'isfinite', 'isnan', 'sin', 'sqrt',
           'int64_t', 'uint8_t', 'INT64_C', 'INT64_MAX', 'INT64_MIN', 'memory')
# How tightly things are bound.
_ATOM, _UNARY, _PRODUCT, _SUM, _ORDER, _EQUAL, _BITS, _AND, _OR, _CHOICE = range(10, 0, -1)
_LEVELS = {'*': _PRODUCT, '/': _PRODUCT, '+': _SUM, '-': _SUM, '==': _EQUAL, '!=': _EQUAL,
           '&': _BITS}


class Text(NamedTuple):
    """An expression, and how tightly its last operation is bound."""

    text: str
    level: int = _ATOM

    def within(self, level: int) -> str:
        """Return it as an operand, in parentheses where it needs them."""
        return self.text if self.level >= level else f'({self.text})'


class CExpressions:
    """
    Writes the expressions of one function.

    :param memory: structs.
    :param functions: names of all procedures.
    :param helpers: names of the functions that C lacks, those that are used are added.
    """

    def __init__(self, memory: Memory, functions: dict[Function, str], helpers: set[str]) -> None:
        self._memory, self._functions, self._helpers = memory, functions, helpers
        self._names = Names(())
        self._local: dict[str, str] = {}
        self._held: dict[str, str] = {}     # parameters that are no numbers
        self._read: set[str] = set()
        self._lines: list[str] = []
        self._indent, self._count = 1, 0

    def _line(self, text: str) -> None:
        self._lines.append('    ' * self._indent + text)

    def _new(self, letter: str) -> str:
        self._count += 1
        return self._names.new(f'{letter}{self._count}')

    def _value(self, node: Expression) -> Text:
        """Return an expression, after lines that it may need."""
        return self._text(node) if safe(node) else self._stepwise(node)

    # --- what is held ---

    def _path(self, held: Held) -> tuple[str, Layout | None, str]:
        """Return the text up to the last member, what that belongs to, and its name."""
        text, pointer = self._held[held.root], True
        kind = self._roots[held.root]
        for k, name in enumerate(held.path):
            assert isinstance(kind, Layout)
            is_record = issubclass(kind.type, Record)
            member = self._memory.members(kind.type)[name] if is_record else c_name(name)
            if k == len(held.path) - 1:
                return f'{text}{"->" if pointer else "."}{member}', kind, name
            text = f'{text}{"->" if pointer else "."}{member}'
            kind, pointer = kind.members[name][1], not is_record
        return text, None, ''

    _roots: dict[str, Any]

    def _record(self, held: Held) -> tuple[str, str]:
        """Return a record as it is passed, and as it is written before a member."""
        text, owner, _ = self._path(held)
        if owner is not None and issubclass(owner.type, Record):
            return f'&{text}', f'{text}.'
        return text, f'{text}->'

    def _array(self, held: Held) -> tuple[str, str, str]:
        """Return the address of an array, and its numbers of rows and columns."""
        text, owner, name = self._path(held)
        if owner is not None and issubclass(owner.type, Record):
            rows, columns = self._memory.shape(owner.type, name)
            return text if rows * columns else self._memory.nothing, str(rows), str(columns)
        return text, f'{text}_rows', f'{text}_columns'

    def _passed(self, held: Held) -> list[str]:
        if isinstance(held.kind, Layout):
            return [self._record(held)[0]]
        if held.kind == KERNEL:
            text = self._path(held)[0]
            return [text, f'{text}_memory']
        return list(self._array(held))[:3 if held.kind == 'Matrix' else 2]

    def _target(self, node: Target, *, stepwise: bool = False) -> str:
        if isinstance(node, Local):
            return self._local[node.name]
        if isinstance(node, Number):
            assert isinstance(node.record.kind, Layout)
            member = self._memory.members(node.record.kind.type)[node.name]
            return f'{self._record(node.record)[1]}{member}'
        data, _, columns = self._array(node.array)
        at = [self._stepwise(each) if stepwise or not safe(node) else self._text(each)
              for each in node.places]
        if len(at) == 2:
            at[0] = Text(f'{at[0].within(_PRODUCT)} * {columns} + {at[1].within(_SUM + 1)}')
        return f'{data}[{at[0].text}]'

    # --- expressions in one piece ---

    def _text(self, node: Expression) -> Text:
        found: Text = getattr(self, f'_of_{type(node).__name__.lower()}')(node)
        return found

    def _of_constant(self, node: Constant) -> Text:
        if node.kind == 'bool':
            return Text('true' if node.value else 'false')
        text = str(node.value) if node.kind == 'int' else literal(node.value, FLOAT64)
        if abs(node.value) > 2 ** 31 and node.kind == 'int':
            text = f'INT64_C({text})'
        return Text(text, _UNARY if text.startswith('-') else _ATOM)

    def _of_local(self, node: Target) -> Text:
        if isinstance(node, Local):
            self._read.add(node.name)
        return Text(self._target(node))

    _of_number = _of_element = _of_local

    def _of_length(self, node: Length) -> Text:
        return Text(self._array(node.array)[1 + node.axis])

    def _of_converted(self, node: Converted) -> Text:
        return Text(f'(double){self._value(node.value).within(_UNARY)}', _UNARY)

    def _of_negative(self, node: Negative) -> Text:
        return Text(f'-{self._value(node.value).within(_UNARY + 1)}', _UNARY)

    def _of_not(self, node: Not) -> Text:
        return Text(f'!{self._value(node.value).within(_UNARY)}', _UNARY)

    def _of_arithmetic(self, node: Arithmetic) -> Text:
        return self._operation(node.operation, self._value(node.a), self._value(node.b))

    def _operation(self, operation: str, a: Text, b: Text) -> Text:
        level = _LEVELS[operation]
        # compilers ask for parentheses around what stands next to &
        left, right = (_UNARY, _UNARY) if operation == '&' else (level, level + 1)
        return Text(f'{a.within(left)} {operation} {b.within(right)}', level)

    def _of_comparison(self, node: Comparison) -> Text:
        parts = [self._compared(operation, *[
            (self._value(each), each.kind) for each in node.values[k:k + 2]])
            for k, operation in enumerate(node.operations)]
        if len(parts) == 1:
            return parts[0]
        return Text(' && '.join(each.within(_AND) for each in parts), _AND)

    def _compared(self, operation: str, *numbers: tuple[Text, str]) -> Text:
        level = _LEVELS.get(operation, _ORDER)
        if any(kind == 'float' for _, kind in numbers):
            numbers = tuple([
                (each if kind == 'float' else Text(f'(double){each.within(_UNARY)}', _UNARY), '')
                for each, kind in numbers])
        a, b = [each.within(_SUM) for each, _ in numbers]
        return Text(f'{a} {operation} {b}', level)

    def _of_logic(self, node: Logic) -> Text:
        # compilers ask for parentheses around && next to ||
        operation, level = (' && ', _AND) if node.operation == 'and' else (' || ', _OR)
        parts = [self._value(each).within(_EQUAL) for each in node.values]
        return Text(operation.join(parts), level)

    def _of_choice(self, node: Choice) -> Text:
        test, yes, no = (self._value(each).within(_CHOICE + 1)
                         for each in (node.test, node.yes, node.no))
        return Text(f'{test} ? {yes} : {no}', _CHOICE)

    def _of_builtin(self, node: BuiltIn) -> Text:
        return self._built_in(node, [self._value(each).text for each in node.given])

    def _built_in(self, node: BuiltIn, given: list[str]) -> Text:
        name = 'fabs' if (node.name, node.kind) == ('abs', 'float') else node.name
        helper = _HELPED.get((node.name, node.kind))
        if node.name == 'floor':
            given = [f'floor({given[0]})']
        if helper:
            self._helpers.add(helper)
            name = f'{self._memory.prefix}_{helper}_'
        text = f'{name}({", ".join(given)})'
        # macros of C give any integer
        return Text(f'{text} != 0', _EQUAL) if node.kind == 'bool' else Text(text)

    def _of_octets(self, node: Octets) -> Text:
        return self._octets(node, [self._value(each).text for each in node.given])

    def _octets(self, node: Octets, given: list[str]) -> Text:
        if node.name not in OCTET_HELPERS:
            raise TypeError(f'{node.name} cannot be had in C99, which knows no order between '
                            'threads')
        self._helpers.add(node.name)
        listed = ', '.join([*self._passed(node.data), *given])
        return Text(f'{self._memory.prefix}_{node.name}_({listed})')

    def _of_call(self, node: Call) -> Text:
        return self._called(node, [[self._value(each).text] if not isinstance(each, Held) else
                                   self._passed(each) for each in node.given])

    def _called(self, node: Call, given: list[list[str]]) -> Text:
        listed = ', '.join([text for each in given for text in each])
        return Text(f'{self._functions[node.function]}({listed})')

    def _of_kernelcall(self, node: KernelCall) -> Text:
        text = self._path(node.kernel)[0]
        return Text(f'{text}({text}_memory)')

    # --- expressions step by step ---

    def _kept(self, kind: str, text: str, *, fixed: bool = True) -> Text:
        name = self._new('t')
        self._line(f'{"const " if fixed else ""}{TYPES[kind]} {name} = {text};')
        return Text(name)

    def _stepwise(self, node: Expression) -> Text:
        """Return a value that no call changes, after the lines that find it in Python's order."""
        if immune(node):
            return self._text(node)
        if isinstance(node, (Logic, Choice)) or (
                isinstance(node, Comparison) and len(node.operations) > 1):
            found: Text = getattr(self, f'_stepwise_{type(node).__name__.lower()}')(node)
            return found
        if isinstance(node, BuiltIn):
            return self._built_in(node, [self._stepwise(each).text for each in node.given])
        if isinstance(node, Arithmetic):
            return self._operation(node.operation, self._stepwise(node.a), self._stepwise(node.b))
        if isinstance(node, Comparison):
            return self._compared(node.operations[0], *[
                (self._stepwise(each), each.kind) for each in node.values])
        if isinstance(node, Call):
            given = [[self._stepwise(each).text] if not isinstance(each, Held) else
                     self._passed(each) for each in node.given]
            return self._kept(node.kind, self._called(node, given).text)
        if isinstance(node, Octets):
            given_octets = [self._stepwise(each).text for each in node.given]
            return self._kept(node.kind, self._octets(node, given_octets).text)
        if isinstance(node, Converted):
            return Text(f'(double){self._stepwise(node.value).within(_UNARY)}', _UNARY)
        if isinstance(node, (Negative, Not)):
            sign, level = ('-', _UNARY + 1) if isinstance(node, Negative) else ('!', _UNARY)
            return Text(f'{sign}{self._stepwise(node.value).within(level)}', _UNARY)
        if isinstance(node, (Number, Element)):
            return self._kept('float', self._target(node, stepwise=True))
        return self._kept(node.kind, self._text(node).text)     # a kernel

    def _stepwise_comparison(self, node: Comparison) -> Text:
        a = self._stepwise(node.values[0])
        found, depth = None, 0
        for k, operation in enumerate(node.operations):
            if found is not None:
                self._line(f'if ({found.text}) {{')
                self._indent, depth = self._indent + 1, depth + 1
            b = self._stepwise(node.values[k + 1])
            text = self._compared(operation, (a, node.values[k].kind),
                                  (b, node.values[k + 1].kind)).text
            if found is None:
                found = self._kept('bool', text, fixed=False)
            else:
                self._line(f'{found.text} = {text};')
            a = b
        self._close(depth)
        assert found is not None
        return found

    def _stepwise_logic(self, node: Logic) -> Text:
        found = self._kept('bool', self._stepwise(node.values[0]).text, fixed=False)
        for each in node.values[1:]:
            self._line(f'if ({"" if node.operation == "and" else "!"}{found.text}) {{')
            self._indent += 1
            self._line(f'{found.text} = {self._stepwise(each).text};')
        self._close(len(node.values) - 1)
        return found

    def _stepwise_choice(self, node: Choice) -> Text:
        found = self._kept(node.kind, 'false' if node.kind == 'bool' else '0', fixed=False)
        self._line(f'if ({self._stepwise(node.test).text}) {{')
        for each, then in ((node.yes, '} else {'), (node.no, '}')):
            self._indent += 1
            self._line(f'{found.text} = {self._stepwise(each).text};')
            self._indent -= 1
            self._line(then)
        return found

    def _close(self, depth: int) -> None:
        for _ in range(depth):
            self._indent -= 1
            self._line('}')
