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


"""
What a layout of Foxglove must be like, and what its message paths mean.

Foxglove publishes no schema of its layouts. This one is of what its own loader reads: a tree of
panels, a configuration for each, and message paths of the form ``/topic.field[0].field``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import importlib
import json
from pathlib import Path
import re
from typing import Any

LAYOUT = Path(__file__).parents[2] / 'config' / 'layouts' / 'foxglove.json'

#: What the topics of the layout have, as controller and simulator publish them.
TYPES = {
    '/robot_description': 'std_msgs/msg/String',
    '/simulator/contact_markers': 'visualization_msgs/msg/MarkerArray',
    '/controller/commands': 'std_msgs/msg/Float64MultiArray',
    '/controller/controller_state': 'control_msgs/msg/JointTrajectoryControllerState',
    '/controller/external_torque': 'sensor_msgs/msg/JointState',
    '/controller/operational_space/condition': 'std_msgs/msg/Float64MultiArray',
    '/controller/state': 'std_msgs/msg/String',
    '/controller/mode': 'std_msgs/msg/String',
    '/controller/fault': 'std_msgs/msg/String',
    '/diagnostics': 'diagnostic_msgs/msg/DiagnosticArray',
}
_PARTS = {'configById': dict, 'globalVariables': dict, 'userNodes': dict, 'playbackConfig': dict,
          'layout': (dict, str)}
#: Kinds of panels, and what the configuration of each must have.
_PANELS: dict[str, dict[str, Any]] = {
    '3D': {'cameraState': dict, 'topics': dict, 'layers': dict, 'scene': dict},
    'Plot': {'paths': list, 'xAxisVal': str},
    'StateTransitions': {'paths': list, 'isSynced': bool},
    'DiagnosticSummary': {'topicToRender': str, 'minLevel': int},
}
_X_AXES = ('timestamp', 'index', 'custom', 'currentCustom')
_STAMPS = ('receiveTime', 'headerStamp')
_CAMERA = ('distance', 'phi', 'thetaOffset', 'targetOffset', 'fovy', 'near', 'far')
_NUMBERS = re.compile(r'(u?int(8|16|32|64)|octet|boolean|double|float)')


def read_layout(path: Path = LAYOUT) -> dict[str, Any]:
    """Return a layout."""
    return json.loads(path.read_text())


def check_shape(layout: Mapping[str, Any]) -> None:
    """Expect that Foxglove can load a layout: all parts, and each panel once in the tree."""
    assert layout.keys() == _PARTS.keys(), layout.keys()
    for name, kind in _PARTS.items():
        assert isinstance(layout[name], kind), name
    assert 0.0 < layout['playbackConfig']['speed'] <= 5.0
    panels = list(_leaves(layout['layout']))
    assert sorted(panels) == sorted(layout['configById']), 'panels and configurations differ'
    for panel, config in layout['configById'].items():
        check_panel(panel, config)


def _leaves(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
        return
    assert node.keys() - {'splitPercentage'} == {'direction', 'first', 'second'}, node.keys()
    assert node['direction'] in ('row', 'column')
    assert 0.0 < node.get('splitPercentage', 50) < 100.0
    yield from _leaves(node['first'])
    yield from _leaves(node['second'])


def check_panel(panel: str, config: Mapping[str, Any]) -> None:
    """Expect a kind of panel that there is, and what it needs."""
    kind, sign, name = panel.partition('!')
    assert kind in _PANELS and sign and name, panel
    for key, wanted in _PANELS[kind].items():
        assert isinstance(config.get(key), wanted), f'{panel}: {key}'
    for each in config.get('paths', []):
        assert each['value'].startswith('/'), each
        assert each['timestampMethod'] in _STAMPS, each
    if kind == 'Plot':
        assert config['xAxisVal'] in _X_AXES
        assert all(isinstance(each['enabled'], bool) for each in config['paths'])
    if kind == '3D':
        assert set(_CAMERA) <= config['cameraState'].keys()
        for layer in config['layers'].values():
            assert layer['layerId'].startswith('foxglove.') and layer['instanceId']


def paths(layout: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield panel and path of all that is shown; a topic alone is a path without fields."""
    for panel, config in layout['configById'].items():
        yield from ((panel, each['value']) for each in config.get('paths', []))
        yield from ((panel, topic) for topic in config.get('topics', {}))
        if 'topicToRender' in config:
            yield panel, config['topicToRender']


def resolve(path: str, type_of: Callable[[str], str | None]) -> str:
    """
    Return the type of what a path leads to, as message classes tell it.

    :param type_of: type of a topic; None: there is no such topic.
    """
    topic, *fields = path.split('.')
    kind = type_of(topic)
    assert kind, f'{path}: nobody publishes {topic}'
    package, _, name = kind.split('/')
    found = f'{package}/{name}'
    for field in fields:
        match = re.fullmatch(r'(\w+)((?:\[\d+\])?)', field)
        assert match, f'{path}: "{field}" is no field'
        package, _, name = found.partition('/')
        members = getattr(importlib.import_module(f'{package}.msg'), name)
        known = members.get_fields_and_field_types()
        assert match[1] in known, f'{path}: {found} has no field {match[1]}'
        found = known[match[1]]
        inner = re.fullmatch(r'sequence<(.+?)(?:, \d+)?>|(.+)\[\d+\]', found)
        assert bool(inner) is bool(match[2]), f'{path}: {match[1]} is {found}'
        found = found if inner is None else inner[1] or inner[2]
    return found


def check_paths(layout: Mapping[str, Any], type_of: Callable[[str], str | None]) -> None:
    """Expect that every path leads to something that its panel can show."""
    for panel, path in paths(layout):
        found = resolve(path, type_of)
        if panel.startswith('Plot!'):
            assert _NUMBERS.fullmatch(found), f'{path}: {found} cannot be plotted'
        elif panel.startswith('StateTransitions!'):
            assert found == 'string' or _NUMBERS.fullmatch(found), f'{path}: {found}'
