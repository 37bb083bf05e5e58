# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Small procedures that several rooms use: angles that wrap, numbers in order, samples."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from rbd_ros.control.numerics.angles import turn
from rbd_ros.control.numerics.medians import (
    halve, is_full, is_wanted, ROOM, SampleCount, select, thin_out)


def test_turn_is_the_exact_remainder() -> None:
    """Of numbers of every size, at and beside half turns; what is not finite stays."""
    rng = random.Random(1)
    steps = [sign * 10.0 ** rng.uniform(-320.0, 308.0) for sign in (-1.0, 1.0)
             for _ in range(300)]
    halves = [k * math.pi for k in range(-9, 10)] + [2.0 ** k * math.pi for k in range(0, 1000, 7)]
    steps += [each for half in halves
              for each in (half, math.nextafter(half, -math.inf), math.nextafter(half, math.inf))]
    steps += [rng.uniform(-30.0, 30.0) for _ in range(2000)] + [0.0, -0.0, 1e308, 5e-324]
    for step in steps:
        assert turn(step) == math.remainder(step, math.tau), step
    assert (turn(math.inf), turn(-math.inf)) == (math.inf, -math.inf)
    assert math.isnan(turn(math.nan))


class Adversary:
    """
    Numbers that are chosen while they are compared, so that each pivot turns out to be the worst.

    What was not fixed yet is larger than all that is. Of two that are not fixed, the one that was
    compared last becomes the next smallest: a pivot always is (M. D. McIlroy, 1999).
    """

    def __init__(self) -> None:
        self.looks, self.fixed, self.last = 0, itertools.count(), None

    def less(self, a: Number, b: Number) -> bool:
        """Compare two numbers, as it suits least."""
        self.looks += 1
        if math.isinf(a.value) and math.isinf(b.value):
            (a if a is self.last else b).value = next(self.fixed)
        if math.isinf(a.value):
            self.last = a
        elif math.isinf(b.value):
            self.last = b
        return a.value < b.value


class Number:
    """One of its numbers."""

    def __init__(self, chooser: Adversary, value: float = math.inf) -> None:
        self.chooser, self.value = chooser, value

    def __lt__(self, other: Number) -> bool:
        return self.chooser.less(self, other)

    def __gt__(self, other: Number) -> bool:
        return self.chooser.less(other, self)


def looks_at(values: list[float], k: int) -> int:
    """Return how many comparisons a selection takes, which is right."""
    chooser, expected = Adversary(), sorted(values)[k]
    numbers = [Number(chooser, value) for value in values]
    found = select(numbers, len(numbers), k)    # type: ignore[arg-type, attr-defined]
    assert found.value == expected
    return chooser.looks


def test_no_order_of_numbers_makes_a_selection_slow() -> None:
    """Sorted, equal, random, and chosen by an adversary: never the square of their number."""
    n, rng = 4096, random.Random(3)
    most = 10 * n + n ** 1.5
    orders = [[float(k) for k in range(n)], [float(-k) for k in range(n)], [1.0] * n,
              [float(k % 7) for k in range(n)], [float(abs(k - n // 2)) for k in range(n)],
              [rng.random() for _ in range(n)]]
    for k in (0, n // 2, int(0.9 * n), n - 1):
        chooser = Adversary()
        numbers = [Number(chooser) for _ in range(n)]
        places = list(numbers)
        select(numbers, n, k)                   # type: ignore[arg-type]
        worst = [each.value if math.isfinite(each.value) else float(n) for each in places]
        for values in (*orders, worst):
            assert looks_at(values, k) < most
        assert chooser.looks < most
        assert max(looks_at(values, k) for values in orders[:2]) < 8 * n    # no fallback needed


@pytest.mark.parametrize('total', [1, ROOM, ROOM + 1, 2 * ROOM, 5 * ROOM + 3])
def test_more_samples_than_there_is_room_for_are_thinned_out(total: int) -> None:
    """Every one, every second, every fourth ... is kept, from the first on; never too few."""
    x, values = SampleCount({}), np.zeros((2, ROOM))
    count, rows = x.plain(), memoryview(values)
    for k in range(total):
        if is_wanted(count):
            if is_full(count):
                thin_out(rows)
                halve(count)
            values[:, int(x.kept)] = k, -k
            x.kept += 1.0
    kept = int(x.kept)
    assert min(total, ROOM // 2) <= kept <= ROOM
    assert np.array_equal(values[0, :kept], np.arange(0, total, int(x.stride)))
    assert np.array_equal(values[1, :kept], -values[0, :kept])
    count.reset()
    assert is_wanted(count) and is_wanted(count) and x.kept == 0.0
