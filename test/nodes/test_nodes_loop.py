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

"""Callbacks of the loop node, activations and changes of parameters on a fake clock."""

import threading
from types import SimpleNamespace
from unittest.mock import call, Mock

from codec_oracle import joint_state
import controller_rig
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.nodes.controller import activation, loop_node, transitions
from rbd_ros.nodes.controller.statistics import LoopStatistics
from rclpy.node import Node
from std_msgs.msg import Bool, Float64MultiArray, UInt64
from std_srvs.srv import Trigger

# -- loop node --------------------------------------------------------------------------------


class Loop:
    """A loop node that no middleware made, around an arm."""

    def __init__(self, monkeypatch, *, simulated=False, **values):
        self.arm = controller_rig.Arm(ramp_time=0.02, **values)
        self.clock, self.sim, self.beats, self.asserted = 50.0, 0.0, [], []
        self.admitted, self.spent, self.caught = True, [], []
        monkeypatch.setattr(loop_node, 'monotonic', lambda: self.clock)
        made = self.node = loop_node.LoopNode.__new__(loop_node.LoopNode)
        made._sensor = None
        timer = self.timer = SimpleNamespace(runs=False)
        timer.is_canceled = lambda: not timer.runs
        timer.reset = lambda: vars(timer).update(runs=True)
        timer.cancel = lambda: vars(timer).update(runs=False)
        made.__dict__.update(
            _controller=self.arm.controller, simulated=simulated, unusual_messages=0, lost=0,
            failure='', cancel_start=lambda: '', output=SimpleNamespace(
                assert_liveliness=lambda: self.asserted.append(1)),
            statistics=LoopStatistics(0.001),
            guard=SimpleNamespace(report_exception=self.caught.append),
            _free=0.0, free_period=0.001, _heartbeat_message=UInt64(),
            _checks_per_beat=3, _checks=0,
            _asserts_liveliness=True,
            _fast_timer=timer, _heartbeat=SimpleNamespace(
                publish=lambda message: self.beats.append(message.data)),
            _dead_man=SimpleNamespace(polling=False),
            _states=SimpleNamespace(admit_state=lambda _: self.admitted, whole=True,
                                    spend=self.spent.append),
            _ros_clock=SimpleNamespace(now=lambda: SimpleNamespace(
                nanoseconds=round(1e9 * self.sim))))

    def run(self, seconds):
        """Let time pass with a state and a look in each period."""
        for _ in range(round(seconds * 1000)):
            self.step()

    def step(self, message=None):
        """Bring one state."""
        self.clock = round(self.clock + 0.001, 9)
        self.sim = round(self.sim + 0.001, 9)
        stamp = self.sim if self.node.simulated else self.clock
        if message is None:
            message = joint_state(self.arm.robot.joints, self.arm.q, np.zeros(7), [], stamp=(
                int(stamp), round((stamp % 1.0) * 1e9)))
        self.node._on_state(message)
        self.node._on_timer()

    def start(self):
        """Activate and run."""
        self.arm.controller.post(self.arm.controller.activate)
        self.run(0.2)
        assert self.arm.state == 'running', self.arm.controller.fault_text()


def test_state_becomes_a_torque(monkeypatch):
    """Each state is stamped, counted with its time, and answered with g(q)."""
    loop = Loop(monkeypatch)
    loop.start()
    x, sent = loop.arm.controller.x, len(loop.arm.sent)
    loop.step()
    assert len(loop.arm.sent) == sent + 1 and not loop.caught
    np.testing.assert_allclose(loop.arm.sent[-1], loop.arm.dynamics.gravity(loop.arm.q),
                               atol=1e-9)
    assert (x.stamp_s, x.stamp_ns) == (50, 201_000_000)
    assert x.now == x.steady == loop.clock
    assert loop.node.statistics.count == 201 == len(loop.spent) + len(loop.arm.sent)
    paid = len(loop.spent)                       # what got no torque
    loop.admitted = False                        # beyond the budget
    loop.step()
    assert len(loop.arm.sent) == sent + 1 and len(loop.spent) == paid


