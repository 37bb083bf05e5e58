# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Figures of what a driver saw."""

from __future__ import annotations

from typing import NamedTuple

from benchmark.node.stalls import Interval, merged, overlap
import numpy as np

#: Seconds between two commands from which on it is a gap.
GAP = 0.005


class Latency(NamedTuple):
    """Stamp to torque as the driver sees it, over all turns; times in us."""

    name: str
    p50: float
    p99: float
    p999: float
    cpu: float  # of the node's process, per state
    states: int
    lost: int


class Soak(NamedTuple):
    """A long run at a steady rate; latencies in us."""

    seconds: float
    states: int
    superseded: int  # states without a command of their own
    p50: float
    p99: float
    p999: float
    gaps: int  # longer than GAP, machine stalls and late states taken off
    gaps_with_stalls: int  # the same as they were seen
    longest_gap: float  # ms, stalls and late states taken off
    stalls: int  # of the machine
    stalled: float  # s
    memory_growth: float  # MB
    cpu: float  # per state, us


def delays(seen: dict) -> np.ndarray:
    """Return microseconds from each answered state to its first command."""
    first: dict[int, int] = {}
    for k, when in seen['answered']:
        first.setdefault(k, when)
    first.pop(-1, None)  # answers a state of the warm-up
    return np.array([when - seen['sent'][k] for k, when in first.items()]) * 1e-3


def cpu_per_state(turns: list[dict]) -> float:
    """Return microseconds of processor time per state, median of the turns."""
    return float(np.median([1e6 * (seen['after']['cpu'] - seen['before']['cpu'])
                            / len(seen['sent']) for seen in turns]))


def latency(name: str, turns: list[dict]) -> Latency:
    """
    Combine turns.

    The median and the processor time are medians over the turns, so that one slow moment of
    the machine does not decide; the tail is that of all answers.
    """
    parts = [delays(seen) for seen in turns]
    everything = np.concatenate(parts)
    states = sum(len(seen['sent']) for seen in turns)
    return Latency(
        name, float(np.median([np.median(part) for part in parts])),
        *np.percentile(everything, (99.0, 99.9)).tolist(),
        cpu_per_state(turns), states, states - len(everything))


def soak(seen: dict, stalls: list[Interval], rate: float) -> Soak:
    """
    Judge a long run.

    :param stalls: of the machine, disjoint, monotonic ns.
    :param rate: states per second.
    """
    sent = np.array(seen['sent'])
    late_states = [(int(a), int(b)) for a, b in zip(sent[:-1] + round(1e9 / rate), sent[1:])
                   if b > a]
    excused = merged([*stalls, *late_states])
    came = [when for _, when in seen['answered']]
    pairs = [(a, b) for a, b in zip(came, came[1:]) if b - a > GAP * 1e9]
    own = [(b - a - overlap(a, b, excused)) * 1e-6 for a, b in pairs]
    delay = delays(seen)
    p50, p99, p999 = np.percentile(delay, (50.0, 99.0, 99.9)).tolist()
    start, end = int(sent[0]), int(sent[-1])
    return Soak(
        (end - start) * 1e-9, len(sent), len(sent) - len(delay), p50, p99, p999,
        sum(gap > GAP * 1e3 for gap in own), len(pairs), max(own, default=0.0),
        sum(b > start and a < end for a, b in stalls),
        overlap(start, end, stalls) * 1e-9,
        (seen['after']['memory'] - seen['before']['memory']) * 1e-6, cpu_per_state([seen]))
