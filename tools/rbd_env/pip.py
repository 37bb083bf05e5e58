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

"""Pip, run apart from the user's shell settings, with its failures explained."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import subprocess

from rbd_env.failure import Failure

# Settings that would send packages elsewhere than into the environment; index, proxy and
# certificate settings of the user stay.
DROPPED = ('PIP_USER', 'PIP_TARGET', 'PIP_PREFIX', 'PIP_ROOT', 'PIP_REQUIRE_VIRTUALENV',
           'PYTHONPATH', 'PYTHONHOME')
RETRIES = '3'
NETWORK = ('connection', 'max retries', 'name resolution', 'name or service not known',
           'timed out', 'timeout', 'proxy', 'network is unreachable', 'sslerror', 'incompleteread',
           'no route to host', 'protocolerror')


def run(
    python: Path, arguments: list[str], *, temporary: Path, log: Path, doing: str,
    watch: Callable[[str], None] = lambda line: None,
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
    with open(log, 'w') as file:
        process = subprocess.Popen(
            command, env=environ, close_fds=False, stdin=subprocess.DEVNULL, text=True,
            errors='replace', stdout=file if tick else subprocess.PIPE,
            stderr=subprocess.STDOUT)
        try:
            if tick:
                _poll(process, tick)
            else:
                for line in process.stdout or ():
                    file.write(line)
                    watch(line)
            process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
    if process.returncode:
        lines = log.read_text(errors='replace').splitlines()
        raise explain(lines, doing)


def _poll(process: subprocess.Popen[str], tick: Callable[[], None]) -> None:
    while True:
        try:
            process.wait(0.1)
            return
        except subprocess.TimeoutExpired:
            tick()


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
