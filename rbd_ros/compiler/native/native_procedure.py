# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Procedures as machine code: translated, compiled or taken from the disk, and bound to arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
from functools import cache, partial
import logging
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.fork_lock import ForkLock
from rbd_ros.compiler.kernel import Bound
from rbd_ros.compiler.language.dependencies import dependencies
from rbd_ros.compiler.language.foreign import Foreign
from rbd_ros.compiler.language.signatures import (
    ARRAYS, BYTES, FOREIGN, Function, KERNEL, Kind, Layout, parameters_of)
from rbd_ros.compiler.native import apart, cache as disk, gate, object_layout
from rbd_ros.compiler.native.loader import Code, owned_memory
from rbd_ros.compiler.native.procedure_text import translate
from rbd_ros.compiler.native.target import circumstances, Options, Passes
from rbd_ros.compiler.records import Record
from rbd_ros.compiler.scalar import FLOAT64

#: Lines of LLVM assembly past which passes over loops take longer than they save.
_LONG = 10_000
_lock = ForkLock()
_log = logging.getLogger('rbd_ros')


def _module(function: Function) -> tuple[str, Passes]:
    """Return a function as a module of LLVM, and the passes that pay for themselves."""
    lines = translate(function)
    return ('\n'.join([*gate.table_module(), *lines, '']),
            Passes.FEW if len(lines) > _LONG else Passes.MANY)


@cache
def _key(function: Function, options: Options) -> str:
    """Return under what the machine code of a function is kept, '' for none."""
    known = circumstances(options)
    return disk.digest(['procedure', known, *dependencies(function)]) if known else ''


class Table(np.ndarray):
    """
    The words of a bound procedure: ``self`` of the built-in function that runs it.

    It keeps alive all that they point to.

    :param place: where machine code finds the procedure, see :class:`Bound`.
    """

    place: tuple[int, int]

    def run(self) -> None:
        """Run it where no built-in function can be made."""
        _CALL(self.place[0])(self.place[1])


class FreeProcedure:
    """
    A bound procedure that runs without the lock of the interpreter, as long as it lasts.

    :param table: its words.
    """

    __slots__ = ('_run', '_table')

    def __init__(self, table: Table) -> None:
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(table.place[0])
        self._table = table

    @property
    def place(self) -> tuple[int, int]:
        """Return the addresses of its code and of what that is called with, for other code."""
        return self._table.place

    def __call__(self) -> None:
        """Run it."""
        self._run(self._table.place[1])


def place_of(call: object) -> tuple[int, int] | None:
    """
    Return where machine code finds a bound kernel or procedure, None if it has to ask Python.

    These are the addresses of its code, a function of one word, and of what that is called with.

    :param call: what was bound; it must live as long as the addresses are used.
    """
    if isinstance(call, (Bound, FreeProcedure)):
        return call.place
    table = getattr(call, '__self__', None)
    return table.place if isinstance(table, Table) else None


class CompiledProcedure:
    """
    A function of loops and branches as machine code.

    :param function: see :mod:`rbd_ros.compiler.language.statements`.
    """

    def __init__(self, function: Function) -> None:
        self._name = function.__name__
        options = Options.of(FLOAT64, None)
        entry = disk.kept(_key(function, options), partial(self._made, function, options))
        self._kinds = [each.kind for each in parameters_of(function)]
        self._code = Code(entry.objects)
        self._definition = 0
        if object_layout.verified():
            self._code.write('rbd_table', object_layout.table())
            self._definition = self._code.define(self._name, 'rbd_bound', object_layout.NOARGS)

    @staticmethod
    def _made(function: Function, options: Options) -> disk.Entry:
        text, passes = _module(function)
        return disk.Entry({}, [options.target.emit(text, passes=passes)])

    def bind(self, given: Sequence[object]) -> Callable[[], None]:
        """Return the call of the procedure on these arrays, kernels, records and tuples."""
        found, memory = self._words(given)
        if not found.kept:
            table = self._table(memory)
            return (object_layout.make_function(self._definition, table) if self._definition else
                    table.run)
        # What Python is called may refer to the robot that calls this: the garbage collector sees
        # what a function of Python holds, and not what an array does.
        function = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self._code.address('rbd_procedure'))
        errors = found.errors

        def run() -> None:
            function(ctypes.addressof(memory))
            if errors:
                raise errors.pop()
        return run

    def bind_free(self, given: Sequence[object]) -> FreeProcedure:
        """
        Return the call of the procedure that runs without the lock of the interpreter.

        :raises TypeError: if a kernel is a call of Python, which needs that lock.
        """
        found, memory = self._words(given)
        if found.kept:
            raise TypeError(f'{self._name} cannot run without the lock of the interpreter: a '
                            'kernel that it was given is a call of Python; give it machine code')
        return FreeProcedure(self._table(memory))

    def _words(self, given: Sequence[object]) -> tuple[_Words, ctypes.Array[Any]]:
        """Return the words of all that is given, and the memory that has them."""
        found = _Words(self._name)
        if len(given) != len(self._kinds):
            raise TypeError(f'{self._name} takes {len(self._kinds)} things, not {len(given)}')
        for each, kind in zip(given, self._kinds, strict=True):
            found.add(each, kind)
        kept, values = [self, *given, *found.kept], found.values
        return found, owned_memory(ctypes.c_int64 * len(values), kept, *values)

    def _table(self, memory: ctypes.Array[Any]) -> Table:
        table = Table((len(memory),), np.int64, memory)
        table.place = self._code.address('rbd_run'), ctypes.addressof(memory)
        return table


