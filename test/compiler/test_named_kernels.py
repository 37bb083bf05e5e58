# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Kernels that procedures call with arguments: the same in every form, and what is refused."""

from __future__ import annotations

import importlib.util

from c_functions import COMPILER
from c_procedure import Built
import numpy as np
import pytest
from random_procedures import bits
from rbd_ros.compiler import compile as compile_graph, maximum, trace
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.compiler.gpu.procedures.device_procedure import Bindings, DeviceProcedure
from rbd_ros.compiler.gpu.procedures.places import Memory
from rbd_ros.compiler.native.procedure_text import translate
from rbd_ros.compiler.procedure import bind, gives, Matrix, NamedKernel, takes, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.compiler.source.c_procedures import emit_procedure

SIZES = {'n': 3}


class Swing(NamedKernel):
    """A kernel of everything."""

    q: Vector = takes('n', 'rad', 'positions')
    acting: Vector = takes('2', 'm/s^2', 'gravity', traced='gravity')
    gain: Vector = takes('1', '', 'one number')
    rows: Matrix = takes('2 n', '', 'a matrix')
    torque: Vector = gives('n', 'N.m', 'a result')
    gravity: Vector = gives('n', 'N.m', 'whose name is that of an input')
    table: Matrix = gives('2 n', '', 'a matrix')


class Inner(Record):
    """What a call takes as it is."""

    gain: float = field('', '', 'a number', 2.0)
    armed: bool = field('', '', 'a truth', True)
    acting: Vector = field('2', 'm/s^2', 'gravity', -9.0)
    rows: Matrix = field('2 n', '', 'a matrix', 0.5)


class Outer(Record):
    """What it works on."""

    q: Vector = field('n', 'rad', 'positions')
    torque: Vector = field('n', 'N.m', 'result')
    gravity: Vector = field('n', 'N.m', 'result')
    wide: Vector = field('m', '', 'of another length')
    big: Matrix = field('4 n', '', 'more rows')
    inner: Inner = group(Inner)


def swing(q, gravity, gain, rows):
    """Compute anything; sums of products would be rounded otherwise on some processors."""
    return {'torque': [maximum(gain[0] * x, a - b) for x, a, b in zip(q, *rows)],
            'gravity': [(gravity[0] - gravity[1]) * x for x in q],
            'table': [[(a + row[0]) * gain[0] for a in q] for row in rows]}


GRAPH = trace(swing, {each.traced: each.shape(SIZES) for each in Swing.ports('takes')},
              name='swing')


def things(seed=0):
    """Return a record and an array with random numbers, and a kernel."""
    rng = np.random.default_rng([seed, 39])
    x = Outer(SIZES | {'m': 5})
    x.memory[:] = rng.uniform(-2.0, 2.0, x.memory.size)
    return x, rng.uniform(-1.0, 1.0, 3), Swing.of(compile_graph(GRAPH).bind())


#: What may be given for each input, what may be done with the outputs, and records in front.
GIVEN = {
    'q': ['q=x.q', 'q=v', 'q=2.0 * x.q - v', 'q=where(x.q > 0.0, x.q, k.torque)', 'q=x.big[1]',
          'q=x.q if x.inner.armed else v', 'q=0.25', 'q=k.gravity', 'q=k.q', 'q=k.table[1]'],
    'acting': ['acting=x.inner.acting', 'acting=x.wide[1:3]', 'acting=-x.q[:2]'],
    'gain': ['gain=x.inner.gain', 'gain=x.q[1] * v[0]', 'gain=1', 'gain=x.inner.armed',
             'gain=v[2:3]', 'gain=largest(x.q)'],
    'rows': ['rows=x.inner.rows', 'rows=x.big[1:3]', 'rows=x.big[:2] / 3.0', 'rows=1.5'],
    'out': ['torque=x.torque', 'table=x.big[:2]', 'torque=x.big[2], table=x.big[1:3]', 'out=x',
            'out=x, torque=v', 'gravity=x.q']}


