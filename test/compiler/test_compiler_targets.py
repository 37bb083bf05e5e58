# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The number type and the processor are parameters of the back ends."""

import ctypes
import os
import random
import struct
import subprocess
import sys

from c_functions import COMPILER, library
import numpy as np
import pytest
from random_graphs import Program, random_program
import rbd_ros
from rbd_ros import compiler
from rbd_ros.compiler import (
    code_size, compile as compile_graph, emit_c, emit_objects, host, sin, sqrt, tan, Target,
    trace)
from rbd_ros.compiler.native.loader import Code
from rbd_ros.compiler.native.modules import scalar_modules
from rbd_ros.compiler.native.target import binding, quick
from rbd_ros.compiler.scalar import FLOAT32
from rbd_ros.samples.families import general_chain

EXACT = ('add', 'sub', 'mul', 'div', 'neg', 'sqrt', 'min', 'max', 'lt', 'le', 'select', 'eq',
         'and', 'or', 'not', 'finite', 'floor')


def known(truth, a, b):
    """Return a truth as number, NaN where an operand is."""
    return np.float32(truth if a == a and b == b else np.nan)


#: What one operation does to numbers of single precision, by NumPy.
BY_NUMPY = {
    'add': np.add, 'sub': np.subtract, 'mul': np.multiply, 'div': np.divide, 'neg': np.negative,
    'sqrt': np.sqrt, 'min': np.minimum, 'max': np.maximum, 'abs': np.abs,
    'lt': lambda a, b: known(a < b, a, b),
    'le': lambda a, b: known(a <= b, a, b),
    'eq': lambda a, b: known(a == b, a, b),
    'and': lambda a, b: known(np.logical_and(a, b), a, b),
    'or': lambda a, b: known(np.logical_or(a, b), a, b),
    'not': lambda a: known(np.logical_not(a), a, a),
    'finite': lambda a: np.float32(np.isfinite(a)), 'floor': np.floor,
    'select': lambda c, a, b: c if c != c else a if c != 0 else b,
}
#: Machine of an ELF file by architecture.
MACHINES = {'x86_64': 62, 'aarch64': 183, 'riscv64': 243}

pytest.importorskip('llvmlite', reason='llvmlite is not installed')


def single(graph, x):
    """Return the results of a graph with every operation in single precision, by NumPy."""
    work = []
    with np.errstate(all='ignore'):
        for op, args, value in graph.nodes:
            if op in ('const', 'input'):
                work.append(np.float32(value if op == 'const' else x[value[1]]))
            else:
                work.append(BY_NUMPY[op](*[work[a] for a in args]))
    return [work[k] for k in graph.results]


def called(function, graph, x):
    """Return what a function of two pointers leaves."""
    source = np.array(x, np.float32)
    target = np.full(sum(a.size for a in graph.outputs), 7.0, np.float32)
    function.argtypes, function.restype = [ctypes.c_void_p] * 2, None
    function(source.ctypes.data, target.ctypes.data)
    return target


@pytest.fixture(scope='module')
def arithmetic():
    """Return a graph of a few hundred exact operations, and states."""
    program = Program(4, random_program(random.Random(4), EXACT, 400).lines, 60)
    graph = trace(program, {'x': program.size})
    assert {node.op for node in graph.nodes} >= set(EXACT)
    return graph, np.random.default_rng(4).uniform(-3.0, 3.0, (20, program.size))


@pytest.mark.parametrize('size', [1000, 40])
def test_machine_code_in_single_precision_to_the_last_bit(arithmetic, size):
    """Every operation of a float32 kernel rounds as NumPy's float32 does, whole or in parts."""
    graph, states = arithmetic
    code = Code([host().emit(text) for text in scalar_modules(
        graph, size=size, fused=False, scalar=FLOAT32)])
    function = ctypes.CFUNCTYPE(None)(code.address('rbd_kernel'))
    for x in states:
        np.testing.assert_array_equal(called(function, graph, x), single(graph, x))


@pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')
@pytest.mark.parametrize('size', [4000, 40])
def test_c_in_single_precision_to_the_last_bit(arithmetic, size):
    """C source of floats contains no double, and rounds as NumPy's float32 does."""
    graph, states = arithmetic
    source, header = emit_c(graph, 'single', scalar='float', max_nodes=size)
    assert 'double' not in source + header and 'sqrtf(' in source and 'sqrt(' not in source
    made = library({'single.c': source, 'single.h': header}, [
        '-std=c99', '-Wall', '-Wextra', '-Werror', '-Wdouble-promotion', '-O1',
        '-ffp-contract=off'])
    function = getattr(made, f'single_{graph.name}')
    for x in states:
        np.testing.assert_array_equal(called(function, graph, x), single(graph, x))


