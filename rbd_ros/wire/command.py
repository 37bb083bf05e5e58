# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Commands as bytes: a prepared message gets its numbers, as a procedure."""

from __future__ import annotations

from rbd_ros.compiler.language.octets import Bytes, put_f64, put_u32
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record

__all__ = ['Slots', 'write_command', 'write_motor_command']


class Slots(Record):
    """Where the numbers of a command are in its message, see ``messages.Command``."""

    values_at: float = field('', '', 'where the doubles begin')
    stamp_at: float = field('', '', 'where the stamp begins; -1: there is none', -1.0)
    step: float = field('', '', 'bytes from joint to joint in a command to motors; 0: it is none')
    motor_at: Vector = field('5', '', 'where the first joint has position, velocity, stiffness, '
                                      'damping and torque in a command to motors')


def write_command(data: Bytes, slots: Slots, values: Vector, stamp_s: float,
                  stamp_ns: float) -> None:
    """
    Write the numbers of a command.

    :param data: the prepared message, little endian.
    :param slots: where its numbers are.
    :param values: one for each joint.
    :param stamp_s: s of the stamp.
    :param stamp_ns: ns of the stamp.
    """
    _write_stamp(data, slots, stamp_s, stamp_ns)
    first = int(slots.values_at)
    for j in range(len(values)):
        put_f64(data, first + 8 * j, values[j], 0)


def write_motor_command(data: Bytes, slots: Slots, values: Matrix, joints: int, stamp_s: float,
                        stamp_ns: float) -> None:
    """
    Write the numbers of a command to motors that close their own loop.

    :param data: the prepared message, little endian.
    :param slots: where its numbers are.
    :param values: five rows, in the order of ``slots.motor_at``, and a column for each joint.
    :param joints: how many there are.
    :param stamp_s: s of the stamp.
    :param stamp_ns: ns of the stamp.
    """
    _write_stamp(data, slots, stamp_s, stamp_ns)
    step = int(slots.step)
    for k in range(len(values)):
        first = int(slots.motor_at[k])
        for j in range(joints):
            put_f64(data, first + step * j, values[k, j], 0)


def _write_stamp(data: Bytes, slots: Slots, stamp_s: float, stamp_ns: float) -> None:
    if slots.stamp_at >= 0.0:
        put_u32(data, int(slots.stamp_at), int(stamp_s), 0)
        put_u32(data, int(slots.stamp_at) + 4, int(stamp_ns), 0)
