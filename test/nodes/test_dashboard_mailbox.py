# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What comes at the rate of the loop waits for the page, and nothing of it is lost or mixed up."""

import time

from control_msgs.msg import JointTrajectoryControllerState
from geometry_msgs.msg import WrenchStamped
from isolation import own_domain
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros.nodes.dashboard.mailbox import Mailroom
from rbd_ros.nodes.dashboard.telemetry import LATCHED, Telemetry
from rbd_ros.wire.reading import read_plain_array
import rclpy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from visualization_msgs.msg import Marker, MarkerArray

NAMES = ['b', 'a']


@pytest.fixture(scope='module')
def node():
    """Give a node in a domain of its own, with another name for its states."""
    with own_domain():
        rclpy.init(args=['--ros-args', '-r', 'joint_states:=elsewhere', '-r', '__ns:=/room'])
        made = rclpy.create_node('page')
        yield made
        made.destroy_node()
        rclpy.shutdown()


def wait(condition):
    """Wait for the middleware."""
    end = time.monotonic() + patient(10.0)
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def matched(publisher, box):
    """Return whether both ends know each other: what comes before is lost."""
    return publisher.get_subscription_count() and box.subscription.get_publisher_count()


def state(k):
    """Return a joint state, the k-th at 500 Hz."""
    message = JointState(name=NAMES, position=[0.1 * k, 1.0], velocity=[float(k), 0.0],
                         effort=[2.0, float(k)])
    message.header.stamp.sec, message.header.stamp.nanosec = 5, 2_000_000 * k
    return message


def test_messages_wait_and_no_executor_is_woken(node):
    """All come at once when they are asked for, the oldest first; of too many, the newest."""
    box = Mailroom(node).open(JointState, 'joint_states', 20)
    send = node.create_publisher(JointState, '/room/elsewhere', 100)
    wait(lambda: matched(send, box))
    assert box.take() == [] and box.newest() is None
    assert not list(node.subscriptions)  # nothing that an executor of the node would see
    for k in range(15):
        send.publish(state(k))
    found = []
    wait(lambda: found.extend(box.take()) or len(found) == 15)
    assert [data for _, data in found] == [serialize_message(state(k)) for k in range(15)]
    times = [at for at, _ in found]
    assert times == sorted(times) and times[0] > 0
    for k in range(30):
        send.publish(state(k))
    wait(lambda: box.newest() == serialize_message(state(29)))


def test_states_and_commands_are_taken_in_the_order_in_which_they_came(node):
    """A torque belongs to the state before it; what the page shows is the newest of both."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    telemetry.motion.needs_sent = True
    telemetry.take()
    states = node.create_publisher(JointState, '/room/elsewhere', 100)
    commands = node.create_publisher(Float64MultiArray, '/room/controller/commands', 100)
    force = node.create_publisher(WrenchStamped, '/room/controller/external_wrench', 10)
    wait(lambda: all(map(matched, (states, commands, force), (
        telemetry._states, telemetry._commands, telemetry._newest[0][0]))))
    for k in range(60):
        states.publish(state(k))
        time.sleep(1e-3)
        commands.publish(Float64MultiArray(data=[10.0 * k, 1.0]))
        time.sleep(1e-3)
    for x in (1.0, 7.0):
        message = WrenchStamped()
        message.wrench.force.x = x
        force.publish(message)
    assert telemetry.positions == {} and telemetry.command == ()  # until the page looks

    def taken():
        telemetry.take()
        return telemetry.positions.get('b') == 5.9 and telemetry.command == (590.0, 1.0) and (
            telemetry.force[0] == 7.0)
    wait(taken)
    assert telemetry.velocities == {'b': 59.0, 'a': 0.0}
    assert telemetry.efforts == {'b': 2.0, 'a': 59.0}
    assert telemetry.age('states') < 1.0 and telemetry.age('commands') < 1.0
    # smoothed at a time, state and torque are those of that time: 10 k for the k-th
    t = 5.0 + 0.002 * 30
    (q, *_), tau = telemetry.motion.at(t)['b'], telemetry.motion.sent_at(t)
    np.testing.assert_allclose((q, tau[0]), (3.0, 300.0), rtol=1e-3)


def test_only_the_last_command_is_taken_unless_all_are_needed(node):
    """Of many between two looks; who needs them all gets those that follow."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    taken = []
    telemetry._read_command = taken.append
    send = node.create_publisher(Float64MultiArray, '/room/controller/commands', 100)

    def heard():
        send.publish(Float64MultiArray(data=[-1.0]))
        telemetry.take()
        return taken
    for needed in (False, True, False):
        telemetry.motion.needs_sent = needed
        telemetry.take()
        taken.clear()
        wait(heard)  # by the subscription that is new
        time.sleep(0.2)
        telemetry.take()
        taken.clear()
        for k in range(20):
            send.publish(Float64MultiArray(data=[float(k)]))
        time.sleep(0.5)
        wait(lambda: telemetry.take() or taken)
        assert read_plain_array(taken[-1]).tolist() == [19.0]
        assert len(taken) == (20 if needed else 1)


