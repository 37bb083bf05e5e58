# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What a translated function takes and returns, read from its annotations.

Machine code finds all that it works on in a table of 64-bit words: for an array three, its address
and its numbers of rows and columns; for bytes three, their address, their number, and one that is
free; for a kernel three, the addresses of its code and of its block of memory, and one that is
free; for a function of C three, its address and two that are free; for a record the address of its
single numbers, and then the words of its arrays and of the records inside; for a named tuple the
words of what it holds. A record and a named tuple are passed on as the address of their words, the
others as the words themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
import enum
from functools import cache
import inspect
import linecache
import sys
from types import ModuleType
from typing import NamedTuple

from rbd_ros import source_state
from rbd_ros.compiler.language.kernels import NamedKernel
from rbd_ros.compiler.records import Record

Function = Callable[..., object]
#: Types of numbers, a truth included.
NUMBERS = ('float', 'int', 'bool')
ARRAYS = {'Vector': 1, 'Matrix': 2}
#: A compiled kernel, or any call without arguments; see ``procedure.bind``.
KERNEL = 'Kernel'
#: A row of bytes, see :mod:`rbd_ros.compiler.language.octets`.
BYTES = 'Bytes'
#: A function of C, see :mod:`rbd_ros.compiler.language.foreign`.
FOREIGN = 'Foreign'
_NAMED = (*ARRAYS, BYTES, KERNEL, FOREIGN, *NUMBERS)
_WORDS = 3


class Layout(NamedTuple):
    """
    What the words of a record or a named tuple are.

    :param type: its class.
    :param numbers: place of each single number behind the address in its first word.
    :param members: first word and kind of all else.
    :param words: how many it has.
    """

    type: type
    numbers: dict[str, int]
    members: dict[str, tuple[int, Kind]]
    words: int

    def __str__(self) -> str:
        """Return the name of the class."""
        return self.type.__name__


#: 'Vector', 'Matrix', 'Bytes', 'Kernel', 'Foreign', 'int', 'float', 'bool', or what a record or a
#: named tuple holds.
Kind = str | Layout


@cache
def definition(function: Function) -> ast.FunctionDef:
    """
    Return the syntax of a function.

    :raises OSError: if its source cannot be read.
    """
    code = function.__code__
    try:
        return _definitions(source_of(function))[code.co_name, code.co_firstlineno]
    except (KeyError, SyntaxError):
        raise OSError(f'the source of {code.co_name} could not be read') from None


def source_of(function: Function) -> str:
    """
    Return the text of the file of a function.

    :raises OSError: if it cannot be read.
    """
    file = inspect.getsourcefile(function) or ''
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    if not lines:
        raise OSError(f'the source of {function.__name__} could not be read')
    return ''.join(lines)


def check_unchanged(functions: Iterable[Function]) -> None:
    """
    Refuse functions whose files have changed.

    :raises OSError: if what can be read of this package is not what was imported.
    """
    changed = set(source_state.changed())
    changed &= {inspect.getsourcefile(each) or '' for each in functions} if changed else set()
    if changed:
        raise OSError(f'{min(changed)} has changed since it was imported')


