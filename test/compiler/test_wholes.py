# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Whole vectors, methods, truths and named arguments: the same to the last bit in every form."""

from __future__ import annotations

import importlib
import re

from c_functions import COMPILER
from c_procedure import Built
from linted import ROOT
import numpy as np
import pytest
from random_procedures import bits
from random_wholes import Box, filled, Shelf, SIZES, written
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.compiler.gpu.procedures.device_procedure import Bindings, DeviceProcedure
from rbd_ros.compiler.gpu.procedures.places import Memory
from rbd_ros.compiler.language.whole import clip, dot, minimum, total, where
from rbd_ros.compiler.native.procedure_text import translate
from rbd_ros.compiler.procedure import bind, Matrix, Vector
from rbd_ros.compiler.records import field, Record

TRIALS = 6


def starts(seed):
    """Yield random arguments."""
    for trial in range(TRIALS):
        yield filled(np.random.default_rng([seed, trial]))


def left(given):
    """Return the bits of arguments."""
    return bits(given[0].memory, given[1].memory, given[2])


def left_by(run_on, seed):
    """Return what is left of all arguments by something that runs on them."""
    found = []
    for given in starts(seed):
        run_on(given)
        found.append(left(given))
    return np.array(found)


def by_numpy(entry, seed):
    """Return what the function leaves as it stands, on arrays of NumPy."""
    def run(given):
        with np.errstate(all='ignore'):
            entry(*given)
    return left_by(run, seed)


def on_device(entry, seed):
    """Return what is left by threads of an emulated device, one for each of the arguments."""
    x, y, v = filled(np.random.default_rng(seed))
    batch = DeviceProcedure(EmulatedDevice(), entry, Bindings(
        (x, y, v), dict.fromkeys(range(3), Memory.OWN), [], []), cache=False).batch(TRIALS)
    given = list(starts(seed))
    for k, own in enumerate((x.memory, y.memory, v)):
        batch.write(own, np.array([getattr(each[k], 'memory', each[k]) for each in given]))
    batch.run()
    ends = [batch.read(each) for each in (x.memory, y.memory, v)]
    return np.array([bits(*each) for each in zip(*ends, strict=True)])


@pytest.mark.parametrize('seed', range(5))
def test_random_procedures_to_the_last_bit(seed, tmp_path):
    """NumPy, plain Python, machine code and a device leave the same, whatever they are given."""
    entry = written(tmp_path, seed).entry
    expected = by_numpy(entry, seed)
    for backend in ('python', 'llvm'):
        np.testing.assert_array_equal(left_by(
            lambda given: bind(entry, *given, backend=backend)(), seed), expected)
    np.testing.assert_array_equal(on_device(entry, seed), expected)


@pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')
@pytest.mark.parametrize('seed', range(2))
def test_random_procedures_in_c(seed, tmp_path):
    """So does C."""
    entry = written(tmp_path, seed).entry
    given = filled(np.random.default_rng(seed))
    built = Built(entry, *given, flags=['-Wno-tautological-compare'])
    for expected, start in zip(by_numpy(entry, seed), starts(seed), strict=True):
        built.memory[:] = np.concatenate([start[0].memory, start[1].memory, start[2]])
        built.run()
        np.testing.assert_array_equal(bits(built.memory), expected)


# --- what is stated ---------------------------------------------------------------------------


def ordered(v: Vector, y: Vector) -> None:
    """Add numbers of which the order counts."""
    y[0] = total(v)
    y[1] = dot(v, v[:] * 1e-8)
    y[2] = max(v, default=-7.0) + min(v[0:0], default=5.0)
    y[3] = total(minimum(v, 0.0))


def test_sums_are_from_the_first_to_the_last():
    """Neither in pairs, as NumPy adds, nor compensated, as Python does."""
    v = np.random.default_rng(0).normal(size=300)
    y = np.zeros(4)
    found, products = 0.0, 0.0
    for each in v.tolist():
        found, products = found + each, products + each * (each * 1e-8)
    assert found not in (np.sum(v), sum(v.tolist()))
    for backend in ('python', 'llvm'):
        bind(ordered, v, y, backend=backend)()
        assert y[:3].tolist() == [found, products, v.max() + 5.0]


def shares(values: Vector) -> Vector:
    """Return shares of a sum."""
    return values / total(values)


def raised(v: Vector) -> None:
    """Put it in the place of a call."""
    v[:] = shares(v + 1.0)


def turned(v: Vector, w: Vector) -> None:
    """Put it in two others."""
    raised(v)
    w[:] = shares(w * w)


