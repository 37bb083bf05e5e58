# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The kernels of a GPU on this processor, thread by thread: for tests, and for a debugger.

The text of a kernel is the one that a GPU gets but for the few words of its dialect, so what is
computed, loaded and stored here is what is computed, loaded and stored there; not in that time.
Memory of this device is memory of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.gpu.device import Device, Function, Memory
from rbd_ros.compiler.gpu.dialect import EMULATED
from rbd_ros.compiler.native.loader import Code
from rbd_ros.compiler.native.target import host
from rbd_ros.errors import DeviceError

#: Bytes of text past which code is made without optimisation, in a twentieth of the time.
LONG = 200_000


class EmulatedDevice(Device):
    """A device that runs one thread after the other, each to its end."""

    name, number = 'the emulation', 0
    dialect = EMULATED

    def __init__(self) -> None:
        self.target = host()
        self._memory: dict[int, NDArray[np.uint8]] = {}

    def code(self, text: str, procedures: str = '') -> bytes:
        """Return object code; of long kernels what is made soonest."""
        effort = 2 if len(text) < LONG else 0
        return self.target.emit(text, effort, procedures=procedures)

    def load(self, code: bytes, entries: Sequence[str], level: int = 4) -> list[Function]:
        """Return the kernels of a module; they have no registers to count."""
        loaded = Code([code])
        return [Function((loaded, loaded.address(entry)), 0, 0) for entry in entries]

    def prepared(self, function: Function, count: int, words: Sequence[int],
                 stream: int) -> Callable[[], None]:
        """Return what runs a kernel, the last threads of the last block without a state too."""
        kinds = [ctypes.c_uint64] * len(words) + [ctypes.c_int32] * 2
        run = ctypes.CFUNCTYPE(None, *kinds)(function.handle[1])

        def start() -> None:
            for block in range(-(-count // function.block)):
                for thread in range(function.block):
                    run(*words, block, thread)
        return start

    def allocate(self, size: int, stream: int) -> int:
        """Return the address of memory, of bytes that make NaN."""
        block = np.full(max(1, size), 0xff, np.uint8)
        self._memory[block.ctypes.data] = block
        return block.ctypes.data

    def free(self, address: int, stream: int) -> None:
        """Give memory back."""
        del self._memory[address]

    def keep(self, size: int) -> Memory:
        """Return memory that lives as long as the object."""
        return Memory(self, self.allocate(size, 0), self._memory.pop)

    def upload(self, address: int, array: NDArray[Any], stream: int) -> None:
        """Copy an array to the device."""
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def download(self, array: NDArray[Any], address: int, stream: int) -> None:
        """Copy from the device into an array."""
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def synchronize(self, stream: int | None = None) -> None:
        """Do nothing: all is done."""

    def wait_for(self, other: int, stream: int) -> None:
        """Do nothing: all is done."""

    def home(self, address: int) -> int:
        """
        Return the number of the only device.

        :raises DeviceError: if the process cannot read what is there: memory of a GPU.
        """
        reading, writing = os.pipe()
        try:
            # the system looks, and says so where a look of our own would end the process
            if ctypes.CDLL(None).write(writing, ctypes.c_void_p(address), 1) != 1:
                raise DeviceError('an array lies in the memory of a GPU, and the robot is '
                                  "emulated on this processor; use robot.on('cuda'), or copy "
                                  'the array to the processor')
        finally:
            os.close(reading)
            os.close(writing)
        return 0
