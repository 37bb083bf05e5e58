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

"""Numbers and levels of /diagnostics on a fake clock, without a middleware."""

from types import SimpleNamespace
from unittest.mock import MagicMock

from builtin_interfaces.msg import Time
from controller_rig import Arm
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.references.results import Outcome, ResultCode, Status
from rbd_ros.nodes.controller import diagnostics
from rbd_ros.nodes.controller.statistics import LoopStatistics
from rbd_ros.nodes.dashboard import telemetry as telemetries
from rbd_ros.nodes.dashboard.telemetry import Telemetry

OK, WARN, ERROR = diagnostics.OK, diagnostics.WARN, diagnostics.ERROR

# -- what the loop took -----------------------------------------------------------------------


def test_times_of_the_loop_are_summed_up():
    """Ten states every 2 ms, each in work for 0.1 ms, the last one for 0.5 ms."""
    loop = LoopStatistics(0.002)
    for k in range(10):
        begin = 5.0 + 0.002 * k
        loop.add(begin, begin + (1e-4 if k < 9 else 5e-4), begin + 1e3 - 3e-4)
    found = loop.summary(5.02, 1005.02)
    assert found.states == loop.count == 10
    assert found.rate == pytest.approx(10 / 0.02)     # since the first one
    assert found.period == pytest.approx((0.002, 0.002, 0.002))
    assert found.compute == pytest.approx((1e-4, 1e-4 + 0.91 * 4e-4, 5e-4))
    assert found.latency == pytest.approx((4e-4, 4e-4 + 0.91 * 4e-4, 8e-4))
    assert found.age == pytest.approx(5.02 - 5.0185)
    # the next window begins where this one ended, and is empty
    found = loop.summary(5.52, 1005.52)
    assert (found.states, found.rate, found.period) == (0, 0.0, (0.0, 0.0, 0.0))
    assert found.age == pytest.approx(5.52 - 5.0185)
    loop.add(5.53, 5.531, 0.0)
    assert loop.summary(5.62, 1005.62).rate == pytest.approx(10.0)


def test_states_that_waited_are_counted():
    """A state that is read within a tenth of a period of the last torque had waited for it."""
    loop = LoopStatistics(0.01)
    loop.add(1.0, 1.004, 0.0)
    loop.add(1.0049, 1.006, 0.0)
    loop.add(1.0071, 1.008, 0.0)
    assert loop.superseded == 1


def test_long_windows_keep_the_newest():
    """Every state counts; times are those of the last 4032."""
    loop = LoopStatistics(0.001)
    for k in range(5000):
        loop.add(0.001 * k, 0.001 * k + (0.5 if k < 968 else 1e-4), 0.0)
    found = loop.summary(5.0, 5.0)
    assert found.states == 5000 and found.compute.largest == pytest.approx(1e-4)
    empty = LoopStatistics(0.001).summary(1.0, 1.0)
    assert (empty.states, empty.rate, empty.age) == (0, 0.0, float('inf'))


# -- messages ---------------------------------------------------------------------------------


class Node:
    """Keeps what is published."""

    def __init__(self):
        self.sent, self.logged, self.nanoseconds = [], [], 7_000_000_000
        self.listeners = 1

    def get_logger(self):
        """Return something to log with."""
        return SimpleNamespace(warning=lambda text, **_: self.logged.append(text))

    def get_fully_qualified_name(self):
        """Return a name with its namespace."""
        return '/left/controller'

    def create_publisher(self, _, topic, depth):
        """Return something to publish with."""
        assert topic == '/diagnostics'
        return SimpleNamespace(publish=self.sent.append,
                               get_subscription_count=lambda: self.listeners)

    def create_timer(self, *_, **__):
        """Create none: the test looks."""

    def get_clock(self):
        """Return the clock of the stamps."""
        return SimpleNamespace(now=lambda: SimpleNamespace(
            nanoseconds=self.nanoseconds, to_msg=lambda: Time(sec=7)))

    def get_parameter(self, name):
        """Return the one parameter that is asked for."""
        assert name == 'executor'
        return SimpleNamespace(value='events')


