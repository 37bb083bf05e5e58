# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Serialized joint states and arrays, read in Python.

The middleware's own conversion makes a Python object of each number; here the doubles are
copied as bytes. A message is read from the front. What a publisher repeats in each message
(frame, names, number of positions) is compared with what it sent before, in one comparison.
Padding is left out of the comparison: middlewares leave stale memory there, and after the end.
Anything unexpected gives None, and the caller has the middleware deserialise the message.

Layout, plain CDR, little endian: four bytes of encapsulation, then fields aligned to their
size, counted from the end of the encapsulation. The doubles therefore lie at 4 mod 8 of the
buffer: they are copied, never aliased.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

__all__ = ['JointStateReader', 'read_plain_array', 'ReadState']

Array = npt.NDArray[np.float64]

_HEAD = 4  # where the stamp begins, after the encapsulation
_STAMP_END = 12
_PLAIN = b'\x00\x01'  # representation: plain CDR, little endian
_EMPTY = np.zeros(0)
_COUNT = struct.Struct('<I')
_MAX_LAYOUTS = 16
_SURPLUS = 16  # bytes after the end: room for the alignment of doubles that did not come


class ReadState:
    """
    One kind of message, with buffers that each message of that kind fills.

    From the first position on everything lies at multiples of eight bytes, counts included,
    so that one copy brings all numbers to where their arrays are.
    """

    def __init__(self, names: tuple[str, ...], prefix: bytes, mask: bytes, count: int) -> None:
        """
        Allocate.

        :param names: names of the joints.
        :param prefix: bytes from the end of the stamp to the first position.
        :param mask: as many bytes, zero where the prefix is padding, else 255.
        :param count: number of positions, equal to the number of names or zero.
        """
        self.names, self.prefix, self.count = names, prefix, count
        self._mask = int.from_bytes(mask, 'little')
        self._key = int.from_bytes(prefix, 'little') & self._mask
        self.start = _STAMP_END + len(prefix)
        self.stamp = 0.0  # s
        self.seconds = self.nanoseconds = 0
        # Without positions the count of velocities may lie at 4 mod 8: leave room before it.
        self._lead = (self.start - _HEAD) % 8
        self._buffer = np.zeros(3 * len(names) + 6)
        self._bytes = memoryview(self._buffer).cast('B')
        self._words = self._bytes.cast('I')
        self._head = struct.Struct(f'<2s2xiI{len(prefix)}s')
        self._size = -1  # length of the last message
        self._numbers = self._bytes[:0]  # where what follows the prefix goes
        self._checks: tuple[tuple[int, int], ...] = ()  # word, count expected in it
        self.position: Array = _EMPTY
        self.velocity: Array = _EMPTY
        self.effort: Array = _EMPTY

    def fits(self, data: bytes) -> bool:
        """
        Return whether a message has our frame, names and number of positions.

        :param data: the serialized message.
        """
        prefix = data[_STAMP_END:self.start]
        if prefix == self.prefix:
            return True
        if int.from_bytes(prefix, 'little') & self._mask != self._key or (
                len(prefix) != len(self.prefix)):
            return False
        self.prefix = prefix  # the same with other padding, which the next one may have too
        return True

    def refill(self, data: bytes) -> bool:
        """
        Take a message that differs from the last one only in its stamp and its numbers.

        :param data: the serialized message.
        :returns: False if it differs otherwise; the numbers are then undefined.
        """
        if len(data) != self._size:
            return False
        kind, seconds, nanoseconds, prefix = self._head.unpack_from(data)
        if prefix != self.prefix or kind != _PLAIN:
            return False
        self._numbers[:] = data[self.start:]
        words = self._words
        for word, count in self._checks:
            if words[word] != count:
                return False
        self.seconds, self.nanoseconds = seconds, nanoseconds
        self.stamp = seconds + 1e-9 * nanoseconds
        return True

    def fill(self, data: bytes) -> bool:
        """
        Take a message whose prefix is ours.

        :param data: the serialized message.
        :returns: False if its length or its counts do not fit.
        """
        return self._measure(data, len(data) - self.start) and self.refill(data)

    def _measure(self, data: bytes, tail: int) -> bool:
        """Find the fields of a message of a new length; False if they do not fit."""
        n, at = len(self.names), self._lead + 8 * self.count
        end = self._lead + tail
        fields, checks = [], []
        for _ in range(2):  # velocity, effort
            if at + 4 > end:
                return False
            count = _COUNT.unpack_from(data, self.start + at - self._lead)[0]
            if count not in (0, n):
                return False
            checks.append((at // 4, count))
            at += 4
            at += -at % 8 if count else 0
            fields.append(self._buffer[at // 8:at // 8 + n] if count else _EMPTY)
            at += 8 * count
        if not 0 <= end - at <= _SURPLUS or end > len(self._bytes):
            return False
        self.position = self._buffer[:n] if self.count else _EMPTY
        self.velocity, self.effort = fields
        self._checks, self._size = tuple(checks), len(data)
        self._numbers = self._bytes[self._lead:end]
        return True


class JointStateReader:
    """Read serialized sensor_msgs/JointState."""

    def __init__(self) -> None:
        """Start without any known publisher."""
        self._layouts: list[ReadState] = []
        self._last: ReadState | None = None

    def read(self, data: bytes) -> ReadState | None:
        """
        Read one message.

        :param data: as the middleware delivers it.
        :returns: the state, valid until the next message of that kind, or None for anything
            unexpected.
        """
        layout = self._last
        if layout is not None and layout.refill(data):
            return layout
        layout = self._find(data)
        if layout is not None and (layout.refill(data) or layout.fill(data)):
            return layout
        return None

    def _find(self, data: bytes) -> ReadState | None:
        if data[:2] != _PLAIN:
            return None
        for place, layout in enumerate(self._layouts):
            if layout.fits(data):
                self._layouts.append(self._layouts.pop(place))  # the last to be forgotten
                self._last = layout
                return layout
        new = _learn(data)
        if new is not None:
            del self._layouts[:len(self._layouts) + 1 - _MAX_LAYOUTS]
            self._layouts.append(new)
            self._last = new
        return new


def read_plain_array(data: bytes) -> Array | None:
    """
    Return the numbers of a serialized Float64MultiArray where they are.

    :returns: None for one that has dimensions, or anything unexpected.
    """
    if data[:2] == _PLAIN and data[4:8] == bytes(4):
        count = int.from_bytes(data[12:16], 'little')
        if len(data) >= 20 + 8 * count and count:
            return np.frombuffer(data, '<f8', count, 20)
    return None


def _learn(data: bytes) -> ReadState | None:
    """Read frame, names and number of positions of a message of a new kind."""
    mask = bytearray(b'\xff' * len(data))
    try:
        at = _align(_skip_string(data, _STAMP_END)[0], 4, mask)
        count = _COUNT.unpack_from(data, at)[0]
        at += 4
        if count > (len(data) - at) // 5:  # each name takes five bytes or more
            return None
        names = []
        for _ in range(count):
            at, name = _skip_string(data, _align(at, 4, mask))
            names.append(name)
        at = _align(at, 4, mask)
        positions = _COUNT.unpack_from(data, at)[0]
        at += 4
    except (struct.error, ValueError):
        return None
    if positions not in (0, count):
        return None
    if positions:
        at = _align(at, 8, mask)
    if at > len(data):
        return None
    return ReadState(tuple(names), bytes(data[_STAMP_END:at]), bytes(mask[_STAMP_END:at]),
                     positions)


def _align(at: int, size: int, mask: bytearray) -> int:
    """Skip padding and take it out of the mask."""
    pad = (_HEAD - at) % size
    mask[at:at + pad] = bytes(pad)
    return at + pad


def _skip_string(data: bytes, at: int) -> tuple[int, str]:
    """Read a string; its length counts a zero byte at the end."""
    size = _COUNT.unpack_from(data, at)[0]
    end = at + 4 + size
    if size < 1 or end > len(data) or data[end - 1] != 0:
        raise ValueError('a string does not end within the message')
    return end, bytes(data[at + 4:end - 1]).decode('utf-8')
