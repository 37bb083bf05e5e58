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

"""A client that behaves as MoveIt's simple controller manager, in process on a fake clock."""

from collections import Counter

from action_rig import Desk
from control_msgs.msg import JointTolerance
from moveit_client import Planner
from moveit_rig import ENDS
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.references.results import ResultCode
from rclpy.action import CancelResponse

#: rad and rad/s by which the arm of a right model may be off its plan
NEAR, SLOW = 2e-3, 2e-2


class Manager:
    """What moveit_simple_controller_manager does with one controller."""

    def __init__(self, monkeypatch, seed=0, **values):
        self.desk = desk = Desk(monkeypatch, stiffness=[400.0], damping=[40.0], **values)
        desk.start()
        self.planner, self.results = Planner(desk.arm.robot.joints, seed), Counter()
        self.rng = self.planner.rng
        answer = desk.server.notify_execute

        def counted(handle, finish):
            self.results[handle.goal_id.uuid] += 1
            answer(handle, finish)
        desk.server.notify_execute = counted

    @property
    def plan(self):
        """Return the last plan."""
        return self.planner.plan

    def send(self, seconds=1.0, size=0.15, **fields):
        """Plan from the measured state and send."""
        goal = self.planner.goal(self.desk.arm.q, seconds, size, **fields)
        self.begun, self.handle = self.desk.arm.time, self.desk.send(goal)[1]
        return self.handle

    def wait(self):
        """Wait for as long as MoveIt does; return how it ended."""
        self.desk.run(self.planner.allowed)
        return ENDS.get(self.handle.ended, 'TIMED_OUT')

    def cancel(self):
        """Cancel the goal."""
        self.handle.is_cancel_requested = True
        assert self.desk.cancel(self.handle) is CancelResponse.ACCEPT

    def off(self):
        """Return how far the arm is off the plan now."""
        q, qd, _ = self.plan.at(self.desk.arm.time - self.begun)
        return (float(np.abs(self.desk.arm.q - q).max()), float(np.abs(
            self.desk.arm.qd - qd).max()))


@pytest.fixture
def manager(monkeypatch):
    """Return a manager of an arm that runs."""
    return Manager(monkeypatch)


def code(handle):
    """Return the code and the text of a result."""
    return ResultCode(handle.result.error_code), handle.result.error_string


@pytest.mark.parametrize('seed', range(3))
def test_plan_is_executed(monkeypatch, seed):
    """200 points are followed within millimetres of a radian; feedback has the plan's numbers."""
    manager, off = Manager(monkeypatch, seed), []
    handle = manager.send()
    for _ in range(50):
        manager.desk.run(0.02)
        off.append(manager.off())
    assert np.max(off, axis=0)[0] < NEAR and np.max(off, axis=0)[1] < SLOW
    assert manager.wait() == 'SUCCEEDED' and code(handle) == (0, 'goal reached')
    np.testing.assert_allclose(manager.desk.arm.q, manager.plan.end, atol=NEAR)
    assert manager.results == {handle.goal_id.uuid: 1}
    times = [each.desired.time_from_start.nanosec * 1e-9 + each.desired.time_from_start.sec
             for each in handle.feedback]
    assert len(times) >= 8 and 0.0 < min(np.diff(times)) and max(np.diff(times)) < 0.2
    for time, message in zip(times, handle.feedback, strict=True):
        q, qd, _ = manager.plan.at(time)
        assert message.joint_names == list(manager.desk.arm.robot.joints)
        np.testing.assert_allclose(message.desired.positions, q, atol=5e-3)
        np.testing.assert_allclose(message.desired.velocities, qd, atol=5e-2)
        np.testing.assert_allclose(message.actual.positions, q, atol=5e-3 + NEAR)
        np.testing.assert_allclose(message.error.positions, np.subtract(
            message.desired.positions, message.actual.positions), atol=1e-12)


@pytest.mark.parametrize('cancels', [False, True])
@pytest.mark.parametrize('seed', range(3))
def test_replaced_midway(monkeypatch, seed, cancels):
    """By a continuation, or cancelled first: each goal ends once, the arm is not jerked."""
    manager = Manager(monkeypatch, seed)
    desk, period = manager.desk, manager.desk.arm.period
    first = manager.send()
    desk.run(0.02 * manager.rng.integers(10, 40))
    begin = len(desk.arm.qd_log)
    if cancels:
        manager.cancel()
        desk.run(0.02 * manager.rng.integers(0, 10))
    second = manager.send()
    assert manager.wait() == 'SUCCEEDED'
    assert ENDS[first.ended] == ('PREEMPTED' if cancels else 'ABORTED')
    assert code(first) == ((0, 'canceled by the client') if cancels else (
        ResultCode.INVALID_GOAL, 'pre-empted by a new trajectory'))
    assert manager.results == {first.goal_id.uuid: 1, second.goal_id.uuid: 1}
    np.testing.assert_allclose(desk.arm.q, manager.plan.end, atol=NEAR)
    limit = desk.arm.controller.p.references.joint.acceleration
    turned = np.abs(np.diff(desk.arm.qd_log[begin:], axis=0)).max(axis=0) / period
    assert (turned <= 2.5 * limit).all()


def test_cancelled(manager):
    """The stop button: the arm comes to rest within v/a and what the law needs to settle."""
    handle = manager.send(1.0, 0.3)
    manager.desk.run(0.5)
    speed = np.abs(manager.desk.arm.qd)
    assert speed.max() > 0.2
    manager.cancel()
    limit = manager.desk.arm.controller.p.references.joint.acceleration
    manager.desk.run(round(float((speed / limit).max()) / 0.02 + 1.0) * 0.02)
    assert not manager.desk.arm.reference[1].any()
    manager.desk.run(0.5)
    assert ENDS[handle.ended] == 'PREEMPTED' and np.abs(manager.desk.arm.qd).max() < 2e-3
    assert manager.results == {handle.goal_id.uuid: 1} and manager.desk.arm.state == 'running'


@pytest.mark.parametrize('which', ['path', 'goal'])
def test_tolerances(manager, which):
    """Somebody holds the arm: the result names tolerance and joint, and the controller runs."""
    entries = [JointTolerance(name=name, position=0.01) for name in manager.desk.arm.robot.joints]
    handle = manager.send(**{f'{which}_tolerance': entries})
    manager.desk.arm.external = None
    manager.desk.arm.qd[:] = 0.0
    assert manager.wait() == 'ABORTED'
    found, text = code(handle)
    assert found is ResultCode[f'{which.upper()}_TOLERANCE_VIOLATED']
    assert f'exceeds the {which} tolerance 0.01' in text and text.startswith('joint_')
    assert manager.results == {handle.goal_id.uuid: 1} and manager.desk.arm.state == 'running'


def test_stop_and_what_comes_after_it(manager):
    """A stop ends the goal with its cause; goals are refused until the reset; then they run."""
    first = manager.send()
    manager.desk.run(0.4)
    manager.desk.arm.stop(Cause.OPERATOR_STOP, '~/stop')
    assert manager.wait() == 'ABORTED'
    assert code(first)[1].startswith('the controller stopped: ')
    second = manager.send()
    assert manager.wait() == 'ABORTED'
    assert code(second) == (
        ResultCode.INVALID_GOAL, 'the controller is holding (stop requested: ~/stop): when it has '
        'come to rest, call ~/reset')
    manager.desk.arm.reset()
    manager.desk.run(1.0)
    third = manager.send()
    assert manager.wait() == 'SUCCEEDED'
    assert manager.results == {each.goal_id.uuid: 1 for each in (first, second, third)}