def test_refused_states_stamp_no_torque(monkeypatch):
    """A message that is older than the last, or of others, gives no torque and no stamp."""
    loop = Loop(monkeypatch)
    loop.start()
    x, sent, paid = loop.arm.controller.x, len(loop.arm.sent), len(loop.spent)
    stamp, zeros = (x.stamp_s, x.stamp_ns), np.zeros(7)
    loop.step(joint_state(loop.arm.robot.joints, loop.arm.q, zeros, [], stamp=(50, 100)))
    assert len(loop.spent) == paid + 1
    loop.step(joint_state(['gripper'], [0.1], [0.0], [], stamp=(50, 202_000_000)))
    assert len(loop.arm.sent) == sent and (x.stamp_s, x.stamp_ns) == stamp
    assert len(loop.spent) == paid + 2 and loop.node.statistics.count == 202
    assert not loop.caught


def test_unreadable_states_are_told_and_stop_in_time(monkeypatch):
    """Bytes that are no state give no torque; when nothing else comes, the state is lost."""
    loop = Loop(monkeypatch)
    loop.start()
    sent = len(loop.arm.sent)
    loop.step(b'\x00\x01\x00\x00nonsense')
    assert loop.node.unusual_messages == 1 and loop.arm.controller.x.states.sources.unreadable == 1
    assert '12 bytes that are not a sensor_msgs/JointState' in loop.arm.controller.refusal()
    assert len(loop.arm.sent) == sent and loop.arm.state == 'running'
    assert any('unreadable' in text for _, text in loop.arm.controller.events)
    for _ in range(int(1000 * loop.arm.values['state_timeout']) + 1):
        loop.step(b'short')
    assert loop.arm.state == 'state lost' and 'unreadable' in loop.arm.controller.fault_text()
    assert loop.timer.runs                       # what needs no state is the timer's


def test_lost_states_name_their_joints(monkeypatch):
    """Whether a look finds them too old or the next state: the fault says which, and why."""
    loop = Loop(monkeypatch, recover_lost_state=True)
    joints = ', '.join(loop.arm.robot.joints)
    loop.start()
    loop.clock += 0.15
    loop.step()
    assert loop.arm.state == 'state lost'
    assert loop.arm.controller.fault_text().endswith(
        f'{joints}: being checked again after a gap of 0.151 s')
    loop.run(0.2)
    assert loop.arm.state == 'running'           # by itself
    loop.arm.q[2] = np.nan
    loop.run(0.2)
    assert loop.arm.controller.fault_text().endswith(
        f'{joints}: the position of joint_3 is not finite')


def test_unusual_states_go_through_rclpy(monkeypatch):
    """What our reader does not understand is read by rclpy's own, with its stamp."""
    loop = Loop(monkeypatch)
    loop.start()
    controller, asked = loop.arm.controller, []
    take = controller.take_message

    def unread(*given):
        asked.append(given)
        return take(*given) if len(asked) > 1 else None
    monkeypatch.setattr(controller, 'take_message', unread)
    sent = len(loop.arm.sent)
    loop.step()
    assert (loop.node.unusual_messages, len(loop.arm.sent)) == (1, sent + 1)
    x = loop.arm.controller.x
    assert (x.stamp_s, x.stamp_ns) == (50, 201_000_000)


def test_exceptions_stop_the_robot(monkeypatch):
    """Whatever a callback raises is caught; the first trace is kept, the robot stops."""
    loop = Loop(monkeypatch)
    loop.start()
    loop.node._on_state(None)
    assert loop.caught == ['joint_states']
    loop.node.fail('Traceback\nValueError: first')
    loop.node.fail('Traceback\nValueError: second')
    assert loop.node.failure.endswith('first')
    loop.step()
    assert loop.arm.state == 'braking'
    assert list(loop.arm.controller.faults()) == [Cause.EXCEPTION.name]
    assert 'ValueError: first' in loop.arm.controller.fault_text()


