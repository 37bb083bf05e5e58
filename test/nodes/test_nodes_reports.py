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

"""What is published about the robot, and in which order, without a middleware."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS is not sourced')
controller_rig = pytest.importorskip('controller_rig')
from rbd_ros.control.interface.causes import Cause  # noqa: E402
from rbd_ros.control.load.payload import rotation  # noqa: E402
from rbd_ros.control.references.trajectory import Knots  # noqa: E402
from rbd_ros.nodes.controller import reports as reports_module  # noqa: E402
from rbd_ros.nodes.controller.reports import Reports  # noqa: E402


class FakePublisher:
    """Keeps what is published, in its node."""

    def __init__(self, node, name):
        self._node, self._name = node, name.removeprefix('~/')

    def publish(self, message):
        """Keep a message."""
        self._node.sent.append((self._name, message))
        self._node.on_publish()

    def get_subscription_count(self):
        """Return whether somebody listens."""
        return int(self._node.heard is None or self._name in self._node.heard)


class FakeTimer:
    """Never comes."""

    def is_canceled(self):
        """Return that it is there."""
        return False

    reset = cancel = is_canceled


class FakeNode:
    """Keeps what is published, in order."""

    def __init__(self):
        self.sent, self.heard = [], None  # all
        self.on_publish = lambda: None

    def create_publisher(self, _, name, depth):
        """Return something to publish with."""
        return FakePublisher(self, name)

    def create_timer(self, *_, **__):
        """Return a timer that never comes."""
        return FakeTimer()


@pytest.fixture
def arm():
    """Return an arm that stands while somebody pushes it, and what is reported about it."""
    made = controller_rig.Arm(dynamics_divider=5, state_divider=10, ramp_time=0.1)
    node = FakeNode()
    reports = Reports(node, made.controller, made.controller.kernels['report'])
    made.activate()

    def reported(seconds):
        node.sent.clear()
        made.run(seconds)
        for _ in range(100):  # it reports some at a time
            reports.drain()
        return node.sent
    made.reported, made.node, made.reports = reported, node, reports
    reported(0.6)
    return made


def test_order_of_a_burst(arm):
    """Each burst begins with its state, and has everything once before the next one begins."""
    sent = [name for name, _ in arm.reported(0.1) if name != 'controller_state']
    starts = [k for k, name in enumerate(sent) if name == 'dynamics/joint_state']
    assert len(starts) == 20
    assert starts[0] == 0
    bursts = [sent[a:b] for a, b in zip(starts, [*starts[1:], None])]
    assert all(burst == bursts[0] for burst in bursts)
    assert len(set(bursts[0])) == len(bursts[0])
    assert {'dynamics/mass_matrix', 'dynamics/gravity', 'dynamics/coriolis', 'dynamics/jacobian',
            'operational_space/inertia', 'operational_space/bias', 'operational_space/condition',
            'frame_pose', 'frame_twist', 'external_torque', 'external_wrench'} <= set(bursts[0])


def test_only_what_somebody_hears(arm, monkeypatch):
    """Other topics stay silent; after a pause the observation of forces begins anew."""
    arm.node.heard = {'dynamics/gravity', 'external_torque'}
    monkeypatch.setattr(reports_module, '_PERIOD', 0.0)  # listeners are looked for at every call
    sent = arm.reported(0.1)
    assert {name for name, _ in sent} == arm.node.heard
    assert len(sent) == 40
    arm.change(gravity_scale=[0.9])  # somebody carries the rest
    assert np.abs(arm.reported(0.5)[-1][1].effort).max() > 0.1
    arm.node.heard = set()
    assert not arm.reported(0.5) and not arm.controller.snapshots.watched
    arm.node.heard = {'external_torque'}
    arm.reports.drain()
    first, *_ = [np.array(message.effort) for _, message in arm.reported(0.1)]
    assert np.abs(first).max() == 0.0


def test_divided_rates(arm):
    """A burst comes every dynamics_divider states, the controller's state by its own divider."""
    sent = [name for name, _ in arm.reported(0.2)]
    assert sent.count('dynamics/joint_state') == 40
    assert sent.count('controller_state') == 20


