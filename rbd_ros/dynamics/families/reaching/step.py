# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One step of inverse kinematics as a kernel: errors, Jacobian, damping, limits, and judgement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.algorithms.handles.damped_steps import (
    bounded_step, rotation_error, rotation_slope, shortened)
from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.loops.closure import CLOSED
from rbd_ros.compiler import (
    absolute, less, less_equal, Matrix, maximum, minimum, Scalar, sqrt, Values, where)
from rbd_ros.dynamics.quantity import OnLoops, Quantity
from rbd_ros.dynamics.state import State
from rbd_ros.model import positions
from rbd_ros.model.model import Model
from rbd_ros.model.parts import Frame
from rbd_ros.spatial import Mat3

#: Share of the way to a limit that a step takes at most: a joint right at it gets stuck there.
ROOM = 0.5
#: A step longer than this is shortened to it, rad; or m, where the target is not further away.
LONGEST = 1.0
#: A search that has gained less than this share in PATIENCE steps has stalled.
GAIN, PATIENCE = 0.02, 20
#: Squared errors above this damp no more: a base that floats goes a long way in one step.
FAR = 10.0
#: What multiplies the damping: falls after a step that helped, rises after one that did not.
BOOST_LEAST, BOOST_LIMIT = 1e-3, 1e9
#: What a search begins with: boost, error of reference, and steps since then.
FRESH = (1.0, 1e300, 0.0)
#: Values of the status.
GOING, REACHED, STALLED = 0.0, 1.0, 2.0
#: Numbers of a target: a point, or a rotation matrix and a point.
POINT, POSE = 3, 12


class Aim(NamedTuple):
    """
    A frame, and whether its orientation counts.

    :param oriented: else only its origin has a target.
    """

    frame: Frame
    oriented: bool


class _Errors(NamedTuple):
    """
    How far from their targets frames are.

    :param e: all errors, linear ones of a frame before its angular ones; loops at the end.
    :param sizes: squares of the largest distance and angle, and the largest error of a loop.
    """

    e: list[Scalar]
    cost: Scalar
    sizes: tuple[Scalar, Scalar, Scalar]
    angular: dict[int, list[Scalar]]
    turned: dict[int, Matrix]


def step_quantity(model: Model, aims: Sequence[Aim]) -> Quantity:
    """
    Return the declaration of one step towards targets.

    Its inputs are the position, how the search stands (see ``FRESH``), the targets one after the
    other (see ``POINT``), and the tolerances in m and rad. Its outputs are the first two after
    the step; a report of status, squared error, linear, angular and loop error, and whether the
    step was taken; and the four errors before it, with whether that was near enough.
    """
    size = sum(POSE if aim.oriented else POINT for aim in aims)
    own = {'search': (3,), 'target': (size,), 'tolerance': (2,)}
    rules = {'rule': lambda s: _stepped(s, aims)}
    return Quantity(
        'inverse_kinematics_step', ('q', *own), inertial=False, shapes=own, rules=rules,
        loops=OnLoops(rules), key=('inverse_kinematics_step', tuple(aims)), bound=True)


def _stepped(s: State, aims: Sequence[Aim]) -> Mapping[str, Sequence[Any]]:
    """Return where a step leads, if it leads nearer."""
    q, (boost, reference, count) = list(s.inputs['q']), s.inputs['search']
    now = _errors(s, q, aims)
    J = _slopes(s, now, aims)
    low, high, longest = _room(s.model, q, now)
    damping = boost * (0.1 * minimum(now.cost, FAR) + 1e-12)
    d = shortened(bounded_step(J, now.e, damping, low, high), longest)
    trial = positions.integrate(s.model, q, d)
    then = _errors(s, trial, aims)
    arrived = _reached(s, now)
    taken = less(then.cost, now.cost) * (1.0 - arrived) * _inside(s.model, trial)

    def chosen(a: Scalar, b: Scalar) -> Scalar:
        return where(taken, a, b)
    cost = chosen(then.cost, now.cost)
    boost = chosen(maximum(0.1 * boost, BOOST_LEAST), 10.0 * boost)
    done = chosen(_reached(s, then), arrived)
    due = less(PATIENCE - 0.5, count + 1.0)
    stalled = due * less((1.0 - GAIN)**2 * reference, cost)
    lost = maximum(stalled, less(BOOST_LIMIT, boost))
    linear, angular, gap = (chosen(b, a) for a, b in zip(now.sizes, then.sizes, strict=True))
    first = now.sizes
    return {
        'next_q': [chosen(b, a) for a, b in zip(q, trial, strict=True)],
        'next_search': [boost, where(due, cost, reference), where(due, 0.0, count + 1.0)],
        'report': [where(done, REACHED, STALLED * lost), cost, sqrt(linear), sqrt(angular), gap,
                   taken],
        'before': [now.cost, sqrt(first[0]), sqrt(first[1]), first[2], arrived]}


