# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
A digest of nested data and code that is the same in every process, for cache keys.

Numbers count with their exact bits. Functions and classes that a user wrote count with their code
and with what they use: defaults, closures, global variables, attributes of modules, class bodies.
What cannot be seen raises an error; nothing is taken to be equal because its name is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
import dataclasses
from functools import cached_property
import hashlib
import sys
import types
from typing import NamedTuple, TypeVar

import numpy as np

from rbd_ros.compiler.code_digest import (
    class_parts, code_parts, DYNAMIC, is_known, names_of, patched, wrapped_parts)
from rbd_ros.errors import UnseenError

SIMPLE = (float, int, str, bytes, complex)
_Code = TypeVar('_Code', types.FunctionType, type)
_EXACT = frozenset((*SIMPLE, bool, type(None), type(Ellipsis), range, slice))


class Seen(NamedTuple):
    """
    What was seen of some values.

    :param text: hexadecimal SHA-256.
    :param foreign: whether code that is not this package's was among them.
    """

    text: str
    foreign: bool


def digest(*values: object) -> str:
    """
    Return a hexadecimal SHA-256 of the values' structure, exact numbers and code.

    :raises UnseenError: for an object whose content cannot be seen.
    """
    return look(*values).text


def look(*values: object) -> Seen:
    """Return the digest of some values, and whether there is a user's code in them."""
    feeder = _Feeder()
    for value in values:
        feeder.feed(value)
    text = hashlib.sha256('\n'.join(feeder.words).encode()).hexdigest()
    return Seen(text, feeder.foreign)


