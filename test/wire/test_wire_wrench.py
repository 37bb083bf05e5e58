# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Readings of a force-torque sensor as bytes: what the middleware sends, and nothing else."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from rbd_ros.wire.wrench import read_wrench

WRENCH = 4.0, 5.0, 6.0, 1.0, 2.0, 3.0  # moment first


def message(frame: str = '', seconds: int = 7, big: bool = False) -> np.ndarray:
    """Return a geometry_msgs/WrenchStamped; force first, as it is sent."""
    order = '>' if big else '<'
    name = frame.encode() + b'\0'
    data = struct.pack(f'{order}iII{len(name)}s', seconds, 8, len(name), name)
    data += b'\xff' * (-len(data) % 8) + struct.pack(f'{order}6d', *WRENCH[3:], *WRENCH[:3])
    return np.frombuffer(b'\0' + bytes([not big]) + b'\0\0' + data, np.uint8)


def read(data: np.ndarray, size: int) -> list[float] | None:
    """Return the numbers of a message, None if it is none."""
    numbers = np.full(8, -1.0)
    return numbers.tolist() if read_wrench(data, size, numbers) else None


@pytest.mark.parametrize('big', [False, True])
@pytest.mark.parametrize('seconds', [0, 7, 2**31 - 1, -1, -2**31])
def test_numbers_of_a_message(big, seconds):
    """Moment, force and stamp are found in either order of bytes, whatever the frame is called."""
    for length in range(18):
        data = message('f' * length, seconds, big)
        assert read(data, len(data)) == [*WRENCH, seconds, 8.0]


@pytest.mark.parametrize('big', [False, True])
def test_what_is_cut_off_is_no_reading(big):
    """Neither is a size beyond the bytes: what was not copied is not read as zeros."""
    data = message('tool', big=big)
    assert not any(read(data[:size].copy(), size) for size in range(len(data)))
    assert not any(read(data, size) for size in range(len(data)))
    assert not any(read(data[:size].copy(), len(data)) for size in range(len(data)))
    assert read(np.append(data, np.uint8(9)), len(data) + 1) == read(data, len(data))


@pytest.mark.parametrize('at, value', [(0, 1), (1, 2), (1, 3), (12, 255), (15, 255), (12, 0)])
def test_what_is_no_plain_message_is_no_reading(at, value):
    """Another encoding, a name that is longer than the message, or one without an end."""
    data = message('tool').copy()
    data[at] = value
    assert read(data, len(data)) is None
