# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Serialized joint states and commands of the simulator against rclpy's own serialization."""

import struct

import numpy as np
import pytest
from rbd_ros.sim import Sample
from rbd_ros.wire.messages import MOTOR_COMMANDS

REASON = 'needs ROS 2'
serialization = pytest.importorskip('rclpy.serialization', reason=REASON)
nav_msgs = pytest.importorskip('nav_msgs.msg', reason=REASON)
sensor_msgs = pytest.importorskip('sensor_msgs.msg', reason=REASON)
std_msgs = pytest.importorskip('std_msgs.msg', reason=REASON)
wire = pytest.importorskip('rbd_ros.nodes.simulator.wire', reason=REASON)

NAMES = ['a', 'joint_22', 'finger/left']


def sample(velocity=True, effort=True):
    """Return a reading of three joints."""
    none = np.empty(0)
    return Sample(0, np.array([1.0, -2.0, 3.5]), np.array([0.1, 0.2, 0.3]) if velocity else none,
                  np.array([7.0, 8.0, -9.0]) if effort else none)


@pytest.mark.parametrize('velocity', [True, False])
@pytest.mark.parametrize('effort', [True, False])
def test_states_read_back(velocity, effort):
    """What is written is what rclpy reads, with and without each field."""
    writer = wire.StateWriter(NAMES, velocity=velocity, effort=effort)
    for stamp in (1_794_708_554_123_456_789, 5):
        message = serialization.deserialize_message(
            writer.write(stamp, sample(velocity, effort)), sensor_msgs.JointState)
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamp
        assert list(message.name) == NAMES
        assert list(message.position) == [1.0, -2.0, 3.5]
        assert list(message.velocity) == ([0.1, 0.2, 0.3] if velocity else [])
        assert list(message.effort) == ([7.0, 8.0, -9.0] if effort else [])


def test_floating_base_reads_back():
    """Pose in the world, velocity in coordinates of the base: each number at its place."""
    writer = wire.BaseWriter('world', 'trunk')
    values = np.arange(1.0, 14.0)
    data = writer.write(1_794_708_554_123_456_789, sample()._replace(base=values))
    message = serialization.deserialize_message(data, nav_msgs.Odometry)
    stamp = message.header.stamp
    assert stamp.sec * 10**9 + stamp.nanosec == 1_794_708_554_123_456_789
    assert (message.header.frame_id, message.child_frame_id) == ('world', 'trunk')
    p, r = message.pose.pose.position, message.pose.pose.orientation
    w, v = message.twist.twist.angular, message.twist.twist.linear
    assert [p.x, p.y, p.z, r.x, r.y, r.z, r.w] == values[:7].tolist()
    assert [w.x, w.y, w.z, v.x, v.y, v.z] == values[7:].tolist()


def test_arrays_are_read():
    """Arrays with and without a layout are read, also empty ones."""
    for data in ([1.0, -2.5, 3e300], [], [4.0]):
        message = std_msgs.Float64MultiArray(data=data)
        assert wire.read_array(serialization.serialize_message(message)).tolist() == data
        message.layout.dim = [std_msgs.MultiArrayDimension(label='joint')]
        assert wire.read_array(serialization.serialize_message(message)).tolist() == data


@pytest.mark.parametrize('kind', ['motor_array', 'motor_joint_state'])
def test_motors_get_what_the_controller_sends(kind):
    """Both layouts of the controller, filled in its way, are the same rows."""
    made = MOTOR_COMMANDS[kind](NAMES)
    rows = np.arange(15.0).reshape(3, 5) + 0.5
    content = bytearray(made.content)
    for j, row in enumerate(rows):
        for at, value in zip(made.motor_at, row):
            struct.pack_into('<d', content, at + j * made.step, value)
    if kind == 'motor_array':
        found = wire.read_array(bytes(content)).reshape(-1, 5)
    else:
        message = serialization.deserialize_message(bytes(content), sensor_msgs.JointState)
        found, missing = wire.motor_rows(message, NAMES)
        assert missing == []
        message.name[1], message.name[4] = message.name[4], message.name[1]
        swapped, _ = wire.motor_rows(message, NAMES)
        assert swapped[1] == [rows[1, 2], rows[1, 3], rows[1, 0], rows[1, 1], 0.0]
        message.name[5] = 'somebody'
        assert wire.motor_rows(message, NAMES) == ([], ['finger/left/gains'])
        message.velocity = message.velocity[:2]
        assert 'finger/left' in wire.motor_rows(message, NAMES)[1]
    np.testing.assert_array_equal(found, rows)
