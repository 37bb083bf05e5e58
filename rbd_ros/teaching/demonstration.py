# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Shown motions as few points: smoothed, and thinned within a tolerance.

The curve through the points that are kept stays within the tolerance of every sample, and within
the limits of the joints. Smoothing takes as wide a window as that allows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler import Array
from rbd_ros.errors import RbdError
from rbd_ros.model.model import Model
from rbd_ros.teaching.lesson import Point
from rbd_ros.teaching.strokes import extremes, through
from rbd_ros.teaching.turns import endless, LONGEST, unwrapped

__all__ = ['shown_points', 'TOLERANCE']

#: rad or m, by which the repeated motion may differ from the shown one.
TOLERANCE = 0.01
#: s between two samples that are looked at.
_STEP = 0.01
#: s without a sample, or by which stamps may go back, in which no motion is lost.
_GAP = 0.5
#: s over which samples are smoothed, the widest that fits first; the last one does nothing.
_WINDOWS = (0.41, 0.21, 0.11, 0.05, 0.01)
#: s of rest before and after the motion.
_REST = 0.3
#: Speed, rad/s or m/s, below which a joint rests.
_STILL = 0.01
#: Shares of the tolerance: for smoothing, for thinning, and as a distance to the limits of the
#: joints, which a curve may overshoot between two samples.
_SMOOTHED, _THINNED, _MARGINS = 0.25, 0.2, (0.25, 0.4, 0.55)


def shown_points(t: Array, q: Array, model: Model, tolerance: float = TOLERANCE,
                 joints: Sequence[str] | None = None) -> list[Point]:
    """
    Return the points of a motion that was shown.

    :param t: times of the samples, s, (count,).
    :param q: positions, (count, n).
    :param model: the robot, with the limits of its joints.
    :param joints: whose positions these are; None: all of the robot.
    :raises RbdError: if nothing moved, or time did not go on.
    """
    if not tolerance > 0.0:
        raise RbdError(f'the tolerance is {tolerance:g}; it must be positive')
    t, q = _onward(t, q)
    names = model.independent_joint_names
    places = [names.index(name) for name in (names if joints is None else joints)]
    lower, upper, turning = (np.array(each)[places] for each in (
        model.lower, model.upper, endless(model)))
    even, values = _moving(*_evenly(t, unwrapped(q, turning)))
    for margin in _MARGINS:
        inner = _inner(lower, upper, margin * tolerance)
        smooth = np.clip(_smoothed(np.clip(values, *inner), _SMOOTHED * tolerance), *inner)
        chosen = _thinned(even, smooth, _THINNED * tolerance, turning)
        low, high = extremes(through(even[chosen], smooth[chosen]))
        if (low >= lower).all() and (high <= upper).all():
            break
    else:
        joint = int(np.maximum(lower - low, high - upper).argmax())
        raise RbdError(f'{names[places[joint]]} hits its limit too hard to be '
                       'repeated; show the motion again, slower there')
    gaps = np.diff(even[chosen])
    return [Point(tuple(smooth[chosen[0]].tolist())),
            *(Point(tuple(smooth[place].tolist()), time=float(gap))
              for place, gap in zip(chosen[1:], gaps, strict=True))]


def _onward(t: Array, q: Array) -> tuple[Array, Array]:
    """Return samples whose times increase; refuse those between which a motion may be hidden."""
    if len(t) < 2:
        raise RbdError('fewer than two joint states arrived; is the robot running?')
    latest = np.maximum.accumulate(t)
    if (back := float((latest - t).max())) > _GAP:
        raise RbdError(f'the stamps of the joint states jumped back by {back:.1f} s; show the '
                       'motion again')
    fresh = np.concatenate([[True], np.diff(latest) > 0.0])
    t, q = t[fresh], q[fresh]
    if len(t) < 2:
        raise RbdError('the stamps of the joint states do not change; is the clock running?')
    if (gap := float(np.diff(t).max())) > _GAP:
        raise RbdError(f'there were no joint states for {gap:.1f} s; show the motion again')
    return t, q


def _inner(lower: Array, upper: Array, margin: float) -> tuple[Array, Array]:
    """Return limits with a margin, where there is room for one."""
    both = np.isfinite(lower) & np.isfinite(upper)
    middle = 0.5 * (np.where(both, lower, 0.0) + np.where(both, upper, 0.0))
    return (np.minimum(lower + margin, np.maximum(middle, lower)),
            np.maximum(upper - margin, np.minimum(middle, upper)))


def _evenly(t: Array, q: Array) -> tuple[Array, Array]:
    """Return samples at even times, with a rest at both ends."""
    count = max(2, round((t[-1] - t[0]) / _STEP) + 1)
    even = np.linspace(t[0], t[-1], count)
    rest = round(_REST / _STEP)
    step = even[1] - even[0]
    values = np.stack([np.interp(even, t, row) for row in q.T], axis=1)
    return (step * np.arange(count + 2 * rest),
            np.pad(values, ((rest, rest), (0, 0)), mode='edge'))


def _moving(t: Array, q: Array) -> tuple[Array, Array]:
    """Return the part in which something moves, with a rest at both ends."""
    fast = np.flatnonzero((np.abs(np.gradient(q, t, axis=0)) > _STILL).any(axis=1))
    if not fast.size:
        raise RbdError('no joint moved; show the motion while the robot floats')
    rest = round(_REST / (t[1] - t[0]))
    part = slice(max(0, fast[0] - rest), fast[-1] + rest + 1)
    return t[part] - t[part][0], q[part]


def _smoothed(q: Array, most: float) -> Array:
    """Return samples smoothed as much as possible without moving one by more than this."""
    from scipy.signal import savgol_filter
    for window in _WINDOWS:
        width = min(round(window / _STEP), len(q) - 1) | 1
        if width > 3:
            found = np.asarray(savgol_filter(q, width, 3, axis=0, mode='nearest'))
            if np.abs(found - q).max() <= most:
                return found
    return q


def _thinned(t: Array, q: Array, most: float, turning: npt.NDArray[np.bool_]) -> list[int]:
    """
    Return which samples to keep, so that the curve through them misses none by more.

    :param turning: joints that turn without end, whose steps must be short.
    """
    chosen = [0, len(t) - 1]
    while True:
        off = np.abs(through(t[chosen], q[chosen])(t) - q).max(axis=1)
        more = [start + int(off[start:end].argmax()) for start, end in zip(
            chosen, chosen[1:], strict=False) if off[start:end].max() > most]
        more += [(start + end) // 2 for start, end in zip(chosen, chosen[1:], strict=False)
                 if end > start + 1 and (np.abs(q[end] - q[start])[turning] > LONGEST).any()]
        if not more:
            return chosen
        chosen = sorted({*chosen, *more})
