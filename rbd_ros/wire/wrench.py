# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A serialized geometry_msgs/WrenchStamped, read by a procedure."""

from __future__ import annotations

from rbd_ros.compiler.language.octets import Bytes, get_f64, get_u32, get_u8
from rbd_ros.compiler.procedure import Vector
from rbd_ros.wire.joint_state import aligned, FRAME, HEAD, seconds_at, string_end

__all__ = ['read_wrench']


def read_wrench(data: Bytes, size: int, numbers: Vector) -> bool:
    """
    Read moment, force and stamp; return False if this is no plain message.

    :param data: bytes.
    :param size: of the message, at most as many as there are.
    :param numbers: get the moment, the force, and s and ns of the stamp: eight numbers.
    """
    if size > len(data) or size < FRAME or get_u8(data, 0) != 0 or get_u8(data, 1) > 1:
        return False
    big = 1 - get_u8(data, 1)
    end = string_end(data, size, FRAME, big)
    at = aligned(end, 8)
    if end < 0 or at > size - 48:
        return False
    for i in range(3):
        numbers[3 + i] = get_f64(data, at + 8 * i, big)
        numbers[i] = get_f64(data, at + 24 + 8 * i, big)
    numbers[6] = seconds_at(data, HEAD, big)
    numbers[7] = get_u32(data, HEAD + 4, big)
    return True
