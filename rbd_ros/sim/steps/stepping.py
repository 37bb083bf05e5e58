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
Steps as procedures around their kernel: guesses corrected, contacts, the next state.

A step with rigid contacts is first taken without them. Impulses then bring the velocity of every
touching point to an admissible value, and the step is taken again with them.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.algorithms.contact.friction_cones import Cones
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector
from rbd_ros.sim.contact.impulses import choose, Pairs, press

#: Attempts at a step with all wrong guesses corrected at once; then as many with one at a time.
TRIES = 8

#: Residual, m/s, above which contacts count as unsolved.
UNSOLVED = 1e-4

INFINITE = float('inf')
#: Entries of ``setting``, see ``step``.
STEP, MASS_SCALE, ONE_BY_ONE, IMPULSIVE = 0, 3, 4, 5
#: Entries of ``report``: whether there is anything to look at; how often friction, or contacts,
#: were not resolved; whether contacts were not; whether the state is finite no more; for how many
#: contacts there is no room; by which velocity contacts miss their conditions.
NEWS, UNRESOLVED, MISSED, DIVERGED, FULL, RESIDUAL = 0, 1, 2, 3, 4, 5
REPORT = 6


class Stepping(NamedTuple):
    """
    A robot that takes steps.

    :param engine: computes ``next_`` and the rest of a step.
    :param setting: of the step.
    :param status: of the computed step: number of wrong guesses, and a sum that is finite if the
        state is.
    :param dents: of soft surfaces; may be empty.
    :param f_ext: forces on the bodies in the step.
    :param pushed: those of them that are not of rigid contacts.
    :param w: velocity after the step, in the axes of its start.
    :param free_held: guess for the step without rigid contacts, with ``free_sign``.
    :param report: what became of it.
    """

    engine: Kernel
    setting: Vector
    status: Vector
    time: Vector
    q: Vector
    next_q: Vector
    v: Vector
    next_v: Vector
    held: Vector
    next_held: Vector
    sign: Vector
    next_sign: Vector
    dents: Vector
    next_dents: Vector
    braked: Vector
    f_ext: Matrix
    pushed: Matrix
    w: Vector
    free_held: Vector
    free_sign: Vector
    report: Vector


def take_step(s: Stepping) -> None:
    """Take a step of a robot without rigid contacts."""
    clear(s)
    finish(s)


def clear(s: Stepping) -> None:
    """Begin a step."""
    for k in range(len(s.report)):
        s.report[k] = 0.0
    s.setting[IMPULSIVE] = 0.0


def finish(s: Stepping) -> None:
    """Compute a step, and move on if it is good."""
    if not compute(s):
        return
    if not abs(s.status[1]) < INFINITE:
        s.report[NEWS] = 1.0
        s.report[DIVERGED] = 1.0
        return
    copy(s.next_q, s.q)
    copy(s.next_v, s.v)
    copy(s.next_held, s.held)
    copy(s.next_sign, s.sign)
    copy(s.next_dents, s.dents)


def copy(source: Vector, target: Vector) -> None:
    """Copy an array."""
    for k in range(len(target)):
        target[k] = source[k]


def compute(s: Stepping) -> bool:
    """
    Compute a step, again with corrected guesses until they are right.

    :returns: whether it could be computed; not whether all guesses are right.
    """
    s.setting[ONE_BY_ONE] = 0.0
    if s.engine() != 0:
        return False
    for attempt in range(2 * TRIES):
        if s.status[0] == 0.0:
            return True
        copy(s.next_held, s.held)
        copy(s.next_sign, s.sign)
        if attempt == TRIES:
            s.setting[ONE_BY_ONE] = 1.0
        if s.engine() != 0:
            return False
    if s.status[0] != 0.0:
        s.report[NEWS] = 1.0
        s.report[UNRESOLVED] += 1.0
    return True


def take_contact_step(s: Stepping, c: Pairs, p: Cones) -> None:
    """Take a step of a robot in a rigid world, unless there is no room for its contacts."""
    clear(s)
    copy(s.q, c.q)
    copy(s.braked, c.braked)
    copy(s.time, c.time)
    if c.kernel() != 0:
        return
    for i in range(len(s.f_ext)):
        for j in range(6):
            s.f_ext[i, j] = s.pushed[i, j]
    for pair in range(len(c.forces)):
        for j in range(6):
            c.forces[pair, j] = 0.0
    count = choose(c)
    if count > len(p.mu):
        s.report[NEWS] = 1.0
        s.report[FULL] = count
        return
    if count > 0:
        if not move_freely(s, c):
            return
        residual = press(c, p, count, s.v, s.setting[STEP], s.setting[MASS_SCALE])
        s.report[RESIDUAL] = residual
        if residual > UNSOLVED:
            s.report[NEWS] = 1.0
            s.report[MISSED] = 1.0
            s.report[UNRESOLVED] += 1.0
        if not residual < INFINITE:
            s.report[DIVERGED] = 1.0
            return
        for i in range(len(s.f_ext)):
            for j in range(6):
                s.f_ext[i, j] += c.wrenches[i + 1, j]
    finish(s)


def move_freely(s: Stepping, c: Pairs) -> bool:
    """
    Set the velocity after the step without contact; return whether it could be computed.

    It is in the axes that the bodies have at the start, in which the contacts are described.
    Joints that stick with contacts and slide without would be guessed wrong each time: the step
    without has guesses of its own.
    """
    s.setting[IMPULSIVE] = 1.0
    swap(s.held, s.free_held)
    swap(s.sign, s.free_sign)
    done = compute(s)
    copy(s.next_held, s.held)
    copy(s.next_sign, s.sign)
    swap(s.held, s.free_held)
    swap(s.sign, s.free_sign)
    copy(s.w, c.free)
    return done


def swap(a: Vector, b: Vector) -> None:
    """Exchange the contents of two arrays."""
    for k in range(len(a)):
        a[k], b[k] = b[k], a[k]
