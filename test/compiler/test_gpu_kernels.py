# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Kernels of a GPU without one: their text runs on this processor, thread by thread.

What a GPU would be given, PTX, is made and read; it is run where there is a GPU
(``./run bench gpu``).
"""

import math
import random
import re

import numpy as np
import pytest
from random_graphs import ARITHMETIC, random_program
from rbd_ros.compiler import atan2, cos, sin, tanh, trace
from rbd_ros.errors import NonFiniteError, ShapeError

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from device_arrays import Shown  # noqa: I100
from rbd_ros.compiler.gpu import kernel as gpu_kernel, targets
from rbd_ros.compiler.gpu.dialect import NVIDIA
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.compiler.gpu.limbs import limb_parts
from rbd_ros.compiler.gpu.order import arrival, most_alive
from rbd_ros.compiler.gpu.program import Form, Hints, program
from rbd_ros.compiler.graph import float_functions
from rbd_ros.compiler.graph.functions import OPERATIONS
from rbd_ros.compiler.graph.partition import operations

COUNT = 130         # more than a block, and not a whole number of them


def compiled(graph, scalar='float64', **options):
    """Return the kernels of a graph on the emulation."""
    return gpu_kernel.compile_for(EmulatedDevice(), graph, scalar=scalar, cache=False, **options)


def results(kernel, *arrays):
    """Return results of arrays on the device, also where they are not finite, as NumPy's."""
    found = kernel(*[Shown(x) for x in arrays])
    return tuple(y.numpy() for y in (found if isinstance(found, tuple) else (found,)))


@pytest.mark.parametrize('seed', range(8))
def test_random_programs(seed):
    """Random programs give what the graph gives over Python's floats, to the last bit."""
    rng = random.Random(seed)
    graph = trace(random_program(rng, (*ARITHMETIC, 'sqrt'), 60), {'x': 4}, name='random')
    x = np.random.default_rng(seed).uniform(-3.0, 3.0, (COUNT, 4))
    expected = [graph.evaluate(row) for row in x.tolist()]
    for part in (1000, rng.choice((1, 7, 20))):
        form = Form(rng.random() < 0.5, rng.random() < 0.5, part, fused=False)
        found, = results(compiled(graph, form=form), x)
        np.testing.assert_array_equal(found, expected)


def test_shapes_and_strides():
    """Arrays of any strides are read and written where they lie; states may share arguments."""
    def several(q, m, t):
        return {'y': [a * t + m[0][1] for a in q], 'M': [[a * b for b in m[1]] for a in q]}
    graph = trace(several, {'q': 3, 'm': (2, 2), 't': ()}, name='several')
    rng = np.random.default_rng(0)
    q = rng.normal(size=(2 * COUNT, 6))[::2, ::-2]
    m = np.moveaxis(rng.normal(size=(2, 2, COUNT)), -1, 0)
    t = np.array(1.7)
    y, M = np.zeros((3, COUNT)).T, np.zeros((COUNT, 3, 2))
    out = Shown(y), Shown(M)
    kernel = compiled(graph)
    assert kernel(Shown(q), Shown(m), Shown(t), out=out) is out
    np.testing.assert_allclose(y, q * 1.7 + m[:, :1, 1], atol=1e-14)
    np.testing.assert_allclose(M, q[:, :, None] * m[:, 1][:, None, :], rtol=1e-15)
    copied = kernel(q, m, t)
    np.testing.assert_array_equal(copied[0], y)
    np.testing.assert_array_equal(copied[1], M)
    assert copied[1].strides[0] == 8            # neighbouring states lie together


@pytest.mark.parametrize('scalar,error', [('float64', 4e-16), ('float32', 2.0e-7)])
def test_angles(scalar, error):
    """Sine and cosine are good to an ulp or two up to 1e6 rad, and NaN beyond."""
    graph = trace(lambda x: {'s': sin(x), 'c': cos(x)}, {'x': ()}, name='angles')
    rng = np.random.default_rng(1)
    sizes = 10.0 ** rng.uniform(-8, 6, 2000)
    near = np.r_[0.0, np.arange(-40, 40) * math.pi / 4, sizes * rng.choice((-1, 1), 2000)]
    x = near.astype(scalar)
    kernel = compiled(graph, scalar)
    exact = x.astype(np.longdouble)
    for found, function in zip(results(kernel, x), (np.sin, np.cos), strict=True):
        assert np.abs(found - function(exact)).max() < error
    kernel.check()
    beyond = np.array([0.1, 1.1e6, -1e9, math.inf, math.nan], scalar)
    for found in results(kernel, beyond):
        assert np.isnan(found).tolist() == [False, True, True, True, True]
    with pytest.raises(NonFiniteError, match='angles: state 1 is the first'):
        kernel.check()
    kernel.check()


