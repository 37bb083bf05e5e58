# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""What a real node says of its robot: dynamics, state, diagnostics, faults, saturation."""


from control_msgs.msg import JointTrajectoryControllerState
from controller_rig import Arm
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from node_rig import JOINTS, LATCHED, START
import numpy as np
import pytest
from rbd_ros.control.interface.payload import rotation
from rbd_ros.loop.records import STATES_KEPT, Times
from rbd_ros.loop.words import Word
from rbd_ros.nodes.controller import diagnostics, reports
from rbd_ros.nodes.controller.statistics import LoopStatistics
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, UInt8MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

OK, WARN, ERROR = b'\0', b'\1', b'\2'
MATRICES = ('dynamics/mass_matrix', 'dynamics/gravity', 'dynamics/coriolis', 'dynamics/jacobian',
            'operational_space/inertia', 'operational_space/bias', 'operational_space/condition',
            'operational_space/lost')


@pytest.fixture
def rig(started):
    """Return the rig, whose arm runs in computed torque at rest where it began."""
    started.begin()
    return started


@pytest.fixture
def heard(rig):
    """Return what is reported, by topic, and forget it afterwards."""
    kinds = {'dynamics/joint_state': JointState, 'frame_pose': PoseStamped,
             'frame_twist': TwistStamped, 'external_torque': JointState,
             'external_wrench': WrenchStamped, 'controller_state': JointTrajectoryControllerState,
             **dict.fromkeys(MATRICES, Float64MultiArray)}
    made = [rig.client.create_subscription(kind, f'controller/{name}', found.append, 100)
            for name, kind in kinds.items() for found in [[]]]
    found = {name: each.callback.__self__ for name, each in zip(kinds, made, strict=True)}
    yield found
    for each in made:
        rig.client.destroy_subscription(each)


def to_six(twist):
    """Return angular and linear velocity as numbers."""
    return [getattr(part, axis) for part in (twist.angular, twist.linear) for axis in 'xyz']


def to_ns(message):
    """Return the stamp of a message."""
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


# -- topics ---------------------------------------------------------------------------------------


def test_the_dynamics_are_those_of_the_arm(rig, heard):
    """Pose in the base, velocity in the frame itself, matrices with the names of their rows."""
    rig.must_set(mode='gravity_compensation')
    rig.block()
    rig.qd = np.linspace(-0.02, 0.02, 7)  # though it stands
    rig.run(0.1)
    dynamics, q, qd, T = rig.dynamics, rig.q, rig.qd, rig.dynamics.pose(rig.q, 'tool0')

    def moves():
        found.update((name, each[-1]) for name, each in heard.items() if each)
        return len(found) == len(heard) and all(
            np.abs(each).max() > 1e-9 for each in (
                found['dynamics/joint_state'].velocity,
                found['controller_state'].feedback.velocities, found['dynamics/coriolis'].data,
                to_six(found['frame_twist'].twist)))
    found = {}
    rig.run_until(moves, 'all reports of an arm that moves', 100.0)
    state = found['dynamics/joint_state']
    assert (list(state.name), list(state.position), list(state.velocity)) == (
        list(JOINTS), q.tolist(), qd.tolist())
    pose, twist = found['frame_pose'], found['frame_twist'].twist
    at, turn = pose.pose.position, pose.pose.orientation
    np.testing.assert_allclose([at.x, at.y, at.z], T[:3, 3], atol=1e-12)
    np.testing.assert_allclose(rotation((turn.x, turn.y, turn.z, turn.w)), T[:3, :3], atol=1e-12)
    J = dynamics.jacobian(q, 'tool0')
    np.testing.assert_allclose(to_six(twist), J @ qd, atol=1e-12)
    assert pose.header.frame_id == 'base_link'
    assert found['frame_twist'].header.frame_id == 'tool0'
    H, space = dynamics.mass_matrix(q), dynamics.operational_space(q, qd, 'tool0')
    joints, six = ','.join(JOINTS), 'rx,ry,rz,x,y,z'
    for name, expected, labels in (
            ('dynamics/mass_matrix', H, [joints, joints]),
            ('dynamics/gravity', dynamics.gravity(q), [joints]),
            ('dynamics/coriolis', dynamics.bias(q, qd) - dynamics.gravity(q), [joints]),
            ('dynamics/jacobian', J, [six, joints]),
            ('operational_space/inertia', np.linalg.inv(J @ np.linalg.solve(H, J.T)), [six, six]),
            ('operational_space/bias', space.bias, [six])):
        layout = found[name].layout.dim
        assert [dim.label for dim in layout] == labels
        assert [dim.size for dim in layout] == list(expected.shape)
        assert layout[0].stride == expected.size
        np.testing.assert_allclose(np.reshape(found[name].data, expected.shape), expected,
                                   atol=1e-8)
    control = found['controller_state']
    assert list(control.joint_names) == list(JOINTS) and not control.reference.positions
    assert list(control.feedback.positions) == q.tolist() and not control.error.positions
    np.testing.assert_allclose(control.output.effort, rig.commands[-1].effort, atol=0.1)