def test_a_later_fault_has_its_own_words(monkeypatch):
    """After another activation a cause is told with what happens now, not with what was before."""
    loop = Loop(monkeypatch)
    for error in ('first', 'second'):
        loop.start()
        loop.node.fail(f'Traceback\nValueError: {error}')
        loop.node.fail('Traceback\nValueError: what follows from it')
        loop.run(2.0)
        assert loop.arm.controller.finished
        assert loop.arm.controller.fault_text().endswith(f'ValueError: {error}')


@pytest.mark.parametrize(('stamp', 'before', 'expected'), [
    (0.0, 0.0, 7.0), (7.04, 0.0, 7.04), (7.2, 0.0, 7.0), (6.9, 0.0, 7.0),
    (0.0, 7.05, 7.05), (0.0, 7.2, 7.0), (7.03, 7.05, 7.05), (7.05, 7.03, 7.05)])
def test_simulated_clock_is_not_behind_its_states(monkeypatch, stamp, before, expected):
    """A state may overtake the clock by less than the timeout of 0.1 s, no more."""
    loop = Loop(monkeypatch, simulated=True)
    loop.sim, loop.arm.controller.x.now = 7.0, before
    assert loop.node._times(stamp) == (pytest.approx(expected), 50.0)
    loop.node.simulated = False
    assert loop.node._times(stamp) == (50.0, 50.0) and loop.node.control_time() == 50.0


def test_simulated_state_has_its_time(monkeypatch):
    """Under a simulated clock the control clock is that of the stamps."""
    loop = Loop(monkeypatch, simulated=True)
    loop.sim = 3.0
    loop.start()
    assert loop.arm.controller.x.now == pytest.approx(loop.sim)
    assert loop.arm.controller.x.steady == loop.clock


def test_stop_and_reset_answer(monkeypatch):
    """A stop says what it does; a reset why it cannot, or that it ramps in."""
    loop = Loop(monkeypatch)

    def stop():
        answer = loop.node._on_stop(None, Trigger.Response())
        return answer.success, answer.message

    def reset():
        answer = loop.node._on_reset(None, Trigger.Response())
        return answer.success, answer.message
    assert stop() == (True, 'nothing to stop: no torque is published')
    assert reset() == (False, 'nothing to reset, the controller is inactive')
    loop.start()
    assert stop() == (True, 'braking')
    assert loop.arm.controller.fault_text().endswith('~/stop')
    assert reset()[0] is False
    loop.run(0.6)
    assert loop.arm.state == 'holding'
    assert reset() == (True, 'faults cleared, ramping in')
    assert not loop.arm.controller.faults()
    loop.node.cancel_start = lambda: 'the activation is cancelled'
    assert stop() == (True, 'the activation is cancelled') and loop.arm.state == 'braking'
    loop.node._controller = None
    assert reset() == (False, 'not configured')
    loop.node.cancel_start = lambda: ''
    assert stop()[1].startswith('nothing to stop')


def test_dead_man_in_a_flood_is_released(monkeypatch):
    """Of too many messages not all are read: then a pressed switch counts as released."""
    loop = Loop(monkeypatch, dead_man_timeout=0.05)
    loop.node._on_dead_man(Bool(data=True))
    loop.arm.controller.post(loop.arm.controller.activate)
    for _ in range(20):
        loop.run(0.01)
        loop.node._on_dead_man(Bool(data=True))
    assert loop.arm.state == 'running'
    loop.node._dead_man.polling = True
    loop.node._on_dead_man(Bool(data=True))
    assert loop.arm.state == 'braking' and 'released' in loop.arm.controller.fault_text()


def test_heart_beats_at_every_third_look(monkeypatch):
    """Looks tick the controller; a beat counts up and asserts that the process lives."""
    loop = Loop(monkeypatch)
    for _ in range(7):
        loop.node._on_check_timer()
    assert loop.beats == [1, 2] and len(loop.asserted) == 2
    loop.node._asserts_liveliness = False
    for _ in range(2):
        loop.node._on_check_timer()
    assert loop.beats == [1, 2, 3] and len(loop.asserted) == 2


