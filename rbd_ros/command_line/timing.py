# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Timing that is fair on a noisy machine: alternate, repeat, keep the best."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import platform
from time import perf_counter

#: Seconds that one repetition of a measurement lasts: short compared with the turns that other
#: programs take on a busy machine, so that some repetitions are undisturbed.
REPETITION = 1e-4


def best_times(*calls: Callable[[], object], repetitions: int = 3000) -> list[float]:
    """
    Return the best seconds per call of several functions, measured turn by turn.

    Turns make a slow moment of the machine hit all of them alike, so that ratios hold.
    """
    numbers = [_number(call) for call in calls]
    best = [float('inf')] * len(calls)
    for _ in range(repetitions):
        for k, call in enumerate(calls):
            best[k] = min(best[k], _run(call, numbers[k]))
    return best


def _number(call: Callable[[], object]) -> int:
    """Return how many calls fill one repetition; also warms the call up."""
    number = 1
    while True:
        total = _run(call, number) * number
        if total > REPETITION / 4:
            return max(1, int(number * REPETITION / total))
        number *= 4


def _run(call: Callable[[], object], number: int) -> float:
    turns = range(number)
    start = perf_counter()
    for _ in turns:
        call()
    return (perf_counter() - start) / number


def machine() -> str:
    """Return a line that describes the processor and the Python that ran."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path('/proc/cpuinfo')
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith(('model name', 'Model')):
                name = line.partition(':')[2].strip()
                break
    return (f'{name} ({platform.machine()}), {os.cpu_count()} cores, '
            f'Python {platform.python_version()}, {platform.system()}')
