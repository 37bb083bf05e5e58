# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The impulses of rigid contacts in a step, as procedures on the results of the contact kernel.

``choose`` finds the pairs that matter; ``press`` states their problem of velocities, solves it by
:mod:`rbd_ros.algorithms.contact.friction_cones`, and gives the forces on the bodies. Three rows
belong to each pair: its two tangents and its normal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rbd_ros.algorithms.contact.friction_cones import Cones, is_long, settle
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector

#: Distance, m, below which a point is part of the contact problem of a step, besides what it
#: comes nearer in the step at its speed.
NEAR = 0.01

#: Fraction of a penetration that one step removes, and the highest speed of doing so, m/s.
RECOVERY, RECOVERY_SPEED = 0.2, 0.5

#: Approach speed, m/s, below which a contact does not bounce.
REST_SPEED = 0.02

#: Distance, m, below which a contact that approaches bounces in any case.
TOUCH = 1e-6

#: Tolerance of the contact conditions: relative to the largest velocity, or absolute in m/s,
#: whichever is looser.
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-8, 1e-10

#: Most sweeps of the solver.
SWEEPS = 50

INFINITE = float('inf')
#: Entries of ``surface``; the last is 1 if velocities are those of the end of a step, as of
#: Runge-Kutta, and 0 if they are those of its middle, as of the semi-implicit rule.
FRICTION, RESTITUTION, AT_END = 0, 1, 2


class Pairs(NamedTuple):
    """
    The pairs of a robot and what its kernel says of them.

    :param kernel: computes the following from q, brakes and time.
    :param distance: of each pair, m.
    :param T: velocities along the rows of the pairs by those of the joints.
    :param drift: velocities along the rows that no joint velocity causes.
    :param inverse: of the inertia matrix; zero where brakes hold.
    :param frame: directions of the rows in base coordinates.
    :param point: of each pair, in base coordinates.
    :param sides: the body of each pair, and the one that carries the obstacle.
    :param surface: friction, restitution, and the kind of velocities.
    :param near: numbers of the pairs that matter.
    :param free: velocities of the joints after the step without contact.
    :param last: forces of all pairs in the last step, along their rows.
    :param row: room for velocities of the joints.
    :param reach: first joint that an impulse on each joint moves, and the one behind the last.
    :param forces: point and force of each pair.
    :param mean: the same over a whole step, where impacts cut it.
    :param wrenches: on each body, the base first.
    """

    kernel: Kernel
    q: Vector
    braked: Vector
    time: Vector
    distance: Vector
    T: Matrix
    drift: Vector
    inverse: Matrix
    frame: Matrix
    point: Matrix
    sides: Matrix
    surface: Vector
    near: Vector
    free: Vector
    last: Vector
    row: Vector
    reach: Matrix
    forces: Matrix
    mean: Matrix
    wrenches: Matrix


def choose(c: Pairs, v: Vector, h: float) -> int:
    """
    Find the pairs that are near, but for those whose bodies brakes hold; return how many.

    :param v: of the joints.
    :param h: length of the step.
    """
    count = 0
    for pair in range(len(c.distance)):
        if is_near(c, pair, v, h) and is_movable(c, 3 * pair + 2):
            c.near[count] = pair
            count += 1
    return count


def is_near(c: Pairs, pair: int, v: Vector, h: float) -> bool:
    """Return whether a pair may touch within a time."""
    if c.distance[pair] < NEAR:
        return True
    return c.distance[pair] < NEAR - h * along(c, 3 * pair + 2, v)


def along(c: Pairs, row: int, v: Vector) -> float:
    """Return the velocity along a row."""
    total = c.drift[row]
    for j in range(len(v)):
        total += c.T[row, j] * v[j]
    return total


def bounces(c: Pairs, pair: int, v: Vector, left: float) -> bool:
    """Return whether a pair collides within a time at the speed that it has, and bounces."""
    rate = along(c, 3 * pair + 2, v)
    return (c.surface[RESTITUTION] > 0.0 and rate < -REST_SPEED
            and c.distance[pair] < max(TOUCH, -rate * left))


