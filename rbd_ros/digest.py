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

from collections.abc import Mapping, Sequence
import dataclasses
from functools import cache
import hashlib
from pathlib import Path
import types


def digest(*values: object) -> str:
    """
    Return a hexadecimal SHA-256 of the values' structure and exact numbers.

    Understands numbers, strings, sequences, mappings, dataclasses, slotted objects and
    functions (their bytecode, constants, defaults and closure: a user-defined joint).
    """
    state = hashlib.sha256()
    for value in values:
        _feed(state, value)
    return state.hexdigest()


def _feed(state: hashlib._Hash, value: object) -> None:
    """Add one value, with its kind and length, so that no two structures look alike."""
    kind = type(value).__name__
    if isinstance(value, float):
        state.update(b'f' + value.hex().encode())
    elif value is None or isinstance(value, (bool, int, str, bytes)):
        text = repr(value)
        state.update(f'{kind}{len(text)}:{text}'.encode())
    elif isinstance(value, types.FunctionType):
        _feed(state, (value.__qualname__, value.__code__, value.__defaults__,
                      tuple(cell.cell_contents for cell in value.__closure__ or ())))
    elif isinstance(value, types.CodeType):
        _feed(state, (value.co_code, value.co_consts, value.co_names))
    elif isinstance(value, Mapping):
        state.update(f'map{len(value)}'.encode())
        for key in sorted(value):
            _feed(state, key)
            _feed(state, value[key])
    elif isinstance(value, (set, frozenset)):
        _feed(state, sorted(value))
    elif isinstance(value, Sequence):
        state.update(f'seq{len(value)}'.encode())
        for item in value:
            _feed(state, item)
    else:
        state.update(f'{type(value).__module__}.{type(value).__qualname__}'.encode())
        for name in _attributes(value):
            _feed(state, name)
            _feed(state, getattr(value, name))


def _attributes(value: object) -> list[str]:
    """Return the names of what an object holds; private slots are caches and do not count."""
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    slots = [name for kind in reversed(type(value).__mro__)
             for name in getattr(kind, '__slots__', ()) if not name.startswith('_')]
    held = slots or sorted(getattr(value, '__dict__', ()))
    if not held:
        raise TypeError(f'cannot make a digest of {value!r}')
    return held


@cache
def source_digest() -> str:
    """Return a digest of the source that algorithms are traced from."""
    package = Path(__file__).parent
    files = [file for folder in (package, package / 'joints', package / 'spatial')
             for file in sorted(folder.glob('*.py'))]
    return digest([(file.name, file.read_bytes()) for file in files])
