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

"""Changes of parameters, descriptions and transitions, judged without a middleware."""

from array import array
import os
from types import SimpleNamespace
from unittest.mock import Mock

import controller_rig
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import pytest
from rbd_ros.control.parameters.row import DOUBLE, DOUBLES, INTEGER, INTEGERS
from rbd_ros.control.parameters.table import defaults, PARAMETERS
from rbd_ros.errors import ModelError, SettingError
from rbd_ros.nodes import make_config, parameters, process_start
from rbd_ros.nodes.controller import description_source
from rbd_ros.nodes.controller.parameter_changes import ParameterChanges
from rbd_ros.nodes.controller.transitions import TransitionNode
from rclpy.exceptions import InvalidParameterTypeException, ParameterUninitializedException
from rclpy.parameter import Parameter
from std_msgs.msg import String


class Node:
    """A node with the parameters of an arm, and their callbacks."""

    def __init__(self, values):
        self.values, self.logged = dict(values), []
        log = dict.fromkeys(('info', 'warning', 'error'),
                            lambda text, **_: self.logged.append(text))
        self.get_logger = lambda: SimpleNamespace(**log)

    def get_parameter(self, name):
        """Return a value as rclpy has it."""
        return SimpleNamespace(value=self.values[name])

    def has_parameter(self, name):
        """Return whether it is declared."""
        return name in self.values or name == 'use_sim_time'

    def add_on_set_parameters_callback(self, judge):
        """Keep who judges."""
        self.judge = judge

    def add_post_set_parameters_callback(self, apply):
        """Keep who applies."""
        self.apply = apply

    def resolve_topic_name(self, name):
        """Return a name in a namespace."""
        return f'/arm/{name}'

    def set(self, **values):
        """Ask for changes as a client does; return the reason of a refusal."""
        changes = [Parameter(name.replace('__', '.'), value=value)
                   for name, value in values.items()]
        answer = self.judge(changes)
        if answer.successful:
            self.values |= {change.name: change.value for change in changes}
            self.apply(changes)
        assert answer.successful is not bool(answer.reason)
        return answer.reason


@pytest.fixture(scope='module')
def made():
    """Return an arm that is controlled, its node and what the node is doing."""
    arm = controller_rig.Arm(ramp_time=0.02)
    arm.activate()
    arm.run(0.05)
    node = Node(arm.values)
    host = SimpleNamespace(doing='', active=True, robot=arm.robot, controller=arm.controller)
    ParameterChanges(node, host, simulated=False)
    return arm, node, host


def test_changes_are_judged_and_applied(made):
    """A gain acts from the next cycle on; what follows its answer is judged by it."""
    arm, node, _ = made
    assert node.set(switch_time=0.25) == ''
    assert arm.controller.accepted.number('switch_time') == 0.25
    assert arm.controller.p.command.torque.switch_time == 0.5
    arm.run(0.001)
    assert arm.controller.p.command.torque.switch_time == 0.25
    assert not arm.controller.settings.simulated and not node.logged


def test_changes_that_are_refused(made):
    """Nothing of a set is applied if one of it is wrong, whoever is to blame."""
    arm, node, host = made
    before, accepted = dict(node.values), arm.controller.accepted
    assert 'switch_time' in node.set(switch_time=99.0, mode='computed_torque')
    assert node.set(state_timeout=0.2).endswith('cannot be changed while active: deactivate first')
    assert node.set(use_sim_time=True) == 'use_sim_time can only be set at startup'
    assert 'rigid body' in node.set(payload__mass=1.0, payload__inertia=[
        1.0, 0.0, 0.0, 0.1, 0.0, 0.1])
    assert 'payload' in node.set(payload__mass=90.0)          # nobody can carry that
    assert 'gravity_scale' in node.set(gravity_scale=[1.0, 1.0])      # one, or one per joint
    host.doing = 'activating'
    assert 'is activating: wait until' in node.set(switch_time=0.3)
    host.doing = ''
    node.get_parameter, get = None, node.get_parameter
    assert node.set(switch_time=0.3).startswith('TypeError') and 'rejected' in node.logged.pop()
    node.get_parameter = get
    assert node.values == before and arm.controller.accepted is accepted
    assert not arm.controller.requests


def test_structural_changes_wait_for_the_next_configuration(made):
    """While inactive they are taken, and it is said when they count."""
    arm, node, host = made
    host.active = False
    assert node.set(state_timeout=0.2) == ''
    assert node.logged.pop() == 'state_timeout: takes effect at the next configuration'
    arm.run(0.001)
    assert arm.controller.p.command.supervisor.state_timeout == 0.1
    host.controller = host.robot = None
    assert node.set(switch_time=0.4) == '' and not arm.controller.requests
    host.controller, host.robot, host.active = arm.controller, arm.robot, True
    node.values['state_timeout'] = 0.1


