# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Disturb a run of the tests: what they say may not depend on the machine.

``./run test --disturb busy`` keeps two processes per processor busy beside it, ``--disturb stops``
halts processes of the tests for half a second at random moments, which ``--seed N`` chooses, and
``--disturb busy,stops`` does both. A test that fails then and not otherwise judges the machine,
not the program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, ExitStack, suppress
import os
from pathlib import Path
import random
import select
import signal
import subprocess
import sys

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


def moments(seed: str) -> Iterator[tuple[float, float]]:
    """Draw after what part of the longest pause which process is halted, as a part of them all."""
    chance = random.Random(f'stops {seed}')
    while True:
        yield chance.random(), chance.random()


def halt(seed: str, pause: float, seconds: float, runner: int, spared: Collection[int]) -> None:
    """
    Halt one process below a runner after the other, until standard input ends.

    It ends with the runner, however that ends, so that nothing stays halted.
    """
    for ending in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)

    def ends(within: float) -> bool:
        return bool(select.select([sys.stdin], [], [], within)[0])
    for when, which in moments(seed):
        if ends(when * pause):
            return
        if victims := sorted(set(descendants(runner)) - {*spared, os.getpid()}):
            victim = victims[int(which * len(victims))]
            with suppress(ProcessLookupError, PermissionError):
                os.kill(victim, signal.SIGSTOP)
                ends(seconds)
                os.kill(victim, signal.SIGCONT)


@contextmanager
def stops(seed: str) -> Iterator[None]:
    """Halt one process of the tests after the other, at random moments."""
    asked = f'{seed!r}, {PAUSE}, {HALT}, {os.getpid()}, {_spinning}'
    with subprocess.Popen(
            [sys.executable, '-c', f'from rbd_env import disturbance\ndisturbance.halt({asked})'],
            stdin=subprocess.PIPE, start_new_session=True):
        yield


@contextmanager
def disturbed(words: str, seed: str = '') -> Iterator[None]:
    """
    Disturb what runs meanwhile.

    :param words: of 'busy' and 'stops', with commas; empty: nothing.
    :param seed: that moments are drawn from.
    """
    chosen = [word for word in words.split(',') if word]
    with ExitStack() as held:
        for word in sorted(chosen):  # what keeps processors busy is not halted
            if word == 'busy':
                held.enter_context(busy())
            elif word == 'stops':
                held.enter_context(stops(seed))
            else:
                raise Failure(f'./run test --disturb knows "busy" and "stops", not "{word}"')
        yield
