# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The step of a controller as C code, called in place of its machine code."""

from __future__ import annotations

from collections.abc import Mapping
import ctypes

from c_functions import library
import numpy as np
from rbd_ros.compiler import Bound, Graph
from rbd_ros.compiler.source.c_procedures import emit_procedure
from rbd_ros.control.controller import Controller
from rbd_ros.control.step.step import step

__all__ = ['CStep']

_FLAGS = ('-std=c99', '-Wall', '-Wextra', '-Werror', '-pedantic', '-ffp-contract=off', '-O1')


class CStep:
    """
    One step in C, on what the records of a controller hold.

    :param controller: whose step it is.
    :param graphs: what each of its kernels computes.
    """

    def __init__(self, controller: Controller, graphs: Mapping[Bound, Graph]) -> None:
        code = emit_procedure(step, *controller.given, kernels=graphs, prefix='ctl')
        functions = library(code.files, _FLAGS)
        self._memory = np.zeros(sum(place.numbers.size for place in code.places))
        self._address = ctypes.c_void_p(self._memory.ctypes.data)
        functions.ctl_init(self._address)
        self._function = functions.ctl_step
        self._function.restype = None
        self._records, at = [], 0
        for place in code.places:
            part = self._memory[at:at + place.numbers.size]
            at += part.size
            assert np.array_equal(part, place.numbers.ravel(), equal_nan=True), place.name
            if place.record is not None:
                self._records.append((part, place.record.memory))

    def __call__(self) -> None:
        """Let one thing happen."""
        for part, memory in self._records:
            part[:] = memory
        self._function(self._address)
        for part, memory in self._records:
            memory[:] = part
