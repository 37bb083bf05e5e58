# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Activations on a fake clock, from a free output to torque or a reason."""

import threading
from types import SimpleNamespace

import controller_rig
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.nodes.controller import activation
from std_msgs.msg import Float64MultiArray


class Start:
    """An activation and what it waits for, on a clock that waiting moves."""

    def __init__(self, monkeypatch, **values):
        self.arm = controller_rig.Arm(ramp_time=0.02, **values)
        self.clock, self.each, self.others, self.logged = 100.0, lambda: None, 0, []
        self.stopped, self.publishers, self.deaf, self.hear = [], 1, [], None
        self.takes = {'std_msgs/msg/Float64MultiArray'}  # types with which a driver listens
        self.begin, self.ending, self.gravity_input = 100.0, threading.Event(), None
        self.ros_time = 0.0  # s
        monkeypatch.setattr(activation, 'time', SimpleNamespace(monotonic=lambda: self.clock))
        node = SimpleNamespace(
            resolve_topic_name=lambda name: name.replace('~', '/arm'),
            count_publishers=lambda topic: (
                1 + self.others if topic == '/arm/commands' else self.publishers),
            get_parameter=lambda _: SimpleNamespace(value=2.0),
            get_clock=lambda: SimpleNamespace(now=lambda: SimpleNamespace(
                nanoseconds=round(1e9 * self.ros_time))),
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
        start.ros_time = arm.time

        def each(start=start, arm=arm, comes=comes, due=due):
            due[0] += 0.01 * pace
            while due[0] >= 0.01:
                due[0] -= 0.01
                (arm.run if comes else arm.silence)(0.01)
                start.ros_time = arm.time
        start.each, begin = each, arm.time
        assert start.made.run() is comes
        assert comes or arm.time - begin == pytest.approx(2.0, abs=max(0.02, 0.011 * pace))


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
