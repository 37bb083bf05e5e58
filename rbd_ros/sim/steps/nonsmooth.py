# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Friction, brakes and stops as one convex problem for the velocity at the end of a step.

Dry friction is a torque of size c against the motion. At rest it has no definite value, and a
torque computed from the sign of the velocity chatters there. An implicit formulation does not: the
velocity w at the end of the step is the one that minimises

    1/2 (w - v_free)' H (w - v_free) + h sum(d w^2 / 2 + c |w|)   with   low <= w <= high,

where v_free is the velocity without friction, brakes and stops. The minimum is unique. It is
exactly zero for a joint that sticks, couples all joints through H as the real impulses do, and
dissipates energy for any step length. A brake is the stop low = high = 0.

To find the minimum, guess which joints slide, in which direction, and which are held, and where;
solve the linear equations of this guess; then correct it. The guess of the last step is nearly
always right. Nothing here branches on values, so that it can be traced into a kernel; flags are
1.0 for true and 0.0 for false.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import (
    absolute, clamp, less, less_equal, maximum, Rows, Scalar, Values, where)

#: How a joint is held: not at all, at rest, at its lowest or at its highest velocity.
FREE, REST, LOW, HIGH = 0.0, 1.0, 2.0, 3.0


class Problem(NamedTuple):
    """
    The velocity problem of one step.

    :param H: inertia matrix; only its lower triangle is read.
    :param sparsity: expanded parent array, which gives the zeros of H.
    :param v_free: velocity at the end of the step without friction, brakes and stops.
    :param dry: h c per joint, the largest impulse of dry friction.
    :param viscous: h d per joint.
    :param low: lowest velocity allowed.
    :param high: highest velocity allowed, not below ``low``.
    """

    H: Rows
    sparsity: Sequence[int]
    v_free: Values
    dry: Values
    viscous: Values
    low: Values
    high: Values


class Guess(NamedTuple):
    """
    How each joint is held, and in which direction the free ones slide.

    :param held: ``FREE``, ``REST``, ``LOW`` or ``HIGH`` for each joint.
    :param sign: direction of sliding of each joint: -1, 0 or 1.
    """

    held: Values
    sign: Values


class Trial(NamedTuple):
    """
    The solution of a guess.

    :param w: velocity at the end of the step; exactly zero where a joint sticks.
    :param impulse: H (w - v_free): the total impulse of friction, brakes and stops.
    :param wrong: 1.0 for each joint whose guess was wrong; if all are zero, w is the minimum.
    :param guess: the corrected guess.
    """

    w: list[Scalar]
    impulse: list[Scalar]
    wrong: list[Scalar]
    guess: Guess


def first_guess(n: int) -> Guess:
    """Return the guess to begin with: all joints are free, without a direction of sliding."""
    return Guess([FREE] * n, [0.0] * n)


def attempt(problem: Problem, guess: Guess, one_by_one: Scalar = 0.0) -> Trial:
    """
    Solve the equations of a guess, and correct it where it is wrong.

    :param problem: what is to be solved.
    :param guess: which joints are held and which slide.
    :param one_by_one: 1.0 to correct only the first wrong joint: slower, but does not cycle where
        correcting all at once does.
    """
    p = problem
    free = [less(code, 0.5) for code in guess.held]
    w, change = _solve(p, guess, free)
    impulse = ltl.multiply_symmetric(p.H, p.sparsity, change)
    slope = [g + d * x for g, d, x in zip(impulse, p.viscous, w, strict=True)]
    tiny: Scalar = 1e-300
    for g, d in zip(impulse, p.dry, strict=True):
        tiny = tiny + 1e-13 * (absolute(g) + d)
    wrong, held, sign = [], [], []
    seen: Scalar = 0.0
    for i, code in enumerate(guess.held):
        verdict, new_held, new_sign = _judge(p, i, w[i], slope[i], tiny, free[i], guess.sign[i])
        act = verdict * (1.0 - one_by_one * seen)
        seen = maximum(seen, verdict)
        wrong.append(verdict)
        held.append(where(act, new_held, code))
        sign.append(where(act, new_sign, guess.sign[i]))
    return Trial(w, impulse, wrong, Guess(held, sign))


def _solve(p: Problem, guess: Guess, free: Values) -> tuple[list[Scalar], list[Scalar]]:
    """
    Return w and w - v_free for a guess.

    The unknown is w - v_free, so that it is exactly zero where nothing acts.
    """
    n = len(p.v_free)
    target, known = [], []
    for i, code in enumerate(guess.held):
        at_rest = clamp(0.0, p.low[i], p.high[i])
        at = where(less(code, 1.5), at_rest, where(less(code, 2.5), p.low[i], p.high[i]))
        target.append(at)
        known.append(where(free[i], 0.0, at - p.v_free[i]))
    pull = ltl.multiply_symmetric(p.H, p.sparsity, known)
    damped, rhs = [list(row) for row in p.H], []
    for i in range(n):
        damped[i][i] = damped[i][i] + p.viscous[i]
        force = p.viscous[i] * p.v_free[i] + p.dry[i] * guess.sign[i] + pull[i]
        rhs.append(where(free[i], -force, known[i]))
    change = ltl.solve(ltl.masked(damped, p.sparsity, free), p.sparsity, rhs)
    w = [where(free[i], p.v_free[i] + change[i], target[i]) for i in range(n)]
    return w, change


def _judge(
    p: Problem, i: int, w: Scalar, slope: Scalar, tiny: Scalar, free: Scalar, sign: Scalar,
) -> tuple[Scalar, Scalar, Scalar]:
    """Return whether the guess for joint i is wrong, and what would be better."""
    dry, low, high = p.dry[i], p.low[i], p.high[i]
    below, above = less(w, 0.0), less(0.0, w)
    up = slope + where(below, -dry, dry)            # slope of the objective towards larger w
    down = slope + where(above, dry, -dry)          # and towards smaller w
    rises = (1.0 - free) * less(w, high) * less(up, -tiny)
    falls = (1.0 - free) * less(low, w) * less(tiny, down)
    turned = free * less(0.0, dry) * less_equal(w * sign, 0.0)
    beyond = free * (1.0 - turned)
    under, over = beyond * less(w, low), beyond * less(high, w)
    verdict = rises + falls + turned + under + over     # one of them at most
    held = where(turned, REST, where(under, LOW, where(over, HIGH, FREE)))
    new_sign = where(below, -1.0, where(above, 1.0, rises - falls))
    return verdict, held, new_sign