def test_values_given_at_the_start_that_cannot_be_taken():
    """The text has what was given, what is wanted, and how to write it."""
    node = SimpleNamespace(_parameter_overrides={
        'a': Parameter('a', value=3), 'b': Parameter('b', value='x'),
        'qos_overrides./x': Parameter('c', value=1)}, has_parameter=lambda name: name == 'a')
    text = parameters.refusal_text(node, 'a', 'double', SettingError('no'))
    assert text == 'parameter a must be of type double, got 3; write numbers with a decimal point'
    assert parameters.refusal_text(node, 'b', 'double', SettingError('no')).endswith("got 'x'")
    text = parameters.refusal_text(node, 'a', 'integer_array', SettingError('no'))
    assert text == 'parameter a must be of type integer_array, got 3; write [3]'
    text = parameters.refusal_text(node, 'b', 'string_array', SettingError('no'))
    assert text == "parameter b must be of type string_array, got 'x'; write [x]"
    text = parameters.refusal_text(node, 'a', 'string', SettingError('no'))
    assert text == 'parameter a must be of type string, got 3; put it in quotes'
    assert parameters.refusal_text(node, 'z', 'double', SettingError('no')) == 'parameter z: no'
    text, = parameters.unknown_warnings(node, ['bb'])
    assert text.startswith('parameter b is unknown and has no effect') and 'bb' in text


class Declared:
    """A node without values, except those that are given."""

    def __init__(self, **given):
        self.rows, self.values, self.logged = {}, given, []
        self._parameter_overrides = {
            name: Parameter(name, value=value) for name, value in given.items()}

    def declare_parameter(self, name, start, row):
        """Declare as rclpy does: a type alone leaves it without a value."""
        self.rows[name] = (start, row)
        if not isinstance(start, Parameter.Type):
            self.values.setdefault(name, start)

    def get_parameter(self, name):
        """Return a value, or complain that there is none."""
        if name not in self.values:
            raise ParameterUninitializedException(name)
        return SimpleNamespace(value=self.values[name])

    def set_parameters(self, parameters):
        """Take values."""
        self.values |= {each.name: each.value for each in parameters}

    def has_parameter(self, name):
        """Return whether it is declared."""
        return name in self.rows

    def undeclare_parameter(self, name):
        """Forget one."""
        del self.rows[name], self.values[name]

    def set_descriptor(self, name, row):
        """Describe one anew."""
        self.rows[name] = (self.rows[name][0], row)

    def get_logger(self):
        """Return a log that keeps its lines."""
        return SimpleNamespace(warning=self.logged.append)


_FILE = """
from rbd_ros.control.parameters.row import joints, scalar
from rbd_ros.control.modes.modes import own_mode
MODES = (own_mode('soft', lambda terms, inputs: terms.gravity, 'gravity alone', (
    scalar('a', 1.0, '', 0.0, {most}, 'One.'), joints('{name}', [1.0], '', 0.0, 2.0, 'Two.'))),)
"""


def test_parameters_of_modes_of_the_user(tmp_path):
    """They are declared when the file is read; what was set stays, unless its row has changed."""
    file = tmp_path / 'modes.py'
    file.write_text(_FILE.format(most=5.0, name='b'))
    node = Declared(**{'mode_file': str(file), 'soft.a': 2.0, 'soft.x': 1.0})
    parameters.declare(node)
    assert not node.logged and 'soft.a' not in node.rows  # nothing is known of them yet
    own = parameters.OwnModes(node)
    mode, = own.read()
    assert mode.name == 'soft' and mode.file == str(file)
    assert [text.split(' has')[0] for text in node.logged] == ['parameter soft.x is unknown and']
    assert node.rows['mode'][1].additional_constraints.endswith(
        ', damping, joint_impedance, cartesian_impedance, soft')
    assert (node.values['soft.a'], node.values['soft.b']) == (2.0, [1.0])
    node.values |= {'soft.a': 3.0, 'soft.b': [0.5]}
    own.read()
    assert (node.values['soft.a'], node.values['soft.b']) == (3.0, [0.5])
    file.write_text(_FILE.format(most=4.0, name='c'))
    own.read()
    assert (node.values['soft.a'], node.values['soft.c']) == (1.0, [1.0])
    assert 'soft.b' not in node.rows
    node.values['mode_file'] = ''
    assert own.read() == () and not any(name.startswith('soft.') for name in node.rows)