def test_status():
    """The first state with a number that is not finite is reported, once, of all kernels."""
    graph = trace(lambda x, y: {'a': [x * y, x / y], 'b': x + 1.0}, {'x': (), 'y': ()}, name='f')
    kernel = compiled(graph, form=Form(True, True, part=1))
    assert len(kernel.functions) > 1
    x, y = np.ones(COUNT), np.full(COUNT, 2.0)
    results(kernel, x, y)
    kernel.check()
    x[77], y[101] = math.inf, 0.0
    results(kernel, x, y)
    results(kernel, np.ones(COUNT), y)
    with pytest.raises(NonFiniteError, match='f: state 77 is'):
        kernel.check()
    with pytest.raises(NonFiniteError, match='f: state 101 is'):
        kernel(np.ones(COUNT), y)
    with pytest.raises(NonFiniteError, match=r'x\[77\] is inf'):
        kernel(x, y)
    inverse = compiled(trace(lambda x: {'y': 1.0 / x}, {'x': ()}, name='inverse'))
    assert results(inverse, np.array([2.0, math.inf]))[0].tolist() == [0.5, 0.0]
    with pytest.raises(NonFiniteError, match='inverse: state 1 is'):
        inverse.check()


def test_order():
    """Work in the order of arrival keeps fewer values alive, and gives the same."""
    def limbs(x):
        ways = [[sin(a) for a in x[k:k + 8]] for k in range(0, 32, 8)]
        # all limbs step by step, as a recursion over a tree does it
        for _ in range(6):
            ways = [[a * b + 0.5 for a, b in zip(way, way[1:] + way[:1])] for way in ways]
        return {'y': [sum(way[1:], way[0]) for way in ways]}
    graph = trace(limbs, {'x': 32}, name='limbs')
    ranks = {(0, k): k // 8 for k in range(32)}
    order = arrival(graph, ranks)
    depths = depth(graph)
    shuffled = sorted(order, key=lambda i: (depths[i], i))
    assert most_alive(graph, order) <= 18 < 32 <= most_alive(graph, shuffled)
    x = np.random.default_rng(2).normal(size=(3, 32))
    np.testing.assert_array_equal(
        results(compiled(graph, hints=lambda _: Hints(ranks)), x)[0],
        results(compiled(graph), x)[0])


def depth(graph):
    """Return of each node the longest way from an input."""
    found = []
    for node in graph.nodes:
        found.append(1 + max([found[a] for a in node.args], default=0))
    return found


@pytest.mark.parametrize('scalar,kind', [('float64', 'f64'), ('float32', 'f32')])
def test_ptx(scalar, kind):
    """PTX has the kernels, their bounds and the arithmetic, and calls nothing."""
    graph = trace(lambda x: {'y': [sin(a) * sin(b) * 0.3 for a in x for b in x]}, {'x': 4},
                  name='f')
    form = Form(scalar == 'float64', True, part=8)
    text, entries, slots, _ = program(graph, NVIDIA, scalar, form=form)
    ptx = targets.emit(text, targets.PTX, assembly=True).decode()
    assert re.findall(r'\.visible \.entry (\w+)\(', ptx) == list(entries)
    assert len(entries) > 1 and slots > 0
    assert ptx.count('.maxntid 128') == ptx.count('.maxnreg 255') == len(entries)
    assert f'fma.rn.{kind}' in ptx and '.target sm_75' in ptx
    assert ptx.count('atom.') == len(entries)
    assert ('.const' in ptx) == form.table
    stores = re.findall(r'st\.global\S*', targets.streamed(ptx.encode()).decode())
    assert len(stores) > 16 and all(each.startswith('st.global.cs.') for each in stores)
    assert not re.search(r'\bcall\b|\.local|\.extern|\.func', ptx)
    other = {'f64': 'f32', 'f32': 'f64'}[kind]
    assert other not in ptx


def test_kept_on_disk(tmp_path, monkeypatch):
    """Code is found on disk without tracing, by graph, number type, order and form."""
    monkeypatch.setenv('RBD_ROS_CACHE', str(tmp_path))
    traced = []

    def source():
        traced.append(1)
        return trace(lambda x: {'y': x * 0.3}, {'x': ()}, name='f')

    def again(**options):
        kernel = gpu_kernel.compile_for(EmulatedDevice(), source, key='k', **options)
        return kernel(np.ones(2, kernel.dtype)).tolist()
    for options in ({}, {'scalar': 'float32'}, {'hints': lambda _: Hints({(0, 0): 1})},
                    {'form': Form(True, True)}):
        before = len(traced)
        assert again(**options) == again(**options) == again(**options)
        assert len(traced) == before + 1


def tree(x, u):
    """Return what a recursion over a trunk with three limbs gives: inward, trunk, outward."""
    inward, outward = [], []
    for limb in range(3):
        force, way = u[0] * 0.1, []
        for k in range(1 + 4 * limb, 5 + 4 * limb):
            force = force * cos(x[k]) + u[k] * sin(x[k])
            way.append((force, 1.0 / (2.0 + force * force)))
        inward.append(way)
    trunk = sin(x[0]) * sum((way[-1][0] for way in inward), u[0])
    for way in inward:
        motion = trunk
        for force, weight in reversed(way):
            motion = motion * weight + force
            outward.append(motion)
    return {'y': [trunk, *outward], 'k': [0.25, 3.0]}


@pytest.mark.parametrize('division', [(0, 1, 2), (0, 1, None), (0, 0, 1)])
def test_limbs(division):
    """Kernels along limbs give what the whole gives, and hand on few numbers."""
    graph = trace(tree, {'x': 13, 'u': 13}, name='tree')
    limbs = {(side, argument, 4 * limb + k): number
             for side, argument in (('in', 0), ('in', 1), ('out', 0))
             for limb, number in enumerate(division) if number is not None
             for k in range(1, 5)}
    parts, slots = limb_parts(graph, operations(graph), limbs)
    count = 1 + max(limbs.values())
    inside = max(len(part.nodes) for part in parts)
    assert len(parts) == 2 * count + 1 and slots <= 2 * count + 1
    assert inside < len(operations(graph))
    x, u = np.random.default_rng(5).normal(size=(2, COUNT, 13))
    kernel = compiled(graph, form=Form(True, True, inside), hints=lambda _: Hints({}, (limbs,)))
    assert len(kernel.functions) == len(parts)
    for mine, theirs in zip(results(kernel, x, u), results(compiled(graph), x, u), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-13)


@pytest.mark.parametrize('seed', range(20))
def test_limbs_of_random_programs(seed):
    """Whatever is called a limb of whatever graph, kernels one after the other give the same."""
    rng = random.Random(seed)
    graph = trace(random_program(rng, (*ARITHMETIC, 'sqrt'), 80), {'x': 4}, name='random')
    limbs = {place: rng.randrange(3) for place in [
        *[('in', 0, k) for k in range(4)], *[('out', 0, k) for k in range(3)]]
        if rng.random() < 0.8}
    parts, slots = limb_parts(graph, operations(graph), limbs)
    assert sorted(slot for part in parts for slot in part.stores.values()) == list(range(slots))
    x = [rng.uniform(-3.0, 3.0) for _ in range(4)]
    memory, found = [math.nan] * slots, {}
    for part in parts:
        known = {i: memory[slot] for i, slot in part.loads.items()}
        for i, node in enumerate(graph.nodes):
            if node.op in ('const', 'input'):
                known[i] = node.constant if node.op == 'const' else x[node.element[1]]
        for i in part.nodes:
            op, args, _ = graph.nodes[i]
            known[i] = OPERATIONS[op](*[known[a] for a in args])
        for i, slot in part.stores.items():
            memory[slot] = known[i]
        found.update({element: known[i] for element, i in part.results})
    np.testing.assert_array_equal([found[k] for k in range(3)], graph.evaluate(x))


def test_groups():
    """Columns of results may be computed by kernels of their own, of any length."""
    def table(x):
        return {'a': [[sin(p) * q + 0.3 for q in x] for p in x], 'b': sum(x[1:], x[0]), 'c': x}
    graph = trace(table, {'x': 5}, name='table')
    x = np.random.default_rng(3).normal(size=(COUNT, 5))
    expected = results(compiled(graph), x)
    for groups, part in ((2, 1000), (3, 4), (9, 1000)):
        kernel = compiled(graph, form=Form(True, False, part, groups=groups))
        assert len(kernel.functions) >= min(groups, 5)
        for mine, theirs in zip(results(kernel, x), expected, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-14)


@pytest.mark.parametrize('scalar,error', [('float64', 1e-14), ('float32', 1e-5)])
def test_rollout(scalar, error):
    """A loop over a graph is the steps one after the other, recorded where they are asked for."""
    def swing(x, v, u, k, h):
        after = [b + h * (w - k * sin(a)) for a, b, w in zip(x, v, u)]
        return {'v': after, 'x': [a + h * b for a, b in zip(x, after)], 'first': u[0] + after[0]}
    graph = trace(swing, {'x': 2, 'v': 2, 'u': 2, 'k': (), 'h': ()}, name='swing')
    rng, steps, every = np.random.default_rng(4), 12, 3
    x, v = rng.normal(size=(2, COUNT, 2)).astype(scalar)
    u = rng.normal(size=(COUNT, steps, 2)).astype(scalar)
    k, h = rng.uniform(1.0, 2.0, COUNT).astype(scalar), np.array(0.05, scalar)
    kernel = gpu_kernel.compile_rollout(
        EmulatedDevice(), graph, {'x': 'x', 'v': 'v'}, ('u',), scalar=scalar, cache=False)
    V, X, first = results(kernel.over(steps, every), x, v, u, k, h)
    y, w = x.astype(float), v.astype(float)
    for step in range(steps):
        w = w + 0.05 * (u[:, step] - k[:, None] * np.sin(y))
        y = y + 0.05 * w
        if (step + 1) % every == 0:
            row = step // every
            for mine, theirs in ((X[:, row], y), (V[:, row], w),
                                 (first[:, row], u[:, step, 0] + w[:, 0])):
                assert np.abs(mine - theirs).max() < error
    kernel.check()
    u[99, 5] = math.inf
    results(kernel.over(steps, steps), x, v, u, k, h)
    with pytest.raises(NonFiniteError, match='swing: state 99 is'):
        kernel.check()
    with pytest.raises(ShapeError, match=r'u has shape \(130, 12, 2\), expected \(count, 6, 2\)'):
        kernel.over(6, 3)(Shown(x), Shown(v), Shown(u), Shown(k), Shown(h))


#: Where each function is tried.
RANGES = {'exp': (-746.0, 710.0), 'log': (1e-3, 1e3), 'tan': (-7.0, 7.0), 'tanh': (-20.0, 20.0),
          'asin': (-1.0, 1.0), 'acos': (-1.0, 1.0)}
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -2.0, 1e300, -1e300, 5e-324)