def test_one_expression_in_the_place_of_several_calls():
    """Each has a sum of its own."""
    for backend in ('python', 'llvm'):
        v, w = np.array([1.0, 2.0]), np.array([1.0, 3.0])
        bind(turned, v, w, backend=backend)()
        assert [v.tolist(), w.tolist()] == [[0.4, 0.6], [0.1, 0.9]]


class Bag(Record):
    """Arrays of two sizes."""

    a: Vector = field('n', '', 'of n')
    b: Vector = field('m', '', 'of m')
    m: Matrix = field('n m', '', 'of n and m')
    square: Matrix = field('n n', '', 'of n and n')


class Tables(Record):
    """Matrices with something between them."""

    before: Vector = field('1', '', 'of them')
    wide: Matrix = field('n m', '', 'of n and m')
    between: Vector = field('1', '', 'them')
    tall: Matrix = field('m n', '', 'of m and n')
    none: Matrix = field('0 m', '', 'of no rows')
    after: Vector = field('1', '', 'them')


def shifts(x: Bag) -> None:
    """Read what is changed before."""
    x.a[1:] = x.a[:2]


def moved(a: Vector, b: Vector) -> None:
    """Read one array and change another."""
    a[1:] = b[:2]


def moves(x: Bag, y: Bag) -> None:
    """Do it with two records, which may be one."""
    moved(x.b, y.a)     # another array, whatever the records are
    deeper(y.a, x)


def deeper(a: Vector, x: Bag) -> None:
    """Pass it on."""
    moved(a, x.a)


def gives_twice(x: Bag) -> None:
    """Give one record for two, of which one is changed."""
    moved(x.a, x.b)
    moves(x, x)


def turns(x: Bag) -> None:
    """Read a row while a column is changed."""
    x.square[:, 0] = x.square[0]


def misfits(x: Bag) -> None:
    """Add what has other sizes."""
    x.a[:] = x.a + x.b


def misfits_target(x: Bag) -> None:
    """Assign what has another size."""
    x.a[:] = x.b


def adds_rows(x: Bag) -> None:
    """Add a vector to a matrix."""
    x.m[:] = x.m + x.b


def sums(x: Bag) -> None:
    """Add as Python does."""
    x.a[0] = sum(x.a)


def needs_default(x: Bag) -> None:
    """Take the largest of perhaps nothing."""
    x.a[0] = max(x.a)


def steps(x: Bag) -> None:
    """Take each second one."""
    x.a[:] = x.b[::2]


def negative(x: Bag) -> None:
    """Count from the end."""
    x.a[:] = x.b[:-1]


def chains(x: Bag) -> None:
    """Compare three."""
    x.a[0] = 1.0 if any(0.0 < x.a < 1.0) else 0.0


def touch(x: Bag) -> float:
    """Change what is read."""
    x.a[0] += 1.0
    return x.a[0]


def interferes(x: Bag) -> None:
    """Call what changes what is read beside it."""
    x.a[:] = x.a * 2.0 + touch(x)


def takes_whole(x: Bag) -> None:
    """Take a vector for a number."""
    x.a[0] = x.a + 1.0


def asks(x: Bag) -> None:
    """Take a vector for a truth."""
    if x.a > 0.0:
        x.a[0] = 1.0


def chained(x: Bag) -> None:
    """Assign to what is read."""
    x.a[:] = x.square[0] = x.a + 1.0


def chooses(x: Bag) -> None:
    """Choose by many truths as by one."""
    x.a[:] = 1.0 if x.a > 0.0 else x.a


def pair(a: float) -> tuple[float, bool]:
    """Return two in two ways."""
    if a > 0.0:
        return a, True
    return -a, False


def returns_early(x: Shelf) -> None:
    """Call it."""
    x.a, x.on = pair(x.a)


def both(a: float) -> tuple[float, bool]:
    """Return two."""
    return 2.0 * a, a > 0.0


def takes_three(x: Shelf) -> None:
    """Take three of two."""
    x.a, x.on, x.count = both(x.a)


def takes_one(x: Shelf) -> None:
    """Take both as one."""
    x.a = both(x.a)


def forgets(x: Shelf) -> None:
    """Leave out an argument."""
    x.on = x.box.take()


def unknown(x: Shelf) -> None:
    """Call a method that is not there."""
    x.box.give(x.row)


def plain(x: Shelf) -> None:
    """Call what is for Python."""
    x.box.plain()


def stores(x: Shelf) -> None:
    """Store a number as a truth."""
    x.on = 1.0


def stores_fraction(x: Shelf) -> None:
    """Store a fraction as an integer."""
    x.mode = 1.5