@pytest.mark.parametrize(('rate', 'timeout', 'beat', 'checks', 'looks'), [
    (1000.0, 0.1, 10.0, 5, 0.02),      # a fifth of the timeout
    (1000.0, 1.0, 10.0, 2, 0.05),      # not longer than 50 ms
    (20.0, 1.0, 10.0, 2, 0.05),        # whatever the rate is
    (1000.0, 0.1, 100.0, 1, 0.01)])
def test_timers_of_a_robot(monkeypatch, rate, timeout, beat, checks, looks):
    """The blind timer is that of the supervisor; the other looks five times in a timeout."""
    loop = Loop(monkeypatch)
    made, states = [], []
    arm = controller_rig.Arm(period=1.0 / rate, minimum_rate=0.5 * rate, state_timeout=timeout,
                             liveliness_lease=0.0, brake_time=0.1, hold_time=0.1)
    loop.node.__dict__.update(
        _steady='steady', create_timer=lambda *given, **more: made.append((given[0], more)),
        _states=SimpleNamespace(begin_robot=lambda period, _: states.append(period)))
    loop.node.attach(arm.controller, None, beat)
    assert [period for period, _ in made] == pytest.approx([min(2.0 / rate, 0.02), looks])
    assert made[0][1] == {'clock': 'steady', 'autostart': False}
    assert loop.node._checks_per_beat == checks and states == [1.0 / rate]
    assert made[0][0] == arm.controller.settings.timing().period
    assert not loop.node._asserts_liveliness
    loop.node.statistics.add(1.0, 1.0, 0.0)
    loop.node.statistics.add(1.0 + 0.09 / rate, 2.0, 0.0)
    assert loop.node.statistics.superseded == 1


def names_of():
    """Return a node by whose names others are called."""
    log = SimpleNamespace(warning='warning', fatal='fatal')
    return SimpleNamespace(
        get_name=lambda: 'arm', get_namespace=lambda: '/cell', get_logger=lambda: log,
        resolve_topic_name=lambda topic: topic.replace('~', '/cell/arm'),
        resolve_service_name=lambda service: service.replace('~', '/cell/arm'))


def inner_nodes(monkeypatch, module):
    """Note nodes and their services; none has parameters, arguments or a /rosout of its own."""
    noted = Mock()

    def make(node, name, **more):
        noted.node(name, more.pop('namespace'), {
            each.name: each.value for each in more.pop('parameter_overrides')})
        assert set(more) == {'use_global_arguments', 'start_parameter_services', 'enable_rosout'}
        assert not any(more.values())
    monkeypatch.setattr(Node, '__init__', make)
    monkeypatch.setattr(Node, 'create_service',
                        lambda _, kind, name, callback: noted.service(kind, name, callback))
    monkeypatch.setattr(module, 'bound_services', noted.bound)
    return noted


def test_transitions_are_taken_over(monkeypatch):
    """The service of rclpy moves to this node, with its handle, its name and its callback."""
    noted = inner_nodes(monkeypatch, transitions)
    monkeypatch.setattr(transitions, 'Service', noted.taken)
    monkeypatch.setattr(Node, 'default_callback_group', noted.group)
    monkeypatch.setattr(Node, '_wake_executor', lambda _: noted.wake())
    monkeypatch.setattr(Node, '_services', [], raising=False)
    owner = names_of()
    given = SimpleNamespace(callback='change', srv_name='/cell/arm/change_state',
                            qos_profile='qos')
    owner._services, owner._service_change_state = ['other', given], given
    owner._state_machine = SimpleNamespace(service_change_state='handle',
                                           current_state=(1, 'unconfigured'))
    guard = SimpleNamespace(service=lambda callback: ('guarded', callback))
    made = transitions.TransitionNode(owner, guard, 'autostart')
    noted.node.assert_called_once_with(
        'arm_transitions', '/cell', {'start_type_description_service': False})
    noted.taken.assert_called_once_with(
        'handle', transitions.ChangeState, '/cell/arm/change_state',
        ('guarded', made._on_change), noted.group, 'qos')
    assert owner._services == ['other'] and made._services == [made._service]
    assert noted.mock_calls[-3:] == [
        call.group.add_entity(made._service), call.bound(made, 'warning'), call.wake()]
    assert made._change == 'change' and made._label() == 'unconfigured'


