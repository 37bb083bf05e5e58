# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Whole vectors and matrices, as loops over their elements; see :mod:`.whole` for functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cached_property, partial
import inspect
from typing import NamedTuple, Protocol

from rbd_ros.compiler.language.aliases import Apart
from rbd_ros.compiler.language.kernels import NamedKernel
from rbd_ros.compiler.language.scope import Scope
from rbd_ros.compiler.language.signatures import (
    ARRAYS, Function, Layout, Parameter, parameters_of)
from rbd_ros.compiler.language.tree import (
    Arithmetic, Assign, below, BuiltIn, Call, Choice, Constant, Element, Expression,
    For, ForeignCall, Held, KernelCall, Length, Local, Logic, Negative, Not, Octets,
    Procedure, Statement)
from rbd_ros.compiler.language.whole import (
    clip, finite, maximum, minimum, where, WHOLE)
from rbd_ros.compiler.records import Record

#: Two or three elements of operands as one.
Build = Callable[..., Expression]
ZERO, ONE = Constant('int', 0), Constant('int', 1)


class Axis(NamedTuple):
    """
    What of one axis of an array is meant.

    :param first: the row or column, or the first of them.
    :param size: how many; None: one, and the axis is gone.
    :param name: of that number where a record declares it, '' where it is not known.
    """

    first: Expression
    size: Expression | None
    name: str = ''


class Part(NamedTuple):
    """An array, or some of its rows and columns."""

    array: Held
    axes: tuple[Axis, ...]


class Whole(NamedTuple):
    """
    Many numbers.

    :param axes: those that it has; none: one number.
    :param at: returns an element, from a place on each axis.
    :param parts: what is read.
    """

    axes: tuple[Axis, ...]
    at: Callable[[Sequence[Expression]], Expression]
    parts: tuple[Part, ...] = ()

    @property
    def kind(self) -> str:
        """Return the type of its elements."""
        return self.at([ZERO] * len(self.axes)).kind


class Frame(Protocol):
    """Where elements are computed: what single numbers and arrays are there."""

    def number(self, value: Expression) -> Expression:
        """Return a number where it is used."""

    def known(self, value: Expression) -> Expression:
        """Return what a name stands for, where it is used perhaps several times."""

    def array(self, held: Held) -> Held:
        """Return an array as the loop names it."""


class Here:
    """Single numbers in a statement: they are found once, before its loop."""

    def __init__(self, reader: Wholes) -> None:
        self._reader = reader
        self.before: list[Statement] = []

    def number(self, value: Expression) -> Expression:
        """Return a number that does not change while the loop runs."""
        if isinstance(value, (Constant, Local, Length)):
            return value
        found = self._reader._fresh(value.kind)
        self.before.append(Assign((found,), (value,)))
        return found

    known = number

    def array(self, held: Held) -> Held:
        """Return an array as the loop names it."""
        return held


def loops(counters: Sequence[Local], counts: Sequence[Expression], body: Statement) -> Statement:
    """Return loops in one another, the last of them inside."""
    for counter, count in reversed(list(zip(counters, counts, strict=True))):
        body = For(counter, ZERO, count, 1, (body,))
    return body


