# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The call from Python as machine code: what it accepts, refuses, returns and allocates."""

import gc
import pickle
import subprocess
import sys
import tracemalloc
from types import BuiltinFunctionType
from typing import NamedTuple
import weakref

import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros.compiler import compile as compile_graph, cos, sin, trace
from rbd_ros.errors import NonFiniteError, ShapeError

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from rbd_ros.compiler.kernel import Kernel  # noqa: I100
from rbd_ros.compiler.native import gate, object_layout


def is_machine_code(call):
    """Return whether a call goes to machine code directly, not through Python."""
    return isinstance(call, BuiltinFunctionType)


def mixed(q, m, t):
    """Return a vector, a matrix and a number of a vector, a matrix and a number."""
    y = [m[0][0] * sin(q[0]) + t, m[1][2] * cos(q[1]), q[0] - q[1]]
    return {'y': y, 'M': [[m[1][0] * t, q[0]], [m[0][1], 1.0]], 'e': q[0] * m[0][2]}


def swap(x):
    """Return the reversed vector, every element made of two."""
    return [x[4 - k] + 2.0 * x[k] for k in range(5)]


@pytest.fixture(scope='module')
def kernel():
    """Return a kernel with several inputs and outputs of every number of axes."""
    graph = trace(mixed, {'q': 2, 'm': (2, 3), 't': ()}, name='mixed')
    return compile_graph(graph, backend='llvm', cache=False)


@pytest.fixture(scope='module')
def single():
    """Return a kernel with one input and one output."""
    return compile_graph(trace(swap, {'x': 5}, name='swap'), backend='llvm', cache=False)


def slow(kernel, *arrays, **options):
    """Call the same kernel by the checked path in Python."""
    return Kernel.caller(kernel)(*arrays, **options)


def same(a, b):
    """Compare results, tuples of arrays or not."""
    a, b = (a, b) if isinstance(a, tuple) else ((a,), (b,))
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert type(x) is type(y) is np.ndarray
        assert x.shape == y.shape and x.dtype == y.dtype == np.float64
        assert x.tolist() == y.tolist()


def test_a_leading_axis_makes_a_batch(kernel, single):
    """Inputs with one more axis give the results of every state."""
    x = np.arange(15.0).reshape(3, 5)
    assert single(x).tolist() == [single(row).tolist() for row in x]
    y, M, e = kernel(np.ones((3, 2)), np.ones((2, 3)), 1.0)
    assert (y.shape, M.shape, e.shape) == ((3, 3), (3, 2, 2), (3,))


def test_objects_look_as_expected():
    """On this interpreter the gate is in use; if not, the portable path would be tested alone."""
    assert object_layout.verified()


def test_looking_at_objects_keeps_their_reference_counts():
    """NumPy's constructor takes a reference to the type: the check must have added one before."""
    kind = np.dtype(np.float64)
    gc.collect()        # arrays that earlier tests left in cycles must not go in between
    before = sys.getrefcount(kind)
    for _ in range(200):
        object_layout.verified.cache_clear()
        assert object_layout.verified()
    assert abs(sys.getrefcount(kind) - before) < 20


def test_right_arrays_never_reach_the_slow_path(kernel, single, monkeypatch):
    """Arrays as they should be are handled by machine code from end to end."""
    def refuse(self, *arrays, out=None):
        raise AssertionError('slow path')
    monkeypatch.setattr(Kernel, '__call__', refuse)
    q, m, t, x = np.ones(2), np.ones((2, 3)), np.array(2.0), np.ones(5)
    for number in (t, 2.0):
        kernel(q, m, number)
        kernel(q, m, number, out=None)
    kernel(q, m, t, out=(np.zeros(3), np.zeros((2, 2)), np.zeros(())))
    single(x)
    single(x, out=np.empty(5))
    kernel.caller(m, t)(q)
    for call in (lambda: kernel(q, m, 2), lambda: single(x, out=x)):    # it may need x once more
        with pytest.raises(AssertionError, match='slow path'):
            call()


