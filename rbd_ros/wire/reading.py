# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Serialized messages as names and arrays, for programs in Python."""

from __future__ import annotations

from collections.abc import Iterator
import struct
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler import procedure
from rbd_ros.compiler.language.octets import Bytes, get_f64
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.wire.joint_state import find_head, find_numbers, names_end, Parts
from rbd_ros.wire.wrench import read_wrench

__all__ = ['JointStateReader', 'MOST_BYTES', 'places_in', 'read_force', 'read_plain_array',
           'ReadState', 'strings_in']

Array = npt.NDArray[np.float64]

#: bytes of the longest message that is read
MOST_BYTES = 2 ** 18

#: lists of names that are remembered
_MOST_LISTS = 16

_SIZE = Parts.single_place('size')


class ReadState(NamedTuple):
    """A joint state; each array is as long as the names, or empty."""

    names: tuple[str, ...]
    seconds: int
    nanoseconds: int
    position: Array
    velocity: Array
    effort: Array

    @property
    def stamp(self) -> float:
        """Return the stamp, s."""
        return self.seconds + 1e-9 * self.nanoseconds


class JointStateReader:
    """
    Read serialized sensor_msgs/JointState in either order of bytes.

    A control_msgs/JointTrajectoryControllerState begins with the same parts: names, and positions,
    velocities and accelerations of the reference, the last in the place of efforts.
    """

    def __init__(self) -> None:
        self._message: Bytes = np.zeros(MOST_BYTES, np.uint8)
        self._numbers, parts, self._found = np.zeros((3, MOST_BYTES // 8)), Parts({}), np.zeros(1)
        self._find = procedure.bind(_find, self._message, parts, self._numbers, self._found)
        self._bytes, self._places = memoryview(self._message), memoryview(parts.memory)
        self._lists: dict[tuple[bytes, int], tuple[str, ...]] = {}

    def read(self, data: bytes) -> ReadState | None:
        """
        Read one message.

        :param data: as the middleware delivers it.
        :returns: None if it is no plain one, or has numbers that are not one for each name.
        """
        if len(data) > MOST_BYTES:
            return None
        self._bytes[:len(data)], self._places[_SIZE] = data, len(data)
        self._find()
        if not self._found[0]:
            return None
        places, rows = self._places.tolist(), self._numbers
        _, big, seconds, nanoseconds, count, at, end, q, _, qd, _, effort, _ = places
        key = bytes(self._bytes[int(at):int(end)]), int(count)
        return ReadState(
            self._lists.get(key) or self._learn(key, int(at), big), int(seconds), int(nanoseconds),
            rows[0, :int(q)].copy(), rows[1, :int(qd)].copy(), rows[2, :int(effort)].copy())

    def _learn(self, key: tuple[bytes, int], at: int, big: float) -> tuple[str, ...]:
        """Return the names in the message; those of one publisher are read once."""
        names = self._lists[key] = tuple(strings_in(self._message, at, key[1], big))
        if len(self._lists) > _MOST_LISTS:
            del self._lists[next(iter(self._lists))]  # the oldest one
        return names


def places_in(data: bytes) -> tuple[int, int, int]:
    """
    Return where the first position, velocity and effort of a joint state are; 0: there is none.

    :param data: serialized sensor_msgs/JointState, as :mod:`rbd_ros.wire.messages` makes it.
    """
    content, parts = np.frombuffer(data, np.uint8), Parts({})
    find_head(content, len(data), parts)
    parts.names_end = names_end(content, parts)
    find_numbers(content, parts)
    return (int(parts.positions_at) if parts.positions else 0,
            int(parts.velocities_at) if parts.velocities else 0,
            int(parts.efforts_at) if parts.efforts else 0)


def read_force(data: bytes) -> tuple[float, float, float] | None:
    """
    Return the force of a serialized geometry_msgs/WrenchStamped, N; None: it is no plain one.

    :param data: as the middleware delivers it.
    """
    numbers = np.zeros(8)
    if not read_wrench(np.frombuffer(data, np.uint8), len(data), numbers):
        return None
    x, y, z = numbers[3:6].tolist()
    return x, y, z


def read_plain_array(data: bytes) -> Array | None:
    """
    Return the numbers of a serialized Float64MultiArray where they are.

    :returns: None for one that has dimensions, or anything unexpected.
    """
    if data[:2] == b'\x00\x01' and data[4:8] == bytes(4):  # plain CDR, little endian
        count = int.from_bytes(data[12:16], 'little')
        if len(data) >= 20 + 8 * count and count:
            return np.frombuffer(data, '<f8', count, 20)
    return None


def strings_in(data: Bytes | bytes, at: int, count: int, big: float) -> Iterator[str]:
    """
    Yield the strings of a message, which were found to be whole.

    :param data: bytes of the message.
    :param at: where the first begins, with its length.
    :param count: number of strings.
    :param big: order of bytes of their lengths.
    """
    length = struct.Struct('>I' if big else '<I')
    for _ in range(count):
        at += -at % 4
        size = length.unpack_from(data, at)[0]
        yield bytes(data[at + 4:at + 3 + size]).decode('utf-8', 'replace')
        at += 4 + size


def _find(data: Bytes, parts: Parts, numbers: Matrix, found: Vector) -> None:
    """Read a message that has as many numbers as names, or none of a kind."""
    found[0] = 0.0
    if not find_head(data, int(parts.size), parts):
        return
    parts.names_end = names_end(data, parts)
    if parts.names_end < 0.0 or not find_numbers(data, parts):
        return
    if (_take(data, parts, parts.positions, parts.positions_at, numbers, 0)
            and _take(data, parts, parts.velocities, parts.velocities_at, numbers, 1)
            and _take(data, parts, parts.efforts, parts.efforts_at, numbers, 2)):
        found[0] = 1.0


def _take(data: Bytes, parts: Parts, count: float, at: float, rows: Matrix, row: int) -> bool:
    """Read one kind of numbers; False if there is not one for each name."""
    if count != 0.0 and count != parts.names:
        return False
    for k in range(int(count)):
        rows[row, k] = get_f64(data, int(at) + 8 * k, int(parts.big))
    return True
