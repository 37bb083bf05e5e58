# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Threads that run a procedure on a device, each on records of its own.

What they are given and what is recorded may lie on the device, as arrays of other libraries. Then
nothing is waited for. Calls on several streams follow each other all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.compiler.arguments import converted
from rbd_ros.compiler.gpu.arrays import finished, maker, steps as steps_of, stream_number, view
from rbd_ros.compiler.gpu.device import Device, Function
from rbd_ros.compiler.gpu.procedures.places import Memory, Place, Places, TILE
from rbd_ros.compiler.gpu.procedures.procedure_program import home, own_size, Watched
from rbd_ros.compiler.graph.graph import Argument
from rbd_ros.errors import ShapeError

Array = NDArray[np.float64]
FLOAT64 = np.dtype(np.float64)


class Runnable(Protocol):
    """What threads run: a procedure as kernels."""

    name: str
    device: Device
    places: Places

    @property
    def watched(self) -> Sequence[Watched]:
        """Return what is recorded."""

    @property
    def functions(self) -> Mapping[str, Function]:
        """Return the kernels by name."""


class _Rows(NamedTuple):
    """Numbers of each thread: address, step from thread to thread, step between numbers."""

    address: int
    thread: int
    number: int


class Batch:
    """
    Threads that run a procedure, each on numbers of its own.

    :param procedure: what they run.
    :param count: how many.
    """

    def __init__(self, procedure: Runnable, count: int) -> None:
        if count < 1:
            raise ShapeError(f'{procedure.name}: {count} threads; give at least one')
        self.procedure, self.count = procedure, count
        self._device, places = procedure.device, procedure.places
        self._stream = 0        # of the last launch
        tiles = -(-count // TILE)
        self._own = self._device.keep(8 * tiles * TILE * own_size(places))
        self._common = self._device.keep(8 * max(1, places.sizes[Memory.COMMON]))
        self.refresh()
        start = np.concatenate([places.values(Memory.OWN), places.values(Memory.NEAR), [0.0]])
        self._with(start, lambda array: self._launch('rbd_fill', array))

    @property
    def bytes(self) -> int:
        """Return how many bytes of the device its threads have."""
        return 8 * -(-self.count // TILE) * TILE * own_size(self.procedure.places)

    def refresh(self) -> None:
        """Give the threads what all of them share, as the processor has it now."""
        values = self.procedure.places.values(Memory.COMMON)
        if values.size:
            self._device.synchronize()      # kernels may still read what was there
            self._device.upload(self._common.address, values, 0)
            self._device.synchronize(0)

    # --- numbers of the threads ---------------------------------------------------------------

    def write(self, target: Array, values: Any, *, name: str = 'values',
              stream: Any = None) -> None:
        """
        Give each thread numbers.

        :param target: which, as an array of the processor that the procedure is bound to.
        :param values: of each thread, (count, ...), or of all; on the device they are used where
            they lie.
        :param name: of the values, for errors.
        :param stream: see ``stream_number``.
        """
        number = stream_number(stream, values)
        pieces = self._pieces(target)
        found = view(name, values, self._device, number)
        if found is None:
            rows = self._of_process(name, values, target.shape)
            self._with(rows, lambda address: self._put(pieces, _Rows(
                address, 0 if len(rows) == 1 else target.size, 1), number), number)
            return
        if found.dtype != FLOAT64.name:
            raise ShapeError(f'{name} holds {found.dtype}, {self.procedure.name} computes in '
                             f'{FLOAT64}; convert it')
        if found.shape not in (target.shape, (self.count, *target.shape)):
            raise self._misshapen(name, found.shape, target.shape)
        if found.stream not in (None, number):
            self._device.wait_for(found.stream, number)
        self._put(pieces, _Rows(found.address, *steps_of(name, found, target.ndim)), number)

    def _of_process(self, name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
        """Return numbers of the process for each thread, or one row for all."""
        given = converted(Argument(name, shape), values)
        rows = self.count if given.ndim > len(shape) else 1
        try:
            return np.ascontiguousarray(np.broadcast_to(given, (rows, *shape)))
        except ValueError:
            raise self._misshapen(name, given.shape, shape) from None

    def _misshapen(self, name: str, found: tuple[int, ...], shape: tuple[int, ...]) -> ShapeError:
        return ShapeError(f'{name} has shape {found}, expected {(self.count, *shape)}, or {shape} '
                          'for all')

    def _put(self, pieces: Sequence[tuple[Place, slice]], rows: _Rows, stream: int) -> None:
        for place, part in pieces:
            self._move('rbd_put', place, part.stop - part.start, rows._replace(
                address=rows.address + 8 * rows.number * part.start), stream)

    def read(self, source: Array) -> Array:
        """
        Return numbers of each thread, (count, ...), once all is done that was started.

        :param source: which, as an array of the processor that the procedure is bound to.
        """
        found = np.empty((self.count, source.size))
        for place, part in self._pieces(source):
            array = np.empty((part.stop - part.start, self.count))

            def get(address: int, place: Place = place, numbers: int = len(array)) -> None:
                self._move('rbd_get', place, numbers, _Rows(address, 1, self.count), 0)
            self._with(array, get, back=True)
            found[:, part] = array.T
        return found.reshape(self.count, *source.shape)

    def _move(self, name: str, place: Place, numbers: int, rows: _Rows, stream: int) -> None:
        """Copy numbers of each thread to or from an array of the device."""
        self._launch(name, rows.address, home(self.procedure.places, place), numbers, rows.thread,
                     rows.number, stream=stream)

    def _pieces(self, array: Array) -> list[tuple[Place, slice]]:
        pieces = self.procedure.places.pieces(array)
        if any(place.memory is Memory.COMMON for place, _ in pieces):
            raise ShapeError(f'{self.procedure.name}: all threads share these numbers; change '
                             'them on the processor, then call refresh()')
        return pieces

    # --- launches -----------------------------------------------------------------------------

    def run(self, steps: int = 1, every: int | None = None, *, procedure: Runnable | None = None,
            like: Any = None, stream: Any = None) -> Any:
        """
        Run the procedure, and return what is watched, (count, records, numbers).

        :param steps: how often.
        :param every: steps from one record to the next, all by default: then the end alone.
        :param procedure: another one with the same bindings.
        :param like: an array on the device. What is watched comes as an array of its library, at
            once, and is there in the order of the stream. Otherwise it is of NumPy, and there.
        :param stream: see ``stream_number``; by default the current one of that library.
        """
        every = steps if every is None else every
        whole = all(isinstance(each, (int, np.integer)) for each in (steps, every))
        if not (whole and 0 < every <= steps and steps % every == 0):
            raise ShapeError(f'{self.procedure.name}: {steps} steps with a record after every '
                             f'{every}; give positive whole numbers, of which the second divides '
                             'the first')
        number = stream_number(stream, like)
        start = partial(self.start, steps, every, stream=number, procedure=procedure)
        rows, width = steps // every, sum(each.numbers for each in self.procedure.watched)
        if like is None:
            records = np.empty((rows, width, self.count))
            self._with(records, start, number, back=True)
            return np.moveaxis(records, -1, 0)
        if view('like', like, self._device, number) is None:
            raise ShapeError(f'like is a {type(like).__name__} in the memory of the process; give '
                             f'an array on {self._device.name}, or leave it out')
        made = maker(like, self._device, FLOAT64, number)(self.count, (rows, width))
        there = view('records', made, self._device, number)
        assert there is not None
        start(there.address)
        return finished([made], like)[0]

    def start(self, steps: int, every: int, records: int, *, stream: int = 0,
              procedure: Runnable | None = None) -> None:
        """
        Start a launch, and return at once.

        :param steps: how often the procedure runs.
        :param every: steps from one record to the next; more than steps for none.
        :param records: address on the device of room for the records, one number of each thread
            next to that of another, in rows of what is watched.
        :param procedure: another one with the same bindings.
        """
        if procedure is not None and procedure.places.layout() != self.procedure.places.layout():
            raise ShapeError(f'{procedure.name} has its numbers at other places than '
                             f'{self.procedure.name}; give both the same bindings')
        self._launch('rbd_run', self._common.address, steps, every, records, stream=stream,
                     procedure=procedure)

    def _launch(self, name: str, *words: int, stream: int = 0,
                procedure: Runnable | None = None) -> None:
        """Start a kernel once those on other streams have ended: all work on the same numbers."""
        if stream != self._stream:
            self._device.wait_for(self._stream, stream)
            self._stream = stream
        given = [word % 2**64 for word in (self._own.address, self.count, *words)]
        self._device.prepared((procedure or self.procedure).functions[name], self.count, given,
                              stream)()

    def _with(self, array: Array, launch: Callable[[int], None], stream: int = 0, *,
              back: bool = False) -> None:
        """
        Let kernels work on a copy of an array.

        :param back: whether they write it; then it is there after the call.
        """
        device, address = self._device, self._device.allocate(array.nbytes, stream)
        try:
            if not back:
                device.upload(address, array, stream)
            launch(address)
            if back:
                device.download(array, address, stream)
                device.synchronize(stream)
        finally:
            device.free(address, stream)
