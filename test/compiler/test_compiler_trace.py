# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Tracing: traced scalars, the symbolic executor and the simplifier (RBDA 10.4)."""

import math
import operator
import pickle
import subprocess
import sys

from hypothesis import assume, given, settings
import numpy as np
import pytest
from random_graphs import ARITHMETIC, CONSTANTS, programs, states
from rbd_ros.compiler import (
    absolute, atan2, clamp, cos, emit_c, emit_python, exp, is_one, is_zero, less, log, maximum,
    minimum, simplify, sin, sqrt, tan, trace, where)
from sampling import examples

INERTIA = [[1.5, 0.0, 0.0], [0.0, 1.6, 0.0], [0.0, 0.0, 1.7]]
AXIS = [0.0, 0.0, 1.0]


def dot(a, b):
    """Return the scalar product, the first product first."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:]):
        total = total + x * y
    return total


def cross(a, b):
    """Return the vector product."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def book_example(v):
    """Return tau = (v x I v) . s, the example of RBDA Table 10.3."""
    return {'tau': dot(cross(v, [dot(row, v) for row in INERTIA]), AXIS)}


def counted(function, **inputs):
    """Return the operation count of a function in the book's notation."""
    return str(trace(function, inputs).count())


@pytest.mark.seed('RBDA 10-20')
@pytest.mark.seed('RBDA 10-23')
def test_executor_records_every_operation_of_the_book_example():
    """A function of the user is recorded one scalar operation after another: 18m+11a."""
    graph = trace(book_example, {'v': 3}, simplify=False)
    assert str(graph.count()) == '18m+11a'
    v = [2.1, 3.7, -5.3]
    assert graph.evaluate(v) == [book_example(v)['tau']]


@pytest.mark.seed('RBDA 10-21')
@pytest.mark.seed('RBDA 10-08')
def test_simplifier_reduces_the_book_example_to_four_statements():
    """RBDA Table 10.3: 29 operations become 4m+1a, written as exactly four statements."""
    graph = simplify(trace(book_example, {'v': 3}, simplify=False))
    assert str(graph.count()) == '4m+1a'
    assert graph == trace(book_example, {'v': 3})
    assert graph.evaluate([2.0, 3.0, 5.0]) == pytest.approx([0.6], rel=1e-14)
    body = emit_c(graph, 'book').source.split('{', 1)[1]
    loads = [f'const double v_{k} = v[{k}];' for k in (0, 1)]
    statements = [line.strip() for line in body.splitlines() if line.strip().endswith(';')]
    assert [s for s in statements if s not in loads] == [
        'const double t1 = 1.6 * v_1;', 'const double t2 = 1.5 * v_0;',
        'const double t3 = v_0 * t1 - v_1 * t2;', 'tau[0] = t3;']


@pytest.mark.seed('RBDA 10-20')
@given(programs(), states())
@settings(max_examples=examples('properties', 150), deadline=None)
def test_replay_is_the_direct_run(program, x):
    """Replaying the recorded list on numbers gives, bit for bit, the direct run."""
    graph = trace(program, {'x': program.size}, simplify=False)
    np.testing.assert_array_equal(
        np.array(graph.evaluate(x)), np.array(program(x[:program.size])['y']))


@pytest.mark.seed('RBDA 10-21')
@given(programs(), states())
@settings(max_examples=examples('properties', 300), deadline=None)
def test_simplified_graph_has_the_same_values(program, x):
    """Simplification changes no value, adds no operation and refers backwards only."""
    values = program.everything(x[:program.size])
    # Given up are the NaN of 0 * inf and the sign of zero, which only div and atan2 can show.
    assume(all(math.isfinite(v) for v in values))
    if {'div', 'atan2'} & {op for op, _ in program.lines}:
        assume(all(v != 0.0 for v in [*x, *values[program.size + len(CONSTANTS):]]))
    raw = trace(program, {'x': program.size}, simplify=False)
    graph = trace(program, {'x': program.size})
    assert graph.evaluate(x) == raw.evaluate(x)
    assert graph.count().total <= raw.count().total
    for k, node in enumerate(graph.nodes):
        assert all(a < k for a in node.args)
    used = {*graph.results, *(a for node in graph.nodes for a in node.args)}
    assert used == set(range(len(graph.nodes))), 'a node that nothing uses was kept'
    assert simplify(graph).count() == graph.count()