def test_results_are_fresh_and_owned(kernel):
    """Every call makes new arrays of its own, equal to those of the slow path."""
    given = np.array([0.3, -0.4]), np.arange(6.0).reshape(2, 3), np.array(1.5)
    first, second = kernel(*given), kernel(*given)
    same(first, slow(kernel, *given))
    assert type(first) is tuple
    for a, b in zip(first, second, strict=True):
        assert a is not b and not np.shares_memory(a, b)
        assert a.flags.owndata and a.flags.writeable and a.flags.c_contiguous


def odd_vectors():
    """Return arrays that hold 1..5 in ways the gate cannot read, by name."""
    plain = np.arange(1.0, 6.0)
    locked = plain.copy()
    locked.flags.writeable = False
    raw = np.zeros(41, np.uint8)
    skew = raw[1:].view(np.float64)
    skew[:] = plain
    odd = {
        'list': plain.tolist(), 'tuple': tuple(plain), 'int': plain.astype(int),
        'float32': plain.astype(np.float32), 'swapped': plain.astype('>f8'),
        'longdouble': plain.astype(np.longdouble), 'object': plain.astype(object),
        'strided': np.repeat(plain, 2)[::2], 'backward': plain[::-1].copy()[::-1],
        'column': np.stack([plain, plain], 1)[:, 0], 'locked': locked, 'skew': skew,
        'subclass': plain.view(np.matrix).A1.view(type('Sub', (np.ndarray,), {})),
        'masked': np.ma.array(plain), 'metadata': plain.view(np.dtype('f8', metadata={'u': 'm'})),
        'record': plain.view(np.recarray),
    }
    return odd


@pytest.mark.parametrize('kind', sorted(odd_vectors()))
def test_odd_inputs_are_converted(single, kind):
    """Whatever holds the right numbers gives the right result, whoever reads it."""
    value = odd_vectors()[kind]
    expected = single(np.arange(1.0, 6.0))
    same(single(value), expected)
    same(slow(single, value), expected)


WRONG = {
    'short': np.ones(4), 'long': np.ones(6), 'no axis': np.array(1.0), 'number': 1.0,
    'two axes': np.ones((1, 4)), 'three axes': np.ones((1, 1, 5)), 'empty': np.ones(0),
    'none': None, 'text': 'abcde',
    'complex': np.ones(5, complex), 'nested': [[1.0], 2.0, 3.0, 4.0, 5.0], 'dict': {},
    'type': np.ndarray, 'numbers as text': np.array(['1'] * 5),
}


