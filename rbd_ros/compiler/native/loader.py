# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Object code in the memory of this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import ctypes
from functools import cache
import gc
import itertools
import sys
from typing import Any, NamedTuple, TYPE_CHECKING
import weakref

import numpy as np

from rbd_ros.compiler.native import object_layout
from rbd_ros.compiler.native.instructions import LIBRARY
from rbd_ros.compiler.native.target import binding, host

if TYPE_CHECKING:
    from llvmlite.binding import ExecutionEngine


@cache
def _register_library() -> None:
    """Show LLVM where the C library's functions are; python may be linked without them."""
    try:
        library = ctypes.CDLL('libm.so.6')
    except OSError:
        library = ctypes.CDLL(None)
    for name in LIBRARY:
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        binding().add_symbol(name, address)


class _Loaded(NamedTuple):
    """
    What must stay as long as anything may run it.

    :param engine: owns the machine code.
    :param definitions: of the built-in functions around it; the interpreter reads one once more
        when it frees its function.
    """

    engine: ExecutionEngine
    definitions: list[ctypes.Structure]


#: What is in use, by number.
engines: dict[int, _Loaded] = {}
_numbers = itertools.count()
#: What is not used any more. It is freed at the end of a garbage collection, or when other code
#: is loaded: objects that die together do so in any order, and one may still look at another.
retired: deque[_Loaded] = deque()


def _retire(number: int) -> None:
    retired.append(engines.pop(number))
    if _after_collection not in gc.callbacks:
        gc.callbacks.append(_after_collection)


def _after_collection(phase: str, _: dict[str, Any]) -> None:
    if phase == 'stop':
        gc.callbacks.remove(_after_collection)
        free_retired()


def free_retired() -> None:
    """Free the machine code that nothing can call any more."""
    while retired and not sys.is_finalizing():
        retired.popleft().engine.close()


def owned_memory(
    kind: type[ctypes.Array[Any]], owner: object, *values: int,
) -> ctypes.Array[Any]:
    """
    Return memory that machine code works on, and that keeps alive what it belongs to.

    A function holds an array of it, the array the memory, and the memory the code.
    """
    memory: Any = type('Memory', (kind,), {})(*values)
    memory.owner = owner
    return memory


class Code:
    """
    Object code loaded into this process; it stays at least as long as this object does.

    :param objects: what ``Target.emit`` gave.
    """

    def __init__(self, objects: Sequence[bytes]) -> None:
        llvm = binding()
        _register_library()
        free_retired()
        # llvmlite chooses the memory manager: its own on aarch64, where sections far apart
        # would be out of reach of each other.
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(''), host().machine(2))
        for data in objects:
            engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        self._number = next(_numbers)
        engines[self._number] = _Loaded(engine, [])
        # An array is no object of the garbage collector: it dies when nothing refers to it any
        # more, after every finaliser that might call the code has run, and not at all if one of
        # them has brought the code back to life. A weak reference to this object would not wait.
        self._life = np.empty(0)
        weakref.finalize(self._life, _retire, self._number).atexit = False

    def address(self, name: str) -> int:
        """Return where a function is."""
        return engines[self._number].engine.get_function_address(name)

    def define(self, name: str, symbol: str, flags: int) -> int:
        """
        Return the address of a method definition, which is kept as long as the code is.

        :param name: name of the built-in function.
        :param symbol: its machine code.
        :param flags: its calling convention.
        """
        definition = object_layout.MethodDef(name.encode(), self.address(symbol), flags, None)
        engines[self._number].definitions.append(definition)
        return ctypes.addressof(definition)

    def write(self, name: str, values: Sequence[int]) -> None:
        """Fill a table of addresses that the code reads."""
        table = (ctypes.c_uint64 * len(values))(*values)
        place = engines[self._number].engine.get_global_value_address(name)
        ctypes.memmove(place, table, ctypes.sizeof(table))
