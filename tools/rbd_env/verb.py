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

"""Install the ``ros2`` program and its verb ``launch`` where ROS lacks them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
import shutil
import subprocess

from rbd_env import pip
from rbd_env.layout import Layout


def _source(layout: Layout) -> Path:
    return layout.root / 'tools' / 'ros2_launch'


def stamp_text(layout: Layout) -> str:
    """Return what the stamp must say when the installed verb is that of the files."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(_source(layout)):
        folders[:] = sorted(name for name in folders if not name.endswith('__'))
        for name in sorted(names):
            with open(os.path.join(folder, name), 'rb') as file:
                digest.update(file.read())
    return digest.hexdigest()


def is_installed(layout: Layout) -> bool:
    """Tell whether nothing is to be done."""
    try:
        return (layout.venv / 'verb.stamp').read_text() == stamp_text(layout)
    except OSError:
        return False


def provide(layout: Layout) -> None:
    """Install the verb unless it is there or ROS has its own; to be called under the lock."""
    if is_installed(layout):
        return
    if layout.uses_wheel or not _has_real_verb(layout):
        copy = layout.state / 'tmp' / 'ros2_launch'  # building writes beside the sources
        try:
            shutil.copytree(_source(layout), copy)
            pip.run(
                layout.python,
                ['install', '--no-deps', '--no-build-isolation', '--force-reinstall', str(copy)],
                temporary=layout.state / 'tmp', log=layout.state / 'pip.log',
                doing='installing the verb "ros2 launch"')
        finally:
            shutil.rmtree(layout.state / 'tmp', ignore_errors=True)
    (layout.venv / 'verb.stamp').write_text(stamp_text(layout))


def _has_real_verb(layout: Layout) -> bool:
    return subprocess.run([str(layout.python), '-c', 'import ros2launch'],
                          capture_output=True, check=False).returncode == 0
