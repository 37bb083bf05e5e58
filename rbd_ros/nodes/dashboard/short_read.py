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
The few numbers that the page shows of long messages, read from their bytes.

The middleware would make an object of each part of a message, 25 times per second, of which two or
three are looked at. Layout: plain CDR, as in ``rbd_ros.wire.joint_state``. Anything unexpected
gives None, and the caller has the middleware deserialise the message.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from control_msgs.msg import JointTrajectoryControllerState

__all__ = ['read_force', 'Reference', 'ReferenceReader']

_PLAIN = b'\x00\x01'  # representation: plain CDR, little endian
_HEAD, _FRAME = 4, 12  # where the stamp begins, after the encapsulation, and the name of the frame
_COUNT, _VECTOR, _WRENCH = struct.Struct('<I'), struct.Struct('<3d'), 48
#: Whether messages of this release begin with what is read here.
_KNOWN = list(JointTrajectoryControllerState.get_fields_and_field_types())[:3] == [
    'header', 'joint_names', 'reference']


def read_force(data: bytes) -> tuple[float, float, float] | None:
    """Return the force of a serialized WrenchStamped, N."""
    if data[:2] != _PLAIN:
        return None
    try:
        at = _aligned(_string_end(data, _FRAME), 8)
        return _VECTOR.unpack_from(data, at) if at + _WRENCH <= len(data) else None
    except (struct.error, ValueError):
        return None


class Reference(NamedTuple):
    """What a controller follows."""

    names: tuple[str, ...]
    positions: tuple[float, ...]
    velocities: tuple[float, ...]


class ReferenceReader:
    """Read the reference in serialized JointTrajectoryControllerState."""

    def __init__(self) -> None:
        self._prefix = b''  # frame and names of the last message
        self._names: tuple[str, ...] = ()

    def read(self, data: bytes) -> Reference | None:
        """Return the reference of a message."""
        if not _KNOWN or data[:2] != _PLAIN:
            return None
        try:
            end = _FRAME + len(self._prefix)
            if not self._prefix or data[_FRAME:end] != self._prefix:
                end = self._learn(data)
            positions, end = _doubles(data, end)
            velocities, _ = _doubles(data, end)
        except (struct.error, ValueError):
            return None
        return Reference(self._names, positions, velocities)

    def _learn(self, data: bytes) -> int:
        """Read the names of the joints; return where they end."""
        at = _aligned(_string_end(data, _FRAME), 4)
        count, names = _COUNT.unpack_from(data, at)[0], []
        at += 4
        for _ in range(count):
            at = _aligned(at, 4)
            end = _string_end(data, at)
            names.append(data[at + 4:end - 1].decode())
            at = end
        self._prefix, self._names = data[_FRAME:at], tuple(names)
        return at


def _aligned(at: int, size: int) -> int:
    return at + (_HEAD - at) % size


def _string_end(data: bytes, at: int) -> int:
    """Return where a string ends; its length counts a zero byte."""
    end = at + 4 + _COUNT.unpack_from(data, at)[0]
    if not at + 4 < end <= len(data):
        raise ValueError('a string does not end within the message')
    return int(end)


def _doubles(data: bytes, at: int) -> tuple[tuple[float, ...], int]:
    """Return a sequence of numbers, and where it ends."""
    at = _aligned(at, 4)
    count = _COUNT.unpack_from(data, at)[0]
    at += 4
    if not count:
        return (), at
    at = _aligned(at, 8)
    if count > (len(data) - at) // 8:
        raise ValueError('a sequence does not end within the message')
    return struct.unpack_from(f'<{count}d', data, at), at + 8 * count