class _Feeder:
    """Turns values into words, each with its kind and length: no two structures look alike."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.foreign = False
        self._numbers: dict[int, int] = {}      # of functions and classes met, by identity
        self._kept: list[object] = []           # so that no identity is used twice
        self._open: list[int] = []              # objects that are being fed: cycles end there
        self._names: frozenset[str] = frozenset()       # that the code at hand uses
        self._plain: dict[type, list[str]] = {}

    def feed(self, value: object) -> None:
        """Add one value."""
        kind = type(value)
        if kind is float:
            self.words.append(value.hex())      # type: ignore[attr-defined]
        elif kind is tuple or kind is list:
            self._items('seq', value)           # type: ignore[arg-type]
        elif kind in self._plain:
            self._fields(value, self._plain[kind])
        elif kind in _EXACT:
            text = repr(value)
            self.words.append(f'{kind.__name__}{len(text)}:{text}')
        elif isinstance(value, np.generic):
            self._items('number', (str(value.dtype), value.tobytes()))
        else:
            self._rare(value)

    def _rare(self, value: object) -> None:
        """Add what may be code, or hold itself."""
        if isinstance(value, types.FunctionType):
            self._once(value, self._function)
        elif isinstance(value, type):
            self._once(value, self._class)
        elif isinstance(value, types.CodeType):
            self._items('code', code_parts(value))
        elif isinstance(value, types.ModuleType):
            self._module(value)
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            self._builtin(value)
        elif isinstance(value, np.ufunc):
            self._ufunc(value)
        elif (inside := wrapped_parts(value)) is not None:
            self._items(type(value).__name__, inside)
        elif id(value) in self._open:
            self.words.append(f'again{len(self._open) - self._open.index(id(value))}')
        else:
            self._open.append(id(value))
            self._kept.append(value)
            self._data(value)
            self._open.pop()

    def _data(self, value: object) -> None:
        """Add a container or an object."""
        kind = type(value)
        if isinstance(value, np.ndarray):
            content = value.tolist() if value.dtype.hasobject else value.tobytes()
            self._items('array', (kind, str(value.dtype), value.shape, content))
            return
        if kind not in (dict, set, frozenset, types.MappingProxyType, bytearray):
            self.feed(kind)
        if isinstance(value, Mapping):
            by = None if all(isinstance(key, str) for key in value) else digest
            self._items('map', [item for key in sorted(value, key=by)
                                for item in (key, value[key])])
        elif isinstance(value, Set):
            self._items('set', sorted(value, key=digest))
        elif isinstance(value, (*SIMPLE, bytearray)):
            text = repr(value)
            self.words.append(f'{kind.__name__}{len(text)}:{text}')
        elif isinstance(value, (tuple, list)):
            self._items('seq', value)
        else:
            self._object(value)
            return
        if own := getattr(value, '__dict__', None):
            self.feed(own)

    def _object(self, value: object) -> None:
        kind = type(value)
        if kind is object:
            raise UnseenError(value, 'a bare object() has no content; use a value that has')
        if all(_is_plain(base) for base in kind.__mro__):
            names = _attributes(value)
            if kind.__module__.partition('.')[0] == 'rbd_ros' and not hasattr(value, '__dict__'):
                self._plain[kind] = names
            self._fields(value, names)
            return
        try:
            parts = value.__reduce_ex__(2)
        except Exception as error:
            raise UnseenError(
                value, f'its content cannot be read ({error}); keep plain values in it') from error
        if isinstance(parts, str):
            raise UnseenError(value, f'it shows only its name, {parts}, and not its content')
        recipe, contents = parts[:3], parts[3:5]        # items of a list, pairs of a mapping
        self._items('made', [*recipe, *(c if c is None else list(c) for c in contents)])

    def _fields(self, value: object, names: list[str]) -> None:
        kind = type(value)
        self.words.append(f'{kind.__module__}.{kind.__qualname__}{len(names)}')
        for name in names:
            self.words.append(name)
            self.feed(getattr(value, name, Ellipsis))

    def _items(self, kind: str, items: Sequence[object]) -> None:
        self.words.append(f'{kind}{len(items)}')
        for item in items:
            self.feed(item)

    # --- code ---------------------------------------------------------------------------------

    def _once(self, value: _Code, feed: Callable[[_Code], None]) -> None:
        """Add a function or class; one that was met before counts by its number."""
        known = self._numbers.get(id(value))
        if known is not None:
            self.words.append(f'met{known}')
            return
        self._numbers[id(value)] = len(self._numbers)
        self._kept.append(value)
        names, self._names = self._names, frozenset()
        feed(value)
        self._names = names

    def _function(self, function: types.FunctionType) -> None:
        scope = function.__globals__
        home = str(scope.get('__name__', ''))
        known = is_known(home)
        cells = [_content(cell) for cell in function.__closure__ or ()]
        # A function of this package is known by name but for what it was made with.
        self._names = frozenset() if known else names_of(function.__code__).every
        self._items('function', (home, function.__qualname__, function.__code__,
                                 function.__defaults__, function.__kwdefaults__, cells,
                                 function.__dict__))
        if not known:
            self.foreign = True
            self._globals(function)

    def _globals(self, function: types.FunctionType) -> None:
        """Add what a user's function finds outside itself."""
        scope, names = function.__globals__, names_of(function.__code__)
        if found := sorted(DYNAMIC.intersection(n for n in names.loaded if n not in scope)):
            raise UnseenError(function, f'it calls {found[0]}(), which may read anything; '
                              'pass what it needs as arguments')
        used = [(name, scope[name]) for name in names.loaded if name in scope]
        for name in names.imported:
            if name not in sys.modules:
                raise UnseenError(function, f'it imports "{name}" when it runs; import it '
                                  'at the top of its module')
            used.append((name, sys.modules[name]))
        self._items('uses', used)

    def _class(self, kind: type) -> None:
        self._items('class', (kind.__module__, kind.__qualname__))
        if is_known(kind.__module__):
            replaced = list(patched(kind)) if kind.__module__.startswith('rbd_ros') else []
            self._items('replaced', replaced)
            if replaced:
                self.foreign = True
            return
        self.foreign = True
        self._items('body', [kind.__bases__, type(kind), *class_parts(kind)])

    def _module(self, module: types.ModuleType) -> None:
        """Add a module by its name, a user's also with what the code at hand takes from it."""
        self._items('module', (module.__name__,))
        if is_known(module.__name__) or id(module) in self._open:
            return
        self.foreign = True
        self._open.append(id(module))
        held = vars(module)
        self._items('takes', [(name, held[name]) for name in sorted(self._names) if name in held])
        self._open.pop()

    def _builtin(self, value: types.BuiltinFunctionType | types.MethodWrapperType) -> None:
        owner = value.__self__
        self._items('builtin', (value.__qualname__, owner.__name__ if isinstance(
            owner, types.ModuleType) else owner))

    def _ufunc(self, value: np.ufunc) -> None:
        if getattr(np, value.__name__, None) is not value:
            raise UnseenError(value, 'this ufunc is not one of NumPy; wrap it in a function')
        self._items('ufunc', (value.__name__,))


def _is_plain(kind: type) -> bool:
    """Return whether all that instances of a class hold can be read from their attributes."""
    return kind is object or (kind.__module__ not in ('builtins', '_random') and (
        not is_known(kind.__module__) or kind.__module__.startswith(('rbd_ros', 'abc', 'typing'))))


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:          # not filled yet
        return Ellipsis


def _attributes(value: object) -> list[str]:
    """Return the names of what an object holds; what this package computes and keeps is not."""
    own = type(value).__module__.startswith('rbd_ros')
    names: dict[str, None] = {}
    if dataclasses.is_dataclass(value):
        names.update((field.name, None) for field in dataclasses.fields(value))
    for kind in reversed(type(value).__mro__):
        for name in _slots(kind):
            if not (name.startswith('_') and kind.__module__.startswith('rbd_ros')):
                names[name] = None
    for name in sorted(getattr(value, '__dict__', ())):
        kept = own and isinstance(getattr(type(value), name, None), cached_property)
        if not kept:
            names[name] = None
    return list(names)


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get('__slots__', ())
    for name in (slots,) if isinstance(slots, str) else slots:
        if name in ('__dict__', '__weakref__'):
            continue
        hidden = name.startswith('__') and not name.endswith('__')
        yield f'_{kind.__name__.lstrip("_")}{name}' if hidden else name
