# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Messages for the joint reference, checked and made into events of the step.

It is called right before the step that takes the event: a trajectory begins at the reference of
that moment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.events import Event
from rbd_ros.control.interface.results import Tolerances
from rbd_ros.control.interface.words import PointWord
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references.asking import ask_pieces, ask_point, ask_stream
from rbd_ros.control.references.feeder import Feeder
from rbd_ros.control.references.joint_reference import JointReference
from rbd_ros.control.references.joint_requests import Streamed
from rbd_ros.control.references.points import PointLimits, Points, STREAM_HORIZON, Use
from rbd_ros.control.references.polynomials import Task
from rbd_ros.control.references.trajectory import (
    Knots, load_points, PointHandler, points_of, refusal)

__all__ = ['JointIntake', 'point_limits']

Array = npt.NDArray[np.float64]


def point_limits(settings: Settings) -> PointLimits:
    """
    Return what points may ask for.

    :param settings: valid set of parameters.
    """
    robot = settings.robot
    limits = PointLimits({'n': len(robot.joints)})
    limits.lower[:], limits.upper[:] = robot.pick(robot.model.lower), robot.pick(robot.model.upper)
    limits.continuous[:], limits.speed[:] = robot.continuous, settings.velocity_limits
    limits.acceleration[:] = settings.joints('reference.acceleration')
    return limits


class JointIntake:
    """Set-points and trajectories of one robot."""

    def __init__(self, reference: JointReference, feeder: Feeder, limits: PointLimits,
                 joints: Sequence[str], *, linear: bool = False) -> None:
        """
        Take the limits of the robot.

        :param reference: of the state of the step; only read.
        :param feeder: of its ring.
        :param limits: of joints, of velocities, and of the accelerations with which joints that a
            message leaves out come to rest; they may change.
        :param joints: names for the texts.
        :param linear: straight lines between points without velocities.
        """
        self._reference, self._feeder, self._limits = reference, feeder, limits
        self._joints, self._linear = tuple(joints), linear
        self._one = PointHandler(Points({**limits.sizes, 'k': 1}), limits, self._joints)

    def set_point(self, u: Event, now: float, q: Array, qd: Array | None = None,
                  qdd: Array | None = None, within: float = 0.0) -> None:
        """
        Make a streamed set-point.

        :param u: receives it.
        :param q: position.
        :param qd: velocity; None: zero.
        :param qdd: acceleration; None: zero.
        :param within: s of motion at an even speed, before it brakes; 0: as fast as the limits
            allow.
        :raises GoalError: if it is refused.
        """
        one = self._one.points
        one.count, one.rates, one.times[0] = 1.0, 2.0, 0.0
        one.q[0], one.held[:] = q, 0.0
        one.qd[0] = 0.0 if qd is None else qd
        one.qdd[0] = 0.0 if qdd is None else qdd
        self._one.do(Task.CHECK)
        u.now, one.use, one.within = now, Use.SET_POINT, within
        ask_point(one, u)

    def stream(self, u: Event, now: float, numbers: Sequence[float], of: Streamed) -> None:
        """
        Make a message of a stream of numbers.

        :param u: receives it.
        :param numbers: one for each joint.
        :param of: what they are.
        :raises GoalError: if they are refused.
        """
        one, given = self._one.points, len(numbers)
        if given != len(self._joints):
            raise refusal(PointWord.COUNT, given, len(self._joints), of)
        one.count, one.rates, one.times[0], one.held[:] = 1.0, of, 0.0, of  # positions or rates
        one.q[0] = one.qd[0] = 0.0  # what was refused before must not be found again
        (one.qd if of else one.q)[0] = numbers
        self._one.do(Task.CHECK)
        u.now = now
        ask_stream(one, u)

    def take(self, u: Event, now: float, knots: Knots, start_time: float | None) -> None:
        """
        Take the points of a message that is no goal: a trajectory, or one point of a stream.

        :param u: receives what it is.
        :param knots: its points.
        :param start_time: control time of its time_from_start 0; None: now, whenever it is taken.
        :raises GoalError: if it is refused.
        """
        start_time = now if start_time is None else start_time
        handler = self._handler(knots)
        points = handler.points
        points.offset, points.begin, points.start[:] = start_time, now, (
            self._reference.profile.state)
        handler.do(Task.SORT, Task.CHECK)
        if points.use == Use.TRAJECTORY:
            self._follow(u, now, handler, start_time)
            return
        u.now = now
        ask_point(points, u)

    def _handler(self, knots: Knots) -> PointHandler:
        """Return what handles the points of a message; a stream has one point again and again."""
        if len(knots.times) > 1 or knots.times[0] > STREAM_HORIZON:
            return PointHandler(points_of(knots), self._limits, self._joints)
        load_points(self._one.points, knots)
        return self._one

    def follow(self, u: Event, now: float, knots: Knots, start_time: float | None, goal: int = 0,
               tolerances: Tolerances | None = None) -> None:
        """
        Begin a trajectory at the present reference.

        :param u: receives its beginning.
        :param knots: its points.
        :param start_time: control time of its time_from_start 0; None: now, whenever it is taken.
        :param goal: its number, if it is one; 0: none.
        :param tolerances: of the goal.
        :raises GoalError: if it is refused.
        """
        handler = PointHandler(points_of(knots), self._limits, self._joints)
        handler.do(Task.CHECK)
        self._follow(u, now, handler, now if start_time is None else start_time, goal, tolerances)

    def _follow(self, u: Event, now: float, handler: PointHandler, start_time: float,
                goal: int = 0, tolerances: Tolerances | None = None) -> None:
        handler.begin(start_time, now, self._reference.profile.state, linear=self._linear)
        self._feeder.begin(handler, goal, tolerances)
        u.now = now
        ask_pieces(self._feeder.progress, handler.points, u)

    def check(self, knots: Knots) -> None:
        """
        Refuse points that are not finite, outside the joint limits, or too fast.

        :param knots: the points.
        :raises GoalError: naming joint and limits.
        """
        PointHandler(points_of(knots), self._limits, self._joints).do(Task.CHECK)
