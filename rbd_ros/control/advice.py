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

"""Advice about states that do not arrive, and commands that nobody takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ['missing_states', 'nobody_listens']


def missing_states(account: str, *, topic: str, publishers: int,
                   not_controlled: Sequence[str] = ()) -> str:
    """
    Return why there is no state and what to do.

    :param account: joints without a state and why, from the joint map.
    :param topic: of the joint states, resolved.
    :param publishers: how many there are of it.
    :param not_controlled: those of the joints that are not controlled.
    """
    if publishers == 0:
        return (f'nobody publishes {topic} (sensor_msgs/msg/JointState): start the driver, or '
                f'name its topic with joint_states:=/its/topic')
    text = f'no usable state of {account} (topic {topic})'
    if not_controlled:
        text += (f'. {", ".join(not_controlled)}: not controlled; if nobody publishes a '
                 'joint, give its position in fixed_positions')
    return text


def nobody_listens(topic: str, kind: str, found: Collection[str]) -> str:
    """
    Return what to do if nobody takes the commands; nothing if somebody does.

    :param topic: of the commands, resolved.
    :param kind: type of the commands.
    :param found: types with which others listen to that topic.
    """
    if kind in found:
        return ''
    if found:
        return (f'commands on {topic} are {kind}, but its listeners take '
                f'{" and ".join(sorted(found))}: set command_type to what the driver takes')
    return (f'nobody listens to {topic} ({kind}), so the robot gets no torque: start the driver, '
            'or name its topic with commands:=/its/topic')
