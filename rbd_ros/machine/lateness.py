# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What latenesses of a thread say: their spread, and which rates a control loop can have."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.machine.findings import Finding, Verdict

__all__ = ['histogram', 'judge_rate', 'RATES', 'Spread', 'spread_of']

#: Hz of control loops over topics.
RATES = (250.0, 500.0, 1000.0, 2000.0)
#: Cycles without which one in a thousand cannot be told.
ENOUGH = 1000
#: Share of a period by which a thread may be late: driver and controller both wake up once in it,
#: and half of it is left for two messages and for computing.
SHARE = 0.25
#: s, the default of state_timeout: after a longer stall the controller takes the states for lost.
LOST = 0.1
#: us; upper ends of the rows of a histogram.
_EDGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, math.inf)
_WIDTH = 40


class Spread(NamedTuple):
    """
    Latenesses in s: the largest, and those that 50, 99 and 99.9 of a hundred do not pass.

    :param cycles: how many there are.
    """

    cycles: int
    p50: float
    p99: float
    p999: float
    largest: float


def spread_of(late: NDArray[np.float64]) -> Spread:
    """
    Return how latenesses are spread.

    :param late: s, at least one.
    """
    # values that were seen, and not between two of them
    p50, p99, p999 = np.quantile(late, (0.5, 0.99, 0.999), method='higher')
    return Spread(len(late), float(p50), float(p99), float(p999), float(late.max()))


def judge_rate(spread: Spread, rate: float) -> Finding:
    """
    Return whether a control loop over topics can have a rate, as far as waking up in time goes.

    :param rate: Hz.
    """
    period = 1.0 / rate
    if spread.cycles < ENOUGH:
        return Finding(Verdict.UNKNOWN, f'fewer than {ENOUGH} cycles were run: not known')
    if spread.largest > LOST:
        return Finding(Verdict.BAD, f'does not hold: a stall of {1e3 * spread.largest:.0f} ms, '
                       f'longer than state_timeout ({1e3 * LOST:.0f} ms): the robot is stopped')
    if spread.p999 <= SHARE * period and spread.largest <= period:
        return Finding(Verdict.OK, f'holds: one cycle of a thousand is late by more than '
                       f'{1e6 * spread.p999:.0f} us, none by a period')
    if spread.p99 <= SHARE * period:
        return Finding(Verdict.BETTER, f'holds with gaps: one cycle of a thousand is late by more '
                       f'than {1e6 * spread.p999:.0f} us, the worst by '
                       f'{1e6 * spread.largest:.0f} us')
    return Finding(Verdict.BAD, f'does not hold: one cycle of a hundred is late by more than '
                   f'{1e6 * spread.p99:.0f} us')


def histogram(late: NDArray[np.float64]) -> list[tuple[str, int, str]]:
    """
    Return rows of a histogram: the range in us, how many, and a bar.

    Bars grow with the logarithm of the count: those that matter are few.

    :param late: s.
    """
    nano = np.rint(1e9 * late)      # the clock has whole ones, which compare exactly
    counts = []
    low = -math.inf
    for high in _EDGES:
        counts.append(int(np.count_nonzero((nano > 1e3 * low) & (nano <= 1e3 * high))))
        low = high
    most = math.log1p(max(counts, default=0)) or 1.0
    last = max((k for k, count in enumerate(counts) if count), default=-1)
    rows = []
    for k, count in enumerate(counts[:last + 1]):
        words = f'up to {_EDGES[k]:g}' if k < len(_EDGES) - 1 else f'over {_EDGES[-2]:g}'
        bar = max(1, round(_WIDTH * math.log1p(count) / most)) if count else 0
        rows.append((words, count, '#' * bar))
    return rows
