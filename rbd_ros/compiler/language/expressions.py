# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Expressions of Python as trees, see :mod:`rbd_ros.compiler.language.statements`."""

from __future__ import annotations

import ast
import inspect

from rbd_ros.compiler.language.kernels import NamedKernel
from rbd_ros.compiler.language.octets import OCTETS
from rbd_ros.compiler.language.reductions import initial_values, made, Reductions
from rbd_ros.compiler.language.shared import SHARED
from rbd_ros.compiler.language.signatures import (
    ARRAYS, BYTES, FOREIGN, Function, KERNEL, Layout, Parameter, parameters_of, result_of)
from rbd_ros.compiler.language.tree import (
    Arithmetic, BuiltIn, Call, Choice, Comparison, Constant, Element, Expression, ForeignCall,
    Held, KernelCall, Length, Local, Logic, Negative, Not, Octets)
from rbd_ros.compiler.language.whole import WHOLE
from rbd_ros.compiler.records import Record

_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: '+', ast.Sub: '-', ast.Mult: '*', ast.Div: '/',
    ast.BitAnd: '&'}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: '<', ast.LtE: '<=', ast.Gt: '>', ast.GtE: '>=', ast.Eq: '==', ast.NotEq: '!='}
#: Functions of floating-point numbers: the type of their result, and how many they take.
_FUNCTIONS = {
    'math.sqrt': ('float', 1), 'math.exp': ('float', 1), 'math.sin': ('float', 1),
    'math.cos': ('float', 1), 'math.atan2': ('float', 2), 'math.copysign': ('float', 2),
    'math.floor': ('int', 1), 'math.isfinite': ('bool', 1), 'math.isnan': ('bool', 1)}
#: Others, with as many.
_OTHERS = {'abs': 1, 'min': 2, 'max': 2, 'len': 1, 'int': 1, 'float': 1}


