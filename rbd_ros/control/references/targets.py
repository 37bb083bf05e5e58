# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Targets of the tip: what is wrong with them, how fast streamed poses move, their events.

The velocity is estimated over a time long enough that late messages and bursts do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

from rbd_ros.compiler import procedure
from rbd_ros.compiler.language.whole import dot, finite
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Event, Kind, NOBODY
from rbd_ros.control.interface.words import PointWord, ReferenceWord
from rbd_ros.control.references.points import Verdict
from rbd_ros.control.references.pose_profile import TaskLimits, turn_between
from rbd_ros.control.references.task_reference import LARGE, TaskReference
from rbd_ros.control.references.trajectory import refusal

__all__ = ['ask_target', 'handle_target', 'Target', 'TaskIntake']

#: s within which a pose must be followed by the next one to be a stream
_STREAM_GAP = 0.25

#: s between two poses of a burst, of which the last one counts
_BURST_GAP = 0.0005

#: poses of a stream that are remembered
_POSES = 50

#: of its longest gaps over which the velocity of a stream is taken, a little more than two
_GAPS = 2.001

#: of its longest gap for which a stream goes on by itself
_GOES_ON = 1.5

#: m of a position that nobody means, whatever the robot
_FAR = 1e4

#: share and m of the reach that a target may be beyond: links differ from their description, stops
#: give, and a spring may be hooked up a little out of reach
_MORE, _SLACK = 1.1, 0.01


class Target(Record):
    """What the tip is asked for, and the poses that were asked for before."""

    kind: float = field('', '', 'pose, twist or wrench, see Kind')
    now: float = field('', 's', 'control time')
    poses: float = field('', '', 'of the stream that are remembered')
    stops: float = field('', '', 'how often the reference was held when the stream began')
    horizon: float = field('', 's', 'for which the goal moves on by itself')
    numbers: Vector = field('14', '', 'quaternion and position; or two vectors, the angular one '
                                      'first. Then those of the event')
    goal: Vector = field('7', '', 'quaternion and position of the newest pose')
    before: Vector = field('7', '', 'those of an earlier one')
    drift: Vector = field('6', 'rad/s, m/s', 'velocity of the stream')
    times: Vector = field(f'{_POSES}', 's', 'control times of the poses')
    stream: Matrix = field(f'{_POSES} 7', '', 'the poses')


def handle_target(x: Target, reference: TaskReference, p: TaskLimits, verdict: Verdict) -> None:
    """
    Check a target of the tip, and make the numbers of its event.

    :param x: what is asked for.
    :param reference: of the state of the step; only read.
    :param p: in force; a stream that moves faster is none.
    :param verdict: says if it is refused.
    """
    verdict.word, verdict.joint = 0.0, NOBODY
    if x.kind == Kind.POSE:
        if _is_pose(x, p.reach, verdict):
            _take(x, reference)
            _estimate(x, p)
            x.numbers[:7] = x.goal
            x.numbers[7:13] = x.drift
            x.numbers[13] = x.horizon
    elif x.kind == Kind.TWIST:
        _check_six(x, ReferenceWord.NO_TWIST, 0, verdict)
    else:
        _check_six(x, ReferenceWord.NO_WRENCH, 1, verdict)


def _check_six(x: Target, word: int, which: int, verdict: Verdict) -> None:
    if not all(finite(x.numbers[:6])):
        verdict.refuse(word)
        return
    largest = max(abs(x.numbers[:6]), default=0.0)
    if largest > LARGE:
        verdict.refuse(PointWord.TOO_LARGE, NOBODY, largest, LARGE, which)


def _is_pose(x: Target, reach: float, verdict: Verdict) -> bool:
    """Return whether it is one that can be meant; its goal is then of unit length."""
    if not all(finite(x.numbers[:7])):
        verdict.refuse(ReferenceWord.NO_POSE)
        return False
    far = _distance(x)
    if not far <= min(_MORE * reach + _SLACK, _FAR):
        verdict.refuse(PointWord.FAR, NOBODY, far, min(reach, _FAR), 1.0 if reach > _FAR else 0.0)
        return False
    size = math.sqrt(dot(x.numbers[:4], x.numbers[:4]))
    if not 0.9 < size < 1.1:
        verdict.refuse(PointWord.NO_TURN, NOBODY, size)
        return False
    x.goal[:4] = x.numbers[:4] / size
    x.goal[4:7] = x.numbers[4:7]
    return True