@pytest.mark.seed('RBDA 10-22')
def test_parameters_left_open_become_inputs():
    """A graph with the payload as input equals the graph rebuilt with that payload."""
    def torque(q, qdd, mass):
        lever = 0.5 * mass + 1.3
        return (lever * 0.25 + 0.02) * qdd + 9.81 * lever * sin(q)

    partial = trace(torque, {'q': (), 'qdd': (), 'mass': ()})
    for mass in (0.0, 1.0, 2.3):
        full = trace(lambda q, qdd, mass=mass: torque(q, qdd, mass), {'q': (), 'qdd': ()})
        assert full.count().total < partial.count().total
        assert partial.evaluate([0.7], [-1.1], [mass]) == pytest.approx(
            full.evaluate([0.7], [-1.1]), rel=1e-15)


@pytest.mark.seed('RBDA 10-08')
def test_counts_follow_the_book():
    """Products and quotients count as m, sums and differences as a; signs and sin, cos do not."""
    assert counted(lambda a, b: dot(a, b), a=3, b=3) == '3m+2a'
    assert counted(lambda a, b: cross(a, b), a=3, b=3) == '6m+3a'
    assert counted(lambda e, v: [dot(row, v) for row in e], e=(3, 3), v=3) == '9m+6a'
    assert counted(lambda a, b: [[dot(row, column) for column in zip(*b)] for row in a],
                   a=(3, 3), b=(3, 3)) == '27m+18a'
    assert counted(lambda q, v: [cos(q) * v[0] + sin(q) * v[1], cos(q) * v[1] - sin(q) * v[0],
                                 v[2]], q=(), v=3) == '4m+2a'
    assert counted(lambda x: [-x[0], x[1], x[0] / x[1]], x=2) == '1m+0a'
    count = trace(lambda x: sqrt(x) + minimum(tan(x), exp(x)), {'x': ()}).count()
    assert count == (0, 1, 0, 1, 1, 2)
    assert (count.multiplications, count.additions, count.total) == (0, 1, 1)


@pytest.mark.parametrize('function, expected', [
    (lambda a, b: [a * b, -a * b, a * -b, -a * -b], '1m+0a'),
    (lambda a, b: [a - b, b - a, a + -b, -a + b], '0m+1a'),
    (lambda a, b: [a + b, b + a, -a - b], '0m+1a'),
    (lambda a, b: [a * b, b * a], '1m+0a'),
    (lambda a, b: [2.0 * a, a + a, -2.0 * a], '0m+1a'),
    (lambda a, b: [0.3 * a, -0.3 * a, a * 0.3], '1m+0a'),
    (lambda a, b: [a / b, -a / b, a / -b], '1m+0a'),
    (lambda a, b: [a / 4.0, 0.25 * a], '1m+0a'),
    (lambda a, b: [0.0 * a, a - a, 0.0 / b, 1.0 * a, a + 0.0, a / 1.0, a - 0.0], '0m+0a'),
    (lambda a, b: [a + 1.5, a - -1.5, -1.5 - a], '0m+1a'),
    (lambda a, b: [a * b - b * a], '0m+0a'),
    (lambda a, b: a ** 5 + a ** 0 + a ** -1, '4m+2a'),
])
def test_folding_and_sharing(function, expected):
    """Signs, order of operands, exact zeros, ones and powers of two make no new operation."""
    graph = trace(function, {'a': (), 'b': ()})
    assert str(graph.count()) == expected
    a, b = 1.7, -0.6
    expected_values = function(a, b)
    if not isinstance(expected_values, list):
        expected_values = [expected_values]
    assert graph.evaluate([a], [b]) == pytest.approx(expected_values, rel=1e-15, abs=0.0)


