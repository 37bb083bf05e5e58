# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Choosing the backend that makes a graph executable."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast, overload
import warnings

from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.kernel import Kernel, Progress, Source
from rbd_ros.compiler.native.target import binding, Target
from rbd_ros.compiler.scalar import FLOAT64, scalar_type, ScalarType

BACKENDS = ('auto', 'llvm', 'python')


@overload
def compile(graphs: Source, *, backend: str = 'auto', keys: str | None = None,  # noqa: A001
            cache: bool = True, progress: Progress | None = None,
            scalar: str | ScalarType = FLOAT64, target: Target | None = None,
            call: bool = True) -> Kernel: ...


@overload
def compile(graphs: Sequence[Source], *, backend: str = 'auto',  # noqa: A001
            keys: Sequence[str] | None = None, cache: bool = True,
            progress: Progress | None = None, scalar: str | ScalarType = FLOAT64,
            target: Target | None = None, call: bool = True) -> list[Kernel]: ...


def compile(graphs: Source | Sequence[Source], *, backend: str = 'auto',  # noqa: A001
            keys: str | Sequence[str] | None = None, cache: bool = True,
            progress: Progress | None = None, scalar: str | ScalarType = FLOAT64,
            target: Target | None = None, call: bool = True) -> Kernel | list[Kernel]:
    """
    Return a graph, or each of several, as an executable kernel.

    :param graphs: what to compile; a function in place of a graph traces it, and is called only
        where the machine code is not on disk.
    :param keys: for functions, a digest of all that each one's graph depends on.
    :param backend: 'llvm' for machine code, 'python' for straight-line Python, 'auto' for machine
        code where llvmlite is installed and Python, with a warning, where it is not.
    :param cache: keep the machine code in the user's cache folder.
    :param progress: called with the name of a kernel and the share done, 0 to 1.
    :param scalar: ``'float64'`` or ``'float32'``, the type of all numbers. Python's own floats
        are float64, so the Python back end refuses float32.
    :param target: processor that machine code is made for, this machine's by default.
    :param call: whether calls with arrays are to be fast. A kernel that is only bound (``bind``)
        compiles faster without: False takes them through Python.
    """
    if backend not in BACKENDS:
        raise ValueError(f'no backend "{backend}" (known: {", ".join(BACKENDS)})')
    single = isinstance(graphs, Graph) or callable(graphs)
    todo = cast(Sequence[Source], [graphs] if single else graphs)
    keys = [keys] if isinstance(keys, str) else keys
    if keys is not None and len(keys) != len(todo):
        raise ValueError(f'{len(todo)} graphs and {len(keys)} keys; give one key for each')
    if backend == 'auto':
        backend = 'llvm' if has_llvm() else 'python'
        if backend == 'python':
            warn_of_python()
    if backend == 'llvm':
        from rbd_ros.compiler.native.llvm_kernel import compile_llvm
        kernels = compile_llvm(todo, keys=keys, cache=cache, progress=progress, scalar=scalar,
                               target=target, call=call)
    else:
        if scalar_type(scalar) is not FLOAT64 or target is not None:
            raise ValueError('the Python back end computes in float64 on this processor; another '
                             'scalar or target needs machine code: install llvmlite and use '
                             "backend='llvm'")
        kernels = _compile_python(todo, progress)
    return kernels[0] if single else kernels


def has_llvm() -> bool:
    """Return whether llvmlite is installed and loads."""
    try:
        binding()
    except ImportError:
        return False
    return True


@cache
def warn_of_python() -> None:
    """Say once that kernels are not machine code."""
    warnings.warn(
        'llvmlite is not installed: kernels run as straight-line Python, correct but about a '
        'hundred times slower; install llvmlite (python3-llvmlite) for machine code',
        RuntimeWarning, stacklevel=4)


def _compile_python(sources: Sequence[Source], progress: Progress | None) -> list[Kernel]:
    from rbd_ros.compiler.source.python import PythonKernel
    kernels: list[Kernel] = []
    for k, source in enumerate(sources):
        kernels.append(PythonKernel(source if isinstance(source, Graph) else source()))
        if progress is not None:
            progress(kernels[-1].name, (k + 1) / len(sources))
    return kernels
