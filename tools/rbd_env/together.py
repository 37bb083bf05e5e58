# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Several things at the same time, and the programs that are started for them.

When one of them fails, or the user interrupts, the programs of the others are ended, so that
nothing goes on behind the message that the user reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
import subprocess
import threading

from rbd_env.failure import Failure

_running: set[subprocess.Popen[str]] = set()
_ending = threading.Event()
_guard = threading.Lock()


def do(*works: Callable[[], object]) -> None:
    """
    Do all of it, each in a thread of its own, and return when everything is done.

    :raises BaseException: the first failure, after all others have ended.
    """
    from concurrent.futures import as_completed, ThreadPoolExecutor  # not for a second use

    with ThreadPoolExecutor(len(works)) as pool:
        try:
            for future in as_completed([pool.submit(work) for work in works]):
                future.result()
        except BaseException:
            _end_all()
            raise
        finally:
            if threading.current_thread() is threading.main_thread():
                pool.shutdown()
                _ending.clear()


def run(
    command: list[str], log: Path, *, environ: Mapping[str, str] | None = None,
    folder: Path | None = None, watch: Callable[[str], None] | None = None,
    tick: Callable[[], None] | None = None,
) -> int:
    """
    Run a program to its end and return its exit status.

    :param command: program and arguments.
    :param log: gets all that it prints.
    :param environ: its variables, where they are not those of this process.
    :param folder: where it works.
    :param watch: called with every line that it prints.
    :param tick: called some times a second, instead of watching lines.
    """
    with open(log, 'w') as file:
        with _guard:
            if _ending.is_set():
                raise Failure('another step has failed')
            # the locks are inherited: what outlives ./run still holds them
            process = subprocess.Popen(
                command, env=environ, cwd=folder, close_fds=False, stdin=subprocess.DEVNULL,
                text=True, errors='replace', stdout=subprocess.PIPE if watch else file,
                stderr=subprocess.STDOUT)
            _running.add(process)
        try:
            for line in process.stdout or ():
                file.write(line)
                if watch:
                    watch(line)
            while tick and process.poll() is None:
                tick()
                _wait(process, 0.1)
            return process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            with _guard:
                _running.discard(process)


def _wait(process: subprocess.Popen[str], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def _end_all() -> None:
    with _guard:
        _ending.set()
        for process in _running:
            process.kill()
