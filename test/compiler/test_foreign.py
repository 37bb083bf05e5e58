# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Functions of C in procedures, and procedures that run without the interpreter's lock."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import time
from types import BuiltinFunctionType
from typing import NamedTuple
import weakref

import numpy as np
import pytest
from rbd_ros.compiler.language.octets import get_i64, put_i64
from rbd_ros.compiler.language.shared import load_acquire, store_release
from rbd_ros.compiler.native import object_layout
from rbd_ros.compiler.native.native_procedure import CompiledProcedure, place_of
from rbd_ros.compiler.native.procedure_text import translate
from rbd_ros.compiler.procedure import bind, bind_free, Bytes, Foreign, Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.compiler.shared_words import Words
from rbd_ros.compiler.source.c_procedures import emit_procedure

LIBC = ctypes.CDLL(None)
CLOCK = time.CLOCK_MONOTONIC


class Io(NamedTuple):
    """What a loop on C libraries has."""

    memcpy: Foreign
    write: Foreign
    read: Foreign
    clock: Foreign
    post: Foreign
    value: Foreign
    pid: Foreign
    close: Foreign
    handles: Bytes
    buffer: Bytes


class Numbers(Record):
    """Some numbers in one row."""

    first: float = field('', '', 'one', 1.5)
    row: Vector = field('3', '', 'some', 2.5)


def io() -> Io:
    """Return functions of the C library."""
    names = ('memcpy', 'write', 'read', 'clock_gettime', 'sem_post', 'sem_getvalue', 'getpid',
             'close')
    return Io(*[Foreign.of(getattr(LIBC, name)) for name in names],
              np.zeros(64, np.uint8), np.zeros(64, np.uint8))


def use_c(io: Io, from_: Matrix, to: Vector, record: Numbers, found: Vector) -> None:
    """Call what a loop needs: files, clocks, semaphores, copies."""
    event, one = get_i64(io.handles, 0), get_i64(io.handles, 8)
    io.memcpy(to, from_, 8 * len(to))
    io.memcpy(found, record, 32)
    put_i64(io.buffer, 0, 3)
    found[4] = io.write(event, io.buffer, 8)
    io.write(event, io.buffer, 4 * one + 4 * one)
    put_i64(io.buffer, 0, 0)
    found[5] = io.read(event, io.buffer, 8) + get_i64(io.buffer, 0)
    found[6] = io.read(event, io.buffer, 8)             # would block: -1
    found[7] = io.clock(CLOCK, io.buffer)
    found[8] = get_i64(io.buffer, 0) + get_i64(io.buffer, 8) * 1e-9
    found[9] = one if io.clock(-9, io.buffer) < 0 else -one
    io.post(get_i64(io.handles, 16))
    found[10] = io.value(get_i64(io.handles, 16), io.buffer)
    found[11] = get_i64(io.buffer, 0) & 255
    found[12] = io.pid()
    found[13] = io.close(-1)


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_functions_of_c(backend):
    """Each gets its arguments, and what it returns has its sign."""
    own, semaphore = io(), ctypes.create_string_buffer(64)
    assert LIBC.sem_init(semaphore, 0, 4) == 0
    event = os.eventfd(0, os.EFD_NONBLOCK)
    own.handles.view(np.int64)[:3] = event, 1, ctypes.addressof(semaphore)
    A, y, found = np.arange(6.0).reshape(2, 3), np.zeros(6), np.zeros(14)
    before = time.monotonic()
    bind(use_c, own, A, y, Numbers({}), found, backend=backend)()
    after = time.monotonic()
    os.close(event)
    assert y.tolist() == A.ravel().tolist()
    assert found[:4].tolist() == [1.5, 2.5, 2.5, 2.5]
    assert found[4:8].tolist() == [8.0, 8.0 + 6.0, -1.0, 0.0]
    assert before - 1e-6 <= found[8] <= after + 1e-6
    assert found[9:].tolist() == [1.0, 0.0, 5.0, os.getpid(), -1.0]


