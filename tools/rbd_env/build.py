# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Build the package with colcon when its files have changed."""

from __future__ import annotations

from collections.abc import Iterator
import hashlib
import os
from pathlib import Path
import shutil

from rbd_env import progress, together, variables
from rbd_env.failure import Failure, from_os_error
from rbd_env.layout import Layout
from rbd_env.scripts import make_executable

# what setup.py installs, and what says how
INSTALLED = ('rbd_ros', 'scripts', 'launch', 'config', 'urdf', 'resource',
             'package.xml', 'setup.py', 'setup.cfg')


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    for name in INSTALLED:
        path = root / name
        if path.is_file():
            yield name, path.stat()
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(entry for entry in folders if entry != '__pycache__')
            for entry in sorted(names):
                if not entry.endswith('.pyc'):
                    full = os.path.join(folder, entry)
                    yield full, os.stat(full)


def fingerprint(layout: Layout) -> str:
    """Return a digest that changes with any file that is installed."""
    digest = hashlib.sha256(str(layout.state).encode())
    for name, status in _files(layout.root):
        digest.update(f'{name} {status.st_size} {status.st_mtime_ns}\n'.encode())
    return digest.hexdigest()


def is_built(layout: Layout) -> bool:
    """Return whether the installed tree is that of the files as they are."""
    try:
        return (command(layout).exists()
                and (layout.state / 'build.stamp').read_text() == fingerprint(layout))
    except OSError:
        return False


def command(layout: Layout) -> Path:
    """Return where the command ``rbd`` is found by a shell inside: a link to the installed one."""
    return layout.venv / 'bin' / 'rbd'


def provide(layout: Layout) -> None:
    """Build unless the installed tree is up to date; to be called under the lock."""
    if is_built(layout):
        return
    wanted = fingerprint(layout)
    stamp = layout.state / 'build.stamp'
    try:
        with progress.timed('building the package with colcon'):
            stamp.unlink(missing_ok=True)
            # colcon leaves files of an older version where they are
            for folder in ('build', 'install'):
                shutil.rmtree(layout.state / folder, ignore_errors=True)
            run_colcon(layout)
            for file in (layout.install / 'lib' / 'rbd_ros').iterdir():
                make_executable(file, layout.python)
            command(layout).unlink(missing_ok=True)
            command(layout).symlink_to(layout.install / 'lib' / 'rbd_ros' / 'rbd')
            stamp.write_text(wanted)
    except OSError as error:
        raise from_os_error(error, 'building the package') from error


def run_colcon(layout: Layout) -> None:
    """Run ``colcon build`` on the checkout alone, with all it makes below the state folder."""
    state = layout.state
    environ = variables.without_runtime(dict(os.environ))
    environ['PATH'] = f'{layout.venv}/bin:{environ.get("PATH", "")}'
    # setuptools warns about the way in which colcon calls it
    environ['PYTHONWARNINGS'] = 'ignore'
    said = state / 'colcon.log'
    if together.run(
            [str(layout.venv / 'bin' / 'colcon'), '--log-base', str(state / 'log'), 'build',
             '--paths', str(layout.root), '--build-base', str(state / 'build'),
             '--install-base', str(state / 'install'), '--event-handlers', 'console_direct-'],
            said, environ=environ, folder=state):
        raise Failure('colcon could not build the package. It said:\n\n'
                      + said.read_text(errors='replace').strip())
