# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Graphs as C functions, compiled with every warning an error and called through ctypes."""

import ctypes
import shutil
import subprocess

import numpy as np
from rbd_ros.compiler import emit_c

STRICT = ['-std=c99', '-Wall', '-Wextra', '-Werror', '-pedantic', '-Wshadow', '-Wconversion',
          '-Wstrict-prototypes', '-Wmissing-prototypes',
          # bits are compared: no fused products, and no library function folded by the compiler
          '-ffp-contract=off', '-fno-builtin']
COMPILER = shutil.which('gcc') or shutil.which('cc') or shutil.which('clang')


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


def build(folder, graphs, prefix='kern', **options):
    """Return the generated functions, compiled with every warning an error."""
    source, header = emit_c(graphs, prefix, **options)
    (folder / f'{prefix}.c').write_text(source)
    (folder / f'{prefix}.h').write_text(header)
    library = folder / f'{prefix}.so'
    subprocess.run([COMPILER, *STRICT, '-O1', '-fPIC', '-shared', str(folder / f'{prefix}.c'),
                    '-o', str(library), '-lm'], check=True)
    loaded = ctypes.CDLL(str(library))
    return [CFunction(loaded, graph, prefix) for graph in graphs]
