# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
References of joints and task: taken while the law runs, else refused and counted.

The flow calls ``take_reference`` for every event that brings one.
"""

from __future__ import annotations

from rbd_ros.compiler.records import group, Record
from rbd_ros.control.interface.events import Event, Joints, Kind, Result, Structure
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.monitors.guards import Refusals
from rbd_ros.control.monitors.monitors import MonitorParameters
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.parameters.given import Inputs
from rbd_ros.control.references.joint_profile import fill_joint_limits, JointLimits
from rbd_ros.control.references.joint_reference import hold_joint_reference, JointReference
from rbd_ros.control.references.joint_requests import take_pieces, take_set_point, take_stream
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.references.pose_profile import TaskLimits
from rbd_ros.control.references.task_reference import (
    fill_task_limits, hold_task_reference, take_pose, take_twist, take_wrench, TaskReference)
from rbd_ros.control.supervisor.states import StateCode

__all__ = ['fill_references', 'hold_references', 'moves', 'ReferenceLimits', 'References',
           'take_reference']

#: rad/s or m/s below which a reference counts as at rest
_REST = 1e-3

#: rad/s or m/s below which a joint counts as at rest
_JOINT_REST = 0.02


class References(Record):
    """What the laws follow, and how often a reference was refused."""

    joint: JointReference = group(JointReference)
    task: TaskReference = group(TaskReference)
    refusals: Refusals = group(Refusals)


class ReferenceLimits(Record):
    """Limits of all references."""

    joint: JointLimits = group(JointLimits)
    task: TaskLimits = group(TaskLimits)


def fill_references(p: ReferenceLimits, g: Inputs) -> None:
    """
    Take the limits from the parameters.

    :param p: gets them.
    :param g: what was given.
    """
    fill_joint_limits(p.joint, g)
    fill_task_limits(p.task, g)


def hold_references(x: References, p: ReferenceLimits) -> None:
    """Come to rest and stay there, whatever the reference was; a goal is aborted."""
    x.joint.goal.abort(ReferenceWord.HELD)
    hold_joint_reference(x.joint, p.joint)
    hold_task_reference(x.task, p.task)


def moves(x: References, joints: Joints, structure: Structure, law: int) -> bool:
    """
    Return whether the robot moves, or is meant to move.

    :param law: in force, see ``LawCode``.
    """
    for j in range(len(structure.index)):
        if abs(joints.qd[place_of(structure, j)]) > _JOINT_REST:
            return True
    return (_tracks(law) and any(abs(x.joint.profile.state[1]) > _REST)) or (
        (law == LawCode.TASK or law == LawCode.IMPEDANCE)
        and any(abs(x.task.pose.velocity) > _REST))


def _tracks(law: int) -> bool:
    """Return whether a law follows the reference of the joints."""
    return law == LawCode.JOINT or law == LawCode.OWN_JOINT


def _is_goal(u: Event) -> bool:
    return u.kind == Kind.PIECES and u.numbers[1] != 0.0


def take_reference(x: References, p: ReferenceLimits, limits: MonitorParameters, ring: Ring,
                   u: Event, y: Result, state: int, takes: bool) -> bool:
    """
    Take a new reference while the law runs; a rejected one is answered and changes nothing.

    Several in a row that are rejected are a fault while the robot moves. Goals are answered one by
    one and do not count.

    :param limits: say how many rejected ones are too many.
    :param u: a set-point, numbers of a stream, pieces, a pose, a twist, a wrench, or what was
        refused outside.
    :param y: gets the answer.
    :param state: of the supervisor, see ``StateCode``.
    :param takes: whether a goal is followed now.
    :returns: whether too many were rejected.
    """
    if state != StateCode.RAMPING_IN and state != StateCode.RUNNING:
        y.answer = ReferenceWord.NOT_RUNNING
        return False
    if _is_goal(u) and not takes:
        y.answer = ReferenceWord.OTHER_MODE
        return False
    y.answer = 0.0
    if u.kind == Kind.SET_POINT:
        take_set_point(x.joint, p.joint, u, y)
    elif u.kind == Kind.STREAM:
        take_stream(x.joint, p.joint, u, y)
    elif u.kind == Kind.PIECES:
        take_pieces(x.joint, ring, u, y)
    elif u.kind == Kind.POSE:
        take_pose(x.task, u, y)
    elif u.kind == Kind.TWIST:
        take_twist(x.task, u, y)
    elif u.kind == Kind.WRENCH:
        take_wrench(x.task, p.task, u, y)
    if _is_goal(u):
        return False
    if u.kind != Kind.REFUSED and (y.answer == 0.0 or y.answer == ReferenceWord.REPLACED):
        x.refusals.accept()
        return False
    return x.refusals.refuse(limits, u.steady)
