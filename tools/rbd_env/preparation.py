# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Make what a command needs, doing at the same time what does not wait for one another."""

from __future__ import annotations

import os
from pathlib import Path
import sys
import time

from rbd_env import build, packages, progress, runtime, together, verb
from rbd_env.failure import from_os_error
from rbd_env.layout import Layout


def is_prepared(layout: Layout, groups: tuple[str, ...]) -> bool:
    """Return whether a command can start at once; this is all that a second use waits for."""
    return (all(packages.is_installed(layout, group) for group in groups)
            and verb.is_installed(layout) and build.is_built(layout))


def prepare(
    layout: Layout, groups: tuple[str, ...], system: str, *, compiling: bool = False,
) -> Path | None:
    """
    Make whatever is missing and return the folder of the ROS 2 runtime, None for a sourced one.

    :param groups: of the requirements file.
    :param system: what ``uname -sm`` prints.
    :param compiling: whether the command will need the machine code of the built-in arm.
    """
    found = None
    if layout.uses_wheel:
        machine, _ = runtime.choose(system)
        found = runtime.location(layout.cache, machine)
    if is_prepared(layout, groups) and (found is None or found.is_dir()):
        return found
    import shutil  # not needed by a second use

    from rbd_env import lock

    begin = time.monotonic()
    base_python = getattr(sys, '_base_executable', sys.executable)
    try:
        with lock.held(layout.folder):
            try:
                packages.provide_venv(layout, base_python)
                works = [lambda: _fill(layout, groups, system, compiling)]
                if layout.uses_wheel:
                    works.append(lambda: runtime.provide(layout.cache, system, layout.python))
                together.do(*works)
            except BaseException:
                if not packages.is_installed(layout, 'runtime'):
                    shutil.rmtree(layout.state, ignore_errors=True)  # nothing useful is in it
                raise
    except OSError as error:
        raise from_os_error(error, 'preparing the environment') from error
    progress.step(f'prepared in {time.monotonic() - begin:.1f} s')
    return found


def _fill(layout: Layout, groups: tuple[str, ...], system: str, compiling: bool) -> None:
    """Install the packages, then all that needs nothing but them."""
    from rbd_env import uv

    installer = None
    if not (all(packages.is_installed(layout, group) for group in groups)
            and verb.is_installed(layout)):
        installer = uv.provide(layout, system.partition(' ')[2])
    packages.provide(layout, groups, installer)
    works = [lambda: verb.provide(layout, installer), lambda: build.provide(layout)]
    if compiling:
        works.append(lambda: compile_arm(layout))
    together.do(*works)


def compile_arm(layout: Layout) -> None:
    """Compile for the built-in arm; where that fails, the controller will say why."""
    environ = {**os.environ, 'PYTHONPATH': str(layout.root)}
    if environ.pop('PYTHONDONTWRITEBYTECODE', ''):
        environ['PYTHONPYCACHEPREFIX'] = str(layout.state / 'bytecode')
    with progress.timed('compiling the controller for the built-in arm'):
        together.run([str(layout.python), str(layout.root / 'tools/rbd_env/first_compile.py')],
                     layout.state / 'compile.log', environ=environ)
