# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""The layout of Foxglove has the shape that it loads, and shows fields that there are."""

from __future__ import annotations

import copy
from typing import Any

from foxglove_layout import check_paths, check_shape, paths, read_layout, TYPES
import pytest
from rbd_ros.recording.topics import default_topics

PLOT = 'Plot!command'


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


def broken(change: Any) -> dict[str, Any]:
    """Return the layout with a fault."""
    layout = copy.deepcopy(read_layout())
    change(layout)
    return layout


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
