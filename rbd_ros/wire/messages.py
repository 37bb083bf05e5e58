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

"""Messages that Python makes: joint states, and the bytes of commands that never change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ['array_command', 'Command', 'COMMANDS', 'effort_command', 'joint_state',
           'stamp_of']

Values = NDArray[np.float64] | Sequence[float]

_LITTLE_ENDIAN = struct.pack('<HH', 0x0100, 0)
_STAMP = len(_LITTLE_ENDIAN)


def stamp_of(data: bytes) -> float:
    """
    Return the stamp of a message with a header, s; 0 if it is too short for one.

    :param data: the serialized message.
    """
    if len(data) < _STAMP + 8:
        return 0.0
    seconds, nanoseconds = struct.unpack_from('<iI' if data[1] else '>iI', data, _STAMP)
    return float(seconds + 1e-9 * nanoseconds)


def joint_state(names: tuple[str, ...], position: Values, velocity: Values, effort: Values,
                stamp: tuple[int, int], frame: str = '') -> bytes:
    """
    Return a serialized sensor_msgs/JointState.

    :param names: of the joints.
    :param position: positions.
    :param velocity: velocities, or none.
    :param effort: efforts, or none.
    :param stamp: s and ns.
    :param frame: frame_id of the header.
    """
    out = bytearray(_LITTLE_ENDIAN + struct.pack('<iI', *stamp)) + _named(names, frame)
    for values in (position, velocity, effort):
        out += struct.pack('<I', len(values))
        if len(values):
            out += bytes(_pad(len(out))) + np.asarray(values, dtype='<f8').tobytes()
    return bytes(out)


@lru_cache(maxsize=64)
def _named(names: tuple[str, ...], frame: str) -> bytes:
    """Return what lies between stamp and positions."""
    out = bytearray()
    _append_string(out, frame)
    out += bytes(-len(out) % 4) + struct.pack('<I', len(names))
    for name in names:
        out += bytes(-len(out) % 4)
        _append_string(out, name)
    return bytes(out) + bytes(-len(out) % 4)


class Command(NamedTuple):
    """
    A message of commands.

    :param content: its bytes, with zeros for what changes.
    :param values_at: where its doubles begin.
    :param stamp_at: where its stamp begins; -1: it has none.
    """

    content: bytes
    values_at: int
    stamp_at: int


def array_command(joints: Sequence[str]) -> Command:
    """
    Return a std_msgs/Float64MultiArray, without dimensions and offset.

    :param joints: whose numbers it has.
    """
    return _command(_LITTLE_ENDIAN + struct.pack('<II', 0, 0), len(joints), -1)


def effort_command(joints: Sequence[str]) -> Command:
    """
    Return a sensor_msgs/JointState with names and efforts.

    :param joints: names of the joints.
    """
    head = _LITTLE_ENDIAN + bytes(8) + _named(tuple(joints), '') + struct.pack('<II', 0, 0)
    return _command(head, len(joints), _STAMP)


#: Commands by the name of their type.
COMMANDS: dict[str, Callable[[Sequence[str]], Command]] = {
    'float64_multi_array': array_command, 'joint_state': effort_command}


def _command(head: bytes, count: int, stamp_at: int) -> Command:
    """Return a message that ends with some doubles."""
    out = head + struct.pack('<I', count)
    out += bytes(_pad(len(out)))
    return Command(out + bytes(8 * count), len(out), stamp_at)


def _pad(size: int) -> int:
    """Return the bytes needed before doubles in a message of this size."""
    return (len(_LITTLE_ENDIAN) - size) % 8


def _append_string(out: bytearray, text: str) -> None:
    encoded = text.encode('utf-8', 'replace') + b'\x00'
    out += struct.pack('<I', len(encoded)) + encoded
