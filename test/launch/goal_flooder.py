# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Flood the action with goals for some seconds, as fast as possible: goal_flooder.py seconds."""

from __future__ import annotations

import sys
import time

import rclpy
from request_flooder import FollowJointTrajectory, goal, JOINTS

ACTION = 'controller/follow_joint_trajectory/_action/send_goal'


def main(seconds: float) -> None:
    """Send until the time is over; print how many."""
    rclpy.init()
    node = rclpy.create_node('goal_flooder')
    client = node.create_client(FollowJointTrajectory.Impl.SendGoalService, ACTION)
    assert client.wait_for_service(20.0)
    time.sleep(0.5)  # the server must have found us, too
    made, count = goal(JOINTS), 0
    print('begun', flush=True)
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        client.handle.send_request(made())
        count += 1
    print(count, flush=True)
    sys.stdin.read()  # stay until the one who started us has seen enough
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main(float(sys.argv[1]))
