# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What kernels of a GPU do differently: the order of operations, quotients, and finiteness."""

import math
import random

import numpy as np
import pytest
from random_graphs import ARITHMETIC, random_program
from rbd_ros.compiler import trace
from rbd_ros.compiler.gpu.finiteness import doubtful
from rbd_ros.compiler.gpu.order import (
    best_order, depth_first, eager, local_traffic, most_alive)
from rbd_ros.compiler.graph.functions import OPERATIONS
from rbd_ros.compiler.graph.partition import operations

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from device_arrays import Shown  # noqa: I100
from rbd_ros.compiler.gpu import targets
from rbd_ros.compiler.gpu.dialect import NVIDIA
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.compiler.gpu.kernel import compile_for
from rbd_ros.compiler.gpu.program import best_form, Form, program, Stage
from rbd_ros.compiler.gpu.stages import joined
from rbd_ros.compiler.scalar import scalar_type


def made(seed, length=80):
    """Return a random graph."""
    rng = random.Random(seed)
    return trace(random_program(rng, (*ARITHMETIC, 'sqrt'), length), {'x': 4}, name='random')


def executable(graph, order):
    """Return whether every operation comes once, and after its operands."""
    known = {i for i, node in enumerate(graph.nodes) if node.op in ('const', 'input')}
    for i in order:
        if i in known or not known.issuperset(graph.nodes[i].args):
            return False
        known.add(i)
    return True


@pytest.mark.parametrize('seed', range(10))
def test_orders(seed):
    """Every order can be executed, holds what results need, and the best one is no worse."""
    graph = made(seed)
    plain = operations(graph)
    found = best_order(graph, 3, {(0, k): (seed * k) % 4 for k in range(4)})
    assert executable(graph, found) and set(found) <= set(plain)
    assert set(graph.results) <= set(found) | set(range(len(graph.nodes))) - set(plain)
    for order in (eager(graph, plain), depth_first(graph, graph.results), plain):
        assert executable(graph, order)
        assert local_traffic(graph, found, 3) <= local_traffic(graph, order, 3)
    some = best_order(graph, 3, elements=[0])
    assert executable(graph, some) and len(some) <= len(plain)
    assert graph.results[0] in some or graph.results[0] not in plain


def test_local_traffic():
    """What does not fit goes to memory once, and comes back at each use; constants are free."""
    def f(x):
        a, b, c = x[0] * x[1], x[0] + x[1], x[0] - x[1]
        return {'y': [(a * 0.3 + b) * c, a * 0.7 + c * b]}
    graph = trace(f, {'x': 2}, name='f')
    order = operations(graph)
    assert local_traffic(graph, order, 6) == 0 < local_traffic(graph, order, 2)
    ways = [local_traffic(graph, order, registers) for registers in (1, 2, 3, 4, 5)]
    assert ways == sorted(ways, reverse=True)
    # one register: of a chain only the last value, and nothing ever leaves
    chain = trace(lambda x: {'y': ((x * 0.3 + 0.1) * 0.7 + 0.2) * 0.9}, {'x': ()}, name='chain')
    assert local_traffic(chain, operations(chain), 1) == 0
    late = trace(lambda x: {'y': [x[0] * x[1], x[2] * x[3], x[0] / x[2]]}, {'x': 4}, name='late')
    products = [i for i in operations(late) if late.nodes[i].op == 'mul']
    ratio = next(i for i in operations(late) if late.nodes[i].op == 'div')
    # one of x[0] and x[2] leaves after its product, and comes back for the quotient
    assert [local_traffic(late, [*products, ratio], n) for n in (1, 2)] == [2, 0]


def test_eager_and_depth_first():
    """What ends lives is done early; results one after the other hold less than all at once."""
    graph = trace(lambda x: {'y': [(a * b + 0.3) * 0.5 + a for a in x for b in x]}, {'x': 4},
                  name='f')
    depth = []
    for node in graph.nodes:
        depth.append(1 + max([depth[a] for a in node.args], default=0))
    # level by level, as a recursion over a tree goes through its limbs
    wide = sorted(operations(graph), key=lambda i: (depth[i], i))
    assert executable(graph, wide) and most_alive(graph, wide) > 8
    assert most_alive(graph, eager(graph, wide)) < 8
    assert most_alive(graph, depth_first(graph, graph.results)) < 5
    assert most_alive(graph, best_order(graph, 2)) < 5


