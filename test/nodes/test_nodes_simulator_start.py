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

"""The start of the simulator, its reports and its process, without a middleware."""

import math
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.model.collision_shapes import Box
from rbd_ros.nodes import process_end
from rbd_ros.nodes.simulator import (
    contacts, messages, node as simulator, parameters, poses, process)
from rbd_ros.sim import SETTINGS
from rbd_ros.sim.setting_table import default_values
from rclpy.exceptions import InvalidParameterTypeException, ParameterUninitializedException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

ARM = """<robot name="pendulum"><link name="base"><inertial><mass value="3"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
 <link name="bob"><inertial><mass value="2"/><origin xyz="0 0 -0.5"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 -0.5"/><geometry><sphere radius="0.1"/></geometry></collision></link>
 <joint name="swing" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
  <origin xyz="0 0 0.55"/><limit effort="30" velocity="5"/></joint>
 <link name="plate"/><joint name="glue" type="fixed"><parent link="base"/><child link="plate"/>
 </joint></robot>"""


class Bench(simulator.Simulator):
    """A simulator whose middleware notes what is made, by topic or service."""

    values, others = {}, []

    def __init__(self, monkeypatch, others=None, **values):
        self.made, self.ticking, self.logged, self.sent = {}, [], [], []
        self.others = others or []
        self.values = default_values() | {'robot_description': ARM} | values
        self.clock = 50.0
        monkeypatch.setattr(Node, '__init__', lambda node, name: setattr(node, 'called', name))
        monkeypatch.setattr(simulator, 'time', SimpleNamespace(
            monotonic=lambda: self.clock, time_ns=lambda: 1000 * 10**9,
            sleep=lambda seconds: setattr(self, 'clock', self.clock + seconds)))
        super().__init__()

    def declare_parameter(self, name, start, _descriptor):
        """Declare nothing: every parameter has its value."""
        assert name in SETTINGS and start is not None

    def get_parameter(self, name):
        """Return a value as rclpy does."""
        if self.values[name] is None:
            raise ParameterUninitializedException(name)
        return SimpleNamespace(value=self.values[name])

    def create_publisher(self, kind, topic, qos):
        """Note a publisher and what it sends."""
        self.made[topic] = (kind.__name__, qos)
        return SimpleNamespace(publish=lambda message: self.sent.append((topic, message)))

    def create_subscription(self, kind, topic, callback, qos, raw=False):
        """Note a subscription."""
        self.made[topic] = (kind.__name__, callback, qos, raw)

    def create_service(self, kind, name, callback):
        """Note a service."""
        self.made[name] = (kind.__name__, callback)

    def create_timer(self, period, callback, clock):
        """Note a timer."""
        self.ticking.append((period, callback, clock.clock_type.name))

    def add_on_set_parameters_callback(self, judge):
        """Note who judges."""
        self.judge = judge

    def add_post_set_parameters_callback(self, apply):
        """Note who applies."""
        self.apply = apply

    def resolve_topic_name(self, name):
        """Return a name in a namespace."""
        return f'/cell/{name}'

    def get_publishers_info_by_topic(self, topic):
        """Return who publishes it by now."""
        assert topic == '/cell/joint_states'
        return [SimpleNamespace(node_namespace='/cell/', node_name=name)
                for name, since in self.others if self.clock >= since]

    def count_publishers(self, topic):
        """Return how many there are."""
        assert topic == 'joint_states'
        return self.sources

    def get_fully_qualified_name(self):
        """Return its name."""
        return '/cell/simulator'

    def efforts(self):
        """Return the efforts of the next state that is sent."""
        for _ in range(2):
            self.clock += 0.002
            self._on_tick()
        return list(deserialize_message(self.sent[-1][1], JointState).effort)

    def get_logger(self):
        """Return a log that keeps its lines."""
        keep = dict.fromkeys(('info', 'warning'), lambda text, **_: self.logged.append(text))
        return SimpleNamespace(**keep)


