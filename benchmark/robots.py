# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Real robots from the package example-robot-data, and where they lie."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from pathlib import Path

#: Robots by a short name, as files below ``robots_folder()``.
FILES = {
    'ur5': 'ur_description/urdf/ur5_robot.urdf',
    'panda': 'panda_description/urdf/panda.urdf',
    'go2': 'go2_description/urdf/go2.urdf',
    'talos': 'talos_data/robots/talos_full_v2.urdf',
}
#: Those of them that have a floating base.
FLOATING = ('go2', 'talos')


@cache
def robots_folder() -> Path:
    """Return the folder of the robots, or raise with the way to get it."""
    try:
        files = metadata.files('example-robot-data') or []
    except metadata.PackageNotFoundError:
        raise FileNotFoundError(
            'the robots come from the package example-robot-data, which is not installed; '
            './run installs it') from None
    for file in files:
        parts = file.parts
        if 'robots' in parts:
            inside = Path(*parts[:parts.index('robots') + 1])
            return Path(str(file.locate())).parents[len(parts) - len(inside.parts) - 1]
    raise FileNotFoundError('example-robot-data is installed without its robots')


def robot_file(name: str) -> Path:
    """Return the URDF of a robot of ``FILES``."""
    return robots_folder() / FILES[name]


def all_files() -> list[Path]:
    """Return every URDF of the package, in a stable order."""
    return sorted(robots_folder().rglob('*.urdf'))
