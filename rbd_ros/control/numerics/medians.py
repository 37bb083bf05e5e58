# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Medians of samples, without sorting all of them, and samples in a fixed room.

When there is no more room, every second sample is dropped, and from then on only every second one
is kept: those that remain are spread evenly over the whole time.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record

__all__ = ['halve', 'is_full', 'is_wanted', 'median', 'ROOM', 'row_median',
           'SampleCount', 'select', 'thin_out']

#: looks at a number, on average, after which dividing has proved to be slow: it needs about three
_LOOKS = 8


def select(values: Vector, count: int, k: int) -> float:
    """
    Return the k-th smallest of some numbers, from 0; those before are then none larger.

    Hoare's algorithm: only the part that holds the k-th is divided again. Where that part hardly
    becomes smaller, time and again, it is sorted: no order of the numbers takes long.

    :param values: numbers, put into another order.
    :param count: how many of them count, at least one.
    """
    low, high, looks = 0, count - 1, _LOOKS * count
    while low < high:
        looks -= high - low
        if looks < 0:
            _sort(values, low, high)
            break
        pivot = values[int(0.5 * (low + high))]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


def _sort(values: Vector, low: int, high: int) -> None:
    """Sort a part of some numbers by gaps: count^1.5 steps at most, whatever their order."""
    gap = 1
    while gap <= high - low:
        gap = 3 * gap + 1
    while gap > 1:
        gap = int((gap - 1) / 3)
        for k in range(low + gap, high + 1):
            value, at = values[k], k
            while at >= low + gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value


def median(values: Vector, count: int) -> float:
    """
    Return the median; of an even number, the mean of the two in the middle.

    :param values: numbers, put into another order.
    :param count: how many of them count, at least one.
    """
    middle = int(0.5 * count)
    upper = select(values, count, middle)
    if 2 * middle < count:
        return upper
    lower = values[0]
    for i in range(middle):
        lower = max(lower, values[i])
    return 0.5 * (lower + upper)


#: samples that there is room for: those of 1 s at 1 kHz. Of longer checks every second, fourth ...
#: is kept, 512 at least: the standard error of their median is 8 % of their median deviation.
ROOM = 1024


class SampleCount(Record):
    """How many samples there are, and which one is kept next."""

    kept: float = field('', '', 'samples in the room')
    stride: float = field('', '', 'every how many-th is kept', 1.0)
    skip: float = field('', '', 'how many are left out before the next that is kept')


def is_wanted(x: SampleCount) -> bool:
    """Count a sample; return whether it is kept."""
    if x.skip > 0.0:
        x.skip -= 1.0
        return False
    x.skip = x.stride - 1.0
    return True


def is_full(x: SampleCount) -> bool:
    """Return whether a sample that is kept needs room first."""
    return not x.kept < ROOM


def halve(x: SampleCount) -> None:
    """Count half of the samples, after each array of them was thinned out."""
    x.kept = 0.5 * ROOM
    x.stride *= 2.0
    x.skip = x.stride - 1.0


def thin_out(values: Matrix) -> None:
    """
    Drop every second sample of a full array.

    :param values: a row of samples for each joint.
    """
    for j in range(len(values)):
        for k in range(int(0.5 * ROOM)):
            values[j, k] = values[j, 2 * k]


def row_median(values: Matrix, j: int, count: int, spare: Vector) -> float:
    """
    Return the median of a row of samples.

    :param values: a row of samples for each joint.
    :param j: which row.
    :param count: how many samples there are, at least one.
    :param spare: room for one row.
    """
    for k in range(count):
        spare[k] = values[j, k]
    return median(spare, count)