def keep_bouncing(c: Pairs, count: int, v: Vector, left: float) -> int:
    """Drop the pairs that do not bounce within a time; return how many are left."""
    kept = 0
    for i in range(count):
        if bounces(c, int(c.near[i]), v, left):
            c.near[kept] = c.near[i]
            kept += 1
    return kept


def until_impact(c: Pairs, p: Cones, count: int, v: Vector, h: float, scale: float) -> float:
    """
    Return the time until another pair collides because of those that have bounced.

    A step moves by its velocity at the end, which is taken to change evenly.

    :param count: number of pairs that bounce; their impulses are in p.
    :param v: of the joints before the step.
    :param h: longest time to look at, which ``c.free`` is after.
    :param scale: of all masses.
    """
    for j in range(len(v)):
        c.row[j] = 0.0
    for k in range(3 * count):
        row = row_of(c, k)
        for i in range(len(v)):
            push = c.T[row, i] * p.force[k] / scale
            if push != 0.0:
                for j in range(len(v)):
                    c.row[j] += push * c.inverse[i, j]
    t = h
    for pair in range(len(c.distance)):
        gap, row = c.distance[pair], 3 * pair + 2
        if gap >= TOUCH and is_near(c, pair, v, h) and not bounces(c, pair, v, h):
            bounced = along(c, row, c.row) - c.drift[row]
            first, last = along(c, row, v) + bounced, along(c, row, c.free) + bounced
            t = min(t, closing_time(gap, first, (last - first) / h, t))
    return t


def closing_time(gap: float, rate: float, change: float, longest: float) -> float:
    """Return when gap + rate t + change t^2 is zero, or the longest time."""
    if gap + rate * longest + change * longest * longest >= 0.0 and rate >= 0.0:
        return longest
    inside = rate * rate - 4.0 * change * gap
    if inside < 0.0:
        return longest
    bottom = math.sqrt(inside) - rate
    if bottom <= 0.0:
        return longest
    t = 2.0 * gap / bottom
    # slower than a bounce: it comes to rest on the surface, as at the end of any step
    return t if t < longest and rate + 2.0 * change * t < -REST_SPEED else longest


def add_mean(c: Pairs, share: float) -> None:
    """Add the forces of a part of a step to those of the whole."""
    for pair in range(len(c.forces)):
        for j in range(3):
            if c.forces[pair, 3] != 0.0 or c.forces[pair, 4] != 0.0 or c.forces[pair, 5] != 0.0:
                c.mean[pair, j] = c.forces[pair, j]
            c.mean[pair, 3 + j] += share * c.forces[pair, 3 + j]


def is_movable(c: Pairs, row: int) -> bool:
    """Return whether an impulse along a row of T moves anything."""
    for i in range(len(c.inverse)):
        if c.T[row, i] != 0.0 and c.inverse[i, i] != 0.0:
            return True
    return False


def press(
    c: Pairs, p: Cones, count: int, v: Vector, h: float, left: float, mass_scale: float,
) -> float:
    """
    Find the forces that prevent penetration in a step, or in a part of one.

    :param v: of the joints before the step.
    :param h: length of the step, or of its part.
    :param left: what is left of the step; pairs that collide in that time bounce now.
    :returns: by which velocity the pairs miss their conditions; infinite where there is no answer.
    """
    answer(c, p, count, mass_scale)
    size = demand(c, p, count, v, h, left)
    total = size
    for i in range(count):
        p.mu[i] = c.surface[FRICTION]
        for r in range(3):
            p.force[3 * i + r] = h * c.last[3 * int(c.near[i]) + r]
            total += p.M[3 * i + r, 3 * i + r]
    if not total < INFINITE:
        return INFINITE
    tolerance = max(RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE / size)
    residual = settle(p, count, tolerance, SWEEPS)
    spread(c, p, count, h)
    return size * residual


