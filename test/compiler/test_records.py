# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Records: what they hold, and procedures on them that do the same in Python and machine code."""

from __future__ import annotations

import enum
import math
from typing import NamedTuple

import numpy as np
import pytest
from random_procedures import bits, filled, halved, kit_of, Limiter, SIZES, State, written
from rbd_ros.compiler import compile as compile_graph, trace
from rbd_ros.compiler.native.procedure_text import translate
from rbd_ros.compiler.procedure import bind, Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface import events
from rbd_ros.control.interface.events import accuse, Kind, Result, tell

BACKENDS = ('python', 'llvm')
YES = True


# --- the records themselves -------------------------------------------------------------------


def test_numbers_come_first_in_memory():
    """Then arrays, then the records inside; each in the order of declaration."""
    x = State(SIZES)
    x.memory[:] = np.arange(x.memory.size)
    assert [x.a, x.mode, x.t1] == [0.0, 1.0, 2.0]
    assert x.load.tolist() == [3.0, 4.0, 5.0, 6.0]
    assert x.m.shape == (4, 3) and x.m[3, 2] == 18.0
    assert [x.limiter.gain, x.limiter.double] == [19.0, 20.0]
    assert x.limiter.last.tolist() == [21.0, 22.0, 23.0, 24.0]
    assert [path for path, _, _ in x.walk()] == [
        'a', 'mode', 't1', 'load', 'm', 'limiter.gain', 'limiter.double', 'limiter.last']


def test_plain_record_shares_memory():
    """Its arrays give floats of Python, also those of the records inside."""
    x = State(SIZES)
    twin = x.plain()
    twin.a, twin.m[1, 2], twin.limiter.last[3] = 1, 2, 3
    assert (x.a, x.m[1, 2], x.limiter.last[3]) == (1.0, 2.0, 3.0)
    assert type(twin.a) is type(twin.m[1, 2]) is type(twin.limiter.last[3]) is float
    assert len(twin.m) == 4


def test_a_field_may_have_any_name_but_those_of_every_record():
    """A field of the name ``numbers`` is read as itself."""
    y = events.Event({'m': 2, 'n': 1})
    y.kind, y.numbers[:] = Kind.RESET, 5.0
    assert y.kind == Kind.RESET and y.numbers.tolist() == [5.0] * 16
    for name in ('memory', 'sizes', 'plain', '_single'):
        with pytest.raises(TypeError, match=f'Wrong.{name}: every record has'):
            type('Wrong', (Record,), {name: field('', '', '')})
    with pytest.raises(TypeError, match='one or two axes'):
        field('2 3 4', '', '')
    with pytest.raises(TypeError, match='State needs 25 float64 in one row'):
        State(SIZES, np.zeros(24))


# --- procedures on records --------------------------------------------------------------------


class Pair(NamedTuple):
    """Two records of one class."""

    first: Limiter
    second: Limiter


def exchange(p: Pair, x: State) -> None:
    """Pass records of each kind on."""
    shift(p.second, p.first.gain)
    shift(x.limiter, len(p.first.last))
    x.load[0], x.load[1] = p.second.last[1], x.limiter.last[1]
    if YES and x.mode == Kind.STATE and Kind.TIMER < x.mode <= Kind.RESET:
        x.m[2, 1] -= events.NEVER
    x.a: float = 3


def shift(own: Limiter, by: float) -> None:
    """Change what is passed."""
    for k in range(len(own.last)):
        own.last[k] += by + k
    own.gain *= -by


@pytest.mark.parametrize('backend', BACKENDS)
def test_records_are_passed_and_changed(backend):
    """Those of a named tuple, and those inside another record."""
    pair, x = Pair(Limiter(SIZES), Limiter(SIZES)), State(SIZES)
    pair.first.gain, x.mode = 2.0, Kind.STATE
    bind(exchange, pair, x, backend=backend)()
    assert pair.second.last.tolist() == [2.25, 3.25, 4.25, 5.25] and pair.second.gain == -2.0
    assert pair.first.last.tolist() == [0.25] * 4 and pair.first.gain == 2.0
    assert x.limiter.last.tolist() == [4.25, 5.25, 6.25, 7.25] and x.limiter.gain == -4.0
    assert x.load.tolist() == [3.25, 5.25, 0.0, 0.0] and x.m[2, 1] == 1e18 and x.a == 3.0
    assert np.count_nonzero(x.m) == 1


