# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The forces of contacts with Coulomb friction, as a procedure; see ``friction``.

Which contact is open, sticks or slides where to is guessed, the linear equations of the guess are
solved, and the guess is corrected. With the forces of the last step to begin with, the first guess
is nearly always right. Where guesses do not lead to the end, sweeps over the contacts make better
ones.

Many contacts of few bodies depend on each other: M = W A^T has the rank of the joints. Then M is
not formed, and the equations of a guess are solved for the motion of the joints (Woodbury): for a
stack of boxes, with 16 contacts between two of them, that is some hundred times shorter.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler.procedure import Matrix, Vector

#: Rows of guesses: how many, and the part of the diagonal of M that is added to it while they are
#: solved. It keeps the forces of contacts that depend on each other near the last ones; guesses
#: that go in circles with little of it end with more. The conditions that the forces must meet in
#: the end are those of M itself.
FEW, LITTLE = 6, 1e-6
MANY, MUCH = 12, 1e-2
#: Sweeps between two times all rows.
SWEEPS = 5
#: Forces this much larger than what stops the motion of any one contact are no solution but of
#: opposite contacts that cannot open; over the damping, which such forces grow against.
LARGE = 0.3
#: In place of a zero that is divided by.
TINY = 1e-300
#: Eigenvalues below this share of the largest one of a contact count as zero, in as many turns
#: of the three planes.
FLAT, TURNS = 1e-12, 8

#: Rows of ``w``. Forces per motion of each contact, by which the two are compared; the best forces
#: yet; forces less the motion that they leave; contacts that are not open; what a guess misses.
STEP, BEST, TRIAL, CLOSED, MISSED = 0, 1, 2, 3, 4
#: Motions of the contacts; what their own equations make of what a guess misses.
MOTION, LOCAL = 14, 15
#: Three rows each: pseudo-inverses of the contacts' own blocks of M; a block, and its axes.
INVERSE, BLOCK, AXES = 5, 8, 11
ROWS = 16


class Cones(NamedTuple):
    """
    A problem of contacts; there may be fewer than there is room for.

    Three rows belong to each contact: two tangential ones, and the normal one.

    :param M: how the contacts answer to forces; symmetric. Only the blocks of each contact where
        the problem ``is_long``.
    :param d: their motion without forces.
    :param mu: their coefficients of friction.
    :param force: those to begin with, and those that were found.
    :param K: room for a matrix like M.
    :param w: room for vectors, ``ROWS`` of them.
    :param A: motions of the contacts by those of the joints; no columns where only M is known.
    :param W: motions of the joints by forces of the contacts, so that M = W A^T.
    :param span: first joint that matters to the three rows of each contact, and the one behind the
        last.
    :param N: room for a matrix like W.
    :param y: room for motions of the joints.
    :param swept: number of sweeps that were needed, of all solutions together.
    """

    M: Matrix
    d: Vector
    mu: Vector
    force: Vector
    K: Matrix
    w: Matrix
    A: Matrix
    W: Matrix
    span: Matrix
    N: Matrix
    y: Vector
    swept: Vector


def cones(contacts: int, freedoms: int = 0) -> Cones:
    """
    Return room for so many contacts.

    :param freedoms: of the joints, where A and W will be given.
    """
    n = 3 * contacts
    A, W, N = (np.zeros((n, freedoms)) for _ in range(3))
    return Cones(np.zeros((n, n)), np.zeros(n), np.zeros(contacts), np.zeros(n), np.zeros((n, n)),
                 np.zeros((ROWS, n)), A, W, np.zeros((2, n)), N, np.zeros(freedoms), np.zeros(1))


def is_long(p: Cones, count: int) -> bool:
    """Return whether contacts are so many that W and A are shorter than M."""
    return len(p.y) > 0 and 3 * count > 2 * len(p.y)


def settle(p: Cones, count: int, tolerance: float, sweeps: int) -> float:
    """
    Bring forces to where they meet the conditions, and return by how much the motions miss them.

    :param count: how many contacts there are.
    :param tolerance: residual at which to stop.
    :param sweeps: most of them.
    """
    size, mean = TINY, 0.0
    for k in range(3 * count):
        size = max(size, abs(p.d[k]))
        mean += p.M[k, k] / (3 * count)
    mean = max(mean, TINY)
    for i in range(count):
        k = 3 * i
        p.w[STEP, i] = 1.0 / max(p.M[k, k] + p.M[k + 1, k + 1] + p.M[k + 2, k + 2], TINY)
    residual = by_guesses(p, count, tolerance, size, mean)
    done = 0
    while not residual <= tolerance and done < sweeps:
        if done == 0:
            invert_blocks(p, count)
        for _ in range(min(SWEEPS, sweeps - done)):
            sweep(p, count)
            p.swept[0] += 1.0
        residual = by_guesses(p, count, tolerance, size, mean)
        done += SWEEPS
    return residual


