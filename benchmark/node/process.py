# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a process has used, from the kernel's own accounts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import psutil


class Usage(NamedTuple):
    """What a process has used until now."""

    cpu: float  # s, of all threads
    waiting: float  # s that its threads were ready and got no processor, NaN if unknown
    memory: int  # bytes resident


def usage(pid: int) -> Usage:
    """
    Return what a process has used.

    The scheduler's accounts are in nanoseconds; where a kernel has none, those in ticks serve.
    """
    process = psutil.Process(pid)
    memory = process.memory_info().rss
    running = waiting = 0
    for task in Path(f'/proc/{pid}/task').glob('*/schedstat'):
        fields = task.read_text().split()
        running, waiting = running + int(fields[0]), waiting + int(fields[1])
    if running:
        return Usage(running * 1e-9, waiting * 1e-9, memory)
    times = process.cpu_times()
    return Usage(times.user + times.system, float('nan'), memory)