def say(y: Result, v: Vector) -> None:
    """Tell and accuse more than there is room for."""
    for k in range(len(v)):
        tell(y, k, events.NOBODY, v[k], 0.5, -k)
        accuse(y, Kind.FAULT, k, 1, v[k], -1.0, 2)


def test_words_of_a_step():
    """What there is no room for is counted, and nothing else is overwritten."""
    found = []
    for backend in BACKENDS:
        y, v = Result({'n': 2}), np.arange(40.0)
        bind(say, y, v, backend=backend)()
        found.append(y.memory)
    assert (y.told, y.accused, y.lost) == (32.0, 16.0, 8.0 + 24.0)
    assert y.words[31].tolist() == [31.0, -1.0, 31.0, 0.5, -31.0]
    assert y.accusations[15].tolist() == [7.0, 15.0, 1.0, 15.0, -1.0, 2.0]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize('seed', range(12))
def test_random_procedures_to_the_last_bit(seed, tmp_path):
    """Machine code leaves the same numbers as Python, whatever it is given."""
    entry = written(tmp_path, seed).entry
    for trial in range(8):
        found = []
        for backend in BACKENDS:
            x, own, v = filled(np.random.default_rng([seed, trial]))
            kit = kit_of(compile_graph(trace(halved, {'x': 1}), backend=backend), own)
            bind(entry, x, kit, v, backend=backend)()
            found.append(bits(x.memory, own.memory, v, kit.given, kit.taken))
        np.testing.assert_array_equal(*found)


# --- refusals ---------------------------------------------------------------------------------


class Colour(enum.Enum):
    """No integers."""

    RED = 'red'


class Odd(NamedTuple):
    """Holds a text."""

    name: str


def takes_flag(x: State) -> None:
    """Take a number for a truth."""
    if x.a:
        x.a = 0.0


def takes_unknown(x: State) -> None:
    """Read what is not there."""
    x.a = x.limiter.speed


def assigns_array(x: State) -> None:
    """Assign a whole array."""
    x.load = 0.0


def assigns_record(x: State) -> None:
    """Assign a whole record."""
    x.limiter = x.a


def reads_array(x: State) -> None:
    """Take an array for a number."""
    x.a = x.load


def passes_other(x: State, v: Vector) -> None:
    """Pass one record for another."""
    shift(x, 1.0)


def takes_colour(x: State) -> None:
    """Take what is no number."""
    x.a = Colour.RED


def takes_odd(x: Odd) -> None:
    """Take what cannot be translated."""


def forgets(x: State) -> None:
    """Call what may give nothing."""
    x.a = half(x.a)


def half(a: float) -> float:
    """Return nothing at times."""
    if a > 0.0:
        return a


def gives(x: State) -> None:
    """Return what it does not have."""
    return x.a


def calls_by_name(x: State) -> None:
    """Name an argument that is not there."""
    shift(x.limiter, speed=1.0)


def least_of_three(x: State) -> None:
    """Compare three."""
    x.a = min(1.0, 2.0, x.a)


@pytest.mark.parametrize(('function', 'reason'), [
    (takes_flag, '`x.a` cannot be translated: float in place of bool; write a comparison'),
    (takes_unknown, '`x.limiter.speed` cannot be translated: Limiter has no speed'),
    (assigns_array, '`x.load` cannot be translated: it is neither'),
    (assigns_record, '`x.limiter` cannot be translated: it is neither'),
    (reads_array, '`x.load` cannot be translated: it is a Vector, not a number'),
    (passes_other, '`x` cannot be translated: shift takes a Limiter here'),
    (takes_colour, '`Colour.RED` cannot be translated: it is no number'),
    (takes_odd, 'Odd.name must be Vector'),
    (forgets, 'half can end here without its result'),
    (gives, 'gives returns None'),
    (calls_by_name, 'shift has other parameters: own, by'),
    (least_of_three, 'min of 2 is known here, not of 3'),
])
def test_what_cannot_be_translated_is_refused(function, reason):
    """With the place and the reason."""
    with pytest.raises(TypeError, match=reason):
        translate(function)


