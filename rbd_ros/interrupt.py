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
