# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Where the numbers of a procedure are on a GPU.

A procedure is made for the very objects that it is bound to on the processor: records, arrays and
kernels. Each of their numbers gets a place of its own, so that machine code has no table of
addresses, and no length that it does not know. There are three kinds of memory:

- ``OWN``: of each thread, and there as long as the batch is. The numbers of 32 threads with the
  same place lie side by side, as those threads read them together.
- ``NEAR``: of each thread, for one launch. It is the thread's own stack, which the processor keeps
  in its first cache: what is written need not leave it.
- ``COMMON``: the same for all threads, which nobody writes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
import enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.records import Field, Record

#: Threads whose numbers lie side by side: a warp of NVIDIA.
TILE = 32


class Memory(enum.Enum):
    """Kinds of memory."""

    OWN = 'own'
    NEAR = 'near'
    COMMON = 'common'


#: Chooses the memory of a field of a record, by its path.
Choice = Callable[[str, Field], Memory]


class Place(NamedTuple):
    """Where a number is: in which memory, and how many numbers from its beginning."""

    memory: Memory
    at: int


class _Range(NamedTuple):
    """Numbers that lie side by side on the processor, and on the device."""

    start: int
    numbers: NDArray[np.float64]
    place: Place


class Places:
    """
    Where each number of some records and arrays is.

    Ranges are laid down one after the other, so that the same records have the same places in
    every process.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: list[_Range] = []
        #: How many numbers each kind of memory has.
        self.sizes = dict.fromkeys(Memory, 0)

    def add_record(self, record: Record, choice: Choice | Memory) -> None:
        """
        Give the numbers of a record their places.

        :param choice: the memory of all, or of each field by its path. Single numbers of a record
            lie together and are asked about once, by the first of them.
        """
        if isinstance(choice, Memory):
            self._add(record.memory, choice)
            return
        self._add_fields(record, choice, '')

    def _add_fields(self, record: Record, choice: Choice, path: str) -> None:
        singles = [each for each in record.fields if not each.dims]
        if singles:
            self._add(record.memory[:len(singles)], choice(f'{path}{singles[0].name}', singles[0]))
        for each, view in record.views():
            if each.dims:
                self._add(view.reshape(-1), choice(f'{path}{each.name}', each))
        for name in record.groups:
            self._add_fields(getattr(record, name), choice, f'{path}{name}.')

    def add_array(self, array: NDArray[np.float64], memory: Memory) -> None:
        """Give the numbers of an array their places, unless they have some."""
        if array.size and self._found(array.ctypes.data) is None:
            root: Any = array
            while isinstance(root.base, np.ndarray):
                root = root.base
            self._add(np.asarray(root).reshape(-1), memory)

    def _add(self, numbers: NDArray[np.float64], memory: Memory) -> None:
        if not numbers.size:
            return
        if numbers.dtype != np.float64 or not numbers.flags.c_contiguous:
            raise TypeError('a procedure on a device works on C-contiguous float64 arrays; one is '
                            f'of type {numbers.dtype} and shape {numbers.shape}')
        found = _Range(numbers.ctypes.data, numbers, Place(memory, self.sizes[memory]))
        k = bisect_right(self._starts, found.start)
        self._starts.insert(k, found.start)
        self._ranges.insert(k, found)
        self.sizes[memory] += numbers.size

    def _found(self, address: int) -> _Range | None:
        k = bisect_right(self._starts, address) - 1
        if k < 0:
            return None
        found = self._ranges[k]
        return found if address < found.start + found.numbers.nbytes else None

    def of(self, array: NDArray[np.float64]) -> Place:
        """
        Return the place of the first number of an array, whose others follow it.

        :raises KeyError: if it has none.
        """
        if not array.size:
            return Place(Memory.OWN, 0)
        address = array.ctypes.data
        found = self._found(address)
        if found is None or address + array.nbytes > found.start + found.numbers.nbytes:
            raise KeyError(f'an array of shape {array.shape} has no place on the device')
        return Place(found.place.memory, found.place.at + (address - found.start) // 8)

    def pieces(self, array: NDArray[np.float64]) -> list[tuple[Place, slice]]:
        """Return the places of the numbers of an array that may lie in several ranges."""
        first, last = array.ctypes.data, array.ctypes.data + array.nbytes
        pieces = []
        for each in self._ranges:
            low = max(first, each.start)
            high = min(last, each.start + each.numbers.nbytes)
            if low < high:
                place = Place(each.place.memory, each.place.at + (low - each.start) // 8)
                pieces.append((place, slice((low - first) // 8, (high - first) // 8)))
        if sum(part.stop - part.start for _, part in pieces) != array.size:
            raise KeyError(f'an array of shape {array.shape} has no place on the device')
        return pieces

    def values(self, memory: Memory) -> NDArray[np.float64]:
        """Return what stands in a memory now, on the processor."""
        found = np.zeros(self.sizes[memory])
        for each in self._ranges:
            if each.place.memory is memory:
                found[each.place.at:each.place.at + each.numbers.size] = each.numbers
        return found

    def layout(self) -> list[tuple[str, int, int]]:
        """Return all that code depends on: memory, place and number of each range, in order."""
        return sorted((each.place.memory.value, each.place.at, each.numbers.size)
                      for each in self._ranges)


def identity(given: object) -> object:
    """Return what tells things that a procedure is given from others, for machine code."""
    if isinstance(given, Record):
        return type(given), given.memory.ctypes.data, tuple(sorted(given.sizes.items()))
    if isinstance(given, np.ndarray):
        return given.ctypes.data if given.size else 0, given.shape
    if isinstance(given, tuple):
        return tuple(identity(each) for each in given)
    return id(given)


def member(given: object, path: Sequence[str]) -> Any:
    """Return what is found along some attributes."""
    for name in path:
        given = getattr(given, name)
    return given
