# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A digest of the source of modules: machine code of other sources must not be taken for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
import hashlib
import importlib.resources
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rbd_ros import source_state

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable     # Python 3.11

_CODE = ('.py', '.pyc')
#: bytes of a .pyc file before its code: format, and date or hash of the source
_HEAD = 16


def source_digest(*modules: str) -> str:
    """
    Return a digest of modules and packages by name; entries of other sources do not match.

    It is made from what the interpreter loads: source, or where an installation has none, as in
    an archive, byte code. Both may lie in a folder or in a zip file.

    :param modules: full names; a package stands for all modules inside it, at any depth.
    :raises ImportError: if neither source nor byte code of a module can be read, or what can be
        read is not what was imported.
    """
    total = hashlib.sha256()
    for module in modules:
        for name, data in _contents(module):
            total.update(f'{module} {name} {len(data)}\0'.encode() + data)
    if reason := other_sources():
        raise ImportError(reason)
    return total.hexdigest()


def other_sources() -> str:
    """Return why the files of this package are not the code that runs; '' where they are."""
    files = source_state.changed()
    if not files:
        return ''
    more = f' and {len(files) - 1} more files' if len(files) > 1 else ''
    return f'{files[0]}{more} changed after rbd_ros was imported; restart the process'


@cache
def _contents(module: str) -> list[tuple[str, bytes]]:
    """Return name and content of the files of a module, or of all those inside a package."""
    spec = find_spec(module)
    if spec is not None and spec.submodule_search_locations is not None:
        files = list(_files_inside(importlib.resources.files(module)))
    elif spec is not None:
        package, _, name = module.rpartition('.')
        files = [(file.name, file) for file in importlib.resources.files(package).iterdir()
                 if file.name in (name + '.py', name + '.pyc')]
    else:
        files = []
    found = {name.removesuffix('c'): file for name, file in sorted(files, key=_byte_code_first)}
    if not found:
        raise ImportError(f'neither source nor byte code of {module} can be read')
    return [(name, _code(file)) for name, file in sorted(found.items())]


def _files_inside(folder: Traversable, path: str = '') -> Iterator[tuple[str, Traversable]]:
    """Return the files of code in a folder and in those inside it, with their paths."""
    for entry in folder.iterdir():
        if entry.name.endswith(_CODE):
            yield path + entry.name, entry
        elif entry.name != '__pycache__' and entry.is_dir():
            yield from _files_inside(entry, f'{path}{entry.name}/')


def _byte_code_first(file: tuple[str, Traversable]) -> tuple[bool, str]:
    return file[0].endswith('.py'), file[0]


def _code(file: Traversable) -> bytes:
    """Return the content of a file, of byte code without the date in its head."""
    data = file.read_bytes()
    return data[_HEAD:] if file.name.endswith('.pyc') else data
