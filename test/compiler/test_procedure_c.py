# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Procedures as C99: the same numbers as Python's, in structs that say what they are."""

from __future__ import annotations

import math
import re
import subprocess
from typing import NamedTuple

from c_functions import COMPILER
from c_procedure import Built
import numpy as np
import pytest
from random_procedures import (
    bits, filled, halved, Kit, kit_of, Limiter, SIZES, State, written)
from rbd_ros.compiler import compile as compile_graph, trace
from rbd_ros.compiler.procedure import bind, Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.compiler.source.c_procedures import emit_procedure
from rbd_ros.control.interface.events import accuse, Kind, NOBODY, Result, tell

needs_compiler = pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')
HALVED = trace(halved, {'x': 1})


@needs_compiler
@pytest.mark.parametrize('seed', range(5))
def test_random_procedures_to_the_last_bit(seed, tmp_path):
    """C leaves the same numbers as Python and machine code, whatever it is given."""
    entry = written(tmp_path, seed).entry
    x, own, v = filled(np.random.default_rng(seed))
    kit = kit_of(compile_graph(HALVED, backend='python'), own)
    # by chance a number is compared with itself, or a constant with another one
    built = Built(entry, x, kit, v, kernels={kit.run: HALVED},
                  flags=['-Wno-tautological-compare'])
    np.testing.assert_array_equal(bits(built.memory), bits(built.now()))
    for trial in range(8):
        start = filled(np.random.default_rng([seed, trial]))
        x.memory[:], own.memory[:], v[:] = start[0].memory, start[1].memory, start[2]
        built.memory[:] = built.now()
        built.run()
        bind(entry, x, kit, v, backend='python')()
        np.testing.assert_array_equal(bits(built.memory), bits(built.now()))


# --- order of evaluation ----------------------------------------------------------------------


def bump(x: State) -> float:
    """Change what others read."""
    x.a += 1.0
    return x.a


def index(x: State) -> int:
    """Change what others read, and return an index."""
    return int(bump(x))


def add(a: float, b: float) -> float:
    """Return something that depends on the order."""
    return a - 2.0 * b


def above(x: State, least: float) -> bool:
    """Return whether the next number is above another."""
    return bump(x) > least


def order(x: State, y: Vector) -> None:
    """Read and change a number in one expression, in every way."""
    y[0] = x.a + bump(x)
    y[1] = bump(x) + x.a * bump(x)
    y[2] = add(bump(x), bump(x))
    y[3] = add(add(x.a, bump(x)), bump(x))
    y[4] = max(x.a, bump(x)) - min(bump(x), x.a)
    y[5] = 1.0 if x.a < bump(x) < bump(x) and not bump(x) < x.a else bump(x)
    y[6] = 1.0 if above(x, 100.0) and above(x, 0.0) or x.a + bump(x) > 3.0 else 0.0
    x.a = 6.0
    y[index(x)] = x.a                   # the value comes first
    x.a = -1.0
    x.load[index(x)], x.load[0] = bump(x) - 5.0, bump(x) + x.load[index(x)]
    x.a = 0.0
    x.m[index(x), index(x) - 1] = bump(x)
    while bump(x) + x.a < 40.0:
        if x.a > 15.0 and bump(x) > x.a:
            break
        y[8] += 1.0
    for k in range(int(bump(x)) - 18, index(x) - 14):
        y[9] += k + x.a
    if x.a > 1000.0:
        y[10] = 1.0
    elif x.a + bump(x) > bump(x):
        y[10] = -(bump(x) - float(index(x)) * x.a)
    y[11] = 1.0 if 0.0 < bump(x) < 1e9 else 0.0
    bump(x)
    add(x.a, bump(x))


def left_open(source):
    """Yield the lines of C in which a call and another call, or a read number, have no order."""
    head = 'static void proc_order_(proc_State *x, double *y, int64_t y_rows)\n{'
    for line in source.partition(head)[2].partition('\n}')[0].splitlines():
        calls = re.findall(r'proc_(?:bump|index|add|above)\(', line)
        read = line.partition(' = ')[2] if line.endswith(';') and ' = ' in line else line
        if len(calls) > 1 or (calls and re.search(r'x->|y\[', read)):
            yield line


@needs_compiler
def test_operands_are_found_in_the_order_of_python():
    """Where C would leave it open."""
    x, y = State(SIZES), np.zeros(12)
    built = Built(order, x, y)
    bind(order, x, y, backend='python')()
    np.testing.assert_array_equal(built.now(), [*x.memory, *y])
    machine = State(SIZES), np.zeros(12)
    bind(order, *machine, backend='llvm')()
    built.run()
    np.testing.assert_array_equal(built.memory, built.now())
    np.testing.assert_array_equal([*machine[0].memory, *machine[1]], built.now())
    # a compiler may take any order: no statement may leave it one
    assert list(left_open(built.files['proc.c'])) == []
    assert y[7] == 6.0 and x.load[3] == -5.0 and x.m[2, 2] == 1.0
    assert y[8] > 0.0 and y[9] != 0.0 and y[10] != 0.0


# --- what things are called, and where they are -----------------------------------------------


class Empty(Record):
    """A record that has arrays without elements on this robot."""

    own: float = field('', 'N.m', 'what it has */ and more')
    none: Vector = field('z', '', 'nothing')
    grid: Matrix = field('z 3', '', 'nothing')
    sin: float = field('', '', 'named as a function')
    gamma: Vector = field('2', '', 'named as one too', -0.0)


class Whole(Record):
    """Two records of one class."""

    first: Limiter = group(Limiter)
    second: Limiter = group(Limiter)


