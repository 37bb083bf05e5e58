# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Flood topics from a process of its own: flooder.py seconds.

Each line of its input has messages per second and the name of a flood; it answers ``begun``, and
then with the number of messages.
"""

from __future__ import annotations

import itertools
import sys
import time

from geometry_msgs.msg import InertiaStamped, PoseStamped, TwistStamped
import rclpy
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

JOINTS = [f'joint_{k}' for k in range(1, 8)]  # of the built-in arm
Q = [0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9]


def messages(kind: str) -> tuple[type, str, list[object]]:
    """Return type, topic and messages of a flood."""
    payload = InertiaStamped()
    payload.inertia.m = 0.1
    pose = PoseStamped()
    pose.header.frame_id = 'tool0'
    pose.pose.orientation.w = 1.0
    point = JointTrajectory(joint_names=JOINTS, points=[JointTrajectoryPoint(positions=Q)])
    twist = TwistStamped()
    twist.header.frame_id = 'tool0'
    table: dict[str, tuple[type, str, list[object]]] = {
        'payload': (InertiaStamped, 'controller/payload', [payload]),
        'trajectory': (JointTrajectory, 'controller/joint_trajectory', [point]),
        'bad trajectory': (JointTrajectory, 'controller/joint_trajectory', [
            JointTrajectory(joint_names=['nobody'], points=point.points)]),
        'pose': (PoseStamped, 'controller/target_pose', [pose]),
        'twist': (TwistStamped, 'controller/target_twist', [twist]),
        'dead_man': (Bool, 'controller/dead_man', [Bool(data=True)]),
        'description': (String, 'robot_description', [String(data='x' * 2000)]),
        'names': (JointState, 'joint_states', [
            JointState(name=[f'invented_{k}'], position=[0.0]) for k in range(2000)])}
    return table[kind]


def flood(node: Node, kind: str, rate: float, seconds: float) -> None:
    """Publish until the time is over; print how many."""
    type_, topic, samples = messages(kind)
    publisher = node.create_publisher(type_, topic, 1)
    data = itertools.cycle([serialize_message(each) for each in samples])
    end = time.monotonic() + 10.0
    while not publisher.get_subscription_count() and time.monotonic() < end:
        time.sleep(0.02)
    begin, count = time.monotonic(), 0
    print('begun', flush=True)
    while (past := time.monotonic() - begin) < seconds:
        while count < past * rate:  # as many as are due, if it can
            publisher.publish(next(data))
            count += 1
        time.sleep(2e-4)
    print(count, flush=True)
    node.destroy_publisher(publisher)


def main(seconds: float) -> None:
    """Take orders until the input ends."""
    rclpy.init()
    node = rclpy.create_node('flooder')
    for line in sys.stdin:
        rate, kind = line.strip().split(maxsplit=1)
        flood(node, kind, float(rate), seconds)
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main(float(sys.argv[1]))