def _errors(s: State, q: Values, aims: Sequence[Aim]) -> _Errors:
    e: list[Scalar] = []
    linear: Scalar = 0.0
    angular: Scalar = 0.0
    gap: Scalar = 0.0
    at, turns, turned = 0, {}, {}
    target = s.inputs['target']
    for k, aim in enumerate(aims):
        T = s.compute('pose', aim.frame.name, q=q)
        R = [row[:3] for row in T[:3]]
        if aim.oriented:
            wanted = [target[at + i:at + i + 3] for i in (0, 3, 6)]
            at += 9
            # E of the target, seen from the frame, is wanted^T R
            E = [[dense.dot([row[i] for row in wanted], [row[j] for row in R]) for j in range(3)]
                 for i in range(3)]
            turns[k] = rotation_error(Mat3(tuple(tuple(row) for row in E)))
        part = [target[at + i] - T[i][3] for i in range(3)]
        at += 3
        linear = maximum(linear, dense.dot(part, part))
        e += part
        turned[k] = R
        if k in turns:
            angular = maximum(angular, dense.dot(turns[k], turns[k]))
            e += turns[k]
    if s.model.loops:
        delta = s.compute('loop_error', q=q)
        for x in delta:
            gap = maximum(gap, absolute(x))
        e += [-x for x in delta]
    return _Errors(e, dense.dot(e, e), (linear, angular, gap), turns, turned)


def _slopes(s: State, now: _Errors, aims: Sequence[Aim]) -> Matrix:
    """Return what the errors fall by, by the joint velocities."""
    rows: Matrix = []
    n = s.model.nv
    for k, aim in enumerate(aims):
        J = s.compute('jacobian', aim.frame.name)
        rows += dense.times(now.turned[k], J[3:], n)
        if aim.oriented:
            rows += dense.times(rotation_slope(now.angular[k]), J[:3], n)
    if s.model.loops:
        rows += s.compute('loop_jacobian')
    return rows


def _room(
    model: Model, q: Values, now: _Errors,
) -> tuple[list[Scalar | None], list[Scalar | None], list[Scalar]]:
    """Return how far each velocity variable may step down and up, and at most."""
    low: list[Scalar | None] = [None] * model.nv
    high: list[Scalar | None] = [None] * model.nv
    longest: list[Scalar] = [LONGEST] * model.nv
    far = maximum(LONGEST, sqrt(now.sizes[0]))
    for name in model.independent_joint_names:
        joint = model.joint[model.joint_index(name)]
        at_q, at_v = model.position_slice(name), model.velocity_slice(name)
        columns = joint.subspace(joint.neutral())
        for i, k in enumerate(range(at_v.start, at_v.stop)):
            if not any(float(x) for x in columns[i].ang):
                longest[k] = far                                        # it moves without turning
            if joint.additive:
                j = at_q.start + i
                if model.lower[j] > -np.inf:
                    low[k] = ROOM * (model.lower[j] - q[j])
                if model.upper[j] < np.inf:
                    high[k] = ROOM * (model.upper[j] - q[j])
    return low, high, longest


def _inside(model: Model, q: Values) -> Scalar:
    """Return 1 where joints whose limits do not bound a step are inside of them, else 0."""
    inside: Scalar = 1.0
    for name in model.independent_joint_names:
        at = model.position_slice(name)
        if not model.joint[model.joint_index(name)].additive:
            for j in range(at.start, at.stop):
                if model.lower[j] > -np.inf:
                    inside = inside * less_equal(model.lower[j], q[j])
                if model.upper[j] < np.inf:
                    inside = inside * less_equal(q[j], model.upper[j])
    return inside


def _reached(s: State, errors: _Errors) -> Scalar:
    """Return 1 where every error is within its tolerance, else 0."""
    (linear, angular, gap), (metres, radians) = errors.sizes, s.inputs['tolerance']
    reached = less_equal(linear, metres * metres) * less_equal(angular, radians * radians)
    return reached * less_equal(gap, CLOSED) if s.model.loops else reached
