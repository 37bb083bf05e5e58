# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A period of the simulation as a procedure: the same as ``Simulation`` does in Python."""

from __future__ import annotations

import math

from rbd_ros.compiler.language.octets import get_i64, put_i64
from rbd_ros.sim.native.records import Body, Count, Drive, Loop, Readings
from rbd_ros.sim.steps.stepping import DIVERGED, FULL, MISSED, NEWS, STEP, UNRESOLVED

__all__ = ['add', 'due', 'run_periods']


def add(loop: Loop, at: int, value: int) -> None:
    """
    Add to a count.

    :param loop: what the loop works on.
    :param at: which one, see ``Count``.
    :param value: what is added.
    """
    put_i64(loop.counts, at, get_i64(loop.counts, at) + value)


def due(loop: Loop, now: float) -> int:
    """
    Return how many periods to run now, see ``Pacer``.

    :param loop: what the loop works on.
    :param now: steady clock, s.
    """
    if loop.drive.based == 0.0:
        loop.drive.based, loop.drive.start = 1.0, now
        put_i64(loop.counts, Count.DONE, 0)
        return 0
    behind = int((now - loop.drive.start) / loop.drive.period + 0.5)
    behind -= get_i64(loop.counts, Count.DONE)
    if behind <= 0:
        return 0
    if behind > 1:
        add(loop, Count.LATE, 1)
    run = min(behind, int(loop.drive.catch_up))
    add(loop, Count.SKIPPED, behind - run)
    add(loop, Count.DONE, behind)
    return run


def run_periods(loop: Loop, count: int) -> bool:
    """
    Run some periods; return whether there is a new reading.

    :param loop: what the loop works on.
    :param count: how many.
    """
    for k in range(count):
        if not _run_period(loop):
            return k > 0
        if k > 0:
            add(loop, Count.SUPERSEDED, 1)
    return count > 0


def _run_period(loop: Loop) -> bool:
    """Advance by one period and take a reading; False if Python has to."""
    if loop.drive.pending > 0.0:
        _apply(loop)
    waited = get_i64(loop.counts, Count.TIME) - get_i64(loop.counts, Count.COMMANDED)
    if (loop.drive.released > 0.0 and loop.drive.brakes > 0.0 and loop.drive.timeout > 0.0
            and float(waited) > loop.drive.timeout):
        _close(loop)
    for _ in range(int(loop.drive.substeps)):
        loop.body.setting[STEP] = loop.drive.step
        loop.body.run()
        if loop.body.report[NEWS] > 0.0:
            if loop.body.report[DIVERGED] > 0.0 or loop.body.report[FULL] > 0.0:
                loop.drive.failed = 1.0
                return False
            add(loop, Count.UNRESOLVED, int(loop.body.report[UNRESOLVED]))
            add(loop, Count.MISSED, int(loop.body.report[MISSED]))
        loop.drive.time += loop.drive.step
        for k in range(len(loop.body.time)):
            loop.body.time[k] = loop.drive.time
    add(loop, Count.TIME, get_i64(loop.counts, Count.PERIOD))
    add(loop, Count.PERIODS, 1)
    elapsed = get_i64(loop.counts, Count.TIME) - get_i64(loop.counts, Count.ORIGIN)
    _read(loop.drive, loop.body, loop.readings, float(elapsed))
    return True


def _apply(loop: Loop) -> None:
    """Let the last command act."""
    loop.drive.pending = 0.0
    if loop.drive.released == 0.0:
        loop.drive.released, loop.drive.read_at = 1.0, -1.0
        for k in range(len(loop.body.braked)):
            loop.body.braked[k] = loop.inputs.uncommanded[k]
    for k in range(len(loop.body.command)):
        loop.body.command[k] = 0.0
    for j in range(len(loop.inputs.belongs)):
        loop.body.command[int(loop.inputs.belongs[j])] = loop.inputs.values[j]


def _close(loop: Loop) -> None:
    """Close the brakes: commands have ceased."""
    add(loop, Count.TIMEOUTS, 1)
    for k in range(len(loop.body.braked)):
        if loop.inputs.held[k] > 0.0:
            loop.body.braked[k] = 1.0
    loop.drive.pending, loop.drive.released, loop.drive.based = 0.0, 0.0, 0.0
    put_i64(loop.counts, Count.BEGUN, get_i64(loop.counts, Count.TIME))


# -- readings -----------------------------------------------------------------------------------

def _read(drive: Drive, body: Body, r: Readings, now: float) -> None:
    """Read all joints; ``now`` is the time since the origin, ns."""
    for k in range(len(r.position)):
        position, velocity = 0.0, 0.0
        for j in range(len(body.q)):
            position += r.from_q[k, j] * body.q[j]
        for j in range(len(body.v)):
            velocity += r.from_v[k, j] * body.v[j]
        position += r.offset[k]
        if r.resolution[k] > 0.0:
            position = _rounded(position / r.resolution[k]) * r.resolution[k]
        r.position[k] = position
        if drive.velocity == 0.0:
            r.velocity[k] = velocity
        elif drive.read_at >= 0.0 and now > drive.read_at:
            r.velocity[k] = (position - r.last[k]) / ((now - drive.read_at) * 1e-9)
        else:
            r.velocity[k] = 0.0
        r.last[k] = position
        r.effort[k] = 0.0
        own = int(r.own[k])
        if own >= 0:
            r.effort[k] = body.motor[own]
            if drive.effort == 1.0:
                r.effort[k] += body.moved[own]
    drive.read_at = now


def _rounded(x: float) -> float:
    """Return the nearest whole number, and of two the even one."""
    if not abs(x) < 1e15:
        return x
    below = math.floor(x)
    rest = x - float(below)
    if rest > 0.5 or (rest == 0.5 and below & 1 == 1):
        return float(below + 1)
    return float(below)
