# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Where the parts of a serialized sensor_msgs/JointState are, as procedures.

Layout, plain CDR in either order of bytes: four bytes of encapsulation, then fields aligned to
their size, counted from the end of the encapsulation. Padding may hold anything, and so may what
follows the end. Every length in a message is checked against its size before it is believed.
"""

from __future__ import annotations

from rbd_ros.compiler.language.octets import Bytes, get_i64, get_u32, get_u8
from rbd_ros.compiler.records import field, Record

__all__ = ['find_head', 'find_numbers', 'names_end', 'Parts', 'same_bytes', 'seconds_at',
           'string_end']

#: bytes of the encapsulation, and where the frame begins, after the stamp
HEAD, FRAME = 4, 12


class Parts(Record):
    """Where the parts of a joint state are."""

    size: float = field('', 'bytes', 'of the message')
    big: float = field('', '', '1 if the first byte of a number is the most significant one')
    stamp_s: float = field('', 's', 'stamp, whole seconds')
    stamp_ns: float = field('', 'ns', 'stamp, the rest')
    names: float = field('', '', 'number of names')
    names_at: float = field('', '', 'where the first of them begins, with its length')
    names_end: float = field('', '', 'where the last of them has ended')
    positions: float = field('', '', 'number of positions')
    positions_at: float = field('', '', 'where they begin')
    velocities: float = field('', '', 'number of velocities')
    velocities_at: float = field('', '', 'where they begin')
    efforts: float = field('', '', 'number of efforts')
    efforts_at: float = field('', '', 'where they begin')


def aligned(at: int, to: int) -> int:
    """
    Return where a number begins.

    :param at: where what stands before has ended.
    :param to: its size, a power of two.
    """
    return at + ((HEAD - at) & (to - 1))


def string_end(data: Bytes, size: int, at: int, big: int) -> int:
    """
    Return where a string has ended; -1 if it is none.

    :param data: bytes.
    :param size: of the message.
    :param at: where it begins, with its length, which counts a zero byte at the end.
    :param big: order of bytes.
    """
    if at > size - 5:
        return -1
    length = get_u32(data, at, big)
    end = at + 4 + length
    if length < 1 or end > size or get_u8(data, end - 1) != 0:
        return -1
    return end


def seconds_at(data: Bytes, at: int, big: int) -> int:
    """
    Return the whole seconds of a stamp, which have a sign.

    :param data: bytes.
    :param at: where the stamp begins.
    :param big: order of bytes.
    """
    seconds = get_u32(data, at, big)
    return seconds if seconds < 2147483648 else seconds - 4294967296


def find_head(data: Bytes, size: int, parts: Parts) -> bool:
    """
    Find all that comes before the names; False if this is no plain joint state.

    :param data: bytes.
    :param size: of the message, at most as many as there are.
    :param parts: what is found.
    """
    if size > len(data) or size < FRAME or get_u8(data, 0) != 0 or get_u8(data, 1) > 1:
        return False
    big = 1 - get_u8(data, 1)
    parts.size, parts.big = size, big
    parts.stamp_s = seconds_at(data, HEAD, big)
    parts.stamp_ns = get_u32(data, HEAD + 4, big)
    end = string_end(data, size, FRAME, big)
    at = aligned(end, 4)
    if end < 0 or at > size - 4:
        return False
    parts.names, parts.names_at = get_u32(data, at, big), at + 4
    return True


def names_end(data: Bytes, parts: Parts) -> int:
    """
    Return where the last name has ended; -1 if they do not end within the message.

    :param data: bytes.
    :param parts: what is known of the message.
    """
    size, big, at = int(parts.size), int(parts.big), int(parts.names_at)
    for _ in range(int(parts.names)):
        at = string_end(data, size, aligned(at, 4), big)
        if at < 0:
            return -1
    return at


def find_numbers(data: Bytes, parts: Parts) -> bool:
    """
    Find positions, velocities and efforts; False if they are not whole.

    :param data: bytes.
    :param parts: gets what is found; the names must have been.
    """
    size, big = int(parts.size), int(parts.big)
    at = aligned(int(parts.names_end), 4)
    parts.positions, parts.positions_at = get_u32(data, at, big), _first(data, at, big)
    at = _after(data, size, at, big)
    parts.velocities, parts.velocities_at = get_u32(data, at, big), _first(data, at, big)
    at = _after(data, size, at, big)
    parts.efforts, parts.efforts_at = get_u32(data, at, big), _first(data, at, big)
    return _after(data, size, at, big) >= 0


def _first(data: Bytes, at: int, big: int) -> int:
    """Return where the first of some doubles is; none need no room."""
    return at + 4 if get_u32(data, at, big) == 0 else aligned(at + 4, 8)


def _after(data: Bytes, size: int, at: int, big: int) -> int:
    """Return where the number of the next doubles stands; -1 if these do not end before it."""
    if at < 0 or at > size - 4:
        return -1
    first, count = _first(data, at, big), get_u32(data, at, big)
    end = first + 8 * count
    return end if end <= size else -1


def same_bytes(a: Bytes, i: int, b: Bytes, j: int, count: int) -> bool:
    """
    Return whether some bytes are the same in two places.

    :param a: bytes.
    :param i: the first of them.
    :param b: other bytes.
    :param j: the first of them.
    :param count: how many.
    """
    k = 0
    while k + 8 <= count:
        if get_i64(a, i + k) != get_i64(b, j + k):
            return False
        k += 8
    while k < count:
        if get_u8(a, i + k) != get_u8(b, j + k):
            return False
        k += 1
    return True