class Wholes(Scope):
    """How whole vectors and matrices are read."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        #: Arrays that its callers may not give twice.
        self._apart: set[Apart] = set()
        #: The function that is translated, in whose source the others stand.
        self._owner = function
        #: Procedures that nobody wrote.
        self._made: list[Procedure] = []
        self._roots = {name: each.kind for name, each in self._held.items()}
        #: What parameters stand for where the function is put in the place of its call.
        self._given_wholes: dict[str, Callable[[Frame], Whole]] = {}
        self._given_numbers: dict[str, Expression] = {}

    @cached_property
    def _names(self) -> set[str]:
        """Return all names in the source."""
        code = self._function.__code__
        return {*code.co_names, *code.co_varnames}

    def procedure(self) -> Procedure:
        """Return the function."""
        raise NotImplementedError

    def _expression(self, node: ast.expr) -> Expression:
        raise NotImplementedError

    def _matched(self, node: ast.Call, function: Function, name: str,
                 parameters: list[Parameter]) -> list[tuple[Parameter, object]]:
        raise NotImplementedError

    def _arithmetic(self, node: ast.BinOp, a: Expression, b: Expression) -> Expression:
        raise NotImplementedError

    def _comparison(self, node: ast.Compare, *values: Expression) -> Expression:
        raise NotImplementedError

    def _fresh(self, kind: str) -> Local:
        """Return a variable of which the source knows nothing."""
        number = len(self._variables)
        while (name := f'each{number}') in self._names or name in self._variables:
            number += 1
        self._variables[name] = kind
        return Local(kind, name)

    # --- what is whole ---

    def _is_whole(self, node: ast.expr) -> bool:
        """Return whether an expression has many numbers."""
        if isinstance(node, ast.Name) and node.id in self._given_wholes:
            return True
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._array(node) is not None
        if isinstance(node, ast.Subscript):
            return self._is_part(node)
        if isinstance(node, ast.Call) and self._is_inlined(node):
            return True
        return any(self._is_whole(each) for each in self._operands(node)[1])

    def _is_part(self, node: ast.expr) -> bool:
        """Return whether an expression is some rows and columns of an array."""
        if not isinstance(node, ast.Subscript) or (array := self._array(node.value)) is None:
            return False
        at = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return (any(isinstance(each, ast.Slice) for each in at)
                or len(at) < ARRAYS[str(array.kind)])

    def _operands(self, node: ast.expr) -> tuple[Build, list[ast.expr]]:
        """Return how elements are put together, and of what; of nothing, if not of elements."""
        def negative(a: Expression) -> Expression:
            return (Constant(a.kind, -a.value) if isinstance(a, Constant) else
                    Negative('float', self._as('float', a, node)))

        if isinstance(node, ast.BinOp):
            joined = {ast.BitAnd: 'and', ast.BitOr: 'or'}.get(type(node.op))
            return (lambda a, b: Logic(joined, (a, b)) if joined and a.kind == b.kind == 'bool'
                    else self._arithmetic(node, a, b)), [node.left, node.right]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
            return (negative if isinstance(node.op, ast.USub) else
                    lambda a: Not(self._as('bool', a, node))), [node.operand]
        if isinstance(node, ast.Compare):
            return (lambda *values: self._comparison(node, *values)), [
                node.left, *node.comparators]
        if isinstance(node, ast.IfExp):
            return (lambda test, yes, no: Choice('float', self._as('bool', test, node),
                                                 self._as('float', yes, node),
                                                 self._as('float', no, node))), [
                node.test, node.body, node.orelse]
        if isinstance(node, ast.Call) and not node.keywords:
            return self._function_of_elements(node), node.args if self._is_of_elements(
                node) else []
        return (lambda: ZERO), []

    def _is_of_elements(self, node: ast.Call) -> bool:
        return ast.unparse(node.func) == 'abs' or self._known(node) in WHOLE

    def _known(self, node: ast.Call) -> Function | None:
        """Return the function that is called, if it is one of the module."""
        found = self._of_module(node.func)
        return found if callable(found) else None

    def _function_of_elements(self, node: ast.Call) -> Build:
        def real(value: Expression) -> Expression:
            return self._as('float', value, node)

        def extreme(name: str) -> Build:
            return lambda a, b: BuiltIn('float', name, (real(a), real(b)))
        known: dict[object, Build] = {
            where: lambda test, yes, no: Choice('float', self._as('bool', test, node), real(yes),
                                                real(no)),
            minimum: extreme('min'), maximum: extreme('max'),
            clip: lambda a, least, most: extreme('min')(extreme('max')(a, least), most),
            finite: lambda a: BuiltIn('bool', 'isfinite', (real(a),))}
        found = self._known(node)
        if found in WHOLE and len(node.args) != WHOLE[found]:
            self._refuse(node, f'{found.__name__} is of {WHOLE[found]}, not of {len(node.args)}')
        return known.get(found, lambda a: BuiltIn('float', 'abs', (real(a),)))

    # --- elements ---

    def _elements(self, node: ast.expr, frame: Frame) -> Whole:
        """Return what an expression has, many numbers or one."""
        if not self._is_whole(node):
            return _one(frame.number(self._single(node)))
        if isinstance(node, ast.Name) and node.id in self._given_wholes:
            return self._given_wholes[node.id](frame)
        if isinstance(node, (ast.Name, ast.Attribute)) or self._is_part(node):
            return self._of_part(node, frame)
        if isinstance(node, ast.Call) and self._is_inlined(node):
            return self._inlined(node, frame)
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            self._refuse(node, 'vectors are compared two at a time; join them with &')
        if isinstance(node, ast.IfExp) and self._is_whole(node.test):
            self._refuse(node, 'many truths choose many numbers: take where')
        build, operands = self._operands(node)
        values = [self._elements(each, frame) for each in operands]
        many = [each for each in values if each.axes]
        for each in many[1:]:
            self._check_fit(node, many[0].axes, each.axes)
        found = Whole(many[0].axes, lambda at: build(*[
            each.at(at if each.axes else ()) for each in values]),
            tuple([part for each in values for part in each.parts]))
        if found.kind == 'int':
            self._refuse(node, 'whole vectors hold floats and truths')
        return found

    def _single(self, node: ast.expr) -> Expression:
        """Return one number among many, which nothing that is called may change."""
        value = self._expression(node)
        if any(isinstance(each, (Call, KernelCall, ForeignCall, Octets))
               and not self._is_pure(each) for each in below(value)):
            self._refuse(node, 'what is called here may change what is read beside it; call it on '
                         'a line before, and keep its result in a name')
        return value

    def _is_inlined(self, node: ast.Call) -> bool:
        """Return whether a function of the module is called that gives a vector."""
        found = self._known(node)
        return inspect.isfunction(found) and found not in WHOLE and (
            found.__annotations__.get('return') == 'Vector')

    def _inlined(self, node: ast.Call, frame: Frame) -> Whole:
        """Return what a function of one expression gives, in the place of its call."""
        function = self._known(node)
        assert function is not None
        inner = type(self)(function)
        inner._made, inner._roots, inner._owner = self._made, self._roots, self._owner
        last = inner._tree.body[-1]
        if not isinstance(last, ast.Return) or last.value is None or any(
                not isinstance(each, ast.Expr) for each in inner._tree.body[:-1]):
            inner._refuse(inner._tree.body[0], 'a procedure that gives a Vector is one '
                          'expression, which it returns')
        for parameter, each in self._matched(node, function, function.__name__,
                                             parameters_of(function)):
            given = each if isinstance(each, ast.expr) else None  # else a default value
            held = self._holding(given) if given else None
            if given and held:
                if held.kind != parameter.kind:
                    self._refuse(node, f'{function.__name__} takes a {parameter.kind} in place of '
                                 f'{ast.unparse(given)}')
                inner._held[parameter.name] = held
                continue
            whole = given is not None and self._is_whole(given)
            if whole == parameter.is_number:
                self._refuse(node, f'{parameter.name} of {function.__name__} is a '
                             f'{parameter.kind}')
            if given and whole:  # found where it is used, which may be in a loop of its own
                inner._given_wholes[parameter.name] = partial(self._elements, given)
            else:
                one = self._single(given) if given else self._constant(each, node)
                inner._given_numbers[parameter.name] = frame.known(
                    self._as(str(parameter.kind), one, node))
            inner._held.pop(parameter.name, None)
        found = inner._elements(last.value, frame)
        self._called += inner._called
        return found

    def _is_pure(self, call: object) -> bool:
        """Return whether a call changes nothing: nothing assigns to memory in it."""
        if not isinstance(call, Call):
            return False
        if not any(isinstance(each, Held) for each in call.given):
            return True
        procedure = next((each for each in self._made if each.function is call.function), None)
        return procedure.result != 'None' if procedure else _reads_only(type(self), call.function)

    def _check_fit(self, node: ast.AST, a: Sequence[Axis], b: Sequence[Axis]) -> None:
        """Refuse what certainly has other numbers of elements."""
        names = [' x '.join(axis.name or '?' for axis in axes) for axes in (a, b)]
        if len(a) != len(b) or any(x.name and y.name and x.name != y.name
                                   for x, y in zip(a, b, strict=True)):
            self._refuse(node, f'one has {names[0]} numbers, the other one {names[1]}; both need '
                         'the same shape, or one is a single number')

    def _of_part(self, node: ast.expr, frame: Frame) -> Whole:
        part = self._part(node, frame)
        own = tuple([each for each in part.axes if each.size is not None])

        def at(places: Sequence[Expression]) -> Expression:
            rest = iter(places)
            return Element(part.array, tuple([
                axis.first if axis.size is None else _sum(axis.first, next(rest))
                for axis in part.axes]))
        return Whole(own, at, (part,))

    def _part(self, node: ast.expr, frame: Frame) -> Part:
        array = self._array(node.value if self._is_part(node) else node)    # type: ignore
        assert array is not None
        at: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            at = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        names = self._axes_of(array)
        if len(at) > len(names):
            self._refuse(node, f'it has {len(names)} axes')
        held = frame.array(array)
        axes = []
        for k, name in enumerate(names):
            each = at[k] if k < len(at) else ast.Slice()
            if not isinstance(each, ast.Slice):
                axes.append(Axis(self._place(each, frame), None))
                continue
            if each.step is not None:
                self._refuse(node, 'a slice has no step here')
            first = self._place(each.lower, frame) if each.lower else ZERO
            last = self._place(each.upper, frame) if each.upper else Length(held, k)
            count = _difference(last, first)
            axes.append(Axis(first, count, str(count.value) if isinstance(count, Constant) else
                             '' if each.lower or each.upper else name))
        return Part(held, tuple(axes))

    def _place(self, node: ast.expr, frame: Frame) -> Expression:
        value = self._expression(node)
        if isinstance(value, Constant) and value.value < 0:
            self._refuse(node, 'places are counted from the begin; write len(...) - 1')
        return frame.number(self._as('int', value, node))

    def _axes_of(self, array: Held) -> Sequence[str]:
        """Return the names of the sizes of an array, as its record declares them."""
        owner = self._kind_at(array)
        for each in owner.type.fields if owner else ():     # type: ignore[attr-defined]
            if each.name == array.path[-1]:
                return [str(dim) for dim in each.dims]
        return [''] * ARRAYS[str(array.kind)]

    def _kind_at(self, array: Held) -> Layout | None:
        """Return the record or the kernel that has an array."""
        kind = self._roots[array.root]
        for name in array.path[:-1]:
            assert isinstance(kind, Layout)
            kind = kind.members[name][1]
        found = array.path and isinstance(kind, Layout) and issubclass(
            kind.type, (Record, NamedKernel))
        return kind if found else None      # type: ignore[return-value]

    # --- statements ---

    def _assign_whole(self, targets: Sequence[ast.expr], value: ast.expr) -> list[Statement]:
        """Return the loops that assign to some rows and columns of arrays."""
        frame = Here(self)
        if self._is_whole(value):
            source = self._elements(value, frame)
        else:       # whatever is called: once, before
            source = _one(frame.number(self._expression(value)))
        loops = [self._loop_to(each, source, value, frame, alone=len(targets) == 1)
                 for each in targets]
        return [*frame.before, *loops]

    def _loop_to(self, target: ast.expr, source: Whole, value: ast.expr, frame: Here, *,
                 alone: bool) -> Statement:
        """Return the loop that assigns to a part of an array."""
        to = self._of_part(target, frame)
        if source.axes:
            self._check_fit(target, to.axes, source.axes)
        for each in source.parts:
            self._check_alias(target, to.parts[0], each, alone=alone)
        counters = [self._fresh('int') for _ in to.axes]
        found = source.at(counters if source.axes else ())
        if found.kind == 'bool':
            found = Choice('float', found, Constant('float', 1.0), Constant('float', 0.0))
        body = Assign((to.at(counters),),       # type: ignore[arg-type]
                      (self._as('float', found, value),))
        counts = [each.size for each in to.axes if each.size is not None]
        return loops(counters, counts, body)

    def _check_alias(self, node: ast.AST, to: Part, source: Part, *, alone: bool) -> None:
        """Refuse to read elements that the loop has already changed."""
        if to.array.root == source.array.root and to.array.path != source.array.path:
            return
        same_places = alone and len(to.axes) == len(source.axes) and all(
            (a.size is None) == (b.size is None) and (a.size is None or a.first == b.first)
            for a, b in zip(to.axes, source.axes, strict=True))
        if same_places:
            return
        if to.array.root != source.array.root:
            self._apart.add(Apart(to.array._replace(at=0), source.array._replace(at=0),
                                  ast.unparse(node)))
            return
        if not alone:
            self._refuse(node, 'what is assigned to several may not be one of them')
        self._refuse(node, 'it is read and changed at places that overlap; use another array in '
                     'between')


_asked: dict[Function, bool] = {}


def _reads_only(reader: type[Wholes], function: Function) -> bool:
    """Return whether a procedure changes nothing; of one that calls itself nothing is known."""
    if function not in _asked:
        _asked[function] = False
        _asked[function] = _assigns_nothing(reader(function))
    return _asked[function]


def _assigns_nothing(found: Wholes) -> bool:
    parts = list(below(found.procedure().body))
    return all(all(isinstance(target, Local) for target in each.targets)
               if isinstance(each, Assign) else found._is_pure(each)
               for each in parts
               if isinstance(each, (Assign, Call, KernelCall, ForeignCall, Octets)))


def _one(value: Expression) -> Whole:
    return Whole((), lambda at: value)


def _sum(a: Expression, b: Expression) -> Expression:
    return b if a == ZERO else a if b == ZERO else Arithmetic('int', '+', a, b)


def _difference(a: Expression, b: Expression) -> Expression:
    if isinstance(a, Constant) and isinstance(b, Constant):
        return Constant('int', a.value - b.value)
    return a if b == ZERO else Arithmetic('int', '-', a, b)
