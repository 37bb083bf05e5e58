# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Bytes in procedures: the same numbers in Python, machine code and C, and nothing outside."""

import struct

from c_functions import COMPILER
from c_procedure import Built
from guarded_bytes import GuardedBytes
import numpy as np
import pytest
from rbd_ros.compiler.language.octets import (
    Bytes, get_f64, get_i64, get_u32, get_u8, put_f64, put_i64, put_u32, put_u8)
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.compiler.source.c_procedures import emit_procedure

SIZE = 24


def read_all(data: Bytes, at: Vector, found: Vector) -> None:
    """Read every kind of number in some places."""
    for k in range(len(at)):
        i = int(at[k])
        found[8 * k] = get_u8(data, i)
        for big in range(2):
            found[8 * k + 1 + big] = get_u32(data, i, big)
            found[8 * k + 3 + big] = get_f64(data, i, big)
        found[8 * k + 5] = get_i64(data, i) & 0xffffffff
        found[8 * k + 6] = 1.0 if get_i64(data, i) < 0 else 0.0
        found[8 * k + 7] = len(data) + (i & 7)


def write_all(data: Bytes, at: Vector, given: Vector) -> None:
    """Write every kind of number in some places."""
    for k in range(len(at)):
        i = int(at[k])
        if k & 3 == 0:
            put_u8(data, i, int(given[k]))
        elif k & 3 == 1:
            put_u32(data, i, int(given[k]), int(given[k]) & 1)
        elif k & 3 == 2:
            put_i64(data, i, int(given[k]) * 4096)
        else:
            put_f64(data, i, given[k], int(given[k]) & 1)


def copy(data: Bytes, at: Vector, found: Vector) -> None:
    """Write what was read, with places that are read themselves."""
    put_u8(data, get_u8(data, int(at[0])) & 15, get_u8(data, int(at[1])))
    found[0] = get_u32(data, get_u8(data, int(at[1])) & 15, 0) - get_u8(data, 3)


PLACES = np.array([*range(-9, SIZE + 10), -1e18, 1e18, -2.0 ** 31, 2.0 ** 32, 2.0 ** 40])


def content(seed):
    """Return any bytes."""
    return np.random.default_rng(seed).integers(0, 256, SIZE, dtype=np.uint8)


def bits(values):
    """Return numbers as integers, all NaN as one."""
    return np.where(np.isnan(values), np.nan, values).view(np.int64)


def test_numbers_are_what_struct_says():
    """Where a number is whole it is read as Python's own module does, elsewhere it is zero."""
    data = content(1)
    found = np.zeros(8 * len(PLACES))
    bind(read_all, data, PLACES, found, backend='python')()
    for k, at in enumerate(PLACES.astype(int).tolist()):
        wanted = []
        for form in ('B', '<I', '>I', '<d', '>d'):
            inside = 0 <= at <= SIZE - struct.calcsize(form)
            wanted.append(struct.unpack_from(form, data, at)[0] if inside else 0)
        number = struct.unpack_from('=q', data, at)[0] if 0 <= at <= SIZE - 8 else 0
        np.testing.assert_array_equal(
            found[8 * k:8 * k + 8], [*wanted, number % 2 ** 32, number < 0, SIZE + at % 8])


@pytest.mark.parametrize('front', [False, True])
@pytest.mark.parametrize('seed', range(4))
def test_machine_code_is_python_and_touches_nothing_outside(seed, front):
    """Both read and write the same; the memory around is forbidden."""
    rng = np.random.default_rng(seed)
    at = np.array([*PLACES, *rng.integers(0, SIZE, 30)], dtype=float)
    given = rng.normal(size=len(at)) * 2.0 ** rng.integers(-3, 40, len(at))
    results = []
    for backend in ('python', 'llvm'):
        guarded, found = GuardedBytes(content(seed), front=front), np.zeros(8 * len(at))
        bind(read_all, guarded.array, at, found, backend=backend)()
        bind(write_all, guarded.array, at, given, backend=backend)()
        bind(copy, guarded.array, at[20:22].copy(), found[:1], backend=backend)()
        results.append((found, guarded.array.copy()))
        guarded.release()
    np.testing.assert_array_equal(bits(results[0][0]), bits(results[1][0]))
    np.testing.assert_array_equal(results[0][1], results[1][1])
    assert (results[0][1] != content(seed)).sum() > 8


@pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')
@pytest.mark.parametrize('entry', [read_all, write_all, copy])
def test_c_is_python(entry):
    """C has the bytes behind the numbers of its memory, and does the same with both."""
    at, given = PLACES.copy(), np.linspace(-1e12, 1e12, 8 * len(PLACES)) + 0.25
    at[:2] = 5.0, 9.0
    data = content(3)
    built = Built(entry, data, at, given)
    built.run()
    bind(entry, data, at, given, backend='python')()
    memory = built.memory.view(np.uint8)
    for place in built.places:
        size = place.numbers.nbytes
        if place.octets:
            np.testing.assert_array_equal(memory[:size], place.numbers)
        else:
            np.testing.assert_array_equal(bits(memory[:size].view(float)), bits(place.numbers))
        memory = memory[size:]


def first_is_no_number(data: Bytes, found: Vector) -> None:
    """Bytes are no array of numbers."""
    found[0] = data[0]


def bits_of_floats(data: Bytes, found: Vector) -> None:
    """Floating-point numbers have no bits here."""
    found[0] = found[0] & 3


def no_bytes(data: Bytes, found: Vector) -> None:
    """Bytes are read from bytes."""
    found[0] = get_u8(found, 0)


@pytest.mark.parametrize('entry, reason', [
    (first_is_no_number, 'it takes an array'), (bits_of_floats, 'bits are those of integers'),
    (no_bytes, 'get_u8 takes a Bytes here')])
def test_what_cannot_be_translated_is_named(entry, reason):
    """The sentence has the line and the reason."""
    with pytest.raises(TypeError, match=reason):
        bind(entry, content(0), np.zeros(1), backend='llvm')


@pytest.mark.parametrize('given', [np.zeros(3), np.zeros((2, 2), np.uint8), content(0)[::2]])
def test_what_are_no_bytes_is_refused(given):
    """Machine code and C take a row of uint8 and nothing else."""
    with pytest.raises(TypeError, match='row of uint8'):
        bind(read_all, given, np.zeros(1), np.zeros(6), backend='llvm')
    with pytest.raises(TypeError, match='row of uint8'):
        emit_procedure(read_all, given, np.zeros(1), np.zeros(6))
