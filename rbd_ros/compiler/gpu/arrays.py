# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Arrays that lie on a device: those of other libraries as they are, without copies, and our own.

A library shows its arrays by ``__cuda_array_interface__`` or by DLPack. PyTorch and CuPy have
memory and streams of their own: results for them come out of that memory, and kernels run on the
stream that is current there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
import sys
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.compiler.gpu import dlpack
from rbd_ros.compiler.gpu.device import Device, Memory
from rbd_ros.errors import ShapeError

#: Modules in which the types of JAX are.
JAX = ('jax', 'jaxlib')
#: What array interfaces call the default stream, whose number is 0.
_LEGACY = 1


class View(NamedTuple):
    """
    Where the numbers of an array are.

    :param address: of the first one.
    :param dtype: name of their type.
    :param shape: of the array.
    :param strides: in elements.
    :param stream: on which they may still be written, None where they are there.
    :param owner: kept while the view is used.
    """

    address: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    stream: int | None
    owner: object


class DeviceArray:
    """
    An array on a device, for libraries that take ``__cuda_array_interface__`` or DLPack.

    :param device: where it is.
    :param memory: of the numbers.
    :param dtype: their type.
    :param shape: of the array.
    :param strides: in elements.
    :param stream: on which it is written.
    :param offset: bytes from the beginning of the memory to its first number.
    """

    def __init__(self, device: Device, memory: Memory, dtype: np.dtype[Any],
                 shape: tuple[int, ...], strides: tuple[int, ...], stream: int,
                 offset: int = 0) -> None:
        self._device, self._memory, self.dtype = device, memory, dtype
        self.shape, self._strides, self._stream = shape, strides, stream
        self._offset, self._address = offset, memory.address + offset

    def __repr__(self) -> str:
        """Return what it is and where."""
        return f'<{self.dtype} array of shape {self.shape} on {self._device.name}>'

    def __getitem__(self, index: Any) -> DeviceArray:
        """
        Return a part of it, as a view.

        :param index: whole numbers, slices and ``...``, as NumPy takes them.
        """
        index = index if isinstance(index, tuple) else (index,)
        if not all(each is ... or isinstance(each, (int, slice)) for each in index):
            raise TypeError('parts of an array on a device are found by whole numbers, slices and '
                            '...; give it to a library for more')
        # NumPy finds out what is meant, on numbers that nobody reads: ... keeps it from looking
        whole = self._strided(np.empty(1, self.dtype))
        part = whole[index if ... in index else (*index, ...)]
        size = self.dtype.itemsize
        return DeviceArray(self._device, self._memory, self.dtype, part.shape,
                           tuple(step // size for step in part.strides), self._stream,
                           self._offset + part.ctypes.data - whole.ctypes.data)

    def _strided(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return numbers as an array that lies as this one does."""
        return np.lib.stride_tricks.as_strided(
            numbers, self.shape, [self.dtype.itemsize * step for step in self._strides])

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """Return where it is, for CuPy, Numba and PyTorch."""
        size = self.dtype.itemsize
        # a stream of 0 is not allowed to be named; 1 is the same one
        return {'shape': self.shape, 'typestr': self.dtype.str, 'version': 3,
                'data': (self._address, False), 'stream': self._stream or _LEGACY,
                'strides': tuple(size * step for step in self._strides)}

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind and the number of its device."""
        return dlpack.CUDA, self._device.number

    def __dlpack__(self, *, stream: int | None = None, **_: object) -> Any:
        """
        Return it for another library.

        :param stream: on which it will be used there; None and -1 wait for nothing.
        """
        if stream is not None and stream not in (-1, self._stream or _LEGACY):
            self._device.wait_for(self._stream, stream)
        return dlpack.lend(dlpack.Tensor(
            self._address, dlpack.CUDA, self._device.number, self.dtype.name, self.shape,
            self._strides), self._memory)

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy in the memory of the process."""
        before, after = extent(self.shape, self._strides)
        flat = np.empty(after - before, self.dtype)
        self._device.download(flat, self._address + before * self.dtype.itemsize, self._stream)
        self._device.synchronize(self._stream)
        return self._strided(flat[-before:] if flat.size else flat)


def extent(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Return where an array begins and ends, in elements from its first number."""
    if not all(shape):
        return 0, 0
    ways = [step * (length - 1) for step, length in zip(strides, shape)]
    return sum(min(way, 0) for way in ways), 1 + sum(max(way, 0) for way in ways)


def view(name: str, value: object, device: Device, stream: int) -> View | None:
    """
    Return where an array is on a device, None for one that is not on a device.

    :param name: of the argument, for errors.
    :param stream: on which it will be used.
    :raises ShapeError: for one on another device.
    """
    if isinstance(value, (np.ndarray, list, tuple, float, int)):
        return None
    try:
        interface = getattr(value, '__cuda_array_interface__', None)
    except RuntimeError as error:       # PyTorch, for one that takes part in its gradients
        raise ShapeError(f'{name}: {error}; give {name}.detach()') from None
    # JAX says by DLPack alone when its arrays are there
    if interface is not None and _library(value)[0] not in JAX:
        found = _of_interface(interface, value)
    elif hasattr(value, '__dlpack_device__') and value.__dlpack_device__()[0] == dlpack.CUDA:
        # DLPack has no 0 for the default stream
        capsule = value.__dlpack__(stream=stream or _LEGACY)      # type: ignore[attr-defined]
        tensor = dlpack.read(capsule)
        found = View(tensor.address, tensor.dtype, tensor.shape, tensor.strides, None, capsule)
    else:
        return None
    if found.address and device.home(found.address) != device.number:
        raise ShapeError(f'{name} is on device {device.home(found.address)}, the robot is on '
                         f"device {device.number}; move the array, or make robot.on('cuda', "
                         f'{device.home(found.address)})')
    return found


def _of_interface(interface: dict[str, Any], owner: object) -> View:
    """Return what an array interface describes."""
    (name, size), shape = _kind(interface['typestr']), tuple(interface['shape'])
    strides = interface.get('strides')
    steps = dlpack.contiguous(shape) if strides is None else tuple(
        [step // size for step in strides])
    stream = interface.get('stream')
    stream = 0 if stream == _LEGACY else stream
    return View(interface['data'][0], name, shape, steps, stream, owner)


@cache
def _kind(typestr: str) -> tuple[str, int]:
    """Return the name and the size of a type of numbers; NumPy takes long to say them."""
    dtype = np.dtype(typestr)
    return dtype.name, dtype.itemsize


def steps(name: str, found: View, axes: int) -> tuple[int, int]:
    """
    Return the step from state to state and that from element to element.

    :param axes: of one state; an array without one axis more is of all states.
    :raises ShapeError: if elements of a state are not evenly spaced.
    """
    own, shape = found.strides[len(found.strides) - axes:], found.shape[len(found.shape) - axes:]
    element = 1
    count = 1
    for k in reversed(range(axes)):
        if shape[k] == 1:
            continue
        if count == 1:
            element = own[k]
        elif own[k] != element * count:
            raise ShapeError(f'the elements of a state of {name} are not evenly spaced (strides '
                             f'{found.strides}); give a contiguous copy')
        count *= shape[k]
    return found.strides[0] if len(found.strides) > axes else 0, element


def stream_number(stream: object, like: object) -> int:
    """
    Return the number of a stream.

    :param stream: the number, a stream of PyTorch or CuPy, what has ``__cuda_stream__``, or None
        for the current one.
    :param like: an array of the library whose current stream is meant.
    """
    if stream is None:
        return _current(like)
    if isinstance(stream, int):
        return stream
    if hasattr(stream, '__cuda_stream__'):
        return int(stream.__cuda_stream__()[1])
    for name in ('cuda_stream', 'ptr', 'handle'):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise TypeError(f'stream is a {type(stream).__name__}; give its number, a stream of PyTorch '
                    'or CuPy, or None for the current one')


def _library(like: object) -> tuple[str, Any]:
    """Return the name of an array's library, and the library."""
    name = type(like).__module__.partition('.')[0]
    return name, sys.modules.get(name)


def _current(like: object) -> int:
    name, library = _library(like)
    if name == 'torch':
        return int(library.cuda.current_stream(like.device).cuda_stream)  # type: ignore
    if name == 'cupy':
        return int(library.cuda.get_current_stream().ptr)
    return 0


#: Makes an array (count, *shape) whose states are next to each other.
Maker = Callable[[int, tuple[int, ...]], Any]


def maker(like: object, device: Device, dtype: np.dtype[Any], stream: int) -> Maker:
    """
    Return what makes arrays for results.

    :param like: an array of the library that they are for.
    """
    name, library = _library(like)

    def own(count: int, shape: tuple[int, ...]) -> DeviceArray:
        size = int(np.prod(shape, dtype=int))
        memory = device.keep(size * count * dtype.itemsize)
        strides = (1, *[count * step for step in dlpack.contiguous(shape)])
        return DeviceArray(device, memory, dtype, (count, *shape), strides, stream)

    def torch(count: int, shape: tuple[int, ...]) -> Any:
        kind = getattr(library, dtype.name)
        made = library.empty((*shape, count), dtype=kind, device=like.device)  # type: ignore
        return made.movedim(-1, 0)

    def cupy(count: int, shape: tuple[int, ...]) -> Any:
        return library.moveaxis(library.empty((*shape, count), dtype), -1, 0)

    return {'torch': torch, 'cupy': cupy}.get(name, own)


def finished(results: Sequence[Any], like: object) -> list[Any]:
    """Return results as arrays of a library that cannot be written into, such as JAX."""
    name, _ = _library(like)
    if name in JAX:
        from_dlpack = sys.modules['jax'].numpy.from_dlpack
        return [from_dlpack(each) if isinstance(each, DeviceArray) else each for each in results]
    return list(results)
