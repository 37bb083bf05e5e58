# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Pip, run apart from the user's shell settings, with its failures explained."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path

from rbd_env import together
from rbd_env.failure import Failure
from rbd_env.scripts import make_executable

# Settings that would send packages elsewhere than into the environment; index, proxy and
# certificate settings of the user stay.
DROPPED = ('PIP_USER', 'PIP_TARGET', 'PIP_PREFIX', 'PIP_ROOT', 'PIP_REQUIRE_VIRTUALENV',
           'PYTHONPATH', 'PYTHONHOME')
RETRIES = '3'
NETWORK = ('connection', 'max retries', 'name resolution', 'name or service not known',
           'timed out', 'timeout', 'proxy', 'network is unreachable', 'sslerror', 'incompleteread',
           'no route to host', 'protocolerror')


def bundled() -> Path | None:
    """Return the wheel of pip that this Python carries with it; None where it hides it."""
    import ensurepip
    import sysconfig

    folders = [Path(ensurepip.__file__).parent / '_bundled']
    if shared := sysconfig.get_config_var('WHEEL_PKG_DIR'):  # Debian and Fedora keep it apart
        folders.insert(0, Path(shared))
    found = [file for folder in folders for file in sorted(folder.glob('pip-*.whl'))]
    return found[0] if found else None


def place(wheel: Path, venv: Path) -> None:
    """
    Put pip into an environment that has none: unpacked, as it is all Python.

    ``ensurepip`` does the same and compiles every file of it, which takes seconds.

    :param wheel: of pip.
    :param venv: a new environment.
    """
    import zipfile

    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(next(venv.glob('lib/python3*/site-packages')))
    for name in ('pip', 'pip3'):
        script = venv / 'bin' / name
        script.write_text(f'#!{venv}/bin/python\nimport sys\n\n'
                          'from pip._internal.cli.main import main\n\nsys.exit(main())\n')
        script.chmod(0o755)
        make_executable(script, venv / 'bin' / 'python')


def run(
    python: Path, arguments: list[str], *, temporary: Path, log: Path, doing: str,
    watch: Callable[[str], None] | None = None,
    tick: Callable[[], None] | None = None,
) -> None:
    """
    Run pip and raise a Failure that explains what went wrong.

    :param python: the interpreter whose pip it is.
    :param temporary: where pip keeps what it is downloading; on the same disk as the result,
        since /tmp is often small.
    :param log: gets all that pip prints.
    :param doing: what the user is told has failed, as in "installing the Python packages".
    :param watch: called with every line that pip prints.
    :param tick: called some times a second, when pip prints nothing to watch.
    """
    environ = {key: value for key, value in os.environ.items() if key not in DROPPED}
    environ['TMPDIR'] = str(temporary)
    temporary.mkdir(parents=True, exist_ok=True)
    command = [str(python), '-I', '-m', 'pip', '--disable-pip-version-check', '--no-input',
               '--retries', RETRIES, *arguments]
    if together.run(command, log, environ=environ, watch=watch, tick=tick):
        raise explain(log.read_text(errors='replace').splitlines(), doing)


def explain(lines: list[str], doing: str) -> Failure:
    """Turn what pip printed into one paragraph."""
    text = '\n'.join(lines).lower()
    errors = [line for line in lines if line.startswith('ERROR:')] or lines[-1:] or ['']
    last = errors[-1].removeprefix('ERROR:').strip()
    if 'no space left' in text or 'disk quota' in text:
        return Failure(
            f'no disk space was left while {doing}. What was begun has been removed. Free about '
            '2 GB and run the same command again; XDG_CACHE_HOME moves the shared part to another '
            'disk.')
    if any(word in text for word in NETWORK):
        return Failure(
            f'the package index could not be reached while {doing}. Preparing the environment '
            'needs the network once; later uses do not. Check the connection, or the proxy and '
            f'index settings of pip, and run the same command again. (pip: {last})')
    if 'from versions: none' in text:
        return Failure(
            f'the package index could not be reached or lacks a package while {doing}. Check the '
            'connection, or the index settings of pip if it is a mirror, and run the same command '
            f'again. (pip: {last})')
    return Failure(f'{doing} failed. The end of what pip said:\n\n' + '\n'.join(lines[-8:]))
