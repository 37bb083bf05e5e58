# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""A robot that is led by hand, as ``rbd teach`` hears it."""

from __future__ import annotations

import math
import threading
import time

from control_msgs.msg import JointTrajectoryControllerState
from isolation import own_domain
import pytest
from rbd_env.pace import patient
from rbd_ros.control.modes import Follows, MODES
from rbd_ros.errors import RbdError
from rbd_ros.nodes.taught_robot import TaughtRobot
from rcl_interfaces.msg import ParameterDescriptor, ParameterType
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectoryPoint

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STIFF = next(name for name, mode in MODES.items() if mode.follows is Follows.JOINTS)


def test_what_is_heard() -> None:
    """Positions of all joints, whoever tells them; samples with their stamps; the mode."""
    with own_domain():
        rclpy.init()
        node = rclpy.create_node('robot')
        states = node.create_publisher(JointState, '/joint_states', 10)
        node.create_publisher(String, '/robot_description', LATCHED).publish(
            String(data='<robot/>'))
        node.create_publisher(String, '/controller/mode', LATCHED).publish(String(data=STIFF))
        follows = node.create_publisher(
            JointTrajectoryControllerState, '/controller/controller_state', 1)
        ended, count = threading.Event(), 0

        def publish() -> None:
            nonlocal count
            while not ended.wait(0.005):
                count += 1
                for name, place in (('a', 0.1), ('b', 0.2)):
                    message = JointState(name=[name], position=[place])
                    message.header.stamp.sec = count
                    states.publish(message)
                other = JointState(name=['c', 'd'], position=[math.nan, 0.4])
                other.header.stamp.sec = 1000  # a driver with another clock
                states.publish(other)
        thread = threading.Thread(target=publish)
        thread.start()
        with TaughtRobot('/joint_states', '/controller', patient(30.0)) as robot:
            assert robot.description() == '<robot/>'
            assert robot.position(['b', 'a']).tolist() == [0.2, 0.1]
            end = time.monotonic() + patient(30.0)
            while STIFF not in robot.stiffness_warning():
                assert time.monotonic() < end
                time.sleep(0.01)
            assert robot.reference(['b', 'a']) is None and robot.controlled() == ()
            while (found := robot.reference(['b', 'a'])) is None:
                assert time.monotonic() < end
                follows.publish(JointTrajectoryControllerState(
                    joint_names=['a', 'b'], reference=JointTrajectoryPoint(positions=[0.3, 0.4])))
            assert found.tolist() == [0.4, 0.3] and robot.controlled() == ('a', 'b')
            assert robot.limits() == [{}, {}]  # nobody there to tell them
            while True:
                assert time.monotonic() < end
                robot.begin()
                time.sleep(0.3)
                t, q = robot.shown(['a', 'b'])
                if len(t) > 1:  # else all stood still meanwhile
                    break
            assert len(t) == len(q) and (t[1:] >= t[:-1]).all()
            assert (q == [0.1, 0.2]).all()
            assert len(robot.shown(['a'])[0]) == 0
            assert robot.seen() == {'a': 0.1, 'b': 0.2, 'd': 0.4}
        with TaughtRobot('/joint_states', '/controller', 0.2) as robot, pytest.raises(
                RbdError, match='no joint states of c on /joint_states'):
            robot.position(['c'])
        with TaughtRobot('/joint_states', '/controller', patient(30.0)) as robot:
            robot.position(['a', 'b'])
            ended.set()
            thread.join()
            time.sleep(0.6)  # where it was then is not where it is
            robot._wait = 0.2
            with pytest.raises(RbdError, match='no joint states of a, b'):
                robot.position(['a', 'b'])
        node.destroy_node()
        rclpy.shutdown()


@pytest.mark.parametrize('given, told', [
    ([2.0], {'a': 2.0, 'b': 2.0}), ([2.0, 3.0], {'a': 2.0, 'b': 3.0}), ([], {}), (None, {})])
def test_limits_of_the_reference(given: list[float] | None, told: dict[str, float]) -> None:
    """They are parameters of the controller, in the order of its joints; others have none."""
    with own_domain():
        rclpy.init()
        node = rclpy.create_node('controller')
        if given is not None:
            node.declare_parameter('reference.velocity', [0.5])
            node.declare_parameter('reference.acceleration', given, ParameterDescriptor(
                type=ParameterType.PARAMETER_DOUBLE_ARRAY))
        states = node.create_publisher(JointState, '/joint_states', 10)
        state = node.create_publisher(
            JointTrajectoryControllerState, '/controller/controller_state', 1)

        def publish() -> None:
            states.publish(JointState(name=['a'], position=[0.1]))
            state.publish(JointTrajectoryControllerState(joint_names=['a', 'b']))
        node.create_timer(0.02, publish)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        thread = threading.Thread(target=executor.spin)
        thread.start()
        with TaughtRobot('/joint_states', '/controller', patient(30.0)) as robot:
            end = time.monotonic() + patient(30.0)
            while not robot.controlled():
                assert time.monotonic() < end
            while (found := robot.limits()) == [{}, {}] and given is not None:
                assert time.monotonic() < end
            assert found == [{} if given is None else {'a': 0.5, 'b': 0.5}, told]
        executor.shutdown()
        thread.join()
        node.destroy_node()
        rclpy.shutdown()
