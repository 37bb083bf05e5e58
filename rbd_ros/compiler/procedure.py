# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Algorithms that iterate until they are done, as machine code from the source that Python runs.

Graphs hold algorithms without decisions. An algorithm that has them, such as the forces of some
contacts, is written as a function of loops over arrays and records; what it may hold is said in
:mod:`rbd_ros.compiler.language.statements`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
import logging
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.backends import BACKENDS, has_llvm
from rbd_ros.compiler.language.foreign import Foreign as Foreign
from rbd_ros.compiler.language.kernels import (
    check_sizes, gives as gives, NamedKernel as NamedKernel, takes as takes)
from rbd_ros.compiler.language.octets import Bytes as Bytes
from rbd_ros.compiler.records import plain_array, Record

if TYPE_CHECKING:
    from rbd_ros.compiler.native.native_procedure import FreeProcedure

#: Types of the parameters of procedures.
Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Kernel: TypeAlias = Callable[[], object]
_log = logging.getLogger('rbd_ros')


def bind(function: Callable[..., None], *given: object, backend: str = 'auto',
         ) -> Callable[[], None]:
    """
    Return a call without arguments that runs a function on arrays, records and kernels.

    Python runs it on floats of its own: what arrays hold reaches it without NumPy.

    :param function: a procedure whose parameters are no numbers.
    :param given: C-contiguous arrays, of float64 or, for ``Bytes``, of uint8, whose contents may
        change between calls; kernels, bound ones, bound procedures or any calls without
        arguments; functions of C as ``Foreign``; records; and named tuples of these.
    :param backend: 'llvm' for machine code, 'python' for the function as it stands, 'auto' for
        machine code where it can be made.
    :raises TypeError: if the function cannot be translated, or an array does not fit.
    """
    if backend not in BACKENDS:
        raise ValueError(f'no backend "{backend}" (known: {", ".join(BACKENDS)})')
    check_sizes(given)
    if backend == 'llvm' or (backend == 'auto' and has_llvm()):
        from rbd_ros.compiler.native.native_procedure import compiled
        try:
            return compiled(function).bind(given)
        except OSError as error:
            if backend == 'llvm':
                raise
            _explain(function.__name__, str(error))
    plain = partial(function, *[_plain(each) for each in given])

    @np.errstate(all='ignore')      # what whole vectors divide by zero is defined
    def run() -> None:
        plain()
    return run


def bind_free(function: Callable[..., None], *given: object) -> FreeProcedure:
    """
    Return a call without arguments that runs a function without the lock of the interpreter.

    It is machine code that calls nothing but machine code, so that a thread may stay in it for as
    long as it likes, whatever Python does meanwhile. Its ``place`` has the addresses of its code,
    a function of C of one pointer, and of what that is called with.

    :param function: see ``bind``.
    :param given: see ``bind``; a kernel must be machine code.
    :raises OSError: if machine code cannot be made here.
    :raises TypeError: if the function cannot be translated, an array does not fit, or a kernel is
        a call of Python.
    """
    if not has_llvm():
        raise OSError(f'{function.__name__} cannot run without the lock of the interpreter: '
                      'machine code is made by llvmlite, which is not installed')
    from rbd_ros.compiler.native.native_procedure import compiled
    check_sizes(given)
    return compiled(function).bind_free(given)


def prepare(function: Callable[..., None]) -> None:
    """
    Begin to make machine code of a function while this thread does something else.

    :param function: what ``bind`` will be called with.
    """
    if has_llvm():
        from rbd_ros.compiler.native.native_procedure import prepare as begin
        begin(function)


def _plain(given: object) -> object:
    """Return what gives floats of Python, and a call that returns zero: an error is raised."""
    if isinstance(given, tuple):
        return type(given)._make(map(_plain, given))    # type: ignore[attr-defined]
    if isinstance(given, Record):
        return given.plain()
    if isinstance(given, np.ndarray):
        return memoryview(given) if given.dtype == np.uint8 else plain_array(given)
    if isinstance(given, Foreign) or not callable(given):
        return given

    def call() -> int:
        given()
        return 0
    return call


@cache
def _explain(name: str, reason: str) -> None:
    """Say once why a function runs in Python."""
    _log.warning('%s runs as Python, a hundred times slower than as machine code: %s', name,
                 reason)
