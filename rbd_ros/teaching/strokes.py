# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Strokes: parts of a motion that begin and end at rest, and how slow they must be.

A stroke is a spline of degree five through its points, so that velocity and acceleration are
continuous and zero at both ends. Between two points it is one polynomial, which the controller
makes again of position, velocity and acceleration at both. Slower is the same path with another
scale of time: velocities fall with it, accelerations with its square.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import RbdError
from rbd_ros.identification.excitation import Bounds
from rbd_ros.model.model import Model
from rbd_ros.teaching.motion import Motion, torques
from rbd_ros.teaching.turns import endless, finer

__all__ = ['extremes', 'limits_of', 'refuse_unmovable', 'SPEED', 'Stroke', 'through', 'timed']

#: Share of the velocity limits: the controller refuses points that need more, unless its
#: parameter reference.velocity allows it.
SPEED = 0.9
#: Torques are computed at so many times between two points, or this often in a second.
_SAMPLES, _RATE = 16, 50.0
#: Factor by which a stroke is slowed down until its torques fit, and how slow it may become.
_SLOWER, _SLOWEST = 1.03, 1e3
#: s that a straight way takes at least.
_BRIEFEST = 0.1


class Stroke(NamedTuple):
    """
    Points from rest to rest.

    :param t: s from the start, (count,); of a straight way 0 and 1.
    :param q: positions, (count, n).
    :param shown: whether the times are those that somebody showed.
    :param first: number of its first point in the lesson.
    """

    t: Array
    q: Array
    shown: bool
    first: int


def through(t: Array, q: Array) -> Any:
    """
    Return the curve through points, at rest at both ends.

    :param t: times, (count,).
    :param q: positions, (count, n).
    """
    from scipy.interpolate import make_interp_spline
    rest = [(1, np.zeros(q.shape[1])), (2, np.zeros(q.shape[1]))]
    return make_interp_spline(t, q, k=5, bc_type=(rest, rest))


def refuse_unmovable(model: Model, joints: Collection[str]) -> None:
    """
    Refuse joints for which no motion can be planned: some programs write zeros for limits.

    :param joints: that are to move.
    """
    for name in joints:
        part = model.velocity_slice(name)
        speed, effort = min(model.velocity_limit[part]), min(model.effort_limit[part])
        if not np.isfinite(speed):
            raise RbdError(f'joint "{name}" has no velocity limit; add <limit velocity="..."> to '
                           'the URDF')
        for what, value in (('velocity', speed), ('effort', effort)):
            if not value > 0.0:
                raise RbdError(f'joint "{name}" has the {what} limit 0, with which it cannot '
                               f'move; correct <limit {what}="..."> in the URDF')


def limits_of(model: Model, *, acceleration: float, torque: float,
              joints: Collection[str] | None = None) -> Bounds:
    """
    Return what a repeated motion may use.

    :param acceleration: rad/s^2 or m/s^2; a URDF has none.
    :param torque: share of the effort limits.
    :param joints: that move; the others stand, and are not limited. None: all.
    """
    names = model.independent_joint_names
    refuse_unmovable(model, names if joints is None else joints)
    if not (acceleration > 0.0 and 0.0 < torque <= 1.0):
        raise RbdError(f'the acceleration ({acceleration:g}) must be positive, the share of the '
                       f'torque ({torque:g}) positive and at most 1')
    moves = np.array([joints is None or name in joints for name in names], bool)
    return Bounds(np.where(moves, model.lower, -np.inf), *(
        np.where(moves, each, np.inf) for each in (
            model.upper, SPEED * np.array(model.velocity_limit), acceleration,
            torque * np.array(model.effort_limit))))


def timed(robot: Dynamics, stroke: Stroke, bounds: Bounds, speed: float) -> tuple[Motion, float]:
    """
    Return a stroke within limits, and how many times slower it is than asked for.

    :param speed: times that of the shown motion; of a straight way, times what limits allow.
    :raises RbdError: if it leaves the range of a joint, or cannot be held at any speed.
    """
    curve = through(stroke.t, stroke.q)
    found = [extremes(curve, order) for order in range(3)]
    joints = robot.model.independent_joint_names
    _refuse_positions(stroke, joints, found[0], bounds)
    most = [np.abs(each).max(axis=0) for each in found]
    least = max(float((most[1] / bounds.speed).max()),
                float(np.sqrt((most[2] / bounds.acceleration).max())))
    least = least if stroke.shown else max(least, _BRIEFEST)
    wanted = 1.0 / speed if stroke.shown else least / min(speed, 1.0)
    slow = max(wanted, least)
    while not _fits(robot, curve, stroke, slow, bounds):
        slow *= _SLOWER
        if not slow <= _SLOWEST * max(wanted, least):  # numbers that are none end it, too
            raise RbdError(f'after point {stroke.first} the robot cannot carry its own weight '
                           'within the torque limits, however slowly it moves')
    t = finer(curve, stroke.t, endless(robot.model))
    return _scaled(curve, t, slow, joints), slow / wanted


def _scaled(curve: Any, t: Array, slow: float, joints: tuple[str, ...]) -> Motion:
    """Return the points of a curve in a slower time."""
    return Motion(joints, slow * (t - t[0]), curve(t), curve(t, 1) / slow, curve(t, 2) / slow**2)


def _fits(robot: Dynamics, curve: Any, stroke: Stroke, slow: float, bounds: Bounds) -> bool:
    t = np.unique(np.concatenate([np.linspace(a, b, max(_SAMPLES, round(
        _RATE * slow * (b - a)))) for a, b in zip(stroke.t, stroke.t[1:], strict=False)]))
    motion = _scaled(curve, t, slow, robot.model.independent_joint_names)
    return bool((np.abs(torques(robot, motion)) <= bounds.torque).all())


def extremes(curve: Any, order: int = 0) -> Array:
    """Return per joint the smallest and the largest value of a derivative, exactly, (2, n)."""
    from scipy.interpolate import PPoly
    found = []
    for k in range(curve.c.shape[1]):
        part = type(curve)(curve.t, curve.c[:, k], curve.k)
        values = PPoly.from_spline(part).derivative(order) if order else PPoly.from_spline(part)
        turns = values.derivative().roots(extrapolate=False)
        ends = curve.t[curve.k], curve.t[-curve.k - 1]
        where = np.concatenate([np.unique(curve.t), turns[np.isfinite(turns)]])
        found.append(values(np.clip(where, *ends)))
    return np.array([[each.min() for each in found], [each.max() for each in found]])


def _refuse_positions(stroke: Stroke, joints: tuple[str, ...], found: Array, bounds: Bounds,
                      ) -> None:
    slack = 1e-9
    for k, joint in enumerate(joints):
        low, high = found[:, k]
        if low < bounds.lower[k] - slack or high > bounds.upper[k] + slack:
            last = stroke.first + len(stroke.t) - 1
            raise RbdError(
                f'between points {stroke.first} and {last} "{joint}" would move from {low:.4g} '
                f'to {high:.4g}, but its limits are {bounds.lower[k]:.4g} and '
                f'{bounds.upper[k]:.4g}; move these points away from the limit, or give some of '
                'them a dwell')
