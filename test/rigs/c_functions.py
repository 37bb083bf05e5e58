# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Graphs as C functions, compiled with every warning an error and called through ctypes."""

from collections.abc import Mapping, Sequence
import ctypes
import os
from pathlib import Path
import shutil
import subprocess

import numpy as np
from once import once
from rbd_env.pace import patient
from rbd_ros.compiler import emit_c

STRICT = ['-std=c99', '-Wall', '-Wextra', '-Werror', '-pedantic', '-Wshadow', '-Wconversion',
          '-Wstrict-prototypes', '-Wmissing-prototypes',
          # bits are compared: no fused products, and no library function folded by the compiler
          '-ffp-contract=off', '-fno-builtin']
COMPILER = shutil.which('gcc') or shutil.which('cc') or shutil.which('clang')


def compiler_key() -> list[object]:
    """Return what tells the compiler from others, for what it makes is kept."""
    assert COMPILER is not None, 'this machine has no C compiler'
    state = os.stat(COMPILER)
    return [COMPILER, state.st_size, state.st_mtime_ns]


def library(files: Mapping[str, str], flags: Sequence[str]) -> ctypes.CDLL:
    """
    Return C code as a library, compiled when first asked for.

    :param files: sources and headers by name.
    :param flags: of the compiler.
    """
    def make(folder: Path) -> None:
        for name, text in files.items():
            (folder / name).write_text(text)
        sources = [name for name in files if name.endswith('.c')]
        subprocess.run([str(COMPILER), *flags, '-fPIC', '-shared', *sources, '-o', 'made.so',
                        '-lm'], cwd=folder, check=True, timeout=patient(240))

    key = [*compiler_key(), *flags, sorted(files.items())]
    return ctypes.CDLL(str(once('library', key, make) / 'made.so'))


class CFunction:
    """
    One generated C function, called through ctypes.

    :param library: the loaded library.
    :param graph: what it computes.
    :param prefix: of its name.
    """

    def __init__(self, library, graph, prefix):
        self.graph = graph
        self.function = getattr(library, f'{prefix}_{graph.name}')
        self.function.restype = None

    def __call__(self, *values):
        """Return all output elements."""
        inputs = [np.array(v, dtype=float) for v in values]
        outputs = [np.full(a.shape, 7.7) for a in self.graph.outputs]
        self.function(*[ctypes.c_void_p(x.ctypes.data) for x in (*inputs, *outputs)])
        return [float(e) for x in outputs for e in x.ravel()]


def build(graphs, prefix='kern', **options):
    """Return the generated functions, compiled with every warning an error."""
    source, header = emit_c(graphs, prefix, **options)
    made = library({f'{prefix}.c': source, f'{prefix}.h': header}, [*STRICT, '-O1'])
    return [CFunction(made, graph, prefix) for graph in graphs]