@pytest.mark.parametrize('seed', range(30))
def test_doubtful(seed):
    """Whatever input or result is not finite, a number that is looked at is not finite either."""
    rng = random.Random(seed)
    graph = trace(random_program(rng, (*ARITHMETIC, 'sqrt', 'div', 'tanh', 'sin'), 40), {'x': 4},
                  name='random')
    looked = doubtful(graph, graph.results)
    used = {i for i, node in enumerate(graph.nodes) if node.op == 'input'}
    spoilt = 0
    for _ in range(60):
        x = [rng.choice((rng.uniform(-2.0, 2.0), 0.0, math.inf, -math.inf, math.nan))
             for _ in range(4)]
        values = []
        for node in graph.nodes:
            op, args, _ = node
            values.append(node.constant if op == 'const' else x[node.element[1]] if op == 'input'
                          else OPERATIONS[op](*[values[a] for a in args]))
        bad = any(not math.isfinite(values[i]) for i in (*used, *graph.results)
                  if graph.nodes[i].op != 'const')
        assert any(not math.isfinite(values[i]) for i in looked) == bad
        spoilt += bad
    assert spoilt or not used


def test_effort_of_the_driver():
    """The driver rearranges little where much goes to local memory in one kernel, else all."""
    def crowd(x):
        a = [x[k % 4] * (0.3 + k) for k in range(200)]      # alive to the end, and no room for all
        return {'y': [a[k % 200] + a[7 * k % 199] for k in range(2500)]}

    def chain(x):
        y = x[0]
        for k in range(2500):
            y = y * x[k % 4] + 0.1
        return {'y': y}
    kind = scalar_type('float64')
    levels = []
    for f in (crowd, chain):
        graph = trace(f, {'x': 4}, name='f')
        form = Form.of(graph, kind)
        assert form.volatile and form.level == 4
        levels += [form.fitted(graph, kind, None).level,
                   form._replace(part=1000).fitted(graph, kind, None).level]
    assert levels == [1, 4, 4, 4]


def test_few_are_looked_at():
    """Inputs that show in a result are not looked at, divisors are."""
    graph = trace(lambda x: {'y': [x[0] * x[1] + x[2], x[0] / x[3]]}, {'x': 4}, name='f')
    found = doubtful(graph, graph.results)
    inputs = {graph.nodes[i].element[1] for i in found if graph.nodes[i].op == 'input'}
    assert inputs == {3} and found >= set(graph.results)


def test_quotients():
    """Quotients are good to a unit in the last place, and right where there is no such number."""
    graph = trace(lambda a, b: {'q': a / b}, {'a': (), 'b': ()}, name='ratio')
    rng = np.random.default_rng(0)
    a, b = rng.choice((-1.0, 1.0), (2, 20000)) * 10.0 ** rng.uniform(-140, 140, (2, 20000))
    special = (0.0, -0.0, 1.0, -3.0, math.inf, -math.inf, math.nan, 1e308, 1e-300)
    pairs = np.array([(x, y) for x in special for y in special])
    a, b = np.r_[a, pairs[:, 0]], np.r_[b, pairs[:, 1]]
    for scalar, units in (('float64', 1.0), ('float32', 2.0)):
        kernel = compile_for(EmulatedDevice(), graph, scalar=scalar, cache=False)
        with np.errstate(all='ignore'):
            x, y = a.astype(scalar), b.astype(scalar)
            exact = x / y
            found = kernel(Shown(x), Shown(y)).numpy()
            assert (np.abs(found - exact) <= units * np.spacing(np.abs(exact)))[
                np.isfinite(exact)].all()
        strange = ~np.isfinite(exact)
        np.testing.assert_array_equal(found[strange], exact[strange])


def test_quotients_in_ptx():
    """A quotient of doubles is an approximation that is mended; exact where that is asked for."""
    graph = trace(lambda a, b: {'q': a / b}, {'a': (), 'b': ()}, name='ratio')
    for scalar, word in (('float64', 'rcp.approx.ftz.f64'), ('float32', 'div.full.f32')):
        ptx = targets.emit(program(graph, NVIDIA, scalar).text, targets.PTX, assembly=True)
        assert word in ptx.decode() and b'div.rn' not in ptx
    exact = program(graph, NVIDIA, form=Form(False, False, fused=False)).text
    assert b'div.rn.f64' in targets.emit(exact, targets.PTX, assembly=True)


