# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One step of a robot with friction, brakes and stops, over plain or traced scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import (
    absolute, clamp, less, less_equal, maximum, minimum, Rows, Scalar, Values, where)
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.integrators import timed_rk4_step
from rbd_ros.sim.steps.nonsmooth import attempt, Guess, Problem, Trial
from rbd_ros.sim.steps.turning import Turning

#: Represents "no limit": finite, so that differences with it are finite too.
UNLIMITED = 1e300

#: Approach speed, rad/s or m/s, below which a joint comes to rest at its stop without a bounce.
BOUNCE_SPEED = 1e-2

#: Guesses tried within one step; if none is right, the step is taken again.
ROUNDS = 2


class Plant(NamedTuple):
    """
    The rigid-body part of a step.

    :param space: where positions live.
    :param sparsity: expanded parent array of the inertia matrix.
    :param forward: qdd(q, v, tau, f_ext, t).
    :param inertia: H(q) at the start of the step.
    :param turning: joints whose velocity variables turn with their body.
    """

    space: Coordinates
    sparsity: Sequence[int]
    forward: Callable[[Values, Values, Values, Rows, Scalar], Values]
    inertia: Callable[[Values], Rows]
    turning: Turning


class Touched(NamedTuple):
    """
    Forces of soft contacts in a step.

    :param tau: on the joints, (nv,).
    :param contact: 1 if a surface is touched, else 0.
    :param outputs: contact outputs of the step, by name.
    """

    tau: Values
    contact: Scalar
    outputs: Mapping[str, Sequence[Any]]


#: Soft contacts as a function of q, v, the length of the step, H, its sparsity, and H a of the
#: motion without them.
Touch = Callable[['Values', 'Values', 'Scalar', 'Rows', Sequence[int], 'Values'], Touched]


class _Setting(NamedTuple):
    """
    The settings of a step that are not per joint; see ``Physics`` for their meaning.

    :param h: length of the step, s.
    :param one_by_one: 1 to correct one wrong guess at a time, see ``nonsmooth.attempt``.
    :param impulsive: 1 if ``f_ext`` contains impulses of rigid contacts, else 0.
    """

    h: Scalar
    restitution: Scalar
    recovery_speed: Scalar
    mass_scale: Scalar
    one_by_one: Scalar
    impulsive: Scalar


