# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
In which order tests are found, and run.

Begin with the files that take longest, so that all workers end at about the same time.

A worker takes a whole file at a time. The number of tests in a file says little about its time:
a few simulations take longer than hundreds of checks. Files that take more than some seconds have
``pytestmark = pytest.mark.slow``.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
import random

import pytest

ALL = ['test']  # what the stage of the unit tests names


def begin_apart(config: pytest.Config) -> None:
    """
    Let each worker begin to look for tests in another room.

    They all import all files, and what pytest makes of their assertions is kept beside them: on a
    fresh checkout that takes longer than the rest of the import, and each does its share of it.
    """
    if not hasattr(config, 'workerinput') or config.args != ALL:
        return
    rooms = sorted({f'test/{path.name}' for path in (config.rootpath / 'test').iterdir()
                    if path.is_dir() or path.match('test_*.py')} - set(config.option.ignore or ()))
    worker, count = config.workerinput['workerid'], config.workerinput['workercount']
    first = len(rooms) * int(worker.removeprefix('gw')) // count
    config.args = rooms[first:] + rooms[:first]


def slowest_first(items: list[pytest.Item]) -> None:
    """Sort tests by file: first those marked as slow, then by number of tests."""
    counts = Counter(item.path for item in items)
    slow = {item.path for item in items if item.get_closest_marker('slow')}
    items.sort(key=lambda item: (item.path not in slow, -counts[item.path], str(item.path)))


def shuffle(items: list[pytest.Item], seed: str) -> None:
    """
    Put tests into a random order: files, and within a file its tests, a class as one.

    :param seed: the same one gives the same order, in each worker.
    """
    def place(node: pytest.Item | pytest.Class | Path) -> float:
        # of its name, not of when it was found: workers look for tests in different orders
        name = str(node) if isinstance(node, Path) else node.nodeid
        return random.Random(f'{seed} {name}').random()

    items.sort(key=lambda item: (
        place(item.path), str(item.path), place(item.getparent(pytest.Class) or item)))
