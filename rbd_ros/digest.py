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

"""A digest of nested plain data that is the same in every process, for cache keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import dataclasses
from functools import cache
import hashlib
from pathlib import Path
import types

SIMPLE = (float, int, str, bytes, complex)


def digest(*values: object) -> str:
    """
    Return a hexadecimal SHA-256 of the values' structure and exact numbers.

    Understands numbers, strings, sequences, mappings, dataclasses, slotted objects and
    functions: those of a user-defined joint count with their code, defaults, closure and the
    global values they use, so that editing any of them changes the digest.

    :raises TypeError: for an object whose content cannot be seen.
    """
    feeder = _Feeder()
    for value in values:
        feeder.feed(value)
    return hashlib.sha256('\n'.join(feeder.words).encode()).hexdigest()


class _Feeder:
    """Turns values into words, each with its kind and length: no two structures look alike."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.functions: dict[int, int] = {}
        self.attributes: dict[type, list[str]] = {}

    def feed(self, value: object) -> None:
        """Add one value."""
        kind = type(value)
        if isinstance(value, float) and kind is float:
            self.words.append(value.hex())
        elif isinstance(value, (tuple, list)):
            self._items('seq', value)
        elif kind in self.attributes:
            self._object(value, self.attributes[kind])
        elif value is None or value is Ellipsis or isinstance(value, SIMPLE):
            text = repr(value)
            self.words.append(f'{kind.__name__}{len(text)}:{text}')
        else:
            self._rare(value)

    def _rare(self, value: object) -> None:
        """Add what is not met often."""
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.MethodType):
            self._items('method', (value.__func__, value.__self__))
        elif isinstance(value, types.CodeType):
            self._items('code', (value.co_code, value.co_consts, value.co_names))
        elif isinstance(value, types.ModuleType):
            self._items('module', (value.__name__,))
        elif isinstance(value, (type, types.BuiltinFunctionType)):
            self._items('name', (value.__module__, value.__qualname__))
        elif isinstance(value, Mapping):
            self._items('map', [item for key in sorted(value) for item in (key, value[key])])
        elif isinstance(value, (set, frozenset)):
            self._items('set', sorted(value, key=repr))
        elif isinstance(value, Sequence):
            self._items('seq', value)
        elif dataclasses.is_dataclass(value) or not hasattr(value, '__dict__'):
            self._object(value, self.attributes.setdefault(type(value), _attributes(value)))
        else:
            self._object(value, _attributes(value))

    def _object(self, value: object, names: list[str]) -> None:
        kind = type(value)
        self.words.append(f'{kind.__module__}.{kind.__qualname__}{len(names)}')
        for name in names:
            self.feed(getattr(value, name))

    def _items(self, kind: str, items: Sequence[object]) -> None:
        self.words.append(f'{kind}{len(items)}')
        for item in items:
            self.feed(item)

    def _function(self, function: types.FunctionType) -> None:
        """Add a function with all it uses; one that was met before counts by its number."""
        known = self.functions.get(id(function))
        self._items('function', (known,) if known is not None else (function.__qualname__,))
        if known is not None:
            return
        self.functions[id(function)] = len(self.functions)
        scope = function.__globals__
        used = {name: scope[name] for name in _names(function.__code__) if name in scope}
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        for part in (function.__code__, function.__defaults__, function.__kwdefaults__, cells,
                     used):
            self.feed(part)


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the global names that a function and those inside it use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _attributes(value: object) -> list[str]:
    """Return the names of what an object holds; private slots are caches and do not count."""
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    slots = [name for kind in reversed(type(value).__mro__)
             for name in getattr(kind, '__slots__', ()) if not name.startswith('_')]
    held = slots + sorted(getattr(value, '__dict__', ()))
    if not held:
        raise TypeError(f'cannot make a digest of {value!r}: what it holds cannot be seen')
    return held


@cache
def source_digest() -> str:
    """Return a digest of the source that algorithms are traced from."""
    package = Path(__file__).parent
    files = [file for folder in (package, package / 'joints', package / 'spatial')
             for file in sorted(folder.glob('*.py'))]
    return digest([(file.name, file.read_bytes()) for file in files])