def test_parameters_are_declared_as_the_table_has_them():
    """Type, unit, bounds and when they may change; a list without a default is empty."""
    node = Declared(damping=array('d', [3.0]), dampng=2.0)
    parameters.declare(node)
    assert set(node.rows) == set(PARAMETERS)
    values = parameters.read(node)
    assert values == defaults() | {'damping': [3.0]}
    assert [text.split(' has')[0] for text in node.logged] == [
        'parameter dampng is unknown and']
    for name, row in PARAMETERS.items():
        start, found = node.rows[name]
        assert found.name == name and found.description.startswith(row.description)
        assert found.description.endswith(f'[{row.unit}]' if row.unit else row.description)
        limits = found.additional_constraints
        assert ('read-only while active' in limits) is row.structural
        assert found.read_only is (name in ('mode_file', 'realtime.priority', 'realtime.cores',
                                            'realtime.cpu', 'realtime.prefault'))
        assert ('one of ' in limits) is bool(row.choices)
        assert all(choice in limits for choice in row.choices)
        spans = [*found.floating_point_range, *found.integer_range]
        bounded = np.isfinite(row.upper - row.lower)
        assert len(spans) == (bounded and row.kind in (DOUBLE, INTEGER))
        for span in spans:
            assert (span.from_value, span.to_value) == (row.lower, row.upper)
            assert span.step == (row.kind == INTEGER)
        if row.kind in (DOUBLES, INTEGERS):
            assert (f'each between {row.lower:g} and {row.upper:g}' in limits) == bounded
        assert found.type == (start.value if isinstance(start, Parameter.Type)
                              else Parameter.Type.from_parameter_value(start).value)


def test_value_of_a_wrong_type_is_refused_with_its_name():
    """What rclpy raises becomes one line."""
    node = Declared(damping=3)

    def declare(name, *_):
        if name == 'damping':
            raise InvalidParameterTypeException(Parameter(name, value=3), 'double array')
    node.declare_parameter = declare
    node.get_parameter = lambda _: SimpleNamespace(value=[])
    with pytest.raises(SettingError, match='parameter damping must be of type .*, got 3; write'):
        parameters.declare(node)


def test_arguments_that_rcl_cannot_read(monkeypatch, tmp_path):
    """The reason is in the file, not in the sources of rcl; signals stay ours."""
    file = tmp_path / 'my.yaml'
    file.write_text('a: [')
    text = (f"Couldn't parse params file: '--params-file {file}'. Error: Sequence should be of "
            'same type at line 3, at /rcl/src/parse.cpp:12')
    rclpy = Mock()
    monkeypatch.setattr(process_start, 'rclpy', rclpy)
    monkeypatch.setattr(process_start, 'avoid_shared_memory', rclpy.avoid)
    process_start.initialise(['--x'])
    assert [name for name, _, _ in rclpy.mock_calls] == [
        'get_rmw_implementation_identifier', 'avoid', 'init']
    rclpy.avoid.assert_called_once_with(
        rclpy.get_rmw_implementation_identifier.return_value, os.environ)
    rclpy.init.assert_called_once_with(
        args=['--x'], signal_handler_options=process_start.SignalHandlerOptions.NO)
    rclpy.init.side_effect = RuntimeError(text)
    with pytest.raises(SettingError, match='my.yaml.*is not valid YAML'):
        process_start.initialise([])
    file.write_text('/**:\n  ros__parameters:\n    a: 1\n')     # nothing wrong that we find
    explained = process_start.explain_rcl_error(text)
    assert explained.endswith('same type at line 3') and str(file) in explained
    assert process_start.explain_rcl_error('no such thing, at /a/b.c:3') == 'no such thing'


# -- description ------------------------------------------------------------------------------


@pytest.fixture
def source(monkeypatch):
    """Return a source of descriptions and its node."""
    monkeypatch.setattr(description_source, 'BoundedInput',
                        lambda _node, _kind, _topic, heard, *_: setattr(node, 'heard', heard))
    node = Node({'robot_description': ' ', 'robot_description_file': ''})
    node.active = False
    made = description_source.DescriptionSource(node, lambda: node.active)
    made.node = node
    return made


def test_sources_of_the_description(source, tmp_path):
    """A parameter before a file before the topic; two of the first are refused."""
    node = source.node
    assert source.find() == ('', '') and not source.is_known()
    assert node.logged == ['waiting for /arm/robot_description']
    node.heard(String(data='<topic/>'))
    assert source.find() == ('<topic/>', 'the topic robot_description') and source.is_known()
    file = tmp_path / 'robot.urdf'
    file.write_text('<file/>')
    node.values['robot_description_file'] = f' {file} '
    assert source.find() == ('<file/>', f'the file {file}')
    node.values['robot_description'] = '<text/>'
    with pytest.raises(ModelError, match='choose one'):
        source.find()
    assert source.is_known()                     # configuring says what is wrong
    node.values['robot_description_file'] = ''
    assert source.find() == ('<text/>', 'the parameter robot_description')


