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

"""A procedure as a C library."""

import ctypes

from c_functions import library, STRICT
import numpy as np
from rbd_ros.compiler.source.c_procedures import emit_procedure


class Built:
    """
    A procedure as a C library.

    :param function: the procedure.
    :param given: what it is bound to.
    :param kernels: what its kernels compute.
    :param flags: of the compiler, besides the strict ones.
    """

    def __init__(self, function, *given, kernels=None, flags=()):
        project = emit_procedure(function, *given, kernels=kernels, prefix='proc')
        self.places, self.files = project.places, project.files
        made = library(project.files, [*STRICT, *flags, '-O1'])
        self._run = getattr(made, f'proc_{function.__name__}')
        self._init = made.proc_init
        self.memory = np.full(-(-sum(each.numbers.nbytes for each in self.places) // 8), 7.7)
        self._init(ctypes.c_void_p(self.memory.ctypes.data))

    def run(self):
        """Call the procedure on the memory."""
        self._run(ctypes.c_void_p(self.memory.ctypes.data))

    def now(self):
        """Return what Python's records and arrays hold, in the order of the memory."""
        return np.concatenate([each.numbers.ravel() for each in self.places])
