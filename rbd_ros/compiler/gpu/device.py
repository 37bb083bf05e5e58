# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A GPU: its memory, and kernels on it.

What kernels need of a device is the class ``Device``; NVIDIA's is made here from the driver, the
emulation on this processor stands in :mod:`rbd_ros.compiler.gpu.emulation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from functools import cache
from threading import local
from typing import Any, NamedTuple
import weakref

from numpy.typing import NDArray

from rbd_ros.compiler.gpu.dialect import BLOCK, Dialect, NVIDIA
from rbd_ros.compiler.gpu.driver import driver
from rbd_ros.compiler.gpu.targets import emit, PTX, streamed
from rbd_ros.compiler.native.target import Target
from rbd_ros.errors import DeviceError

#: Numbers of the driver for what is asked about a device, a function, a pointer and a module.
_MAJOR, _MINOR = 75, 76
_LOCAL_BYTES, _REGISTERS = 3, 4
_POINTER_DEVICE = 9
_ERROR_LOG, _ERROR_LOG_SIZE, _LEVEL = 5, 6, 7
#: How a launch takes its parameters as one piece of memory.
_BUFFER, _BUFFER_SIZE, _END = 1, 2, 0
#: Compute capability that kernels are made for.
_OLDEST = (7, 5)
_LOG = 8192


class Function(NamedTuple):
    """
    A kernel that is loaded.

    :param handle: what the device calls it.
    :param registers: of a thread.
    :param local: bytes of a thread that did not fit into its registers.
    :param block: threads of a block.
    """

    handle: Any
    registers: int
    local: int
    block: int = BLOCK


class Device:
    """What kernels need; a stream is the number that CUDA gives it, 0 for the default one."""

    #: Name in messages, and number of the device among its like.
    name: str
    number: int
    dialect: Dialect
    target: Target

    def current(self) -> AbstractContextManager[None]:
        """Make this device the current one; many calls inside of one are faster."""
        return nullcontext()

    def code(self, text: str, procedures: str = '') -> bytes:
        """
        Return what ``load`` takes, from LLVM assembly.

        :param procedures: see ``targets.emit``.
        """
        raise NotImplementedError

    def load(self, code: bytes, entries: Sequence[str], level: int = 4) -> list[Function]:
        """
        Return the kernels of a module.

        :param level: how much the driver's compiler may rearrange, 0 to 4.
        """
        raise NotImplementedError

    def prepared(self, function: Function, count: int, words: Sequence[int],
                 stream: int) -> Callable[[], None]:
        """
        Return what starts a kernel.

        :param count: number of states.
        :param words: its parameters, eight bytes each.
        """
        raise NotImplementedError

    def allocate(self, size: int, stream: int) -> int:
        """Return the address of memory that is there in the order of a stream."""
        raise NotImplementedError

    def free(self, address: int, stream: int) -> None:
        """Give memory back in the order of a stream."""
        raise NotImplementedError

    def keep(self, size: int) -> Memory:
        """Return memory that lives as long as the object, for any stream."""
        raise NotImplementedError

    def upload(self, address: int, array: NDArray[Any], stream: int) -> None:
        """Copy a C-contiguous array to the device; it may be changed after the call."""
        raise NotImplementedError

    def download(self, array: NDArray[Any], address: int, stream: int) -> None:
        """Copy from the device into a C-contiguous array, complete after ``synchronize``."""
        raise NotImplementedError

    def synchronize(self, stream: int | None = None) -> None:
        """Wait until all is done that was started, on one stream or on all."""
        raise NotImplementedError

    def wait_for(self, other: int, stream: int) -> None:
        """Let a stream wait for what was started on another one so far."""
        raise NotImplementedError

    def home(self, address: int) -> int:
        """Return the number of the device on which memory lies."""
        raise NotImplementedError


class Memory:
    """
    Memory of a device, given back with this object.

    :param device: where.
    :param address: of its first byte.
    :param release: gives it back.
    """

    def __init__(self, device: Device, address: int, release: Any) -> None:
        self.device, self.address = device, address
        weakref.finalize(self, release, address)


class _Current(AbstractContextManager[None]):
    """
    A context of the driver, current as long as a thread is inside of it, however often.

    :param context: what the driver calls it.
    """

    def __init__(self, context: int) -> None:
        self._driver, self._context, self._own = driver(), context, local()

    def __enter__(self) -> None:
        depth = getattr(self._own, 'depth', 0)
        if not depth:
            self._driver.call('cuCtxPushCurrent_v2', self._context)
        self._own.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        self._own.depth -= 1
        if not self._own.depth:
            self._driver.call('cuCtxPopCurrent_v2', byref(c_void_p()))


class CudaDevice(Device):
    """
    A GPU of NVIDIA, in the context that PyTorch, CuPy and JAX use too.

    :param number: of the device.
    :raises DeviceError: if there is no such one, or it is too old.
    """

    dialect, target = NVIDIA, PTX

    def __init__(self, number: int = 0) -> None:
        self._driver = driver()
        count = self._driver.number('cuDeviceGetCount')
        if not 0 <= number < count:
            raise DeviceError(f'no CUDA device {number}: there are {count}, counted from 0; '
                              'nvidia-smi -L lists them')
        self.number = number
        self._handle = self._driver.number('cuDeviceGet', number)
        text = ctypes.create_string_buffer(256)
        self._driver.call('cuDeviceGetName', text, 256, self._handle)
        self.name = text.value.decode()
        able = tuple(self._driver.number('cuDeviceGetAttribute', which, self._handle)
                     for which in (_MAJOR, _MINOR))
        if able < _OLDEST:
            raise DeviceError(f'{self.name} has compute capability {able[0]}.{able[1]}, kernels '
                              f'need {_OLDEST[0]}.{_OLDEST[1]} or newer')
        self._context = self._driver.address('cuDevicePrimaryCtxRetain', self._handle,
                                             about=f'opening {self.name}')
        self._current = _Current(self._context)

    def current(self) -> AbstractContextManager[None]:
        """Make this device the one that the driver's functions work on, for a while."""
        return self._current

    def code(self, text: str, procedures: str = '') -> bytes:
        """Return PTX."""
        code = emit(text, self.target, assembly=True, procedures=procedures)
        return code if procedures else streamed(code)

    def load(self, code: bytes, entries: Sequence[str], level: int = 4) -> list[Function]:
        """Return the kernels of a module, compiled by the driver for this GPU."""
        log = ctypes.create_string_buffer(_LOG)
        keys = (c_int * 3)(_ERROR_LOG, _ERROR_LOG_SIZE, _LEVEL)
        values = (c_void_p * 3)(ctypes.addressof(log), _LOG, level)
        with self.current():
            try:
                module = self._driver.address('cuModuleLoadDataEx', code + b'\0', 3, keys, values,
                                              about='compiling a kernel for the GPU')
            except DeviceError as error:
                raise DeviceError(f'{error} {log.value.decode(errors="replace")}') from None
            return [self._function(module, entry) for entry in entries]

    def _function(self, module: int, entry: str) -> Function:
        handle = self._driver.address('cuModuleGetFunction', module, c_char_p(entry.encode()))
        registers, local = (self._driver.number('cuFuncGetAttribute', which, handle)
                            for which in (_REGISTERS, _LOCAL_BYTES))
        return Function(handle, registers, local)

    def prepared(self, function: Function, count: int, words: Sequence[int],
                 stream: int) -> Callable[[], None]:
        """Return what starts a kernel."""
        block = (c_uint64 * len(words))(*words)
        size = c_size_t(ctypes.sizeof(block))
        extra = (c_void_p * 5)(_BUFFER, ctypes.addressof(block), _BUFFER_SIZE,
                               ctypes.addressof(size), _END)
        blocks, call = -(-count // function.block), self._driver.call

        def start(_: object = (block, size)) -> None:       # which must stay
            with self.current():
                call('cuLaunchKernel', function.handle, blocks, 1, 1, function.block, 1, 1, 0,
                     stream, None, extra, about='starting a kernel')
        return start

    def allocate(self, size: int, stream: int) -> int:
        """Return the address of memory that is there in the order of a stream."""
        with self.current():
            return self._allocated('cuMemAllocAsync', size, stream)

    def free(self, address: int, stream: int) -> None:
        """Give memory back in the order of a stream."""
        with self.current():
            self._driver.call('cuMemFreeAsync', address, stream)

    def keep(self, size: int) -> Memory:
        """Return memory that lives as long as the object, for any stream."""
        with self.current():
            return Memory(self, self._allocated('cuMemAlloc_v2', size), self._release)

    def _allocated(self, name: str, size: int, *stream: int) -> int:
        free, total = c_size_t(), c_size_t()
        try:
            return self._driver.address(name, max(1, size), *stream, about=f'{size} bytes')
        except DeviceError as error:
            self._driver.call('cuMemGetInfo_v2', byref(free), byref(total))
            raise DeviceError(f'{error} ({free.value} of {total.value} bytes are free)') from None

    def _release(self, address: int) -> None:
        try:
            with self.current():
                self._driver.call('cuMemFree_v2', address)
        except DeviceError:     # a forked child, or the driver is gone at the end of the process
            pass

    def upload(self, address: int, array: NDArray[Any], stream: int) -> None:
        """Copy a C-contiguous array to the device; it may be changed after the call."""
        with self.current():
            self._driver.call('cuMemcpyHtoDAsync_v2', address, array.ctypes.data, array.nbytes,
                              stream, about='copying to the GPU')

    def download(self, array: NDArray[Any], address: int, stream: int) -> None:
        """Copy from the device into a C-contiguous array, complete after ``synchronize``."""
        with self.current():
            self._driver.call('cuMemcpyDtoHAsync_v2', array.ctypes.data, address, array.nbytes,
                              stream, about='copying from the GPU')

    def synchronize(self, stream: int | None = None) -> None:
        """Wait until all is done that was started, on one stream or on all."""
        with self.current():
            if stream is None:
                self._driver.call('cuCtxSynchronize')
            else:
                self._driver.call('cuStreamSynchronize', stream)

    def wait_for(self, other: int, stream: int) -> None:
        """Let a stream wait for what was started on another one so far."""
        with self.current(), self.event(other) as event:
            self._driver.call('cuStreamWaitEvent', stream, event, 0)

    @contextmanager
    def event(self, stream: int) -> Iterator[int]:
        """Return a mark of what was started on a stream so far."""
        event = self._driver.address('cuEventCreate', 0)
        try:
            self._driver.call('cuEventRecord', event, stream)
            yield event
        finally:
            self._driver.call('cuEventDestroy_v2', event)

    def seconds(self, start: int, end: int) -> float:
        """Return the time between two marks, once the second is reached."""
        value = ctypes.c_float()
        with self.current():
            self._driver.call('cuEventSynchronize', end)
            self._driver.call('cuEventElapsedTime', byref(value), start, end)
        return value.value * 1e-3

    def home(self, address: int) -> int:
        """Return the number of the device on which memory lies."""
        value = c_int()
        with self.current():
            self._driver.call('cuPointerGetAttribute', byref(value), _POINTER_DEVICE, address,
                              about='an array that is not in the memory of a GPU')
        return value.value


@cache
def cuda_device(number: int) -> CudaDevice:
    """Return a GPU by its number, opened once."""
    return CudaDevice(number)