@pytest.mark.parametrize('scalar,error', [('float64', 1e-15), ('float32', 1e-7)])
def test_functions(scalar, error):
    """Functions that a GPU does not have are those of the C library, at the edges too."""
    names = sorted(RANGES)
    graph = trace(lambda x: {name: OPERATIONS[name](x) for name in names}, {'x': ()}, name='f')
    kernel = compiled(graph, scalar)
    rng = np.random.default_rng(10)
    with np.errstate(over='ignore'):
        special = np.array(SPECIAL, scalar)
    for name, found in zip(names, results(kernel, special), strict=True):
        for x, y in zip(special.tolist(), found, strict=True):
            exact = getattr(float_functions, name)(x)
            if name == 'tan' and abs(x) > 1e6:
                exact = math.nan
            with np.errstate(over='ignore', under='ignore'):
                assert same(np.dtype(scalar).type(exact), y, error), (name, x)
    for name, (low, high) in RANGES.items():
        x = np.concatenate([rng.uniform(low, high, 1000), np.linspace(low, high, 50),
                            rng.uniform(-1e-3, 1e-3, 50)]).astype(scalar)
        found = results(kernel, x)[names.index(name)]
        with np.errstate(all='ignore'):
            exact = getattr(np, {'asin': 'arcsin', 'acos': 'arccos'}.get(name, name))(
                x.astype(np.longdouble)).astype(scalar)
        bad = [(a, b, c) for a, b, c in zip(x, exact, found) if not same(b, c, error)]
        assert not bad, (name, bad[:3])