def test_what_is_connected(monkeypatch):
    """Topics, services, timers and the changes of parameters, with the usual settings."""
    made = Bench(monkeypatch)
    assert made.called == 'simulator' and made.clock == pytest.approx(51.0, abs=0.021)
    assert made.made['joint_states'] == ('JointState', 10)
    assert made.made['/diagnostics'] == ('DiagnosticArray', 10)
    kind, callback, qos, raw = made.made['controller/commands']
    assert (kind, callback, raw) == ('Float64MultiArray', made._on_array_command, True)
    assert (qos.reliability, qos.depth) == (ReliabilityPolicy.BEST_EFFORT, 10)
    assert made.made['~/wrench'][:2] == ('WrenchStamped', made._on_wrench)
    assert made.made['~/pause'] == ('SetBool', made._on_pause)
    assert made.made['~/step'] == ('Trigger', made._on_step)
    assert made.made['~/reset'] == ('Trigger', made._on_reset)
    assert made.ticking == [(pytest.approx(0.002), made._on_tick, 'STEADY_TIME'),
                            (1.0, made._on_second, 'STEADY_TIME')]
    assert (made.judge, made.apply) == (made._check_changes, made._apply)
    assert made.last_command == -math.inf            # nobody has commanded yet
    assert not {'/clock', '/tf', '/tf_static', '~/odometry', '~/scene'} & set(made.made)
    kind, qos = made.made['robot_description']
    assert (kind, qos.durability, qos.depth) == ('String', DurabilityPolicy.TRANSIENT_LOCAL, 1)
    assert [(topic, message.data) for topic, message in made.sent] == [('robot_description', ARM)]
    text = '\n'.join(made.logged)
    assert 'simulating "pendulum" (1 degrees of freedom) at 500 Hz' in text
    assert 'commands for swing; held by brakes until the first command' in text
    assert made._simulation.time_ns == 1000 * 10**9 and made._base is None
    made._on_tick()
    made.clock += 0.002
    made._on_tick()
    assert made.sent[-1][0] == 'joint_states'


def test_what_is_connected_in_lockstep(monkeypatch):
    """No command may be lost; time, frames, contacts and an odometer where they are asked for."""
    made = Bench(monkeypatch, lockstep=True, command_type='joint_state', publish_clock=True,
                 publish_tf=True, tf_rate=50.0, contact='rigid', contact_rate=100.0,
                 publish_description=False, floating_base=True,
                 initial_positions=[0.0])
    kind, callback, qos, raw = made.made['controller/commands']
    assert (kind, callback, raw) == ('JointState', made._on_joint_command, True)
    assert (qos.reliability, qos.depth) == (ReliabilityPolicy.RELIABLE, 10)
    assert made.made['/clock'] == ('Clock', 10) and made.made['~/odometry'] == ('Odometry', 10)
    assert made.made['/tf'] == ('TFMessage', 10) and 'robot_description' not in made.made
    for topic in ('/tf_static', '~/scene'):
        assert made.made[topic][1].durability is DurabilityPolicy.TRANSIENT_LOCAL
    assert made._simulation.time_ns == 0 and made._sim_stamps
    assert [report._every for report in made._reports] == [5, 10]
    assert [type(report).__name__ for report in made._reports] == [
        'ContactReports', 'TransformReports']


def test_commands_to_motors(monkeypatch):
    """A row of five per joint acts in every step; other sizes and missing gains are told."""
    made = Bench(monkeypatch, command_type='motor_array')
    kind, callback, _, raw = made.made['controller/commands']
    assert (kind, callback, raw) == ('Float64MultiArray', made._on_motor_array, True)
    callback(serialize_message(Float64MultiArray(data=[0.1, 0.0, 20.0, 0.0, 1.0])))
    assert made.efforts() == pytest.approx([20.0 * 0.1 + 1.0], rel=0.01)
    callback(serialize_message(Float64MultiArray(data=[0.1, 0.0, 20.0, 1e5, 1.0])))
    assert any('"swing" cannot hold Kp 20 and Kd 100000' in text for text in made.logged)
    callback(serialize_message(Float64MultiArray(data=[0.1, 0.0, 20.0, float('inf'), 1.0])))
    assert 'not finite' in made.logged[-1]
    callback(serialize_message(Float64MultiArray(data=[0.1])))
    assert '5 for each of 1 joints' in made.logged[-1]
    made = Bench(monkeypatch, command_type='motor_joint_state')
    kind, callback, _, raw = made.made['controller/commands']
    assert (kind, callback, raw) == ('JointState', made._on_motor_state, True)
    message = JointState(name=['swing', 'swing/gains'], position=[0.1, 20.0],
                         velocity=[0.0, 0.0], effort=[1.0, 0.0])
    message.header.stamp.sec = 1001
    callback(serialize_message(message))
    assert made.efforts() == pytest.approx([20.0 * 0.1 + 1.0], rel=0.01)
    message.name[1] = 'swing/stiffness'
    callback(serialize_message(message))
    assert 'a command without swing/gains is ignored' in made.logged[-1]
    assert made._simulation.counters.refused == 1


