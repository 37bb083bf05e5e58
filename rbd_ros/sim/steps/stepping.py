# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Steps as procedures around their kernel: guesses corrected, contacts, the next state.

A step with rigid contacts is first taken without them. Impulses then bring the velocity of every
touching point to an admissible value, and the step is taken again with them.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.algorithms.contact.friction_cones import Cones
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector
from rbd_ros.sim.contact.impulses import (
    add_mean, choose, keep_bouncing, Pairs, press, RESTITUTION, until_impact)

#: Attempts at a step with all wrong guesses corrected at once; then as many with one at a time.
TRIES = 8

#: Residual, m/s, above which contacts count as unsolved.
UNSOLVED = 1e-4

#: Impacts that cut a step; those that follow are all solved at once.
CUTS = 20

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


def finish(s: Stepping) -> bool:
    """Compute a step, and move on if it is good; return whether it is."""
    if not compute(s):
        return False
    if not abs(s.status[1]) < INFINITE:
        s.report[NEWS] = 1.0
        s.report[DIVERGED] = 1.0
        return False
    copy(s.next_q, s.q)
    copy(s.next_v, s.v)
    copy(s.next_held, s.held)
    copy(s.next_sign, s.sign)
    copy(s.next_dents, s.dents)
    return True


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
    """
    Take a step of a robot in a rigid world, unless there is no room for its contacts.

    A contact that collides within the step bounces at its beginning. Where that makes others
    collide, the step is cut: bodies that are some way apart collide one after the other, however
    near they are.
    """
    clear(s)
    h = s.setting[STEP]
    left = h
    if c.surface[RESTITUTION] > 0.0:
        for pair in range(len(c.mean)):
            for j in range(6):
                c.mean[pair, j] = 0.0
        for _ in range(CUTS):
            part = before_impact(s, c, p, left)
            if part == left:
                break
            if part < 0.0 or not press_step(s, c, p, part, left):
                s.setting[STEP] = left          # to go on from here, with more room
                return
            add_mean(c, part / h)
            for k in range(len(s.time)):
                s.time[k] += part
            left -= part
    if press_step(s, c, p, left, left) and left < h:
        add_mean(c, left / h)
        for pair in range(len(c.mean)):
            for j in range(6):
                c.forces[pair, j] = c.mean[pair, j]


def before_impact(s: Stepping, c: Pairs, p: Cones, left: float) -> float:
    """
    Return the time until those that bounce now make others collide; negative if it failed.

    :param left: of the step; returned if there is no other impact in it.
    """
    s.setting[STEP] = left
    count = find_pairs(s, c)
    if count < 0:
        return -1.0
    bouncing = keep_bouncing(c, count, s.v, left)
    if bouncing == 0 or count > len(p.mu):
        return left
    if not move_freely(s, c):
        return -1.0
    if not press(c, p, bouncing, s.v, left, left, s.setting[MASS_SCALE]) < INFINITE:
        return left
    return until_impact(c, p, bouncing, s.v, left, s.setting[MASS_SCALE])


def find_pairs(s: Stepping, c: Pairs) -> int:
    """Find the pairs that matter; return how many there are, or -1 if that failed."""
    copy(s.q, c.q)
    copy(s.braked, c.braked)
    copy(s.time, c.time)
    if c.kernel() != 0:
        return -1
    for i in range(len(s.f_ext)):
        for j in range(6):
            s.f_ext[i, j] = s.pushed[i, j]
    return choose(c, s.v, s.setting[STEP])


def press_step(s: Stepping, c: Pairs, p: Cones, part: float, left: float) -> bool:
    """
    Take a step, or a part of one, with the impulses of contacts; return whether it is good.

    :param part: its length.
    :param left: what is left of the whole step.
    """
    s.setting[STEP] = part
    s.setting[IMPULSIVE] = 0.0
    count = find_pairs(s, c)
    for pair in range(len(c.forces)):
        for j in range(6):
            c.forces[pair, j] = 0.0
    if count < 0:
        return False
    if count > len(p.mu):
        s.report[NEWS] = 1.0
        s.report[FULL] = count
        return False
    if count > 0:
        if not move_freely(s, c):
            return False
        residual = press(c, p, count, s.v, part, left, s.setting[MASS_SCALE])
        s.report[RESIDUAL] = residual
        if residual > UNSOLVED:
            s.report[NEWS] = 1.0
            s.report[MISSED] = 1.0
            s.report[UNRESOLVED] += 1.0
        if not residual < INFINITE:
            s.report[DIVERGED] = 1.0
            return False
        if not carries(c):
            s.setting[IMPULSIVE] = 0.0          # near, but not touching: any step will do
        for i in range(len(s.f_ext)):
            for j in range(6):
                s.f_ext[i, j] += c.wrenches[i + 1, j]
    return finish(s)


def carries(c: Pairs) -> bool:
    """Return whether a contact has a force."""
    for k in range(len(c.last)):
        if c.last[k] != 0.0:
            return True
    return False


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
