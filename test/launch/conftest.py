# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""In which order launch tests run, how long they may take, and what those with commands share."""

from pathlib import Path
import shutil

import pytest
from rbd_env.pace import LIMIT, patient

_HERE = Path(__file__).parent

#: s for one run of a test; waiting for its turn does not count
_TIMEOUT = patient(LIMIT)


#: files that take longest, by their time; the size of a file says little about that of its tests
_LONGEST = (
    'stalls', 'robot_launch', 'make_config', 'safety_endings', 'safety_faults', 'excite_launch',
    'mujoco_arm_launch', 'mujoco_panda_launch', 'quadruped_launch', 'teach_launch',
    'simulator_launch', 'safety_callbacks', 'my_robot_example', 'dashboard_launch')

#: files whose tests come last, one at a time: floods take all processors, and others beside them
#: would measure that
_ALONE = ('flood',)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest: all workers then end at about the same time."""
    def place(item: pytest.Item) -> tuple[int, int, str]:
        if _HERE not in item.path.parents:
            return len(_LONGEST), 0, str(item.path)
        name = _name(item)
        rank = _LONGEST.index(name) if name in _LONGEST else len(_LONGEST) + (name in _ALONE)
        return rank, -item.path.stat().st_size, str(item.path)
    items.sort(key=place)
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(_TIMEOUT, func_only=True))
            if _name(item) in _ALONE:
                item.add_marker(pytest.mark.alone)


def _name(item: pytest.Item) -> str:
    return item.path.stem.removeprefix('test_')


@pytest.fixture
def ros2() -> str:
    """Return the program, or skip where the environment has none."""
    found = shutil.which('ros2')
    if not found:
        pytest.skip('there is no ros2 program on PATH: run this through ./run test')
    return found
