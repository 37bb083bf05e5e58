# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Messages that Python makes: joint states, and the bytes of commands that never change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ['array_command', 'Command', 'COMMANDS', 'dynamic_motor_command', 'effort_command',
           'joint_state', 'motor_array_command', 'MOTOR_COMMANDS', 'motor_state_command',
           'MOTOR_WORDS']

Values = NDArray[np.float64] | Sequence[float]

_LITTLE_ENDIAN = struct.pack('<HH', 0x0100, 0)
_STAMP = len(_LITTLE_ENDIAN)

#: what a motor that closes its own loop gets, in this order
MOTOR_WORDS = ('position', 'velocity', 'stiffness', 'damping', 'effort')


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
    :param motor_at: where the first joint has what ``MOTOR_WORDS`` names, if it is for motors.
    :param step: bytes from joint to joint in a command to motors.
    """

    content: bytes
    values_at: int
    stamp_at: int
    motor_at: tuple[int, ...] = ()
    step: int = 0


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


def motor_array_command(joints: Sequence[str]) -> Command:
    """
    Return a std_msgs/Float64MultiArray with a row of five numbers for each joint.

    Its dimensions are ``joint`` and the five words, so that whoever looks at it can read it.

    :param joints: whose numbers it has.
    """
    count, width = len(joints), len(MOTOR_WORDS)
    out = bytearray(_LITTLE_ENDIAN + struct.pack('<I', 2))
    for label, size, stride in (('joint', count, width * count),
                                (' '.join(MOTOR_WORDS), width, width)):
        _append_string(out, label)
        out += bytes(-len(out) % 4) + struct.pack('<II', size, stride)
    made = _command(bytes(out) + struct.pack('<I', 0), width * count, -1)
    return made._replace(motor_at=tuple(made.values_at + 8 * k for k in range(width)),
                         step=8 * width)


def motor_state_command(joints: Sequence[str]) -> Command:
    """
    Return a sensor_msgs/JointState with two entries for each joint.

    The first ones have the names of the joints, and position, velocity and effort. A JointState
    has no room for gains: they are position and velocity of the entries ``<joint>/gains``.

    :param joints: names of the joints.
    """
    names, count = (*joints, *(f'{joint}/gains' for joint in joints)), len(joints)
    zeros = [0.0] * len(names)
    content = joint_state(names, zeros, zeros, zeros, (0, 0))
    effort = len(content) - 16 * count
    velocity = effort - 8 - 16 * count
    position = velocity - 8 - 16 * count
    return Command(content, position, _STAMP, (
        position, velocity, position + 8 * count, velocity + 8 * count, effort), 8)


def dynamic_motor_command(joints: Sequence[str]) -> Command:
    """
    Return a control_msgs/DynamicJointState with the five interfaces of each joint.

    :param joints: names of the joints.
    """
    out = bytearray(_LITTLE_ENDIAN + bytes(8) + _named(tuple(joints), ''))
    out += struct.pack('<I', len(joints))
    begins = []
    for _ in joints:
        out += struct.pack('<I', len(MOTOR_WORDS))
        for word in MOTOR_WORDS:
            _append_string(out, word)
            out += bytes(-len(out) % 4)
        out += struct.pack('<I', len(MOTOR_WORDS))
        out += bytes(_pad(len(out)))
        begins.append(len(out))
        out += bytes(8 * len(MOTOR_WORDS))
    return Command(bytes(out), begins[0], _STAMP,
                   tuple(begins[0] + 8 * k for k in range(len(MOTOR_WORDS))),
                   begins[1] - begins[0] if len(begins) > 1 else 8)


#: Commands to motors that close their own loop, by the name of their type.
MOTOR_COMMANDS: dict[str, Callable[[Sequence[str]], Command]] = {
    'motor_array': motor_array_command, 'motor_joint_state': motor_state_command,
    'motor_dynamic_joint_state': dynamic_motor_command}

#: Commands by the name of their type.
COMMANDS: dict[str, Callable[[Sequence[str]], Command]] = {
    'float64_multi_array': array_command, 'joint_state': effort_command, **MOTOR_COMMANDS}


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