def test_what_does_not_fit_is_refused():
    """Another record, or too few."""
    with pytest.raises(TypeError, match='exchange takes a State, not'):
        bind(exchange, Pair(Limiter(SIZES), Limiter(SIZES)), Limiter(SIZES), backend='llvm')
    with pytest.raises(TypeError, match='exchange takes a Limiter, not'):
        bind(exchange, Pair(Limiter(SIZES), np.zeros(3)), State(SIZES), backend='llvm')
    with pytest.raises(TypeError, match='exchange takes 2 things, not 1'):
        bind(exchange, State(SIZES), backend='llvm')


# --- numbers ----------------------------------------------------------------------------------


def edges(x: Vector, y: Vector) -> None:
    """Use what differs most easily."""
    for k in range(len(x)):
        y[0] += 1.0 if -1 < x[k] < 2 else 0.0
        y[1] += 1.0 if x[k] == x[k] != math.inf else 0.0
    y[2] = math.floor(x[0]) * -1.0
    y[3] = math.copysign(2.0, x[0])
    y[4] = int(x[1]) + abs(-3) * 7
    y[5] = math.exp(x[1]) + math.sin(x[1]) * math.cos(x[1]) + math.atan2(x[0], -1.0)
    y[6] = 1.0 if math.isfinite(x[2]) else 2.0 if math.isnan(x[2]) else 3.0


def test_edges_of_numbers():
    """Zeros with a sign, NaN in chains, and conversions."""
    for odd in (math.nan, math.inf, 1.5):
        found = []
        for backend in BACKENDS:
            y = np.zeros(7)
            bind(edges, np.array([-0.0, -2.75, odd]), y, backend=backend)()
            found.append(bits(y))
        np.testing.assert_array_equal(*found)
    assert y.tolist()[:5] == [2.0, 3.0, -0.0, -2.0, 19.0] and y[6] == 1.0
    assert math.copysign(1.0, y[2]) == -1.0


def beyond(x: Vector, y: Matrix, run: Kernel) -> None:
    """Convert what has no integer."""
    for k in range(len(x)):
        y[k, 0] = int(x[k])
        y[k, 1] = 1.0 / (x[k] - x[k])
    if run() != 0:
        return


def test_what_python_raises_is_defined_in_machine_code():
    """No conversion is left to the processor: all give the same."""
    y = np.zeros((4, 2))
    bind(beyond, np.array([math.nan, 1e300, -math.inf, 3.9]), y, lambda: None, backend='llvm')()
    assert y[:, 0].tolist() == [0.0, 2.0 ** 63, -2.0 ** 63, 3.0]
    assert math.isnan(y[0, 1]) and y[1, 1] == math.inf and y[3, 1] == math.inf


def clashing(t1: Vector, t2: Matrix) -> None:
    """Name everything as values in LLVM are named in this package, or were."""
    t3 = t5(t1, t1[0], len(t1))
    for t4 in range(2):
        t1[t4] = t3 if t3 > 0.0 and (t4 < 1 < t3 or t3 > 7.0) else t2[t4, 1]


def t5(t1: Vector, t2: float, t3: int) -> float:
    """Return a sum."""
    t4 = t2 + t3
    return t4 if t4 != t3 and t1[0] > 0.0 else -t4


def test_names_of_the_source_and_of_llvm_do_not_clash():
    """Whatever parameters, variables and functions are called."""
    for backend in BACKENDS:
        x = np.array([1.0, 5.0])
        bind(clashing, x, np.array([[1.0, 2.0], [3.0, 4.0]]), backend=backend)()
        assert x.tolist() == [3.0, 4.0]


class Outer(Record):
    """Two levels of records, and two next to each other."""

    inner: State = group(State)
    own: Limiter = group(Limiter)
    z: float = field('', '', 'a number')


def deep(o: Outer, y: Vector) -> None:
    """Reach down two levels."""
    shift(o.inner.limiter, o.z)
    o.inner.limiter.gain += o.inner.m[1, 1]
    y[0] = o.inner.limiter.last[2]
    shift(o.own, 3.0)


def test_records_in_records_in_records():
    """All on one memory, from a plain record as well."""
    found = []
    for backend in BACKENDS:
        o, y = Outer(SIZES), np.zeros(1)
        o.z, o.inner.m[1, 1] = 2.0, 0.5
        bind(deep, o.plain() if backend == 'llvm' else o, y, backend=backend)()
        found.append(o.memory)
        assert y[0] == 4.25 and o.inner.limiter.gain == -1.5
        assert o.own.last.tolist() == o.memory[-4:].tolist() == [3.25, 4.25, 5.25, 6.25]
    np.testing.assert_array_equal(*found)
