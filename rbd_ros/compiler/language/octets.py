# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Numbers in rows of bytes, for procedures: messages from the network, and structs of C libraries.

These functions are known to the language: machine code and C do what Python does here. A number
may begin at any byte. None of them touches anything outside of the bytes, wherever it is told to
look: what is read there is zero, and what is written there is lost. So whatever a message says of
its lengths, it cannot do harm.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ['Bytes', 'get_f64', 'get_i64', 'get_u32', 'get_u8', 'OCTETS', 'put_f64', 'put_i64',
           'put_u32', 'put_u8']

#: Type of a parameter: a row of bytes, bound to an array of uint8.
Bytes: TypeAlias = NDArray[np.uint8]

_U32 = struct.Struct('<I'), struct.Struct('>I')
_F64 = struct.Struct('<d'), struct.Struct('>d')
_I64, _BITS = struct.Struct('=q'), struct.Struct('=Q')


def get_u8(data: Bytes, at: int) -> int:
    """
    Return a byte.

    :param data: bytes.
    :param at: its place.
    """
    return int(data[at]) if 0 <= at < len(data) else 0


def get_u32(data: Bytes, at: int, big: int) -> int:
    """
    Return an integer of four bytes without a sign.

    :param data: bytes.
    :param at: place of the first.
    :param big: 1 if that is the most significant one, 0 if it is the least.
    """
    found: int = _U32[big != 0].unpack_from(data, at)[0] if 0 <= at <= len(data) - 4 else 0
    return found


def get_f64(data: Bytes, at: int, big: int) -> float:
    """
    Return a floating-point number of eight bytes.

    :param data: bytes.
    :param at: place of the first.
    :param big: 1 if that is the most significant one, 0 if it is the least.
    """
    found: float = _F64[big != 0].unpack_from(data, at)[0] if 0 <= at <= len(data) - 8 else 0.0
    return found


def get_i64(data: Bytes, at: int) -> int:
    """
    Return an integer of eight bytes, in the order of this machine: a word of a struct of C.

    :param data: bytes.
    :param at: place of the first.
    """
    found: int = _I64.unpack_from(data, at)[0] if 0 <= at <= len(data) - 8 else 0
    return found


def put_u8(data: Bytes, at: int, value: int) -> None:
    """
    Write a byte.

    :param data: bytes.
    :param at: its place.
    :param value: whose last eight bits count.
    """
    if 0 <= at < len(data):
        data[at] = value & 0xff


def put_u32(data: Bytes, at: int, value: int, big: int) -> None:
    """
    Write an integer of four bytes.

    :param data: bytes.
    :param at: place of the first.
    :param value: whose last 32 bits count.
    :param big: 1 if the first is the most significant one, 0 if it is the least.
    """
    if 0 <= at <= len(data) - 4:
        _U32[big != 0].pack_into(data, at, value & 0xffffffff)


def put_f64(data: Bytes, at: int, value: float, big: int) -> None:
    """
    Write a floating-point number of eight bytes.

    :param data: bytes.
    :param at: place of the first.
    :param value: the number.
    :param big: 1 if the first is the most significant one, 0 if it is the least.
    """
    if 0 <= at <= len(data) - 8:
        _F64[big != 0].pack_into(data, at, value)


def put_i64(data: Bytes, at: int, value: int) -> None:
    """
    Write an integer of eight bytes, in the order of this machine: a word of a struct of C.

    :param data: bytes.
    :param at: place of the first.
    :param value: the number.
    """
    if 0 <= at <= len(data) - 8:
        _BITS.pack_into(data, at, value & 0xffffffffffffffff)


#: What the language knows.
OCTETS = (get_u8, get_u32, get_f64, get_i64, put_u8, put_u32, put_f64, put_i64)
