# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A simulator as its driver, its operator and its readers see it: commands, time, reports."""

import math
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Vector3, WrenchStamped
import numpy as np
import pytest
from rbd_ros.model.collision_shapes import Box
from rbd_ros.nodes import process_end
from rbd_ros.nodes.simulator import contacts, messages, node as simulator_node, poses
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulator_rig import simulator
from std_srvs.srv import Trigger

PERIOD = 0.01
LOCKSTEP = {'lockstep': True, 'command_type': 'joint_state', 'lockstep_timeout': 20.0}


def stamp_of(message):
    """Return the stamp of a message, ns."""
    stamp = message.clock if isinstance(message, Clock) else message.header.stamp
    return stamp.sec * 10**9 + stamp.nanosec


def answered(rig, *efforts, **more):
    """Answer the last state; return the next one. The last one may be sent again meanwhile."""
    before = stamp_of(rig.states[-1])
    rig.send(*efforts, **more)
    rig.spin(lambda: stamp_of(rig.states[-1]) > before)
    return rig.states[-1]


def begin(rig):
    """Open the brakes; the last state then waits for its answer, and no other is on its way."""
    rig.spin(rig.commands.get_subscription_count)
    rig.more(1)
    answered_to = None

    def answer():
        nonlocal answered_to
        if rig.states[-1] is not answered_to:  # once each, so that none waits behind another
            answered_to = rig.states[-1]
            rig.send(0.0)
        return any('the brakes are open' in line for line in rig.log)
    rig.spin(answer)
    rig.spin(lambda: stamp_of(rig.states[-1]) > stamp_of(answered_to))


def test_commands_by_name_in_lockstep():
    """Efforts go to their joints, in any order, in simulated time that waits; others are named."""
    with simulator(**LOCKSTEP, publish_clock=True) as rig:
        clock = rig.listen(Clock, '/clock')
        begin(rig)
        before = rig.states[-1]
        state = answered(rig, 9.0, 2.0, names=('other', 'swing'))
        assert list(state.effort) == [2.0] and stamp_of(state) == stamp_of(before) + 10_000_000
        rig.spin(lambda: clock and stamp_of(clock[-1]) == stamp_of(state))
        assert stamp_of(state) < 10**12  # it begins with zero
        rig.is_told('a command has no effort for swing; it is ignored', 1.0, names=('other',))
        assert stamp_of(answered(rig, 0.0)) == stamp_of(state) + 10_000_000
        assert sum('the brakes are open' in line for line in rig.log) == 1


def test_a_push_acts_in_its_frame_for_its_time():
    """Moment and force turn the pendulum together; a frame that is not there is told."""
    with simulator(**LOCKSTEP, wrench_timeout=2.5 * PERIOD) as rig:
        begin(rig)
        push = rig.other.create_publisher(WrenchStamped, '/simulator/wrench', 10)
        message = WrenchStamped()
        message.header.frame_id = 'tip'
        message.wrench.torque, message.wrench.force = Vector3(x=5.0, y=3.0), Vector3(x=4.0, y=7.0)
        rig.spin(push.get_subscription_count)
        push.publish(message)
        assert push.wait_for_all_acked(Duration(seconds=20.0))
        for _ in range(10):
            rig.executor.spin_once(timeout_sec=0.01)
        speeds = [answered(rig, 0.0).velocity[0] for _ in range(6)]
        gained = np.diff(speeds)
        once = PERIOD * (3.0 - 0.5 * 4.0) / 0.35
        assert gained[0] == pytest.approx(once, rel=0.1) and abs(gained[-1]) < 0.5 * once
        message.header.frame_id = 'nowhere'

        def told():
            push.publish(message)
            return any('a wrench is ignored: ' in line and 'nowhere' in line for line in rig.log)
        rig.spin(told)


def test_commands_to_motors():
    """A row of five per joint acts in every step; other sizes and missing gains are told."""
    with simulator(command_type='motor_array') as rig:
        row = [0.1, 0.0, 20.0, 0.0, 1.0]

        def acts():
            rig.send(*row)
            state = rig.states[-1]
            return state.effort[0] == pytest.approx(
                20.0 * (0.1 - state.position[0]) + 1.0, abs=0.5)
        rig.more()
        rig.spin(acts)
        rig.is_told('"swing" cannot hold Kp 20 and Kd 100000', 0.1, 0.0, 20.0, 1e5, 1.0)
        rig.is_told('not finite', 0.1, 0.0, 20.0, math.inf, 1.0)
        rig.is_told('5 for each of 1 joints', 0.1)
    with simulator(command_type='motor_joint_state') as rig:
        rig.more()
        values = {'position': [0.0, 0.0], 'velocity': [0.0, 0.0], 'effort': [1.0, 0.0]}

        def pulls():
            rig.send(names=('swing', 'swing/gains'), **values)
            return rig.states[-1].effort[0] == pytest.approx(1.0)
        rig.spin(pulls)
        rig.is_told('a command without swing/gains is ignored', names=('swing', 'swing/stiffness'),
                    **values)


