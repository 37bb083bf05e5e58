# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Where a fault can be planted in a source, and which.

Only code of the product counts: no annotation, decorator, assertion, text, log or ``__repr__``,
nothing behind ``TYPE_CHECKING``. What changes nothing a test could see is left out where that can
be told cheaply: a tenth of a time-out, the order of what ``min`` gets, a factor of one.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
import difflib
import re
from types import CodeType

COMPARISONS = {
    ast.Lt: ('<', '<=', '>='), ast.LtE: ('<=', '<', '>'), ast.Gt: ('>', '>=', '<='),
    ast.GtE: ('>=', '>', '<'), ast.Eq: ('==', '!='), ast.NotEq: ('!=', '=='),
    ast.Is: ('is', 'is not'), ast.IsNot: ('is not', 'is'), ast.In: ('in', 'not in'),
    ast.NotIn: ('not in', 'in')}
OPERATORS = {
    ast.Add: ('+', '-'), ast.Sub: ('-', '+'), ast.Mult: ('*', '/'), ast.Div: ('/', '*'),
    ast.FloorDiv: ('//', '*'), ast.LShift: ('<<', '>>'), ast.RShift: ('>>', '<<'),
    ast.BitAnd: ('&', '|'), ast.BitOr: ('|', '&')}
KINDS = {'sign': (ast.Add, ast.Sub)}
#: of what a call without it is its first argument, or the object of the method
TRANSPARENT = {'abs', 'fabs', 'absolute', 'copy', 'floor', 'ceil', 'clip', 'sqrt', 'reversed',
               'sorted'}
CHOOSING = {'min', 'max', 'minimum', 'maximum', 'fmin', 'fmax'}
#: their arguments may change places
COMMUTATIVE = CHOOSING | {
    'add', 'multiply', 'hypot', 'gcd', 'isclose', 'allclose', 'array_equal', 'logical_and',
    'logical_or', 'outer_equal', 'samefile'}
#: arguments of another type than their neighbours: the call would end with a TypeError
TYPED = {'isinstance', 'issubclass', 'getattr', 'setattr', 'hasattr', 'cast', 'map', 'filter',
         'reduce', 'partial', 'full', 'reshape', 'TypeVar', 'NewType', 'namedtuple'}
LOGS = {'debug', 'info', 'warning', 'error', 'exception', 'critical', 'fatal', 'log'}
#: what waits or sizes: a tenth more, or one more, is no other behaviour
WAITS = {'sleep', 'join', 'wait', 'wait_for', 'select', 'poll', 'acquire', 'settimeout', 'get',
         'lru_cache', 'getLogger', 'spin_once', 'result', 'print'}
QUIET = {'timeout', 'timeout_sec', 'maxsize', 'maxlen', 'indent', 'width', 'stacklevel', 'daemon',
         'strict', 'copy', 'flush', 'depth', 'line_buffering', 'buffering', 'encoding', 'help',
         'precision', 'frozen', 'slots', 'kw_only', 'repr', 'metadata', 'ensure_ascii'}
JOINED = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.Set)
TEXTS = re.compile(r'(Error|Warning|Failure|Exception|Refusal|Exit|BadParameter)$')
SMALLEST = 1e-6  # a constant below it is a tolerance, of which a tenth means nothing


@dataclass(frozen=True)
class Fault:
    """
    One fault: bytes of a file that are replaced.

    :param path: of the file, below the checkout.
    :param start: of what is replaced, in bytes.
    :param inside: names of the functions, classes or constants that it is in.
    """

    path: str
    line: int
    kind: str
    start: int
    end: int
    new: str
    inside: tuple[str, ...] = ()

    def planted(self, source: bytes) -> bytes:
        """Return the source with the fault."""
        return source[:self.start] + self.new.encode() + source[self.end:]

    def diff(self, source: bytes) -> list[str]:
        """Return the lines that differ, with their signs."""
        old, new = (text.decode().splitlines() for text in (source, self.planted(source)))
        return [line for line in difflib.unified_diff(old, new, n=0, lineterm='')
                if not line.startswith(('---', '+++', '@@'))]


def places(path: str, source: bytes) -> list[Fault]:
    """
    Return all faults that can be planted in a file, in the order of its lines.

    :param path: of the file, below the checkout.
    """
    tree = ast.parse(source)
    finder = _Finder(path, source, _only_in_texts(tree))
    finder.body(tree, ())
    unique = {(fault.start, fault.end, fault.new): fault for fault in finder.found}
    return sorted(unique.values(), key=lambda each: (each.line, each.start, each.end, each.new))