@pytest.mark.parametrize('function', [
    lambda x, y: [sin(-x), -sin(x), sin(x)],
    lambda x, y: [cos(-x), cos(x), -cos(x)],
    lambda x, y: [tan(-x), tan(x)],
    lambda x, y: [absolute(-x), abs(x), absolute(y - y + x)],
    lambda x, y: [atan2(-y, x), atan2(y, x)],
    lambda x, y: [minimum(-x, -y), maximum(x, y), maximum(y, x)],
    lambda x, y: [where(x, -x, -y), where(x, x, y)],
    lambda x, y: [clamp(sqrt(y), -math.inf, math.inf), sqrt(y)],
])
def test_functions_of_negated_arguments_share_one_node(function):
    """Odd and even functions, selections and open limits take the sign outside."""
    graph = trace(function, {'x': (), 'y': ()})
    assert sum(graph.count()) == 1
    assert graph.evaluate([0.4], [0.9]) == function(0.4, 0.9)


@pytest.mark.parametrize('b', [2.0**-1074, -2.0**-1024, 2.0**-1023, -2.0**1023, 0.25, 3.0])
def test_division_by_a_power_of_two(b):
    """Also where the reciprocal is not a number: subnormal divisors."""
    graph = trace(lambda x: {'y': [x[0] / b]}, {'x': 1})
    for x in (2.0**-60, -1.5 * 2.0**-1000, 2.0**-1074):
        assert graph.evaluate([x]) == [x / b]


@pytest.mark.parametrize('signs', [(1, 1), (-1, 1), (1, -1), (-1, -1)])
def test_selection_of_signed_values(signs):
    """The sign leaves a selection only where both values have it."""
    graph = trace(lambda x: {'y': [where(less(x[0], 0.0), signs[0] * x[1], signs[1] * x[2])]},
                  {'x': 3})
    for c in (-1.0, 1.0):
        assert graph.evaluate([c, 3.0, 5.0]) == [3.0 * signs[0] if c < 0.0 else 5.0 * signs[1]]


@pytest.mark.parametrize('function', [minimum, maximum])
def test_infinite_limits(function):
    """A limit at infinity on the open side is none; on the other side it is all that is left."""
    def limited(x):
        return [*(function(x, end) for end in ends), *(function(end, x) for end in ends)]
    ends = (math.inf, -math.inf)
    assert trace(limited, {'x': ()}).evaluate([0.4]) == limited(0.4)
    ends = (math.inf,) if function is minimum else (-math.inf,)
    assert sum(trace(limited, {'x': ()}).count()) == 0


def test_leaves_are_there_once():
    """An input or constant that is a result as well as an operand is one node."""
    graph = trace(lambda x: [x[0], sin(x[0]), x[0], x[1], 3.0, x[1] + 3.0], {'x': 2})
    assert sorted(node.op for node in graph.nodes) == ['add', 'const', 'input', 'input', 'sin']
    assert graph.evaluate([0.4, 2.0]) == [0.4, math.sin(0.4), 0.4, 2.0, 3.0, 5.0]


def test_signs_cost_no_negation_where_a_sum_or_constant_takes_them():
    """Results of negative products and differences need no negation."""
    graph = trace(lambda a, b, c: [c - a * b, -(a - c), -0.3 * b, (a - b) * -c, -(b - c) * a],
                  {'a': (), 'b': (), 'c': ()})
    assert not [node for node in graph.nodes if node.op == 'neg']
    assert graph.evaluate([1.1], [0.7], [0.3]) == pytest.approx(
        [0.3 - 1.1 * 0.7, 0.3 - 1.1, -0.3 * 0.7, (1.1 - 0.7) * -0.3, -(0.7 - 0.3) * 1.1],
        rel=1e-15)


def test_operators_leave_what_is_no_number_to_others():
    """A class that knows traced values gets its turn; nothing else mixes with them."""
    class Other:
        """Answers every operator from the right."""

        def __radd__(self, left):
            return 'other'
        __rsub__ = __rmul__ = __rtruediv__ = __radd__

    def function(x):
        for operate in (operator.add, operator.sub, operator.mul, operator.truediv):
            assert operate(x, Other()) == 'other'
            for left, right in ((x, 'text'), ('text', x), (object(), x), (x, None)):
                with pytest.raises(TypeError, match='unsupported operand|sequence|concat'):
                    operate(left, right)
        return x
    trace(function, {'x': ()})


