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

"""
What a message that is accepted changes: velocities, what is plausible next, who sends what.

Missing velocities are differences of positions, behind a filter.
"""

from __future__ import annotations

import math

from rbd_ros.control.interface.events import Event, Joints, NEVER, NOBODY, Result, Structure, tell
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.motion import change, collect_mismatch, Motion, MotionLimits
from rbd_ros.control.joint_states.repeats import count_repeats, Repeats
from rbd_ros.control.joint_states.sources import AgeLimits, bounded, is_stamped, Sources, span
from rbd_ros.control.joint_states.words import mask
from rbd_ros.control.numerics.places import place_of

__all__ = ['accept', 'store', 'tell_accepted']

#: changes between two sources of one joint after which there are two, not a new kind of message
_SWAPS = 10.0


def accept(sources: Sources, x: Motion, repeats: Repeats, joints: Joints, u: Event,
           structure: Structure, ages: AgeLimits, p: MotionLimits, k: int) -> None:
    """
    Accept a message: its velocities, or differences of positions where they are missing.

    :param sources: kinds of messages.
    :param x: messages before; gets the velocities.
    :param repeats: repetitions of positions.
    :param joints: get what is plausible next.
    :param u: the message, which is plausible.
    :param structure: which joints are which.
    :param ages: limits of ages.
    :param p: limits of motion.
    :param k: kind of the message.
    """
    silent = _find_velocities(sources, x, u, structure, ages, k)
    collect_mismatch(x, sources, joints, structure, p, k)
    if sources.driven > 0.0:
        joints.differenced = 1.0 if silent else 0.0
        count_repeats(repeats, joints, x.moved, x.step, x.elapsed)
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


def _find_velocities(sources: Sources, x: Motion, u: Event, structure: Structure, p: AgeLimits,
                     k: int) -> bool:
    """Take the velocities, or difference the positions; return whether any was missing."""
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


def _swap(x: Motion, u: Event, structure: Structure, k: int) -> None:
    """Record that some controlled joints now come in other messages."""
    x.carrier = k
    for c in range(len(x.source)):
        if u.present[place_of(structure, c)] > 0.0 and x.source[c] != k:
            x.swaps += 1.0 if x.source[c] >= 0.0 else 0.0
            x.source[c] = k


def tell_accepted(sources: Sources, x: Motion, y: Result) -> None:
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


def store(sources: Sources, x: Motion, joints: Joints, u: Event, structure: Structure) -> None:
    """
    Make a message that is fresh the present state of its joints.

    :param sources: kinds of messages.
    :param x: messages before, with the velocities of this one.
    :param joints: get the state.
    :param u: the message.
    :param structure: which joints are which.
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
