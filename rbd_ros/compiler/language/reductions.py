# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One number of many, and other procedures that nobody wrote."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache

from rbd_ros.compiler.language.signatures import Function, Layout, Parameter
from rbd_ros.compiler.language.tree import (
    Arithmetic, Assign, BuiltIn, Call, Comparison, Constant, Element, Expression, For, Held, If,
    Length, Local, Not, Number, Procedure, Return, Statement)
from rbd_ros.compiler.language.whole import REDUCTIONS
from rbd_ros.compiler.language.wholes import loops, ONE, Wholes, ZERO


class Alone:
    """Arrays and numbers of a loop in a procedure of its own: parameters."""

    def __init__(self) -> None:
        self.arrays: dict[Held, Held] = {}
        self.numbers: dict[str, Expression] = {}

    def number(self, value: Expression) -> Expression:
        """Return the parameter that a number becomes."""
        if isinstance(value, Constant):
            return value
        name = f'b{len(self.numbers)}'
        self.numbers[name] = value
        return Local(value.kind, name)

    def known(self, value: Expression) -> Expression:
        """Return what a name stands for, a parameter where it is used."""
        return value

    def array(self, held: Held) -> Held:
        """Return the parameter that an array becomes."""
        return self.arrays.setdefault(held, Held(held.kind, f'a{len(self.arrays)}'))

    def procedure(self, function: Function, kind: str, body: Sequence[Statement],
                  variables: dict[str, str]) -> Procedure:
        """Return the procedure."""
        given = {name: each.kind for name, each in self.numbers.items()}
        return Procedure(function, (*[Parameter(each.root, each.kind)
                                      for each in self.arrays.values()],
                                    *[Parameter(*each) for each in given.items()]), kind,
                         {**given, **variables}, tuple(body), ())


@cache
def made(owner: type | Function, name: str) -> Function:
    """
    Return what stands for a procedure that nobody wrote, the same at every call.

    :param owner: the function or the record that it is a part of.
    :param name: what tells it from others of the same owner.
    """
    def function() -> None:
        raise NotImplementedError(function.__qualname__)
    function.__module__ = owner.__module__
    function.__name__ = f'{owner.__name__}_{name}'
    function.__qualname__ = f'{owner.__qualname__}.{name}'
    function.__doc__ = f'Part of {owner.__name__}.'
    return function


def initial_values(kind: Layout) -> Procedure:
    """Return the procedure that gives every number of a record its initial value."""
    body: list[Statement] = []
    record = Held(kind, 'x')

    def add(held: Held) -> None:
        assert isinstance(held.kind, Layout)
        for each in held.kind.type.fields:      # type: ignore[attr-defined]
            value = (Constant('float', float(each.initial)),)
            if not each.dims:
                body.append(Assign((Number(held, each.name),), value))
                continue
            array = _member(held, each.name)
            names = 'jk'[:len(each.dims)]
            counters = [Local('int', name) for name in names]
            body.append(loops(
                counters, [Length(array, axis) for axis in range(len(names))],
                Assign((Element(array, tuple(counters)),), value)))
        for name in held.kind.type.groups:      # type: ignore[attr-defined]
            add(_member(held, name))
    add(record)
    return Procedure(made(kind.type, 'reset'), (Parameter('x', kind),), 'None',
                     {'j': 'int', 'k': 'int'}, tuple(body), ())


def _member(held: Held, name: str) -> Held:
    assert isinstance(held.kind, Layout)
    at, kind = held.kind.members[name]
    return Held(kind, held.root, (*held.path, name), held.at + at)


class Reductions(Wholes):
    """How one number is made of many."""

    def _reduction(self, node: ast.Call) -> Call | None:
        """Return the call that makes one number of many, if this is one."""
        name, found = ast.unparse(node.func), self._known(node)
        if found in REDUCTIONS:
            name = found.__name__
            if len(node.args) != REDUCTIONS[found] or node.keywords:
                self._refuse(node, f'{name} is of {REDUCTIONS[found]}, not of {len(node.args)}')
        elif (name not in ('any', 'all', 'min', 'max', 'sum') or len(node.args) != 1
              or not self._is_whole(node.args[0])):
            return None
        if name == 'sum':
            self._refuse(node, 'the sum of Python rounds in a way of its own; take total')
        frame = Alone()
        values = [self._elements(each, frame) for each in node.args]
        if any(len(each.axes) != 1 for each in values):
            self._refuse(node, f'{name} is of vectors, or rows and columns')
        if len(values) == 2:
            self._check_fit(node, values[0].axes, values[1].axes)
        count = values[0].axes[0].size
        assert count is not None
        kind = 'bool' if name in ('any', 'all') else 'float'
        j, result = Local('int', 'j'), Local('float', 'found')
        given = [self._as(kind, each.at([j]), node) for each in values]
        body: list[Statement]
        if kind == 'bool':
            ends = If(given[0] if name == 'any' else Not(given[0]),
                      (Return(Constant('bool', name == 'any')),), ())
            body = [For(j, ZERO, count, 1, (ends,)), Return(Constant('bool', name == 'all'))]
        elif name in ('min', 'max'):
            first = self._as('float', values[0].at([ZERO]), node)
            further = BuiltIn('float', name, (result, given[0]))
            body = [If(Comparison(('<=',), (count, ZERO)),
                       (Return(frame.number(self._default(node, name))),), ()),
                    Assign((result,), (first,)),
                    For(j, ONE, count, 1, (Assign((result,), (further,)),)), Return(result)]
        else:
            each = given[0] if name == 'total' else Arithmetic('float', '*', *given)
            added = Arithmetic('float', '+', result, each)
            body = [Assign((result,), (Constant('float', 0.0),)),
                    For(j, ZERO, count, 1, (Assign((result,), (added,)),)), Return(result)]
        procedure = frame.procedure(
            made(self._owner, f'{name}{len(self._made)}'), kind, body,
            {'j': 'int'} if kind == 'bool' else {'j': 'int', 'found': 'float'})
        self._made.append(procedure)
        return Call(kind, procedure.function, (*frame.arrays, *frame.numbers.values()))

    def _default(self, node: ast.Call, name: str) -> Expression:
        """Return what the largest of no elements is."""
        if [each.arg for each in node.keywords] != ['default']:
            self._refuse(node, f'{name} of a vector says what it is without elements: write '
                         f'{name}(..., default=0.0)')
        return self._as('float', self._expression(node.keywords[0].value), node)