def test_operators_take_every_kind_of_number():
    """Ints and NumPy scalars mix with traced values on both sides as floats do."""
    for number in (3, np.float64(3.0), np.float32(3.0), np.int64(3)):
        for op in (operator.add, operator.sub, operator.mul, operator.truediv):
            left = trace(lambda x, n=number, op=op: op(n, x), {'x': ()})
            right = trace(lambda x, n=number, op=op: op(x, n), {'x': ()})
            assert left.evaluate([0.7]) == [op(3.0, 0.7)]
            assert right.evaluate([0.7]) == [op(0.7, 3.0)]
    with pytest.raises(TypeError):
        trace(lambda x: x + '1', {'x': ()})
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    graph = trace(lambda x: matrix @ np.array(x, dtype=object), {'x': 2})
    assert graph.evaluate([5.0, 6.0]) == [17.0, 39.0]


@pytest.mark.parametrize('function, message', [
    (lambda x: x if x < 1.0 else 0.0, r'cannot be compared.*where\(less'),
    (lambda x: x == 1.0, 'cannot be compared'),
    (lambda x: x if x else 0.0, r'no truth value: use where'),
    (lambda x: math.sin(x), 'use the functions of rbd_ros.compiler'),
    (lambda x: x ** 0.5, 'whole exponents only, not 0.5'),
    (lambda x: {'y': 'a'}, 'output "y" holds a str'),
    (lambda x: {'y': None}, 'output "y" holds a NoneType'),
])
def test_what_cannot_be_traced_says_what_to_do(function, message):
    """Branching on a traced value, and values that are no numbers, end in a clear TypeError."""
    with pytest.raises(TypeError, match=message):
        trace(function, {'x': ()})


@pytest.mark.parametrize('inputs, outputs, function, message', [
    ({'a b': ()}, None, lambda x: x, "input name 'a b' is not an identifier"),
    ({'x': ()}, ['y', 'z'], lambda x: x, r'must return 2 values \(y, z\)'),
    ({'x': ()}, ['y'], lambda x: {'z': x}, 'returned z, but the outputs are declared as y'),
    ({'x': 2}, None, lambda x: [x, [x[0]]], r'output "out" is ragged'),
])
def test_bad_signatures_are_named(inputs, outputs, function, message):
    """Names that are no identifiers and results that do not fit are refused by name."""
    with pytest.raises(ValueError, match=message):
        trace(function, inputs, outputs=outputs)


def test_values_of_two_traces_do_not_mix():
    """A traced value that escaped from an earlier trace is refused."""
    kept = []
    trace(lambda x: kept.append(x) or x, {'x': ()})
    with pytest.raises(ValueError, match='two traces were mixed'):
        trace(lambda x: x * kept[0], {'x': ()})


