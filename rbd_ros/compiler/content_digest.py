# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A digest of nested data that is the same in every process, for cache keys; and whose code is in it.

Numbers count with their exact bits, objects of this package with what they hold. Its functions and
classes count by name: their sources are part of every key. Code of a user may read anything, so no
look at it is ever complete. It counts as itself, this very object, and is called foreign: what is
said of it holds in this process only, and never becomes a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import dataclasses
from functools import cache, cached_property, partial
import hashlib
from pathlib import Path
import sys
import sysconfig
import types
from typing import Any, Generic, NamedTuple

import numpy as np

from rbd_ros.errors import UnseenError

KNOWN = ('rbd_ros', 'numpy', 'scipy')
_EXACT = frozenset((bool, int, str, bytes, complex, type(None), type(Ellipsis), range, slice))


class Seen(NamedTuple):
    """
    What was seen of some values.

    :param text: hexadecimal SHA-256; of foreign code only in this process, while it lives.
    :param foreign: whether code that is not this package's was among them.
    """

    text: str
    foreign: bool


def digest(*values: object) -> str:
    """
    Return a hexadecimal SHA-256 of the structure and the exact numbers of some values.

    :raises UnseenError: for code of a user, and for objects that only such code can make.
    """
    looker = _Looker(values)
    if looker.foreign:
        raise UnseenError(looker.foreign[0], 'it is, or was made by, code that is not of this '
                          'package, which may read anything')
    return looker.text()


def look(*values: object) -> Seen:
    """Return the digest of some values, and whether there is a user's code in them."""
    looker = _Looker(values)
    return Seen(looker.text(), bool(looker.foreign))


class _Looker:
    """Turns values into words, each with its kind and length: no two structures look alike."""

    def __init__(self, values: Sequence[object]) -> None:
        self.foreign: list[object] = []
        self._words: list[str] = []
        self._open: list[int] = []      # objects that are being fed: cycles end there
        self._fields: dict[type, list[str]] = {}    # of objects of this package, where all alike
        for value in values:
            self._feed(value)

    def text(self) -> str:
        """Return the digest of all words."""
        return hashlib.sha256('\n'.join(self._words).encode()).hexdigest()

    def _feed(self, value: Any) -> None:
        kind = type(value)
        if kind is float:
            self._words.append(value.hex())
        elif kind is tuple or kind is list:
            self._items('seq', value)
        elif kind in self._fields:
            self._holds(value, self._fields[kind])
        elif kind in _EXACT:
            text = repr(value)
            self._words.append(f'{kind.__name__}{len(text)}:{text}')
        elif id(value) in self._open:
            self._words.append(f'again{len(self._open) - self._open.index(id(value))}')
        else:
            self._open.append(id(value))
            self._rare(value, kind)
            self._open.pop()

    def _rare(self, value: Any, kind: type) -> None:
        """Add what may hold itself, or code."""
        if kind in (dict, types.MappingProxyType):
            keys = sorted(value, key=_order)
            self._items('map', [part for key in keys for part in (key, value[key])])
        elif kind in (set, frozenset):
            self._items('set', sorted(value, key=_order))
        elif isinstance(value, np.generic) or (kind is np.ndarray and not value.dtype.hasobject):
            self._items('array', (str(value.dtype), value.shape, value.tobytes()))
        elif kind is partial:
            self._items('partial', (value.func, value.args, value.keywords))
        elif kind is types.MethodType:
            self._items('method', (value.__func__, value.__self__))
        elif kind is types.FunctionType:
            self._function(value)
        elif kind is types.BuiltinFunctionType and isinstance(value.__self__, types.ModuleType):
            self._items('builtin', (value.__self__.__name__, value.__qualname__))
        elif isinstance(value, type):
            self._class(value)
        elif kind is not object and _is_readable(kind):
            self._object(value, kind)
        else:
            self._as_itself(value)

    def _function(self, function: types.FunctionType) -> None:
        home, code = str(function.__globals__.get('__name__', '')), function.__code__
        if not is_known(home):
            self._as_itself(function)
            return
        cells = [_content(cell) for cell in function.__closure__ or ()]
        # by name, and by place: a module may have several functions of one name
        self._items('function', (home, function.__qualname__, code.co_firstlineno, code.co_code,
                                 code.co_names, function.__defaults__, function.__kwdefaults__,
                                 cells, function.__dict__))

    def _class(self, kind: type) -> None:
        self._items('class', (kind.__module__, kind.__qualname__))
        for owner in kind.__mro__:
            if not is_known(owner.__module__) or any(_replaced(owner)):
                self._as_itself(owner)
                for function in _replaced(owner):
                    self._as_itself(function)

    def _object(self, value: Any, kind: type) -> None:
        """Add an object whose content can be read, or a tuple or number with a name."""
        self._feed(kind)
        if isinstance(value, tuple):
            self._items('seq', tuple(value))
        elif isinstance(value, (float, int, str)):
            self._words.append(repr(value))
        names = _attributes(value)
        if kind.__module__.startswith('rbd_ros') and not hasattr(value, '__dict__'):
            self._fields[kind] = names
        self._holds(value, names)

    def _holds(self, value: object, names: list[str]) -> None:
        kind = type(value)
        self._words.append(f'{kind.__module__}.{kind.__qualname__}{len(names)}')
        for name in names:
            self._words.append(name)
            self._feed(getattr(value, name, Ellipsis))

    def _items(self, kind: str, items: Sequence[object]) -> None:
        self._words.append(f'{kind}{len(items)}')
        for item in items:
            self._feed(item)

    def _as_itself(self, value: object) -> None:
        """Add what is equal to nothing else."""
        self.foreign.append(value)
        self._words.append(f'itself{id(value)}')


