# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The references of the step by themselves, on a fake clock, as machine code."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Event, Joints, Kind, NONE, Result, Structure
from rbd_ros.control.interface.sentences import JointName
from rbd_ros.control.references.feeder import Feeder
from rbd_ros.control.references.goals import EndedGoals, Tolerances
from rbd_ros.control.references.joint_intake import JointIntake
from rbd_ros.control.references.joint_profile import JointLimits
from rbd_ros.control.references.joint_reference import (
    advance_joint_reference, give_way, hold_joint_reference, JointReference, rest_joint_reference,
    start_joint_reference)
from rbd_ros.control.references.joint_requests import (
    cancel_goal, check_goal, Streamed, take_pieces, take_set_point, take_stream)
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.references.points import PointLimits
from rbd_ros.control.references.pose_profile import TaskLimits
from rbd_ros.control.references.targets import TaskIntake
from rbd_ros.control.references.task_reference import (
    advance_task_reference, hold_task_reference, set_lead, start_task_reference, take_pose,
    take_twist, take_wrench, TaskReference)
from rbd_ros.control.references.trajectory import Knots, Trajectory

Array = npt.NDArray[np.float64]

SIZES = {'n': 2, 'm': 2}
NAMES = (JointName('a', 'rad'), JointName('b', 'm'))

#: what is asked of a reference besides the kinds of events
ADVANCE, START, REST, STOP, GIVE_WAY, CHECK = range(100, 106)


class Given(Record):
    """What the procedures take besides."""

    duration: float = field('', 's', 'of a stop')
    speed: Vector = field('n', 'rad/s', 'from which it comes to rest')
    most: Vector = field('n', 'rad', 'distance up to which a hold stays')
    moved: Vector = field('n', 'rad', 'by which it has yielded')
    R: Vector = field('3 3', '', 'axes of the tip')
    position: Vector = field('3', 'm', 'of the tip')
    six: Vector = field('6', '', 'velocity, or lead, of the tip')


def use_joints(x: JointReference, p: JointLimits, ring: Ring, u: Event, y: Result, j: Joints,
               s: Structure, g: Given) -> None:
    """Do what is asked."""
    if u.kind == ADVANCE:
        advance_joint_reference(x, p, ring, y, u.now)
    elif u.kind == START:
        start_joint_reference(x, p, j, s, g.speed)
    elif u.kind == REST:
        rest_joint_reference(x, p, u.now, g.duration)
    elif u.kind == STOP:
        hold_joint_reference(x, p)
    elif u.kind == GIVE_WAY:
        give_way(x, p, j, s, g.most, g.moved)
    elif u.kind == CHECK:
        check_goal(x, p, j, s, u.now)
    elif u.kind == Kind.SET_POINT:
        take_set_point(x, p, u, y)
    elif u.kind == Kind.STREAM:
        take_stream(x, p, u, y)
    elif u.kind == Kind.PIECES:
        take_pieces(x, ring, u, y)
    elif u.kind == Kind.CANCEL:
        cancel_goal(x, p, u, y)


def use_task(x: TaskReference, p: TaskLimits, u: Event, y: Result, g: Given) -> None:
    """Do what is asked."""
    if u.kind == ADVANCE:
        advance_task_reference(x, p, u.now)
    elif u.kind == START:
        start_task_reference(x, p, g.R, g.position, g.six, g.duration)
    elif u.kind == STOP:
        hold_task_reference(x, p)
    elif u.kind == CHECK:
        set_lead(x, g.six)
    elif u.kind == Kind.POSE:
        take_pose(x, u, y)
    elif u.kind == Kind.TWIST:
        take_twist(x, u, y)
    elif u.kind == Kind.WRENCH:
        take_wrench(x, p, u, y)


def sampled(trajectory: Trajectory, times: Sequence[float]) -> Array:
    """Return position, velocity and acceleration at times, (k, 3, n), by the polynomials."""
    found = np.zeros((len(times), 3, 2))
    for at, now in zip(found, times):
        if now >= trajectory.end:
            at[0] = trajectory.final
            continue
        i = bisect_right(trajectory.times, now) - 1
        for j, c in enumerate(trajectory.pieces(i, 1)[0].T):
            piece = np.polynomial.Polynomial(c)
            at[:, j] = [(piece.deriv(k) if k else piece)(now - trajectory.times[i])
                        for k in range(3)]
    return found