def test_an_observed_push(rig, heard):
    """Torque of the joints and wrench of the tip, of an arm that somebody carries in part."""
    rig.must_set(mode='gravity_compensation', gravity_scale=[0.9], observer_gain=[20.0])
    rig.block()
    expected, found = 0.1 * rig.dynamics.gravity(rig.q), heard['external_wrench']
    rig.run_until(lambda: found, 'a wrench', 100.0)
    for _ in range(80):  # it observes what it is shown, and shows what it has observed
        rig.step()
        rig.wait(lambda: to_ns(found[-1]) == rig.now, 'the wrench of this state')
    np.testing.assert_allclose(heard['external_torque'][-1].effort, expected, atol=0.01)
    found = heard['external_wrench'][-1]
    assert found.header.frame_id == 'tool0'
    m, f = found.wrench.torque, found.wrench.force
    np.testing.assert_allclose([m.x, m.y, m.z, f.x, f.y, f.z], np.linalg.lstsq(
        rig.dynamics.jacobian(rig.q, 'tool0').T, expected)[0], atol=0.1)


def test_the_state_of_a_law_that_tracks(rig, heard):
    """Error is reference minus feedback; each report has the time and the stamp of its state."""
    wanted = JointTrajectory(
        joint_names=JOINTS, points=[JointTrajectoryPoint(positions=(START + 0.1).tolist())])

    wanted.points[0].time_from_start.sec = 3
    rig.run_until(lambda: heard['controller_state'], 'reports', 100.0)  # before it moves
    rig.publish('controller/joint_trajectory', wanted)
    rig.run_until(lambda: any(max(each.reference.velocities, default=0.0) > 0.01
                              for each in list(heard['controller_state'])), 'a motion', 100.0)
    for message in heard['controller_state']:
        if not message.reference.positions:
            continue
        np.testing.assert_allclose(message.error.positions, np.subtract(
            message.reference.positions, message.feedback.positions), atol=1e-12)
        np.testing.assert_allclose(message.error.velocities, np.subtract(
            message.reference.velocities, message.feedback.velocities), atol=1e-12)
        assert len(message.reference.accelerations) == 7
        when = message.feedback.time_from_start
        assert abs(when.sec * 10**9 + when.nanosec - to_ns(message)) < 20_000_000


def test_rates_are_divided(rig, heard):
    """A burst comes every dynamics_divider states, the controller's state by its own divider."""
    rig.must_set(dynamics_divider=5, state_divider=10)
    rig.run_until(lambda: heard['dynamics/gravity'], 'reports', 100.0)
    begin = rig.now  # before it there may be some that were thinned otherwise
    for name, divider in (('dynamics/joint_state', 5), ('controller_state', 10)):
        def later(name=name):
            return [to_ns(each) for each in list(heard[name]) if to_ns(each) > begin]
        rig.run_until(lambda later=later: len(later()) > 15, 'reports', 100.0)
        steps = np.diff(later()) / 10_000_000
        assert (steps % divider == 0).all() and steps.min() == divider, steps
    rig.must_set(dynamics_divider=0, state_divider=0)
    rig.run(0.2)
    rig.wait(lambda: not rig.node.controller.snapshots.watched, 'the end of reports')


@pytest.mark.parametrize(('joint', 'axis', 'place', 'torque'), [
    (2, -1, 'joint_3', '3.5 N.m'), (2, 0, 'rx', '3.5 N.m'), (2, 5, 'z', '3.5 N')])
