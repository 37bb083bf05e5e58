# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What operations and their derivatives give in every back end, by formulas of their own."""

from __future__ import annotations

import math

from c_functions import build, COMPILER
import numpy as np
import pytest
from rbd_ros.compiler import (
    atan2, compile as compile_graph, cos, equal, floor, gradient, is_finite, jacobian, jvp, less,
    logical_and, logical_not, logical_or, sin, trace, vjp, where)

# One unit in the last place is what libraries of mathematical functions differ by; a formula of
# a few operations on such values may lose a few more.
TOLERANCE = {'rtol': 4e-15, 'atol': 1e-300}


def by_every_backend(graph, states):
    """
    Yield the name of each way to compute a graph, and its outputs for each state, flat.

    :param states: for each state, the arrays of the inputs.
    """
    def flat(outputs):
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return np.concatenate([np.ravel(x) for x in outputs])

    yield 'reference', [graph.evaluate(*map(np.ravel, state)) for state in states]
    if COMPILER is not None:
        function, = build([graph], graph.name)
        yield 'C', [function(*state) for state in states]
    for backend in ('python', 'llvm'):
        kernel = compile_graph(graph, backend=backend, cache=False)
        yield backend, [flat(kernel(*state)) for state in states]
        batch = kernel.batch(*(np.array(x) for x in zip(*states)))
        batch = batch if isinstance(batch, tuple) else (batch,)
        yield f'{backend}, batch', np.concatenate(
            [np.reshape(x, (len(states), -1)) for x in batch], axis=1)


def check(graph, states, expected):
    """Compare every back end with numbers found by other means."""
    names = set()
    for name, found in by_every_backend(graph, states):
        np.testing.assert_allclose(np.array(found), expected, **TOLERANCE, err_msg=name)
        names.add(name)
    assert names >= {'reference', 'python', 'python, batch', 'llvm', 'llvm, batch'}


def test_atan2_in_four_quadrants():
    """The angle of (x, y) is right in each quadrant and on each axis, with every sign traced."""
    def function(y, x):
        return {'angle': [atan2(y, x), atan2(-y, x), atan2(y, -x), atan2(-y, -x), atan2(x, y)]}

    states, expected = [], []
    for k, angle in enumerate([0.3, 1.2, 2.0, 2.9, -2.8, -1.9, -1.0, -0.2]):
        states.append(((k + 0.5) * math.sin(angle), (k + 0.5) * math.cos(angle)))
        half = math.copysign(math.pi, angle)
        mirrored = 0.5 * math.pi - angle
        expected.append([angle, -angle, half - angle, angle - half,
                         mirrored - 2.0 * math.pi * (mirrored > math.pi)])
    # on the axes
    states += [(2.0, 0.0), (-2.0, 0.0), (0.0, 3.0)]
    right = 0.5 * math.pi
    expected += [[right, -right, right, -right, 0.0], [-right, right, -right, right, math.pi],
                 [0.0, 0.0, math.pi, math.pi, right]]
    graph = trace(function, {'y': (), 'x': ()})
    for name, found in by_every_backend(graph, states):
        # at y = 0 the sign of a zero is not kept: half a turn either way
        found = np.array(found)
        found[-1, 2:4] = np.abs(found[-1, 2:4])
        np.testing.assert_allclose(found, expected, rtol=2e-15, atol=1e-300, err_msg=name)


def test_gradient_of_where_with_a_constant():
    """The side that is a constant has derivative zero, on either side of where."""
    def function(x):
        big = less(1.0, x[0])
        return {'e': where(big, x[0] * x[1], 0.7) + where(big, -0.4, sin(x[1])) * x[2]
                + where(less(x[1], 0.0), x[2], 2.0) + where(less(x[2], 0.0), 3.0, x[2] * x[2])}

    states, expected = [], []
    for a in (0.4, 1.3):
        for b in (-0.6, 0.9):
            for c in (-1.1, 0.8):
                states.append(([a, b, c],))
                taken = a > 1.0
                expected.append([
                    b if taken else 0.0,
                    a if taken else math.cos(b) * c,
                    (-0.4 if taken else math.sin(b)) + (b < 0.0) + (c >= 0.0) * 2.0 * c])
    graph = trace(function, {'x': 3})
    check(gradient(graph, 'e', 'x', name='backward'), states, expected)
    check(jacobian(graph, 'e', 'x', name='forward'), states, expected)


