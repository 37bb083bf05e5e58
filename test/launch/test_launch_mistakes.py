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

"""Mistakes on the command line of the launch file are answered before anything starts."""

from __future__ import annotations

from pathlib import Path
import subprocess

import pytest
from rbd_env.pace import patient

ROOT = Path(__file__).resolve().parents[2]
ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'


@pytest.mark.parametrize(('words', 'answer'), [
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
])
def test_answer(words: tuple[str, ...], answer: str) -> None:
    """The answer names what was written and what was meant, and no process starts."""
    done = subprocess.run(
        ['ros2', 'launch', str(ROOT / 'launch' / 'controller.launch.py'), *words],
        capture_output=True, text=True, check=False, timeout=patient(60))
    said = done.stdout + done.stderr
    assert answer in said and done.returncode != 0, said
    assert 'process started' not in said