def many_arguments(f: Foreign, found: Vector) -> None:
    """Pass more words than a processor has registers for them, whole and with their signs."""
    found[0] = f(1, -2, 3, -4, 5, -6, 7, -8, 9, -1000000000000, len(found))


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_words_are_whole(backend):
    """All eleven arrive, and a result of 32 bits keeps its sign."""
    seen = []

    @ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * 11)
    def taken(*given):
        seen.append(given)
        return -2 ** 31
    found = np.zeros(2)
    bind(many_arguments, Foreign.of(taken), found, backend=backend)()
    assert seen == [(1, -2, 3, -4, 5, -6, 7, -8, 9, -10 ** 12, 2)] and found[0] == -2.0 ** 31


# --- refusals ---------------------------------------------------------------------------------


def gives_float(f: Foreign, x: Vector) -> None:
    """Give C a floating-point number."""
    f(x[0])


def gives_tuple(f: Foreign, io: Io) -> None:
    """Give C a named tuple, which has no memory of its own."""
    f(io)


def gives_kernel(f: Foreign, run: Kernel) -> None:
    """Give C a kernel."""
    f(run)


def gives_truth(f: Foreign, x: Vector) -> None:
    """Give C a truth."""
    f(x[0] > 1.0)


def calls_with_names(f: Foreign, x: Vector) -> None:
    """Give C a name."""
    f(handle=x)


def reads_function(f: Foreign, x: Vector) -> None:
    """Take a function for a number."""
    x[0] = f


def kernel_with_arguments(run: Kernel, x: Vector) -> None:
    """Give a kernel something."""
    run(x)


@pytest.mark.parametrize(('function', 'reason'), [
    (gives_float, r'`x\[0\]` cannot be translated: C is given integers.*this is a float'),
    (gives_tuple, '`io` cannot be translated: C is given integers.*this is a Io'),
    (gives_kernel, '`run` cannot be translated: C is given integers.*this is a Kernel'),
    (gives_truth, 'C is given integers.*this is a bool'),
    (calls_with_names, 'arguments have no names here'),
    (reads_function, 'it is a Foreign, not a number'),
    (kernel_with_arguments, 'a kernel is called without arguments')])
def test_what_cannot_be_translated_is_refused(function, reason):
    """With the line and the reason."""
    line = function.__code__.co_firstlineno + 2
    with pytest.raises(TypeError, match=f'^{__name__}, line {line}: .*{reason}'):
        translate(function)


def test_what_is_no_function_of_c_is_refused():
    """At the latest where it is bound."""
    with pytest.raises(TypeError, match='many_arguments takes a Foreign, not 3'):
        bind(many_arguments, 3, np.zeros(1), backend='llvm')
    with pytest.raises(TypeError, match='many_arguments takes a Foreign, not <'):
        bind(many_arguments, lambda: 0, np.zeros(1), backend='llvm')
    for address in (0, -1, 2 ** 64, 1.5):
        with pytest.raises(ValueError, match='has an address'):
            Foreign(address)
    with pytest.raises(TypeError, match='C takes integers, bytes, arrays and records, not 1.5'):
        Foreign.of(LIBC.getpid)(1.5)
    with pytest.raises(TypeError, match='f must be a Foreign: C99 is written for no library'):
        emit_procedure(many_arguments, Foreign.of(LIBC.getpid), np.zeros(1))


# --- procedures as kernels --------------------------------------------------------------------


def count(x: Vector) -> None:
    """Count."""
    x[0] += 1.0


def call_twice(run: Kernel, x: Vector) -> None:
    """Call what counts."""
    x[0] = run() + run()


def call_deeper(run: Kernel, x: Vector) -> None:
    """Call what calls."""
    run()
    x[0] += 10.0


def bind_slowly(function, *given, backend):
    """Bind where no built-in function can be made."""
    assert backend == 'llvm'
    return CompiledProcedure(function).bind(given)


