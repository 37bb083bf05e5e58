# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Procedures: machine code does what Python does with the same source, and refuses the rest."""

from __future__ import annotations

import gc
import math
from typing import NamedTuple
import weakref

import numpy as np
import pytest
from rbd_ros.algorithms.contact import friction_cones
from rbd_ros.compiler import compile as compile_graph, trace
from rbd_ros.compiler.native.procedure_text import translate
from rbd_ros.compiler.procedure import bind, Kernel, Matrix, Vector

HALF = 0.5
COUNT = 3


class Record(NamedTuple):
    """Two arrays and a call."""

    x: Vector
    A: Matrix
    run: Kernel


# --- procedures, run both ways ----------------------------------------------------------------


def control_flow(x: Vector, y: Vector) -> None:
    """Use loops of each kind, with their exits, and names that outlive their loop."""
    total, k = 0.0, 0
    for i in range(len(x)):
        if x[i] < 0.0:
            continue
        if total > 3.0:
            break
        total += x[i]
    y[0] = i
    while True:
        k += 1
        if k >= COUNT and not total < 0.0:
            break
    y[1] = k
    for j in range(len(x) - 1, -1, -2):
        y[2] += HALF * x[j] * j
    for _ in range(2, 2):
        y[3] = 1.0
    y[4] = total
    if total > 2.0:
        y[5] = 1.0
    elif total > 1.0:
        y[5] = 2.0
    else:
        y[5] = 3.0


def arithmetic(x: Vector, y: Vector) -> None:
    """Use all operations, and what NaN makes of comparisons."""
    a, b, n = x[0], x[1], int(x[2])
    y[0], y[1], y[2] = a + b * n, (a - b) / 7, -a
    y[3], y[4] = max(a, b), min(a, b)
    y[5], y[6] = abs(a), math.sqrt(abs(b))
    y[7] = 1.0 if a < b else 0.0
    y[8] = 1.0 if a != b and not a == b else -1.0
    y[9] = 1.0 if a <= b or a >= b or n > 100 else 0.0
    y[10] = float(n - 2 * n) / (n + 1)
    y[0], y[1] = y[1], y[0]
    y[11] = max(n, 3) + min(-1, n)
    if n < len(x) and x[n] > 0.0:           # the second is out of reach where the first is false
        y[12] = x[n]


def product(A: Matrix, x: Vector, i: int, scale: float) -> float:
    """Return an element of a product."""
    total = 0.0
    for j in range(len(x)):
        total += scale * A[i, j] * x[j]
    return total


def is_large(value: float) -> bool:
    """Return whether a number is large."""
    if value > 1.0:
        return True
    return False


def functions(r: Record, y: Vector) -> None:
    """Call others, with numbers, arrays and records."""
    for i in range(len(r.A)):
        y[i] = product(r.A, r.x, i, 2)
        if is_large(y[i]):
            y[i] = 1.0
    twice(r, y)


def twice(r: Record, y: Vector) -> None:
    """Call the kernel two times, unless the first fails."""
    if r.run() != 0:
        y[0] = -1.0
        return
    r.run()


def both(function, *arrays):
    """Run a procedure as Python and as machine code on copies of arrays."""
    found = []
    for backend in ('python', 'llvm'):
        own = [array.copy() for array in arrays]
        with np.errstate(invalid='ignore', divide='ignore'):
            bind(function, *own, backend=backend)()
        found.append(own)
    return found