def test_outputs_take_every_form():
    """A dict, one value, a tuple, arrays and nested lists become named outputs with shapes."""
    one = trace(lambda x: x[0], {'x': 2})
    assert [tuple(o) for o in one.outputs] == [('out', ())]
    two = trace(lambda x: (x, np.eye(2)), {'x': 2}, outputs=('a', 'b'))
    assert [tuple(o) for o in two.outputs] == [('a', (2,)), ('b', (2, 2))]
    assert two.evaluate([5.0, 6.0]) == [5.0, 6.0, 1.0, 0.0, 0.0, 1.0]
    assert two.outputs[1].size == 4
    named = trace(lambda m: {'t': list(zip(*m)), 'e': []}, {'m': (2, 3)})
    assert [tuple(o) for o in named.outputs] == [('t', (3, 2)), ('e', (0,))]
    assert named.evaluate([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]


def test_exact_constants_are_recognised():
    """Only a constant zero or one is one; a traced value never is."""
    seen = []
    trace(lambda x: seen.extend([is_zero(x), is_one(x), is_zero(0.0 * x), is_one(x * 0.0 + 1.0)])
          or x, {'x': ()})
    assert seen == [False, False, True, True]
    assert not is_zero(1e-300)


@pytest.mark.parametrize('call, expected', [
    (lambda: sqrt(-1.0), math.nan), (lambda: log(0.0), -math.inf), (lambda: log(-1.0), math.nan),
    (lambda: exp(1000.0), math.inf), (lambda: sin(math.inf), math.nan),
    (lambda: less(math.nan, 1.0), math.nan), (lambda: less(1.0, math.nan), math.nan),
    (lambda: clamp(math.nan, -1.0, 1.0), math.nan), (lambda: clamp(0.5, math.nan, 1.0), math.nan),
    (lambda: clamp(0.5, -1.0, math.nan), math.nan), (lambda: where(math.nan, 1.0, 2.0), math.nan),
    (lambda: clamp(5.0, -1.0, 1.0), 1.0), (lambda: clamp(-5.0, -1.0, 1.0), -1.0),
])
def test_functions_of_floats_answer_as_hardware_does(call, expected):
    """Out of their domain the functions return NaN or infinity, and limits never eat a NaN."""
    np.testing.assert_equal(call(), expected)


@given(programs(ARITHMETIC), states())
@settings(max_examples=examples('properties', 50), deadline=None)
def test_graphs_survive_pickling(program, x):
    """A graph and its copy through pickle are equal and have the same digest."""
    graph = trace(program, {'x': program.size})
    copy = pickle.loads(pickle.dumps(graph))
    assert repr(copy) == repr(graph)
    assert copy.digest() == graph.digest()


def test_digest_is_the_same_in_another_process():
    """The digest depends on the graph alone: not on hash seeds, addresses or the process."""
    script = (
        'from rbd_ros.compiler import trace, sin, minimum\n'
        'g = trace(lambda x, y: {"a": [sin(x[0]) * y - 0.1, minimum(x[1], -y)]},'
        ' {"x": 2, "y": ()}, name="g")\n'
        'print(g.digest())')
    found = {subprocess.run([sys.executable, '-c', script], capture_output=True, text=True,
                            check=True, env={'PYTHONHASHSEED': seed,
                                             'PYTHONPATH': ':'.join(sys.path)}).stdout
             for seed in ('1', '2')}
    assert len(found) == 1
    assert len(found.pop().strip()) == 64


def test_digest_tells_graphs_apart():
    """A different constant, name, shape, operation or order of results gives another digest."""
    def digest(function, shape=2, name='f'):
        return trace(function, {'x': shape}, name=name).digest()

    found = [digest(lambda x: x[0] + 0.1), digest(lambda x: x[0] + 0.1 * (1.0 + 2.0 ** -52)),
             digest(lambda x: x[0] - 0.1), digest(lambda x: x[0] + 0.1, 3),
             digest(lambda x: x[0] + 0.1, name='g'), digest(lambda x: [x[0] + 0.1]),
             digest(lambda x: [x[0], x[1]]), digest(lambda x: [x[1], x[0]])]
    assert len(set(found)) == len(found)


def test_unknown_argument_of_a_graph_is_named():
    """Asking a graph for an output it does not have lists those it has."""
    graph = trace(lambda x: {'y': x}, {'x': ()})
    with pytest.raises(KeyError, match='no output "z" in the graph .known: y'):
        graph.output_results('z')


def test_python_source_is_readable_and_complete():
    """The written module runs by itself, needing nothing of this package."""
    graph = trace(lambda x, y: {'z': [where(less(x, y), x / y, minimum(x, -y)), math.inf]},
                  {'x': (), 'y': ()}, name='pick')
    namespace = {}
    exec(emit_python(graph), namespace)
    assert namespace['pick']([1.0], [2.0]) == [0.5, math.inf]
    assert namespace['pick']([3.0], [2.0])[0] == -2.0
    assert math.isnan(namespace['pick']([math.nan], [2.0])[0])


def test_order_keeps_few_values_alive():
    """Results that need nothing of each other are computed one after another."""
    def function(m, x):
        products = [[a * b for a, b in zip(row, x)] for row in m]
        return [sum(row[1:], row[0]) for row in products]

    graph = trace(function, {'m': (12, 12), 'x': 12})
    last = {a: k for k, node in enumerate(graph.nodes) for a in node.args}
    alive = [sum(1 for a, end in last.items() if a < k <= end and graph.nodes[a].op == 'mul')
             for k in range(len(graph.nodes))]
    assert max(alive) <= 2, 'in the order of the recording all 144 products are alive at once'
