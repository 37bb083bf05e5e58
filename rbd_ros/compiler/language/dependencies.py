# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
All that the translation of a function depends on, found without translating it.

To read the source of a controller takes half a second, at every start. What it would be read from
is found in a hundredth: byte code names all that a function refers to. Whatever the reader looks
at is in here; so is some that it does not need, such as other functions of the same files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
import inspect
from types import FunctionType, ModuleType

from rbd_ros.compiler.language.signatures import (
    check_unchanged, Function, Layout, layout_of, owner_of, source_of)

__all__ = ['dependencies']


def dependencies(entry: Function) -> list[str]:
    """
    Return what decides the translation of a function and of all that it calls.

    These are the text of their files and the byte code that was made of it, the numbers of modules
    and enumerations that they refer to, and where records keep theirs.

    :raises OSError: if a source cannot be read, or is not what was imported.
    """
    functions: dict[Function, str] = {}
    layouts: dict[type, str] = {}
    files: dict[str, str] = {}
    todo = [entry]
    while todo:
        function = todo.pop()
        if function in functions:
            continue
        used = list(_used_by(function))
        numbers = [f'{path} {value!r}' for path, value in used if isinstance(value, (int, float))]
        functions[function] = ' '.join([_of_code(function), *numbers])
        todo += [value for _, value in used if isinstance(value, FunctionType)]
        for kind in _classes(function):
            _add_layouts(kind, layouts)
            methods = _methods(kind)
            todo += [each for name in function.__code__.co_names for each in methods.get(name, ())]
        if function.__code__.co_filename not in files:
            files[function.__code__.co_filename] = source_of(function)
    check_unchanged(functions)
    return [*files.values(), *functions.values(), *layouts.values()]


def _of_code(function: Function) -> str:
    """Return what tells a function from another one, or from what its file says now."""
    code = function.__code__
    constants = [each for each in code.co_consts if not inspect.iscode(each)]
    return (f'{function.__module__}.{function.__qualname__} {code.co_firstlineno} '
            f'{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames} '
            f'{function.__defaults__}')


def _used_by(function: Function) -> Iterator[tuple[str, object]]:
    """Yield what the names in the byte code of a function may stand for."""
    names, known = function.__code__.co_names, function.__globals__
    todo = [(name, known[name]) for name in names if name in known]
    seen = set()
    for path, value in todo:        # which grows
        yield path, value
        if isinstance(value, (ModuleType, type)) and id(value) not in seen:
            seen.add(id(value))
            # Byte code does not say which attribute is whose: each may be of each.
            todo += [(f'{path}.{name}', getattr(value, name)) for name in names
                     if hasattr(value, name)]


def _classes(function: Function) -> Iterator[type]:
    """Yield the classes of the parameters of a function."""
    owner = owner_of(function)
    if owner is not None:
        yield owner
    for text in function.__annotations__.values():
        found = text
        if isinstance(text, str):
            first, *rest = text.split('.')
            found = function.__globals__.get(first)
            for name in rest:
                found = getattr(found, name, None)
        if isinstance(found, type):
            yield found


@cache
def _methods(kind: type) -> dict[str, list[FunctionType]]:
    """Return the methods of a class, and of the records inside it, by their names."""
    layout = layout_of(kind)
    found: dict[str, list[FunctionType]] = {}
    if layout is None:
        return found
    for name, each in vars(kind).items():
        if isinstance(each, FunctionType) and not name.startswith('__'):
            found.setdefault(name, []).append(each)
    for _, inner in layout.members.values():
        for name, methods in _methods(inner.type).items() if isinstance(inner, Layout) else ():
            found.setdefault(name, []).extend(methods)
    return found


def _add_layouts(kind: type, layouts: dict[type, str]) -> None:
    """Add where a record or a named tuple has its numbers, and those inside it."""
    layout = layout_of(kind)
    if layout is None or kind in layouts:
        return
    members = {name: (at, inner if isinstance(inner, str) else _name(inner.type))
               for name, (at, inner) in layout.members.items()}
    said = [(each.name, each.dims, each.initial, each.kind)
            for each in getattr(kind, 'fields', ())]
    layouts[kind] = f'{_name(kind)} {layout.numbers} {members} {said}'
    for _, inner in layout.members.values():
        if isinstance(inner, Layout):
            _add_layouts(inner.type, layouts)


def _name(kind: type) -> str:
    return f'{kind.__module__}.{kind.__qualname__}'