def by_guesses(p: Cones, count: int, tolerance: float, size: float, mean: float) -> float:
    """Replace forces by the best that guesses of open, stick and slide lead to."""
    least = residual_of(p, count, size)
    for k in range(3 * count):
        p.w[BEST, k] = p.force[k]
    least = guess(p, FEW, LITTLE, least, count, tolerance, size, mean)
    least = guess(p, MANY, MUCH, least, count, tolerance, size, mean)
    for k in range(3 * count):
        p.force[k] = p.w[BEST, k]
    return least


def guess(
    p: Cones, guesses: int, damping: float, least: float, count: int, tolerance: float,
    size: float, mean: float,
) -> float:
    """Go on from the best forces by a row of guesses, and return the least residual."""
    if least <= tolerance:
        return least
    most = 0.0
    for i in range(count):
        most = max(most, size * p.w[STEP, i] * LARGE / damping)
    for k in range(3 * count):
        p.force[k] = p.w[BEST, k]
    try_forces(p, count)
    for _ in range(guesses):
        if not solve_guess(p, count, damping * mean):
            break
        largest = 0.0
        for k in range(3 * count):
            largest = max(largest, abs(p.force[k]))
        if largest > most:
            break
        residual = residual_of(p, count, size)
        if residual < least:
            least = residual
            for k in range(3 * count):
                p.w[BEST, k] = p.force[k]
        if least <= tolerance:
            break
    return least


def move(p: Cones, count: int) -> None:
    """Set the motions of all contacts under all forces."""
    if is_long(p, count):
        push_joints(p, count)
        for k in range(3 * count):
            p.w[MOTION, k] = p.d[k] + moved(p, k)
        return
    for k in range(3 * count):
        p.w[MOTION, k] = p.d[k]
    for j in range(3 * count):
        f = p.force[j]
        if f != 0.0:
            for k in range(3 * count):
                p.w[MOTION, k] += p.M[j, k] * f


def push_joints(p: Cones, count: int) -> None:
    """Set y = A^T f."""
    for i in range(len(p.y)):
        p.y[i] = 0.0
    for k in range(3 * count):
        f = p.force[k]
        if f != 0.0:
            for i in range(int(p.span[0, k]), int(p.span[1, k])):
                p.y[i] += p.A[k, i] * f


def moved(p: Cones, k: int) -> float:
    """Return a row of W y."""
    total = 0.0
    for i in range(int(p.span[0, k]), int(p.span[1, k])):
        total += p.W[k, i] * p.y[i]
    return total


def try_forces(p: Cones, count: int) -> None:
    """Set f - step u of each contact, u its motion under all forces."""
    move(p, count)
    for i in range(count):
        for k in range(3 * i, 3 * i + 3):
            p.w[TRIAL, k] = p.force[k] - p.w[STEP, i] * p.w[MOTION, k]


def residual_of(p: Cones, count: int, size: float) -> float:
    """Return the distance of forces to where f = P(f - step u), P the way into the cone."""
    try_forces(p, count)
    largest = 0.0
    for i in range(count):
        k = 3 * i
        x, y = p.w[TRIAL, k], p.w[TRIAL, k + 1]
        share = min(1.0, p.mu[i] * p.force[k + 2] / max(math.sqrt(x * x + y * y), TINY))
        off = max(abs(p.force[k] - share * x), abs(p.force[k + 1] - share * y))
        off = max(off, abs(p.force[k + 2] - max(p.w[TRIAL, k + 2], 0.0)))
        largest = max(largest, off / p.w[STEP, i])
    return largest / size