def written(folder, seed):
    """Return a procedure of random calls, and its text."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(6):
        given = {name: rng.choice(kinds) for name, kinds in GIVEN.items() if name != 'out'}
        first, out = [], rng.choice(['', *GIVEN['out']])
        if rng.random() < 0.4:      # a record for what it has
            first = ['x.inner']
            for name in rng.choice(['acting', 'gain', 'rows'], rng.integers(1, 4), replace=False):
                del given[name]
        named = [*given.values(), *([out] if out else [])]
        lines.append(f'    k({", ".join([*first, *rng.permutation(named)])})')
        lines.append('    v[:] += 0.125 * k.torque + x.torque')
    text = '\n'.join([
        'from rbd_ros.compiler.language.whole import where',
        'from test_named_kernels import *', '',
        'def largest(v: Vector) -> float:', '    return max(abs(v), default=0.0)', '',
        'def entry(x: Outer, v: Vector, k: Swing) -> None:', *lines, ''])
    file = folder / f'calls_{seed}.py'
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.entry


def left(given):
    """Return the bits of all numbers."""
    return bits(given[0].memory, given[1])


@pytest.mark.parametrize('seed', range(20))
def test_random_calls_to_the_last_bit(seed, tmp_path):
    """Plain Python, machine code and a device leave the same; so does C."""
    entry, found = written(tmp_path, seed), {}
    for backend in ('python', 'llvm'):
        given = things(seed)
        for _ in range(2):
            bind(entry, *given, backend=backend)()
        found[backend] = left(given)
    x, v, k = things(seed)
    batch = DeviceProcedure(EmulatedDevice(), entry, Bindings(
        (x, v, k), dict.fromkeys((0, 1), Memory.OWN), [(k.run, GRAPH)], []), cache=False).batch(1)
    batch.run(2)
    found['device'] = bits(batch.read(x.memory)[0], batch.read(v)[0])
    if COMPILER is not None and seed < 4:
        built = Built(entry, x, v, k, kernels={k.run: GRAPH})
        for _ in range(2):
            built.run()
        size = x.memory.size + v.size
        found['c'] = bits(built.memory[:size])
    for each in found.values():
        np.testing.assert_array_equal(each, found['python'])


# --- what is refused --------------------------------------------------------------------------

def bumped(x: Outer) -> float:
    """Change something."""
    x.q[0] += 1.0
    return x.q[0]


REFUSED = {
    'k(x.inner)': 'Swing takes q, which is not given: write q=..., or give a record',
    'k(x.inner, q=v, speed=v)': 'Swing has no speed; it takes q, acting, gain, rows and gives',
    'k(x, x.inner, rows=x.big[:2], q=v)': 'nothing of x is used: leave it out',
    'k(x.inner, x.inner, q=v)': 'acting is in x.inner and in x.inner: write acting=...',
    'k(x.inner, q=v, out=x.inner)': 'x.inner has nothing that Swing gives',
    'k(v, q=v)': 'what has no name here is a record',
    'k(x.inner, q=x.wide)': 'one has n numbers, the other one m',
    'k(x.inner, q=v, rows=x.big)': 'one has 2 x n numbers, the other one 4 x n',
    'k(x.inner, q=v, torque=x.wide)': 'one has m numbers, the other one n',
    'k(x.inner, q=v, gain=bumped(x))': 'what is called here may change what is read beside it',
    'k(x.inner, q=k.rows[0])': 'it changes while the arguments are copied',
    'v[0] = k(x.inner, q=v)': 'the call of a kernel is a statement'}


@pytest.mark.parametrize('line', REFUSED)
def test_a_call_that_does_not_fit_is_refused_with_its_line(line, tmp_path):
    """Before anything runs: says what to do."""
    file = tmp_path / 'refused.py'
    file.write_text('\n'.join([
        'from test_named_kernels import *', '',
        'def entry(x: Outer, v: Vector, k: Swing) -> None:', f'    {line}', '']))
    spec = importlib.util.spec_from_file_location('refused', file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(TypeError) as said:
        translate(module.entry)
    assert 'refused, line 4: ' in str(said.value) and REFUSED[line] in str(said.value)


def one_call(x: Outer, v: Vector, k: Swing) -> None:
    """Call it."""
    k(x.inner, q=x.q, out=x)


def test_sizes_are_compared_when_a_procedure_is_bound():
    """In each form: machine code would read beyond the end."""
    _, v, k = things()
    x = Outer({'n': 4, 'm': 5})
    for form in (lambda: bind(one_call, x, v, k),
                 lambda: bind(one_call, x, v, k, backend='python'),
                 lambda: emit_procedure(one_call, x, v, k, kernels={k.run: GRAPH})):
        with pytest.raises(TypeError, match='Swing has n = 3, Outer has n = 4'):
            form()


def test_a_kernel_must_be_as_it_is_declared():
    """Names and shapes of what it takes and gives."""
    def other(shapes, name='torque'):
        return compile_graph(trace(lambda q, *_: {
            name: q, 'gravity': q, 'table': [q] * 2}, shapes)).bind()
    shapes = {each.traced: each.shape(SIZES) for each in Swing.ports('takes')}
    assert Swing.of(other(shapes)).sizes == SIZES
    with pytest.raises(TypeError, match=r'takes .* declare speed on both sides or on none'):
        Swing.of(other({**shapes, 'speed': (1,)}))
    with pytest.raises(TypeError, match=r'gives .* declare power, torque on both sides'):
        Swing.of(other(shapes, 'power'))
    with pytest.raises(TypeError, match=r'takes rows of 2 x n, the kernel has it as \(2, 4\)'):
        Swing.of(other({**shapes, 'rows': (2, 4)}))


def test_plain_python_refuses_other_shapes():
    """NumPy would repeat a shorter array."""
    x, v, k = things()
    with pytest.raises(TypeError, match=r'Swing.q has the shape \(3,\); an array of \(1,\)'):
        k(x.inner, q=v[:1])
    with pytest.raises(TypeError, match=r'Swing.torque has the shape \(3,\); an array of \(5,\)'):
        k(x.inner, q=v, torque=x.wide)
