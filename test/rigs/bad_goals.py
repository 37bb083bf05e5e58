# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Goals with random flaws, none of which can be followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: rad/s and rad beyond every limit
_FAST, _FAR = 80.0, 30.0


@dataclass
class Sent:
    """A goal as it is sent."""

    names: list[str]
    times: list[float]
    rows: list[list[float]]  # positions
    stamp: float | None = None  # s from now; None: no stamp
    tolerance: float = 0.0  # of positions at the end; 0: the usual one


def good_goal(rng: np.random.Generator, joints: Sequence[str], q: Array) -> Sent:
    """Return a goal that can be followed, near a position."""
    times = np.cumsum(rng.uniform(0.3, 0.6, rng.integers(2, 5)))
    rows = q + rng.uniform(-0.02, 0.02, (len(times), len(q)))
    return Sent(list(joints), times.tolist(), rows.tolist())


def _any_joint(rng: np.random.Generator, sent: Sent) -> int:
    return int(rng.integers(len(sent.names)))


def _unknown(rng: np.random.Generator, sent: Sent) -> None:
    sent.names[_any_joint(rng, sent)] = 'elsewhere'


def _twice(rng: np.random.Generator, sent: Sent) -> None:
    j = _any_joint(rng, sent)
    sent.names[j] = sent.names[j - 1]


def _left_out(rng: np.random.Generator, sent: Sent) -> None:
    j = _any_joint(rng, sent)
    del sent.names[j]
    for row in sent.rows:
        del row[j]


def _uneven(rng: np.random.Generator, sent: Sent) -> None:
    del sent.rows[int(rng.integers(len(sent.rows)))][-1]


def _far(rng: np.random.Generator, sent: Sent) -> None:
    sent.rows[-1][0] += _FAR


def _fast(rng: np.random.Generator, sent: Sent) -> None:
    sent.times[-1] = sent.times[-2] + 0.01 / _FAST
    sent.rows[-1][0] = sent.rows[-2][0] + 0.01


def _backwards(rng: np.random.Generator, sent: Sent) -> None:
    sent.times.reverse()


def _together(rng: np.random.Generator, sent: Sent) -> None:
    sent.times[-1], sent.rows[-1] = sent.times[-2], list(sent.rows[-2])


def _empty(rng: np.random.Generator, sent: Sent) -> None:
    sent.times, sent.rows = [], []


def _over(rng: np.random.Generator, sent: Sent) -> None:
    sent.stamp = -sent.times[-1] - float(rng.uniform(0.05, 1.0))


def _no_tolerance(rng: np.random.Generator, sent: Sent) -> None:
    sent.tolerance = float(rng.choice([np.nan, np.inf]))


#: what is done to a good one
FLAWS: tuple[Callable[[np.random.Generator, Sent], None], ...] = (
    _unknown, _twice, _left_out, _uneven, _far, _fast, _backwards, _together, _empty, _over,
    _no_tolerance)
