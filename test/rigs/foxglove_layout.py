# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
What a layout of Foxglove must be like, and what its message paths mean.

``test/schema/foxglove_layout.json`` says which settings there are, and of which publications of
Foxglove it knows that. A path of messages has the form ``/topic.field[0].field``, or, for the
elements of a list in which a text is as given, ``/topic.field[:]{key=="text"}.field``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import importlib
import json
from pathlib import Path
import re
from typing import Any

import jsonschema

SCHEMA = Path(__file__).parents[1] / 'schema' / 'foxglove_layout.json'
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
    '/diagnostics': 'diagnostic_msgs/msg/DiagnosticArray',
}
_FIELD = re.compile(r'(\w+)(?:\[(\d+|:)\](?:{(\w+)=="([^"]+)"})?)?')
_NUMBERS = re.compile(r'(u?int(8|16|32|64)|octet|boolean|double|float)')


def read_layout(path: Path = LAYOUT) -> dict[str, Any]:
    """Return a layout."""
    return json.loads(path.read_text())


def check_shape(layout: Mapping[str, Any]) -> None:
    """Expect what the schema has, and each panel once in the tree."""
    try:
        jsonschema.validate(layout, json.loads(SCHEMA.read_text()))
    except jsonschema.ValidationError as error:
        raise AssertionError(f'{error.json_path}: {error.message}') from None
    assert sorted(_leaves(layout['layout'])) == sorted(layout['configById']), (
        'panels and configurations differ')


def _leaves(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    else:
        yield from _leaves(node['first'])
        yield from _leaves(node['second'])


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
        name, place, key, _ = _parts(path, field)
        found = _type_of_field(path, found, name)
        inner = re.fullmatch(r'sequence<(.+?)(?:, \d+)?>|(.+)\[\d+\]', found)
        assert bool(inner) is (place is not None), f'{path}: {name} is {found}'
        found = found if inner is None else inner[1] or inner[2]
        assert (place == ':') is (key is not None), f'{path}: {name} is more than one value'
        if key:
            assert _type_of_field(path, found, key) == 'string', f'{path}: {key} is no text'
    return found


def values(path: str, message: Any) -> list[Any]:
    """Return what a path selects in a message of its topic."""
    found = [message]
    for field in path.split('.')[1:]:
        name, place, key, text = _parts(path, field)
        found = [getattr(each, name) for each in found]
        if place == ':':
            found = [each for row in found for each in row if getattr(each, key) == text]
        elif place is not None:
            found = [row[int(place)] for row in found if int(place) < len(row)]
    return found


def _parts(path: str, field: str) -> tuple[str, str | None, str, str]:
    match = _FIELD.fullmatch(field)
    assert match, f'{path}: "{field}" is no field'
    name, place, key, text = match.groups()
    return name, place, key, text


def _type_of_field(path: str, kind: str, name: str) -> str:
    package, _, message = kind.partition('/')
    known = getattr(importlib.import_module(f'{package}.msg'), message)
    fields = known.get_fields_and_field_types()
    assert name in fields, f'{path}: {kind} has no field {name}'
    return str(fields[name])


def check_paths(layout: Mapping[str, Any], type_of: Callable[[str], str | None]) -> None:
    """Expect that every path leads to something that its panel can show."""
    for panel, path in paths(layout):
        found = resolve(path, type_of)
        if panel.startswith('Plot!'):
            assert _NUMBERS.fullmatch(found), f'{path}: {found} cannot be plotted'
        elif panel.startswith('StateTransitions!'):
            assert found == 'string' or _NUMBERS.fullmatch(found), f'{path}: {found}'