class Subject:
    """An arm that runs and what is said about it."""

    def __init__(self, monkeypatch):
        self.clock = 2000.0
        self.arm = Arm(ramp_time=0.02, time=self.clock - 1.0)
        monkeypatch.setattr(diagnostics, 'time', SimpleNamespace(
            monotonic=lambda: self.clock, time=lambda: self.clock + 1.7e9))
        self.node, self.controller, self.gravity_input, self.realtime = Node(), None, None, {}
        self.loop_node = SimpleNamespace(
            statistics=LoopStatistics(0.001), unusual_messages=3, lost=4,
            simulated=False)
        self.action = SimpleNamespace(last=None, goals=0, refused=0, refusal='')
        self.made = diagnostics.Diagnostics(self.node, parts=self)

    def run(self):
        """Let the arm run."""
        self.controller = self.arm.controller
        self.arm.activate()
        self.arm.run(0.1)
        assert self.arm.state == 'running'

    def look(self, part=None, after=1.0):
        """Let time pass and look; returns level, text and values of a part."""
        self.clock += after
        self.node.sent.clear()
        self.made.update()
        if part is None:
            return len(self.node.sent)
        message, = self.node.sent
        status = next(each for each in message.status
                      if each.name == f'left/controller: {part}')
        return status.level, status.message, {each.key: each.value for each in status.values}

    def states(self, count, period=0.001):
        """Note cycles that end now."""
        for k in range(count):
            begin = self.clock - period * (count - k)
            self.loop_node.statistics.add(begin, begin + 1e-4, begin + 1.7e9 - 2e-4)


@pytest.fixture
def subject(monkeypatch):
    """Return a subject whose arm is not configured yet."""
    return Subject(monkeypatch)


def test_before_configuration(subject):
    """There is a supervisor without robot, and what became of the settings."""
    subject.realtime = {'lock_memory': 'refused: no permission', 'priority': 'done'}
    assert subject.look('supervisor') == (OK, 'not configured', {})
    level, text, values = subject.look('real time')
    assert (level, text) == (WARN, 'lock_memory refused')
    assert values == {'executor': 'events', **subject.realtime}
    subject.realtime = {'priority': 'done'}
    assert subject.look('real time')[:2] == (OK, 'as configured')
    message, = subject.node.sent
    assert message.header.stamp.sec == 7 and message.status[0].hardware_id == ''


def test_simulated_time_that_does_not_come_is_told(subject):
    """Without /clock nothing can begin: a warning, in the log too, until it comes."""
    subject.node.nanoseconds = 0
    assert subject.look('supervisor', 3.0) == (OK, 'not configured', {})  # time of the machine
    subject.loop_node.simulated = True
    told = 'use_sim_time is true, but nothing has come on /clock'
    assert subject.look('supervisor') == (WARN, f'not configured; {told}', {})
    assert subject.node.logged[-1].startswith(told)
    subject.run()
    assert subject.look('supervisor')[:2] == (WARN, f'running; {told}')
    subject.arm.stop(Cause.TRACKING, 'far')
    assert subject.look('supervisor')[0] == ERROR
    count, subject.node.nanoseconds = len(subject.node.logged), 1
    assert told not in subject.look('supervisor')[1] and len(subject.node.logged) == count


def test_clock_has_time_to_come(subject):
    """In the first two seconds nothing is said."""
    subject.node.nanoseconds, subject.loop_node.simulated = 0, True
    assert subject.look('supervisor', 1.9) == (OK, 'not configured', {})
    assert subject.look('supervisor', 0.2)[0] == WARN


def test_once_per_second_and_when_a_level_changes(subject):
    """In between nothing is published, whatever the values are."""
    subject.run()
    subject.look()
    assert [subject.look(after=0.25) for _ in range(8)] == [0, 0, 0, 1, 0, 0, 0, 1]
    subject.realtime = {'lock_memory': 'refused'}
    assert subject.look(after=0.25) == 1
    assert [subject.look(after=0.25) for _ in range(3)] == [0, 0, 1]
    assert subject.node.sent[0].status[0].hardware_id == subject.arm.robot.model.name


def test_nothing_is_made_while_nobody_listens(subject):
    """Whoever comes is told at once, of the last moment and not of all the time before."""
    subject.run()
    subject.node.listeners = 0
    subject.states(100, period=0.01)
    assert [subject.look(after=0.25) for _ in range(8)] == [0] * 8
    assert not subject.look(after=0.25)
    subject.node.listeners = 1
    subject.clock += 0.25
    subject.states(250)
    level, text, values = subject.look('joint states', after=0.0)
    assert (level, text, values['states']) == (OK, '1000.0 Hz', '350')
    assert values['period max [ms]'] == '1.000'
    assert [subject.look(after=0.25) for _ in range(4)] == [0, 0, 0, 1]
    subject.node.listeners = 0
    assert not subject.look(after=0.25)
    subject.node.listeners = 1
    assert subject.look(after=0.25) == 1  # to the next one as well


def test_age_of_the_last_state_while_nobody_listened(subject):
    """It is counted from the last state, though no window has had it."""
    subject.run()
    subject.node.listeners = 0
    subject.states(10)
    assert [subject.look(after=0.5) for _ in range(2)] == [0, 0]
    subject.node.listeners = 1
    assert subject.look('joint states', after=0.5)[:2] == (WARN, 'no joint state for 1.5 s')


