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


"""The layout of Foxglove has the shape that it loads, and shows fields that there are."""

from __future__ import annotations

import copy
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from foxglove_layout import check_paths, check_shape, paths, read_layout, TYPES, values
import pytest
from rbd_ros.recording.topics import default_topics

PLOT, STATE = 'Plot!command', 'StateTransitions!state'


def test_the_layout() -> None:
    """It can be loaded, and every path leads to a number, a text or a topic that is shown."""
    layout = read_layout()
    check_shape(layout)
    check_paths(layout, TYPES.get)
    assert {path.split('.')[0] for _, path in paths(layout)} == TYPES.keys()


def test_what_is_shown_is_recorded() -> None:
    """A recording has all of it that a real robot publishes."""
    assert {topic for topic in TYPES if not topic.startswith('/simulator/')} <= set(
        default_topics('/controller'))


def test_a_filter() -> None:
    """It selects the elements in which a text is as given, and of these what the path says."""
    message = DiagnosticArray(status=[
        DiagnosticStatus(name='a', message='one', values=[KeyValue(key='k', value='x')]),
        DiagnosticStatus(name='b', message='two', values=[
            KeyValue(key='j', value='y'), KeyValue(key='k', value='z')])])
    assert values('/diagnostics.status[1].message', message) == ['two']
    assert values('/diagnostics.status[2].message', message) == []
    assert values('/diagnostics.status[:]{name=="a"}.message', message) == ['one']
    assert values('/diagnostics.status[:]{name=="b"}.values[:]{key=="k"}.value', message) == ['z']
    assert values('/diagnostics.status[:]{name=="c"}.values[:]{key=="k"}.value', message) == []


def broken(change: Any) -> dict[str, Any]:
    """Return the layout with a fault."""
    layout = copy.deepcopy(read_layout())
    change(layout)
    return layout


@pytest.mark.parametrize('change', [
    lambda d: d.pop('layout'), lambda d: d.update(more={}),
    lambda d: d['configById'].pop(PLOT), lambda d: d['configById'].update({'Plot!other': {}}),
    lambda d: d['configById'][PLOT].pop('paths'), lambda d: d['layout'].update(direction='up'),
    lambda d: d['layout'].pop('second'), lambda d: d['layout'].update(splitPercentage=120),
    lambda d: d['configById'][PLOT].update(xAxisVal='time'),
    lambda d: d['configById'][PLOT].update(title='Torques'),
    lambda d: d['configById'][PLOT]['paths'][0].pop('enabled'),
    lambda d: d['configById'][PLOT]['paths'][0].update(timestampMethod='stamp'),
    lambda d: d['configById']['3D!robot']['layers']['grid'].update(layerId='foxglove.Gird'),
    lambda d: d['configById']['3D!robot']['topics']['/robot_description'].update(visible=1),
    lambda d: d['configById']['DiagnosticSummary!all'].update(minLevel='error'),
    lambda d: d['configById'].update({'Plots!command': d['configById'].pop(PLOT)}),
    lambda d: d['configById']['3D!robot']['cameraState'].pop('fovy')])
def test_a_wrong_shape_is_found(change: Any) -> None:
    """Each fault of the shape is one for the check."""
    with pytest.raises(AssertionError):
        check_shape(broken(change))


@pytest.mark.parametrize('path', [
    '/controller/command.data[0]', '/controller/commands.date[0]', '/controller/commands.data',
    '/controller/controller_state.error[0]', '/controller/state.data',
    '/controller/controller_state.error.position[0]', '/controller/controller_state.header'])
def test_a_wrong_path_is_found(path: str) -> None:
    """A topic or field that is not there, a list without a place, a text to plot."""
    def change(layout: dict[str, Any]) -> None:
        layout['configById'][PLOT]['paths'][0]['value'] = path
    with pytest.raises(AssertionError):
        check_paths(broken(change), TYPES.get)


@pytest.mark.parametrize('path', [
    '/diagnostics.status[:].message', '/diagnostics.status{name=="a"}.message',
    '/diagnostics.status[:]{names=="a"}.message', '/diagnostics.status[:]{values=="a"}.message',
    '/diagnostics.status[:]{name=="a"}.text', '/diagnostics.status[:]{name=="a"}',
    '/diagnostics.status[:]{name==a}.message'])
def test_a_wrong_filter_is_found(path: str) -> None:
    """A list without a filter, a filter of no list, one by what is no text, a wrong field."""
    def change(layout: dict[str, Any]) -> None:
        layout['configById'][STATE]['paths'][0]['value'] = path
    with pytest.raises(AssertionError):
        check_paths(broken(change), TYPES.get)
