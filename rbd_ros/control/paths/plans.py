# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Paths of one robot: drawn from where its tip is, checked in parts, and handed to its loop."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.kernels.tip import AXES
from rbd_ros.control.paths.curve import WayPoints
from rbd_ros.control.paths.following import PathFollowing
from rbd_ros.control.paths.limits import path_limits
from rbd_ros.control.paths.postures import Postures
from rbd_ros.control.paths.way_points import curve_from
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.robot_now import RobotNow

__all__ = ['PathPlan']

Array = npt.NDArray[np.float64]

#: rad/s or m/s below which a reference counts as at rest, and rad or m by which it may have moved
#: during a check: the last of a motion takes its time, and the first piece begins where it is
_REST, _MOVED = 1e-3, 1e-4

#: s ahead from which on a start is waited for
_AT_ONCE = 0.01


class PathPlan:
    """
    One path, from the present reference of the joints.

    :param robot: as it is now; it is read, nothing is changed.
    :param postures: of the robot.
    :param points: way-points that were read.
    :raises GoalError: if a path cannot begin here.
    """

    def __init__(self, robot: RobotNow, postures: Postures, points: WayPoints) -> None:
        settings = robot.settings
        self._robot, self._changes = robot, robot.changes
        robot.refresh()
        self._begin = self._reference()
        postures.renew(robot.q, robot.gravity, robot.payload)
        here = postures.at(self._begin)
        axes = settings.task_axes
        if len(axes) > len(settings.robot.joints):
            raise GoalError(ResultCode.INVALID_GOAL, (
                f'{len(settings.robot.joints)} joints cannot move the frame along the '
                f'{len(axes)} directions of task.axes: name those that matter'))
        self.curve = curve_from(points, here.p, here.R,
                                turns=any(AXES.index(axis) < 3 for axis in axes))
        self._following = PathFollowing(
            postures, path_limits(settings), axes, self.curve, self._begin,
            len(points.times) - len(self.curve.times))

    def _reference(self) -> Array:
        """Return where the reference of the joints stands."""
        q, qd = self._robot.reference
        if not np.abs(qd).max() <= _REST:
            raise GoalError(ResultCode.INVALID_GOAL, 'the reference still moves: a path begins '
                            'at rest. Wait for the end of the motion, or stop it')
        return q

    def work(self, limit: float) -> bool:
        """
        Check a part of the path.

        :param limit: s that it may take.
        :returns: whether all of it is checked.
        :raises GoalError: naming the first point that cannot be passed.
        """
        return self._following.work(limit)

    def knots(self, now: float, start: float | None, *, whole: bool = False) -> Knots:
        """
        Return the motion of the joints; in the thread of the controller, before it begins.

        :param start: control time at which the path is to begin; None: now.
        :param whole: have its start among the points, for a controller that does not begin where
            its reference is.
        :raises GoalError: if it cannot begin any more.
        """
        if self._robot.changes != self._changes:
            raise GoalError(ResultCode.INVALID_GOAL, 'while the path was checked, the controller '
                            'got something else (a reference, a parameter, a payload, a reset): '
                            'send it again')
        if not np.abs(self._reference() - self._begin).max() <= _MOVED:
            raise GoalError(ResultCode.INVALID_GOAL, 'the reference has moved while the path was '
                            'checked: send it again')
        if start is not None and start < now:
            raise GoalError(ResultCode.OLD_HEADER_TIMESTAMP, (
                f'the path would have begun {now - start:.3g} s ago, before it was checked: '
                'leave the stamp zero, or choose a later one'))
        knots = self._following.knots
        if not whole and (start is None or start <= now + _AT_ONCE):
            return knots
        return _from_rest(self._begin, knots)


def _from_rest(q: Array, knots: Knots) -> Knots:
    """Return a motion that stands still until its start, which may be seconds ahead."""
    assert knots.qd is not None and knots.qdd is not None
    still = np.zeros((1, len(q)))
    return Knots(np.array([0.0, *knots.times]), np.vstack([q, knots.q]),
                 np.vstack([still, knots.qd]), np.vstack([still, knots.qdd]))
