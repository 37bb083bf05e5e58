# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The loop of a simulator: wait for the next period, take commands, move on, send the state."""

from __future__ import annotations

import math

from rbd_ros.compiler.language.octets import Bytes, get_i64, put_f64, put_i64, put_u32
from rbd_ros.compiler.language.shared import add_acq_rel, load_acquire, store_release
from rbd_ros.loop.handover import answer, is_posted, publish
from rbd_ros.sim.native.commands import take_commands
from rbd_ros.sim.native.period import due, run_periods
from rbd_ros.sim.native.records import Count, Handle, Look, Loop, Post, RUN, Word

__all__ = ['serve', 'write_state']

#: CLOCK_REALTIME and CLOCK_MONOTONIC of Linux
WALL, STEADY = 0, 1

#: s between two looks for commands at most, so that few of them wait, and with nothing to do
LOOKS, IDLE = 5e-3, 1.0
_SECOND = 1_000_000_000


def serve(loop: Loop) -> None:
    """
    Simulate until Python says that it is enough.

    :param loop: what the loop works on.
    """
    while load_acquire(loop.words, Word.END) == RUN:
        _wait(loop)
        if is_posted(loop.box):
            loop.drive.mine = 1.0 if loop.post[0] == float(Post.GIVE) else 0.0
            answer(loop.box)
            loop.c.post(loop.answer)
        if loop.drive.mine > 0.0 and loop.drive.failed == 0.0:
            now = _steady(loop)
            wall = _wall(loop)
            take_commands(loop, now, wall)
            if run_periods(loop, due(loop, now)):
                _send(loop, wall)
            _show(loop, wall)
    store_release(loop.words, Word.FINISHED, 1)
    loop.c.post(loop.answer)


def _wait(loop: Loop) -> None:
    """Wait for the next period, or for Python."""
    now = _steady(loop)
    until = now + IDLE
    if loop.drive.mine > 0.0 and loop.drive.failed == 0.0:
        until = now
        if loop.drive.based > 0.0:
            done = get_i64(loop.counts, Count.DONE)
            until = min(loop.drive.start + float(done + 1) * loop.drive.period, now + LOOKS)
    seconds = math.floor(until)
    put_i64(loop.time, 0, seconds)
    put_i64(loop.time, 8, int(1e9 * (until - float(seconds))))
    loop.c.wait(loop.wake, STEADY, loop.time)


def _steady(loop: Loop) -> float:
    """Return the steady time, s."""
    loop.c.clock(STEADY, loop.time)
    return float(get_i64(loop.time, 0)) + 1e-9 * float(get_i64(loop.time, 8))


def _wall(loop: Loop) -> int:
    """Return the time of the day, ns."""
    loop.c.clock(WALL, loop.time)
    return get_i64(loop.time, 0) * _SECOND + get_i64(loop.time, 8)


def _send(loop: Loop, wall: int) -> None:
    """Send the time, where it is simulated, and the state."""
    time = get_i64(loop.counts, Count.TIME)
    clock = get_i64(loop.handles, Handle.CLOCK)
    if clock != 0:
        _put_time(loop.tick_content, time)
        if loop.c.publish(clock, loop.tick, 0) != 0:
            add_acq_rel(loop.words, Word.FAILED, 1)
    write_state(loop, time if loop.drive.simulated > 0.0 else wall)
    if loop.c.publish(get_i64(loop.handles, Handle.STATES), loop.state, 0) != 0:
        add_acq_rel(loop.words, Word.FAILED, 1)


def write_state(loop: Loop, stamp: int) -> None:
    """
    Write the last reading into its message.

    :param loop: what the loop works on.
    :param stamp: ns.
    """
    _put_time(loop.readings.content, stamp)
    for k in range(len(loop.readings.position)):
        put_f64(loop.readings.content, int(loop.readings.places[0]) + 8 * k,
                loop.readings.position[k], 0)
        if loop.readings.places[1] > 0.0:
            put_f64(loop.readings.content, int(loop.readings.places[1]) + 8 * k,
                    loop.readings.velocity[k], 0)
        if loop.readings.places[2] > 0.0:
            put_f64(loop.readings.content, int(loop.readings.places[2]) + 8 * k,
                    loop.readings.effort[k], 0)


def _put_time(content: Bytes, stamp: int) -> None:
    """Write a time where messages have it."""
    seconds = int(1e-9 * float(stamp))
    rest = stamp - seconds * _SECOND
    while rest < 0:
        seconds, rest = seconds - 1, rest + _SECOND
    while rest >= _SECOND:
        seconds, rest = seconds + 1, rest - _SECOND
    put_u32(content, 4, seconds, 0)
    put_u32(content, 8, rest, 0)


def _show(loop: Loop, wall: int) -> None:
    """Let Python see how things are."""
    time = get_i64(loop.counts, Count.TIME)
    loop.seen[Look.TIME] = float(time - get_i64(loop.counts, Count.ORIGIN))
    loop.seen[Look.STAMP] = 0.0 if loop.drive.simulated > 0.0 else float(wall - time)
    loop.seen[Look.ROBOT_TIME], loop.seen[Look.RELEASED] = loop.drive.time, loop.drive.released
    loop.seen[Look.LAST_COMMAND] = loop.drive.last_command
    loop.seen[Look.FAILED] = loop.drive.failed
    for k in range(Look.PERIODS, Look.MISSED + 1):
        loop.seen[k] = float(get_i64(loop.counts, Count.PERIODS + 8 * (k - Look.PERIODS)))
    for k in range(len(loop.body.q)):
        loop.seen[Look.MISSED + 1 + k] = loop.body.q[k]
    publish(loop.latest, loop.rows, loop.seen)
