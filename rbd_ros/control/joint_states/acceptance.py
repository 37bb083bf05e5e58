# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What a message that is accepted changes: velocities, what is plausible next, who sends what.

Missing velocities are differences of positions, behind a filter.

A sensor that never repeated itself, bit for bit, and does, is not alive: noise is what shows that
it is. While a robot stands at its start, each joint is watched for it: positions that go up and
down, never the same twice. Such a sensor cannot repeat itself for long. One that has shown no
noise, or the steps of a coarse encoder, may: it repeats itself whenever its joint stands.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Event, Joints, NEVER, NOBODY, Result, Structure, tell
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.motion import change, JointMotion
from rbd_ros.control.joint_states.sources import AgeLimits, bounded, is_stamped, Sources, span
from rbd_ros.control.joint_states.words import mask
from rbd_ros.control.numerics.places import place_of

__all__ = ['accept', 'count_repeats', 'find_velocities', 'Repeats', 'repeats_nothing',
           'restart_repeats', 'store', 'stuck', 'tell_accepted']

#: rad or m; smaller changes are rounding errors of a simulation, not noise
_LEAST = 1e-9

#: turns of the position after which a sensor counts as noisy
_TURNS = 50.0

#: messages in a row that may repeat a position, however low the rate is
_MESSAGES = 5.0

#: how much longer a whole message may be repeated: a driver that reads slowly, or waits for its
#: bus, publishes old positions of all joints, and no single sensor is to blame
_WHOLE = 5.0


class Repeats(Record):
    """Repeated positions of the controlled joints."""

    learning: float = field('', '', '1 while the robot stands and its sensors are watched', 1.0)
    last: Vector = field('n', 'rad or m', 'last change of the position')
    time: Vector = field('n', 's', 'since the first repetition')
    turns: Vector = field('n', '', 'turns of the position')
    times: Vector = field('n', '', 'repetitions in a row')
    alone: Vector = field('n', '', 'those in which other joints moved')
    coarse: Vector = field('n', '', '1 if the sensor has shown the steps of an encoder')


def restart_repeats(x: Repeats, joints: Joints) -> None:
    """
    Forget every message and what it showed of the sensors.

    :param joints: none of which repeats itself from now on.
    """
    x.reset()
    joints.repeated[:] = joints.unusual[:] = 0.0


def count_repeats(x: Repeats, joints: Joints, moved: Vector, step: Vector,
                  elapsed: Vector) -> None:
    """
    Take a message.

    :param joints: get which of them repeat themselves, and of which that is unusual.
    :param moved: above 0 for controlled joints that are compared with the message before.
    :param step: changes of their positions.
    :param elapsed: s since that message.
    """
    stands = 1
    for c in range(len(moved)):
        if moved[c] > 0.0 and step[c] != 0.0:
            stands = 0  # else the message as a whole may be repeated
    for c in range(len(moved)):
        if moved[c] > 0.0:
            joints.repeated[c] = 1.0 if step[c] == 0.0 else 0.0
            if x.learning > 0.0:
                _learn(x, joints, c, step[c], stands)
            elif joints.unusual[c] > 0.0:
                _count(x, joints, c, step[c], elapsed[c], stands)


def _count(x: Repeats, joints: Joints, c: int, step: float, elapsed: float, stands: int) -> None:
    if step == 0.0:
        x.time[c] = bounded(x.time[c] + elapsed)
        x.times[c] += 1.0
        x.alone[c] += 1.0 - stands
        return
    if x.alone[c] > 1.0:  # it can repeat itself: that proves nothing any more
        joints.unusual[c] = 0.0
    x.time[c], x.times[c], x.alone[c] = 0.0, 0.0, 0.0


def _learn(x: Repeats, joints: Joints, c: int, step: float, stands: int) -> None:
    last = x.last[c]
    x.last[c] = step
    if stands > 0:
        return
    if step == 0.0 or step == -last:  # the same value as before, or as the time before that
        x.coarse[c] = 1.0
    elif step * last < 0.0 and abs(step) > _LEAST:
        x.turns[c] += 1.0
    joints.unusual[c] = 1.0 if x.turns[c] >= _TURNS and x.coarse[c] == 0.0 else 0.0


def repeats_nothing(x: Repeats) -> bool:
    """Return whether no sensor repeats itself that never did."""
    for c in range(len(x.times)):
        if x.times[c] > 0.0:
            return False
    return True


def stuck(x: Repeats, patience: float) -> int:
    """
    Return the first joint whose sensor repeats itself for too long; NOBODY: none.

    :param patience: s for which it may while others do not; five times as long together.
    """
    for c in range(len(x.times)):
        most = patience if x.alone[c] > 1.0 else _WHOLE * patience
        if x.times[c] >= _MESSAGES and not x.time[c] < most * (1.0 - 1e-9):
            return c
    return NOBODY


#: changes between two sources of one joint after which there are two, not a new kind of message
_SWAPS = 10.0


