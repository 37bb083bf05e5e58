# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Flood services, the action and /tf at once: request_flooder.py per_second seconds.

Requests are sent as fast as asked for, in turn, and nobody waits for an answer.
"""

from __future__ import annotations

from collections.abc import Callable
import itertools
import sys
import time
import uuid

from control_msgs.action import FollowJointTrajectory
from geometry_msgs.msg import TransformStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
import rclpy
from rclpy.node import Node
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from type_description_interfaces.srv import GetTypeDescription
from unique_identifier_msgs.msg import UUID

JOINTS = [f'joint_{k}' for k in range(1, 8)]  # of the built-in arm
Q = [0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9]

_GOAL = FollowJointTrajectory.Impl.SendGoalService


def goal(names: list[str]) -> Callable[[], object]:
    """Return what makes a goal with an identifier of its own."""
    point = JointTrajectoryPoint(positions=Q)
    point.time_from_start.sec = 5

    def made() -> object:
        request = _GOAL.Request(goal_id=UUID(uuid=list(uuid.uuid4().bytes)))
        request.goal.trajectory = JointTrajectory(joint_names=names, points=[point])
        return request
    return made


def requests() -> list[tuple[type, str, Callable[[], object]]]:
    """Return type, name and maker of each kind of request."""
    mode = Parameter(name='mode', value=ParameterValue(
        type=ParameterType.PARAMETER_STRING, string_value='no such mode'))
    payload = Parameter(name='payload.mass', value=ParameterValue(
        type=ParameterType.PARAMETER_DOUBLE, double_value=0.1))
    fixed: list[tuple[type, str, object]] = [
        (DescribeParameters, 'describe_parameters', DescribeParameters.Request(names=['mode'])),
        (SetParameters, 'set_parameters', SetParameters.Request(parameters=[mode])),
        (SetParameters, 'set_parameters', SetParameters.Request(parameters=[payload])),
        (GetParameters, 'get_parameters', GetParameters.Request(names=['mode', 'nothing'])),
        (ListParameters, 'list_parameters', ListParameters.Request()),
        (GetState, 'get_state', GetState.Request()),
        (ChangeState, 'change_state', ChangeState.Request(
            transition=Transition(id=Transition.TRANSITION_CONFIGURE))),
        (GetTypeDescription, 'get_type_description',
         GetTypeDescription.Request(type_name='std_msgs/msg/String'))]
    table = [(kind, f'/controller/{name}', lambda made=made: made)
             for kind, name, made in fixed]
    action = '/controller/follow_joint_trajectory/_action/send_goal'
    return [*table, (_GOAL, action, goal(JOINTS)), (_GOAL, action, goal(['nobody']))]


def transforms(node: Node) -> Callable[[], object]:
    """Return what publishes a transform of a frame that nobody needs."""
    publisher = node.create_publisher(TFMessage, '/tf', 100)
    rows = []
    for k in range(500):
        row = TransformStamped(child_frame_id=f'invented_{k}')
        row.header.frame_id, row.transform.rotation.w = 'base_link', 1.0
        rows.append(serialize_message(TFMessage(transforms=20 * [row])))
    cycle = itertools.cycle(rows)
    return lambda: publisher.publish(next(cycle))


def main(rate: float, seconds: float) -> None:
    """Send until the time is over; print how many."""
    rclpy.init()
    node = rclpy.create_node('request_flooder')
    send = [transforms(node)]
    for kind, name, made in requests():
        client = node.create_client(kind, name)
        assert client.wait_for_service(20.0), name
        send.append(lambda client=client, made=made: client.handle.send_request(made()))
    time.sleep(0.5)  # the servers must have found us, too
    turns, count = itertools.cycle(send), 0
    print('begun', flush=True)
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        while count < (time.monotonic() - begin) * rate and time.monotonic() < begin + seconds:
            next(turns)()
            count += 1
        time.sleep(2e-4)
    print(count, flush=True)
    sys.stdin.read()  # stay until the one who started us has seen enough
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main(float(sys.argv[1]), float(sys.argv[2]))
