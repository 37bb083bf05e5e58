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
Serialized messages of the loop: JointState in, Float64MultiArray or JointState out.

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

from collections.abc import Sequence
import struct

import numpy as np
import numpy.typing as npt

__all__ = ['FloatArrayWriter', 'JointStateReader', 'JointStateWriter', 'ReadState', 'STAMP',
           'unpack_stamp']

Array = npt.NDArray[np.float64]

#: where the stamp of a message begins, after its encapsulation
STAMP = _HEAD = 4
_STAMP_END = 12
_PLAIN = b'\x00\x01'  # representation: plain CDR, little endian
_EMPTY = np.zeros(0)
_STAMP = struct.Struct('<iI')
#: gives s and ns of a little-endian message and a place in it
unpack_stamp = _STAMP.unpack_from
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


class FloatArrayWriter:
    """Serialise std_msgs/Float64MultiArray with a data vector of fixed length."""

    def __init__(self, n: int) -> None:
        """
        Prepare the bytes that never change.

        :param n: number of values.
        """
        head = struct.pack('<HHIII', 0x0100, 0, 0, 0, n)  # no dimensions, no offset
        self._buffer = bytearray(head + bytes(_pad(len(head))) + bytes(8 * n))
        self._values = memoryview(self._buffer)[len(self._buffer) - 8 * n:].cast('d')

    def write(self, values: Array) -> bytes:
        """
        Return the serialized message.

        :param values: n numbers.
        """
        self._values[:] = values
        return bytes(self._buffer)


class JointStateWriter:
    """Serialise sensor_msgs/JointState with names and effort."""

    def __init__(self, names: Sequence[str], frame: str = '') -> None:
        """
        Prepare the bytes that never change.

        :param names: names of the joints.
        :param frame: frame_id of the header.
        """
        out = bytearray(struct.pack('<HHiI', 0x0100, 0, 0, 0))
        _append_string(out, frame)
        out += bytes(-len(out) % 4) + struct.pack('<I', len(names))
        for name in names:
            out += bytes(-len(out) % 4)
            _append_string(out, name)
        out += bytes(-len(out) % 4) + struct.pack('<III', 0, 0, len(names))
        out += bytes(_pad(len(out))) + bytes(8 * len(names))
        self._buffer = out
        self._values = memoryview(out)[len(out) - 8 * len(names):].cast('d')

    def write(self, effort: Array, seconds: int, nanoseconds: int) -> bytes:
        """
        Return the serialized message.

        :param effort: one number per name.
        :param seconds: of the stamp.
        :param nanoseconds: of the stamp.
        """
        _STAMP.pack_into(self._buffer, _HEAD, seconds, nanoseconds)
        self._values[:] = effort
        return bytes(self._buffer)


def _pad(size: int) -> int:
    """Return the bytes needed before doubles in a message of this size."""
    return (_HEAD - size) % 8


def _append_string(out: bytearray, text: str) -> None:
    encoded = text.encode('utf-8') + b'\x00'
    out += struct.pack('<I', len(encoded)) + encoded
