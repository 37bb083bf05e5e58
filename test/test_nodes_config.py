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

"""The example files of config/ and the document of the controller know every parameter."""

from pathlib import Path

import pytest
from rbd_ros.control.parameter_rules import activation_refusals
from rbd_ros.control.parameters import defaults, PARAMETERS, refusals
from rbd_ros.sim.settings import Settings, SETTINGS

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed: source ROS 2 or use ./run')
ROOT = Path(__file__).parents[1]
FILES = ('controller.yaml', 'panda.yaml', 'ur_effort.yaml', 'ros2_control.yaml')


@pytest.mark.parametrize('name', FILES)
def test_examples_are_valid(name):
    """Every example has known parameters whose set is accepted, with all that has no default."""
    content = yaml.safe_load((ROOT / 'config' / name).read_text())
    values = content['/**']['controller']['ros__parameters']
    assert not set(values) - set(PARAMETERS)
    assert refusals(values, joints=len(values.get('joints', [])) or 7) == []
    assert activation_refusals(defaults() | values) == []


@pytest.mark.parametrize(('name', 'table'), [
    ('controller.md', PARAMETERS), ('simulator.md', SETTINGS)])
def test_document_lists_every_parameter(name, table):
    """The document of each node has a row for each parameter, and no other."""
    lines = (ROOT / 'docs' / name).read_text().splitlines()
    begin = lines.index('## Parameters')
    rows = [line.split('`')[1] for line in lines[begin:] if line.startswith('| `')]
    assert rows == list(table)


def test_simulator_example_is_valid():
    """The parameters of the simulated arm are known, and accepted as a set."""
    content = yaml.safe_load((ROOT / 'config' / 'simulator.yaml').read_text())
    values = content['/**']['simulator']['ros__parameters']
    assert not set(values) - set(SETTINGS)
    Settings(values)
