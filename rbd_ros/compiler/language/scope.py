# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the names of a function stand for."""

from __future__ import annotations

import ast
from typing import NoReturn

from rbd_ros.compiler.language.signatures import (
    ARRAYS, definition, Function, Layout, looked_up, parameters_of)
from rbd_ros.compiler.language.tree import (
    BuiltIn, Call, Choice, Comparison, Constant, Converted, Element, Expression, Held, Number)


class Scope:
    """
    The names of one function.

    :param function: what is read.
    """

    def __init__(self, function: Function) -> None:
        self._function, self._tree = function, definition(function)
        self._held: dict[str, Held] = {}
        self._variables: dict[str, str] = {}
        #: What variables are called where the function is put in the place of its call.
        self._renamed: dict[str, str] | None = None
        self._called: list[Call] = []
        for each in parameters_of(function):
            if each.is_number:
                self._variables[each.name] = str(each.kind)
            else:
                self._held[each.name] = Held(each.kind, each.name)

    def _variable(self, name: str) -> str:
        """Return what a variable is called, '' if there is none yet."""
        return name if self._renamed is None else self._renamed.get(name, '')

    def _refuse(self, node: ast.AST, reason: str) -> NoReturn:
        line = getattr(node, 'lineno', self._tree.lineno)
        raise TypeError(f'{self._function.__module__}, line {line}: `{ast.unparse(node)}` cannot '
                        f'be translated: {reason}')

    def _as(self, kind: str, value: Expression, node: ast.AST) -> Expression:
        """Return a value as one of a type; integers become floating-point numbers."""
        if value.kind == kind:
            return value
        if (kind, value.kind) != ('float', 'int'):
            advice = ('; write a comparison' if kind == 'bool' else
                      '; a variable keeps the type of its first value' if kind == 'int' else '')
            self._refuse(node, f'{value.kind} in place of {kind}{advice}')
        if isinstance(value, Constant):
            return Constant('float', float(value.value))
        return Converted(value)

    def _constant(self, value: object, node: ast.AST) -> Constant:
        if isinstance(value, bool):
            return Constant('bool', value)
        if isinstance(value, int):      # the member of an enumeration, too
            if abs(int(value)) >= 2 ** 63:
                self._refuse(node, 'an integer has 64 bits')
            return Constant('int', int(value))
        if isinstance(value, float):
            return Constant('float', float(value))
        self._refuse(node, 'it is no number')

    def _holding(self, node: ast.expr) -> Held | None:
        """Return what a name or an attribute stands for, unless it is a number."""
        if isinstance(node, ast.Name):
            return self._held.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._holding(node.value)
            if owner is not None and isinstance(owner.kind, Layout):
                at, kind = owner.kind.members.get(node.attr, (0, None))
                if kind is not None:
                    return Held(kind, owner.root, (*owner.path, node.attr), owner.at + at)
        return None

    def _number(self, node: ast.expr) -> Number | None:
        """Return the single number of a record, if an attribute is one."""
        if isinstance(node, ast.Attribute):
            owner = self._holding(node.value)
            if (owner is not None and isinstance(owner.kind, Layout)
                    and node.attr in owner.kind.numbers):
                return Number(owner, node.attr)
        return None

    def _read(self, number: Number) -> Expression:
        """Return what a number of a record is: a truth and an integer are floats in memory."""
        kind = self._kind_of(number)
        if kind == 'bool':
            return Comparison(('>',), (number, Constant('float', 0.0)))
        return number if kind == 'float' else BuiltIn('int', 'int', (number,))

    def _kind_of(self, target: object) -> str:
        """Return the type of what is assigned; that of a number is the one of its field."""
        if not isinstance(target, Number):
            return str(target.kind)     # type: ignore[attr-defined]
        assert isinstance(target.record.kind, Layout)
        return next(each.kind for each in target.record.kind.type.fields    # type: ignore
                    if each.name == target.name)

    def _stored(self, target: object, value: Expression, node: ast.AST) -> Expression:
        """Return a value as memory has it."""
        kind = self._kind_of(target)
        if isinstance(target, Element) and value.kind == 'bool' or (
                isinstance(target, Number) and kind == 'bool'):
            value = self._as('bool', value, node)
            if isinstance(value, Constant):
                return Constant('float', float(value.value))
            return Choice('float', value, Constant('float', 1.0), Constant('float', 0.0))
        value = self._as(kind, value, node)
        return self._as('float', value, node) if isinstance(target, Number) else value

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
        if (isinstance(root, ast.Name) and self._variable(root.id) not in self._variables
                and root.id not in self._held):
            return looked_up(node, self._function.__globals__)
        return None