@pytest.mark.parametrize(('given', 'stamps'), [
    ({'publish_clock': True}, True), ({'lockstep': True, 'command_type': 'joint_state'}, True),
    ({}, False)])
def test_stamps_follow_the_clock_that_is_published(monkeypatch, given, stamps):
    """Simulated time where somebody reads it, else that of the wall; a rate above all states."""
    made = Bench(monkeypatch, publish_tf=True, tf_rate=1000.0, brakes='lockstep' in given,
                 **given)
    state = 'held by brakes until the first command' if 'lockstep' in given else 'not braked'
    assert made.logged[-1] == f'commands for swing; {state}'
    assert made._sim_stamps is stamps and made._reports[0]._every == 1
    (_, fixed), = [each for each in made.sent if each[0] == '/tf_static']
    stamp = 0 if given.get('publish_clock') else 1000
    assert {t.header.stamp.sec for t in fixed.transforms} == {stamp}


@pytest.mark.parametrize('since', [0.0, 50.5])
def test_second_driver_is_refused(monkeypatch, since):
    """Two robots on one topic would be mixed; the other one is named, however late it shows."""
    with pytest.raises(RbdError, match='/cell/joint_states already has a publisher '
                                       r'\(/cell/a, /cell/b\)'):
        Bench(monkeypatch, others=[('b', since), ('a', since + 0.3)])
    Bench(monkeypatch, others=[('b', 51.1)])


def test_changes_of_parameters(monkeypatch):
    """What is not possible is refused with the reason; noise restarts, friction does not."""
    made = Bench(monkeypatch)
    sensors = made._simulation.sensors

    def ask(**values):
        changes = [Parameter(name, value=value) for name, value in values.items()]
        answer = made.judge(changes)
        if answer.successful:
            made.apply(changes)
        return answer.reason
    assert ask(friction=[0.7]) == '' and made._simulation.sensors is sensors
    assert made._simulation.robot.physics.friction == pytest.approx([0.7])
    assert 'friction' in ask(friction=[0.7, 0.8]) and ask(velocity_source='nonsense')
    assert made._simulation.robot.physics.friction == pytest.approx([0.7])
    assert ask(effort_source='none', something_else=3) == ''
    assert made._simulation.sensors is not sensors and not made.efforts()
    assert made._settings.text('effort_source') == 'none'


def test_once_per_second(monkeypatch):
    """The diagnostics, and a warning while somebody else publishes states."""
    made = Bench(monkeypatch)
    made.sources = 1
    made._on_second()
    topic, message = made.sent[-1]
    assert topic == '/diagnostics' and message.status[0].name == '/cell/simulator: simulation'
    assert message.header.stamp.sec == 1000 and 'another publisher' not in made.logged[-1]
    made.sources = 2
    made._on_second()
    assert 'joint_states has another publisher' in made.logged[-1]
    assert made.summary().startswith('0 periods, 0 commands, 0 late')
    made._simulation.counters.periods, made._simulation.counters.commands = 5, 4
    made._simulation.pacer.late, made._simulation.pacer.skipped = 3, 2
    made._simulation.counters.superseded = 1
    assert made.summary() == ('5 periods, 4 commands, 3 late wake-ups, 2 periods skipped, '
                              '1 states superseded')


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


# -- parameters -------------------------------------------------------------------------------


