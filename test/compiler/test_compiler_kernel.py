# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The checked call that all backends share, and the choice of a backend."""

import pickle
import warnings

import numpy as np
import pytest
from rbd_ros.compiler import backends, compile as compile_graph, sin, trace


def both(q, m):
    """Return a vector and a scalar."""
    return {'tau': [m[0][0] * q[0], sin(q[1]) + m[1][1]], 'e': q[0] * q[1]}


@pytest.fixture
def kernel():
    """Return a kernel with two inputs and two outputs."""
    return compile_graph(trace(both, {'q': 2, 'm': (2, 2)}, name='both'), backend='python')


def test_kernel_says_what_it_is(kernel):
    """The repr shows the signature and the backend, and a kernel can be pickled."""
    assert repr(kernel) == '<Kernel both(q[2], m[2, 2]) -> tau[2], e[] [python]>'
    copy = pickle.loads(pickle.dumps(kernel))
    assert float(copy([3.0, 4.0], np.eye(2))[1]) == 12.0


def test_compile_takes_one_or_several_graphs():
    """One graph gives a kernel, several a list in order, with progress reported."""
    graphs = [trace(lambda x, k=k: x * (k + 2.5), {'x': ()}, name=f'g{k}') for k in range(3)]
    seen = []
    kernels = compile_graph(graphs, backend='python',
                            progress=lambda name, share: seen.append((name, share)))
    assert [float(kernel(2.0)) for kernel in kernels] == [5.0, 7.0, 9.0]
    assert [name for name, _ in seen] == ['g0', 'g1', 'g2']
    assert seen[-1][1] == 1.0
    assert compile_graph(graphs[0], backend='python').backend == 'python'
    with pytest.raises(ValueError, match='no backend "fortran" .known: auto, llvm, python'):
        compile_graph(graphs[0], backend='fortran')


def test_missing_llvmlite_gives_python_and_one_warning(monkeypatch):
    """Without llvmlite everything works through Python, and says so once."""
    graph = trace(lambda x: x * x, {'x': ()})
    monkeypatch.setattr(backends, 'has_llvm', lambda: False)
    backends.warn_of_python.cache_clear()
    with pytest.warns(RuntimeWarning, match='llvmlite is not installed.*install llvmlite'):
        kernel = compile_graph(graph)
    assert kernel.backend == 'python'
    assert float(kernel(3.0)) == 9.0
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        compile_graph(graph)


def test_batch_takes_empty_and_unused_arguments():
    """Arguments and results without elements, and results that need no input, batch as well."""
    graph = trace(lambda x, none: {'y': [x, 3.0], 'nothing': [], 'fixed': 7.5},
                  {'x': (), 'none': 0})
    kernel = compile_graph(graph, backend='python')
    y, nothing, fixed = kernel.batch([1.0, 2.0], np.zeros((2, 0)))
    assert y.tolist() == [[1.0, 3.0], [2.0, 3.0]]
    assert nothing.shape == (2, 0)
    assert fixed.tolist() == [7.5, 7.5]
    assert kernel.batch([1.0, 2.0], [])[2].tolist() == [7.5, 7.5]