def functions(x):
    """Return values that need angles, square roots and the C library."""
    return [sin(x[0]) * x[1] + sqrt(x[2]), tan(x[1]), sin(x[0] + x[1]), 0.1 * x[2], 3.0]


@pytest.mark.parametrize('count', [3, 50])
def test_kernels_in_single_precision(count):
    """Single states, batches and bound kernels of float32 agree with float64 to its rounding."""
    graph = trace(functions, {'x': 3})
    narrow, wide = (compile_graph(graph, scalar=name, cache=False)
                    for name in ('float32', 'float64'))
    x = np.random.default_rng(1).uniform(0.1, 1.4, (count, 3)).astype(np.float32)
    expected = wide.batch(x)
    many = narrow.batch(x)
    one = narrow(x[0].astype(float))       # converted, as a kernel of float64 would
    bound = narrow.bind()
    bound.inputs['x'][:] = x[0]
    bound()
    assert {a.dtype for a in (many, one, bound.outputs['out'])} == {np.dtype(np.float32)}
    np.testing.assert_allclose(many, expected, rtol=5e-7)
    np.testing.assert_allclose(one, expected[0], rtol=5e-7)
    np.testing.assert_array_equal(bound.outputs['out'], one)
    with pytest.raises(ValueError, match='writable float32 array'):
        narrow(x[0], out=np.empty(5))


def test_what_single_precision_cannot_hold_is_refused():
    """A constant beyond float32, a type nobody knows, and the Python back end are errors."""
    for value, becomes in ((1e-60, '0.0'), (1e60, 'inf')):
        graph = trace(lambda x, c=value: x[0] * c, {'x': 1})
        for attempt in (lambda g: compile_graph(g, scalar='float32', cache=False),
                        lambda g: emit_c(g, scalar='float'),
                        lambda g: emit_objects(g, scalar='float32')):
            with pytest.raises(ValueError, match=f'which becomes {becomes} in float32'):
                attempt(graph)
    graph = trace(functions, {'x': 3})
    with pytest.raises(ValueError, match='no scalar type "half"'):
        compile_graph(graph, scalar='half')
    with pytest.raises(ValueError, match='Python back end computes in float64'):
        compile_graph(graph, scalar='float32', backend='python')


@pytest.mark.parametrize('architecture', sorted(MACHINES))
@pytest.mark.parametrize('scalar', ['float64', 'float32'])
def test_objects_for_other_processors(architecture, scalar):
    """One graph becomes object code for the architecture that is asked for."""
    graph = trace(functions, {'x': 3})
    features = '+d' if architecture == 'riscv64' else ''
    target = Target(f'{architecture}-unknown-linux-gnu', '', features)
    try:
        first, *_ = emit_objects(graph, scalar=scalar, target=target)
    except RuntimeError:
        pytest.skip(f'this llvmlite makes no code for {architecture}')
    assert first[:4] == b'\x7fELF' and int.from_bytes(first[18:20], 'little') == MACHINES[
        architecture]


def test_a_plain_processor_of_this_architecture():
    """Code without the features of this very processor runs here, with narrower batches."""
    graph = trace(functions, {'x': 3})
    plain = Target(host().triple, '', '')
    x = np.random.default_rng(1).uniform(0.1, 1.4, (9, 3))
    expected = compile_graph(graph, cache=False).batch(x)
    np.testing.assert_allclose(compile_graph(graph, target=plain, cache=False).batch(x), expected,
                               rtol=1e-14)
    assert plain.lanes == 2 and plain.width(FLOAT32) == 4


@pytest.mark.parametrize('machine, name, expected', [
    ('aarch64', 'generic', 'cortex-a72'), ('aarch64', '', 'cortex-a72'),
    ('aarch64', 'neoverse-n1', 'neoverse-n1'), ('x86_64', 'generic', 'generic')])
def test_an_unknown_processor_is_not_taken_for_a_small_one(monkeypatch, machine, name, expected):
    """Code for it is ordered as for a processor that runs instructions out of order."""
    llvm = binding()
    monkeypatch.setattr(llvm, 'get_process_triple', lambda: f'{machine}-unknown-linux-gnu')
    monkeypatch.setattr(llvm, 'get_host_cpu_name', lambda: name)
    assert host.__wrapped__().cpu == expected