def test_the_last_contact_has_its_unit(joint, axis, place, torque):
    """N.m at a joint that turns and about an axis, N along one."""
    arm = Arm(ramp_time=0.02, **{'contact.reaction': 'report'})
    x = arm.controller.x.contact
    x.found = arm.time
    x.count, x.found_joint, x.found_axis, x.found_torque, x.found_force = 1, joint, axis, 3.5, 7.0
    (_, _, pairs), = diagnostics._contact(arm.controller, arm.time).values()
    values = dict(pairs)
    assert (values['last contact felt by'], values['last contact torque']) == (place, torque)
    assert values['last contact force, N'] == '7'


@pytest.mark.parametrize('time', [1e10, -1.0, np.nan])
def test_a_time_for_which_no_message_has_room_is_unknown(time):
    """Zero stands for it."""
    assert reports._duration(time) == reports.Duration()


@pytest.mark.parametrize('axis', [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0),
                                  (0.6, 0.0, 0.8)])
@pytest.mark.parametrize('angle', [0.0, 0.3, 3.0, np.pi])
def test_any_rotation_is_a_quaternion(axis, angle):
    """Whichever part is largest, the matrix comes back."""
    x, y, z = np.sin(angle / 2.0) * np.array(axis)
    R = np.array(rotation((x, y, z, np.cos(angle / 2.0))))
    np.testing.assert_allclose(rotation(reports.quaternion(R)), R, atol=1e-12)


# -- states, faults, saturation -------------------------------------------------------------------


def test_what_is_announced(rig):
    """Each state in its order, the mode, the fault with its words, and the way out of a hold."""
    rig.texts['state'].clear()
    with rig.logs('braking (stop requested: ~/stop)',
                  'holding (stop requested: ~/stop); to continue, call /controller/reset'):
        assert rig.call('stop').message == 'braking'
        rig.run_until(lambda: rig.said('state') == 'holding', 'a hold')
        assert rig.said('fault') == 'stop requested: ~/stop'
    assert rig.call('reset').message == 'faults cleared, ramping in'
    rig.run_until(lambda: rig.said('state') == 'running', 'running')
    assert rig.texts['state'] == ['braking', 'holding', 'ramping in', 'running']
    assert rig.said('fault') == ''
    answer = rig.call('reset')
    assert not answer.success and 'nothing to reset' in answer.message
    with rig.logs('mode: damping'):
        rig.must_set(mode='damping')


def test_saturation_is_announced(rig):
    """Joints at their limit are 2, those at their rate limit 1, others 0."""
    heard = rig.listen(UInt8MultiArray, 'controller/saturation', LATCHED)
    rig.wait(lambda: heard, 'saturation')
    rig.must_set(mode='computed_torque')
    rig.block()
    rig.q = START + np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    seen = set()

    def full():
        seen.update(each.data[1] for each in heard)
        return 2 in seen
    rig.run_until(full, 'the limit of joint_2', 60.0)
    assert heard[-1].layout.dim[0].label == ','.join(JOINTS)
    assert rig.diagnosis('torque', **{'at the limit': 'joint_2'})[:2] == (
        WARN, 'at the torque limit: joint_2')
    rig.q = START.copy()
    rig.run_until(lambda: list(heard[-1].data) == [0] * 7, 'none', 60.0)
    assert rig.diagnosis('torque', text='within')[0] == OK


# -- diagnostics ----------------------------------------------------------------------------------


def test_parts_of_the_diagnostics(rig):
    """Real time, states with their rates, supervisor, reference and load."""
    level, text, values = rig.diagnosis('real time')
    assert (level, text, values['executor']) == (OK, 'as configured', 'events')
    level, text, values = rig.diagnosis('supervisor')
    assert (level, text) == (OK, 'running')
    assert (values['state'], values['mode'], values['gain']) == (
        'running', 'computed_torque', '1')
    level, text, values = rig.diagnosis('load')
    assert (level, text) == (OK, 'payload 0 kg') and values['gravity [m/s^2]'] == '0 0 -9.81'
    assert values['gravity source'] == 'parameter'
    values = rig.diagnosis('joint states')[2]
    count = int(values['states'])
    assert values['nominal rate [Hz]'] == '100'
    assert not [each for each in values if 'latency' in each]  # the clock is a simulated one
    rig.run(0.5)
    assert int(rig.diagnosis('joint states')[2]['states']) >= count + 50
    assert rig.diagnosis('reference')[1] == 'hold'
    rig.must_set(mode='gravity_compensation')
    assert rig.diagnosis('reference')[:2] == (OK, 'not used')


