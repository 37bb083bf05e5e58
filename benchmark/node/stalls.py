# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Moments in which the machine itself stood still, seen by a process that only sleeps.

One such process on each core notes when it woke late. What happens to a node in those moments
says nothing about the node: another virtual machine, or another process, had the core.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
import json
import os
import signal
import subprocess
import sys
import time

#: Seconds between two looks; each costs some 20 us of its core.
PERIOD = 0.001
#: Seconds of delay from which on it is a stall.
STALL = 0.001

Interval = tuple[int, int]  # monotonic ns


class StallMonitor(AbstractContextManager['StallMonitor']):
    """Watch every core while the context lasts; then ``stalls`` has what was seen."""

    def __init__(self) -> None:
        """Have seen nothing."""
        self.stalls: list[Interval] = []
        self._watchers: list[subprocess.Popen] = []

    def __enter__(self) -> StallMonitor:
        """Start one watcher on each core."""
        self._watchers = [
            subprocess.Popen([sys.executable, '-m', __spec__.name, str(core)],
                             stdout=subprocess.PIPE, text=True)
            for core in sorted(os.sched_getaffinity(0))]
        for watcher in self._watchers:
            watcher.stdout.readline()
        return self

    def __exit__(self, *unused: object) -> None:
        """End the watchers and collect."""
        for watcher in self._watchers:
            watcher.terminate()
        self.stalls = merged([tuple(interval) for watcher in self._watchers
                              for interval in json.loads(watcher.communicate()[0])])


def merged(intervals: list[Interval]) -> list[Interval]:
    """Return the union of intervals as disjoint ones in order."""
    union: list[Interval] = []
    for start, end in sorted(intervals):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(end, union[-1][1]))
        else:
            union.append((start, end))
    return union


def overlap(start: int, end: int, union: list[Interval]) -> int:
    """Return how much of one interval disjoint others cover."""
    return sum(max(0, min(end, b) - max(start, a)) for a, b in union)


def watch(core: int) -> list[Interval]:
    """Sleep and wake on one core until terminated; return when it woke late."""
    os.sched_setaffinity(0, {core})
    running = [True]
    signal.signal(signal.SIGTERM, lambda *unused: running.clear())
    print('watching', flush=True)
    late, limit = [], round((PERIOD + STALL) * 1e9)
    before = time.monotonic_ns()
    while running:
        time.sleep(PERIOD)
        now = time.monotonic_ns()
        if now - before > limit:
            late.append((before + round(PERIOD * 1e9), now))
        before = now
    return late


if __name__ == '__main__':
    print(json.dumps(watch(int(sys.argv[1]))))