def answer(c: Pairs, p: Cones, count: int, mass_scale: float) -> None:
    """Set M = T H^-1 T^T of the pairs that matter, by its factors where they are shorter."""
    nv = len(c.inverse)
    long = is_long(p, count)
    for i in range(nv):
        c.reach[0, i], c.reach[1, i] = nv, 0
        for j in range(nv):
            if c.inverse[i, j] != 0.0:
                c.reach[0, i] = min(c.reach[0, i], j)
                c.reach[1, i] = j + 1
    for contact in range(count):
        first, last = nv, 0
        for k in range(3 * contact, 3 * contact + 3):
            row = row_of(c, k)
            for j in range(nv):
                p.A[k, j] = c.T[row, j] / mass_scale
                p.W[k, j] = 0.0
            for i in range(nv):
                if c.T[row, i] != 0.0:
                    low, high = int(c.reach[0, i]), int(c.reach[1, i])
                    first, last = min(first, low), max(last, high)
                    for j in range(low, high):
                        p.W[k, j] += c.T[row, i] * c.inverse[i, j]
        for k in range(3 * contact, 3 * contact + 3):
            p.span[0, k], p.span[1, k] = first, last
    for k in range(3 * count):
        begin = 3 * int(k / 3) if long else 0
        end = begin + 3 if long else 3 * count
        for j in range(begin, end):
            total = 0.0
            for i in range(int(p.span[0, k]), int(p.span[1, k])):
                total += p.W[k, i] * p.A[j, i]
            p.M[k, j] = total


def row_of(c: Pairs, k: int) -> int:
    """Return which row of all pairs is a row of those that matter."""
    i = int(k / 3)
    return 3 * int(c.near[i]) + k - 3 * i


def demand(c: Pairs, p: Cones, count: int, v: Vector, h: float, left: float) -> float:
    """Set the velocities without contact, less those that are wanted; return the largest one."""
    for k in range(3 * count):
        p.d[k] = along(c, row_of(c, k), c.free)
    for i in range(count):
        pair = int(c.near[i])
        if c.distance[pair] > 0.0:
            wanted = c.distance[pair] / h
        else:
            wanted = max(RECOVERY * c.distance[pair] / h, -RECOVERY_SPEED)
        if bounces(c, pair, v, left):
            # it bounces at the beginning; what else acts changes the velocity until the end
            before = along(c, 3 * pair + 2, v)
            bounce = c.surface[RESTITUTION] * before
            if c.surface[AT_END] > 0.0:
                wanted = min(wanted, bounce + before - p.d[3 * i + 2])
            else:
                wanted = bounce
        p.d[3 * i + 2] += wanted
    size = 1e-300
    for k in range(3 * count):
        if not abs(p.d[k]) <= size:             # so that a NaN is noticed
            size = abs(p.d[k])
            if not size < INFINITE:
                break
    return size


def spread(c: Pairs, p: Cones, count: int, h: float) -> None:
    """Set the forces of pairs and on bodies from the impulses along the rows."""
    for k in range(len(c.last)):
        c.last[k] = 0.0
    for i in range(len(c.wrenches)):
        for j in range(6):
            c.wrenches[i, j] = 0.0
    for i in range(count):
        pair = int(c.near[i])
        for r in range(3):
            c.last[3 * pair + r] = p.force[3 * i + r] / h
        for j in range(3):
            c.forces[pair, j] = c.point[pair, j]
            c.forces[pair, 3 + j] = 0.0
            for r in range(3):
                c.forces[pair, 3 + j] += c.last[3 * pair + r] * c.frame[3 * pair + r, j]
        press_body(c, int(c.sides[pair, 0]), pair, 1.0)
        press_body(c, int(c.sides[pair, 1]), pair, -1.0)


def press_body(c: Pairs, body: int, pair: int, sign: float) -> None:
    """Add the force of a pair, and its moment about the base origin, to those on a body."""
    x, y, z = c.forces[pair, 0], c.forces[pair, 1], c.forces[pair, 2]
    f, g, k = sign * c.forces[pair, 3], sign * c.forces[pair, 4], sign * c.forces[pair, 5]
    c.wrenches[body, 0] += y * k - z * g
    c.wrenches[body, 1] += z * f - x * k
    c.wrenches[body, 2] += x * g - y * f
    c.wrenches[body, 3] += f
    c.wrenches[body, 4] += g
    c.wrenches[body, 5] += k