@pytest.mark.parametrize('wrong', [
    {'qd': 1e200}, {'q': np.nan}, {'qd': np.inf}, {'gravity': np.inf}, {'payload': np.nan}])
def test_dynamics_without_a_value(arm, wrong):
    """Only the state is reported; the next one is whole again, and nothing raises."""
    arm.reported(0.1)
    arm.run(0.1)
    snapshots = arm.controller.snapshots.kept
    bad = snapshots[3]._replace(**{name: np.full_like(getattr(snapshots[3], name), value)
                                   for name, value in wrong.items()})
    snapshots.extend([bad] * 5)
    while snapshots:  # it reports some at a time
        arm.reports.drain()
    assert [name for name, _ in arm.node.sent if name != 'controller_state'][-1] == \
        'dynamics/joint_state'
    after = arm.reported(0.1)
    assert {'dynamics/gravity', 'external_torque', 'external_wrench'} <= {
        name for name, _ in after}
    for name, message in after:
        if name == 'external_torque':
            assert np.isfinite(message.effort).all()


def test_others_have_their_turn(arm):
    """States that come faster than they can be reported do not keep the thread for ever."""
    arm.reported(0.01)
    snapshots = arm.controller.snapshots.kept
    arm.run(0.01)
    one = snapshots[-1]
    arm.node.on_publish = lambda: snapshots.append(one)
    arm.reports.drain()
    assert len(snapshots) == snapshots.maxlen or len(snapshots) > 10


def test_no_reference_in_free_drive(arm):
    """Gravity compensation has neither reference nor error, but feedback and output."""
    state = next(message for name, message in arm.reported(0.1) if name == 'controller_state')
    assert len(state.reference.positions) == len(state.error.positions) == 0
    assert list(state.feedback.positions) == arm.q.tolist()
    np.testing.assert_allclose(state.output.effort, arm.dynamics.gravity(arm.q), atol=1e-9)


def test_when_a_state_was_taken(arm):
    """A report has the control time of its state; one that no message has room for is unknown."""
    arm.node.sent.clear()
    arm.run(0.1)
    times = np.array([each.now for each in arm.controller.snapshots.kept])
    for _ in range(100):  # it reports some at a time
        arm.reports.drain()
    spans = [message.feedback.time_from_start for name, message in arm.node.sent
             if name == 'controller_state']
    told = [each.sec + 1e-9 * each.nanosec for each in spans]
    assert len(told) >= 9 and told == sorted(told)
    assert all(np.abs(times - each).min() < 2e-9 for each in told)
    for wrong in (1e10, -1.0, np.nan):
        assert reports_module._duration(wrong) == reports_module.Duration()


def test_reference_and_error_of_a_law_that_tracks(arm):
    """Error is reference minus feedback; a continuous joint takes the short way round."""
    arm.change(mode='computed_torque')
    arm.run(0.01)
    way = 0.01 * np.arange(7.0)
    point = Knots(np.zeros(1), np.array([arm.q + way]), None, None)
    arm.controller.take_points(arm.time, arm.time, point, arm.time)
    messages = [message for name, message in arm.reported(0.3) if name == 'controller_state']
    before, state = messages[-2:]
    np.testing.assert_allclose(state.error.positions, np.subtract(
        state.reference.positions, state.feedback.positions), atol=1e-12)
    np.testing.assert_allclose(state.error.positions, way, atol=1e-9)
    np.testing.assert_allclose(state.error.velocities, state.reference.velocities, atol=1e-12)
    assert len(before.reference.accelerations) == 7
    first = next(m for m in messages if max(m.reference.velocities) > 1e-3)
    assert max(first.reference.accelerations) > max(first.reference.velocities)
    arm.reports._continuous = np.array([True] + [False] * 6)
    arm.controller.snapshots.kept.clear()
    profile = arm.controller.x.references.joint.profile
    profile.state[0, 0] += 2.0 * np.pi
    profile.target[0, 0] += 2.0 * np.pi
    state = [message for name, message in arm.reported(0.02) if name == 'controller_state'][-1]
    assert state.error.positions[0] == pytest.approx(0.0, abs=1e-9)


