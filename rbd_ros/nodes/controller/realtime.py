# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Real-time settings of the operating system and of Python, as the parameters ``realtime.*``.

What the system refuses is said once in the life of a process, with the command that grants it;
the loop goes on without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
import gc
import sys
import threading

import numpy as np
from numpy.typing import NDArray
from rbd_ros.machine.host import Host
from rbd_ros.machine.requests import (
    request_arrays, request_cores, request_heap, request_locked_memory, request_priority,
    request_stack)
from rbd_ros.machine.rights import grant_memory, grant_priority

__all__ = ['freeze_garbage', 'lock_memory', 'prefault', 'prepare_thread', 'switch_interval',
           'thaw_garbage']

Warn = Callable[[str], None]

_said: set[str] = set()  # settings whose refusal was told
_saying = threading.Lock()


def switch_interval(seconds: float) -> dict[str, str]:
    """
    Set how long a busy thread may keep others from running.

    :param seconds: s; 0 changes nothing.
    :returns: what was set.
    """
    if seconds > 0.0:
        sys.setswitchinterval(seconds)
    return {'realtime.switch_interval': f'{sys.getswitchinterval():g} s'}


def lock_memory(warn: Warn) -> dict[str, str]:
    """
    Keep all memory of the process from being paged out.

    :param warn: gets the reason of a refusal.
    :returns: what became of it.
    """
    return _outcome('realtime.lock_memory', 'mlockall', request_locked_memory(), warn,
                    lambda: f'to allow it: {grant_memory(Host())}')


def prepare_thread(priority: int, cpu: int | Sequence[int], warn: Warn) -> dict[str, str]:
    """
    Give the calling thread a real-time priority and its cores.

    :param priority: of SCHED_FIFO; 0: none. ros2_control uses 50.
    :param cpu: numbers of the cores, or of the only one; -1 or none at all: any.
    :param warn: gets the reason of a refusal.
    :returns: what became of each.
    """
    done: dict[str, str] = {}
    cores = [each for each in ([cpu] if isinstance(cpu, int) else cpu) if each >= 0]
    if cores:
        # First: a thread with a real-time priority would take a core from others until it moves.
        done |= _outcome('realtime.cores', ', '.join(map(str, cores)), request_cores(cores), warn,
                         lambda: 'rbd doctor lists the cores that there are')
    if priority > 0:
        done |= _outcome('realtime.priority', f'SCHED_FIFO {priority}',
                         request_priority(priority), warn,
                         lambda: f'to allow it: {grant_priority(Host())}')
    return done


def prefault(warn: Warn, arrays: Iterable[NDArray[np.generic]] = (), *,
             thread: bool = True) -> dict[str, str]:
    """
    Give stack and heap of the calling thread, and arrays, the memory that they will need.

    :param warn: gets the reason of a refusal.
    :param arrays: that the loop works on.
    :param thread: whether stack and heap are to be seen to; each time they keep some more memory.
    :returns: what became of it.
    """
    reason = (request_stack() or request_heap()) if thread else ''
    reason = reason or request_arrays(arrays)
    return _outcome('realtime.prefault', 'stack and heap', reason, warn, lambda: (
        'realtime.lock_memory has the same effect'))


def _outcome(name: str, wish: str, reason: str, warn: Warn,
             advice: Callable[[], str]) -> dict[str, str]:
    """Return what became of a setting; says once that it was refused."""
    if not reason:
        return {name: f'applied ({wish})'}
    with _saying:
        new = name not in _said
        _said.add(name)
    if new:
        warn(f'{name}: {wish} refused ({reason}); continuing without it; {advice()}')
    return {name: f'refused ({reason})'}


def freeze_garbage() -> None:
    """Collect once, then keep what is left out of all later collections."""
    gc.collect()
    gc.freeze()


def thaw_garbage() -> None:
    """Collect what was kept out: a frozen configuration would never be released."""
    gc.unfreeze()
    gc.collect()
