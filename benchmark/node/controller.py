# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters with which the controller of this package is measured."""

from __future__ import annotations

from collections.abc import Mapping

from benchmark.node.arm import DAMPING, STIFFNESS, URDF


def parameters(rate: float, output: str = 'array',
               robot: Mapping[str, object] | None = None) -> dict[str, object]:
    """
    Return the parameters of the controller in computed-torque mode, as they are typed.

    :param rate: states per second that it is told to expect.
    :param output: type of the commands, ``array`` or ``joint_state``.
    :param robot: parameters of another robot than the arm.
    """
    return {
        'robot_description_file': URDF, 'driver_adds': 'none',
        'release_torque': 'zero', 'mode': 'computed_torque',
        'autostart': 'true',
        'stiffness': [STIFFNESS], 'damping': [DAMPING], 'nominal_rate': rate,
        'minimum_rate': 0.0,  # a busy machine is no fault of the node
        'state_timeout': 0.5,
        'command_deadline': 0.0, 'liveliness_lease': 0.0,  # the same QoS for all contenders
        'command_type': 'joint_state' if output == 'joint_state' else 'float64_multi_array',
        **(robot or {}),
    }


def arguments(rate: float, output: str = 'array') -> list[str]:
    """
    Return the same as arguments of ROS, for the arm.

    :param rate: states per second that it is told to expect.
    :param output: type of the commands, ``array`` or ``joint_state``.
    """
    return ['--ros-args', *(part for name, value in parameters(rate, output).items()
                            for part in ('-p', f'{name}:={value}'))]
