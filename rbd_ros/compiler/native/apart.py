# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
LLVM in a process of its own: llvmlite lets one thread at a time into the one of this process.

The other process is this Python with this module. It reads what to compile for and the assembly
text, and writes the object code.
"""

from __future__ import annotations

import os
import subprocess
import sys

from rbd_ros.compiler.native.target import Passes, Target

__all__ = ['emitted', 'is_worthwhile']

#: s after which the other process is given up.
_LIMIT = 120.0
_MARK = b'rbd_ros object code:'
_PROGRAM = f'import sys; sys.path[:] = sys.argv[1:]; from {__name__} import main; main()'


def is_worthwhile() -> bool:
    """Return whether another process would have a processor, and can be started."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()
    return (count or 1) > 1 and bool(sys.executable)


def emitted(target: Target, text: str, passes: Passes) -> bytes:
    """
    Return the object code of a module.

    :param target: what to compile for.
    :param text: LLVM assembly.
    :param passes: see ``Target.emit``.
    :raises OSError: if the other process does not start.
    :raises subprocess.SubprocessError: if it fails, or takes too long.
    """
    # Isolated: it finds modules where this process does, and not in the present folder.
    answer = subprocess.run(
        [sys.executable, '-I', '-c', _PROGRAM, *sys.path], check=True, timeout=_LIMIT,
        input='\n'.join([*target, passes.name, text]).encode(),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    # What the start of Python prints on some machine is no code.
    framed = answer.partition(_MARK)[2]
    size, code = int.from_bytes(framed[:8], 'little'), framed[8:]
    if not code or len(code) != size:
        raise subprocess.SubprocessError(f'{len(code)} bytes of code, not {size}')
    return code


def main() -> None:
    """Be the other process."""
    triple, cpu, features, passes, text = sys.stdin.buffer.read().decode().split('\n', 4)
    code = Target(triple, cpu, features).emit(text, passes=Passes[passes])
    sys.stdout.buffer.write(_MARK + len(code).to_bytes(8, 'little') + code)
