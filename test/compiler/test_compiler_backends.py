# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The source backends against the reference: Python, NumPy columns, C99, and layouts of graphs."""

import ctypes
import math
import random
import shutil
import subprocess

from c_functions import build, COMPILER, STRICT
from hypothesis import given, settings
import numpy as np
import pytest
from random_graphs import ARITY, EVERY, programs, random_program, states
from rbd_ros.compiler import compile_python, emit_c, emit_python, minimum, trace
from rbd_ros.compiler.graph.functions import OPERATIONS
from rbd_ros.compiler.graph.partition import (
    angles_first, even, narrow, operations, partition)
from rbd_ros.compiler.source.python import PythonKernel
from sampling import examples

needs_compiler = pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')


def same(found, expected):
    """Return whether two lists of floats are equal, NaN included."""
    return np.array_equal(np.array(found), np.array(expected), equal_nan=True)


@given(programs(), states())
@settings(max_examples=examples('properties', 150), deadline=None)
def test_python_backend_is_the_reference(program, x):
    """Generated Python gives the values of the graph bit for bit, in one piece and in many."""
    graph = trace(program, {'x': program.size})
    expected = graph.evaluate(x)
    assert same(compile_python(graph)(x[:program.size]), expected)
    namespace = {}
    exec(emit_python(graph, max_nodes=4), namespace)
    assert same(namespace['f'](x[:program.size]), expected)


@needs_compiler
@pytest.mark.parametrize('max_nodes', [4000, 7])
def test_c_backend_is_the_reference(max_nodes):
    """Generated C gives the values of forty random graphs bit for bit, without a warning."""
    rng = random.Random(5)
    graphs = [trace(random_program(rng), {'x': 4}, name=f'g{k}', simplify=k % 2 == 0)
              for k in range(40)]
    for graph, function in zip(graphs, build(graphs, max_nodes=max_nodes)):
        for _ in range(5):
            x = [rng.uniform(-3.0, 3.0) for _ in range(4)]
            # The C library is the one of the interpreter, so even its functions agree.
            assert same(function(x), graph.evaluate(x)), graph.name


@given(programs(tuple(op for op in EVERY if op not in (
    'sin', 'cos', 'tan', 'asin', 'acos', 'atan2', 'exp', 'log', 'tanh'))), states())
@settings(max_examples=examples('properties', 100), deadline=None)
def test_batch_is_the_loop(program, x):
    """A batch on NumPy columns gives, state by state, the single results bit for bit."""
    kernel = PythonKernel(trace(program, {'x': program.size}))
    table = np.array([x, x[::-1], [0.0] * 4, [1.0] * 4])[:, :program.size]
    found = kernel.batch(table)
    for row, result in zip(table, found):
        assert same(kernel(row), result)


def test_batch_functions_agree_with_the_c_library():
    """Functions of NumPy differ from the C library's in the last places only."""
    def function(x):
        return [OPERATIONS[op](x) for op in (
            'sin', 'cos', 'tan', 'asin', 'acos', 'exp', 'log', 'tanh', 'sqrt')] + [
                OPERATIONS['atan2'](x, -0.3)]

    kernel = PythonKernel(trace(function, {'x': ()}))
    x = np.linspace(0.01, 0.99, 1100)
    expected = np.array([kernel(v) for v in x])
    np.testing.assert_allclose(kernel.batch(x), expected, rtol=5e-15)


CASES = [(op, position) for op in OPERATIONS if op != 'finite'
         for position in range(ARITY.get(op, 1))]


def nan_case(op, position):
    """Return graph and inputs in which one operand is NaN and must come through."""
    arity = ARITY.get(op, 1)
    graph = trace(lambda x: OPERATIONS[op](*x), {'x': arity}, name=f'{op}_{position}')
    x = [0.3, 0.4, 0.5][:arity]
    if op == 'select' and position == 2:
        x[0] = 0.0
    x[position] = math.nan
    return graph, x


@pytest.mark.parametrize('op, position', CASES)
def test_nan_goes_through_every_operation(op, position):
    """A NaN in any operand, limits and selected sides included, comes out as NaN."""
    graph, x = nan_case(op, position)
    kernel = PythonKernel(graph)
    out, many = np.zeros(()), np.zeros(3)
    kernel.run([np.array(x)], [out])
    kernel.run_batch([np.array([x] * 3)], [True], [many], 3, None)
    assert math.isnan(graph.evaluate(x)[0])
    assert math.isnan(compile_python(graph)(x)[0])
    assert np.isnan(out)
    assert np.isnan(many).all()


@needs_compiler
def test_special_values_agree_in_c():
    """Infinities, zeros of both signs and arguments out of the domain answer alike."""
    special = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, math.inf, -math.inf, math.nan, 1e308]
    graphs = [trace(lambda x, op=op: OPERATIONS[op](*x), {'x': n}, name=f'{op}_', simplify=False)
              for op, n in ((op, ARITY.get(op, 1)) for op in OPERATIONS)]
    functions = build(graphs)
    rng = random.Random(3)
    for graph, function in zip(graphs, functions):
        python = compile_python(graph)
        for _ in range(60):
            x = [rng.choice(special) for _ in range(graph.inputs[0].size)]
            expected = graph.evaluate(x)
            assert same(function(x), expected), (graph.name, x)
            assert same(python(x), expected), (graph.name, x)