def _order(item: object) -> str:
    return look(item).text


def is_known(module: str) -> bool:
    """Return whether the code of a module is known by its name: of this package, or below it."""
    top = module.partition('.')[0]
    return top in KNOWN or module.startswith('namedtuple_') or _is_standard(top)


@cache
def _is_standard(top: str) -> bool:
    """Return whether a module is Python's own, and not another file of the same name."""
    if top == 'builtins' or top in sys.builtin_module_names:
        return True
    if top not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(top), '__file__', None)
    if file is None:
        return True
    folders = [Path(sysconfig.get_path(name)) for name in ('stdlib', 'platstdlib')]
    parents = Path(file).parents
    return (any(folder in parents for folder in folders)
            and 'site-packages' not in Path(file).parts)


def _replaced(kind: type) -> Iterator[types.FunctionType]:
    """Yield the functions of a class of this package that somebody has put in from elsewhere."""
    if not kind.__module__.startswith('rbd_ros'):
        return
    for value in vars(kind).values():
        inside = (value, *(getattr(value, name, None) for name in ('fget', 'func', '__func__')))
        for part in inside:
            if isinstance(part, types.FunctionType) and not is_known(
                    str(part.__globals__.get('__name__', ''))):
                yield part


def _is_readable(kind: type) -> bool:
    """Return whether all that objects of a class hold are attributes, or what it is made of."""
    return all(base in (object, tuple, float, int, str, Generic) or base.__module__ in (
        'abc', 'enum', 'typing') or not is_known(base.__module__)
        or base.__module__.startswith('rbd_ros') for base in kind.__mro__)


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:          # not filled yet
        return Ellipsis


def _attributes(value: object) -> list[str]:
    """Return the names of what an object holds; what this package computes and keeps is not."""
    kind = type(value)
    names: dict[str, None] = {}
    if dataclasses.is_dataclass(value):
        names.update((field.name, None) for field in dataclasses.fields(value))
    for owner in reversed(kind.__mro__):
        slots = vars(owner).get('__slots__', ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in ('__dict__', '__weakref__') or (
                    name.startswith('_') and owner.__module__.startswith('rbd_ros')):
                continue
            hidden = name.startswith('__') and not name.endswith('__')
            names[f'_{owner.__name__.lstrip("_")}{name}' if hidden else name] = None
    for name in sorted(getattr(value, '__dict__', ())):
        if not isinstance(getattr(kind, name, None), cached_property):
            names[name] = None
    return list(names)
