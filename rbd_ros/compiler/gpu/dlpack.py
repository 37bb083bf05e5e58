# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""DLPack, by which array libraries hand each other memory: the structures, read and written."""

from __future__ import annotations

from collections.abc import Sequence
import ctypes
from ctypes import c_char_p, c_int32, c_int64, c_uint16, c_uint64, c_uint8, c_void_p
from typing import Any, NamedTuple

#: Kinds of devices and of numbers.
CUDA = 2
_FLOAT = 2
_NAME = b'dltensor'
_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _Tensor(ctypes.Structure):
    _fields_ = (
        ('data', c_void_p), ('device', c_int32), ('number', c_int32), ('ndim', c_int32),
        ('code', c_uint8), ('bits', c_uint8), ('lanes', c_uint16),
        ('shape', ctypes.POINTER(c_int64)), ('strides', ctypes.POINTER(c_int64)),
        ('offset', c_uint64))


class _Managed(ctypes.Structure):
    _fields_ = (('tensor', _Tensor), ('context', c_void_p), ('deleter', _Deleter))


class Tensor(NamedTuple):
    """
    An array that another library owns.

    :param address: of its first element.
    :param kind: of device.
    :param number: of the device.
    :param dtype: name of the type of its numbers.
    :param shape: of the array.
    :param strides: in elements.
    """

    address: int
    kind: int
    number: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, c_char_p)
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = (c_void_p, c_char_p, c_void_p)
_api.PyCapsule_IsValid.argtypes = (c_void_p, c_char_p)
_of_address = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(
    ('PyCapsule_GetPointer', ctypes.pythonapi))


def read(capsule: Any) -> Tensor:
    """
    Return what a capsule of ``__dlpack__`` describes; the capsule must live as long as it is used.

    The capsule keeps its name, so that it gives the memory back when it dies.
    """
    managed = _Managed.from_address(_api.PyCapsule_GetPointer(capsule, _NAME))
    tensor = managed.tensor
    shape = tuple(tensor.shape[:tensor.ndim])
    if tensor.strides:
        strides = tuple(tensor.strides[:tensor.ndim])
    else:
        strides = contiguous(shape)
    dtype = f'float{tensor.bits}' if tensor.code == _FLOAT and tensor.lanes == 1 else (
        f'type {tensor.code} of {tensor.bits} bits')
    return Tensor((tensor.data or 0) + tensor.offset, tensor.device, tensor.number, dtype, shape,
                  strides)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of an array in the order of C, in elements."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides)) if shape else ()


#: What was handed out, by the address of its structure: the structure, and what must stay.
lent: dict[int, tuple[Any, ...]] = {}


def _give_back(address: int) -> None:
    """Forget an array that the other library has done with."""
    lent.pop(address, None)


def _drop_unused(capsule: int) -> None:
    """Forget an array that nobody took out of its capsule."""
    if _api.PyCapsule_IsValid(capsule, _NAME):
        lent.pop(_of_address(capsule, _NAME), None)


#: Both as functions that C calls.
_done, _dropped = _Deleter(_give_back), _Deleter(_drop_unused)


def lend(tensor: Tensor, owner: object) -> Any:
    """
    Return a capsule for another library.

    :param tensor: what it describes, of floating-point numbers.
    :param owner: kept alive until the other library gives it back.
    """
    axes = len(tensor.shape)
    shape, strides = (c_int64 * axes)(*tensor.shape), (c_int64 * axes)(*tensor.strides)
    managed = _Managed(
        _Tensor(tensor.address, tensor.kind, tensor.number, axes, _FLOAT,
                int(tensor.dtype.removeprefix('float')), 1,
                ctypes.cast(shape, ctypes.POINTER(c_int64)),
                ctypes.cast(strides, ctypes.POINTER(c_int64)), 0), None, _done)
    address = ctypes.addressof(managed)
    lent[address] = managed, shape, strides, owner
    return _api.PyCapsule_New(address, _NAME, ctypes.cast(_dropped, c_void_p))
