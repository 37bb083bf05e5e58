# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Commands as they come from the middleware, as procedures: read, checked and kept."""

from __future__ import annotations

import math

from rbd_ros.compiler.language.octets import get_f64, get_i64, get_u32, get_u8, put_i64
from rbd_ros.sim.native.period import add
from rbd_ros.sim.native.records import Count, Defect, Handle, Inputs, Look, Loop
from rbd_ros.wire.joint_state import (
    aligned, find_head, find_numbers, names_end, same_bytes, string_end)

__all__ = ['read_command', 'take_commands']

#: messages that are taken before the loop looks at everything else
MOST = 32
_SECOND = 1_000_000_000
#: joints that a whole number can name
_BITS = 52
#: in the place of that of the first value: there are not as many as joints
_WRONG_SIZE = -2


def take_commands(loop: Loop, now: float, wall: int) -> None:
    """
    Take all commands that have come.

    :param loop: what the loop works on.
    :param now: steady clock, s.
    :param wall: time of the day, ns.
    """
    for _ in range(MOST):
        if loop.c.take(get_i64(loop.handles, Handle.COMMANDS), loop.taken, 0, 0) != 0:
            return
        size = get_i64(loop.taken, 8)
        if size > len(loop.inputs.message):
            _refuse(loop, Defect.UNREADABLE, size)
            continue
        loop.c.copy(loop.inputs.message, get_i64(loop.taken, 0), size)
        read_command(loop, size, now, wall)


def read_command(loop: Loop, size: int, now: float, wall: int) -> None:
    """
    Accept the command whose bytes lie in ``Inputs.message``, or refuse it.

    :param loop: what the loop works on.
    :param size: of the message.
    :param now: steady clock, s.
    :param wall: time of the day, ns.
    """
    first = -1
    if loop.drive.kind == 1.0:
        first = _joint_state(loop, size)
    else:
        first = _array(loop, size)
    if first == -1:
        return
    silence = now - loop.drive.last_command
    loop.drive.last_command = now
    if now < loop.drive.deaf_until:
        # These commands are for the pose before the reset: they would throw the robot.
        if silence < loop.drive.silence:
            return
        loop.drive.deaf_until = 0.0
    if first == _WRONG_SIZE:
        _refuse(loop, Defect.SIZE, int(loop.inputs.parts.efforts))
        return
    _accept(loop, first, wall)


def _refuse(loop: Loop, defect: int, about: int) -> int:
    """Count a command that is ignored; return -1."""
    add(loop, Count.REFUSED, 1)
    loop.seen[Look.DEFECT], loop.seen[Look.ABOUT] = float(defect), float(about)
    return -1


def _array(loop: Loop, size: int) -> int:
    """Return where the numbers of a Float64MultiArray are; negative: it is refused."""
    if size < 16 or get_u8(loop.inputs.message, 0) != 0 or get_u8(loop.inputs.message, 1) > 1:
        return _refuse(loop, Defect.UNREADABLE, size)
    big = 1 - get_u8(loop.inputs.message, 1)
    at = 8
    for _ in range(get_u32(loop.inputs.message, 4, big)):
        at = string_end(loop.inputs.message, size, aligned(at, 4), big)
        if at < 0:
            return _refuse(loop, Defect.UNREADABLE, size)
        at = aligned(at, 4) + 8
    count = get_u32(loop.inputs.message, at + 4, big)
    first = aligned(at + 8, 8)
    if at + 8 > size or (count > 0 and first + 8 * count > size):
        return _refuse(loop, Defect.UNREADABLE, size)
    if count != len(loop.inputs.belongs):
        loop.inputs.parts.efforts = float(count)
        return _WRONG_SIZE
    loop.inputs.parts.big = float(big)
    for j in range(len(loop.inputs.place)):
        loop.inputs.place[j] = float(j)
    return first


def _joint_state(loop: Loop, size: int) -> int:
    """Return where the efforts of a JointState are; negative: it is refused."""
    if not find_head(loop.inputs.message, size, loop.inputs.parts):
        return _refuse(loop, Defect.UNREADABLE, size)
    end = names_end(loop.inputs.message, loop.inputs.parts)
    loop.inputs.parts.names_end = float(end)
    if end < 0 or not find_numbers(loop.inputs.message, loop.inputs.parts):
        return _refuse(loop, Defect.UNREADABLE, size)
    in_order = _find_names(loop.inputs)
    if in_order and int(loop.inputs.parts.efforts) != len(loop.inputs.belongs):
        return _WRONG_SIZE
    missing, bit, complete = 0, 1, True
    for j in range(len(loop.inputs.place)):
        if loop.inputs.place[j] < 0.0:
            complete = False
            if j < _BITS:
                missing += bit
        if j < _BITS:
            bit += bit
    if not complete:
        return _refuse(loop, Defect.MISSING, missing)
    return int(loop.inputs.parts.efforts_at)


def _find_names(inputs: Inputs) -> bool:
    """Find the effort of each joint; return whether the names are those of the joints."""
    for j in range(len(inputs.place)):
        inputs.place[j] = -1.0
    at, in_order = int(inputs.parts.names_at), int(inputs.parts.names) == len(inputs.place)
    for k in range(int(inputs.parts.names)):
        at = aligned(at, 4)
        length = get_u32(inputs.message, at, int(inputs.parts.big))
        joint = k
        if not _is_named(inputs, joint, at + 4, length):
            in_order = False
            joint = 0
            while joint < len(inputs.place) and not _is_named(inputs, joint, at + 4, length):
                joint += 1
        if joint < len(inputs.place) and k < int(inputs.parts.efforts):
            inputs.place[joint] = float(k)
        at += 4 + length
    return in_order


def _is_named(inputs: Inputs, joint: int, at: int, length: int) -> bool:
    """Return whether a name in the message is that of a joint."""
    if joint >= len(inputs.place):
        return False
    begin = int(inputs.name_at[joint])
    return (int(inputs.name_at[joint + 1]) - begin == length
            and same_bytes(inputs.message, at, inputs.names, begin, length))


def _accept(loop: Loop, first: int, wall: int) -> None:
    """Keep the values for the next period, unless they cannot be or are of before."""
    big = int(loop.inputs.parts.big)
    for j in range(len(loop.inputs.place)):
        at = first + 8 * int(loop.inputs.place[j])
        if not math.isfinite(get_f64(loop.inputs.message, at, big)):
            _refuse(loop, Defect.NOT_FINITE, j)
            return
    if loop.drive.kind == 1.0:
        stamp = int(loop.inputs.parts.stamp_s) * _SECOND + int(loop.inputs.parts.stamp_ns)
        if loop.drive.simulated == 0.0:
            stamp += get_i64(loop.counts, Count.TIME) - wall
        if stamp < get_i64(loop.counts, Count.BEGUN):
            add(loop, Count.OUTDATED, 1)
            return
    for j in range(len(loop.inputs.place)):
        at = first + 8 * int(loop.inputs.place[j])
        loop.inputs.values[j] = get_f64(loop.inputs.message, at, big)
    add(loop, Count.COMMANDS, 1)
    put_i64(loop.counts, Count.COMMANDED, get_i64(loop.counts, Count.TIME))
    loop.drive.pending = 1.0