@pytest.mark.parametrize(('backend', 'fast'), [('python', True), ('llvm', True), ('llvm', False)])
def test_a_bound_procedure_is_a_kernel(backend, fast, monkeypatch):
    """Machine code calls it without asking Python, and keeps it alive."""
    if not fast:
        monkeypatch.setattr(object_layout, 'verified', lambda: False)
    own = bind if fast else bind_slowly
    x, y, z = np.zeros(1), np.ones(1), np.zeros(1)
    inner = own(count, x, backend=backend)
    middle = own(call_twice, inner, y, backend=backend)
    outer = own(call_deeper, middle, z, backend=backend)
    if backend == 'llvm':
        assert isinstance(inner, BuiltinFunctionType) == fast
        assert all(place_of(each) is not None for each in (inner, middle, outer))
        calls = [place_of(inner), place_of(middle)]
        table = np.ctypeslib.as_array((ctypes.c_int64 * 2).from_address(place_of(outer)[1]))
        assert tuple(table) == calls[1]
    del inner, middle
    gc.collect()
    for _ in range(3):
        outer()
    assert (x[0], y[0], z[0]) == (6.0, 0.0, 30.0)


def test_what_python_does_has_no_place():
    """Neither a function of Python, nor a procedure that calls one."""
    calls = []
    middle = bind(call_twice, lambda: calls.append(1), np.zeros(1), backend='llvm')
    assert place_of(middle) is None and place_of(lambda: 0) is None and place_of([].append) is None
    z = np.zeros(1)
    bind(call_deeper, middle, z, backend='llvm')()
    assert len(calls) == 2 and z[0] == 10.0
    for given in (middle, lambda: 0):
        with pytest.raises(TypeError, match='call_deeper cannot run without the lock.*Python'):
            bind_free(call_deeper, given, z)


def test_what_a_bound_procedure_works_on_is_freed_with_it():
    """The chain of procedures keeps arrays as long as it lives, and not longer."""
    x = np.zeros(1)
    gone = weakref.ref(x)
    outer = bind_free(call_twice, bind(count, x, backend='llvm'), np.zeros(1))
    del x
    gc.collect()
    assert gone() is not None
    outer()
    assert gone()[0] == 2.0
    del outer
    gc.collect()
    assert gone() is None


# --- without the lock -------------------------------------------------------------------------


def spin(words: Bytes, run: Kernel, pause: Foreign) -> None:
    """Count until told to stop, or for some ten seconds if nobody can tell."""
    left = 20000000
    while load_acquire(words, 0) == 0 and left > 0:
        left -= 1
        run()
        store_release(words, 64, load_acquire(words, 64) + 1)
        pause()


def test_goes_on_while_another_thread_holds_the_lock():
    """The main thread is in a call of C that keeps the interpreter's lock."""
    words, x = Words(16), np.zeros(1)
    loop = bind_free(spin, words.memory, bind(count, x, backend='llvm'),
                     Foreign.of(LIBC.sched_yield))
    assert loop.place is not None
    thread = threading.Thread(target=loop)
    thread.start()
    try:
        _wait_for(words, 1)
        held = ctypes.PyDLL(None).usleep
        seen = 0
        for _ in range(100):        # a busy machine may not let the other thread run at once
            before = words.load(8)
            held(20000)
            # between the end of that call and this one nothing gives the lock away
            seen = words.load(8) - before
            if seen > 3:
                break
        assert seen > 3
    finally:
        words.store(0, 1)
        thread.join(60.0)
    assert not thread.is_alive() and x[0] == words.load(8)


def _wait_for(words, count):
    for _ in range(6000):
        if words.load(8) >= count:
            return words.load(8)
        time.sleep(0.01)
    raise AssertionError('the procedure does not run')


def test_its_place_starts_a_thread_of_c():
    """Code and word are what pthread_create takes."""
    x = np.zeros(1)
    run = bind_free(count, x)
    thread = ctypes.c_ulong()
    code, word = run.place
    assert LIBC.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(code),
                               ctypes.c_void_p(word)) == 0
    assert LIBC.pthread_join(thread, None) == 0
    assert x[0] == 1.0


def test_without_llvmlite_nothing_runs_free(monkeypatch):
    """And it is said why."""
    monkeypatch.setattr('rbd_ros.compiler.procedure.has_llvm', lambda: False)
    with pytest.raises(OSError, match='count cannot run without.*llvmlite'):
        bind_free(count, np.zeros(1))
