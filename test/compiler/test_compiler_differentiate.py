# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of graphs, against complex steps, against each other and in closed form."""

import cmath
import math

from hypothesis import assume, given, settings
import numpy as np
import pytest
from random_graphs import programs, SMOOTH, states
from rbd_ros.compiler import (
    absolute, acos, asin, atan2, clamp, cos, exp, gradient, jacobian, jvp, less, less_equal, log,
    maximum, minimum, sin, sqrt, tan, tanh, trace, vjp, where)
from sampling import examples

COMPLEX = {
    'neg': lambda a: -a, 'add': lambda a, b: a + b, 'sub': lambda a, b: a - b,
    'mul': lambda a, b: a * b, 'div': lambda a, b: a / b, 'sqrt': cmath.sqrt, 'sin': cmath.sin,
    'cos': cmath.cos, 'tan': cmath.tan, 'exp': cmath.exp, 'log': cmath.log, 'tanh': cmath.tanh,
}
ANALYTIC = tuple(COMPLEX)


def complex_step(graph, x, k):
    """Return the derivative along element k: exact to rounding, no difference is taken."""
    h = 1e-40
    work = []
    for op, args, value in graph.nodes:
        if op == 'const':
            work.append(value + 0j)
        elif op == 'input':
            work.append(complex(x[value[1]], h * (value[1] == k)))
        else:
            work.append(COMPLEX[op](*[work[a] for a in args]))
    return [work[r].imag / h for r in graph.results], work


def smooth_at(graph, x):
    """Return whether all values and derivatives on the way are of moderate size."""
    try:
        values = graph.evaluate_all(x)
        _, work = complex_step(graph, x, 0)
    except (ValueError, OverflowError, ZeroDivisionError):
        return False
    fine = all(math.isfinite(v) and abs(v) < 1e4 for v in values)
    roots = [node.args[0] for node in graph.nodes if node.op in ('sqrt', 'log')]
    bottoms = [node.args[1] for node in graph.nodes if node.op == 'div']
    return (fine and all(values[k] > 1e-2 for k in roots)
            and all(abs(values[k]) > 1e-2 for k in bottoms)
            and all(math.isfinite(abs(w)) for w in work))


@given(programs(ANALYTIC, longest=15), states())
@settings(max_examples=examples('properties', 150), deadline=None)
def test_jacobian_is_the_complex_step(program, x):
    """Forward and reverse Jacobians of random analytic graphs equal complex-step derivatives."""
    graph = trace(program, {'x': program.size})
    assume(smooth_at(graph, x))
    expected = np.array([complex_step(graph, x, k)[0] for k in range(program.size)]).T
    assume(np.abs(expected).max() < 1e6)
    # Cancellation between large terms on the way loses digits in both.
    tolerance = 1e-9 * (1.0 + np.abs(expected).max())
    for mode in ('forward', 'reverse'):
        found = jacobian(graph, 'y', 'x', mode=mode)
        assert [tuple(a) for a in found.outputs] == [('dy_dx', (3, program.size))]
        np.testing.assert_allclose(np.reshape(found.evaluate(x), (3, -1)), expected,
                                   rtol=1e-9, atol=tolerance)


CLOSED = [
    (sin, math.cos), (cos, lambda x: -math.sin(x)), (tan, lambda x: 1.0 / math.cos(x) ** 2),
    (asin, lambda x: 1.0 / math.sqrt(1.0 - x * x)),
    (acos, lambda x: -1.0 / math.sqrt(1.0 - x * x)),
    (sqrt, lambda x: 0.5 / math.sqrt(x)), (exp, math.exp), (log, lambda x: 1.0 / x),
    (tanh, lambda x: 1.0 / math.cosh(x) ** 2), (absolute, lambda x: math.copysign(1.0, x)),
    (lambda x: atan2(x, 0.3), lambda x: 0.3 / (x * x + 0.09)),
    (lambda x: atan2(0.3, x), lambda x: -0.3 / (x * x + 0.09)),
    (lambda x: 0.7 / x, lambda x: -0.7 / x ** 2), (lambda x: x / 0.7, lambda x: 1.0 / 0.7),
    (lambda x: x ** 3 - 2.0 * x, lambda x: 3.0 * x * x - 2.0),
    (lambda x: minimum(x, 0.2) + 3.0 * maximum(x, 0.2), lambda x: 1.0 if x < 0.2 else 3.0),
    (lambda x: clamp(x, -0.5, 0.5), lambda x: float(abs(x) < 0.5)),
    (lambda x: where(less(x, 0.1), x * x, sin(x)), lambda x: 2.0 * x if x < 0.1 else math.cos(x)),
    (lambda x: less(x, 0.1) + less_equal(x, 0.4) * x, lambda x: float(x <= 0.4)),
]


