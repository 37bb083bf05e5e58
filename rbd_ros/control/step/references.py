# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""What concerns the references of joints and task alike."""

from __future__ import annotations

from rbd_ros.control.step.events import Joints, Structure
from rbd_ros.control.step.goals import abort_goal
from rbd_ros.control.step.joint_profile import JointLimits
from rbd_ros.control.step.joint_reference import hold_joint_reference, JointReference
from rbd_ros.control.step.law_records import LawCode
from rbd_ros.control.step.pose_profile import TaskLimits
from rbd_ros.control.step.reference_words import ReferenceWord
from rbd_ros.control.step.task_reference import hold_task_reference, TaskReference

__all__ = ['hold_references', 'moves']

#: rad/s or m/s below which a reference counts as at rest
_REST = 1e-3

#: rad/s or m/s below which a joint counts as at rest
_JOINT_REST = 0.02


def hold_references(joint: JointReference, limits: JointLimits, task: TaskReference,
                    task_limits: TaskLimits) -> None:
    """
    Come to rest and stay there, whatever the reference was; a goal is aborted.

    :param joint: reference of the joint-space laws.
    :param limits: its limits.
    :param task: reference of the operational-space law.
    :param task_limits: its limits.
    """
    abort_goal(joint.goal, ReferenceWord.HELD, 0.0)
    hold_joint_reference(joint, limits)
    hold_task_reference(task, task_limits)


def moves(joint: JointReference, task: TaskReference, joints: Joints, structure: Structure,
          law: int) -> bool:
    """
    Return whether the robot moves, or is meant to move: a refused reference then counts.

    :param joint: reference of the joint-space laws.
    :param task: reference of the operational-space law.
    :param joints: the present state.
    :param structure: which joints are controlled.
    :param law: in force, see ``LawCode``.
    """
    wanted, measured = 0.0, 0.0
    for j in range(len(structure.index)):
        measured = max(measured, abs(joints.qd[int(structure.index[j])]))
        if law == LawCode.JOINT:
            wanted = max(wanted, abs(joint.profile.state[1, j]))
    if law == LawCode.TASK:
        for j in range(6):
            wanted = max(wanted, abs(task.pose.velocity[j]))
    return wanted > _REST or measured > _JOINT_REST