@cache
def _definitions(text: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """Return the functions of a module by their names and first lines, decorators included."""
    found: dict[tuple[str, int], ast.FunctionDef] = {}
    todo: list[ast.stmt] = ast.parse(text).body
    for node in todo:       # which grows
        if isinstance(node, ast.FunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            found[node.name, first] = node
        todo += getattr(node, 'body', [])
    return found


class Parameter(NamedTuple):
    """A parameter of a function, and what kind of thing it is."""

    name: str
    kind: Kind

    @property
    def is_number(self) -> bool:
        """Return whether it is an ``int``, a ``float`` or a ``bool``."""
        return self.kind in NUMBERS


@cache
def parameters_of(function: Function) -> list[Parameter]:
    """Return the parameters of a function."""
    a = definition(function).args
    if a.vararg or a.kwarg or a.kwonlyargs or a.posonlyargs:
        raise TypeError(f'{function.__name__} may have plain parameters only, with defaults or '
                        'without')
    found = []
    for each in a.args:
        owner: type | None = owner_of(function) if each is a.args[0] else None
        kind = layout_of(owner) if owner else _kind(each.annotation, function.__globals__)
        if kind is None:
            text = ast.unparse(each.annotation) if each.annotation else 'of no type'
            raise TypeError(f'{function.__module__}.{function.__name__}: {each.arg} is '
                            f'{text}; it must be Vector, Matrix, Bytes, Kernel, Foreign, int, '
                            'float, bool, or an IntEnum, a Record or a named tuple that its '
                            'module knows')
        found.append(Parameter(each.arg, kind))
    return found


def owner_of(function: Function) -> type[Record] | None:
    """Return the record that a function is a method of; its first parameter is one."""
    path = function.__qualname__.rpartition('.')[0]
    found = (looked_up(ast.parse(path, mode='eval').body, function.__globals__)
             if path and '<' not in path else None)
    return found if isinstance(found, type) and issubclass(found, Record) else None


def looked_up(node: ast.expr, names: Mapping[str, object]) -> object:
    """Return what a name or the attribute of a module or a class stands for, else None."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = looked_up(node.value, names)
        if isinstance(owner, (ModuleType, type)):
            return getattr(owner, node.attr, None)
    return None


def _kind(node: ast.expr | None, names: Mapping[str, object]) -> Kind | None:
    """Return what kind of thing an annotation stands for; None: nothing that is known here."""
    if isinstance(node, ast.Name) and node.id in _NAMED:
        return node.id
    found = None if node is None else looked_up(node, names)
    if isinstance(found, type) and issubclass(found, enum.IntEnum):
        return 'int'
    return layout_of(found) if isinstance(found, type) else None


def _held(text: str, names: Mapping[str, object]) -> Kind | None:
    """Return what kind of thing a named tuple holds: no number."""
    try:
        kind = _kind(ast.parse(text, mode='eval').body, names)
    except SyntaxError:
        return None
    return None if kind in NUMBERS else kind


@cache
def layout_of(kind: type) -> Layout | None:
    """
    Return what the words of a record or a named tuple are; None of another class.

    :raises TypeError: for a named tuple that holds something else.
    """
    held: list[tuple[str, Kind | None]]
    numbers: list[str] = []
    if issubclass(kind, Record):
        numbers = [each.name for each in kind.fields if not each.dims]
        held = [(each.name, list(ARRAYS)[len(each.dims) - 1]) for each in kind.fields if each.dims]
        groups: Mapping[str, type] = kind.groups
        held += [(name, layout_of(inner)) for name, inner in groups.items()]
    elif issubclass(kind, NamedKernel):
        held = [('run', KERNEL), *[
            (each.name, list(ARRAYS)[len(each.dims) - 1]) for each in kind.fields]]
    elif issubclass(kind, tuple) and hasattr(kind, '_fields'):
        # its module keeps its annotations as text
        names = vars(sys.modules[kind.__module__])
        held = [(name, _held(getattr(each, '__forward_arg__', str(each)), names))
                for name, each in kind.__annotations__.items()]
    else:
        return None
    at = 1 if issubclass(kind, Record) else 0
    members: dict[str, tuple[int, Kind]] = {}
    for name, inner in held:
        if inner is None:
            raise TypeError(f'{kind.__name__}.{name} must be Vector, Matrix, Bytes, Kernel, '
                            'Foreign, or a Record or a named tuple that its module knows')
        members[name] = at, inner
        at += words_of(inner)
    return Layout(kind, {name: k for k, name in enumerate(numbers)}, members, at)


def words_of(kind: Kind) -> int:
    """Return how many words of a table a thing has."""
    return kind.words if isinstance(kind, Layout) else _WORDS


def result_of(function: Function) -> str:
    """Return the name of the type that a function returns."""
    tree = definition(function)
    text = ast.unparse(tree.returns) if tree.returns else 'None'
    if results_of(function):
        return 'tuple'
    kind = text if text == 'None' else _kind(tree.returns, function.__globals__)
    if kind not in (*NUMBERS, 'None', 'Vector'):
        raise TypeError(f'{tree.name} returns {text}; it must be float, int, bool, an IntEnum, '
                        'Vector or None')
    return str(kind)


def results_of(function: Function) -> list[str]:
    """Return the names of the types of several results, ``tuple[float, bool]``; none of one."""
    returns = definition(function).returns
    if not (isinstance(returns, ast.Subscript) and ast.unparse(returns.value) == 'tuple'
            and isinstance(returns.slice, ast.Tuple)):
        return []
    kinds = [_kind(each, function.__globals__) for each in returns.slice.elts]
    if any(each not in NUMBERS for each in kinds):
        raise TypeError(f'{function.__name__} returns {ast.unparse(returns)}; several results are '
                        'float, int, bool or an IntEnum')
    return [str(each) for each in kinds]
