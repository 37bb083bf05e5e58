# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Many states at once: the same numbers as one by one, on any lanes, threads and layouts."""

from concurrent.futures import ThreadPoolExecutor
import math
import os
import random
import re
import threading

import numpy as np
import pytest
from random_graphs import EVERY, random_program
from rbd_ros.compiler import (
    compile as compile_graph, cos, maximum, minimum, sin, tanh, trace, where)
from rbd_ros.errors import NonFiniteError, ShapeError

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from rbd_ros.compiler.native import batch  # noqa: I100
from rbd_ros.compiler.native.batch import batch_modules, BatchProgram
from rbd_ros.compiler.native.loader import Code
from rbd_ros.compiler.native.target import host


def several(q, m, t):
    """Return arrays of three shapes from arrays of three shapes."""
    y = [sin(a) * m[0][1] + cos(a) * t for a in q]
    return {'y': y, 'M': [[m[i][j] * q[j] for j in range(3)] for i in range(2)],
            'e': tanh(t) + m[1][2]}


@pytest.fixture(scope='module')
def kernel():
    """Return a kernel with several inputs and outputs."""
    graph = trace(several, {'q': 7, 'm': (2, 3), 't': ()}, name='several')
    return compile_graph(graph, backend='llvm', cache=False)


def program(graph, width, size=1000, fused=True, table=False):
    """Return a batch program for a given number of lanes."""
    texts, workspace = batch_modules(graph, width, size, fused, table)
    code = Code([host().emit(text) for text in texts])
    return BatchProgram(code, graph.inputs, graph.outputs, width, workspace, 10**6)


def one_by_one(kernel, *arrays):
    """Return the results of a kernel state by state."""
    results = [kernel(*state) for state in zip(*arrays, strict=True)]
    return [np.stack(y) for y in zip(*results, strict=True)]


@pytest.mark.parametrize('count', [1, 2, 7, 8, 9, 15, 16, 17, 100, 1003])
def test_batch_equals_single_calls(kernel, count):
    """Any number of states, with what is left over the lanes, gives each state's own result."""
    rng = np.random.default_rng(count)
    given = rng.normal(size=(count, 7)), rng.normal(size=(count, 2, 3)), rng.normal(size=count)
    for threads in (None, 1, 2, 3):
        for mine, theirs in zip(kernel.batch(*given, threads=threads),
                                one_by_one(kernel, *given), strict=True):
            assert mine.shape == theirs.shape
            np.testing.assert_allclose(mine, theirs, rtol=1e-14, atol=1e-15)


def test_inputs_shared_by_all_states(kernel):
    """An input without the leading axis holds for every state."""
    rng = np.random.default_rng(0)
    q, m, t = rng.normal(size=(50, 7)), rng.normal(size=(2, 3)), 0.7
    shared = kernel.batch(q, m, t)
    spread = kernel.batch(q, np.broadcast_to(m, (50, 2, 3)), np.full(50, t))
    for a, b in zip(shared, spread, strict=True):
        assert a.tolist() == b.tolist()
    few = kernel.batch(q[:3], m, t)
    for a, b in zip(few, shared, strict=True):
        np.testing.assert_allclose(a, b[:3], rtol=1e-14)


@pytest.mark.parametrize('width', [2, 4, 8])
@pytest.mark.parametrize('n', [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17])
def test_rows_of_every_length_on_any_lanes(width, n):
    """The transpositions in registers put every element back where it belongs."""
    graph = trace(lambda x: [x[n - 1 - k] for k in range(n)], {'x': n})
    x = np.arange(21.0 * n).reshape(21, n)
    y = np.full((21, n), np.nan)
    program(graph, width).run([x], [True], [y], 21, 1)
    assert y.tolist() == x[:, ::-1].tolist()


@pytest.mark.parametrize('n, calls', [(64, 0), (65, 66)])
def test_two_lanes_move_short_rows_without_a_call(n, calls):
    """A call costs more than two rows of two; rows of hundreds would make long code."""
    graph = trace(lambda x: [x[n - 1 - k] for k in range(n)], {'x': n})
    (driver, *_), _ = batch_modules(graph, 2)
    assert len(re.findall('call void @(?:un)?pack', driver)) == calls
    x = np.random.default_rng(n).normal(size=(5, n))
    y = np.full((5, n), np.nan)
    program(graph, 2).run([x], [True], [y], 5, 1)
    assert y.tolist() == x[:, ::-1].tolist()


