# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Two threads of the plugin never wait for each other: the order of its locks."""

import re

from rbd_ros.command_line.ros2_control.package import plugin_package


def under_lock(text: str, name: str) -> list[str]:
    """Return what is done while a lock of that name is held, scope by scope."""
    found = []
    for begin in re.finditer(rf'lock\({name}\);', text):
        depth, end = 0, begin.end()
        while depth >= 0:
            depth += {'{': 1, '}': -1}.get(text[end], 0)
            end += 1
        found.append(text[begin.end():end])
    return found


def test_the_lock_of_requests_is_the_last_one():
    """With it nothing else is locked; callbacks of topics take it with theirs."""
    held = 0
    for text in (text for name, text in plugin_package().items() if name.endswith('.cpp')):
        for scope in under_lock(text, 'asking_'):
            held += 1
            for other in ('mutex', 'topics_->', 'reports_->', 'ask(', 'post(', 'wait_for('):
                assert other not in scope, scope
    assert held > 5
