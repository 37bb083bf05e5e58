# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Words that threads share, for Python: compiled functions of their addresses."""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from functools import cache
from typing import NamedTuple

from rbd_ros.compiler.fork_lock import ForkLock
from rbd_ros.compiler.native import cache as disk
from rbd_ros.compiler.native.loader import Code
from rbd_ros.compiler.native.octet_text import octet_functions, octet_symbol
from rbd_ros.compiler.native.target import circumstances, Options, pointer
from rbd_ros.compiler.scalar import FLOAT64

_lock = ForkLock()
#: What the functions are called with.
Word = ctypes.c_int64


class SharedAccess(NamedTuple):
    """
    Functions of the address of a word, see :mod:`rbd_ros.compiler.language.shared`.

    :param code: what has them.
    """

    load: Callable[[Word], int]
    store: Callable[[Word, Word], None]
    add: Callable[[Word, Word], int]
    code: Code


def _text() -> str:
    """Return the module: the functions of procedures, for one word each."""
    byte, lines = pointer('i8'), octet_functions()
    for name, result, more in (('load_acquire', 'i64', ''), ('store_release', 'void', ', i64 %v'),
                               ('add_acq_rel', 'i64', ', i64 %v')):
        call = (f'call {result} {octet_symbol(name)}({byte} %data, i64 8, i64 0'
                f'{more})')
        lines += [f'define {result} @rbd_{name}(i64 %address{more}) nounwind {{',
                  f'%data = inttoptr i64 %address to {byte}',
                  *([call, 'ret void'] if result == 'void' else
                    [f'%found = {call}', 'ret i64 %found']), '}']
    return '\n'.join([*lines, ''])


@cache
def _made() -> SharedAccess:
    options = Options.of(FLOAT64, None)
    known = circumstances(options)
    entry = disk.kept(disk.digest(['shared words', known]) if known else '',
                      lambda: disk.Entry({}, [options.target.emit(_text())]))
    code = Code(entry.objects)
    # With the lock of the interpreter, and of no stated arguments: to let go of the one and to
    # convert the others takes longer than all else.
    return SharedAccess(
        ctypes.PYFUNCTYPE(Word)(code.address('rbd_load_acquire')),
        ctypes.PYFUNCTYPE(None)(code.address('rbd_store_release')),
        ctypes.PYFUNCTYPE(Word)(code.address('rbd_add_acq_rel')), code)


def shared_access() -> SharedAccess:
    """Return the functions, made once in a process."""
    with _lock:
        return _made()