@pytest.mark.parametrize('width', [2, 4, 8])
@pytest.mark.parametrize('size, table', [(1000, False), (30, True), (30, False), (1000, True)])
def test_every_operation_to_the_last_bit(width, size, table):
    """
    Without fusing, lanes give the reference's bits for all values, in parts or not.

    Functions of the C library are the interpreter's own ones in both.
    """
    rng = random.Random(width)
    operations = [op for op in EVERY if op not in ('sin', 'cos')]
    graph = trace(random_program(rng, operations, 200), {'x': 4})
    special = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 1e308]
    x = np.array([[rng.choice(special) if rng.random() < 0.3 else rng.uniform(-3, 3)
                   for _ in range(4)] for _ in range(100)])
    y = np.zeros((100, graph.outputs[0].size))
    program(graph, width, size, False, table).run([x], [True], [y], 100, 2)
    expected = np.array([graph.evaluate(row) for row in x.tolist()])
    np.testing.assert_array_equal(y, expected)
    assert (np.signbit(y) == np.signbit(expected))[~np.isnan(y)].all()


def test_nan_stays_on_its_lane_and_passes_every_limiter():
    """A NaN of one state comes out of clamps and selections as NaN, and of no other state."""
    def limited(x):
        a = minimum(maximum(x[0], -1.0), 1.0)
        return [a, where(x[0], 5.0, 6.0), maximum(2.0, x[0]), minimum(x[0], 2.0),
                sin(x[0]), cos(x[0])]
    graph = trace(limited, {'x': 1})
    for width in (2, 4, 8):
        x = np.linspace(-3.0, 3.0, 33).reshape(33, 1)
        x[::5] = math.nan
        y = np.zeros((33, 6))
        program(graph, width).run([x], [True], [y], 33, 1)
        assert (np.isnan(y) == np.isnan(x)).all()


@pytest.mark.parametrize('width', [2, 4, 8])
def test_sine_and_cosine_of_large_angles(width):
    """A lane beyond the reduction's range goes to the C library and takes no lane with it."""
    rng = np.random.default_rng(width)
    x = rng.uniform(-4.0, 4.0, (64, 1)) * 10.0 ** rng.integers(0, 12, (64, 1))
    y = np.zeros((64, 2))
    program(trace(lambda x: [sin(x[0]), cos(x[0])], {'x': 1}), width).run([x], [True], [y], 64, 1)
    expected = np.array([[math.sin(a), math.cos(a)] for a in x[:, 0]])
    assert (np.abs(y - expected) <= 2.0 * np.spacing(np.abs(expected))).all()


def test_out_of_any_kind(kernel):
    """Given arrays are filled: contiguous, strided, or the input itself."""
    rng = np.random.default_rng(5)
    q, m, t = rng.normal(size=(40, 7)), rng.normal(size=(2, 3)), 0.3
    expected = kernel.batch(q, m, t)
    wide = np.zeros((40, 14))
    outs = wide[:, ::2], np.zeros((40, 2, 3)), np.zeros(40)
    result = kernel.batch(q, m, t, out=outs)
    for a, b, c in zip(result, outs, expected, strict=True):
        assert a is b and a.tolist() == c.tolist()
    assert kernel.batch(q, m, t, out=(q, *outs[1:]), threads=2)[0] is q
    assert q.tolist() == expected[0].tolist()
    assert outs[1].tolist() == expected[1].tolist()


def test_odd_arrays_are_converted(kernel):
    """Lists, other dtypes, strides and byte orders give the same results."""
    q, m, t = np.arange(21.0).reshape(3, 7), np.ones((2, 3)), 1.0
    expected = [y.tolist() for y in kernel.batch(q, m, t)]
    for odd in (q.tolist(), q.astype(int), q.astype('>f8'), np.asfortranarray(q),
                np.repeat(q, 2, 1)[:, ::2], np.repeat(q, 2, 0)[::2]):
        assert [y.tolist() for y in kernel.batch(odd, m, t)] == expected


