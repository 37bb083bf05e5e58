# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What of a controller is recorded unless somebody says otherwise."""

from __future__ import annotations

import time

__all__ = ['CONTROLLER_STATE', 'default_topics', 'JOINT_STATE', 'named_by_time',
           'needed_to_replay', 'PARAMETER_EVENTS', 'topics_of']

JOINT_STATE = 'sensor_msgs/msg/JointState'
CONTROLLER_STATE = 'control_msgs/msg/JointTrajectoryControllerState'

PARAMETER_EVENTS = '/parameter_events'
_OF_A_ROBOT = ('joint_states', 'robot_description')
_OF_ALL = ('diagnostics', 'tf', 'tf_static')  # a robot may have its own, too
#: Of the controller: what it gets, what it sends, what it tells of itself.
_OWN = (
    'joint_trajectory', 'cartesian_trajectory', 'target_positions', 'target_velocities',
    'target_pose', 'target_twist', 'target_wrench', 'target_stiffness', 'payload', 'imu',
    'force_torque', 'dead_man', 'commands', 'controller_state', 'mode', 'state', 'fault',
    'saturation', 'external_torque', 'external_wrench', 'measured_wrench', 'frame_pose',
    'operational_space/condition')


def default_topics(controller: str) -> tuple[str, ...]:
    """
    Return the topics that plot, identify, tool, contact and replay read, and Foxglove shows.

    :param controller: name of its node, with the namespace.
    """
    beside = {'': None, controller.rpartition('/')[0]: None}  # in this order
    return tuple(f'{each}/{name}' for each in beside for name in _OF_A_ROBOT + _OF_ALL) + _own(
        controller)


def topics_of(controller: str, joint_states: str) -> tuple[str, ...]:
    """
    Return the topics of one robot, of which others may be there.

    :param controller: name of its node, with the namespace.
    :param joint_states: topic of the robot.
    """
    robot = joint_states.rpartition('/')[0]
    beside = {'': None, robot: None}
    return (joint_states, f'{robot}/robot_description', *(
        f'{each}/{name}' for each in beside for name in _OF_ALL), *_own(controller))


def needed_to_replay(controller: str, joint_states: str, description: str) -> dict[str, str]:
    """
    Return the topics without which ``rbd replay`` cannot begin, and what would be missing.

    :param controller: name of its node, with the namespace.
    :param joint_states: topic of the robot; ``description`` likewise.
    """
    return {joint_states: 'no state of the robot',
            f'{controller}/controller_state': 'no torque and no reference',
            f'{controller}/state': 'nothing that tells when the controller ran',
            description: 'no robot'}


def _own(controller: str) -> tuple[str, ...]:
    return (PARAMETER_EVENTS, *(f'{controller}/{name}' for name in _OWN))


def named_by_time() -> str:
    """Return the name of a file by the present time."""
    return time.strftime('rbd_%Y-%m-%d_%H-%M-%S.mcap')