def accept(sources: Sources, x: JointMotion, joints: Joints, u: Event, structure: Structure,
           k: int) -> None:
    """
    Accept a message as the one that the next is compared with.

    :param sources: kinds of messages.
    :param x: messages before, with the velocities of this one.
    :param joints: get what is plausible next.
    :param u: the message, which is plausible.
    :param k: kind of the message.
    """
    last = NEVER
    for c in range(len(x.moved)):
        if x.moved[c] > 0.0:
            j = place_of(structure, c)
            joints.speed[c] = sources.last_qd[k, j]
            if not u.rank[j] < last:  # of several sources that of the last joint counts
                last, joints.elapsed = u.rank[j], x.elapsed[c]
            x.pace[c] = bounded(x.step[c] / x.elapsed[c]) if x.elapsed[c] > 0.0 else 0.0
    x.paced = k
    for j in range(len(u.present)):
        if u.present[j] > 0.0:
            sources.last_q[k, j], sources.last_qd[k, j] = u.q[j], x.qd[j]
    sources.moved[k] = 1.0
    sources.moved_s[k], sources.moved_ns[k] = _moment_s(u), u.stamp_ns
    if sources.driven > 0.0 and x.carrier != k:
        _swap(x, u, structure, k)


def _moment_s(u: Event) -> float:
    """Return the seconds of a message by its stamp, else by reception."""
    return u.stamp_s if is_stamped(u.stamp_s, u.stamp_ns) else u.now


def find_velocities(sources: Sources, x: JointMotion, u: Event, structure: Structure,
                    p: AgeLimits, k: int) -> bool:
    """
    Take the velocities, or difference the positions where they are missing.

    :param x: messages before; gets the velocities.
    :param u: the message, which is plausible.
    :param k: kind of the message.
    :returns: whether any was missing.
    """
    dt = span(_moment_s(u), u.stamp_ns, sources.moved_s[k], sources.moved_ns[k])
    share = dt / (dt + max(0.0, p.velocity_filter)) if dt > 0.0 else 0.0
    silent = False
    for j in range(len(u.present)):
        x.marked[j] = 0.0
        if u.present[j] > 0.0:
            if u.velocities > 0.0 and math.isfinite(u.qd[j]):
                x.qd[j] = u.qd[j]
                continue
            silent = True
            x.marked[j] = 1.0
            speed = 0.0  # the first position has no difference
            if sources.moved[k] > 0.0:
                speed = sources.last_qd[k, j]
                if dt > 0.0:
                    step = change(structure, j, sources.last_q[k, j], u.q[j])
                    speed += share * (step / dt - speed)
            x.qd[j] = bounded(speed)
    return silent


def _swap(x: JointMotion, u: Event, structure: Structure, k: int) -> None:
    """Record that some controlled joints now come in other messages."""
    x.carrier = k
    for c in range(len(x.source)):
        if u.present[place_of(structure, c)] > 0.0 and x.source[c] != k:
            x.swaps += 1.0 if x.source[c] >= 0.0 else 0.0
            x.source[c] = k


def tell_accepted(sources: Sources, x: JointMotion, y: Result) -> None:
    """
    Name joints without velocities, and joints that have two sources; each once.

    :param sources: kinds of messages.
    :param x: messages before, with the present one.
    :param y: result, for words.
    """
    new = 0
    for j in range(len(x.marked)):
        if sources.told_velocity[j] > 0.0:
            x.marked[j] = 0.0
        if x.marked[j] > 0.0:
            sources.told_velocity[j], new = 1.0, 1
    if new > 0:
        tell(y, ArrivalWord.NO_VELOCITY, NOBODY, mask(x.marked, 0), mask(x.marked, 1),
             mask(x.marked, 2))
    if x.swaps >= _SWAPS and sources.told_doubled == 0.0:
        sources.told_doubled = 1.0
        tell(y, ArrivalWord.DOUBLED, NOBODY, x.carrier, 0.0, 0.0)


def store(sources: Sources, x: JointMotion, joints: Joints, u: Event, structure: Structure,
          ) -> None:
    """
    Make a message that is fresh the present state of its joints.

    :param sources: kinds of messages.
    :param x: messages before, with the velocities of this one.
    :param joints: get the state.
    """
    for j in range(len(u.present)):
        if u.present[j] > 0.0:
            joints.q[j], joints.qd[j] = u.q[j], x.qd[j]
            if u.efforts > 0.0:
                joints.effort[j] = u.effort[j] if math.isfinite(u.effort[j]) else 0.0
    if sources.driven > 0.0:
        joints.effort_known = 1.0 if _knows_efforts(u, structure) else 0.0


def _knows_efforts(u: Event, structure: Structure) -> bool:
    """Return whether a message has a finite effort of every controlled joint."""
    total = 0.0  # infinite if it overflows: no torque is that large
    for c in range(len(structure.index)):
        j = place_of(structure, c)
        if not (u.efforts > 0.0 and u.present[j] > 0.0):
            return False
        total += u.effort[j]
    return math.isfinite(total)