def same(expected, found, error):
    """Return whether a number is another one to a relative error, NaN and infinities included."""
    if math.isnan(expected) or math.isinf(expected):
        return math.isnan(found) if math.isnan(expected) else expected == found
    tiny = float(np.finfo(type(expected)).smallest_subnormal)
    return abs(float(found) - float(expected)) <= error * abs(float(expected)) + tiny


@pytest.mark.parametrize('scalar,error', [('float64', 1e-15), ('float32', 1e-7)])
def test_angles_of_points(scalar, error):
    """The angle of a point is that of the C library, on axes, at infinity and for signed zeros."""
    graph = trace(lambda y, x: {'a': atan2(y, x)}, {'y': (), 'x': ()}, name='f')
    rng = np.random.default_rng(11)
    pairs = [*[(a, b) for a in SPECIAL for b in SPECIAL], *rng.normal(size=(500, 2)),
             *rng.normal(size=(100, 2)) * [1.0, 1e-9]]
    with np.errstate(over='ignore'):
        y, x = np.array(pairs).astype(scalar).T.copy()
    found, = results(compiled(graph, scalar), y, x)
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble)).astype(scalar)
    bad = [(a, b, c, d) for a, b, c, d in zip(y, x, exact, found) if not same(c, d, error) or (
        c == 0.0 and math.copysign(1.0, c) != math.copysign(1.0, d))]
    assert not bad, bad[:3]


def test_functions_in_ptx():
    """Functions become arithmetic: nothing is called that a GPU does not have."""
    graph = trace(lambda x: {'y': [tanh(x), atan2(x, 2.0), OPERATIONS['log'](x)]}, {'x': ()},
                  name='f')
    for scalar in ('float64', 'float32'):
        text = program(graph, NVIDIA, scalar).text
        ptx = targets.emit(text, targets.PTX, assembly=True).decode()
        assert not re.search(r'\bcall\b|\.local|\.extern|\.func', ptx)