def test_errors_name_the_argument(kernel):
    """Wrong shapes, lengths and numbers are refused by name before anything is written."""
    q, m, t = np.ones((9, 7)), np.ones((2, 3)), 1.0
    q[4, 2] = np.nan
    with pytest.raises(NonFiniteError, match=r'q\[4, 2\]'):
        kernel.batch(q, m, t)
    with pytest.raises(ShapeError, match='q has shape'):
        kernel.batch(np.ones((9, 6)), m, t)
    with pytest.raises(ShapeError, match='t has 8 states, q has 9'):
        kernel.batch(np.ones((9, 7)), m, np.ones(8))


def test_no_states(kernel):
    """An empty batch gives empty results."""
    y, M, e = kernel.batch(np.ones((0, 7)), np.ones((2, 3)), 1.0)
    assert (y.shape, M.shape, e.shape) == ((0, 7), (0, 2, 3), (0,))


def test_batches_from_many_threads(kernel):
    """Batches that run at the same time do not disturb each other."""
    rng = np.random.default_rng(1)
    given = [(rng.normal(size=(500, 7)), rng.normal(size=(2, 3)), 0.1 * k) for k in range(4)]
    expected = [kernel.batch(*x)[0].tolist() for x in given]
    wrong = []

    def work(k):
        for _ in range(20):
            if kernel.batch(*given[k], threads=2)[0].tolist() != expected[k]:
                wrong.append(k)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert not wrong


def test_the_lock_is_free_during_a_batch():
    """Other Python threads go on while a batch runs."""
    def heavy(x):
        a = x[0]
        for _ in range(300):
            a = sin(a) + x[0]
        return [a]
    kernel = compile_graph(trace(heavy, {'x': 1}), backend='llvm', cache=False)
    kernel.prepare_batch()
    x = np.linspace(0, 1, 40000).reshape(-1, 1)
    ticks, done = [0], threading.Event()

    def count():
        while not done.is_set():
            ticks[0] += 1
    counter = threading.Thread(target=count)
    counter.start()
    before = ticks[0]
    kernel.batch(x, threads=1)
    passed = ticks[0] - before
    done.set()
    counter.join()
    assert passed > 100


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='this machine cannot fork')
@pytest.mark.filterwarnings('ignore:.*fork.*:DeprecationWarning')
def test_a_forked_child_has_threads_of_its_own(kernel):
    """A child made after a batch in threads runs batches too."""
    q = np.ones((1000, 7))
    kernel.batch(q, np.ones((2, 3)), 1.0, threads=2)
    child = os.fork()
    if child == 0:
        y = kernel.batch(q, np.ones((2, 3)), 1.0, threads=2)[0]
        os._exit(0 if np.isfinite(y).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_small_batches_stay_on_one_thread(kernel, monkeypatch):
    """Work that is over before another thread wakes up is not shared."""
    def refuse(tasks):
        raise AssertionError('shared')
    monkeypatch.setattr(batch, 'run_together', refuse)
    kernel.batch(np.ones((100, 7)), np.ones((2, 3)), 1.0)
    with pytest.raises(AssertionError, match='shared'):
        kernel.batch(np.ones((100, 7)), np.ones((2, 3)), 1.0, threads=2)


@pytest.mark.parametrize('width', [2, 4, 8])
@pytest.mark.parametrize('count', [1, 2, 5])
def test_sines_and_cosines_on_all_lanes(width, count):
    """Each angle has its own sine and cosine, also where two share the lanes of one call."""
    graph = trace(lambda q: [[cos(a), sin(a), 0.7 * cos(a) - 0.3 * sin(a)] for a in q],
                  {'q': count})
    q = np.random.default_rng(count).uniform(-9.0, 9.0, (13, count))
    expected = np.stack([np.cos(q), np.sin(q), 0.7 * np.cos(q) - 0.3 * np.sin(q)], axis=2)
    for table in (False, True):
        y = np.zeros((13, count, 3))
        program(graph, width, table=table).run([q], [True], [y], 13, 1)
        np.testing.assert_allclose(y, expected, rtol=0, atol=2e-15)
