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
Disturb a run of the tests: what they say may not depend on the machine.

``./run test --disturb busy`` keeps two processes per processor busy beside it, ``--disturb stops``
halts processes of the tests for half a second at random moments, ``--disturb busy,stops`` does
both. A test that fails then and not otherwise judges the machine, not the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, ExitStack, suppress
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import threading

from rbd_env.failure import Failure

#: busy processes per processor
BUSY = 2

#: s for which a process is halted, and s between two halts, at most
HALT, PAUSE = 0.5, 4.0

_spinning: set[int] = set()  # they are no processes of the tests
_SPIN = 'import os, sys\nparent = int(sys.argv[1])\nwhile os.getppid() == parent: pass'


@contextmanager
def busy() -> Iterator[None]:
    """Keep the processors busy."""
    count = BUSY * len(os.sched_getaffinity(0))
    spinning = [subprocess.Popen([sys.executable, '-I', '-S', '-c', _SPIN, str(os.getpid())])
                for _ in range(count)]
    _spinning.update(each.pid for each in spinning)
    try:
        yield
    finally:
        for each in spinning:
            each.kill()
            each.wait()


def descendants(ancestor: int) -> list[int]:
    """Return all processes below one."""
    children: dict[int, list[int]] = {}
    for entry in Path('/proc').iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                parent = int((entry / 'stat').read_text().rpartition(')')[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [ancestor]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


@contextmanager
def stops(seed: int) -> Iterator[None]:
    """Halt one process of the tests after the other, at random moments."""
    ended, chance = threading.Event(), random.Random(seed)

    def halt() -> None:
        while not ended.wait(chance.uniform(0.0, PAUSE)):
            victims = sorted(set(descendants(os.getpid())) - _spinning)
            if not victims:
                continue
            victim = chance.choice(victims)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(victim, signal.SIGSTOP)
            ended.wait(HALT)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(victim, signal.SIGCONT)
    thread = threading.Thread(target=halt, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def disturbed(words: str) -> Iterator[None]:
    """
    Disturb what runs meanwhile.

    :param words: of 'busy' and 'stops', with commas; empty: nothing.
    """
    chosen = [word for word in words.split(',') if word]
    with ExitStack() as held:
        for word in chosen:
            if word == 'busy':
                held.enter_context(busy())
            elif word == 'stops':
                held.enter_context(stops(os.getpid()))
            else:
                raise Failure(f'./run test --disturb knows "busy" and "stops", not "{word}"')
        yield
