# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Libraries that are loaded before the middleware, and take its place in some functions."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess

import pytest

COMPILER = shutil.which('gcc') or shutil.which('cc') or shutil.which('clang')


def build(folder: Path, source: str) -> Path:
    """
    Return a library for LD_PRELOAD; where there is no compiler, the test is skipped.

    :param folder: where to.
    :param source: in C.
    """
    if COMPILER is None:
        pytest.skip('this machine has no C compiler')
    code, library = folder / 'preloaded.c', folder / 'libpreloaded.so'
    code.write_text(source)
    subprocess.run([COMPILER, '-shared', '-fPIC', '-Wall', '-Werror', '-o', library, code,
                    '-ldl'], check=True)
    return library