def test_loop_lets_a_robot_go(monkeypatch):
    """Its timers and its publisher end; nothing is sent afterwards."""
    loop = Loop(monkeypatch)
    ended, sent, made = [], [], loop.node
    made.destroy_timer, made.destroy_publisher = ended.append, ended.append
    made._own_timers = ['a', 'b']
    made.output.publish = sent.append
    loop.arm.controller.command[:3] = 3, 4, 5
    made.publish('torque')
    publisher = made.output
    made.detach()
    made.publish('torque')
    assert sent == [bytes(loop.arm.controller.command)] and sent[0][:3] == b'\x03\x04\x05'
    assert ended == ['a', 'b', publisher]
    assert made.output is made._controller is None
    made.detach()
    made._on_state(b'')
    made._on_timer()
    assert len(ended) == 3 and not loop.caught


# -- activation -------------------------------------------------------------------------------


class Start:
    """An activation and what it waits for, on a clock that waiting moves."""

    def __init__(self, monkeypatch, **values):
        self.arm = controller_rig.Arm(ramp_time=0.02, **values)
        self.clock, self.each, self.others, self.logged = 100.0, lambda: None, 0, []
        self.stopped, self.publishers, self.deaf, self.hear = [], 1, [], None
        self.takes = {'std_msgs/msg/Float64MultiArray'}  # types with which a driver listens
        self.begin, self.ending, self.gravity_input = 100.0, threading.Event(), None
        monkeypatch.setattr(activation, 'time', SimpleNamespace(monotonic=lambda: self.clock))
        node = SimpleNamespace(
            resolve_topic_name=lambda name: name.replace('~', '/arm'),
            count_publishers=lambda topic: (
                1 + self.others if topic == '/arm/commands' else self.publishers),
            get_parameter=lambda _: SimpleNamespace(value=2.0),
            create_subscription=self._listen, destroy_subscription=self.deaf.append,
            get_publishers_info_by_topic=lambda _: [SimpleNamespace(
                node_namespace='/', node_name=name) for name in ('first', 'second')],
            get_subscriptions_info_by_topic=lambda topic: [
                SimpleNamespace(topic_type=kind) for kind in self.takes
                if topic == '/arm/commands'],
            get_logger=lambda: SimpleNamespace(
                error=self.logged.append, warning=self.logged.append))
        self.made = activation.Activation(node, self.arm.controller, host=self)

    def _listen(self, kind, topic, hear, qos, *, raw):
        assert kind is Float64MultiArray and topic == '/arm/commands' and raw
        self.hear = hear
        return 'subscription'

    def stop(self, cause):
        """Note who stops."""
        self.stopped.append(cause)
        return True

    def wait(self, condition, limit):
        """Let time pass until it is true."""
        end = self.clock + limit
        while not condition() and self.clock < end:
            self.clock = round(self.clock + 0.01, 9)
            self.each()
        return condition()


def test_remains_of_a_killed_process_are_waited_for(monkeypatch):
    """A silent publisher that goes within 25 s leaves the way free; one that stays does not."""
    for goes, free in ((18.0, True), (90.0, False)):
        start = Start(monkeypatch)
        start.others, begin = 1, start.clock

        def each(start=start, end=begin + goes):
            start.others = int(start.clock < end)
        start.each = each
        assert start.made.output_is_free() is free
        assert start.made.latched is not free and start.deaf == ['subscription']
        assert start.clock - begin == pytest.approx(goes if free else 26.0, abs=0.3)


