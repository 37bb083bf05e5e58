# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A procedure as kernels on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import logging
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.gpu.device import Device
from rbd_ros.compiler.gpu.procedures.batch import Batch
from rbd_ros.compiler.gpu.procedures.places import Choice, Memory, Places
from rbd_ros.compiler.gpu.procedures.procedure_program import (
    Called, ENTRIES, procedure_program, Watched)
from rbd_ros.compiler.gpu.targets import circumstances
from rbd_ros.compiler.language.dependencies import dependencies
from rbd_ros.compiler.language.signatures import Function
from rbd_ros.compiler.native import cache as disk
from rbd_ros.compiler.records import Record

Array = NDArray[np.float64]
#: Registers of a thread. Procedures wait for memory and for their code: on an H200 twice as many
#: threads at a time, of half the registers there are, made a fifth more steps.
REGISTERS = 128
_log = logging.getLogger('rbd_ros')


class Bindings(NamedTuple):
    """
    What a procedure is bound to, and where its numbers are to be.

    :param given: as of ``procedure.bind``: records, arrays, bound kernels, named tuples of these.
    :param choices: in which memory the numbers of a record are, by its place among what is given;
        those of records that are not named, and all arrays, are the own of each thread.
    :param kernels: bound kernels with their graphs; None where it will not be needed: NaN.
    :param watched: arrays that are recorded, C-contiguous views of what is given.
    """

    given: Sequence[object]
    choices: Mapping[int, Choice | Memory]
    kernels: Sequence[tuple[Any, Any]]
    watched: Sequence[Array] = ()


class DeviceProcedure:
    """
    A procedure as kernels on a device.

    :param device: where it runs.
    :param function: the procedure.
    :param bindings: what it is bound to. The numbers that it has now are those that threads
        begin with.
    :param cache: whether code is kept on disk, and looked for there.
    :param registers: most of a thread.
    """

    def __init__(self, device: Device, function: Function, bindings: Bindings, *,
                 cache: bool = True, registers: int = REGISTERS) -> None:
        self.device, self.name = device, function.__name__
        self.places = _placed(bindings)
        called = {id(bound): Called(graph, bound.inputs, bound.outputs)
                  for bound, graph in bindings.kernels}
        self.watched = [Watched(self.places.of(each), each.size) for each in bindings.watched]
        known = circumstances(device.target) if cache else ''
        key = disk.digest([
            'procedure on a device', known, device.dialect, self.places.layout(), self.watched,
            registers, [each.graph and each.graph.digest() for each in called.values()],
            *dependencies(function)]) if known else ''

        def make() -> disk.Entry:
            text, graphs = procedure_program(function, bindings.given, self.places, called,
                                             self.watched, device.dialect, registers)
            return disk.Entry({'name': self.name}, [device.code(graphs, text)])
        #: What the device is given: PTX for NVIDIA.
        self.code = disk.kept(key, make).objects[0]
        #: The kernels, with registers and local memory of each, by name.
        self.functions = dict(zip(ENTRIES, device.load(self.code, ENTRIES), strict=True))
        run = self.functions['rbd_run']
        _log.info('%s on %s has %d registers and %d bytes of local memory', self.name,
                  device.name, run.registers, run.local)

    def batch(self, count: int) -> Batch:
        """
        Return threads, which begin with the numbers that the processor's records have now.

        :param count: how many.
        """
        return Batch(self, count)


def _placed(bindings: Bindings) -> Places:
    """Return where all numbers are."""
    places = Places()
    for k, each in enumerate(bindings.given):
        if isinstance(each, Record):
            places.add_record(each, bindings.choices.get(k, Memory.OWN))
    for k, each in enumerate(bindings.given):
        chosen = bindings.choices.get(k, Memory.OWN)
        _add_arrays(places, each, chosen if isinstance(chosen, Memory) else Memory.OWN)
    for bound, _ in bindings.kernels:
        for array in (*bound.inputs.values(), *bound.outputs.values()):
            places.add_array(array, Memory.OWN)
    return places


def _add_arrays(places: Places, given: object, memory: Memory) -> None:
    if isinstance(given, np.ndarray):
        places.add_array(given, memory)
    elif isinstance(given, tuple):
        for each in given:
            if isinstance(each, Record):
                places.add_record(each, memory)
            else:
                _add_arrays(places, each, memory)
