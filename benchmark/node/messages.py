# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Serialized messages that are written in place: a template and where its numbers lie."""

from __future__ import annotations

from collections.abc import Sequence
import struct

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

#: Where the stamp of any message with a header lies: behind the encapsulation.
STAMP = 4
stamp_into = struct.Struct('<iI').pack_into
stamp_from = struct.Struct('<iI').unpack_from


def doubles_at(raw: bytes, values: Sequence[float]) -> int:
    """Return where these doubles lie in a serialized message; they must be there once."""
    wanted = np.asarray(values, dtype='<f8').tobytes()
    place = raw.index(wanted)
    if wanted in raw[place + 1:]:
        raise ValueError('the doubles lie in the message twice; choose distinct values')
    return place


def joint_state(names: Sequence[str], position: Sequence[float], velocity: Sequence[float],
                effort: Sequence[float]) -> bytes:
    """Return a serialized JointState with a zero stamp."""
    return serialize_message(JointState(
        name=list(names), position=list(position), velocity=list(velocity), effort=list(effort)))


def array_template(n: int) -> tuple[bytearray, int]:
    """Return a serialized Float64MultiArray of n numbers, and where they begin."""
    values = np.arange(1.0, n + 1.0)
    raw = serialize_message(Float64MultiArray(data=values.tolist()))
    return bytearray(raw), doubles_at(raw, values)


def effort_template(names: Sequence[str]) -> tuple[bytearray, int]:
    """Return a serialized JointState that carries efforts alone, and where they begin."""
    values = np.arange(1.0, len(names) + 1.0)
    raw = joint_state(names, [], [], values)
    at = doubles_at(raw, values)
    return bytearray(raw[:at + 8 * len(names)]), at  # rclpy may leave some bytes behind them