def counts(x: Shelf) -> None:
    """Choose by a truth that is none."""
    x.row[:] = where(x.row, 1.0, 2.0)


def clips_two(x: Shelf) -> None:
    """Forget a bound."""
    x.row[:] = clip(x.row, 1.0)


@pytest.mark.parametrize(('function', 'reason'), [
    (shifts, 'read and changed at places that overlap; use another array in between'),
    (gives_twice, r'gives_twice gives x.a twice, for `a\[1:\]`, which reads and changes it'),
    (turns, 'read and changed at places that overlap'),
    (misfits, 'one has n numbers, the other one m; both need the same shape'),
    (misfits_target, 'one has n numbers, the other one m'),
    (adds_rows, 'one has n x m numbers, the other one m'),
    (sums, 'take total'),
    (needs_default, r'write max\(\.\.\., default=0.0\)'),
    (steps, 'a slice has no step here'),
    (negative, r'write len\(\.\.\.\) - 1'),
    (chains, 'two at a time; join them with &'),
    (interferes, 'call it on a line before'),
    (takes_whole, 'x.a` cannot be translated: it is a Vector, not a number'),
    (asks, 'x.a` cannot be translated: it is a Vector, not a number'),
    (chained, 'what is assigned to several may not be one of them'),
    (chooses, 'many truths choose many numbers: take where'),
    (returns_early, 'pair has several results; it returns them once, at its end'),
    (takes_three, 'both has 2 results'),
    (takes_one, 'both gives many numbers, not one'),
    (forgets, 'take has other parameters: values, by, keep; values is not given'),
    (unknown, 'Box has no method give that a procedure may call'),
    (plain, 'Box has no method plain that a procedure may call'),
    (stores, 'float in place of bool; write a comparison'),
    (stores_fraction, 'float in place of int'),
    (counts, 'float in place of bool; write a comparison'),
    (clips_two, 'clip is of 3, not of 2'),
])
def test_what_cannot_be_translated_is_refused(function, reason):
    """With the place, the reason and what to do."""
    with pytest.raises(TypeError, match=reason):
        translate(function)


def copies(x: Tables, y: Tables) -> None:
    """Copy whole matrices, one to its own place."""
    x.wide[:] = y.wide
    y.tall[:] = x.tall
    x.none[:] = y.none
    x.wide[:] = x.wide


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_whole_matrices_are_copied_and_nothing_beside_them(backend):
    """Matrices of any shape, of no rows too, end where they end."""
    x, y = (Tables({'n': 2, 'm': 5}) for _ in range(2))
    x.memory[:], y.memory[:] = np.arange(x.memory.size), 100.0 + np.arange(x.memory.size)
    y.wide[1, 2] = np.nan
    one, other = (Tables(each.sizes, each.memory.copy()) for each in (x, y))
    one.wide[...], other.tall[...] = y.wide, x.tall
    bind(copies, x, y, backend=backend)()
    np.testing.assert_array_equal(x.memory, one.memory)
    np.testing.assert_array_equal(y.memory, other.memory)


def test_arrays_that_are_apart_may_be_shifted():
    """Two parameters, where nobody gives one array for both."""
    assert translate(moves)


def test_fields_are_what_their_annotations_say():
    """In Python as in procedures; in memory all are floats."""
    x = Shelf(SIZES)
    assert x.box.full is True and x.on is False and repr(x.mode) == '<Mode.MID: 2>'
    x.on, x.count, x.mode = True, 3, 9
    assert x.on is True and type(x.count) is int and x.mode == 9
    assert x.memory[:4].tolist() == [0.0, 1.0, 9.0, 3.0]
    box = Box(SIZES)
    box.gain, box.held[:] = 7.0, 3.0
    box.reset()
    assert (box.memory == Box(SIZES).memory).all()


def test_the_page_of_the_language_is_translated(tmp_path, monkeypatch):
    """Its example, as one module: machine code leaves what Python does."""
    text = (ROOT / 'docs' / 'language.md').read_text()
    blocks = re.findall(r'^```python\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)
    (tmp_path / 'page_of_test.py').write_text(''.join(blocks))
    monkeypatch.syspath_prepend(tmp_path)
    page = importlib.import_module('page_of_test')
    found = []
    for backend in ('python', 'llvm'):
        x, q, result = page.Hand({'n': 3}), np.array([0.1, -0.2, 0.3]), np.zeros(1)
        for _ in range(3):
            bind(page.example, x, q, result, backend=backend)()
            bind(page.pull_twice, page.kernel, x.left, q, x.right.rest, backend=backend)()
            q *= 1.5
        found.append(bits(x.memory, result))
    np.testing.assert_array_equal(*found)
