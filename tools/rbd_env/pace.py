# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How slow this machine is just now: time limits of tests are multiplied by it."""

from __future__ import annotations

from collections.abc import Mapping
import os
import time

VARIABLE = 'RBD_ROS_PACE'  # a number that the user knows better
USUAL = 0.1  # s that the measurement takes on a laptop that does nothing else
SLOWEST = 30.0  # beyond it, a test that hangs would take the night
LIMIT = 600.0  # s for one test, where nothing else says more


def measure() -> float:
    """Return how many times longer than usual a computation takes here, 1 at least."""
    taken = []
    for _ in range(5):
        begin = time.perf_counter()
        total = 0
        for number in range(1_500_000):
            total += number & 7
        taken.append(time.perf_counter() - begin)
    alone = 2.0 if len(os.sched_getaffinity(0)) == 1 else 1.0  # for a test and what it starts
    usual = sorted(taken)[-2]  # a single stall does not count
    return min(max(alone * usual / USUAL, 1.0), SLOWEST)


def known(environ: Mapping[str, str] = os.environ) -> float:
    """Return what was measured when the tests were started, 1 where nobody did."""
    try:
        return min(max(1.0, float(environ.get(VARIABLE, ''))), SLOWEST)
    except ValueError:
        return 1.0


def patient(seconds: float) -> float:
    """Return a time limit that is fair on this machine."""
    return seconds * known()
