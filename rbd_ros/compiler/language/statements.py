# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Python functions of loops and branches as trees, read from their source.

A graph has no branches, and its size is fixed. What is iterated until a number is small, over as
many rows as there happen to be, or decides by what it finds, is written as functions on arrays
and records, which Python runs as they stand and which are translated here. What they may hold is
said in ``docs/language.md``, with an example of each. Besides, ``Bytes`` are read and written by
the functions of :mod:`.octets`, those of their words that threads share by the functions of
:mod:`.shared`, and a ``Foreign`` is a function of C, see :mod:`.foreign`.

Whole vectors become loops (:mod:`.wholes`), methods are functions whose first parameter is a
record, and named arguments get their places: the trees have none of these.
"""

from __future__ import annotations

import ast
import inspect

from rbd_ros.compiler.language.aliases import Apart, check_apart
from rbd_ros.compiler.language.expressions import Expressions
from rbd_ros.compiler.language.kernels import NamedKernel
from rbd_ros.compiler.language.signatures import (
    check_unchanged, Function, Layout, parameters_of, result_of, results_of)
from rbd_ros.compiler.language.tree import (
    Assign, Break, Call, Constant, Continue, Do, Element, Expression, For, ForeignCall, Held, If,
    KernelCall, Local, Number, Octets, Procedure, Return, Statement, Target, While)
from rbd_ros.compiler.records import Record


#: What a name has that has no value yet.
_ZEROS: dict[str, float] = {'float': 0.0, 'int': 0, 'bool': False}


def read(entry: Function) -> list[Procedure]:
    """
    Return a function, and after it all that it calls.

    :param entry: its parameters are no numbers, and it returns nothing.
    :raises OSError: if a source cannot be read, or is not what was imported.
    :raises TypeError: for what cannot be translated; says what, and where.
    """
    done: dict[Function, Procedure] = {}
    apart: dict[Function, set[Apart]] = {}
    calls: dict[Function, list[Call]] = {}
    todo = [entry]
    while todo:
        function = todo.pop()
        if function not in done:
            reader = _Reader(function)
            done[function] = reader.procedure()
            done |= {each.function: each for each in reader.made}
            apart[function], calls[function] = reader.apart, reader.calls
            todo += done[function].called
    check_unchanged(done)
    check_apart(done, calls, apart)
    if (any(each.is_number for each in parameters_of(entry))
            or result_of(entry) != 'None'):
        raise TypeError(f'{entry.__name__} can be called from Python if it takes no numbers but '
                        'those in arrays and records, and returns nothing')
    return list(done.values())


class _Reader(Expressions):
    """How statements are read."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self._result = result_of(function)
        #: Functions in the place of whose call this one is.
        self._inside: tuple[Function, ...] = ()

    @property
    def apart(self) -> set[Apart]:
        """Return what its callers may not give twice."""
        return self._apart

    @property
    def calls(self) -> list[Call]:
        """Return its calls of procedures."""
        return self._called

    @property
    def made(self) -> list[Procedure]:
        """Return the procedures that it needs and that nobody wrote."""
        return self._made

    def procedure(self) -> Procedure:
        """Return the function."""
        result, body = self._result, self._block(self._tree.body)
        if result != 'None' and not _ends(self._tree.body):
            self._refuse(self._tree.body[-1], f'{self._tree.name} can end here without its result')
        return Procedure(self._function, tuple(parameters_of(self._function)), result,
                         self._variables, body,
                         tuple([each.function for each in self._called]))

    def _block(self, statements: list[ast.stmt]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for node in statements:
            handler = getattr(self, f'_do_{type(node).__name__.lower()}', None)
            if handler is None:
                self._refuse(node, 'there is no such statement here')
            found += handler(node)
        return tuple(found)

    def _do_expr(self, node: ast.Expr) -> list[Statement]:
        if isinstance(node.value, ast.Call):
            kernel = self._holding(node.value.func)
            if kernel is not None and isinstance(kernel.kind, Layout) and issubclass(
                    kernel.kind.type, NamedKernel):
                return self._run_kernel(node.value, kernel, kernel.kind.type)
            found = self._call(node.value)
            if isinstance(found, (Call, KernelCall, ForeignCall, Octets)):
                return [Do(found)]
        elif isinstance(node.value, ast.Constant):
            return []
        self._refuse(node, 'it has no effect')

    # --- kernels ---

    def _run_kernel(self, node: ast.Call, kernel: Held,
                    kind: type[NamedKernel]) -> list[Statement]:
        """Return what a call of a kernel copies, and the kernel between."""
        named = {str(each.arg): each.value for each in node.keywords}
        out = named.pop('out', None)
        records = [(each, *self._known_names(each)) for each in node.args]
        try:
            plan = kind.plan([each[1:] for each in records],
                             self._known_names(out) if out else None, named)
        except TypeError as error:
            self._refuse(node, str(error))
        found: list[Statement] = []
        for name, k in plan.inputs:
            value = named[name] if k is None else ast.Attribute(records[k][0], name, ast.Load())
            self._check_argument(value, kernel, kind, name)
            found += self._copied(ast.Attribute(node.func, name, ast.Load()), value, node)
        run = self._holding(ast.Attribute(node.func, 'run', ast.Load()))
        assert run is not None
        found.append(Do(KernelCall(run)))
        targets = {name: named[name] for name in plan.outputs}
        if out:
            targets |= {name: ast.Attribute(out, name, ast.Load()) for name in plan.out}
        for name, target in targets.items():
            found += self._copied(target, ast.Attribute(node.func, name, ast.Load()), node)
        return found

    def _known_names(self, node: ast.expr) -> tuple[str, list[str]]:
        """Return the words for a record, and the names of its numbers and arrays."""
        held = self._holding(node)
        if held is None or not isinstance(held.kind, Layout) or not issubclass(
                held.kind.type, Record):
            self._refuse(node, 'what has no name here is a record; write name=... for the others')
        return ast.unparse(node), [each.name for each in held.kind.type.fields]

    def _check_argument(self, node: ast.expr, kernel: Held, kind: type[NamedKernel],
                        name: str) -> None:
        """Refuse what is changed while the other arguments are copied."""
        if not self._is_whole(node):
            self._single(node)
        others = [(*kernel.path, each.name) for each in kind.ports('takes') if each.name != name]
        owners = {id(each.value) for each in ast.walk(node) if isinstance(each, ast.Attribute)}
        for each in ast.walk(node):
            if not isinstance(each, ast.expr) or id(each) in owners:
                continue
            held = self._holding(each)
            if held is not None and held.root == kernel.root and any(
                    path[:len(held.path)] == held.path for path in others):
                self._refuse(each, 'it changes while the arguments are copied; copy it before')

    def _copied(self, target: ast.expr, value: ast.expr, node: ast.Call) -> list[Statement]:
        """Return the assignment of numbers to all of an array."""
        if not self._is_part(target):
            target = ast.Subscript(target, ast.Slice(), ast.Store())
        line = ast.copy_location(ast.Assign([target], value), node)
        return self._do_assign(ast.fix_missing_locations(line))

    def _do_pass(self, node: ast.Pass) -> list[Statement]:
        return []

    def _do_break(self, node: ast.Break) -> list[Statement]:
        return [Break()]

    def _do_continue(self, node: ast.Continue) -> list[Statement]:
        return [Continue()]

    def _do_return(self, node: ast.Return) -> list[Statement]:
        kind = self._result
        if kind == 'tuple':
            self._refuse(node, f'{self._tree.name} has several results; it returns them once, at '
                         'its end')
        if (node.value is None) != (kind == 'None'):
            self._refuse(node, f'{self._tree.name} returns {kind}')
        if node.value is None:
            return [Return(None)]
        return [Return(self._as(kind, self._expression(node.value), node))]

    def _do_assign(self, node: ast.Assign) -> list[Statement]:
        if all(self._is_part(each) for each in node.targets):
            return self._assign_whole(node.targets, node.value)
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Call) and (
                several := self._of_several(node.value)):
            return self._take_several(node.targets[0].elts, *several, node.value)
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            targets, sources = node.targets[0].elts, node.value.elts
        else:
            targets, sources = node.targets, [node.value]
        if len(targets) != len(sources):
            self._refuse(node, 'there must be one value for each target')
        values = [self._expression(each) for each in sources]
        return [self._assign(targets, values)]

    # --- several results ---

    def _of_several(self, node: ast.Call) -> tuple[Function, Held | None] | None:
        """Return a function of several results, and the record whose method it is."""
        owner = self._holding(node.func.value) if isinstance(node.func, ast.Attribute) else None
        kind = owner.kind if owner is not None else None
        found = (getattr(kind.type, node.func.attr, None)       # type: ignore[attr-defined]
                 if isinstance(kind, Layout) else self._known(node))
        return (found, owner) if inspect.isfunction(found) and results_of(found) else None

    def _take_several(self, targets: list[ast.expr], function: Function, owner: Held | None,
                      node: ast.Call) -> list[Statement]:
        """Return a function in the place of its call, and the assignment of its results."""
        if function in self._inside:
            self._refuse(node, 'a procedure of several results may not call itself')
        inner = type(self)(function)
        last, kinds = inner._tree.body[-1], results_of(function)
        if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Tuple) or len(
                last.value.elts) != len(kinds):
            inner._refuse(last, f'{function.__name__} ends with a return of {len(kinds)} results')
        if len(targets) != len(kinds):
            self._refuse(node, f'{function.__name__} has {len(kinds)} results')
        given = self._given(node, function, function.__name__, owner)
        parameters = parameters_of(function)
        inner._inside = (*self._inside, function)
        inner._made, inner._roots, inner._owner = self._made, self._roots, self._owner
        inner._apart = self._apart
        inner._called, inner._variables, inner._renamed = self._called, self._variables, {}
        inner.__dict__['_names'] = inner._names | self._names
        before: list[Statement] = []
        for parameter, value in zip(parameters, given if owner is None else [owner, *given],
                                    strict=True):
            if isinstance(value, Held):
                inner._held[parameter.name] = value
                continue
            local = inner._fresh(value.kind)
            inner._renamed[parameter.name] = local.name
            before.append(Assign((local,), (value,)))
        old = set(self._variables)
        body = inner._block(inner._tree.body[:-1])
        values = [inner._as(kind, inner._expression(each), each)
                  for kind, each in zip(kinds, last.value.elts, strict=True)]
        zeros: list[Statement] = [
            Assign((Local(kind, name),), (Constant(kind, _ZEROS[kind]),))
            for name, kind in self._variables.items() if name not in old]
        return [*before, *zeros, *body, self._assign(targets, values)]

    def _do_annassign(self, node: ast.AnnAssign) -> list[Statement]:
        kind = ast.unparse(node.annotation)
        if node.value is None or kind not in ('int', 'float', 'bool'):
            self._refuse(node, 'it needs a value, and int, float or bool as its type')
        return [self._assign([node.target], [self._as(kind, self._expression(node.value), node)])]

    def _do_augassign(self, node: ast.AugAssign) -> list[Statement]:
        old = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        if self._is_part(node.target):
            return self._assign_whole([node.target], old)
        return [self._assign([node.target], [self._expression(old)])]

    def _assign(self, nodes: list[ast.expr], values: list[Expression]) -> Assign:
        targets = [self._target(node, value.kind)
                   for node, value in zip(nodes, values, strict=True)]
        return Assign(tuple(targets), tuple([
            self._stored(target, value, node)
            for node, target, value in zip(nodes, targets, values, strict=True)]))

    def _target(self, node: ast.expr, kind: str) -> Target:
        """Return what is assigned; a new variable has the type of its first value."""
        if isinstance(node, ast.Name):
            if node.id in self._held:
                self._refuse(node, f'{node.id} is a {self._held[node.id].kind}; assign what it '
                             'holds')
            own = self._variable(node.id)
            if not own and self._renamed is not None:
                own = self._renamed[node.id] = self._fresh(kind).name
            return Local(self._variables.setdefault(own, kind), own)
        found: Number | Element | None = self._number(node)
        if isinstance(node, ast.Subscript):
            found = self._of_subscript(node)
        if found is None:
            self._refuse(node, 'it is neither a name, nor an element, nor a number of a record')
        return found

    def _do_if(self, node: ast.If) -> list[Statement]:
        return [If(self._condition(node.test), self._block(node.body), self._block(node.orelse))]

    def _do_while(self, node: ast.While) -> list[Statement]:
        if node.orelse:
            self._refuse(node, 'a loop may have no else')
        return [While(self._condition(node.test), self._block(node.body))]

    def _do_for(self, node: ast.For) -> list[Statement]:
        if node.orelse:
            self._refuse(node, 'a loop may have no else')
        if not (isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
                and ast.unparse(node.iter.func) == 'range' and 0 < len(node.iter.args) < 4):
            self._refuse(node, 'a loop is over a range')
        given = [self._expression(each) for each in node.iter.args]
        if any(each.kind != 'int' for each in given):
            self._refuse(node.iter, 'a range is of integers')
        first, last = (Constant('int', 0), given[0]) if len(given) == 1 else given[:2]
        step = given[2] if len(given) == 3 else Constant('int', 1)
        if not isinstance(step, Constant) or not step.value:
            self._refuse(node.iter, 'the step of a range is a constant')
        target = self._target(node.target, 'int')
        if not isinstance(target, Local) or target.kind != 'int':
            self._refuse(node.target, 'what counts is an integer')
        return [For(target, first, last, int(step.value), self._block(node.body))]


def _ends(block: list[ast.stmt]) -> bool:
    """Return whether nothing comes after a block: all its ways end with a return."""
    last = block[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.While):
        return (isinstance(last.test, ast.Constant) and last.test.value is True
                and not any(isinstance(each, ast.Break) for each in ast.walk(last)))
    return isinstance(last, ast.Return)