def test_frame_is_where_the_robot_has_it(arm):
    """Pose in the base, velocity in the frame itself, matrices with the names of their rows."""
    arm.qd, arm.still = np.linspace(-0.02, 0.02, 7), True
    sent = dict(arm.reported(0.02))
    pose, twist = sent['frame_pose'], sent['frame_twist'].twist
    expected = arm.pose
    at, turn = pose.pose.position, pose.pose.orientation
    np.testing.assert_allclose([at.x, at.y, at.z], expected[:3, 3], atol=1e-12)
    np.testing.assert_allclose(rotation((turn.x, turn.y, turn.z, turn.w)), expected[:3, :3],
                               atol=1e-12)
    six = arm.dynamics.jacobian(arm.q, 'tool0') @ arm.qd
    np.testing.assert_allclose([twist.angular.x, twist.angular.y, twist.angular.z, twist.linear.x,
                                twist.linear.y, twist.linear.z], six, atol=1e-12)
    assert pose.header.frame_id == 'base_link'
    assert sent['frame_twist'].header.frame_id == 'tool0'
    matrix = sent['dynamics/mass_matrix']
    np.testing.assert_allclose(np.reshape(matrix.data, (7, 7)), arm.dynamics.mass_matrix(arm.q),
                               atol=1e-12)
    assert [dim.label for dim in matrix.layout.dim] == [','.join(arm.robot.joints)] * 2
    bias = arm.dynamics.bias(arm.q, arm.qd)
    np.testing.assert_allclose(np.add(sent['dynamics/coriolis'].data,
                                      sent['dynamics/gravity'].data), bias, atol=1e-9)


def test_nothing_is_said_about_forces_without_torque(arm):
    """While no command leaves there is nothing to compare with."""
    arm.controller.post(lambda _, steady: arm.controller.fault(steady, Cause.DEACTIVATED))
    arm.run(1.2)
    arm.controller.snapshots.kept.clear()
    assert arm.state == 'released'
    names = {name for name, _ in arm.reported(0.05)}
    assert 'dynamics/gravity' in names and not names & {'external_torque', 'external_wrench'}


def test_without_listeners_nothing_is_kept(arm):
    """Reports that nobody wants cost nothing; after the end nothing is published."""
    arm.change(dynamics_divider=0, state_divider=0)
    assert not arm.reported(0.05) and not arm.controller.snapshots.kept
    assert not arm.controller.snapshots.watched
    arm.change(dynamics_divider=5)
    arm.reported(0.01)
    assert arm.reported(0.05)
    arm.node.destroy_timer = arm.node.destroy_publisher = lambda _: None
    arm.reports.destroy()
    assert not arm.reported(0.05)


@pytest.mark.parametrize('gain', [5.0, 50.0])
def test_observer_gain_counts_at_once(arm, gain):
    """The estimate approaches a push as exp(-K t), with the gain that was set last."""
    arm.change(observer_gain=[gain])
    tip = [message for name, message in arm.reported(0.05) if name == 'external_torque']
    np.testing.assert_allclose(tip[-1].effort, 0.0, atol=1e-6)
    arm.change(gravity_scale=[0.9])  # it stands all the same: somebody carries the rest
    wanted = 0.1 * arm.dynamics.gravity(arm.q)
    found = [np.array(message.effort) for name, message in arm.reported(0.1)
             if name == 'external_torque']
    assert abs(1.0 - found[-1][1] / wanted[1] - np.exp(-gain * 0.1)) < 0.1
