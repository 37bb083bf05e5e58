# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Way-points of a message: what is wrong with them, and the curve from where the tip is."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.payload import rotation
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.interface.words import PointWord
from rbd_ros.control.paths.curve import Curve, logarithm, WayPoints
from rbd_ros.control.references.trajectory import refusal

__all__ = ['curve_from', 'LONGEST', 'MOST_POINTS', 'read_way_points', 'too_many']

Array = npt.NDArray[np.float64]

#: way-points of one path, and s that it may take: so long a check is bounded
MOST_POINTS, LONGEST = 500, 600.0

#: m and rad from the tip within which a path may begin: it is drawn to where the tip is
NEAR, NEAR_TURN = 0.005, 0.02

#: rad between two way-points from which on it is not clear which way to turn
_MOST_TURN = math.radians(170.0)

#: m/s and rad/s that count as rest
_REST = 1e-6


def _wrong(text: str) -> GoalError:
    return GoalError(ResultCode.INVALID_GOAL, text)


def too_many(count: int) -> str:
    """Return what is said of so many way-points."""
    return f'{count} way-points are more than {MOST_POINTS}'


def read_way_points(names: Sequence[str], tip: str, times: Sequence[float], poses: Array,
                    velocities: Array | None = None, accelerations: Array | None = None, *,
                    R: Array, p: Array) -> WayPoints:
    """
    Check the way-points of a message and turn them into the base.

    :param names: what the message moves.
    :param tip: frame that can be moved.
    :param times: s from the start.
    :param poses: position and quaternion x, y, z, w of each, (k, 7).
    :param velocities: linear, then angular, of each, (k, 6); None: not given.
    :param accelerations: the same.
    :param R: axes of the frame of the message, as columns in the base.
    :raises GoalError: with the reason why they are refused.
    """
    if list(names) != [tip]:
        raise GoalError(ResultCode.INVALID_JOINTS, f'joint_names must be ["{tip}"], the frame '
                        f'that task.frame names, not {list(names)}')
    if not len(times):
        raise refusal(PointWord.NO_POINTS)
    if len(times) > MOST_POINTS:
        raise _wrong(too_many(len(times)))
    _check_times(times)
    for rows, what in ((poses, 'transforms'), (velocities, 'velocities'),
                       (accelerations, 'accelerations')):
        if rows is not None and not np.isfinite(rows).all():
            raise _wrong(f'{what} are not all finite')
    if accelerations is not None and velocities is None:
        raise refusal(PointWord.NO_VELOCITIES)
    if velocities is not None and np.abs(velocities[-1]).max() > _REST:
        raise _wrong('a path ends at rest: the last velocity must be zero')
    turns = np.array([rotation(pose[3:].tolist()) for pose in poses])
    return WayPoints(np.array(times, float), poses[:, :3] @ R.T + p, R @ turns,
                     _turned(velocities, R), _turned(accelerations, R))


def _turned(rows: Array | None, R: Array) -> Array | None:
    """Return twists in the base, angular part first."""
    return None if rows is None else np.hstack([rows[:, 3:] @ R.T, rows[:, :3] @ R.T])


def _check_times(times: Sequence[float]) -> None:
    before = -1.0
    for k, t in enumerate(times):
        if not (math.isfinite(t) and t > before and t >= 0.0):
            raise refusal(PointWord.TIMES, t, max(before, 0.0), k)
        before = t
    if times[-1] <= 0.0:
        raise _wrong('the last way-point is at 0 s: a path takes time')
    if times[-1] > LONGEST:
        raise _wrong(f'the path takes {times[-1]:.6g} s, more than {LONGEST:g} s')


def curve_from(points: WayPoints, p: Array, R: Array, *, turns: bool) -> Curve:
    """
    Return the curve from where the tip is through way-points that were checked.

    :param points: if the first one is at 0 s, the tip must be there.
    :param p: where the tip is.
    :param R: its axes as columns.
    :param turns: whether it follows the orientations; else these do not matter.
    :raises GoalError: if the tip is elsewhere, or two way-points are half a turn apart.
    """
    if not turns:
        points = WayPoints(points.times, points.p, np.broadcast_to(R, points.R.shape).copy(),
                           points.velocity, points.acceleration)
    if points.times[0] == 0.0:
        _check_start(points, p, R)
    joined = points.after(p, R)
    shift = len(points.times) - len(joined.times)  # from its numbers to those of the message
    for k, (a, b) in enumerate(zip(joined.R, joined.R[1:])):
        angle = float(np.linalg.norm(logarithm(a.T @ b)))
        if angle > _MOST_TURN or np.trace(a.T @ b) < -1.0 + 1e-3:
            raise _wrong(f'the turn to way-point {k + 1 + shift} is {math.degrees(angle):.4g} '
                         'degrees: put another way-point in between')
    return Curve(joined)


def _check_start(points: WayPoints, p: Array, R: Array) -> None:
    """Refuse a path that begins elsewhere."""
    away = float(np.linalg.norm(points.p[0] - p))
    turned = float(np.linalg.norm(logarithm(R.T @ points.R[0])))
    if not (away <= NEAR and turned <= NEAR_TURN):
        raise _wrong(f'the path begins {away:.4g} m and {turned:.4g} rad from where the frame '
                     f'is, more than {NEAR:g} m or {NEAR_TURN:g} rad. Leave out the way-point '
                     'at 0 s to begin from there')
    if points.velocity is not None and np.abs(points.velocity[0]).max() > _REST:
        raise _wrong('a path begins at rest: the first velocity must be zero')