class Deep(NamedTuple):
    """A tuple in a tuple."""

    kit: Kit
    short: Limiter
    auto: Matrix


def named(e: Empty, w: Whole, d: Deep, sin: Vector, run: Kernel) -> None:
    """Use names that C has."""
    floor, int64_t, register = 1.5, 2, 0.0
    for memory in range(len(e.none)):
        register += e.none[memory] + e.grid[memory, 0]
    register += total(e.none) + total(w.second.last) + rows(e.grid) + rows(d.auto)
    for t in range(len(sin)):
        sin[t] = math.floor(floor * t) + math.sin(e.sin)
    for _ in range(int64_t):
        w.first.gain += 1.0
    d.kit.given[0] = 8.0
    if d.kit.run() == 0:
        e.own = d.kit.taken[0] + register
    run()
    d.short.double = d.auto[1, 2] + d.kit.inner.gain
    d.auto[1, 1] = math.copysign(1.0, min(0.0 * floor, -0.0)) + math.copysign(
        2.0, max(-0.0, 0.0 * floor))
    d.auto[1, 0] = -9000000000 + e.gamma[1]
    unused(e, 1.0, d)


def total(values: Vector) -> float:
    """Return a sum."""
    found = 0.0
    for k in range(len(values)):
        found += values[k]
    return found


def rows(values: Matrix) -> int:
    """Return a number of rows."""
    return len(values)


def unused(e: Empty, a: float, d: Deep) -> None:
    """Use nothing."""
    b = 1.0
    if a > 2.0:
        b = 2.0  # noqa: F841


@needs_compiler
def test_names_shared_memory_and_arrays_without_elements():
    """Records inside others, parts of arrays, tuples in tuples; and names that C has itself."""
    def fresh():
        e, w = Empty({**SIZES, 'z': 0}), Whole(SIZES)
        e.sin, w.second.last[:] = 0.5, [1.0, 2.0, 3.0, math.inf]
        kit = kit_of(compile_graph(HALVED, backend='python'), w.second)
        block = np.arange(20.0)
        return e, w, Deep(kit, w.first, block[4:10].reshape(2, 3)), block, kit.run
    given = fresh()
    built = Built(named, *given, kernels={given[-1]: HALVED})
    assert [each.name for each in built.places] == ['e', 'w', 'd_kit_given', 'd_kit_taken', 'sin']
    np.testing.assert_array_equal(bits(built.memory), bits(built.now()))
    bind(named, *given, backend='python')()
    built.run()
    np.testing.assert_array_equal(bits(built.memory), bits(built.now()))
    other = fresh()
    bind(named, *other, backend='llvm')()
    np.testing.assert_array_equal(bits(other[1].memory, other[3]), bits(given[1].memory, given[3]))
    assert given[2].auto[1, 1] == -1.0      # of two zeros the first one
    assert given[1].first.gain == 3.0 and given[0].own == math.inf
    header = built.files['proc.h']
    assert 'double own; /* N.m: what it has * / and more */' in header
    assert '/* Two records of one class. */' in header


def say(y: Result, v: Vector) -> None:
    """Tell and accuse more than there is room for."""
    for k in range(len(v)):
        tell(y, k, NOBODY, v[k], 0.5, -k)
        accuse(y, Kind.FAULT, k, 1, v[k], -1.0, 2)


@needs_compiler
def test_words_of_a_step(tmp_path):
    """As much as there is room for."""
    y, v = Result({'n': 2}), np.arange(40.0)
    built = Built(say, y, v)
    bind(say, y, v, backend='python')()
    built.run()
    np.testing.assert_array_equal(built.memory, built.now())
    assert 'double torque[2]; /* N.m or N: what is to be sent */' in built.files['proc.h']
    assert not {'malloc', 'alloca', 'stdio', 'stdlib'} & set(built.files['proc.c'].split())
    for name, text in built.files.items():
        (tmp_path / name).write_text(text)
    found = subprocess.run([COMPILER, '-std=c99', '-ffast-math', '-c', str(tmp_path / 'proc.c'),
                            '-o', str(tmp_path / 'x.o')], capture_output=True, text=True)
    assert found.returncode and 'compile without -ffast-math' in found.stderr


# --- refusals ---------------------------------------------------------------------------------


def calls(x: Vector, run: Kernel) -> None:
    """Call a kernel."""
    run()


def pair(a: Limiter, b: Limiter) -> None:
    """Take two records."""
    a.gain = b.gain


def test_what_c_cannot_have_is_refused():
    """Calls of Python, records of two sizes, memory that overlaps, and names."""
    x = np.zeros(3)
    with pytest.raises(TypeError, match='run must be a Kernel that is bound: a call of Python'):
        emit_procedure(calls, x, lambda: None)
    with pytest.raises(TypeError, match='kernels must say what bound kernel number 0 computes'):
        emit_procedure(calls, x, compile_graph(HALVED, backend='python').bind())
    with pytest.raises(TypeError, match='x must be a Vector, not 3'):
        emit_procedure(calls, 3, lambda: None)
    with pytest.raises(TypeError, match='takes 2 things, not 1'):
        emit_procedure(calls, x)
    with pytest.raises(ValueError, match='records Limiter of two sizes'):
        emit_procedure(pair, Limiter({'n': 1}), Limiter({'n': 2}))
    block = np.zeros(20)
    with pytest.raises(ValueError, match='shares some of its memory'):
        emit_procedure(pair, Limiter(SIZES, block[:6]), Limiter(SIZES, block[4:10]))
    with pytest.raises(ValueError, match='is not an identifier'):
        emit_procedure(pair, Limiter(SIZES), Limiter(SIZES), prefix='a b')