class JointRig:
    """The reference of two joints with its messages; the second one may be continuous."""

    def __init__(self, *, velocity: object = 2.0, acceleration: object = 20.0,
                 limit: float = 3.0, continuous: bool = True, timeout: float = 0.5,
                 speed: object = 1e9) -> None:
        self.x, self.p, self.ring = JointReference(SIZES), JointLimits(SIZES), Ring(SIZES)
        self.u, self.y, self.given = Event(SIZES), Result(SIZES), Given(SIZES)
        self.joints, structure = Joints(SIZES), Structure(SIZES)
        structure.index[:] = 0, 1
        p, self.p.timeout, self.p.rest_time = self.p, timeout, 0.3
        p.velocity[:], p.acceleration[:] = velocity, acceleration
        p.lower[:], p.upper[:], p.continuous[1] = -limit, limit, continuous
        if continuous:
            p.lower[1], p.upper[1] = -NONE, NONE
        self.feeder = Feeder(self.ring, self.x.path)
        limits = PointLimits(SIZES)
        limits.lower[:], limits.upper[:], limits.continuous[1] = -limit, limit, continuous
        limits.speed[:], limits.acceleration[:] = speed, acceleration
        self.intake = JointIntake(self.x, self.feeder, limits, NAMES)
        self.goals = EndedGoals(self.x.goal, NAMES, ())
        self._run = bind(use_joints, self.x, p, self.ring, self.u, self.y, self.joints, structure,
                         self.given)

    @property
    def state(self) -> Array:
        """Position, velocity and acceleration."""
        return self.x.profile.state

    def do(self, kind: int, now: float) -> float:
        """Ask for something; return the answer, 0: granted."""
        self.u.kind, self.u.now, self.y.told, self.y.answer = kind, now, 0.0, 0.0
        self._run()
        return float(self.y.answer)

    def start(self, q: object, qd: object = 0.0) -> None:
        """Begin at a position with a velocity."""
        self.joints.q[:], self.given.speed[:] = q, qd
        self.do(START, 0.0)

    def update(self, now: float, *, feed: bool = True) -> Array:
        """Advance and return the state."""
        self.do(ADVANCE, now)
        if feed:
            self.feeder.feed()
        return self.state.copy()

    def run(self, duration: float, begin: float = 0.0, dt: float = 0.001) -> Array:
        """Let time pass and return the states."""
        return np.array([self.update(begin + (k + 1) * dt) for k in range(round(duration / dt))])

    def rest(self, now: float, duration: float) -> None:
        """Come to rest smoothly."""
        self.given.duration = duration
        self.do(REST, now)

    def give_way(self, q: object, most: object) -> Array:
        """Follow a robot that is pushed away; return by how much."""
        self.joints.q[:], self.given.most[:] = q, most
        self.do(GIVE_WAY, 0.0)
        return self.given.moved.copy()

    def set_point(self, now: float, *point: object) -> None:
        """Take a set-point."""
        self.intake.set_point(self.u, now, *[np.array(each, float) for each in point])
        assert self.do(Kind.SET_POINT, now) == 0.0

    def stream(self, now: float, numbers: Sequence[float], of: Streamed) -> None:
        """Take a message of a stream of numbers."""
        self.intake.stream(self.u, now, numbers, of)
        assert self.do(Kind.STREAM, now) == 0.0

    def take(self, now: float, knots: Knots, begin: float) -> None:
        """Take the points of a message."""
        self.intake.take(self.u, now, knots, begin)
        assert self.do(int(self.u.kind), now) == 0.0

    def follow(self, now: float, knots: Knots, goal: int = 0,
               tolerances: Tolerances | None = None) -> Trajectory:
        """Follow a trajectory from now on; return it."""
        self.intake.follow(self.u, now, knots, now, goal, tolerances)
        made = Trajectory(knots, now, now, tuple(self.state.copy()))
        assert self.do(Kind.PIECES, now) == 0.0
        return made

    def check(self, now: float, q: object, qd: object = 0.0) -> None:
        """Compare the goal with where the robot is."""
        self.joints.q[:], self.joints.qd[:] = q, qd
        self.do(CHECK, now)


class TaskRig:
    """The reference of the tip with its messages."""

    def __init__(self, velocity: object = (0.0,) * 6, duration: float = 0.0) -> None:
        self.x, self.p, self.u = TaskReference(SIZES), TaskLimits(SIZES), Event(SIZES)
        self.y, self.given = Result(SIZES), Given(SIZES)
        p, given = self.p, self.given
        p.timeout, p.velocity[:], p.acceleration[:], p.wrench[:] = (
            0.1, (1.0, 0.5), (5.0, 2.0), (10.0, 50.0))
        self.intake = TaskIntake(self.x, p)
        self._run = bind(use_task, self.x, p, self.u, self.y, given)
        given.R[:], given.position[:] = np.eye(3), (0.5, 0.0, 0.4)
        given.six[:], given.duration = velocity, duration
        self.do(START, 0.0)
        self.do(ADVANCE, 0.0)

    def do(self, kind: int, now: float) -> None:
        """Ask for something, which is granted."""
        self.u.kind, self.u.now, self.y.answer = kind, now, 0.0
        self._run()
        assert self.y.answer == 0.0

    def pose(self, now: float, position: object, quaternion: object = (0, 0, 0, 1)) -> None:
        """Take a pose."""
        self.intake.target_pose(self.u, now, position, quaternion)
        self.do(Kind.POSE, now)

    def twist(self, now: float, twist: object) -> None:
        """Take a twist."""
        self.intake.target_twist(self.u, now, twist)
        self.do(Kind.TWIST, now)

    def wrench(self, now: float, wrench: object) -> None:
        """Take a wrench."""
        self.intake.target_wrench(self.u, now, wrench)
        self.do(Kind.WRENCH, now)

    def lead(self, way: object) -> None:
        """Say how far the reference leads the robot."""
        self.given.six[:] = 0.0, 0.0, 0.0, *way
        self.do(CHECK, 0.0)