def input_shapes(nq: int, nv: int, nb: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every input of ``advance``."""
    per_joint = ('v', 'command', 'braked', 'friction', 'damping', 'effort_limit', 'lower',
                 'upper', 'held', 'sign')
    return {'q': (nq,), **dict.fromkeys(per_joint, (nv,)), 'f_ext': (nb, 6),
            'setting': (len(_Setting._fields),)}


def advance(
    plant: Plant, integrator: str, x: Mapping[str, Sequence[Any]], touch: Touch | None = None,
) -> dict[str, Sequence[Any]]:
    """
    Return the state after one step, and the torques and forces that acted in it.

    A step without an event is taken by the integrator, with dry friction constant over the step.
    An event is a joint that starts or stops sliding, or meets a stop. A step with an event is
    taken by the semi-implicit rule, for which the implicit impulses are exact. So is a step that
    touches a soft surface, with the contact force of its end, and one with the impulses of rigid
    contacts. Its velocities are solved in the axes that the bodies have at its start; for joints
    whose axes turn, :mod:`rbd_ros.sim.steps.turning` finds the state at its end.

    :param plant: the rigid-body part.
    :param integrator: ``'rk4'`` or ``'semi_implicit'``.
    :param x: values by the names of ``input_shapes``; with ``time``, s, for joints that move with
        it.
    :param touch: function for the forces of soft contacts; None for a robot without them.
    :returns: ``q``, ``v``, ``motor`` and ``contact`` torques, the guess ``held`` and ``sign``
        for the next step, ``w``: the velocity at the end by the semi-implicit rule, in the axes
        of the start, and ``status``: the number of wrong guesses (0: the step is good) and a sum
        that is finite only if the state is.
    """
    q, v, s = x['q'], x['v'], _Setting(*x['setting'])
    t = x['time'][0] if 'time' in x else 0.0
    motor = [where(b, 0.0, clamp(c, -limit, limit))
             for b, c, limit in zip(x['braked'], x['command'], x['effort_limit'], strict=True)]
    f_ext = [[f / s.mass_scale for f in row] for row in x['f_ext']]

    def acceleration(q: Values, v: Values, tau: Values, elapsed: Scalar) -> Values:
        # Masses scaled by s move under tau as those of the model do under tau / s.
        return plant.forward(q, v, [k / s.mass_scale for k in tau], f_ext, t + elapsed)

    H = [[s.mass_scale * entry for entry in row] for row in plant.inertia(q)]
    a = acceleration(q, v, motor, 0.0)
    slow = _slow_damping(plant, integrator, H, x['damping'], s.h)
    drag = [d * k for d, k in zip(slow, v, strict=True)]
    if integrator == 'rk4':
        lost = ltl.solve(H, plant.sparsity, drag)
        a = [k - l for k, l in zip(a, lost, strict=True)]
    axes = plant.turning.apparent(v)
    ahead = plant.turning.ahead(
        q, v, [k + s.h * (l + c) for k, l, c in zip(v, a, axes, strict=True)], s.h, t)
    axes = [c + l / s.h for c, l in zip(axes, ahead, strict=True)]
    touched = Touched((), 0.0, {})
    if touch is not None:
        push = ltl.multiply_symmetric(
            H, plant.sparsity, [k + c for k, c in zip(a, axes, strict=True)])
        touched = touch(q, v, s.h, H, plant.sparsity, push)
        given = ltl.solve(H, plant.sparsity, touched.tau)
        a = [k + g for k, g in zip(a, given, strict=True)]
    v_free = [k + s.h * (l + c) for k, l, c in zip(v, a, axes, strict=True)]
    problem = _problem(plant, x, s, H, v_free, slow)
    trial = _settle(problem, Guess(x['held'], x['sign']), s.one_by_one)
    reaction = [p / s.h for p in trial.impulse]
    end_q, end_v = _moved(plant, q, v, trial, ahead, s.h, t)
    if integrator == 'rk4':
        tau = [m + r for m, r in zip(motor, reaction, strict=True)]

        def smooth(q: Values, v: Values, elapsed: Scalar) -> Values:
            force = [m - d * k for m, d, k in zip(tau, slow, v, strict=True)]
            return acceleration(q, v, force, elapsed)
        first = [(w - k) / s.h - c for w, k, c in zip(trial.w, v, axes, strict=True)]
        rk_q, rk_v = timed_rk4_step(plant.space, smooth, q, v, s.h, first)
        event = maximum(_event(problem, x['braked'], v, trial.w), _beyond(plant, x, rk_q))
        event = maximum(event, maximum(touched.contact, s.impulsive))
        end_q = [where(event, a, b) for a, b in zip(end_q, rk_q, strict=True)]
        end_v = [where(event, a, b) for a, b in zip(end_v, rk_v, strict=True)]
    stuck = [_is_zero(w) * _is_zero(k) * less(0.0, braked + friction) for w, k, braked, friction
             in zip(trial.w, v, x['braked'], x['friction'], strict=True)]
    end_q = plant.space.hold_joints(stuck, q, end_q)
    end_v = [where(flag, 0.0, k) for flag, k in zip(stuck, end_v, strict=True)]
    return {
        'q': end_q, 'v': end_v, 'motor': motor,
        'contact': [r - d for r, d in zip(reaction, drag, strict=True)],
        'held': trial.guess.held, 'sign': trial.guess.sign, 'w': trial.w,
        'status': [total(trial.wrong), total([*end_q, *end_v])],
        **touched.outputs,
    }


def _moved(
    plant: Plant, q: Values, v: Values, trial: Trial, ahead: Values, h: Scalar, t: Scalar,
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the state at the end of a semi-implicit step."""
    if plant.turning:
        return plant.turning.end(q, v, trial.w, ahead, trial.guess.held, h, t)
    return plant.space.integrate(q, [h * w for w in trial.w]), list(trial.w)


def _slow_damping(
    plant: Plant, integrator: str, H: Rows, damping: Values, h: Scalar,
) -> list[Scalar]:
    """
    Return the damping that Runge-Kutta integrates: all of it, or none if it decays too fast.

    The trace of H^-1 D bounds its largest eigenvalue, the fastest rate of decay, from above.
    """
    if integrator != 'rk4':
        return [0.0] * len(damping)
    inverse = ltl.inverse(H, plant.sparsity)
    rate: Scalar = 0.0
    for i, d in enumerate(damping):
        rate = rate + d * inverse[i][i]
    slow = less(h * rate, 0.5)
    return [where(slow, d, 0.0) for d in damping]


def _problem(
    plant: Plant, x: Mapping[str, Sequence[Any]], s: _Setting, H: Rows, v_free: Values,
    slow: Values,
) -> Problem:
    """Return the velocity problem: friction, brakes, and the stops as bounds."""
    low: list[Scalar] = [-UNLIMITED] * len(v_free)
    high: list[Scalar] = [UNLIMITED] * len(v_free)
    for i, j in plant.space.single:
        q, v = x['q'][i], x['v'][j]
        low[j] = _rebound(x['lower'][j] - q, v, v_free[j], s)
        high[j] = maximum(low[j], -_rebound(q - x['upper'][j], -v, -v_free[j], s))
    braked = x['braked']
    return Problem(
        H, plant.sparsity, v_free,
        dry=[where(b, 0.0, s.h * c) for b, c in zip(braked, x['friction'], strict=True)],
        viscous=[s.h * (d - k) for d, k in zip(x['damping'], slow, strict=True)],
        low=[where(b, 0.0, value) for b, value in zip(braked, low, strict=True)],
        high=[where(b, 0.0, value) for b, value in zip(braked, high, strict=True)])


def _rebound(gap: Scalar, v: Scalar, v_free: Scalar, s: _Setting) -> Scalar:
    """
    Return the lowest velocity allowed by a stop; positive is away from it.

    :param gap: distance back to the stop; positive for a joint beyond it.
    :param v: velocity at the start of the step.
    :param v_free: velocity at the end of the step without the stop.
    """
    landing = minimum(gap / s.h, s.recovery_speed)
    bounces = less(v, -BOUNCE_SPEED) * less(v_free, landing) * less(0.0, s.restitution)
    return where(bounces, maximum(-s.restitution * v, landing), landing)


def _settle(problem: Problem, guess: Guess, one_by_one: Scalar) -> Trial:
    trial = attempt(problem, guess, one_by_one)
    for _ in range(ROUNDS - 1):
        trial = attempt(problem, trial.guess, one_by_one)
    w = [clamp(w, low, high) for w, low, high in zip(trial.w, problem.low, problem.high,
                                                     strict=True)]
    return trial._replace(w=w)


def _event(problem: Problem, braked: Values, v: Values, w: Values) -> Scalar:
    """Return whether a joint meets a stop, or starts, stops or reverses sliding."""
    event: Scalar = 0.0
    for i, (a, b) in enumerate(zip(v, w, strict=True)):
        stopped = maximum(less_equal(b, problem.low[i]), less_equal(problem.high[i], b))
        turned = (absolute(less(a, 0.0) - less(b, 0.0)) + absolute(less(0.0, a) - less(0.0, b)))
        rubs = maximum(braked[i], less(0.0, problem.dry[i]))
        event = event + stopped * (1.0 - braked[i]) + turned * rubs
    return less(0.0, event)


def _beyond(plant: Plant, x: Mapping[str, Sequence[Any]], q: Values) -> Scalar:
    """Return whether a joint with one coordinate is beyond a stop."""
    beyond: Scalar = 0.0
    for i, j in plant.space.single:
        beyond = maximum(beyond, maximum(less(q[i], x['lower'][j]), less(x['upper'][j], q[i])))
    return beyond


def _is_zero(x: Scalar) -> Scalar:
    return less_equal(absolute(x), 0.0)


def total(values: Values) -> Scalar:
    """Return the sum of values."""
    found: Scalar = 0.0
    for value in values:
        found = found + value
    return found