def test_a_reset_is_not_undone_by_commands_for_the_pose_before(monkeypatch):
    """They are ignored until they pause, as they do after the fault that the jump is."""
    clock = [50.0]
    with simulator(loop='executor') as rig:
        rig.more()
        monkeypatch.setattr(simulator_node, 'time', SimpleNamespace(
            monotonic=lambda: clock[0], time_ns=lambda: 1000 * 10**9))

        def taken():
            return int(rig.node.summary().split(', ')[1].split()[0])

        def commands(count, after):
            """Send that many, each so long after the other; return how many were taken."""
            before = taken()
            for _ in range(count):
                clock[0] += after
                rig.node.last_command, last = rig.node.last_command, rig.node.last_command
                rig.send(1.0)
                rig.spin(lambda last=last: rig.node.last_command > last)
            return taken() - before
        rig.spin(rig.commands.get_subscription_count)
        assert commands(2, 0.002) == 2
        rig.ask(Trigger, 'reset')
        assert commands(20, 0.05) == 0
        assert commands(1, 0.2) == 1 and commands(1, 0.002) == 1
        rig.ask(Trigger, 'reset')  # whoever never pauses has seen the new pose for long
        assert commands(100, 0.05) == pytest.approx(40, abs=1)


def test_what_it_says_of_itself():
    """Its parameters with their bounds, what is refused, its counters, and who else sends."""
    with simulator() as rig:
        rig.more()
        row = rig.node.describe_parameter('state_rate')
        limits, = row.floating_point_range
        assert (limits.from_value, limits.to_value, row.read_only) == (1.0, 2000.0, True)
        row = rig.node.describe_parameter('substeps')
        assert row.integer_range[0].from_value == 1
        assert 'one of none' in rig.node.describe_parameter('contact').additional_constraints
        row = rig.node.describe_parameter('friction')
        assert row.additional_constraints.startswith('each between ') and not row.read_only

        def refusal(**values):
            return rig.node.set_parameters_atomically([
                Parameter(name, value=value) for name, value in values.items()]).reason
        assert refusal(friction=[0.7]) == ''
        assert 'friction' in refusal(friction=[0.7, 0.8], effort_source='none')
        assert refusal(velocity_source='nonsense')
        assert rig.more().effort and rig.node.get_parameter('friction').value[0] == 0.7
        heard = rig.listen(DiagnosticArray, '/diagnostics')
        rig.spin(lambda: heard)
        assert heard[0].status[0].name == '/simulator: simulation'
        assert not any('another publisher' in line for line in rig.log)
        other = rig.other.create_publisher(JointState, 'joint_states', 1)
        rig.spin(lambda: any('joint_states has another publisher' in each for each in rig.log))
        assert other is not None
        assert [each.split(' ', 1)[1] for each in rig.close().split(', ')] == [
            'periods', 'commands', 'late wake-ups', 'periods skipped', 'states superseded']


# -- reports ----------------------------------------------------------------------------------


def publishers(sent):
    """Return a node whose publishers note what they send."""
    return SimpleNamespace(create_publisher=lambda kind, topic, qos: SimpleNamespace(
        publish=lambda message: sent.append((topic, message))))


def test_transforms_at_their_turn():
    """Every third state has its poses, with its stamp."""
    sent = []
    pose = SimpleNamespace(parent='base', child='bob', translation=(1.0, 2.0, 3.0),
                           rotation=(0.1, 0.2, 0.3, 0.9))
    frames = SimpleNamespace(
        fixed=list, moving=lambda q, t: [pose] if (q, t) == ('q', 0.5) else [])
    subject = poses.TransformReports(publishers(sent), SimpleNamespace(q='q', time=0.5), frames, 3,
                                     messages.time_message(7 * 10**9))
    assert [topic for topic, _ in sent] == ['/tf_static'] and not sent[0][1].transforms
    for k in range(1, 7):
        subject.report(k * 10**9 + 5)
    assert [(topic, m.transforms[0].header.stamp.sec, m.transforms[0].header.stamp.nanosec)
            for topic, m in sent[1:]] == [('/tf', 3, 5), ('/tf', 6, 5)]
    found = sent[-1][1].transforms[0]
    assert (found.header.frame_id, found.child_frame_id) == ('base', 'bob')
    t, r = found.transform.translation, found.transform.rotation
    assert (t.x, t.y, t.z, r.x, r.y, r.z, r.w) == (1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 0.9)