class Expressions(Reductions):
    """How expressions are read."""

    def _expression(self, node: ast.expr) -> Expression:
        handler = getattr(self, f'_of_{type(node).__name__.lower()}', None)
        if handler is None:
            self._refuse(node, 'there is no such expression here')
        return handler(node)

    def _real(self, node: ast.expr) -> Expression:
        return self._as('float', self._expression(node), node)

    def _condition(self, node: ast.expr) -> Expression:
        return self._as('bool', self._expression(node), node)

    def _of_constant(self, node: ast.Constant) -> Constant:
        return self._constant(node.value, node)

    def _of_name(self, node: ast.Name) -> Expression:
        if node.id in self._given_numbers:
            return self._given_numbers[node.id]
        if node.id in self._given_wholes:
            self._refuse(node, 'it is a Vector, not a number')
        if (own := self._variable(node.id)) in self._variables:
            return Local(self._variables[own], own)
        if node.id in self._held:
            self._refuse(node, f'it is a {self._held[node.id].kind}, not a number')
        return self._constant(self._of_module(node), node)

    def _of_attribute(self, node: ast.Attribute) -> Expression:
        number = self._number(node)
        if number is not None:
            return self._read(number)
        held, owner = self._holding(node), self._holding(node.value)
        if held is not None:
            self._refuse(node, f'it is a {held.kind}, not a number')
        if owner is not None:
            self._refuse(node, f'{owner.kind} has no {node.attr}')
        return self._constant(self._of_module(node), node)

    def _of_subscript(self, node: ast.Subscript) -> Element:
        if self._is_part(node):
            self._refuse(node, 'it is a part of an array, not a number')
        at = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        array = self._array(node.value, len(at))
        if array is None:
            self._refuse(node, 'it takes an array, and one index for each of its axes')
        return Element(array, tuple([self._as('int', self._expression(k), k) for k in at]))

    def _of_unaryop(self, node: ast.UnaryOp) -> Expression:
        if isinstance(node.op, ast.Not):
            return Not(self._condition(node.operand))
        if not isinstance(node.op, ast.USub):
            self._refuse(node, 'there is no such operation here')
        found = self._expression(node.operand)
        if found.kind == 'bool':
            self._refuse(node, 'a truth has no sign')
        if isinstance(found, Constant):
            return self._constant(-found.value, node)
        return Negative(found.kind, found)

    def _of_binop(self, node: ast.BinOp) -> Arithmetic:
        return self._arithmetic(node, self._expression(node.left), self._expression(node.right))

    def _arithmetic(self, node: ast.BinOp, a: Expression, b: Expression) -> Arithmetic:
        if type(node.op) not in _ARITHMETIC:
            self._refuse(node, 'there is no such operation here')
        operation = _ARITHMETIC[type(node.op)]
        kind = 'int' if a.kind == b.kind == 'int' and operation != '/' else 'float'
        if operation == '&' and kind != 'int':
            self._refuse(node, 'bits are those of integers')
        return Arithmetic(kind, operation, self._as(kind, a, node), self._as(kind, b, node))

    def _of_compare(self, node: ast.Compare) -> Comparison:
        return self._comparison(
            node, *[self._expression(each) for each in (node.left, *node.comparators)])

    def _comparison(self, node: ast.Compare, *values: Expression) -> Comparison:
        if any(type(each) not in _COMPARISONS for each in node.ops):
            self._refuse(node, 'there is no such comparison here')
        if any(each.kind == 'bool' for each in values):
            self._refuse(node, 'numbers are compared, not truths')
        return Comparison(tuple([_COMPARISONS[type(each)] for each in node.ops]), values)

    def _of_boolop(self, node: ast.BoolOp) -> Logic:
        return Logic('and' if isinstance(node.op, ast.And) else 'or',
                     tuple([self._condition(each) for each in node.values]))

    def _of_ifexp(self, node: ast.IfExp) -> Choice:
        test, yes = self._condition(node.test), self._expression(node.body)
        no = self._expression(node.orelse)
        kind = no.kind if (yes.kind, no.kind) == ('int', 'float') else yes.kind
        return Choice(kind, test, self._as(kind, yes, node), self._as(kind, no, node))

    # --- calls ---

    def _of_call(self, node: ast.Call) -> Expression:
        found = self._call(node)
        if found.kind == 'None':
            self._refuse(node, f'{ast.unparse(node.func)} has no result')
        return found

    def _call(self, node: ast.Call) -> Expression:
        name, held = ast.unparse(node.func), self._holding(node.func)
        reduced = self._reduction(node)
        if reduced is not None:
            return reduced
        if held is not None and isinstance(held.kind, Layout) and issubclass(
                held.kind.type, NamedKernel):
            self._refuse(node, 'the call of a kernel is a statement; what it gives is read on '
                         'the lines after it')
        if held is not None and node.keywords:
            self._refuse(node, 'arguments have no names here')
        if held is not None and held.kind == KERNEL:
            if node.args:
                self._refuse(node, 'a kernel is called without arguments')
            return KernelCall(held)
        if held is not None and held.kind == FOREIGN:
            return ForeignCall(held, tuple([self._for_c(each) for each in node.args]))
        wanted = _FUNCTIONS[name][1] if name in _FUNCTIONS else _OTHERS.get(name)
        if wanted is None:
            return self._function_call(node, name)
        if node.keywords:
            self._refuse(node, 'arguments have no names here')
        if len(node.args) != wanted:
            self._refuse(node, f'{name} of {wanted} is known here, not of {len(node.args)}')
        if name in _FUNCTIONS:
            return BuiltIn(_FUNCTIONS[name][0], name.removeprefix('math.'),
                           tuple([self._real(each) for each in node.args]))
        return getattr(self, f'_call_{name}')(node, *node.args)

    def _function_call(self, node: ast.Call, name: str) -> Expression:
        owner = self._holding(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if owner is not None:
            return self._method_call(node, owner)
        function = self._of_module(node.func)
        if function in WHOLE and not node.keywords:
            return self._function_of_elements(node)(*[self._expression(x) for x in node.args])
        if not inspect.isfunction(function):
            self._refuse(node, f'{name} is no function that is known here')
        given = self._given(node, function, name)
        result = result_of(function)
        if result in ('Vector', 'tuple'):
            self._refuse(node, f'{name} gives many numbers, not one')
        if function in OCTETS or function in SHARED:
            data, *numbers = given
            return Octets(result, function.__name__, data, tuple(numbers))  # type: ignore[arg-type]
        return self._noted(Call(result, function, tuple(given)))

    def _method_call(self, node: ast.Call, owner: Held) -> Call:
        assert isinstance(node.func, ast.Attribute)
        name, kind = node.func.attr, owner.kind
        method = getattr(kind.type, name, None) if isinstance(kind, Layout) else None
        if method is Record.reset and isinstance(kind, Layout) and not node.args:
            if all(each.function is not made(kind.type, 'reset') for each in self._made):
                self._made.append(initial_values(kind))
            return Call('None', made(kind.type, 'reset'), (owner,))
        if not inspect.isfunction(method) or method is getattr(Record, name, None):
            self._refuse(node, f'{kind} has no method {name} that a procedure may call')
        given = self._given(node, method, name, owner)
        if result_of(method) == 'tuple':
            self._refuse(node, f'{name} gives several results; assign them to as many names')
        return self._noted(Call(result_of(method), method, (owner, *given)))

    def _noted(self, call: Call) -> Call:
        self._called.append(call)
        return call

    def _given(self, node: ast.Call, function: Function, name: str,
               owner: Held | None = None) -> list[Expression | Held]:
        """Return what a function is called with, but for the record whose method it is."""
        parameters = parameters_of(function)[0 if owner is None else 1:]
        given: list[Expression | Held] = []
        for parameter, each in self._matched(node, function, name, parameters):
            if not isinstance(each, ast.expr):
                given.append(self._as(str(parameter.kind), self._constant(each, node), node))
                continue
            if parameter.is_number:
                given.append(self._as(str(parameter.kind), self._expression(each), each))
                continue
            held = self._holding(each)
            if held is None or held.kind != parameter.kind:
                self._refuse(each, f'{name} takes a {parameter.kind} here')
            given.append(held)
        return given

    def _matched(self, node: ast.Call, function: Function, name: str,
                 parameters: list[Parameter]) -> list[tuple[Parameter, object]]:
        """Return what each parameter is given: an expression, or a value that it has by itself."""
        names = [each.name for each in parameters]
        named = {each.arg: each.value for each in node.keywords}
        given: dict[str, object] = dict(zip(names, node.args))
        unknown = [each for each in named if each not in names or each in given]
        if len(node.args) > len(names) or unknown:
            self._refuse(node, f'{name} has other parameters: {", ".join(names)}')
        order = [names.index(each) for each in named if each is not None]
        if order != sorted(order) and any(isinstance(each, ast.Call)
                                          for value in named.values() for each in ast.walk(value)):
            self._refuse(node, 'calls among named arguments come in the order of the parameters: '
                         f'{", ".join(names)}')
        defaults = function.__defaults__ or ()
        values = dict(zip(names[len(names) - len(defaults):], defaults, strict=True))
        given = {**values, **given, **named}    # type: ignore[dict-item]
        missing = [each for each in names if each not in given]
        if missing:
            self._refuse(node, f'{name} has other parameters: {", ".join(names)}; '
                         f'{", ".join(missing)} is not given')
        return [(each, given[each.name]) for each in parameters]

    def _for_c(self, node: ast.expr) -> Expression | Held:
        """Return what a function of C is given: an integer, or what has an address."""
        found = self._holding(node) or self._expression(node)
        if isinstance(found, Held):
            kind = found.kind
            fits = (issubclass(kind.type, Record) if isinstance(kind, Layout) else
                    kind == BYTES or kind in ARRAYS)
        else:
            fits = found.kind == 'int'
        if not fits:
            self._refuse(node, 'C is given integers, and the addresses of Bytes, arrays and '
                         f'records; this is a {found.kind}')
        return found

    def _call_abs(self, node: ast.Call, x: ast.expr) -> BuiltIn:
        found = self._expression(x)
        kind = 'int' if found.kind == 'int' else 'float'
        return BuiltIn(kind, 'abs', (self._as(kind, found, node),))

    def _call_min(self, node: ast.Call, a: ast.expr, b: ast.expr) -> BuiltIn:
        return self._extreme(node, 'min', a, b)

    def _call_max(self, node: ast.Call, a: ast.expr, b: ast.expr) -> BuiltIn:
        return self._extreme(node, 'max', a, b)

    def _extreme(self, node: ast.Call, name: str, a: ast.expr, b: ast.expr) -> BuiltIn:
        x, y = self._expression(a), self._expression(b)
        kind = 'int' if x.kind == y.kind == 'int' else 'float'
        return BuiltIn(kind, name, (self._as(kind, x, node), self._as(kind, y, node)))

    def _call_len(self, node: ast.Call, x: ast.expr) -> Length:
        array = self._holding(x)
        if array is None or array.kind != BYTES and self._array(x) is None:
            self._refuse(node, f'{ast.unparse(x)} is no array')
        return Length(array)

    def _call_int(self, node: ast.Call, x: ast.expr) -> Expression:
        found = self._expression(x)
        return found if found.kind == 'int' else BuiltIn(
            'int', 'int', (self._as('float', found, node),))

    def _call_float(self, node: ast.Call, x: ast.expr) -> Expression:
        return self._real(x)