def test_description_that_changes(source):
    """It counts at the next configuration; an active robot does not change its body."""
    node = source.node
    node.heard(String(data='<a/>'))
    node.heard(String(data='<a/>'))
    assert not node.logged
    node.heard(String(data='<b/>'))
    assert node.logged.pop().endswith('it will be used at the next configuration')
    source.configured, node.active = '<b/>', True
    node.heard(String(data='<b/>'))
    assert not node.logged
    node.heard(String(data='<c/>'))
    assert 'is ignored while active' in node.logged.pop()
    assert source.topic_text == '<c/>'


# -- transitions ------------------------------------------------------------------------------


@pytest.mark.parametrize(('wanted', 'yields', 'state', 'answer'), [
    (Transition(id=Transition.TRANSITION_ACTIVATE), False, 'inactive', 'asked'),
    (Transition(label='activate'), False, 'inactive', 'asked'),
    (Transition(id=Transition.TRANSITION_ACTIVATE), True, 'active', True),    # done meanwhile
    (Transition(id=Transition.TRANSITION_ACTIVATE), True, 'inactive', 'asked'),
    (Transition(id=Transition.TRANSITION_DEACTIVATE), False, 'inactive', False),
    (Transition(label='configure'), False, 'inactive', False),
    (Transition(id=99), False, 'inactive', False)])
def test_transitions_are_possible_or_refused(wanted, yields, state, answer):
    """Autostart gives way to what is asked for; the impossible is told in one line."""
    node = TransitionNode.__new__(TransitionNode)
    asked, logged = [], []

    def yield_to(name):
        asked.append(name)
        return yields
    node.__dict__.update(
        _autostart=SimpleNamespace(yield_to=yield_to), _label=lambda: state,
        _machine=SimpleNamespace(available_transitions=[(3, 'activate', 0, 1)]),
        _log=SimpleNamespace(warning=logged.append), _change=lambda *_: 'asked')
    given = node._on_change(ChangeState.Request(transition=wanted), ChangeState.Response())
    assert (given if isinstance(given, str) else given.success) == answer
    assert bool(logged) is (answer is False)
    assert asked == [wanted.label or {3: 'activate', 4: 'deactivate'}.get(wanted.id, '')]


# -- make_config ------------------------------------------------------------------------------


@pytest.fixture
def printer(monkeypatch):
    """Return what make_config asks of others."""
    made = Mock()
    made.config_text.return_value = 'file'
    for name in ('config_text', 'description_text', 'rclpy'):
        monkeypatch.setattr(make_config, name, getattr(made, name))
    made.now = 100.0
    monkeypatch.setattr(make_config, 'time', SimpleNamespace(monotonic=lambda: made.now))

    def spin(node, timeout_sec):
        made.now += timeout_sec
        made.each()
    made.rclpy.spin_once.side_effect = spin
    return made


def test_file_is_made_from_a_description(printer, capsys):
    """Joints, rate and answers reach the text, which alone is printed."""
    given = ['--urdf', 'arm.urdf', '--joints', 'a, b', '--rate', '250', '--driver-adds', 'none']
    assert make_config.main(given) == 0
    printer.description_text.assert_called_once_with('', 'arm.urdf')
    printer.config_text.assert_called_once_with(
        printer.description_text.return_value, 'arm.urdf', joints=['a', 'b'], rate=250.0,
        choices={'driver_adds': 'none'})
    assert capsys.readouterr() == ('file', '')
    make_config.main(['--urdf', 'arm.urdf'])
    assert printer.config_text.call_args[1] == {'joints': None, 'rate': 500.0, 'choices': {}}
    printer.config_text.side_effect = ModelError('no such joint')
    assert make_config.main(['--urdf', 'arm.urdf']) == 1
    assert capsys.readouterr().err == 'make_config: no such joint\n'


def test_description_of_a_topic(printer, capsys):
    """Who published it before is heard; whoever does not within 10 s is told of."""
    node = printer.rclpy.create_node.return_value

    def publish():
        kind, topic, callback, qos = node.create_subscription.call_args[0]
        assert (kind, topic, qos.depth) == (String, '/robot_description', 1)
        assert qos.durability.name == 'TRANSIENT_LOCAL'
        callback(String(data='<robot/>'))
    printer.each = publish
    assert make_config.main(['--topic']) == 0 and printer.now == pytest.approx(100.1)
    assert printer.config_text.call_args[0] == ('<robot/>', 'the topic /robot_description')
    assert [name for name, _, _ in printer.rclpy.mock_calls] == [
        'init', 'create_node', 'create_node().create_subscription', 'spin_once',
        'create_node().destroy_node', 'try_shutdown']
    printer.each = lambda: None
    assert make_config.main(['--topic', '/mine']) == 1
    assert printer.now == pytest.approx(110.1, abs=0.11)
    assert '/mine within 10 s; give a file with --urdf' in capsys.readouterr().err