def test_machine_code_does_what_python_does():
    """To the last bit, for random numbers, for NaN and for infinity."""
    rng = np.random.default_rng(0)
    for k in range(60):
        x = rng.normal(scale=2.0, size=int(rng.integers(1, 9)))
        python, machine = both(control_flow, x, np.zeros(6))
        np.testing.assert_array_equal(python[1], machine[1])
        assert python[1][1] == COUNT and python[1][3] == 0.0
        x = np.array([*rng.normal(size=2), float(rng.integers(0, 6)), 1.0])
        if k % 4 == 0:
            x[k % 8 // 4] = (math.nan, math.inf, -math.inf, 0.0)[k // 8 % 4]
        python, machine = both(arithmetic, x, np.zeros(13))
        np.testing.assert_array_equal(python[1], machine[1])


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_records_functions_and_kernels(backend):
    """A kernel is called on its own arrays; so is Python, whose errors arrive."""
    def counted(n, step):
        return [n[0] + step[0]]
    graph = trace(counted, {'n': (1,), 'step': (1,)})
    kernel = compile_graph(graph, backend=backend).bind()
    kernel.inputs['step'][:] = 3.0
    x, y = np.array([1.0, 2.0]), np.zeros(2)
    A = np.array([[0.1, 0.1], [3.0, 4.0]])
    bind(functions, Record(x, A, kernel), y, backend=backend)()
    assert y.tolist() == pytest.approx([0.6, 1.0])
    assert next(iter(kernel.outputs.values()))[0] == 3.0
    calls = []
    bind(functions, Record(x, A, lambda: calls.append(1)), y, backend=backend)()
    assert len(calls) == 2

    def failing():
        calls.append(1)
        raise KeyError('of the call')
    run = bind(functions, Record(x, A, failing), y, backend=backend)
    for _ in range(2):
        with pytest.raises(KeyError, match='of the call'):
            run()
    assert len(calls) == 4


def test_a_procedure_that_calls_its_owner_is_collected():
    """Nothing of it is kept alive by the machine code that refers to it."""
    class Owner:

        def __init__(self):
            self.run = bind(functions, Record(np.zeros(1), np.zeros((1, 1)), self.called),
                            np.zeros(1))

        def called(self):
            pass
    owner = Owner()
    owner.run()
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


# --- refusals ---------------------------------------------------------------------------------


def uses_power(x: Vector) -> None:
    """Raise to a power."""
    x[0] = x[0] ** 2


def changes_type(x: Vector) -> None:
    """Assign a number to what was an integer."""
    n = 1
    n = x[0]
    x[0] = n


def calls_others(x: Vector) -> None:
    """Call what is no procedure."""
    np.sort(x)


def iterates(x: Vector) -> None:
    """Go through elements."""
    for value in x:
        x[0] = value


def wrong_index(A: Matrix) -> None:
    """Take more axes than there are."""
    A[0, 1, 0] = 1.0


def takes_number(x: Vector, n: int) -> None:
    """Need a number from Python."""
    x[0] = n


def takes_text(x: Vector, n: str) -> None:
    """Need a text."""


@pytest.mark.parametrize(('function', 'reason'), [
    (uses_power, r'`x\[0\] \*\* 2` cannot be translated: there is no such operation'),
    (changes_type, 'float in place of int'),
    (calls_others, 'np.sort is no function that is known here'),
    (iterates, 'a loop is over a range'),
    (wrong_index, 'one index for each of its axes'),
    (takes_number, 'takes_number can be called from Python if it takes no numbers'),
    (takes_text, 'takes_text: n is str; it must be Vector'),
])
def test_what_cannot_be_translated_is_refused(function, reason):
    """With the place and the reason."""
    with pytest.raises(TypeError, match=reason):
        translate(function)


def test_line_of_a_refusal():
    """The module, and the line in it."""
    line = uses_power.__code__.co_firstlineno + 2
    with pytest.raises(TypeError, match=f'^{__name__}, line {line}: '):
        translate(uses_power)


def test_arrays_that_do_not_fit_are_refused():
    """Another number of axes, another type, or gaps between elements."""
    x, y = np.zeros(4), np.zeros(13)
    for wrong in (np.zeros((2, 2)), np.zeros(4, np.float32), np.zeros(8)[::2]):
        with pytest.raises(TypeError, match='arithmetic works on C-contiguous float64 arrays'):
            bind(arithmetic, wrong, y, backend='llvm')
    with pytest.raises(TypeError, match='takes a Vector, not 3'):
        bind(arithmetic, x, 3, backend='llvm')
    with pytest.raises(ValueError, match='no backend "gpu"'):
        bind(arithmetic, x, y, backend='gpu')


def test_without_source_python_runs_it(caplog):
    """With a warning, once, where nobody asked for machine code."""
    space: dict = {'Vector': Vector, '__name__': __name__}
    exec('def unread(x: Vector) -> None:\n    x[0] = 2.0\n', space)
    x = np.zeros(1)
    for _ in range(2):
        bind(space['unread'], x)()
    assert x[0] == 2.0
    assert caplog.text.count('unread runs as Python') == 1
    with pytest.raises(OSError, match='source'):
        bind(space['unread'], x, backend='llvm')


# --- contacts ---------------------------------------------------------------------------------


def test_contacts_are_solved_the_same_in_python():
    """Forces of random contacts, with sweeps and without; the blocks' inverses are NumPy's."""
    rng, swept = np.random.default_rng(5), 0.0
    for k in range(12):
        count, nv = int(rng.integers(1, 5)), int(rng.integers(2, 9))
        T = rng.normal(size=(3 * count, nv))
        found = []
        for backend in ('python', 'llvm'):
            p, report = friction_cones.cones(count), np.zeros(1)
            p.M[:], p.d[:], p.mu[:] = T @ T.T, T @ np.ones(nv) - 0.5 * (k % 3), 0.4
            bind(friction_cones.solve_contacts, p, np.array([1e-10, 20.0]), report,
                 backend=backend)()
            found.append([p.force.copy(), report[0], p.swept[0]])
        swept += p.swept[0]
        np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9, atol=1e-9)
        friction_cones.invert_blocks(p, count)
        for i in range(count):
            at = slice(3 * i, 3 * i + 3)
            np.testing.assert_allclose(
                p.w[friction_cones.INVERSE:friction_cones.INVERSE + 3, at],
                np.linalg.pinv(p.M[at, at], rcond=1e-12, hermitian=True), rtol=1e-8, atol=1e-8)
    assert swept > 0.0
