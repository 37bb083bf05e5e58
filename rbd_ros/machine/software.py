# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Checks of what the controller itself needs: Python, machine code, and a place to keep it."""

from __future__ import annotations

import os
import platform
import sys
import tempfile

import numpy as np

from rbd_ros.compiler.backends import has_llvm
from rbd_ros.compiler.native import cache
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.machine.findings import bad, better, Finding, ok
from rbd_ros.machine.host import Host

__all__ = ['check_cache', 'check_machine_code', 'check_python']

#: The first Python in which the calls of kernels are fast.
_FAST = (3, 11)


def check_python(_: Host) -> Finding:
    """Return whether Python is new enough."""
    found = f'{platform.python_implementation()} {platform.python_version()}'
    if sys.version_info < _FAST:
        return better(found, 'each checked call of the library takes some microseconds more than '
                      'from 3.11 on')
    return ok(found)


def _twice(x: Vector, y: Vector) -> None:
    for k in range(len(x)):
        y[k] = 2.0 * x[k]


def check_machine_code(_: Host) -> Finding:
    """Return whether code can be compiled and run."""
    advice = 'the controller node does not start without it'
    if not has_llvm():
        return bad('llvmlite is not installed', advice, 'pip install llvmlite')
    x, y = np.arange(5.0), np.zeros(5)
    try:
        bind(_twice, x, y, backend='llvm')()
    except (OSError, RuntimeError, TypeError) as error:
        return bad(f'cannot be made: {error}', advice, 'pip install --upgrade llvmlite')
    if not np.array_equal(y, 2.0 * x):
        return bad('gives wrong numbers', 'install llvmlite anew',
                   'pip install --force-reinstall llvmlite')
    import llvmlite
    return ok(f'llvmlite {llvmlite.__version__}')


def check_cache(_: Host) -> Finding:
    """Return whether compiled code can be kept."""
    command = f'export {cache.VARIABLE}=/a/folder/of/your/own'
    advice = 'the controller compiles anew at each start, which takes seconds'
    folder = cache.folder()
    if folder is None:
        return better(f'{cache.VARIABLE}={os.environ.get(cache.VARIABLE, "")}: none', advice,
                      command)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return better(f'{folder} cannot be written: {error.strerror}', advice, command)
    home = os.path.expanduser('~')
    return ok(str(folder).replace(home, '~', 1) if home != '/' else str(folder))
