# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which torques keep a quadruped on its feet, from joint states and the pose of its trunk?."""

from contextlib import suppress

from nav_msgs.msg import Odometry
import numpy as np
import rbd_ros
import rclpy
from rclpy.executors import ExternalShutdownException as Ended
from sensor_msgs.msg import JointState

FEET = ('FL_foot', 'FR_foot', 'RL_foot', 'RR_foot')
model = rbd_ros.load_urdf('package://example-robot-data/robots/go2_description/urdf/go2.urdf',
                          floating_base=True, on_warning=lambda text: None)
robot, last = rbd_ros.Dynamics(model), {}


def answer(message: Odometry | JointState) -> None:
    """Send torques as soon as trunk and joints of the same time are there."""
    last[type(message)] = message
    base, joints = last.get(Odometry), last.get(JointState)
    if not base or not joints or base.header.stamp != joints.header.stamp:
        return
    p, r = base.pose.pose.position, base.pose.pose.orientation
    q = np.array([p.x, p.y, p.z, r.x, r.y, r.z, r.w, *joints.position])
    stance = last.setdefault('stance', q[7:])                       # the first one is held
    g, turned = robot.gravity(q), [robot.pose(q, foot)[:3, :3] for foot in FEET]
    J = np.vstack([R @ robot.jacobian(q, foot)[3:] for R, foot in zip(turned, FEET)])
    carried = np.linalg.lstsq(J[:, :6].T, g[:6], rcond=None)[0]     # by the feet, N
    torque = (g - J.T @ carried)[6:] + 100.0 * (stance - q[7:]) - 2.0 * np.array(joints.velocity)
    commands.publish(JointState(header=joints.header, name=joints.name, effort=torque.tolist()))


rclpy.init()
node = rclpy.create_node('quadruped')
commands = node.create_publisher(JointState, 'controller/commands', 10)
node.create_subscription(Odometry, 'simulator/odometry', answer, 10)
node.create_subscription(JointState, 'joint_states', answer, 10)
with suppress(KeyboardInterrupt, Ended):
    rclpy.spin(node)