def test_contacts_that_part_are_zero_once():
    """Forces of one pair are summed; a pair that parts says zero, then nothing."""
    sent = []
    force = SimpleNamespace(body=1, obstacle='floor', point=np.array([1.0, 2.0, 0.0]),
                            force=np.array([0.0, 0.0, 10.0]))
    robot = SimpleNamespace(model=SimpleNamespace(body_names=['base', 'bob']), q='q', time=0.5,
                            contact_forces=[force, force],
                            world=SimpleNamespace(obstacles=[]))
    frames = SimpleNamespace(at_body=lambda q, body, point, f, t: np.array([*point, *f]))
    subject = contacts.ContactReports(publishers(sent), robot, frames, 2)
    assert sent.pop()[0] == '~/scene'

    def report():
        sent.clear()
        subject.report(10**9)
        assert not sent
        subject.report(2 * 10**9)
        wrenches = [m for topic, m in sent if topic == '~/contact_wrench']
        markers = [m.markers for topic, m in sent if topic == '~/contact_markers']
        return [(m.header.frame_id, m.header.stamp.sec, m.wrench.torque.x, m.wrench.torque.y,
                 m.wrench.force.z) for m in wrenches], [len(each) for each in markers]
    assert report() == ([('bob', 2, 2.0, 4.0, 20.0)], [3])
    arrow = sent[-1][1].markers[1]
    assert arrow.header.frame_id == 'base' and arrow.points[0].x == 1.0
    assert arrow.points[1].z == pytest.approx(10.0 * contacts.PER_NEWTON)
    robot.contact_forces = []
    assert report() == ([('bob', 2, 0.0, 0.0, 0.0)], [1])      # and the arrows vanish
    assert report() == ([], [])


def test_floor_is_drawn_below_its_surface():
    """A plate without end is a large one whose top is where the robot touches; a box is itself."""
    c, s = math.cos(0.4), math.sin(0.4)
    R, p = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]), np.array([0.1, 0.2, 0.3])
    floor = contacts.scene_marker(SimpleNamespace(placed=(None, R, p)), 'base', 3)
    assert (floor.header.frame_id, floor.ns, floor.id) == ('base', 'scene', 3)
    assert (floor.scale.x, floor.scale.y, floor.scale.z) == (4.0, 4.0, 0.02)
    assert floor.color.r == floor.color.g == floor.color.b == pytest.approx(0.6)
    assert floor.color.a == pytest.approx(0.8)
    at, turn = floor.pose.position, floor.pose.orientation
    np.testing.assert_allclose([at.x, at.y, at.z], [0.1, 0.2 + 0.01 * s, 0.3 - 0.01 * c])
    np.testing.assert_allclose([turn.x, turn.y, turn.z, turn.w],
                               [math.sin(0.2), 0.0, 0.0, math.cos(0.2)], atol=1e-12)
    box = contacts.scene_marker(SimpleNamespace(placed=(Box((1.0, 2.0, 3.0)), R, p)), 'base', 0)
    assert (box.scale.x, box.scale.y, box.scale.z) == (1.0, 2.0, 3.0)
    assert (box.pose.position.x, box.pose.position.z) == (0.1, 0.3)


# -- process ----------------------------------------------------------------------------------


@pytest.mark.parametrize(('commands_until', 'failure', 'ends', 'told'), [
    (-1.0, '', 0.0, False), (1.0, '', 1.3, True), (99.0, '', 4.3, True), (99.0, 'x', 0.0, False)])
def test_commands_are_waited_for(monkeypatch, commands_until, failure, ends, told):
    """Until 0.3 s after the last command, 4.3 s at most, and not after a failure."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(process_end, 'time', SimpleNamespace(
        monotonic=lambda: clock.now,
        sleep=lambda seconds: setattr(clock, 'now', clock.now + seconds)))
    end = process_end.ProcessEnd.__new__(process_end.ProcessEnd)
    end.failure, lines = failure, []
    end.wait_for_controller(lambda: min(clock.now, 100.0 + commands_until), lines.append)
    assert clock.now - 100.0 == pytest.approx(ends, abs=0.021)
    assert [line.startswith('waiting up to 4.3 s') for line in lines] == ([True] if told else [])