def differs(fault: Fault, source: bytes) -> bool:
    """Return whether the fault can be compiled, to something else than the source."""
    planted = fault.planted(source)
    try:
        return _same(compile(planted, '', 'exec'), compile(source, '', 'exec')) is False
    except (SyntaxError, ValueError):
        return False


def _same(one: CodeType, other: CodeType) -> bool:
    if one.co_code != other.co_code or one.co_names != other.co_names or len(
            one.co_consts) != len(other.co_consts):
        return False
    return all(
        _same(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType)
        else repr(a) == repr(b) for a, b in zip(one.co_consts, other.co_consts))


def _called(call: ast.Call) -> str:
    """Return the last name of what is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ''


def _is_log(call: ast.Call) -> bool:
    """Return whether a call logs, or makes an error."""
    name = _called(call)
    return bool(TEXTS.search(name)) or (name in LOGS and isinstance(call.func, ast.Attribute))


def _is_text(node: ast.AST) -> bool:
    """Return whether a value is a text or a sequence, which is joined, not added."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, JOINED) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes, type(None))))


def _number(node: ast.AST) -> float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) in (int, float) else None


class _Finder:
    """Walks through a source and keeps what can be planted."""

    def __init__(self, path: str, source: bytes, quiet: set[str]) -> None:
        self.found: list[Fault] = []
        self._path, self._source = path, source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._counting: set[str] = set()
        self._quiet = quiet

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return (self._starts[node.lineno - 1] + node.col_offset,
                self._starts[node.end_lineno - 1] + node.end_col_offset)

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._source[start:end].decode()

    def _add(self, kind: str, start: int, end: int, new: str, inside: tuple[str, ...]) -> None:
        line = bisect_right(self._starts, start)
        self.found.append(Fault(self._path, line, kind, start, end, new, inside))

    def _replace(self, kind: str, node: ast.AST, new: str, inside: tuple[str, ...]) -> None:
        self._add(kind, *self._span(node), new, inside)

    def _between(self, kind: str, left: ast.AST, right: ast.AST, old: str, new: str,
                 inside: tuple[str, ...]) -> None:
        """Replace an operator that stands between two values."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = self._source[start:end]
        pattern = re.escape(old.encode()).replace(rb'\ ', rb'\s+')
        if old[0].isalpha():
            pattern = rb'\b' + pattern + rb'\b'
        found = list(re.finditer(pattern, gap))
        if len(found) == 1 and b'#' not in gap:
            self._add(kind, start + found[0].start(), start + found[0].end(), new, inside)

    def body(self, node: ast.AST, inside: tuple[str, ...]) -> None:
        """Walk through a module, a class or a function."""
        for child in getattr(node, 'body', ()):
            self._visit(child, inside)

    def _visit(self, node: ast.AST, inside: tuple[str, ...]) -> None:
        """Keep what can be planted in a node and below it."""
        method = getattr(self, f'_at_{type(node).__name__.lower()}', None)
        if method is not None and method(node, inside):
            return
        for child in ast.iter_child_nodes(node):
            self._visit(child, inside)

    # A method per kind of node; it returns True where it has seen to what is below.

    def _at_functiondef(self, node: ast.FunctionDef, inside: tuple[str, ...]) -> bool:
        decorators = {self._text(part) for part in node.decorator_list}
        if node.name in ('__repr__', '__str__', '__del__') or 'overload' in decorators:
            return True
        before = self._counting
        self._counting = before | {
            name.id for each in ast.walk(node)
            if isinstance(each, (ast.For, ast.comprehension)) and isinstance(each.iter, ast.Call)
            and _called(each.iter) in ('range', 'enumerate') for name in ast.walk(each.target)
            if isinstance(name, ast.Name)}
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self._visit(default, (*inside, node.name))
        self.body(node, (*inside, node.name))
        self._counting = before
        return True

    _at_asyncfunctiondef = _at_functiondef

    def _at_classdef(self, node: ast.ClassDef, inside: tuple[str, ...]) -> bool:
        self.body(node, (*inside, node.name))
        return True

    def _at_annassign(self, node: ast.AnnAssign, inside: tuple[str, ...]) -> bool:
        if node.value is not None and not self._left_out(node.target):
            self._visit(node.value, (*inside, self._text(node.target)))
        return True

    def _at_assign(self, node: ast.Assign, inside: tuple[str, ...]) -> bool:
        target = node.targets[0]
        if self._left_out(target):
            return True
        if inside and isinstance(target, (ast.Attribute, ast.Subscript)) and not (
                inside[-1] == '__init__'):
            self._replace('lost assignment', node, 'pass', inside)
        self._value(node.value, inside if len(inside) else (self._text(target),))
        for each in node.targets:
            self._visit(each, inside)
        return True

    def _value(self, value: ast.expr, inside: tuple[str, ...]) -> None:
        """Keep what can be planted in what is assigned; a mark that is set is not set instead."""
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        for part in parts:
            if isinstance(part, ast.Constant) and part.value == 1.0 and (
                    type(part.value) is float):
                self._replace('constant', part, '0.0', inside)
            else:
                self._visit(part, inside)

    def _left_out(self, target: ast.AST) -> bool:
        """Return whether a name is of the language, or serves texts alone."""
        return isinstance(target, ast.Name) and (
            target.id.startswith('__') or target.id in self._quiet)

    def _at_augassign(self, node: ast.AugAssign, inside: tuple[str, ...]) -> bool:
        if type(node.op) in OPERATORS and not _is_text(node.value):
            old, new = OPERATORS[type(node.op)]
            kind = 'sign' if old in '+-' else 'operator'
            self._between(kind, node.target, node.value, old + '=', new + '=', inside)
        return False

    def _at_assert(self, node: ast.Assert, inside: tuple[str, ...]) -> bool:
        return True

    _at_joinedstr = _at_import = _at_importfrom = _at_global = _at_nonlocal = _at_assert

    def _at_raise(self, node: ast.Raise, inside: tuple[str, ...]) -> bool:
        if inside and node.exc is not None and 'NotImplemented' not in self._text(node):
            self._replace('lost refusal', node, 'pass', inside)
        return True

    def _at_continue(self, node: ast.AST, inside: tuple[str, ...]) -> bool:
        self._replace('lost jump', node, 'pass', inside)
        return True

    _at_break = _at_continue

    def _at_return(self, node: ast.Return, inside: tuple[str, ...]) -> bool:
        if node.value is None:
            self._replace('lost jump', node, 'pass', inside)
        return False

    def _at_expr(self, node: ast.Expr, inside: tuple[str, ...]) -> bool:
        if isinstance(node.value, ast.Call):
            if _is_log(node.value):
                return True
            self._replace('lost call', node, 'pass', inside)
        return isinstance(node.value, ast.Constant)

    def _at_if(self, node: ast.If, inside: tuple[str, ...]) -> bool:
        if re.search(r'\bTYPE_CHECKING\b|\b__name__\b|\bversion_info\b', self._text(node.test)):
            return True
        self._negate(node.test, inside)
        return False

    def _at_ifexp(self, node: ast.IfExp, inside: tuple[str, ...]) -> bool:
        self._negate(node.test, inside)
        return False

    _at_while = _at_ifexp

    def _at_comprehension(self, node: ast.comprehension, inside: tuple[str, ...]) -> bool:
        for test in node.ifs:
            self._negate(test, inside)
        return False

    def _negate(self, test: ast.expr, inside: tuple[str, ...]) -> None:
        """Negate a condition, unless that is the other comparison, or a ``not`` that is lost."""
        if isinstance(test, ast.Constant) or (
                isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)) or (
                isinstance(test, ast.Compare) and len(test.ops) == 1):
            return
        self._replace('negated condition', test, f'not ({self._text(test)})', inside)

    def _at_compare(self, node: ast.Compare, inside: tuple[str, ...]) -> bool:
        for left, operator, right in zip([node.left, *node.comparators], node.ops,
                                         node.comparators):
            old, *others = COMPARISONS[type(operator)]
            for new in others:
                self._between('comparison', left, right, old, new, inside)
        return False

    def _at_boolop(self, node: ast.BoolOp, inside: tuple[str, ...]) -> bool:
        old, new = ('and', 'or') if isinstance(node.op, ast.And) else ('or', 'and')
        for left, right in zip(node.values, node.values[1:]):
            self._between('negated condition', left, right, old, new, inside)
        return False

    def _at_unaryop(self, node: ast.UnaryOp, inside: tuple[str, ...]) -> bool:
        if isinstance(node.op, (ast.Not, ast.USub)) and not _number(node.operand) == 0:
            kind = 'sign' if isinstance(node.op, ast.USub) else 'negated condition'
            self._add(kind, self._span(node)[0], self._span(node.operand)[0],
                      '' if self._source[self._span(node)[0]:self._span(node.operand)[0]].count(
                          b'(') == 0 else '(', inside)
        return False

    def _at_binop(self, node: ast.BinOp, inside: tuple[str, ...]) -> bool:
        operator = type(node.op)
        if operator in OPERATORS and not _is_text(node.left) and not _is_text(node.right) and not (
                operator in (ast.Mult, ast.Div) and _number(node.right) in (1, -1)) and not (
                operator is ast.BitOr and not inside):
            old, new = OPERATORS[operator]
            kind = 'sign' if operator in (ast.Add, ast.Sub) else 'operator'
            self._between(kind, node.left, node.right, old, new, inside)
        return False

    def _at_constant(self, node: ast.Constant, inside: tuple[str, ...]) -> bool:
        self._number(node, 'constant', inside)
        return True

    def _number(self, node: ast.Constant, kind: str, inside: tuple[str, ...]) -> None:
        value = node.value
        if isinstance(value, bool):
            self._replace(kind, node, str(not value), inside)
        elif isinstance(value, int):
            self._replace(kind, node, str(value + 1), inside)
            if value > 0:
                self._replace(kind, node, str(value - 1), inside)
        elif isinstance(value, float) and (value == 0.0 or abs(value) >= SMALLEST):
            more = float(f'{1.1 * value:.12g}') if value else 1.0
            self._replace(kind, node, repr(more), inside)

    def _at_subscript(self, node: ast.Subscript, inside: tuple[str, ...]) -> bool:
        self._visit(node.value, inside)
        for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if isinstance(part, ast.Constant):
                self._number(part, 'index', inside)
                continue
            if isinstance(part, ast.Name) and part.id in self._counting:
                self._replace('index', part, f'{part.id} - 1', inside)
            if isinstance(part, ast.Slice):
                for bound in filter(None, (part.lower, part.upper)):
                    if _number(bound) != 0:
                        self._replace('index', bound, '', inside)
            self._visit(part, inside)
        return True

    def _at_call(self, node: ast.Call, inside: tuple[str, ...]) -> bool:
        name = _called(node)
        if _is_log(node):
            return True
        method = isinstance(node.func, ast.Attribute)
        if name in TRANSPARENT and not node.keywords:
            if node.args:
                self._replace('lost call', node, f'({self._text(node.args[0])})', inside)
            elif method:
                self._replace('lost call', node, self._text(node.func.value), inside)
        elif name in CHOOSING and len(node.args) > 1:
            for each in node.args:
                if not isinstance(each, ast.Starred):
                    self._replace('lost call', node, f'({self._text(each)})', inside)
        if name not in COMMUTATIVE | TYPED:
            self._swap(node.args, inside)
        self._visit(node.func, inside)
        for each in node.args:
            if not (name in WAITS and _number(each) is not None):
                self._visit(each, inside)
        for keyword in node.keywords:
            if keyword.arg not in QUIET:
                self._visit(keyword.value, inside)
        return True

    def _swap(self, values: list[ast.expr], inside: tuple[str, ...]) -> None:
        """Swap neighbours, unless it is plain that they are of different types."""
        for one, other in zip(values, values[1:]):
            if any(isinstance(each, (ast.Starred, ast.Lambda)) for each in (one, other)) or (
                    _is_text(one) != _is_text(other)):
                continue
            (start, middle), (then, end) = self._span(one), self._span(other)
            new = (self._source[then:end] + self._source[middle:then]
                   + self._source[start:middle]).decode()
            if self._text(one) != self._text(other):
                self._add('swapped arguments', start, end, new, inside)


def _only_in_texts(tree: ast.Module) -> set[str]:
    """Return the names of constants of a module that only messages use there."""
    named = {each.id for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))
             for each in (node.targets if isinstance(node, ast.Assign) else [node.target])
             if isinstance(each, ast.Name)}
    total, texts = (dict.fromkeys(named, 0) for _ in range(2))
    for name in _loads(tree):
        if name in total:
            total[name] += 1
    seen: set[int] = set()
    for node in ast.walk(tree):
        if id(node) not in seen and (isinstance(node, (ast.JoinedStr, ast.Raise)) or (
                isinstance(node, ast.Call) and _is_log(node))):
            seen.update(map(id, ast.walk(node)))
            for name in _loads(node):
                if name in texts:
                    texts[name] += 1
    return {name for name in named if total[name] and total[name] == texts[name]}


def _loads(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