def test_commands_of_motors_and_states_of_another_kind_are_no_torques(node):
    """Gains are no torque; a state that is not laid out as usual is read by the middleware."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    gains = Float64MultiArray(data=[1.0, 2.0])
    gains.layout.dim = [MultiArrayDimension(label='joint')]
    telemetry._read_command(serialize_message(Float64MultiArray(data=[3.0, 4.0])))
    assert telemetry.command == (3.0, 4.0)
    telemetry._read_command(serialize_message(gains))
    assert telemetry.command == ()
    telemetry._read_state(serialize_message(JointState(name=NAMES, position=[1.0])))
    assert telemetry.positions == {'b': 1.0} and telemetry.velocities == {}


def test_no_message_ends_the_page(node):
    """Cut off, with bytes changed or with numbers that are none: it is left out, others count."""
    telemetry, rng = Telemetry(node, 'controller', 'simulator'), np.random.default_rng(1)
    telemetry.motion.needs_sent = True
    telemetry.take()
    followed = JointTrajectoryControllerState(joint_names=NAMES)
    followed.reference.positions = [1.0, 2.0]
    base = Odometry(child_frame_id='base')
    base.pose.pose.orientation.w = 1.0
    sound = {'/room/elsewhere': state(3), '/room/controller/commands': Float64MultiArray(
        data=[3.0, 4.0]), '/room/controller/external_wrench': WrenchStamped(),
        '/room/controller/controller_state': followed, '/room/simulator/odometry': base}
    send = {topic: node.create_publisher(type(message), topic, 100)
            for topic, message in sound.items()}
    boxes = [telemetry._states, telemetry._commands, *(box for box, _ in telemetry._newest)]
    wait(lambda: all(map(matched, send.values(), boxes)))
    for topic, message in sound.items():
        whole = serialize_message(message)
        for k in range(60):
            data = bytearray(whole[:rng.integers(0, len(whole))] if k % 2 else whole)
            for place in rng.integers(4, len(whole), rng.integers(0 if k % 2 else 1, 6)):
                if place < len(data):
                    data[place] = rng.choice([0, 1, 0x7f, 0xff])
            send[topic].publish(bytes(data))
            if k % 3 == 0:
                time.sleep(1e-3)
                telemetry.take()

    def heard():
        for topic, message in sound.items():
            send[topic].publish(message)
        telemetry.take()
        return (telemetry.positions.get('b') == 0.1 * 3 and telemetry.command == (3.0, 4.0)
                and telemetry.reference_positions == {'b': 1.0, 'a': 2.0}
                and telemetry.base is not None and telemetry.base.link == 'base')
    wait(heard)


@pytest.mark.parametrize('wrong', [np.nan, np.inf, -np.inf])
def test_numbers_that_cannot_be_drawn(node, wrong):
    """What an executor hands over is left out, and does not end its thread."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    send = node.create_publisher(MarkerArray, '/room/simulator/scene', LATCHED)
    box = Marker(type=Marker.CUBE)
    wait(lambda: send.get_subscription_count())
    for change in ('color.r', 'pose.position.x', 'scale.z', 'pose.orientation.w', ''):
        marker = target = Marker(type=Marker.CUBE)
        *parts, field = change.split('.')
        for each in parts:
            target = getattr(target, each)
        if field:
            setattr(target, field, float(wrong))
        send.publish(MarkerArray(markers=[marker, box]))
        rclpy.spin_once(node, timeout_sec=0.5)
    wait(lambda: rclpy.spin_once(node, timeout_sec=0.1) or len(telemetry.obstacles) == 2)
    assert all(np.isfinite(part).all() for each in telemetry.obstacles for part in each)