@needs_compiler
@pytest.mark.parametrize('option', ['-ffast-math', '-ffinite-math-only'])
def test_c_refuses_arithmetic_without_nan(tmp_path, option):
    """A compiler that may assume that there is no NaN is told why not."""
    source, header = emit_c(trace(lambda x: minimum(x, 1.0), {'x': ()}, name='limit'), 'kern')
    (tmp_path / 'kern.c').write_text(source)
    (tmp_path / 'kern.h').write_text(header)
    command = [COMPILER, *STRICT, '-c', str(tmp_path / 'kern.c'), '-o', str(tmp_path / 'kern.o')]
    subprocess.run(command, check=True)
    refused = subprocess.run([*command, option], capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert 'NaN must reach the limiters' in refused.stderr


@needs_compiler
def test_c_outputs_may_share_memory_with_inputs():
    """A C function reads all inputs before it writes, in one piece and in several."""
    graph = trace(lambda x: [x[2] * x[1] + x[0], x[0] * x[2] - x[1], x[0] * x[1] / x[2]],
                  {'x': 3}, name='turn')
    for k, max_nodes in enumerate((4000, 2)):
        function, = build([graph], f'alias{k}', max_nodes=max_nodes)
        x = np.array([0.3, 0.7, 1.9])
        expected = graph.evaluate(x.tolist())
        function.function(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(x.ctypes.data))
        assert x.tolist() == expected


@needs_compiler
def test_awkward_names_and_shapes_compile():
    """Keywords, names that clash, unused and empty arguments still give clean C and Python."""
    def function(double, t1, unused, empty, y):
        # The element names double_0 and t1 are names of arguments and temporaries as well.
        return {'double': double[0] * t1 + y[0], 'y': [[t1 - y[1], -1e-320], [math.inf, -0.0]],
                'none': []}

    graph = trace(function, {'double': 1, 't1': (), 'unused': 2, 'empty': 0, 'y': 2}, name='main')
    values = ([2.0], [3.0], [0.0, 0.0], [], [5.0, 7.0])
    expected = [11.0, -4.0, -1e-320, math.inf, 0.0]
    assert graph.evaluate(*values) == expected
    assert compile_python(graph)(*values) == expected
    function, = build([graph], 'odd')
    assert function(*values) == expected


@needs_compiler
def test_header_serves_cplusplus(tmp_path):
    """A C++ program can include the header."""
    compiler = shutil.which('g++')
    if compiler is None:
        pytest.skip('this machine has no g++')
    header = emit_c(trace(lambda x: x * x, {'x': ()}), 'plus').header
    (tmp_path / 'plus.h').write_text(header)
    (tmp_path / 'use.cpp').write_text('#include "plus.h"\n#include "plus.h"\n')
    subprocess.run([compiler, '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                    str(tmp_path / 'use.cpp')], check=True)


def test_c_names_are_checked():
    """Two graphs of one name, or a prefix that is no identifier, are refused."""
    graph = trace(lambda x: x, {'x': ()})
    with pytest.raises(ValueError, match='two graphs have the same name .names: f, f'):
        emit_c([graph, graph])
    with pytest.raises(ValueError, match="prefix 'a-b' is not an identifier"):
        emit_c(graph, 'a-b')


@pytest.mark.parametrize('order, cut', [(operations, narrow), (angles_first, even)])
@given(program=programs(longest=120), x=states())
@settings(max_examples=examples('properties', 60), deadline=None)
def test_parts_compute_the_whole(order, cut, program, x):
    """Parts executed one after another, values crossing through the workspace, give the whole."""
    graph = trace(program, {'x': program.size})
    parts, count = partition(graph, 9, order(graph), cut)
    slots = [math.nan] * count
    results = {}
    for part in parts:
        work = {k: slots[slot] for k, slot in part.loads.items()}
        for k in part.leaves:
            op, _, value = graph.nodes[k]
            work[k] = value if op == 'const' else x[value[1]]
        for k in part.nodes:
            op, args, _ = graph.nodes[k]
            work[k] = OPERATIONS[op](*[work[a] for a in args])
        for k, slot in part.stores.items():
            slots[slot] = work[k]
        results.update({element: work[k] for element, k in part.results})
        assert len(part.nodes) <= 9 or (cut is even and len(parts) == 1)
    assert same([results[k] for k in range(len(results))], graph.evaluate(x))


def test_long_graph_is_cut_where_little_is_alive():
    """A chain of blocks is cut between the blocks, where one value crosses."""
    def function(x):
        y = x[0]
        for _ in range(10):
            parts = [y * a for a in x]
            y = sum(parts[1:], parts[0])
        return y

    parts, slots = partition(trace(function, {'x': 8}), 30)
    assert len(parts) > 4
    assert all(len(part.loads) <= 1 for part in parts)
    assert slots <= 2
