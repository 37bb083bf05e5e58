# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Parameters as they are declared, and what cannot be read of those that are given."""

import os
import re
from unittest.mock import Mock

import numpy as np
import pytest
from rbd_ros.control.interface.row import DOUBLE, DOUBLES, INTEGER, INTEGERS
from rbd_ros.control.parameters.table import defaults, PARAMETERS
from rbd_ros.errors import SettingError
from rbd_ros.nodes import parameters, process_start
import rclpy
from rclpy.parameter import Parameter


@pytest.fixture
def given(node):
    """Return what makes a node to which some values are given at its start."""
    made = []

    def make(**values):
        made.append(rclpy.create_node(f'given_{len(made)}', parameter_overrides=[
            Parameter(name, value=value) for name, value in values.items()]))
        return made[-1]
    yield make
    for each in made:
        each.destroy_node()


def value(node, name):
    """Return the value of a parameter as Python has it."""
    found = node.get_parameter(name).value
    return list(found) if hasattr(found, 'tolist') else found


def warned(capfd):
    """Return what parameters are warned of."""
    return re.findall('parameter (\\S+) is unknown and has no effect', capfd.readouterr().err)


def test_values_given_at_the_start_that_cannot_be_taken(given):
    """The text has what was given, what is wanted, and how to write it."""
    node = given(a=3, b='x', **{'qos_overrides./x': 1})
    node.declare_parameter('a', 1)
    for name, kind, text in (
            ('a', 'double', 'a must be of type double, got 3; write numbers with a decimal point'),
            ('a', 'integer_array', 'a must be of type integer_array, got 3; write [3]'),
            ('b', 'string_array', "b must be of type string_array, got 'x'; write [x]"),
            ('a', 'string', 'a must be of type string, got 3; put it in quotes'),
            ('z', 'double', 'z: no')):
        assert parameters.refusal_text(node, name, kind, SettingError('no')) == f'parameter {text}'
    text, = parameters.unknown_warnings(node, ['bb'])
    assert text.startswith('parameter b is unknown and has no effect') and 'bb' in text


_FILE = """
from rbd_ros.control.interface.row import joints, scalar
from rbd_ros.control.modes import own_mode
MODES = (own_mode('soft', lambda terms, inputs: terms.gravity, 'gravity alone', (
    scalar('a', 1.0, '', 0.0, {most}, 'One.'), joints('{name}', [1.0], '', 0.0, 2.0, 'Two.'))),)
"""


def test_parameters_of_modes_of_the_user(tmp_path, given, capfd):
    """They are declared when the file is read; what was set stays while its row does."""
    file = tmp_path / 'modes.py'
    file.write_text(_FILE.format(most=5.0, name='b'))
    node = given(**{'mode_file': str(file), 'soft.a': 2.0, 'soft.x': 1.0})
    parameters.declare(node)
    assert not warned(capfd) and not node.has_parameter('soft.a')  # nothing is known of them yet
    own = parameters.OwnModes(node)
    mode, = own.read()
    assert mode.name == 'soft' and mode.file == str(file)
    assert warned(capfd) == ['soft.x']
    assert node.describe_parameter('mode').additional_constraints.endswith(
        ', damping, joint_impedance, cartesian_impedance, soft')
    assert (value(node, 'soft.a'), value(node, 'soft.b')) == (2.0, [1.0])
    node.set_parameters([Parameter('soft.a', value=3.0), Parameter('soft.b', value=[0.5])])
    own.read()
    assert (value(node, 'soft.a'), value(node, 'soft.b')) == (3.0, [0.5])
    file.write_text(_FILE.format(most=4.0, name='c'))
    own.read()
    assert (value(node, 'soft.a'), value(node, 'soft.c')) == (2.0, [1.0])  # as given
    assert not node.has_parameter('soft.b')


def test_without_a_file_there_are_no_modes_of_the_user(given):
    """Nor parameters of them."""
    node = given()
    parameters.declare(node)
    assert parameters.OwnModes(node).read() == ()
    assert set(node.get_parameters_by_prefix('')) >= set(PARAMETERS)


def test_parameters_are_declared_as_the_table_has_them(given, capfd):
    """Type, unit, bounds and when they may change; a list without a default is empty."""
    node = given(damping=[3.0], dampng=2.0)
    parameters.declare(node)
    assert parameters.read(node) == defaults() | {'damping': [3.0]}
    assert warned(capfd) == ['dampng']
    for name, row in PARAMETERS.items():
        found = node.describe_parameter(name)
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
        assert found.type == Parameter.Type[row.kind.upper()].value


def test_value_of_a_wrong_type_is_refused_with_its_name(given):
    """What rclpy raises becomes one line."""
    with pytest.raises(SettingError, match='parameter damping must be of type .*, got 3; write'):
        parameters.declare(given(damping=3))


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