def test_another_controller_that_sends_ends_the_start(monkeypatch):
    """One command of somebody else is enough, and the end of that one changes nothing."""
    start = Start(monkeypatch)
    start.others = 1

    def each():
        if start.clock > 103.0:
            start.hear(b'a command')
            start.others = 0  # and it is gone
    start.each = each
    assert not start.made.output_is_free() and start.made.latched
    assert start.clock < 103.2 and start.deaf == ['subscription']
    assert ('somebody else sends commands on /arm/commands (its publishers: /first, /second)'
            in start.logged[-1])


def test_another_controller_that_sends_all_the_time_is_told_alone(monkeypatch):
    """Nothing is said of waiting: it ends the start at once."""
    start = Start(monkeypatch)
    start.others, start.each = 1, lambda: start.hear and start.hear(b'a command')
    assert not start.made.output_is_free() and start.made.latched
    [told] = start.logged
    assert told.startswith('cannot activate: somebody else sends commands')


def test_activation_ends_with_torque(monkeypatch):
    """States that come bring the controller to torque; nothing is stopped or said."""
    start = Start(monkeypatch)
    start.each = lambda: start.arm.run(0.01)
    assert start.made.run() and start.arm.sent
    assert not (start.stopped or start.logged or start.made.latched)


@pytest.mark.parametrize(('takes', 'said'), [
    ((), 'nobody listens to /arm/commands (std_msgs/msg/Float64MultiArray), so the robot gets no '
         'torque: start the driver, or name its topic with commands:=/its/topic'),
    (('sensor_msgs/msg/JointState',),
     'commands on /arm/commands are std_msgs/msg/Float64MultiArray, but its listeners take '
     'sensor_msgs/msg/JointState: set command_type to what the driver takes')])
def test_activation_without_a_driver_warns(monkeypatch, takes, said):
    """Torques that nobody takes, for a mistyped topic or another type, are no secret."""
    start = Start(monkeypatch)
    start.takes = takes
    start.each = lambda: start.arm.run(0.01)
    assert start.made.run() and start.logged == [said] and not start.stopped


def test_activation_without_states_says_why(monkeypatch):
    """After activation_timeout it gives up, stops what may have begun, and may be repeated."""
    start = Start(monkeypatch)
    start.each = lambda: start.arm.silence(0.01)
    assert not start.made.run()
    assert start.clock == pytest.approx(102.0) and start.stopped == [Cause.DEACTIVATED]
    assert start.logged[-1].startswith('cannot activate: no usable state of joint_1')
    assert not start.made.latched
    start.publishers = 0
    assert not start.made.run()
    assert 'nobody publishes joint_states' in start.logged[-1]


def test_activation_without_a_clock_says_so(monkeypatch):
    """Where time is simulated and none comes, that is the reason, whatever else is missing."""
    start = Start(monkeypatch, simulated=True)
    start.made._node.get_clock = lambda: SimpleNamespace(
        now=lambda: SimpleNamespace(nanoseconds=0))
    start.each = lambda: start.arm.silence(0.01)
    assert not start.made.run()
    assert start.logged[-1] == ('cannot activate: use_sim_time is true, but nothing has come on '
                                '/clock: start what publishes it, or set use_sim_time to false')


@pytest.mark.parametrize('pace', [0.1, 5.0])
def test_activation_waits_by_the_clock_of_the_states(monkeypatch, pace):
    """However slowly or fast a simulation runs, states are proved, and missing ones are told."""
    for comes in (True, False):
        start = Start(monkeypatch, simulated=True, **{'start.time': 0.3})
        arm, due = start.arm, [0.0]
        start.made._node.get_clock = lambda arm=arm: SimpleNamespace(
            now=lambda: SimpleNamespace(nanoseconds=round(1e9 * arm.time)))

        def each(arm=arm, comes=comes, due=due):
            due[0] += 0.01 * pace
            while due[0] >= 0.01:
                due[0] -= 0.01
                (arm.run if comes else arm.silence)(0.01)
        start.each, begin = each, arm.time
        assert start.made.run() is comes
        assert comes or arm.time - begin == pytest.approx(2.0, abs=max(0.02, 0.011 * pace))