def test_rate_of_the_states(subject):
    """Below 0.8 of the nominal rate it is warned of; none is told with the time since."""
    subject.run()
    assert subject.look('joint states')[:2] == (WARN, 'no joint state yet')
    subject.clock += 1.0
    subject.states(810)
    level, text, values = subject.look('joint states', after=0.0)
    assert (level, text) == (OK, '810.0 Hz')
    expected = {
        'rate [Hz]': '810.0', 'nominal rate [Hz]': '1000', 'states': '810',
        'state age [ms]': '0.90', 'period p50 [ms]': '1.000', 'period max [ms]': '1.000',
        'compute time p50 [us]': '100.000', 'compute time max [us]': '100.000',
        'messages of unusual form': '3', 'lost messages': '4', 'refused messages': '0'}
    assert {key: values[key] for key in expected} == expected
    # stamps of a wall clock are exact to a quarter of a microsecond
    assert float(values['latency p50 [ms]']) == pytest.approx(0.3, abs=2e-3)
    subject.clock += 1.0
    subject.states(790)
    assert subject.look('joint states', after=0.0)[:2] == (
        WARN, '790.0 Hz, nominal_rate is 1000 Hz')
    assert subject.look('joint states', after=2.5)[:2] == (WARN, 'no joint state for 2.5 s')


def test_latency_needs_one_clock(subject):
    """Stamps of another clock give no latency, a simulated clock not even a word."""
    subject.run()
    subject.loop_node.statistics.add(2000.5, 2000.6, 0.0)
    values = subject.look('joint states')[2]
    assert values['latency'] == 'unknown: the stamps are from another clock'
    subject.loop_node.simulated = True
    assert not [key for key in subject.look('joint states')[2] if 'latency' in key]


def test_faults_are_errors_with_their_times(subject):
    """Each fault has its cause and its time by the wall clock; an end as asked is none."""
    subject.run()
    level, text, values = subject.look('supervisor')
    assert (level, text) == (OK, 'running')
    assert (values['state'], values['mode'], values['gain'], values['paused']) == (
        'running', 'gravity_compensation', '1', 'False')
    subject.arm.run(subject.clock - 1.5 - subject.arm.time)
    subject.arm.time = subject.clock - 1.5
    subject.arm.stop(Cause.TRACKING, 'joint_2 is late')
    level, text, values = subject.look('supervisor', after=0.0)
    assert level == ERROR and text.startswith('braking: ') and 'joint_2 is late' in text
    assert values['fault 1 cause'] == 'TRACKING'
    assert values['fault 1 time'] == '2023-11-14T22:46:39.500+00:00'
    assert 'fault 2' not in values
    subject.arm.run(subject.controller.settings.number('brake_time') + 0.1)
    assert subject.controller.reset(subject.arm.time, subject.arm.time) == ''
    subject.arm.run(0.1)
    assert subject.look('supervisor')[:2] == (OK, 'running')
    subject.arm.stop(Cause.DEACTIVATED)
    assert subject.look('supervisor')[:2] == (WARN, 'braking')


def test_torques_beside_their_limits(subject):
    """The largest share of a limit is named, and joints at their limits."""
    subject.run()
    limiter = subject.controller.x.command.torque.limiter
    limiter.sent[:] = 0.0
    limiter.sent[4] = -0.25 * subject.controller.settings.torque_limits[4]
    limiter.saturated[:] = limiter.slewing[:] = 0.0
    limiter.slewing[2] = 1.0
    level, text, values = subject.look('torque')
    assert (level, text) == (OK, 'within the limits')
    assert values['largest fraction of a limit'] == '0.250 (joint_5)'
    assert (values['at the limit'], values['at the rate limit']) == ('', 'joint_3')
    assert values['commands'] == str(len(subject.arm.sent))
    limiter.saturated[[1, 6]] = 1.0
    level, text, values = subject.look('torque')
    assert (level, text) == (WARN, 'at the torque limit: joint_2, joint_7')
    assert values['at the limit'] == 'joint_2, joint_7'


@pytest.mark.parametrize('joint, axis, place, torque', [
    (2, -1, 'joint_3', '3.5 N.m'), (2, 0, 'rx', '3.5 N.m'), (2, 5, 'z', '3.5 N')])
def test_the_last_contact_has_its_unit(subject, joint, axis, place, torque):
    """N.m at a joint that turns and about an axis, N along one."""
    subject.run()
    subject.arm.change(**{'contact.reaction': 'report'})
    subject.arm.run(0.002)
    x = subject.controller.x.contact
    x.found = subject.controller.x.now
    x.count, x.found_joint, x.found_axis, x.found_torque, x.found_force = 1, joint, axis, 3.5, 7.0
    values = subject.look('contact')[2]
    assert (values['last contact felt by'], values['last contact torque']) == (place, torque)
    assert values['last contact force, N'] == '7'


