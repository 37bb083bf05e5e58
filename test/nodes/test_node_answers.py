# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Every goal and every request has one answer, however busy the node is when they come."""

from __future__ import annotations

from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from node_rig import Goal, JOINTS, NodeRig
import numpy as np
import pytest
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectoryPoint

#: that are asked at once, and room for their answers
COUNT, ROOM = 60, QoSProfile(depth=1000)


@pytest.fixture(scope='module')
def rig():
    """Return a node whose arm runs in computed torque at rest."""
    rig = NodeRig()
    rig.begin(goal_mode='')
    yield rig
    rig.close()


def quick(rig, time):
    """Return a goal of a hundredth of a second or so, to where the arm is."""
    made = FollowJointTrajectory.Goal()
    made.trajectory.joint_names = list(JOINTS)
    made.trajectory.points = [JointTrajectoryPoint(
        positions=rig.q.tolist(), time_from_start=Duration(nanosec=int(1e9 * time)))]
    return made


def test_requests_that_come_while_the_node_is_busy(rig):
    """All that come while a callback takes its time are answered, each once."""
    clients = [rig.client.create_client(kind, name, qos_profile=ROOM) for kind, name in (
        (SetBool, 'controller/pause'), (Trigger, 'controller/reset'))]
    for each in clients:
        rig.wait(each.service_is_ready, 'a service')
    answered = [0] * (2 * COUNT)

    def count(k):
        return lambda _: answered.__setitem__(k, answered[k] + 1)
    with rig.node.lock:  # as a callback that takes long
        for k in range(2 * COUNT):
            kind = clients[k % 2].srv_type.Request
            clients[k % 2].call_async(kind()).add_done_callback(count(k))
    rig.wait(lambda: all(answered), 'an answer to each request', steps=True)
    rig.run(0.1)
    assert answered == [1] * (2 * COUNT)


def test_goals_that_come_while_the_node_is_busy(rig):
    """Each of many is accepted or rejected, and has one result."""
    rng = np.random.default_rng(1)
    client = ActionClient(rig.client, FollowJointTrajectory, 'controller/follow_joint_trajectory',
                          goal_service_qos_profile=ROOM, result_service_qos_profile=ROOM)
    rig.wait(client.server_is_ready, 'the action')
    results = {}

    def accepted(k):
        def asked(future):
            handle = future.result()
            if handle.accepted:
                handle.get_result_async().add_done_callback(
                    lambda done: results.setdefault(k, []).append(done.result().status))
            else:
                results.setdefault(k, []).append('rejected')
        return asked
    with rig.node.lock:
        for k in range(COUNT):
            client.send_goal_async(quick(rig, rng.uniform(0.01, 0.03))).add_done_callback(
                accepted(k))
    rig.wait(lambda: len(results) == COUNT, 'a result of each goal', steps=True)
    assert all(len(each) == 1 for each in results.values())
    client.destroy()


def test_quick_goals_one_after_another(rig):
    """Each has its result, whatever the one before has left."""
    rng = np.random.default_rng(2)
    for k in range(150):
        sent = Goal(rig, quick(rig, rng.uniform(0.005, 0.03)))
        end = ('succeeded', 'canceled') if rng.random() < 0.3 and sent.cancel() else ('succeeded',)
        assert sent.end() in end, k


def test_goals_in_close_succession(rig):
    """Goals that are replaced have their results while others come, not after the last one."""
    client = ActionClient(rig.client, FollowJointTrajectory, 'controller/follow_joint_trajectory',
                          goal_service_qos_profile=ROOM, result_service_qos_profile=ROOM)
    rig.wait(client.server_is_ready, 'the action')
    sent, results = [], []

    def accepted(future):
        future.result().get_result_async().add_done_callback(results.append)
    while not results:
        assert len(sent) < 150, 'none has ended'
        sent.append(client.send_goal_async(quick(rig, 1.0)))
        sent[-1].add_done_callback(accepted)
        rig.wait(lambda: sum(not each.done() for each in sent) < 9, 'an answer to a goal')
    rig.run_until(lambda: len(results) == len(sent), 'a result of each goal')
    client.destroy()