def test_parameters_are_declared_with_their_bounds():
    """Range, choices and whether they are fixed; a value of a wrong type names the parameter."""
    rows = {}
    node = SimpleNamespace(
        declare_parameter=lambda name, start, row: rows.update({name: (start, row)}),
        _parameter_overrides={}, has_parameter=lambda _: True)
    parameters.declare(node, SETTINGS)
    assert set(rows) == set(SETTINGS)
    start, row = rows['state_rate']
    assert (start, row.read_only, row.type) == (500.0, True, Parameter.Type.DOUBLE.value)
    limits, = row.floating_point_range
    assert (limits.from_value, limits.to_value) == (1.0, 2000.0)
    start, row = rows['substeps']
    assert row.integer_range[0].from_value == int(SETTINGS['substeps'].lower)
    assert row.integer_range[0].to_value == int(SETTINGS['substeps'].upper)
    assert 'one of none' in rows['contact'][1].additional_constraints
    start, row = rows['friction']
    assert start is Parameter.Type.DOUBLE_ARRAY            # may stay without a value
    assert row.additional_constraints.startswith('each between ') and not row.read_only

    def refuse(name, *_):
        raise InvalidParameterTypeException(Parameter(name, value='x'), 'double')
    node.declare_parameter = refuse
    node._parameter_overrides = {next(iter(SETTINGS)): Parameter('x', value='x')}
    with pytest.raises(SettingError, match=f'parameter {next(iter(SETTINGS))} must be of type'):
        parameters.declare(node, SETTINGS)


# -- process ----------------------------------------------------------------------------------


@pytest.fixture
def program(monkeypatch):
    """Return everything that the main function uses."""
    made = Mock()
    made.ProcessEnd.return_value.failure = ''
    made.Simulator.return_value.last_command = 42.0
    made.Simulator.return_value.get_parameter.return_value.value = 'events'
    for name in ('ProcessEnd', 'initialise', 'Simulator', 'make_executor', 'spin_in_thread',
                 'console', 'rclpy', 'kind_that_works'):
        monkeypatch.setattr(process, name, getattr(made, name))
    made.kind_that_works.side_effect = lambda kind, _: f'{kind} here'
    made.end, made.log = made.ProcessEnd(), made.rclpy.logging.get_logger()
    made.reset_mock()
    return made


def test_simulator_ends_after_the_controller(program):
    """It goes on until commands cease; executor, node and context end in this order."""
    program.spin_in_thread.return_value.is_alive.return_value = False
    assert process.main(['--x']) == 0
    node, executor = program.Simulator.return_value, program.make_executor.return_value
    program.initialise.assert_called_once_with(['--x'])
    program.make_executor.assert_called_once_with('events here')
    executor.add_node.assert_called_once_with(node)
    program.spin_in_thread.assert_called_once_with(executor, 'simulation', program.end.fail)
    last, log = program.end.wait_for_controller.call_args[0]
    assert last() == 42.0 and log == program.log.info
    order = [name for name, _, _ in program.mock_calls]
    assert order[:2] == ['ProcessEnd', 'console.make_nonblocking']   # signals count at once
    order = [name.split('().')[-1] for name in order[3:]]
    assert order[-9:] == ['wait_for_controller', 'close', 'shutdown', 'join', 'summary',
                          'info', 'is_alive', 'destroy_node', 'rclpy.try_shutdown']
    program.log.info.assert_called_once_with(node.summary.return_value)
    assert not program.log.fatal.mock_calls


def test_simulator_that_fails(program):
    """A robot that cannot be, or a loop that died: one line, and an error code."""
    program.end.wait.side_effect = lambda: setattr(program.end, 'failure', 'it died')
    assert process.main([]) == 1
    program.log.fatal.assert_called_once_with('it died')
    program.log.reset_mock()
    program.Simulator.side_effect = RbdError('no such joint')
    assert process.main([]) == 1
    program.log.fatal.assert_called_once_with('no such joint')


def test_interrupted_start_is_no_failure(program):
    """Ctrl-C while it starts ends it at once."""
    program.Simulator.side_effect = KeyboardInterrupt
    assert process.main([]) == 0
    program.end.close.assert_called_once_with()
    program.rclpy.try_shutdown.assert_called_once_with()


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