def solve_guess(p: Cones, count: int, damping: float) -> bool:
    """
    Replace forces by those of the guess that follows from them, by one step of Newton.

    A contact that sticks does not move; one that slides has its force on the cone, and turns
    it with the direction of sliding. Where contacts depend on each other, as under a block
    on four corners, the forces nearest to the given ones are taken.

    :param damping: of the change of the forces.
    :returns: whether the equations could be solved.
    """
    m = 0
    for i in range(count):
        if p.w[TRIAL, 3 * i + 2] > 0.0:
            p.w[CLOSED, m] = i
            m += 1
        else:
            for k in range(3 * i, 3 * i + 3):
                p.force[k] = 0.0
    move(p, count)
    if is_long(p, count):
        return solve_long(p, m, damping)
    for a in range(m):
        k = 3 * int(p.w[CLOSED, a])
        for r in range(3):
            p.w[MISSED, 3 * a + r] = p.w[MOTION, k + r]
            for b in range(m):
                j = 3 * int(p.w[CLOSED, b])
                p.K[3 * a + r, 3 * b] = p.M[k + r, j]
                p.K[3 * a + r, 3 * b + 1] = p.M[k + r, j + 1]
                p.K[3 * a + r, 3 * b + 2] = p.M[k + r, j + 2]
        let_slide(p, a, m)
        for k in range(3 * a, 3 * a + 3):
            p.K[k, k] += damping
    if not eliminate(p, 3 * m):
        return False
    for a in range(m):
        for r in range(3):
            p.force[3 * int(p.w[CLOSED, a]) + r] -= p.w[MISSED, 3 * a + r]
    return True


def let_slide(p: Cones, a: int, m: int) -> None:
    """Make the tangential equations of a contact those of sliding, if it slides."""
    i = int(p.w[CLOSED, a])
    k, row = 3 * i, 3 * a
    size = math.sqrt(p.w[TRIAL, k] * p.w[TRIAL, k] + p.w[TRIAL, k + 1] * p.w[TRIAL, k + 1])
    if size <= p.mu[i] * p.w[TRIAL, k + 2]:
        return
    stiff, limit = 1.0 / p.w[STEP, i], p.mu[i] * max(0.0, p.force[k + 2])
    x, y, turn = p.w[TRIAL, k] / size, p.w[TRIAL, k + 1] / size, min(1.0, limit / size)
    for c in range(3 * m):
        across = turn * (y * p.K[row, c] - x * p.K[row + 1, c])
        p.K[row, c] = y * across
        p.K[row + 1, c] = -x * across
    p.K[row, row] += stiff * (1.0 - turn * y * y)
    p.K[row, row + 1] += stiff * turn * x * y
    p.K[row + 1, row] += stiff * turn * x * y
    p.K[row + 1, row + 1] += stiff * (1.0 - turn * x * x)
    p.K[row, row + 2] -= stiff * p.mu[i] * x
    p.K[row + 1, row + 2] -= stiff * p.mu[i] * y
    p.w[MISSED, row] = stiff * (p.force[k] - limit * x)
    p.w[MISSED, row + 1] = stiff * (p.force[k + 1] - limit * y)


def solve_long(p: Cones, m: int, damping: float) -> bool:
    """
    Solve the equations of a guess for the motion of the joints.

    They are R W y + D x = missed with y = A^T x, where R and D have a block for each contact:
    (1 + A^T D^-1 R W) y = A^T D^-1 missed, and then x.

    :param m: how many contacts are not open.
    """
    n = len(p.y)
    for i in range(n):
        p.w[MISSED, i] = 0.0
        for j in range(n):
            p.K[i, j] = 1.0 if i == j else 0.0
    for a in range(m):
        let_slide_alone(p, a, damping)
        for r in range(3):
            k = 3 * int(p.w[CLOSED, a]) + r
            first, last = int(p.span[0, k]), int(p.span[1, k])
            for i in range(first, last):
                push = p.A[k, i]
                if push != 0.0:
                    p.w[MISSED, i] += push * p.w[LOCAL, 3 * a + r]
                    for j in range(first, last):
                        p.K[i, j] += push * p.N[3 * a + r, j]
    if not eliminate(p, n):
        return False
    for a in range(m):
        for r in range(3):
            x, k = p.w[LOCAL, 3 * a + r], 3 * int(p.w[CLOSED, a]) + r
            for i in range(int(p.span[0, k]), int(p.span[1, k])):
                x -= p.N[3 * a + r, i] * p.w[MISSED, i]
            p.force[k] -= x
    return True