def test_products_where_one_node_is_two_outputs():
    """An expression that is several outputs, of either sign, collects what comes back of each."""
    def function(x):
        y = sin(x[0]) * x[1]
        return {'y': [y, x[0], y, -y], 'z': [y, x[1], x[1]], 'c': 2.0 * y}

    x, bars = [0.7, -1.3], ([0.2, -0.3, 0.5, 1.1], [0.9, 1.7, -0.4], 0.6)
    s, c = math.sin(0.7), math.cos(0.7)
    total = 0.2 + 0.5 - 1.1 + 0.9 + 2.0 * 0.6
    graph = trace(function, {'x': 2})
    back = vjp(graph, ['y', 'z', 'c'], 'x', name='back')
    check(back, [(x, *bars)], [[total * c * x[1] - 0.3, total * s + 1.7 - 0.4]])
    only = vjp(graph, 'z', 'x', name='only')
    check(only, [(x, bars[1])], [[0.9 * c * x[1], 0.9 * s + 1.7 - 0.4]])
    along = [0.8, -0.5]
    rate = c * x[1] * along[0] + s * along[1]
    ahead = jvp(graph, ['y', 'z', 'c'], 'x', name='ahead')
    check(ahead, [(x, along)],
          [[rate, 0.8, rate, -rate, rate, -0.5, -0.5, 2.0 * rate]])


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_derivative_of_atan2_in_four_quadrants(sign):
    """The rate of the angle is (x dy - y dx) / (x^2 + y^2), whatever the quadrant."""
    def function(t):
        return {'angle': atan2(sign * sin(t) * 2.0, cos(t) * 2.0)}

    states = [(t,) for t in (0.3, 1.2, 2.0, 2.9, -2.8, -1.9, -1.0, -0.2)]
    check(jacobian(trace(function, {'t': ()}), 'angle', 't', name='rate'), states,
          [[sign]] * len(states))


def test_logic_by_value():
    """Comparisons, logic, floor and finiteness are right in every back end, NaN included."""
    nan, inf = math.nan, math.inf

    def function(a, b):
        return {'y': [equal(a, b), equal(-a, -b), equal(-a, b), logical_and(a, b),
                      logical_or(a, b), logical_not(a), logical_and(-a, b), is_finite(a),
                      is_finite(a * b), floor(a), -floor(-a)]}

    states = [(0.0, 0.0), (1.0, 0.0), (0.0, -2.0), (-2.0, -2.0), (0.5, -0.5), (-3.7, 3.7),
              (1e300, 1e300), (inf, 1.0), (-inf, -inf), (nan, 0.0), (0.0, nan), (1.0, nan)]
    expected = [
        [1, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0], [1, 1, 0, 1, 1, 0, 1, 1, 1, -2, -2],
        [0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1], [0, 0, 1, 1, 1, 0, 1, 1, 1, -4, -3],
        [1, 1, 0, 1, 1, 0, 1, 1, 0, 1e300, 1e300], [0, 0, 0, 1, 1, 0, 1, 0, 0, inf, inf],
        [1, 1, 0, 1, 1, 0, 1, 0, 0, -inf, -inf],
        [nan, nan, nan, nan, nan, nan, nan, 0, 0, nan, nan],
        [nan, nan, nan, nan, nan, 1, nan, 1, 0, 0, 0],
        [nan, nan, nan, nan, nan, 0, nan, 1, 0, 1, 1]]
    graph = trace(function, {'a': (), 'b': ()}, name='logic')
    found = {'reference': [graph.evaluate(*([x] for x in state)) for state in states]}
    if COMPILER is not None:
        function, = build([graph], graph.name)
        found['C'] = [function(*state) for state in states]
    columns = [np.array(x) for x in zip(*states, strict=True)]
    for backend in ('python', 'llvm'):
        kernel = compile_graph(graph, backend=backend, cache=False)
        found[backend] = np.zeros((len(states), 11))
        for state, out in zip(states, found[backend], strict=True):
            kernel.run([np.array(x) for x in state], [out])
        found[f'{backend}, batch'] = np.zeros((len(states), 11))
        kernel.run_batch(columns, [True, True], [found[f'{backend}, batch']], len(states), None)
    for name, values in found.items():
        np.testing.assert_array_equal(np.array(values), expected, err_msg=name)


def test_steps_have_no_slope():
    """What is constant between its jumps has derivative zero, and hides no other slope."""
    def function(x):
        return {'e': floor(x[0]) * x[1] + logical_and(less(x[1], 3.0), x[0]) * x[0]
                + logical_or(x[0], x[1]) * 2.0 + equal(x[0], x[1]) + logical_not(x[0]) * x[1]
                + is_finite(x[0]) * x[1] * x[1]}

    states = [([2.5, 0.5],), ([-1.5, 4.0],)]
    expected = [[1.0, 2.0 + 1.0], [0.0, -2.0 + 8.0]]
    graph = trace(function, {'x': 2})
    check(gradient(graph, 'e', 'x', name='backward'), states, expected)
    check(jacobian(graph, 'e', 'x', name='forward'), states, expected)