@pytest.mark.parametrize('function, derivative', CLOSED)
def test_elementary_derivatives(function, derivative):
    """Each operation has its textbook derivative, in both modes and as products."""
    graph = trace(lambda x: {'y': function(x)}, {'x': ()})
    for x in (0.05, 0.37, 0.71):
        expected = pytest.approx([derivative(x)], rel=1e-13)
        assert jacobian(graph, 'y', 'x').evaluate([x]) == expected
        assert gradient(graph, 'y', 'x').evaluate([x]) == expected
        assert jvp(graph, 'y', 'x').evaluate([x], [2.0]) == pytest.approx(
            [2.0 * derivative(x)], rel=1e-13)
        assert vjp(graph, 'y', 'x').evaluate([x], [-3.0]) == pytest.approx(
            [-3.0 * derivative(x)], rel=1e-13)


@pytest.mark.parametrize('function, at, expected', [
    (absolute, 0.0, 1.0),
    (lambda x: minimum(x, 2.0 * x), 0.0, 1.0),
    (lambda x: maximum(x, 2.0 * x), 0.0, 1.0),
    (lambda x: where(less(x, 1.0), 3.0 * x, x), 1.0, 1.0),
    (lambda x: clamp(x, -1.0, 1.0), 1.0, 1.0),
    (lambda x: clamp(x, -1.0, 1.0), -1.0, 1.0),
])
def test_kinks_have_a_one_sided_derivative(function, at, expected):
    """At a kink both modes give the derivative of the same one side, never a mixture."""
    graph = trace(lambda x: {'y': function(x)}, {'x': ()})
    for mode in ('forward', 'reverse'):
        assert jacobian(graph, 'y', 'x', mode=mode).evaluate([at]) == [expected]


@pytest.mark.parametrize('mode', ['forward', 'reverse'])
def test_side_not_taken_does_not_spoil_the_derivative(mode):
    """An infinite or undefined derivative on the side not taken stays there."""
    def function(x):
        big = less(1e-3, x * x)
        inner = where(less(0.0, x), sqrt(x), -2.0 * x)
        return {'y': [where(big, sin(x) / x, 1.0 - x * x / 6.0), inner + log(absolute(x) + 1.0)]}

    found = jacobian(trace(function, {'x': ()}), 'y', 'x', mode=mode)
    assert found.evaluate([0.0]) == [0.0, -1.0]
    assert found.evaluate([-0.5]) == pytest.approx(
        [math.cos(0.5) / -0.5 + math.sin(0.5) / 0.25, -2.0 - 1.0 / 1.5], rel=1e-13)


def test_nan_comes_through_the_derivative_of_a_limiter():
    """A NaN input makes the derivative of a clamp NaN, not zero or one."""
    graph = trace(lambda x: {'y': clamp(x, -1.0, 1.0)}, {'x': ()})
    for mode in ('forward', 'reverse'):
        assert math.isnan(jacobian(graph, 'y', 'x', mode=mode).evaluate([math.nan])[0])


