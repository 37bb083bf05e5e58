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
"""What the page reads of long messages itself is what the middleware reads."""

from control_msgs.msg import JointTrajectoryControllerState
from geometry_msgs.msg import WrenchStamped
import pytest
from rbd_ros.nodes.dashboard.short_read import read_force, ReferenceReader
from rclpy.serialization import deserialize_message, serialize_message


def state(names, positions=(), velocities=(), frame=''):
    """Return the bytes of what a controller publishes."""
    message = JointTrajectoryControllerState(joint_names=names)
    message.header.frame_id = frame
    message.header.stamp.sec = 7
    message.reference.positions, message.reference.velocities = positions, velocities
    message.feedback.positions = [-1.0] * len(names)
    message.output.effort = [-2.0] * len(names)
    return serialize_message(message)


@pytest.mark.parametrize('frame', ['', 'b', 'base', 'base_link', 'tool0_of_a_robot'])
def test_a_force_is_read_behind_a_frame_of_any_length(frame):
    """The numbers lie at multiples of eight bytes, wherever the name ends."""
    message = WrenchStamped()
    message.header.frame_id = frame
    for k, axis in enumerate('xyz'):
        setattr(message.wrench.force, axis, 1.5 + k)
        setattr(message.wrench.torque, axis, -9.0)
    data = serialize_message(message)
    assert read_force(data) == (1.5, 2.5, 3.5)
    assert read_force(data[:60] if len(data) > 60 else data[:40]) is None
    assert read_force(b'\x00\x00' + data[2:]) is None  # big endian


def test_references_are_read_of_joints_that_change():
    """Names of any length, with and without velocities; the names are those of each message."""
    reader = ReferenceReader()
    for names, positions, velocities, frame in (
            (['a', 'joint_2'], [1.0, 2.0], [3.0, 4.0], ''),
            (['a', 'joint_2'], [5.0, 6.0], [7.0, 8.0], ''),
            (['a', 'joint_3'], [1.0, 2.0], [], ''),
            (['a', 'joint_3'], [], [], 'base'),
            ([], [], [], 'base'),
            (['elbow'], [0.5], [-0.5], 'base_link'),
            ([f'j{k}' for k in range(30)], [0.1 * k for k in range(30)], [1.0] * 30, '')):
        found = reader.read(state(names, positions, velocities, frame))
        assert found == (tuple(names), tuple(positions), tuple(velocities))


def test_what_is_cut_off_or_laid_out_otherwise_is_left_to_the_middleware():
    """No prefix of a message is read as a shorter reference, and none raises."""
    data, names = state(['a', 'joint_2'], [1.0, 2.0], [3.0, 4.0]), ('a', 'joint_2')
    whole = names, (1.0, 2.0), (3.0, 4.0)
    assert len(deserialize_message(data, JointTrajectoryControllerState).joint_names) == 2
    for length in range(len(data)):
        for reader in (ReferenceReader(), known(data)):
            assert reader.read(data[:length]) in (None, whole)
            assert length > 80 or reader.read(data[:length]) is None
    assert ReferenceReader().read(b'\x00\x00' + data[2:]) is None
    assert ReferenceReader().read(data[:17] + b'\xff\xff\xff' + data[20:]) == whole  # padding
    # a number of names that no message has
    assert ReferenceReader().read(data[:20] + b'\xff\xff\xff\x7f' + data[24:]) is None


def known(data):
    """Return a reader that knows the names already."""
    reader = ReferenceReader()
    assert reader.read(data) is not None
    return reader
