# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Functions of C libraries, for procedures.

A parameter, or the member of a named tuple, of type ``Foreign`` is called with integers, which are
passed as words of 64 bits, and with bytes, arrays and records, which are passed as the address of
their memory. Its result is an ``int`` of C: 32 bits, with their sign. So ``size_t``, handles that
are kept as integers and pointers can be passed; floating-point numbers, structs by value and what
comes after ``...`` cannot. Of a longer result the last 32 bits are seen, of a ``bool`` only the
last 8 count (``io.is_valid(handle) & 255``), and of ``void`` nothing.

What the library keeps, and what it may be called with from which thread, is the caller's affair:
nothing is checked.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from rbd_ros.compiler.records import Record

__all__ = ['Foreign']


class Foreign:
    """
    A function of C; type of a parameter, and what is given for it.

    :param address: of its code.
    :param keep: what must stay as long as it may be called, such as its library.
    """

    def __init__(self, address: int, keep: object = None) -> None:
        if not isinstance(address, int) or not 0 < address < 2 ** 64:
            raise ValueError(f'a function of C has an address, not {address!r}')
        self.address, self.keep = address, keep

    @classmethod
    def of(cls, function: Any) -> Foreign:
        """
        Return a function that ctypes knows.

        :param function: such as ``ctypes.CDLL('libc.so.6').memcpy``.
        """
        return cls(ctypes.cast(function, ctypes.c_void_p).value or 0, function)

    def __call__(self, *given: Any) -> int:
        """
        Call it, without the lock of the interpreter.

        :param given: integers, and bytes, arrays and records whose memory is meant.
        """
        words = [each if type(each) is int else _address(each) for each in given]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * len(words))
        return int(prototype(self.address)(*words))


def _address(given: Any) -> int:
    """Return where the memory of something is."""
    if isinstance(given, Record):
        given = given.memory
    if not isinstance(given, (np.ndarray, memoryview)):
        raise TypeError(f'C takes integers, bytes, arrays and records, not {given!r}')
    return int(np.asarray(given).ctypes.data)
