# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
