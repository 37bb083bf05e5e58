# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A launch file as a child of this process: it ends with it, however that ends."""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
import time

from rbd_ros.errors import RbdError

__all__ = ['ChildLaunch']

PATIENCE = 8.0  # s from the interrupt to the end by force; launch escalates after 5 s
#: Runs in the child before the command, whose parent is told by its number: from then on the
#: system interrupts it (PR_SET_PDEATHSIG is 1) when the thread that started it has gone.
TIED = """import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGINT)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
_ERROR = re.compile(r'^\[\S+\] \[(?:FATAL|ERROR)\] \[[\d.]+\] \[\S+\]: (.+)|^\S*Error: (.+)'
                    r'|^\[ERROR\] \[[\w.-]+\]: (.+)', re.MULTILINE)
_LONGEST = 2**16  # bytes of the end of a log in which an error is looked for


class ChildLaunch:
    """
    A process group that ``ros2 launch`` leads.

    To be started in the main thread: the system ties the child to the thread.

    :param words: arguments of ``ros2 launch``.
    :param log: file that gets what all of them print.
    :raises RbdError: if there is no ros2.
    """

    def __init__(self, words: Sequence[str], log: Path) -> None:
        program = shutil.which('ros2')
        if program is None:
            raise RbdError('the program ros2 is not found: source the setup file of ROS, then '
                           'start the dashboard again')
        self.log = log
        self._interrupted: float | None = None  # steady time
        log.unlink(missing_ok=True)  # one that is still ending writes to the old file
        with log.open('wb') as output:
            self._process = subprocess.Popen(
                [sys.executable, '-I', '-c', TIED, str(os.getpid()), program, 'launch', *words],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True)

    def is_running(self) -> bool:
        """Return whether it runs; one that does not end after its interrupt is ended by force."""
        if self._process.poll() is not None:
            self._signal(signal.SIGKILL)  # what it may have left behind
            return False
        if self._interrupted is not None and time.monotonic() > self._interrupted + PATIENCE:
            self._signal(signal.SIGKILL)
        return True

    def interrupt(self) -> None:
        """End it as Ctrl-C does."""
        if self._interrupted is None:
            self._interrupted = time.monotonic()
            self._signal(signal.SIGINT)

    def end(self, seconds: float) -> None:
        """
        End it, and wait for that.

        :param seconds: after which it is ended by force.
        """
        self.interrupt()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        self._signal(signal.SIGKILL)

    def error(self) -> str:
        """Return the first error at the end of the log; empty: there is none."""
        with self.log.open('rb') as file:
            file.seek(max(0, self.log.stat().st_size - _LONGEST))
            found = _ERROR.search(file.read().decode('utf-8', 'replace'))
        return '' if found is None else next(filter(None, found.groups()))

    def _signal(self, number: int) -> None:
        """Send a signal to all of them."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass
