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

"""Real-time settings of the operating system and of Python; each warns if it is refused."""

from __future__ import annotations

from collections.abc import Callable
import ctypes
import gc
import os
import sys

__all__ = ['freeze_garbage', 'lock_memory', 'prepare_thread', 'switch_interval', 'thaw_garbage']

Warn = Callable[[str], None]

_MCL_CURRENT, _MCL_FUTURE = 1, 2


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
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.mlockall(_MCL_CURRENT | _MCL_FUTURE) == 0:
            return {'realtime.lock_memory': 'applied'}
        reason = os.strerror(ctypes.get_errno())
    except (OSError, AttributeError) as error:
        reason = str(error)
    warn(f'realtime.lock_memory: mlockall refused ({reason}); raise memlock in limits.conf; '
         'continuing without it')
    return {'realtime.lock_memory': f'refused ({reason})'}


def prepare_thread(priority: int, cpu: int, warn: Warn) -> dict[str, str]:
    """
    Give the calling thread a real-time priority and a processor.

    :param priority: of SCHED_FIFO; 0: none. ros2_control uses 50.
    :param cpu: number of the processor; -1: any.
    :param warn: gets the reason of a refusal.
    :returns: what became of each.
    """
    done = {}
    if priority > 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            done['realtime.priority'] = f'applied (SCHED_FIFO {priority})'
        except (OSError, AttributeError) as error:
            done['realtime.priority'] = f'refused ({error})'
            warn(f'realtime.priority: SCHED_FIFO {priority} refused ({error}); raise rtprio '
                 'in limits.conf; continuing without it')
    if cpu >= 0:
        try:
            os.sched_setaffinity(0, {cpu})
            done['realtime.cpu'] = f'applied ({cpu})'
        except (OSError, AttributeError) as error:
            done['realtime.cpu'] = f'refused ({error})'
            warn(f'realtime.cpu: CPU {cpu} refused ({error}); continuing without it')
    return done


def freeze_garbage() -> None:
    """Collect once, then keep what is left out of all later collections."""
    gc.collect()
    gc.freeze()


def thaw_garbage() -> None:
    """Collect what was kept out: a frozen configuration would never be released."""
    gc.unfreeze()
    gc.collect()