@pytest.mark.parametrize('kind', sorted(WRONG))
def test_wrong_inputs_are_named(single, kind):
    """What cannot be the argument raises an error with its name, the same on both paths."""
    with pytest.raises(ShapeError, match=r'^x ') as fast:
        single(WRONG[kind])
    with pytest.raises(ShapeError) as checked:
        slow(single, WRONG[kind])
    assert str(fast.value) == str(checked.value)


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('size', [1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 66, 67, 130])
def test_not_finite_is_refused_wherever_it_stands(bad, size):
    """One NaN or infinity at any place is found and named; the largest numbers are not."""
    graph = trace(lambda w, x: [w[0] + x[size - 1]], {'w': 1, 'x': size})
    kernel = compile_graph(graph, backend='llvm', cache=False)
    x = np.full(size, np.finfo(float).max)
    kernel(np.zeros(1), x)
    for place in sorted({0, 1, size // 2, size - 2, size - 1} & set(range(size))):
        x[place] = bad
        with pytest.raises(NonFiniteError, match=rf'^x\[{place}\] is '):
            kernel(np.zeros(1), x)
        x[place] = 0.0
    with pytest.raises(NonFiniteError, match=r'^w\[0\]'):
        kernel(np.array([bad]), x)


def test_not_finite_number(kernel):
    """A number without axes is checked like an array, as float and as array."""
    for bad in (float('nan'), np.array(np.inf)):
        with pytest.raises(NonFiniteError, match=r'^t is '):
            kernel(np.ones(2), np.ones((2, 3)), bad)


def test_wrong_number_of_arguments(kernel, single):
    """Too few, too many or unknown arguments raise TypeError with the names."""
    for count in (0, 1, 2, 4, 9):
        with pytest.raises(TypeError, match=r'mixed takes 3 arguments \(q, m, t\), got'):
            kernel(*[np.ones(2)] * count)
    with pytest.raises(TypeError):
        single(np.ones(5), other=np.ones(5))
    with pytest.raises(TypeError):
        single(np.ones(5), out=np.ones(5), other=1)


def test_out_is_used_and_returned(kernel, single):
    """Given arrays are filled and returned, whatever their layout."""
    x = np.linspace(-1.0, 1.0, 5)
    expected = single(x)
    wide = np.zeros((5, 2))
    for out in (np.zeros(5), wide[:, 1], np.zeros(5).view(type('S', (np.ndarray,), {}))):
        assert single(x, out=out) is out
        assert out.tolist() == expected.tolist()
    assert wide[:, 0].tolist() == [0.0] * 5
    given = np.array([0.3, -0.4]), np.arange(6.0).reshape(2, 3), 1.5
    outs = np.zeros(3), np.zeros((2, 2)), np.zeros(())
    for out in (outs, list(outs)):
        result = kernel(*given, out=out)
        assert all(a is b for a, b in zip(result, outs, strict=True))
        same(tuple(outs), kernel(*given))


def test_wrong_out_is_refused_and_untouched(kernel, single):
    """An output that is read-only, of other shape or kind is named; a short tuple too."""
    x = np.ones(5)
    locked = np.zeros(5)
    locked.flags.writeable = False
    for out in (locked, np.zeros(4), np.zeros((1, 5)), np.zeros(5, np.float32),
                np.zeros(5, '>f8'), [0.0] * 5):
        with pytest.raises(ShapeError, match='out'):
            single(x, out=out)
    assert locked.tolist() == [0.0] * 5
    given = np.ones(2), np.ones((2, 3)), 1.0
    for out in ((np.zeros(3),), (np.zeros(3), np.zeros((2, 2)), 1.0), np.zeros(3)):
        with pytest.raises(ShapeError, match='out'):
            kernel(*given, out=out)


def test_out_may_be_an_input(single):
    """The input itself, or an overlapping part of memory, may take the result."""
    x = np.arange(5.0)
    expected = single(x).tolist()
    assert single(x, out=x) is x
    assert x.tolist() == expected
    memory = np.arange(-1.0, 5.0)
    single(memory[1:], out=memory[:5])
    assert memory[:5].tolist() == expected


@pytest.mark.parametrize('first, last', [(0, 0), (1, 0), (0, 3), (4, 0), (5, 0), (0, 5)])
def test_a_result_over_an_input_that_is_not_finite(first, last, single):
    """What is explained is the arguments as they were given, wherever the result is written."""
    memory = np.ones(15)
    x = memory[first:first + 5]
    x[:] = 1.0, 2.0, 3.0, 4.0, 1e308             # twice the last is infinite
    out = memory[last:last + 5]
    seen = []

    def explain(arrays, state):
        seen.append(np.array(arrays[0]).tolist())
        return ArithmeticError('not finite')
    with pytest.raises(ArithmeticError):
        single.caller(explain=explain)(x, out=out)
    assert seen == [[1.0, 2.0, 3.0, 4.0, 1e308]]
    x[:] = 1.0, 2.0, 3.0, 4.0, 1e308
    assert single(x, out=out) is out and np.isinf(out).tolist() == [False] * 4 + [True]


def test_fixed_arguments_are_read_at_every_call(kernel):
    """A caller with fixed arrays sees what is written into them, and still checks them."""
    q, m, t = np.array([0.3, -0.4]), np.arange(6.0).reshape(2, 3), np.array(1.5)
    call = kernel.caller(m, t)
    same(call(q), kernel(q, m, t))
    same(call(q.tolist()), kernel(q, m, t))
    m[:], t[...] = 7.0, -2.0
    same(call(q), kernel(q, m, t))
    m[1, 1] = np.nan
    with pytest.raises(NonFiniteError, match=r'^m\[1, 1\]'):
        call(q)
    with pytest.raises(TypeError, match='takes 3 arguments'):
        call(q, m)


class Named(NamedTuple):
    """Results by name."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray


def test_named_results_are_made_by_the_machine_code(kernel, monkeypatch):
    """A caller returns the type of tuple it was made with, on both paths, and leaks none."""
    q, m, t = np.array([0.3, -0.4]), np.arange(6.0).reshape(2, 3), np.array(1.5)
    call, expected = kernel.caller(m, t, result=Named), kernel(q, m, t)
    assert type(expected) is tuple
    by_slow_path = call(q.tolist())
    out = tuple(np.zeros_like(x) for x in expected)
    assert call(q, out=out) is out                          # what is given is returned as it is
    many = call(np.tile(q, (4, 1)))
    monkeypatch.setattr(Kernel, '__call__', None)           # from here on, machine code alone
    found = call(q)
    for result in (found, by_slow_path):
        assert type(result) is Named and result._fields == ('a', 'b', 'c')
        same(tuple(result), expected)
    assert type(many) is Named and many.b.shape == (4, 2, 2)
    assert gc.is_tracked(found)
    fresh = call(q)
    counts = sys.getrefcount(fresh), sys.getrefcount(fresh[0]), sys.getrefcount(Named)
    for _ in range(100):
        call(q)
    assert counts == (2, 2, sys.getrefcount(Named))


def test_references_are_balanced(kernel, single):
    """Calls neither keep nor lose a reference to what they get, give and use."""
    x, q, m, t = np.ones(5), np.ones(2), np.ones((2, 3)), 1.25
    outs = np.zeros(3), np.zeros((2, 2)), np.zeros(())
    out = np.zeros(5)
    kind = np.dtype(np.float64)
    watched = [x, q, m, t, out, outs, *outs, kind]

    def call():
        for _ in range(1000):
            single(x)
            single(x, out=out)
            kernel(q, m, t)
            kernel(q, m, t, out=outs)
            try:
                single(q)
            except ShapeError:
                pass
    call()
    before = [sys.getrefcount(a) for a in watched]
    call()
    assert np.abs(np.subtract([sys.getrefcount(a) for a in watched], before)).max() < 50


def test_bound_call_allocates_nothing(kernel):
    """A bound call, by object or function, leaves the interpreter's memory as it was."""
    bound = kernel.bind()
    run = bound.run
    for call in (bound, run):
        call()
        gc.collect()
        counts = []
        tracemalloc.start()
        for _ in range(20):
            before = sys.getallocatedblocks()
            call()
            call()
            call()
            counts.append(sys.getallocatedblocks() - before)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        for _ in range(1000):
            call()
        again = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert min(counts) == 0 and max(counts[1:]) <= 1  # the integers of the test itself
        assert again <= peak + 200


def test_bound_buffers(kernel):
    """Buffers are contiguous, aligned to cache lines, apart from each other, and used."""
    bound = kernel.bind()
    buffers = [*bound.inputs.values(), *bound.outputs.values()]
    for k, a in enumerate(buffers):
        assert a.flags.carray and a.dtype == np.float64 and a.ctypes.data % 64 == 0
        assert not any(np.shares_memory(a, b) for b in buffers[:k])
    bound.inputs['q'][:], bound.inputs['m'][:], bound.inputs['t'][...] = 0.5, 2.0, 3.0
    assert bound() is None
    same(tuple(bound.outputs.values()), kernel(np.full(2, 0.5), np.full((2, 3), 2.0), 3.0))
    with pytest.raises(TypeError):
        bound(1)


def test_functions_outlive_their_kernel():
    """A function kept by the caller works after kernel and bound object are gone."""
    kernel = compile_graph(trace(swap, {'x': 5}), backend='llvm', cache=False)
    call, run = kernel.caller(), kernel.bind()
    buffer, run = run.inputs['x'], run.run
    alive = weakref.ref(kernel.program)
    expected = kernel(np.ones(5)).tolist()
    del kernel
    gc.collect()
    buffer[:] = 1.0
    run()
    assert call(np.ones(5)).tolist() == expected
    assert alive() is not None
    del call, run, buffer
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize('gated', [True, False])
def test_a_bound_array_cannot_be_replaced(gated, monkeypatch):
    """What would silently bind a name to another array is refused; writing into it works."""
    monkeypatch.setattr(object_layout, 'verified', lambda: gated)
    bound = compile_graph(trace(swap, {'x': 5}), backend='llvm', cache=False).bind()
    x = np.arange(5.0)
    for attempt in (lambda: bound.inputs.__setitem__('x', x), lambda: bound.inputs.update(x=x),
                    lambda: bound.inputs.pop('x'), lambda: bound.inputs.__setitem__('y', x),
                    lambda: bound.inputs.__ior__({'x': x}), lambda: bound.inputs.clear(),
                    lambda: bound.outputs.setdefault('z', x)):
        with pytest.raises(TypeError, match=r'Write into it: buffers\[".*"\]\[:\] = values'):
            attempt()
    with pytest.raises(AttributeError, match='write into its arrays'):
        bound.inputs = {'x': x}
    bound.inputs['x'][:] = x
    bound.inputs['x'] += 1.0            # the same array comes back
    bound()
    assert bound.outputs['y' if 'y' in bound.outputs else next(iter(bound.outputs))].tolist() == [
        (4.0 - k) + 1.0 + 2.0 * (k + 1.0) for k in range(5)]
    assert dict(pickle.loads(pickle.dumps(bound.inputs)))['x'].tolist() == (x + 1.0).tolist()


def test_without_the_gate(monkeypatch):
    """Where objects look different, the portable path gives the same results and errors."""
    monkeypatch.setattr(object_layout, 'verified', lambda: False)
    kernel = compile_graph(trace(swap, {'x': 5}), backend='llvm', cache=False)
    x = np.arange(5.0)
    expected = [x[4 - k] + 2.0 * x[k] for k in range(5)]
    assert kernel(x).tolist() == expected
    assert kernel.caller(x)().tolist() == expected
    assert kernel(x, out=x).tolist() == expected
    bound = kernel.bind()
    bound.inputs['x'][:] = np.arange(5.0)
    bound()
    assert next(iter(bound.outputs.values())).tolist() == expected
    with pytest.raises(NonFiniteError, match=r'x\[1\]'):
        kernel([0.0, np.nan, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(('name', 'other', 'said'), [
    ('FLOAT_VALUE', 8, 'floats or tuples are'), ('TUPLE_SIZE', 8, 'floats or tuples are'),
    ('TUPLE_ITEMS', 16, 'floats or tuples are'), ('DATA', 32, 'arrays are laid'),
    ('NDIM', 64, 'arrays are laid'), ('DESCR', 48, 'arrays are laid'),
    ('FLAGS', 24, 'arrays are laid'), ('C_VERSIONS', (), 'new arrays are laid out')])
def test_the_slow_path_is_said_once(name, other, said, monkeypatch, caplog):
    """Where objects look different the log says so, once however many kernels are made."""
    monkeypatch.setattr(object_layout, name, other)
    object_layout.verified.cache_clear()
    try:
        with caplog.at_level('INFO', 'rbd_ros'):
            for n in (3, 4):
                graph = trace(lambda x: [3.0 * a for a in x], {'x': n})
                kernel = compile_graph(graph, backend='llvm', cache=False)
                assert kernel(np.ones(n)).tolist() == [3.0] * n
                assert not is_machine_code(kernel.caller())
    finally:
        object_layout.verified.cache_clear()
    line, = [r for r in caplog.records if 'slow path' in r.message]
    assert line.levelname == 'WARNING' and said in line.message and 'CPython' in line.message


def test_a_kernel_that_is_only_bound_has_no_call(kernel):
    """Where asked for, the checked call is not compiled: Python gives the same results."""
    bare = compile_graph(kernel.graph, backend='llvm', cache=False, call=False)
    assert is_machine_code(kernel.caller()) and not is_machine_code(bare.caller())
    for call in (True, False):
        lines = gate.module(kernel.inputs, kernel.outputs, call=call)
        assert any('@rbd_call(' in line for line in lines) == call
    arrays = np.array([0.3, -0.4]), np.arange(6.0).reshape(2, 3), 2.0
    same(bare(*arrays), kernel(*arrays))
    with pytest.raises(NonFiniteError, match=r'q\[1\]'):
        bare([0.3, np.nan], *arrays[1:])
    bound = pickle.loads(pickle.dumps(bare)).bind()
    for view, value in zip(bound.inputs.values(), arrays, strict=True):
        view[...] = value
    bound()
    assert [y.tolist() for y in bound.outputs.values()] == [y.tolist() for y in kernel(*arrays)]


def test_a_pickled_kernel_keeps_its_constants():
    """It is compiled again in double precision, to the last digit."""
    kernel = compile_graph(trace(lambda x: [0.1 * x[0]], {'x': 1}), backend='llvm', cache=False)
    again = pickle.loads(pickle.dumps(kernel))
    assert again([1.0]).tolist() == [0.1] and is_machine_code(again.caller())


def test_nothing_is_said_where_objects_are_as_expected(caplog):
    """On this Python calls take the fast path, and the log is silent."""
    object_layout.verified.cache_clear()
    with caplog.at_level('DEBUG', 'rbd_ros'):
        assert object_layout.verified()
    assert not caplog.records


def test_exit_is_clean():
    """A process that still holds kernels and functions at its end leaves without a crash."""
    code = """
import numpy as np
from rbd_ros.compiler import compile, sin, trace
k = compile(trace(lambda x: [sin(a) for a in x], {'x': 9}), backend='llvm', cache=False)
b = k.bind()
k.batch(np.ones((100, 9)), threads=2)
class Last:
    def __del__(self):
        b.run()
        self.k(np.ones(9))
last = Last()
last.k, last.me = k, last
"""
    subprocess.run([sys.executable, '-c', code], check=True, timeout=patient(60))


@pytest.mark.parametrize('operations', [1, 3000])
def test_zeros_of_a_bound_kernel_are_left_out(operations):
    """A large sparse result keeps its zeros in its own memory only: nobody can write there."""
    def sparse(x):
        value = x[0]
        for _ in range(operations):
            value = value * x[1] + x[0]
        rows = [[0.0] * 50 for _ in range(50)]
        rows[3][4], rows[49][49], rows[7][7] = value, x[0] - x[1], 2.5
        return {'Y': rows, 'y': [value]}

    kernel = compile_graph(trace(sparse, {'x': 2}), backend='llvm', cache=False)
    x = np.array([0.25, 0.5])
    expected = np.zeros((50, 50))
    bound, out = kernel.bind(), (np.full((50, 50), 9.0), np.zeros(1))
    kernel(x, out=out)                          # arrays of the caller get every element
    expected[3, 4], expected[49, 49], expected[7, 7] = out[1][0], -0.25, 2.5
    assert out[1][0] == pytest.approx(0.5 if operations > 1 else 0.375)
    assert (out[0] == expected).all() and (kernel(x)[0] == expected).all()
    for _ in range(2):
        bound.inputs['x'][:] = x
        bound()
        assert (bound.outputs['Y'] == expected).all() and bound.outputs['y'] == out[1]
    with pytest.raises(ValueError, match='read-only'):
        bound.outputs['Y'][0, 0] = 1.0
    bound.outputs['y'][0] = 1.0                 # has no zeros
    many = kernel.batch(np.tile(x, (3, 1)))[0]
    assert (many == expected).all()