def test_a_fault_is_an_error_with_its_time(rig):
    """Told at once, with cause and time of the wall, until it is reset."""
    rig.diagnosis('supervisor', state='running')
    rig.call('stop')
    rig.run_until(lambda: rig.said('state') == 'holding', 'a hold')
    level, text, values = rig.diagnosis('supervisor', **{'fault 1 cause': 'OPERATOR_STOP'})
    assert level == ERROR and ': stop requested: ~/stop' in text and 'fault 2' not in values
    assert values['fault 1 time'][:2] == '20' and values['fault 1 time'].endswith('+00:00')
    assert rig.call('reset').success
    rig.run_until(lambda: rig.said('state') == 'running', 'running')
    level, _, values = rig.diagnosis('supervisor', text='running')
    assert level == OK and 'fault 1' not in values


def test_refused_states_are_counted_with_their_reason(rig):
    """A state that is not finite, and bytes that are none."""
    q = rig.q.copy()
    q[2] = np.nan
    rig.step(wait=False, q=q)
    values = rig.diagnosis('joint states', **{'refused messages': '1'})[2]
    assert 'joint_3' in values['last refusal']


def test_the_tip_at_a_singular_pose_is_a_warning(rig):
    """The condition number, and the directions that are lost."""
    rig.must_set(mode='operational_space')
    rig.block()
    values = rig.diagnosis('reference')[2]
    assert float(values['condition number']) > 1.0 and values['lost directions'] == ''
    rig.q = START * [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]  # the elbow is stretched
    rig.run(0.5)
    level, _, values = rig.diagnosis('reference', text='singular')
    assert level == WARN and values['lost directions']


# -- what the loop took ---------------------------------------------------------------------------


class Loop:
    """The times that a loop has kept, and what is summed up of them."""

    def __init__(self):
        self.times, self.states = Times(*np.zeros((3, STATES_KEPT))), 0
        self.statistics = LoopStatistics(self.times, lambda word: {
            Word.STATES: self.states, Word.WAITING: 3}[word])

    def add(self, *row):
        """Keep begin, end and stamp of a state."""
        for each, time in zip(self.times, row, strict=True):
            each[self.states % STATES_KEPT] = time
        self.states += 1


def test_times_of_the_loop_are_summed_up():
    """Ten states every 2 ms, each in work for 0.1 ms, the last one for 0.5 ms."""
    loop = Loop()
    summary = loop.statistics.summary
    for k in range(10):
        begin = 5.0 + 0.002 * k
        loop.add(begin, begin + (1e-4 if k < 9 else 5e-4), begin + 1e3 - 3e-4)
    found = summary(5.02, 1005.02)
    assert found.states == loop.statistics.count == 10 and loop.statistics.superseded == 3
    assert found.rate == pytest.approx(10 / 0.02)     # since the first one
    assert found.period == pytest.approx((0.002, 0.002, 0.002))
    assert found.compute == pytest.approx((1e-4, 1e-4 + 0.91 * 4e-4, 5e-4))
    assert found.latency == pytest.approx((4e-4, 4e-4 + 0.91 * 4e-4, 8e-4))
    assert found.age == pytest.approx(5.02 - 5.0185)
    # the next window begins where this one ended, and is empty
    found = summary(5.52, 1005.52)
    assert (found.states, found.rate, found.period) == (0, 0.0, (0.0, 0.0, 0.0))
    assert found.age == pytest.approx(5.52 - 5.0185)
    loop.add(5.53, 5.531, 0.0)
    assert summary(5.62, 1005.62).rate == pytest.approx(10.0)
    loop.statistics.skip(6.0)
    loop.add(6.1, 6.101, 0.0)
    assert summary(6.5, 1006.5).rate == pytest.approx(2.0)


def test_long_windows_keep_the_newest():
    """Every state counts; times are those of the last 4032."""
    loop = Loop()
    for k in range(5000):
        loop.add(0.001 * k, 0.001 * k + (0.5 if k < 968 else 1e-4), 0.0)
    found = loop.statistics.summary(5.0, 5.0)
    assert found.states == 5000 and found.compute.largest == pytest.approx(1e-4)
    empty = LoopStatistics().summary(1.0, 1.0)
    assert (empty.states, empty.rate, empty.age) == (0, 0.0, float('inf'))
