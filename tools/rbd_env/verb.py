# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Install the ``ros2`` program and those of its commands that ROS lacks."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
import shutil
import subprocess
from typing import TYPE_CHECKING

from rbd_env import pip, progress
from rbd_env.layout import Layout

if TYPE_CHECKING:
    from rbd_env.uv import Uv


# folder below tools: the packages of ROS that have the same commands
SOURCES = {'ros2_launch': ('ros2launch',),
           'ros2_verbs': ('ros2action', 'ros2interface', 'ros2lifecycle')}


def _source(layout: Layout, name: str) -> Path:
    return layout.root / 'tools' / name


def stamp_text(layout: Layout) -> str:
    """Return what the stamp must say when the installed commands are those of the files."""
    digest = hashlib.sha256()
    for source in SOURCES:
        for folder, folders, names in os.walk(_source(layout, source)):
            folders[:] = sorted(name for name in folders if not name.endswith('__'))
            for name in sorted(names):
                with open(os.path.join(folder, name), 'rb') as file:
                    digest.update(file.read())
    return digest.hexdigest()


def is_installed(layout: Layout) -> bool:
    """Return whether nothing is to be done."""
    try:
        return (layout.venv / 'verb.stamp').read_text() == stamp_text(layout)
    except OSError:
        return False


def provide(layout: Layout, uv: Uv | None = None) -> None:
    """Install what is neither there nor ROS's own; to be called under the lock."""
    if is_installed(layout):
        return
    missing = [name for name, real in SOURCES.items()
               if layout.uses_wheel or not _has(layout, real)]
    if missing:
        with progress.timed('installing commands of ros2'):
            _install(layout, missing, uv)
    (layout.venv / 'verb.stamp').write_text(stamp_text(layout))


def _install(layout: Layout, names: list[str], uv: Uv | None) -> None:
    temporary = layout.state / 'verbs'  # building writes next to the sources
    copies = [str(temporary / name) for name in names]
    try:
        for name in names:
            copy_writable(_source(layout, name), temporary / name)
        if uv is None or not uv.install(layout, ['--reinstall', *copies]):
            pip.run(
                layout.python, ['install', '--no-deps', '--no-build-isolation',
                                '--force-reinstall', *copies],
                temporary=temporary, log=layout.state / 'pip.log',
                doing='installing commands of ros2')
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def copy_writable(source: Path, copy: Path) -> None:
    """Copy a folder; what is read-only in the checkout can be built and removed in the copy."""
    shutil.copytree(source, copy)
    for folder, _, _ in os.walk(copy):
        os.chmod(folder, 0o755)


def _has(layout: Layout, packages: tuple[str, ...]) -> bool:
    return subprocess.run([str(layout.python), '-c', f'import {", ".join(packages)}'],
                          capture_output=True, check=False).returncode == 0