def let_slide_alone(p: Cones, a: int, damping: float) -> None:
    """Set D^-1 R W and D^-1 missed of a contact: the same equations as of ``let_slide``."""
    i = int(p.w[CLOSED, a])
    k, row = 3 * i, 3 * a
    first, last = int(p.span[0, k]), int(p.span[1, k])
    size = math.sqrt(p.w[TRIAL, k] * p.w[TRIAL, k] + p.w[TRIAL, k + 1] * p.w[TRIAL, k + 1])
    up = 1.0 / damping
    p.w[LOCAL, row + 2] = up * p.w[MOTION, k + 2]
    for j in range(first, last):
        p.N[row + 2, j] = up * p.W[k + 2, j]
    if size <= p.mu[i] * p.w[TRIAL, k + 2]:
        for r in range(2):
            p.w[LOCAL, row + r] = up * p.w[MOTION, k + r]
            for j in range(first, last):
                p.N[row + r, j] = up * p.W[k + r, j]
        return
    # D acts across the sliding and along it: turn into these directions and back.
    stiff, limit = 1.0 / p.w[STEP, i], p.mu[i] * max(0.0, p.force[k + 2])
    x, y, turn = p.w[TRIAL, k] / size, p.w[TRIAL, k + 1] / size, min(1.0, limit / size)
    across, along = 1.0 / (stiff * (1.0 - turn) + damping), 1.0 / (stiff + damping)
    ahead = x * p.force[k] + y * p.force[k + 1] - limit + p.mu[i] * p.w[LOCAL, row + 2]
    aside = y * p.force[k] - x * p.force[k + 1]
    p.w[LOCAL, row] = stiff * (along * ahead * x + across * aside * y)
    p.w[LOCAL, row + 1] = stiff * (along * ahead * y - across * aside * x)
    for j in range(first, last):
        ahead = stiff * p.mu[i] * p.N[row + 2, j]
        aside = turn * (y * p.W[k, j] - x * p.W[k + 1, j])
        p.N[row, j] = along * ahead * x + across * aside * y
        p.N[row + 1, j] = along * ahead * y - across * aside * x


