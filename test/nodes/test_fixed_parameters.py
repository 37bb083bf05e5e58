# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Parameters that hold from the start: what cannot be used ends a process with one line."""

import subprocess
import sys

from isolation import own_domain
import pytest
from rbd_env.pace import patient

UNKNOWN = 'parameter {} is unknown and has no effect; did you mean "{}"'


def said_by(node, *given):
    """Return the lines of a node that does not start."""
    words = [word for each in given for word in ('-p', each)]
    with own_domain():
        done = subprocess.run(
            [sys.executable, '-m', f'rbd_ros.nodes.{node}', '--ros-args', *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=patient(60.0))
    assert done.returncode == 1 and 'Traceback' not in done.stdout, done.stdout
    return done.stdout.splitlines()


@pytest.mark.sampled('configurations', 1)
@pytest.mark.parametrize(('node', 'given', 'said'), [
    ('dashboard.node', 'robots:=left',
     "parameter robots must be of type string_array, got 'left'; write [left]"),
    ('path_server.node', 'controller:=3',
     'parameter controller must be of type string, got 3; put it in quotes'),
    ('stand', 'rate:=500',
     'parameter rate must be of type double, got 500; write numbers with a decimal point')])
def test_a_value_of_another_type(node, given, said):
    """It is answered with its name and what to write."""
    assert said in said_by(node, given)[-1]


@pytest.mark.sampled('configurations', 1)
@pytest.mark.parametrize(('node', 'given', 'said', 'names'), [
    ('dashboard.node', 'port:=99999', 'port 99999 is outside 1 to 65535',
     ('alow_commands', 'allow_commands')),
    ('stand', 'rate:=500.0', 'robot_description_file and scene_file must be given',
     ('scene_fil', 'scene_file'))])
def test_a_value_that_cannot_be_used_beside_an_unknown_name(node, given, said, names):
    """The name is warned of, with the one that was meant; the value ends it."""
    lines = said_by(node, given, f'{names[0]}:=true')
    assert said in lines[-1]
    assert any(UNKNOWN.format(*names) in line for line in lines), lines


def test_a_rate_that_no_robot_has():
    """It would be divided by."""
    files = 'robot_description_file:=a.urdf', 'scene_file:=b.xml'
    assert 'parameter rate must be 10 to 10000 Hz, got 0' in said_by(
        'stand', *files, 'rate:=0.0')[-1]