def _distance(x: Target) -> float:
    """Return how far the position is from the base; it does not overflow."""
    largest = max(abs(x.numbers[4:7]), default=0.0)
    if not largest > 0.0:
        return 0.0
    return largest * math.sqrt(dot(x.numbers[4:7] / largest, x.numbers[4:7] / largest))


def _take(x: Target, reference: TaskReference) -> None:
    """Remember the newest pose; a stream that has ceased is forgotten."""
    if x.stops != reference.stops:
        x.stops, x.poses = reference.stops, 0.0
    since = x.now - x.times[int(x.poses) - 1] if x.poses > 0.0 else 0.0
    if reference.pose.moving or not 0.0 <= since <= _STREAM_GAP:
        x.poses = 0.0  # below 0 the clock has jumped back
    if x.poses > 0.0 and since < _BURST_GAP:
        x.poses -= 1.0
    if x.poses == _POSES:
        for i in range(1, _POSES):
            x.times[i - 1] = x.times[i]
            x.stream[i - 1] = x.stream[i]
        x.poses -= 1.0
    _add(x)


def _add(x: Target) -> None:
    at = int(x.poses)
    x.times[at] = x.now
    x.stream[at] = x.goal
    x.poses = at + 1


def _estimate(x: Target, p: TaskLimits) -> None:
    """Estimate the velocity of streamed poses over two of their longest gaps; jumps end it."""
    x.drift[:] = 0.0
    longest = 0.0
    for i in range(1, int(x.poses)):
        longest = max(longest, x.times[i] - x.times[i - 1])
    if not longest > 0.0:
        return
    at = 0
    while x.now - x.times[at] > _GAPS * longest:
        at += 1
    span = x.now - x.times[at]
    x.before[:] = x.stream[at]
    turn_between(x.before, x.goal, x.drift)
    x.drift[:3] = x.drift[:3] / span
    x.drift[3:6] = (x.goal[4:7] - x.before[4:7]) / span
    if _norm(x.drift, 0) <= p.velocity[0] and _norm(x.drift, 3) <= p.velocity[1]:
        x.horizon = _GOES_ON * longest
        return
    x.poses = 0.0
    _add(x)
    x.drift[:] = 0.0


def _norm(x: Vector, i: int) -> float:
    return math.sqrt(x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2])


def ask_target(target: Target, u: Event) -> None:
    """
    Make the event of a target of the tip.

    :param target: found to be good.
    :param u: becomes that event.
    """
    u.kind = target.kind
    u.numbers[:14] = target.numbers


class TaskIntake:
    """Poses, twists and wrenches of one robot."""

    def __init__(self, reference: TaskReference, limits: TaskLimits) -> None:
        """
        Start without a stream.

        :param reference: of the state of the step; only read.
        :param limits: in force; a stream that moves faster is none.
        """
        self._target, self._verdict = Target(reference.sizes), Verdict(reference.sizes)
        self._target.stops = reference.stops
        self._run = procedure.bind(handle_target, self._target, reference, limits, self._verdict)

    def target_pose(self, u: Event, now: float, position: Sequence[float],
                    quaternion: Sequence[float]) -> None:
        """
        Make a pose to go to; poses that are streamed are followed with their own velocity.

        :param u: receives it.
        :param position: in the base, m.
        :param quaternion: x, y, z, w.
        :raises GoalError: if it is refused.
        """
        self._take(u, Kind.POSE, now, [*quaternion, *position])

    def target_twist(self, u: Event, now: float, twist: Sequence[float]) -> None:
        """
        Make a velocity, to be repeated within the timeout.

        :param u: receives it.
        :param twist: angular, linear; base axes, at the origin of the frame.
        :raises GoalError: if it is refused.
        """
        if len(twist) != 6:
            raise refusal(ReferenceWord.NO_TWIST)
        self._take(u, Kind.TWIST, now, twist)

    def target_wrench(self, u: Event, now: float, wrench: Sequence[float]) -> None:
        """
        Make a wrench to be exerted, to be repeated within the timeout.

        :param u: receives it.
        :param wrench: moment, force; base axes, at the origin of the frame.
        :raises GoalError: if it is refused.
        """
        if len(wrench) != 6:
            raise refusal(ReferenceWord.NO_WRENCH)
        self._take(u, Kind.WRENCH, now, wrench)

    def _take(self, u: Event, kind: Kind, now: float, numbers: Sequence[float]) -> None:
        target, verdict = self._target, self._verdict
        target.kind, target.now, target.numbers[:len(numbers)] = kind, now, numbers
        self._run()
        if verdict.word:
            raise refusal(int(verdict.word), verdict.a, verdict.b, verdict.c)
        u.now = now
        ask_target(target, u)