def eliminate(p: Cones, n: int) -> bool:
    """Solve K x = missed in place, by Gauss's method; return whether K is regular."""
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(p.K[i, k]) > abs(p.K[pivot, k]):
                pivot = i
        if p.K[pivot, k] == 0.0:
            return False
        if pivot != k:
            for j in range(k, n):
                p.K[k, j], p.K[pivot, j] = p.K[pivot, j], p.K[k, j]
            p.w[MISSED, k], p.w[MISSED, pivot] = p.w[MISSED, pivot], p.w[MISSED, k]
        inverse = 1.0 / p.K[k, k]
        for i in range(k + 1, n):
            factor = p.K[i, k] * inverse
            if factor != 0.0:
                for j in range(k + 1, n):
                    p.K[i, j] -= factor * p.K[k, j]
                p.w[MISSED, i] -= factor * p.w[MISSED, k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            p.w[MISSED, k] -= p.K[k, j] * p.w[MISSED, j]
        p.w[MISSED, k] /= p.K[k, k]
    return True


def sweep(p: Cones, count: int) -> None:
    """Let each contact in turn answer to all others: by one exact step, or a projected one."""
    long = is_long(p, count)
    if long:
        push_joints(p, count)
    for i in range(count):
        k = 3 * i
        x, y, n = p.force[k], p.force[k + 1], p.force[k + 2]
        b_x, b_y, b_n = p.d[k], p.d[k + 1], p.d[k + 2]
        if long:
            b_x += moved(p, k) - own(p, k, k)
            b_y += moved(p, k + 1) - own(p, k + 1, k)
            b_n += moved(p, k + 2) - own(p, k + 2, k)
        else:
            for j in range(3 * count):
                if j < k or j > k + 2:
                    b_x += p.M[k, j] * p.force[j]
                    b_y += p.M[k + 1, j] * p.force[j]
                    b_n += p.M[k + 2, j] * p.force[j]
        if b_n >= 0.0 and x == 0.0 and y == 0.0 and n == 0.0:
            continue
        if p.M[k + 2, k + 2] <= 0.0:
            continue
        s_x = -(p.w[INVERSE, k] * b_x + p.w[INVERSE, k + 1] * b_y + p.w[INVERSE, k + 2] * b_n)
        s_y = -(p.w[INVERSE + 1, k] * b_x + p.w[INVERSE + 1, k + 1] * b_y
                + p.w[INVERSE + 1, k + 2] * b_n)
        s_n = -(p.w[INVERSE + 2, k] * b_x + p.w[INVERSE + 2, k + 1] * b_y
                + p.w[INVERSE + 2, k + 2] * b_n)
        if s_n < 0.0 or s_x * s_x + s_y * s_y > p.mu[i] * s_n * p.mu[i] * s_n:
            # Steps along the tangents: the trace of their block keeps a sweep from overshoot.
            soft = 1.0 / max(p.M[k, k] + p.M[k + 1, k + 1], TINY)
            s_n = max(0.0, -(b_n + p.M[k + 2, k] * x + p.M[k + 2, k + 1] * y) / p.M[k + 2, k + 2])
            s_x = x - soft * (p.M[k, k] * x + p.M[k, k + 1] * y + p.M[k, k + 2] * s_n + b_x)
            s_y = y - soft * (p.M[k + 1, k] * x + p.M[k + 1, k + 1] * y
                              + p.M[k + 1, k + 2] * s_n + b_y)
            size, limit = math.sqrt(s_x * s_x + s_y * s_y), p.mu[i] * s_n
            if size > limit:
                s_x *= limit / size
                s_y *= limit / size
        p.force[k], p.force[k + 1], p.force[k + 2] = s_x, s_y, s_n
        if long:
            for j in range(int(p.span[0, k]), int(p.span[1, k])):
                p.y[j] += (p.A[k, j] * (s_x - x) + p.A[k + 1, j] * (s_y - y)
                           + p.A[k + 2, j] * (s_n - n))


def own(p: Cones, row: int, k: int) -> float:
    """Return the motion along a row by the forces of the contact itself."""
    return (p.M[row, k] * p.force[k] + p.M[row, k + 1] * p.force[k + 1]
            + p.M[row, k + 2] * p.force[k + 2])


def invert_blocks(p: Cones, count: int) -> None:
    """Set the pseudo-inverse of each contact's own block of M, by Jacobi's method."""
    for i in range(count):
        for r in range(3):
            for c in range(3):
                p.w[BLOCK + r, c] = p.M[3 * i + r, 3 * i + c]
                p.w[AXES + r, c] = 1.0 if r == c else 0.0
        for _ in range(TURNS):
            turn_plane(p, 0, 1)
            turn_plane(p, 0, 2)
            turn_plane(p, 1, 2)
        largest = max(p.w[BLOCK, 0], max(p.w[BLOCK + 1, 1], p.w[BLOCK + 2, 2]))
        for r in range(3):
            for c in range(3):
                total = 0.0
                for k in range(3):
                    if p.w[BLOCK + k, k] > FLAT * largest:
                        total += p.w[AXES + r, k] * p.w[AXES + c, k] / p.w[BLOCK + k, k]
                p.w[INVERSE + r, 3 * i + c] = total


def turn_plane(p: Cones, i: int, j: int) -> None:
    """Make one element of a block zero by a rotation of its axes."""
    half, a = 0.5 * (p.w[BLOCK + j, j] - p.w[BLOCK + i, i]), p.w[BLOCK + i, j]
    if a == 0.0:
        return
    t = (a if half >= 0.0 else -a) / (abs(half) + math.sqrt(half * half + a * a))
    cosine = 1.0 / math.sqrt(1.0 + t * t)
    sine = t * cosine
    for k in range(3):
        x, y = p.w[BLOCK + k, i], p.w[BLOCK + k, j]
        p.w[BLOCK + k, i], p.w[BLOCK + k, j] = cosine * x - sine * y, sine * x + cosine * y
        x, y = p.w[AXES + k, i], p.w[AXES + k, j]
        p.w[AXES + k, i], p.w[AXES + k, j] = cosine * x - sine * y, sine * x + cosine * y
    for k in range(3):
        x, y = p.w[BLOCK + i, k], p.w[BLOCK + j, k]
        p.w[BLOCK + i, k], p.w[BLOCK + j, k] = cosine * x - sine * y, sine * x + cosine * y


def solve_contacts(p: Cones, setting: Vector, report: Vector) -> None:
    """
    Solve a problem of as many contacts as there are coefficients of friction.

    :param setting: tolerance and sweeps.
    :param report: the residual, over the largest motion without forces.
    """
    report[0] = settle(p, len(p.mu), setting[0], int(setting[1]))
