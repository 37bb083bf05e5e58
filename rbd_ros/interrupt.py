# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Ctrl-C while a program still imports what it needs: it ends at once, without a traceback.

A script calls this before it imports anything else; this module imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
import os
import signal
import time
from types import FrameType

__all__ = ['end_when_interrupted', 'INTERRUPTED', 'LAUNCHED']

#: exit code of a command that could not finish, as shells have it: 128 and the number of SIGINT
INTERRUPTED = 130

#: s that a node stays after Ctrl-C: launch passes it on, and reports a process that has ended a
#: moment before as one that has died, where Python has the fault gh-87744
LAUNCHED = 0.2


def end_when_interrupted(code: int, stay: float = 0.0,
                         ) -> Callable[[int, FrameType | None], object] | int | None:
    """
    End the process when SIGINT comes, until another handler is set; who ignores it goes on.

    Not by an exception: one that is raised within an import leaves a half-made module, and some
    libraries turn it into an error of their own.

    :param code: exit code.
    :param stay: s until it ends.
    :returns: what handled the signal before.
    """
    def end(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(stay)
        os._exit(code)
    former = signal.getsignal(signal.SIGINT)
    if former is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, end)
    return former
