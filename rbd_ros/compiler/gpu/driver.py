# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
NVIDIA's driver library, called directly: no toolkit and no other package is needed.

Every function of the driver returns a number, 0 for success. Here anything else is an error that
says what to do.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
import os
import sys
from typing import Any

from rbd_ros.errors import DeviceError

#: Where the driver is, by system.
LIBRARIES = ('nvcuda.dll',) if sys.platform == 'win32' else ('libcuda.so.1', 'libcuda.so')
#: CUDA that the driver must know, as it counts: 11.2 brought memory in the order of a stream.
OLDEST = 11020
#: Numbers of the driver that users can do something about, and what.
_ADVICE = {
    2: 'the memory of the GPU is full: use smaller batches, give out= arrays that exist already, '
       'or end other programs that use it (nvidia-smi lists them)',
    100: 'the driver finds no GPU: nvidia-smi must list one; in a container, start it with '
         '--gpus all; CUDA_VISIBLE_DEVICES may hide it',
    101: 'there is no such GPU: nvidia-smi -L lists those there are, counted from 0',
    209: 'the GPU is older than sm_75 (2018), for which kernels are made',
    218: 'the driver refused the text of a kernel: please report it with the text of this error',
    222: 'the driver is older than the text of the kernel: update it',
    400: 'a stream or an array belongs to another GPU or is gone',
    700: 'a kernel went outside of its arrays: one of them was freed while it ran; the process '
         'must be started again',
    803: 'the driver and its kernel module are of different versions: restart the machine',
    804: 'the container has a driver for newer machines: start it with the driver of its host',
    999: 'the driver has failed: dmesg may say why; often a restart of the machine helps',
}
#: Names and types of the arguments of every function that is called.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    'cuDeviceGetCount': (c_void_p,),
    'cuDeviceGet': (c_void_p, c_int),
    'cuDeviceGetName': (c_void_p, c_int, c_int),
    'cuDeviceGetAttribute': (c_void_p, c_int, c_int),
    'cuDevicePrimaryCtxRetain': (c_void_p, c_int),
    'cuCtxPushCurrent_v2': (c_void_p,),
    'cuCtxPopCurrent_v2': (c_void_p,),
    'cuCtxSynchronize': (),
    'cuModuleLoadDataEx': (c_void_p, c_char_p, c_uint, c_void_p, c_void_p),
    'cuModuleUnload': (c_void_p,),
    'cuModuleGetFunction': (c_void_p, c_void_p, c_char_p),
    'cuFuncGetAttribute': (c_void_p, c_int, c_void_p),
    'cuLaunchKernel': (c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p),
    'cuMemAlloc_v2': (c_void_p, c_size_t),
    'cuMemFree_v2': (c_uint64,),
    'cuMemAllocAsync': (c_void_p, c_size_t, c_void_p),
    'cuMemFreeAsync': (c_uint64, c_void_p),
    'cuMemGetInfo_v2': (c_void_p, c_void_p),
    'cuMemcpyHtoDAsync_v2': (c_uint64, c_void_p, c_size_t, c_void_p),
    'cuMemcpyDtoHAsync_v2': (c_void_p, c_uint64, c_size_t, c_void_p),
    'cuPointerGetAttribute': (c_void_p, c_int, c_uint64),
    'cuStreamSynchronize': (c_void_p,),
    'cuStreamWaitEvent': (c_void_p, c_void_p, c_uint),
    'cuEventCreate': (c_void_p, c_uint),
    'cuEventRecord': (c_void_p, c_void_p),
    'cuEventSynchronize': (c_void_p,),
    'cuEventElapsedTime': (c_void_p, c_void_p, c_void_p),
    'cuEventDestroy_v2': (c_void_p,),
}


class Driver:
    """
    The driver of this process.

    :param library: the loaded library, initialised.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library, self._process = library, os.getpid()
        self._functions: dict[str, Any] = {}
        for name, types in _FUNCTIONS.items():
            self.declare(name, *types)

    def declare(self, name: str, *types: Any) -> None:
        """Add a function of the driver to those that can be called, with its arguments."""
        function = getattr(self._library, name)
        function.argtypes, function.restype = types, c_int
        self._functions[name] = function

    def call(self, name: str, *arguments: Any, about: str = '') -> None:
        """
        Call a function of the driver.

        :param about: what was attempted, for the error.
        :raises DeviceError: if it fails, or in a process that was forked from the one that began.
        """
        if os.getpid() != self._process:
            raise DeviceError(
                'this process was forked after the GPU was used, which CUDA does not survive; '
                "start processes by multiprocessing.get_context('spawn'), or use the GPU in "
                'the children alone')
        result = self._functions[name](*arguments)
        if result:
            raise DeviceError(self.described(result, about or name))

    def described(self, result: int, about: str) -> str:
        """Return an error of the driver in words."""
        text = c_char_p()
        self._library.cuGetErrorName(c_int(result), byref(text))
        name = (text.value or b'unknown error').decode()
        advice = _ADVICE.get(result, 'nvidia-smi shows whether the GPU works')
        return f'{about}: {name} ({result}); {advice}'

    def number(self, name: str, *arguments: Any) -> int:
        """Return the integer that a function of the driver gives through its first argument."""
        value = c_int()
        self.call(name, byref(value), *arguments)
        return value.value

    def address(self, name: str, *arguments: Any, about: str = '') -> int:
        """Return the handle that a function of the driver gives through its first argument."""
        value = c_void_p()
        self.call(name, byref(value), *arguments, about=about)
        return value.value or 0


@cache
def driver() -> Driver:
    """
    Return the driver, loaded once.

    :raises DeviceError: if there is none, if it finds no GPU, or if it is too old.
    """
    library = _load()
    library.cuGetErrorName.argtypes = (c_int, c_void_p)
    result = library.cuInit(0)
    if result:
        found = c_char_p()
        library.cuGetErrorName(result, byref(found))
        name = (found.value or b'unknown error').decode()
        raise DeviceError(f'no GPU: the driver does not start, {name} ({result}); '
                          f'{_ADVICE.get(result, "nvidia-smi may say why")}')
    version = c_int()
    library.cuDriverGetVersion(byref(version))
    if version.value < OLDEST:
        raise DeviceError(
            f'the NVIDIA driver knows CUDA {_version(version.value)}, kernels need '
            f'{_version(OLDEST)}: update the driver')
    return Driver(library)


def _version(number: int) -> str:
    return f'{number // 1000}.{number % 1000 // 10}'


def _load() -> ctypes.CDLL:
    """Return the library of the driver."""
    reasons = []
    for name in LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    raise DeviceError(
        f'no GPU: the NVIDIA driver ({LIBRARIES[0]}) is not on this machine ({reasons[0]}); '
        'install the driver, in a container start it with --gpus all, or compute on the '
        'processor: the robot itself has the same methods')