def test_activation_ends_with_a_fault(monkeypatch):
    """A robot that fails its checks is named with the fault; only a person may try again."""
    start = Start(monkeypatch)
    start.arm.q = np.full(7, 20.0)               # beyond all limits
    start.each = lambda: start.arm.run(0.01)
    assert not start.made.run() and start.made.latched
    assert start.clock < 101.0 and 'limits are' in start.logged[-1]
    assert start.stopped == [Cause.DEACTIVATED]


def test_activation_waits_for_the_dead_man(monkeypatch):
    """Good states do not suffice while nobody holds the switch."""
    start = Start(monkeypatch, dead_man_timeout=0.1)
    start.each = lambda: start.arm.run(0.01)
    assert not start.made.run()
    assert start.logged[-1] == 'cannot activate: the dead-man signal is missing'


def test_activation_with_late_states_says_how_late(monkeypatch):
    """States that come, but with gaps, are named as the reason."""
    start = Start(monkeypatch)

    def each():
        start.arm.silence(0.12)
        start.arm.run(0.01)
    start.each = each
    assert not start.made.run()
    assert start.logged[-1] == ('cannot activate: the states do not come in time: the last state '
                                'was 0.121 s old when the next one came, 0.0505 s are allowed')


def test_activation_names_the_input_it_waits_for(monkeypatch):
    """Gravity before lateness, lateness unless the joints have a reason of their own."""
    start = Start(monkeypatch, gravity_source='imu', gravity_timeout=0.1,
                  **{'start.time': 5.0})                    # longer than activation_timeout
    controller, known = start.arm.controller, [True]

    def refusal(late='', reason=''):
        def each():
            if known[0]:
                now = start.arm.time
                controller.take_gravity(now, now, now, np.array([0.0, 0.0, -1.0]))
            start.arm.run(0.01)
        start.each = each
        monkeypatch.setattr(controller, 'lateness', lambda: late)
        monkeypatch.setattr(controller, 'refusal', lambda: reason)
        assert not start.made.run()
        return start.logged[-1].removeprefix('cannot activate: ')
    assert refusal() == 'states are not proven'
    assert refusal('one was late') == 'the states do not come in time: one was late'
    assert refusal('one was late', 'fresh') == 'states are not proven fresh'
    start.gravity_input = SimpleNamespace(source='topic /imu', reason='')
    assert controller.x.load.known and refusal('one was late').endswith('one was late')
    known[0] = False
    assert refusal('one was late') == 'no direction of gravity from topic /imu: too old'
    start.gravity_input.reason = 'its covariance is -1'
    assert refusal() == 'no direction of gravity from topic /imu: its covariance is -1'


def test_cancelled_activation(monkeypatch):
    """Whoever cancels it is named, and nobody tries again."""
    start = Start(monkeypatch)
    start.each = lambda: start.made.cancel('~/stop')
    assert not start.made.run() and start.clock < 100.1
    assert start.made.latched and start.logged[-1].endswith('it was cancelled by ~/stop')


def test_output_must_be_free(monkeypatch):
    """Somebody else's commands are waited for, told every 5 s, and at last refused."""
    start = Start(monkeypatch)
    assert start.made.output_is_free() and start.clock == pytest.approx(101.0, abs=0.02)
    start = Start(monkeypatch)
    start.others = 2
    assert not start.made.output_is_free()
    assert start.clock == pytest.approx(126.0, abs=0.2)     # discovery and patience
    assert 'two controllers must not drive one robot' in start.logged[-1]
    assert sum('waiting' in text for text in start.logged) == 5
    start = Start(monkeypatch)
    start.others = 1
    start.each = lambda: setattr(start, 'others', int(start.clock < 103.0))
    assert start.made.output_is_free() and start.clock == pytest.approx(103.0, abs=0.2)
    start = Start(monkeypatch)
    start.others = 1
    start.ending.set()
    assert not start.made.output_is_free()