@pytest.mark.parametrize('block', [32, 96, 256])
def test_blocks(block):
    """Blocks of any size reach every state once."""
    graph = trace(lambda x: {'y': x * 2.0}, {'x': ()}, name='twice')
    kernel = compile_for(EmulatedDevice(), graph, cache=False, form=Form(
        False, False, block=block))
    assert kernel.functions[0].block == block
    for count in (1, block - 1, block, block + 1, 3 * block):
        np.testing.assert_array_equal(kernel(np.arange(float(count))), 2.0 * np.arange(count))
    text = program(graph, NVIDIA, form=Form(False, False, block=block)).text
    assert f'.maxntid {block}' in targets.emit(text, targets.PTX, assembly=True).decode()


# -- stages -------------------------------------------------------------------------------------

def stages_of(size):
    """Return a product of three matrices as a whole, and a product at a time."""
    def product(A, B):
        return [[sum((a * b for a, b in zip(row, column)), 0.0) for column in zip(*B)]
                for row in A]

    def tangled(A):
        return [[a * b + 0.1 * a for b in row] for row in A for a in row[:1]]
    square = size, size
    whole = trace(lambda A, B: {'C': product(tangled(product(A, B)), A)},
                  {'A': square, 'B': square}, name='whole')
    first = trace(lambda A, B: {'X': product(A, B)}, {'A': square, 'B': square}, name='first')
    last = trace(lambda X, A: {'C': product(tangled(X), A)}, {'X': square, 'A': square},
                 name='last')
    return whole, [Stage(first), Stage(last)]


def test_stages():
    """Graphs one after the other give what the whole does, with only results between them."""
    whole, stages = stages_of(4)
    form = Form(False, True, fused=False, staged=True)
    made = program(whole, NVIDIA, form=form, stages=stages)
    assert len(made.entries) == 2 and made.slots == 16
    kernel = compile_for(EmulatedDevice(), whole, cache=False, form=form,
                         stages=lambda: [stage.graph for stage in stages])
    A, B = np.random.default_rng(3).normal(size=(2, 70, 4, 4))
    expected = [whole.evaluate(a.ravel().tolist(), b.ravel().tolist()) for a, b in zip(A, B)]
    np.testing.assert_array_equal(kernel(A, B).reshape(70, -1), expected)


def waiting(count, length):
    """Return a graph in which values wait for the sum of all, and stages that find them twice."""
    def values(x):
        found = []
        for k in range(count):
            y = x[k % 5] + float(k)
            for _ in range(length):
                y = y * x[(k // 5) % 5] + 1.5
            found.append(y)
        return found

    def last(s, x):
        return {'y': [sum((v * (v + s) for v in values(x)), 0.0)]}
    whole = trace(lambda x: last(sum(values(x), 0.0), x), {'x': 5}, name='whole')
    return whole, [Stage(trace(lambda x: {'s': sum(values(x), 0.0)}, {'x': 5}, name='sum')),
                   Stage(trace(last, {'s': (), 'x': 5}, name='rest'))]


@pytest.mark.sampled('configurations', 2)
@pytest.mark.parametrize('count,length,staged', [
    (300, 6, True),         # hundreds of values wait in memory
    (100, 18, False),       # all find room in registers
    (200, 1, False),        # few operations
    (300, 20, False)])      # and a stage that would have to be cut
def test_stages_are_chosen_by_what_waits(count, length, staged):
    """Stages are taken where much would wait in memory, and is less work to find twice."""
    whole, stages = waiting(count, length)
    assert best_form(whole, scalar_type('float64'), None, stages).staged is staged
    assert not best_form(whole, scalar_type('float64'), None).staged


def test_stages_that_do_not_fit():
    """An input from nowhere and other results are refused by name."""
    whole, (first, last) = stages_of(3)
    with pytest.raises(ValueError, match='stage "last" needs "X", which is neither'):
        joined([last.graph], whole)
    with pytest.raises(ValueError, match='last stage of "whole" has other results'):
        joined([last.graph, first.graph], whole)
