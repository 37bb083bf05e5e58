# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Mistakes on the command line of the launch file are answered before anything starts."""

from __future__ import annotations

import json
from pathlib import Path
import subprocess
import sys

import pytest
from rbd_env.pace import patient

ROOT = Path(__file__).resolve().parents[2]
ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'


MISTAKES = [
    ((f'urdf:={ROOT}/urdf/seven_joint_am.urdf',),
     'there is no such file; did you mean "seven_joint_arm.urdf"?'),
    (('urdf:=/no/such/folder/arm.urdf', 'simulate:=true'),
     'there is no such file; there is no folder /no/such/folder'),
    (('dashbord:=true', 'robot:=pandaa'),
     'dashbord:= is not an argument here and has no effect; did you mean "dashboard"?'),
    (('robot:=pandaa',), 'no robot "pandaa"; did you mean "panda"?'),
    ((f'urdf:={ARM}', f'params_file:={ROOT}/config/controler.yaml'),
     'does not exist; did you mean "controller.yaml"?'),
    ((f'urdf:={ARM}',), 'a real robot needs a parameter file of its own'),
    (('mode:=hold', 'robot:=pandaa'),
     'mode:= is not an argument here and has no effect: it is a parameter of the controller'),
    (('stifness:=[50.0]', 'robot:=pandaa'), 'no effect; did you mean "stiffness"?'),
    (('log_level:=loud',), 'log_level:=loud: it must be one of debug, info, warn, error, fatal'),
    (('joint_states:=joint states',), 'joint_states:=joint states: the name of a topic has'),
    (('commands:=',), 'commands:=: the name of a topic has letters'),
    ((f'urdf:={ARM}', 'use_robot_description:=true', 'params_file:=config/controller.yaml'),
     'urdf and use_robot_description:=true are both given: leave one out'),
    ((f'urdf:={ROOT}/urdf', 'simulate:=true'), 'urdf is a folder'),
    (('params_file:=/no/such.yaml',), 'params_file "/no/such.yaml" does not exist'),
    (('dashboard:=true', 'dashboard_port:=80x'),
     'dashboard_port:=80x: a port is a number from 1 to 65535'),
]

#: Launches what each of them asks for, in one process: the imports of launch take longest.
PROGRAM = """
import json, sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

file, cases = sys.argv[1], json.loads(sys.argv[2])
for words in cases:
    service = LaunchService(argv=words, noninteractive=True)
    service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
        PythonLaunchDescriptionSource(file),
        launch_arguments=[tuple(word.split(':=', 1)) for word in words])]))
    print(f'\\nended with code {service.run()}', flush=True)
"""


@pytest.fixture(scope='module')
def answers() -> list[str]:
    """Return what is said of each mistake, with the exit code."""
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM, str(ROOT / 'launch' / 'controller.launch.py'),
         json.dumps([words for words, _ in MISTAKES])], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=True, timeout=patient(120))
    return done.stdout.split('ended with code ')


@pytest.mark.parametrize('which', range(len(MISTAKES)))
def test_answer(which: int, answers: list[str]) -> None:
    """The answer names what was written and what was meant, and no process starts."""
    said, code = answers[which], answers[which + 1].split()[0]
    assert MISTAKES[which][1] in said and code != '0', said
    assert 'process started' not in said
