# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Every type of command has its message, or a reason why not."""

from __future__ import annotations

import sys

import pytest
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.errors import SettingError
from rbd_ros.nodes.controller.outputs import message_type
from rbd_ros.wire.messages import COMMANDS
from rclpy.serialization import deserialize_message


def test_every_command_type_is_a_message() -> None:
    """The prepared bytes of each are read as a message of its type."""
    assert set(COMMANDS) == set(PARAMETERS['command_type'].choices)
    for kind, make in COMMANDS.items():
        deserialize_message(make(['a', 'bb']).content, message_type(kind))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said before anything is configured, with what to take instead."""
    monkeypatch.setitem(sys.modules, 'control_msgs.msg', None)
    with pytest.raises(SettingError, match='needs control_msgs/DynamicJointState.*motor_array'):
        message_type('motor_dynamic_joint_state')