QUICK = """
import hashlib
import numpy as np
from rbd_ros import Dynamics
from rbd_ros.samples.families import general_chain
from rbd_ros.compiler.native.llvm_kernel import emit_objects
from rbd_ros.compiler.native.target import quick
robot = Dynamics(general_chain(4), cache=True)
states = np.random.default_rng(1).normal(size=(3, 20, 4))
found = [robot.forward_dynamics(*states), *robot.inverse_dynamics_derivatives(*states[:, 0])]
code = b''.join(emit_objects(robot.kernel('forward_dynamics').graph))
print(quick(), *(hashlib.sha256(each).hexdigest() for each in (
    code, b''.join(each.tobytes() for each in found))))
"""


def test_quickly_compiled_code_has_the_same_results_and_its_own_place(tmp_path):
    """
    Instructions have another order and other registers, but results are the same to the last bit.

    Also where values outnumber the registers, as in the derivatives, and for a batch.
    """
    said = []
    for wish in ('quick', '', 'quick'):
        done = subprocess.run(
            [sys.executable, '-c', QUICK], capture_output=True, text=True, check=False,
            env={**os.environ, 'RBD_ROS_COMPILE': wish, 'RBD_ROS_CACHE': str(tmp_path)})
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split())
    assert [words[0] for words in said] == ['True', 'False', 'True']
    assert said[0] == said[2] and said[0][1] != said[1][1]
    assert len({words[2] for words in said}) == 1
    assert len(list(tmp_path.rglob('*.rbd'))) == 6      # neither is taken for the other


def test_code_that_cannot_run_here_is_refused():
    """Another architecture, or features that this processor lacks, are not loaded."""
    graph = trace(functions, {'x': 3})
    other = 'aarch64' if host().triple.startswith('x86_64') else 'x86_64'
    for target in (Target(f'{other}-unknown-linux-gnu', '', ''),
                   Target(host().triple, '', '+no-such-feature')):
        with pytest.raises(ValueError, match='does not run on this processor'):
            compile_graph(graph, target=target, cache=False)


def test_importing_the_package_loads_no_code_generator():
    """A program that finds its kernels on disk does not pay for what makes them."""
    code = ("import sys, rbd_ros; sys.exit(int(any(name.endswith(('.native.llvm_kernel', "
            "'.native.instructions')) or name == 'llvmlite' for name in sys.modules)))")
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0
    assert callable(compiler.emit_objects)
    with pytest.raises(AttributeError, match="has no attribute 'emit_subjects'"):
        compiler.emit_subjects  # noqa: B018


def executable_bytes(data):
    """Return the size of the sections of an ELF file that hold instructions, by its headers."""
    start, = struct.unpack_from('<Q', data, 0x28)
    size, count = struct.unpack_from('<HH', data, 0x3A)
    headers = [struct.unpack_from('<IIQQQQ', data, start + k * size) for k in range(count)]
    return sum(length for _, kind, flags, _, _, length in headers if kind == 1 and flags & 4)


@pytest.mark.seed('RBDA 10-24')
@pytest.mark.parametrize('architecture', ['x86_64', 'aarch64'])
def test_size_of_the_code_grows_with_the_operations(architecture):
    """Straight lines: so many bytes for each operation, on any processor, however long."""
    target = Target(f'{architecture}-unknown-linux-gnu', '', '')
    operations, sizes = [], []
    for n in (2, 4, 8, 16):
        robot = rbd_ros.Dynamics(general_chain(n), backend='python')
        graph = robot.kernel('inverse_dynamics').graph
        objects = emit_objects(graph, target=target)
        assert code_size(objects) == sum(map(executable_bytes, objects)) > 0
        operations.append(graph.count().total)
        sizes.append(code_size(objects))
    slopes = np.diff(sizes) / np.diff(operations)
    # past 2000 operations the code is cut, and keeps values in memory in between
    assert slopes.max() < 2.0 * slopes.min()
    # in bytes; made quickly, without a search for registers, each value goes through memory
    assert 3.0 < slopes.min() and slopes.max() < (32.0 if quick() else 16.0)
    assert code_size(objects * 2) == 2 * sizes[-1] and code_size([]) == 0
