# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Machine code against the reference: every operation, every special value, any graph."""

import ctypes
from dataclasses import replace
import math
import random
import struct

from hypothesis import assume, given, settings, strategies as st
import numpy as np
import pytest
from random_graphs import ARITY, EVERY, Program, programs, random_program
from rbd_ros.compiler import compile as compile_graph, cos, sin, trace
from rbd_ros.compiler.graph import float_functions
from rbd_ros.compiler.graph.functions import OPERATIONS
from rbd_ros.compiler.graph.graph import Columns
from rbd_ros.compiler.graph.partition import operations
from rbd_ros.compiler.native.constant_table import in_memory
from rbd_ros.compiler.native.instructions import Lanes
from rbd_ros.compiler.native.loader import Code
from rbd_ros.compiler.native.modules import in_parts, PART, part_size, scalar_modules, UNROLLED
from rbd_ros.compiler.native.target import host
from sampling import examples

pytest.importorskip('llvmlite', reason='llvmlite is not installed')

EXACT = tuple(op for op in EVERY if op not in ('sin', 'cos'))
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-310, 1e308, -1e308, math.inf, -math.inf, math.nan)
FUNCTIONS = {**OPERATIONS, 'neg': lambda a: -a, 'add': lambda a, b: a + b,
             'sub': lambda a, b: a - b, 'mul': lambda a, b: a * b, 'div': float_functions.div}


def run(graph, *inputs, size=1000, fused=True, table=False):
    """Return the outputs of the scalar kernel, called without any gate."""
    texts = scalar_modules(graph, size=size, fused=fused, table=table)
    code = Code([host().emit(text) for text in texts])
    arrays = [np.array(x, float) for x in inputs]
    outputs = [np.zeros(a.shape) for a in graph.outputs]
    pointers = [x.ctypes.data for x in arrays + outputs]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(code.address('rbd_kernel'))(
        *pointers)
    return outputs[0]


def bits(value):
    """Return the bits of a double; all NaN are the same."""
    return 'nan' if value != value else struct.pack('<d', value)


def ulps(value, reference):
    """Return the distance in units of the last place of the reference."""
    return abs(value - reference) / math.ulp(reference)