@given(programs(SMOOTH, longest=20), states(), states(), states())
@settings(max_examples=examples('properties', 80), deadline=None)
def test_modes_are_adjoint(program, x, along, back):
    """The product y_bar . (J x_dot) is the same from jvp and from vjp."""
    graph = trace(program, {'x': program.size})
    n = program.size
    J = np.reshape(jacobian(graph, 'y', 'x').evaluate(x), (3, n))
    assume(np.isfinite(J).all() and np.abs(J).max() < 1e4)
    assume(all(math.isfinite(v) and abs(v) < 1e4 for v in graph.evaluate_all(x)))
    pushed = np.array(jvp(graph, 'y', 'x').evaluate(x, along))
    pulled = np.array(vjp(graph, 'y', 'x').evaluate(x, back))
    assume(np.isfinite(pushed).all() and np.isfinite(pulled).all())
    # Forward and reverse add the same products in another order.
    scale = 1.0 + np.abs(J).max()
    np.testing.assert_allclose(pushed, J @ along[:n], rtol=1e-8, atol=1e-8 * scale)
    np.testing.assert_allclose(pulled, back[:3] @ J, rtol=1e-8, atol=1e-8 * scale)


def test_blocks_shapes_and_values():
    """Several outputs and inputs give one block each, after the values if these are wanted."""
    def function(a, b, c):
        return {'y': [[a[0] * b, a[1] * c[0]], [a[0] + c[1], b * b]], 'z': sin(b)}

    graph = trace(function, {'a': 2, 'b': (), 'c': 2}, name='g')
    found = jacobian(graph, ['y', 'z'], ['a', 'b'], values=True, name='dg')
    assert found.name == 'dg'
    assert found.inputs == graph.inputs
    assert [tuple(a) for a in found.outputs] == [
        ('y', (2, 2)), ('z', ()), ('dy_da', (2, 2, 2)), ('dy_db', (2, 2)), ('dz_da', (2,)),
        ('dz_db', ())]
    values = ([2.0, 3.0], [0.5], [7.0, 11.0])
    assert found.evaluate(*values) == [
        1.0, 21.0, 13.0, 0.25, math.sin(0.5),
        0.5, 0.0, 0.0, 7.0, 1.0, 0.0, 0.0, 0.0,
        2.0, 0.0, 0.0, 1.0, 0.0, 0.0, math.cos(0.5)]
    back = vjp(graph, 'y', ['c', 'a'])
    assert [a.name for a in back.inputs] == ['a', 'b', 'c', 'y_bar']
    assert [tuple(a) for a in back.outputs] == [('c_bar', (2,)), ('a_bar', (2,))]


def test_reverse_mode_of_one_output_is_cheap():
    """The gradient of one number costs a few times the number, however many inputs it has."""
    def energy(x):
        total = x[0]
        for a in x:
            total = sin(total * a) + a / (2.0 + cos(total))
        return {'e': total}

    graph = trace(energy, {'x': 60})
    cheap, full = gradient(graph, 'e', 'x').count(), graph.count()
    assert cheap.total <= 5 * full.total
    assert 5 * cheap.total < jacobian(graph, 'e', 'x').count().total


def test_second_derivatives():
    """A derivative is a graph and can be differentiated again: the Hessian is symmetric."""
    graph = trace(lambda x: {'e': sin(x[0] * x[1]) + x[2] ** 3 * x[0]}, {'x': 3})
    hessian = jacobian(gradient(graph, 'e', 'x'), 'de_dx', 'x')
    H = np.reshape(hessian.evaluate([0.3, 0.7, 1.1]), (3, 3))
    s, c = math.sin(0.21), math.cos(0.21)
    expected = [[-0.49 * s, c - 0.21 * s, 3.63], [c - 0.21 * s, -0.09 * s, 0.0],
                [3.63, 0.0, 6.0 * 1.1 * 0.3]]
    np.testing.assert_allclose(H, expected, rtol=1e-13)


def test_bad_requests_are_named():
    """Unknown names, modes and gradients of arrays are refused with what is known."""
    graph = trace(lambda x: {'y': [x, x]}, {'x': ()})
    with pytest.raises(KeyError, match='no input "q" in the graph .known: x'):
        jacobian(graph, 'y', 'q')
    with pytest.raises(ValueError, match='no mode "both" .known: forward, reverse'):
        jacobian(graph, 'y', 'x', mode='both')
    with pytest.raises(ValueError, match='output "y" has 2 elements and a gradient needs one'):
        gradient(graph, 'y', 'x')
