# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The file for MoveIt names what node and plugin offer; its page says the same."""

import logging
from pathlib import Path
import re
from types import SimpleNamespace

from control_msgs.action import FollowJointTrajectory
import pytest
from rbd_ros.command_line.ros2_control.package import plugin_package
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.model.urdf import load_urdf
from rbd_ros.nodes.controller import action
import yaml

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / 'config' / 'moveit_controllers.yaml').read_text()
FILE, PAGE = yaml.safe_load(TEXT), (ROOT / 'docs' / 'moveit.md').read_text()
MANAGER = FILE['moveit_simple_controller_manager']


def joints_of(name):
    """Return the joints that a parameter file controls."""
    content = yaml.safe_load((ROOT / 'config' / name).read_text())
    return content['/**']['controller']['ros__parameters']['joints']


@pytest.fixture
def offered(monkeypatch):
    """Return type and name of the action that the node offers."""
    found = []
    monkeypatch.setattr(action, 'GoalServer', lambda _, kind, name, **__: found.extend(
        [kind, name]))
    monkeypatch.setattr(action, 'BoundedInput', lambda *_, **__: None)
    node = SimpleNamespace(create_timer=lambda *_, **__: None, resolve_topic_name=str,
                           get_logger=lambda: logging.getLogger('node'))
    action.TrajectoryAction(node, SimpleNamespace(), None)
    return found


def test_names_are_those_of_the_node(offered):
    """Controller, action, type and joints: what MoveIt connects to is there."""
    assert MANAGER['controller_names'] == ['controller']
    entry = MANAGER['controller']
    assert f'~/{entry["action_ns"]}' == offered[1]
    assert entry['type'] == offered[0].__name__ == FollowJointTrajectory.__name__
    assert entry['joints'] == list(load_urdf(ROOT / 'urdf/seven_joint_arm.urdf').joint_names)
    assert entry['default'] is True
    launched = (ROOT / 'launch' / 'controller.launch.py').read_text()
    assert f"name='{MANAGER['controller_names'][0]}'" in launched


def test_names_are_those_of_the_plugin():
    """The plugin of ros2_control offers the same action under its own name."""
    source = plugin_package()['src/topics.cpp']
    server = source[source.index('create_server<Follow>'):]
    assert f'"~/{MANAGER["controller"]["action_ns"]}"' in server[:200]


def test_moveit_waits_longer_than_the_controller():
    """An arm that arrives within its time is not cancelled before."""
    execution = FILE['trajectory_execution']
    assert execution['allowed_goal_duration_margin'] > PARAMETERS['tolerance.goal_time'].default
    assert execution['allowed_start_tolerance'] >= PARAMETERS['tolerance.goal'].default[0]
    for name, value in execution.items():
        row = re.search(rf'\| `{name}` \| (\S+) \|', PAGE)
        assert row is not None and yaml.safe_load(row[1]) == value


def test_page_and_comments_know_other_robots():
    """Their joints are those of their parameter files; the page has the file's own lines."""
    blocks = [yaml.safe_load(each) for each in re.findall(r'```yaml\n(.*?)```', PAGE, re.DOTALL)]
    manager = {name: FILE[name] for name in FILE if name != 'trajectory_execution'}
    assert manager in blocks
    comments = ' '.join(re.findall(r'^# (.*)', TEXT, re.MULTILINE))
    for name in ('panda.yaml', 'ur_effort.yaml'):
        joints = joints_of(name)
        shown = (joints[0], joints[-1]) if name == 'panda.yaml' else joints
        for each in shown:
            assert f'`{each}`' in PAGE and each in comments
        assert f'config/{name}' in PAGE and f'config/{name}' in comments
