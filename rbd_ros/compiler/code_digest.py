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

"""What code consists of: the parts of functions, classes and modules that decide what they do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import dis
from functools import cache, cached_property, partial, partialmethod
from pathlib import Path
import sys
import sysconfig
import types
from typing import NamedTuple

#: Packages whose code is known by the name: their versions are part of every key.
KNOWN = ('rbd_ros', 'numpy', 'scipy')
#: Built-in functions whose effect the names in the code do not show.
DYNAMIC = frozenset(('__import__', 'compile', 'delattr', 'eval', 'exec', 'getattr', 'globals',
                     'input', 'locals', 'open', 'setattr', 'vars'))
#: What a class holds besides what its author wrote.
_MADE = frozenset((
    '__abstractmethods__', '__annotations__', '__dataclass_fields__', '__dataclass_params__',
    '__dict__', '__doc__', '__firstlineno__', '__match_args__', '__module__', '__orig_bases__',
    '__parameters__', '__qualname__', '__static_attributes__', '__weakref__', '_abc_impl'))
_LOADS = frozenset(('LOAD_GLOBAL', 'LOAD_NAME'))
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType,
                types.WrapperDescriptorType, types.MethodDescriptorType,
                types.ClassMethodDescriptorType)


class Names(NamedTuple):
    """
    The names that a piece of code uses.

    :param loaded: global variables.
    :param imported: modules that it imports when it runs.
    :param every: these and the names of attributes.
    """

    loaded: tuple[str, ...]
    imported: tuple[str, ...]
    every: frozenset[str]


def names_of(code: types.CodeType) -> Names:
    """Return the names that a piece of code and those inside it use, in the order of use."""
    loaded: dict[str, None] = {}
    imported: dict[str, None] = {}
    every: set[str] = set()
    for part in _parts(code):
        every.update(part.co_names)
        for instruction in dis.get_instructions(part):
            if instruction.opname in _LOADS:
                loaded[instruction.argval] = None
            elif instruction.opname == 'IMPORT_NAME':
                imported[instruction.argval] = None
    return Names(tuple(loaded), tuple(imported), frozenset(every))


def _parts(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _parts(constant)


def code_parts(code: types.CodeType) -> tuple[object, ...]:
    """Return what a piece of code does; where it stands in its file does not count."""
    return (code.co_code, code.co_consts, code.co_names, code.co_freevars, code.co_argcount,
            code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags,
            getattr(code, 'co_exceptiontable', b''))    # Python 3.10 has it in its co_code


def class_parts(kind: type) -> list[tuple[str, object]]:
    """Return what the author of a class wrote into it, by name."""
    return [(name, value) for name, value in sorted(vars(kind).items())
            if name not in _MADE and not isinstance(value, _DESCRIPTORS)]


def wrapped_parts(value: object) -> tuple[object, ...] | None:
    """Return what is inside a wrapper of functions, None for anything else."""
    if isinstance(value, partial):
        return value.func, value.args, value.keywords
    if isinstance(value, partialmethod):
        return value.func, value.args, value.keywords
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, cached_property):
        return (value.func,)
    if isinstance(value, (staticmethod, classmethod)):
        return (value.__func__,)
    if isinstance(value, types.MethodType):
        return value.__func__, value.__self__
    inner = getattr(type(value), '__module__', '') == 'functools'
    if inner and hasattr(value, '__wrapped__'):     # what functools.cache makes
        return (value.__wrapped__,)
    return None


def is_known(scope: str) -> bool:
    """
    Return whether code is known by its name, so that it need not be looked at.

    :param scope: name of the module, as the code itself sees it.
    """
    top = scope.partition('.')[0]
    return top in KNOWN or _is_standard(top)


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


def patched(kind: type) -> Iterator[tuple[str, object]]:
    """Yield the functions of a known class that come from elsewhere: somebody replaced them."""
    for name, value in sorted(vars(kind).items()):
        for function in _functions(value):
            scope = str(function.__globals__.get('__name__', ''))
            if not is_known(scope) and not scope.startswith('namedtuple_'):
                yield name, function


def _functions(value: object) -> Iterable[types.FunctionType]:
    if isinstance(value, types.FunctionType):
        return (value,)
    return [part for part in wrapped_parts(value) or () if isinstance(part, types.FunctionType)]