def test_reference_and_goals(subject):
    """Error of a law that tracks, the last goal, and what a singular tip has lost."""
    subject.run()
    assert subject.look('reference')[:2] == (OK, 'not used')
    subject.arm.change(mode='computed_torque')
    subject.action.last = Outcome(Status.ABORTED, ResultCode.PATH_TOLERANCE_VIOLATED, 'late')
    subject.action.goals, subject.action.refused, subject.action.refusal = 1, 2, 'too fast'
    subject.arm.run(0.002)
    error = subject.controller.x.laws.joint.error
    error[:] = 0.0
    error[3] = -0.125
    level, _, values = subject.look('reference')
    assert level == OK and values['largest error'] == '0.125 rad'
    assert values['last goal'] == 'aborted (PATH_TOLERANCE_VIOLATED): late'
    assert (values['goals under way'], values['goals refused'], values['last refusal']) == (
        '1', '2', 'too fast')
    subject.arm.change(mode='operational_space')
    subject.arm.run(0.002)
    outputs = subject.controller.kernels['task'].outputs
    most = subject.controller.settings.number('task.max_condition')
    outputs['lost'][:] = 0.0
    outputs['lost'][:2] = 0.1, 0.099
    outputs['condition'][0] = most
    level, _, values = subject.look('reference')
    axis = subject.controller.settings.task_axes[0]
    assert level == OK and values['lost directions'] == f'{axis} 0.10'
    assert values['condition number'] == f'{most:.4g}'
    outputs['condition'][0] = 1.01 * most
    level, text, _ = subject.look('reference')
    assert level == WARN and text.startswith('singular') and text.endswith(f'{axis} 0.10')


def test_payload_and_gravity(subject):
    """The centre of mass is first moment over mass; a direction too old is an error."""
    subject.run()
    level, text, values = subject.look('load')
    assert (level, text) == (OK, 'payload 0 kg')
    assert values['payload centre of mass [m]'] == '0 0 0'
    assert values['gravity [m/s^2]'] == '0 0 -9.81' and values['gravity source'] == 'parameter'
    subject.controller.x.load.payload[:4] = 2.0, 0.5, -0.25, 1.0
    _, text, values = subject.look('load')
    assert text == 'payload 2 kg'
    assert values['payload centre of mass [m]'] == '0.25 -0.125 0.5'
    controller, begin = subject.controller, subject.arm.time
    controller.p.load.timeout = 0.5
    subject.gravity_input = SimpleNamespace(source='imu', reason='', refused=6)
    level, text, values = subject.look('load')
    assert (level, text) == (ERROR, 'no direction of gravity: too old')
    assert values['gravity age [s]'] == 'inf'
    controller.take_gravity(begin, begin, begin, np.array([0.0, 0.0, -1.0]))
    controller.take_timer(begin + 0.5, begin + 0.5)
    level, text, values = subject.look('load')
    assert level == OK and values['gravity age [s]'] == '0.5'
    assert (values['gravity source'], values['gravity messages refused']) == ('imu', '6')
    controller.take_timer(begin + 0.6, begin + 0.6)
    assert subject.look('load')[:2] == (ERROR, 'no direction of gravity: too old')
    subject.gravity_input.reason = 'no tf'
    assert subject.look('load')[1] == 'no direction of gravity: no tf'


# -- who reads them ---------------------------------------------------------------------------


def test_the_dashboard_plots_what_the_controller_sends(subject, monkeypatch):
    """Rate and latency of the real message arrive in its plots; of another robot's, nothing."""
    monkeypatch.setattr(telemetries, 'Mailroom', MagicMock())
    node = SimpleNamespace(resolve_topic_name=lambda name: f'/left/{name}',
                           create_subscription=lambda *_: None)
    telemetry = Telemetry(node, 'controller', 'simulator')
    subject.run()
    subject.states(500)
    subject.look()
    message, = subject.node.sent
    telemetry.on_diagnostics(message)
    (rate,), (latency,) = telemetry.rate.arrays()[1], telemetry.latency.arrays()[1]
    values = subject.look('joint states')[2]
    assert rate > 100.0 and latency == pytest.approx(0.3)  # ms: 0.2 on the way, 0.1 in work
    assert telemetry.age('controller') < 3.0 and values
    other = Telemetry(SimpleNamespace(resolve_topic_name=lambda name: f'/right/{name}',
                                      create_subscription=lambda *_: None), 'controller', '')
    other.on_diagnostics(message)
    assert other.latency.arrays()[1].tolist() == other.rate.arrays()[1].tolist() == [0.0]
    assert other.age('controller') == float('inf')
