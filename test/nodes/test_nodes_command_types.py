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
