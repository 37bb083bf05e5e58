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

"""Parameters as they are declared, and what cannot be read of those that are given."""

from array import array
import os
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from rbd_ros.control.interface.row import DOUBLE, DOUBLES, INTEGER, INTEGERS
from rbd_ros.control.parameters.table import defaults, PARAMETERS
from rbd_ros.errors import SettingError
from rbd_ros.nodes import parameters, process_start
from rclpy.exceptions import InvalidParameterTypeException, ParameterUninitializedException
from rclpy.parameter import Parameter


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
from rbd_ros.control.interface.row import joints, scalar
from rbd_ros.control.modes import own_mode
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