class _Words:
    """
    The words of what a procedure is bound to.

    :param name: of the procedure.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        #: The words, see :mod:`rbd_ros.compiler.language.signatures`.
        self.values: list[int] = []
        #: Errors of calls of Python.
        self.errors: list[BaseException] = []
        #: What Python has to keep for these calls.
        self.kept: list[object] = []

    def add(self, given: object, kind: Kind) -> None:
        """
        Add the words of one thing.

        :raises TypeError: if it is not of its kind.
        """
        if isinstance(kind, Layout):
            if not isinstance(given, kind.type):
                raise TypeError(f'{self._name} takes a {kind}, not {given!r}')
            if isinstance(given, Record):
                self._add_record(given)
                return
            for name, (_, inner) in kind.members.items():
                self.add(getattr(given, name), inner)
        elif isinstance(given, np.ndarray) and kind == BYTES:
            self.values += self._bytes(given)
        elif isinstance(given, np.ndarray):
            self.values += self._array(given, kind)
        elif kind == KERNEL and (place := place_of(given)) is not None:
            self.values += [*place, 0]
        elif kind == KERNEL and callable(given):
            called = _CALL(partial(_call, given, self.errors))
            self.kept.append(called)
            self.values += [ctypes.cast(called, ctypes.c_void_p).value or 0, 0, 0]
        elif isinstance(given, Foreign) and kind == FOREIGN:
            self.values += [given.address, 0, 0]
        else:
            raise TypeError(f'{self._name} takes a {kind}, not {given!r}')

    def _add_record(self, record: Record) -> None:
        self.values += self._array(record.memory, 'Vector')[:1]
        for each, view in record.views():
            if each.dims:
                self.values += [view.ctypes.data, *view.shape, 1][:3]
        for name in record.groups:
            self._add_record(getattr(record, name))

    def _bytes(self, array: NDArray[np.uint8]) -> list[int]:
        if array.ndim != 1 or array.dtype != np.uint8 or not array.flags.c_contiguous:
            raise TypeError(f'{self._name} takes Bytes as a C-contiguous row of uint8; one is of '
                            f'type {array.dtype} and shape {array.shape}')
        return [array.ctypes.data, array.size, 0]

    def _array(self, array: NDArray[np.float64], kind: str) -> list[int]:
        plain = array.flags.c_contiguous and array.flags.aligned
        if array.ndim != ARRAYS.get(kind) or array.dtype != np.float64 or not plain:
            raise TypeError(f'{self._name} works on C-contiguous float64 arrays; one is of type '
                            f'{array.dtype} and shape {array.shape}, in place of a {kind}')
        return [array.ctypes.data, *array.shape, 1][:3]


#: A call of Python by machine code, or the reverse, that holds the interpreter's lock.
_CALL = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


def _call(kernel: Callable[[], object], errors: list[BaseException], _: int) -> int:
    """Call Python from machine code, which no exception may pass through."""
    try:
        kernel()
    except BaseException as error:      # raised again by the call of the procedure
        errors.append(error)
        return 1
    return 0


@cache
def _compiled(function: Function) -> CompiledProcedure:
    return CompiledProcedure(function)


def compiled(function: Function) -> CompiledProcedure:
    """Return the machine code of a function, made once in a process."""
    with _lock:
        return _compiled(function)


_prepared: set[Function] = set()


def prepare(function: Function) -> None:
    """
    Begin to make the machine code of a function, which ``compiled`` will wait for.

    It is made by another process, and kept on disk. Whatever prevents that is no error: it is made
    when it is needed. Once in a process is enough.
    """
    if function in _prepared:
        return
    _prepared.add(function)
    if disk.folder() is not None and apart.is_worthwhile():
        threading.Thread(target=_make_apart, args=[function], name='rbd_ros compile',
                         daemon=True).start()


def _make_apart(function: Function) -> None:
    with _lock:
        try:
            options = Options.of(FLOAT64, None)
            key = _key(function, options)
            if key and disk.read(key) is None:
                code = apart.emitted(options.target, *_module(function))
                disk.write(key, disk.Entry({}, [code]))
        except Exception as error:
            _log.debug('%s is not compiled apart: %s', function.__name__, error)