@pytest.mark.parametrize('op', sorted(OPERATIONS))
def test_every_operation_on_special_values(op):
    """Each operation gives the reference's bits on zeros, infinities, NaN and ordinary values."""
    arity = ARITY.get(op, 1)
    rows = [[SPECIAL[k // len(SPECIAL)**j % len(SPECIAL)] for j in range(arity)]
            for k in range(len(SPECIAL)**arity)]
    if arity == 3:
        rows = rows[::7]
    graph = trace(lambda x: [OPERATIONS[op](*row) for row in x], {'x': (len(rows), arity)})
    values = run(graph, rows, fused=False)
    for row, value in zip(rows, values, strict=True):
        expected = FUNCTIONS[op](*row)
        if op in ('sin', 'cos') and expected == expected:  # the sine of -0.0 is 0.0
            assert ulps(value, expected) <= 2.0, row
        else:
            assert bits(value) == bits(expected), row


@settings(max_examples=examples('properties', 40), deadline=None)
@given(programs(EXACT), st.lists(st.sampled_from(SPECIAL) | st.floats(-3.0, 3.0),
                                 min_size=4, max_size=4))
def test_random_graphs_to_the_last_bit(program, state):
    """Without fusing, any graph gives the reference's bits, NaN and infinity included."""
    x = state[:program.size]
    graph = trace(program, {'x': program.size})
    expected = graph.evaluate(x)
    assert [bits(v) for v in run(graph, x, fused=False)] == [bits(v) for v in expected]


@settings(max_examples=examples('properties', 25), deadline=None)
@given(programs(('add', 'sub', 'mul', 'neg', 'sin', 'cos', 'sqrt', 'min', 'max')),
       st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4), st.integers(0, 99))
def test_random_graphs_to_rounding(program, state, seed):
    """As compiled for use, results stay inside what rounding does to the reference."""
    x, rng = state[:program.size], random.Random(seed)
    graph = trace(program, {'x': program.size})
    noisy = [_noisy(graph, x, rng) for _ in range(12)]
    assume(all(math.isfinite(v) for y in noisy for v in y))
    for k, value in enumerate(run(graph, x)):
        seen = [y[k] for y in noisy]
        spread = max(seen) - min(seen)
        assume(spread < 1e-6 * (1.0 + abs(seen[0])))
        # The noise is four times a rounding; its spread over a dozen runs bounds the error.
        assert abs(value - seen[0]) <= 4.0 * spread + 1e-14 * (1.0 + abs(seen[0]))


@pytest.mark.parametrize('m', [1, 2, 7, 8, 21])
@pytest.mark.parametrize('scalar', ['float64', 'float32'])
def test_a_loop_over_columns_gives_what_the_whole_gives(m, scalar):
    """Groups of any number of columns; results of the first step, and an output as an input."""
    n, rng = 3, np.random.default_rng(m)
    A, B = rng.normal(size=(n, n)).astype(scalar), rng.normal(size=(n, m)).astype(scalar)

    def first(A, B):
        return {'lower': [sin(A[0][0]), *A[1][:2], *A[2]],
                'B2': [[2.0 * b for b in row] for row in B],
                'C': [[-b for b in row] for row in B], 'D': A[0]}

    def column(lower, b):
        x, y, z = b
        return {'x': [lower[0] * x + 1.0, lower[1] * x - lower[2] * y,
                      -(lower[3] * x + lower[4] * y + lower[5] * z)]}

    def everything(A, B):
        found = first(A, B)
        of = [[list(row) for row in zip(*[column(found['lower'], b)['x']
                                          for b in zip(*found[name])])] for name in ('B2', 'C')]
        return {'X': of[0], 'D': found['D'], 'Y': of[1]}
    shapes = {'A': (n, n), 'B': (n, m)}
    graph = trace(everything, shapes, name='whole')
    looped = replace(graph, columns=Columns(
        trace(first, shapes, name='first'), trace(column, {'lower': 6, 'b': 3}, name='column'),
        (('B2', 'X'), ('C', 'Y'))))
    kernel = compile_graph(looped, backend='llvm', cache=False, scalar=scalar)
    limit = 1e-14 if scalar == 'float64' else 1e-5
    expected = graph.evaluate(A.ravel().tolist(), B.ravel().tolist())
    np.testing.assert_allclose(np.concatenate([x.ravel() for x in kernel(A, B)]), expected,
                               rtol=limit, atol=limit)
    kernel.run([A, B], [B, np.zeros(n, scalar), np.zeros((n, m), scalar)])
    np.testing.assert_allclose(B.ravel(), expected[:n * m], rtol=limit, atol=limit)


def _noisy(graph, x, rng):
    """Evaluate a graph with every result off by up to four roundings."""
    work = []
    for op, args, value in graph.nodes:
        if op in ('const', 'input'):
            work.append(value if op == 'const' else x[value[1]])
        else:
            result = FUNCTIONS[op](*[work[a] for a in args])
            exact = op in ('neg', 'min', 'max')
            work.append(result if exact else result * (1.0 + rng.uniform(-1, 1) * 2.0**-50))
    return [work[r] for r in graph.results]


def test_parts_give_the_same_bits_as_one_function():
    """Cutting a graph changes nothing, whatever the size of the parts."""
    rng = random.Random(3)
    program = Program(4, random_program(rng, EXACT, 400).lines, 40)
    graph = trace(program, {'x': 4})
    x = [0.3, -1.2, 2.0, 0.7]
    whole = run(graph, x, size=10**6, fused=False)
    assert [bits(v) for v in whole] == [bits(v) for v in graph.evaluate(x)]
    for size, table in ((1, False), (7, True), (50, False), (10**6, True)):
        found = run(graph, x, size=size, fused=False, table=table)
        assert [bits(v) for v in found] == list(map(bits, whole))


def test_constants_come_from_a_table():
    """Constants that cost instructions become loads of one table entry each, before their use."""
    lanes = Lanes(2)
    a, b, one = (lanes.constant(x) for x in (0.1, 0.2, 1.0))
    real = '<2 x double>'
    lines = [f'%n1 = fmul {real} {a}, %x', f'%n2 = fadd {real} {b}, {a}',
             f'%n3 = fmul {real} {one}, {a}', f'store {real} {b}, ptr %y']
    declared, found = in_memory(lines, lanes, 'table')
    assert len(declared) == 1 and declared[0].count('double') == 1 + 2 * 3  # two entries
    text = '\n'.join(found)
    assert text.count('load') == 4 and text.count(a) == 0 and text.count(one) == 1
    assert found[-1] == lines[-1]
    assert in_memory(['ret void'], lanes, 'table') == ([], ['ret void'])


def test_a_difference_of_products_fuses_the_second():
    """Of a*b - c*d only c*d is fused: the other way costs a negation on aarch64."""
    graph = trace(lambda x: [x[0] * x[1] - x[2] * x[3], x[0] * x[2] - x[1]], {'x': 4})
    first, second, third = (line for line in scalar_modules(graph)[0].splitlines()
                            if '= fmul' in line)
    assert ['contract' in line for line in (first, second, third)] == [False, True, True]


def test_parts_cover_the_graph_once():
    """Every operation is in one part; what a part loads was saved before and is not yet gone."""
    program = Program(4, random_program(random.Random(5), EVERY, 300).lines, 30)
    graph = trace(program, {'x': 4})
    parts, slots = in_parts(graph, 20)
    assert sorted(i for part in parts for i in part.nodes) == operations(graph)
    memory = {}
    for part in parts:
        assert len(part.nodes) <= 20
        for node, slot in part.loads.items():
            assert memory[slot] == node
        assert not set(part.loads.values()) & set(part.stores.values())
        memory.update({slot: node for node, slot in part.stores.items()})
    assert set(memory) == set(range(slots))


def test_a_graph_that_keeps_much_alive_is_left_whole():
    """A long graph is cut where little crosses, and left whole where most of it would."""
    def chain(x):
        y = x[0]
        for k in range(3 * PART):
            y = sin(y) if k % 2 else y * x[1]
        return y

    def crossed(x):
        early = [x[k % 8] * (k + 0.5) for k in range(PART)]
        total = sum(early[1:], early[0])        # needs them all, and each is used again
        return [a * total for a in early]
    cut, whole = trace(chain, {'x': 2}), trace(crossed, {'x': 8})
    assert part_size(cut) == PART and len(in_parts(cut, part_size(cut)).parts) > 1
    assert len(in_parts(whole, PART).parts) > 1
    assert len(in_parts(whole, part_size(whole)).parts) == 1


@pytest.mark.parametrize('count', [1, 2, 4, 5, 9])
def test_sine_and_cosine(count):
    """Both are within two units in the last place of the C library's, near pi/2 too."""
    rng = np.random.default_rng(count)
    near = [k * (math.pi / 2) * (1.0 + 1e-16 * d) for k in (1, 2, 3, 17, 1001, 636000)
            for d in (-3, 0, 1)]
    angles = np.concatenate([rng.uniform(-7, 7, 200), rng.uniform(-1e6, 1e6, 200), near,
                             10.0 ** rng.uniform(-12, 0, 50), [1e6, 1.1e6, 1e15, -1e300]])
    angles = np.resize(angles, -(-len(angles) // count) * count).reshape(-1, count)
    graph = trace(lambda x: [[sin(a) for a in x], [cos(a) for a in x]], {'x': count})
    bound = compile_graph(graph, backend='llvm', cache=False).bind()
    (x,), (y,) = bound.inputs.values(), bound.outputs.values()
    worst = 0.0
    for row in angles:
        x[:] = row
        bound()
        for k, angle in enumerate(row):
            worst = max(worst, ulps(y[0, k], math.sin(angle)), ulps(y[1, k], math.cos(angle)))
    assert worst <= 2.0


@pytest.mark.parametrize('count, size', [(6, 1000), (6, 3), (UNROLLED, 20), (UNROLLED + 1, 20)])
def test_an_output_may_be_an_input(count, size):
    """All inputs are read before any output is written: whole, in parts, copied by a loop."""
    def rotate(x):
        return [sin(x[(k + 1) % count]) * x[k] + x[count - 1 - k] for k in range(count)]
    graph = trace(rotate, {'x': count})
    code = Code([host().emit(text) for text in scalar_modules(graph, size=size)])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        code.address('rbd_kernel'))
    start = np.linspace(-1, 1, count + 2)
    for shift in (0, 1, -1):
        memory = np.zeros(count + 4)
        memory[1:-1] = start
        source, target = memory[2:count + 2], memory[2 + shift:count + 2 + shift]
        expected = graph.evaluate(source.tolist())
        function(source.ctypes.data, target.ctypes.data)
        assert target.tolist() == pytest.approx(expected, rel=1e-14)


def test_leaves_as_results():
    """Results may be inputs, constants, and the same value several times."""
    graph = trace(lambda x: [x[1], 3.0, x[0], x[0] + x[1], x[1], x[0] + x[1]], {'x': 2})
    assert run(graph, [4.0, 5.0]).tolist() == [5.0, 3.0, 4.0, 9.0, 5.0, 9.0]
    assert run(graph, [4.0, 5.0], size=1).tolist() == [5.0, 3.0, 4.0, 9.0, 5.0, 9.0]
