# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The controller next to an echo in C on rcl, and to a plain node, all driven by a program of C.

Times are from the publication of a joint state to the moment at which the driver has taken the
command with the same stamp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
import os
from pathlib import Path
import sys
import tempfile
from typing import Any, NamedTuple

from benchmark.node import controller
from benchmark.node.native.build import build, Programs, reason_to_skip
from benchmark.node.native.turns import (
    allocated, conversation, echo, ECHO as FLOOR, Files, LOOP, Seen, Subject, turn)
from benchmark.node.torques import refuse_wrong
import numpy as np
from rclpy.utilities import get_available_rmw_implementations

RATES = (500.0, 1000.0)
#: Turns of each subject; seconds of each rate in each situation of a turn.
TURNS, SECONDS = 5, 4.0
#: States before the first that counts: a controller ramps its gains in first.
WARM = 1500
#: Turns until one is given up.
ATTEMPTS = 3
#: States while allocations are counted.
COUNTED = 1000

OURS = Subject('rbd_ros controller', (
    sys.executable, '-m', 'rbd_ros.nodes.controller.process',
    *controller.arguments(RATES[-1], 'joint_state'), '-p', f'realtime.priority:={LOOP}'))
PLAIN = Subject('plain rclpy + Pinocchio', (
    sys.executable, '-m', 'benchmark.node.plain', '--output', 'joint_state'))


class Figures(NamedTuple):
    """What all turns of a subject gave in one situation; times in us."""

    p50: float
    p90: float
    p99: float
    p999: float
    longest: float
    cpu: float  # of the subject's process, per state
    states: int
    missed: int  # had no command when the next was published
    lost: int  # never had one


class Target(NamedTuple):
    """What is asked of a figure of this controller next to one of another subject."""

    what: str
    figure: str
    over: bool  # the plain node over this; else this over the echo
    limit: float

    def met(self, ratio: float | None) -> bool:
        """Return whether a ratio is good enough; one that means nothing misses no target."""
        if ratio is None:
            return True
        return ratio >= self.limit if self.over else ratio <= self.limit

    def words(self) -> str:
        """Return the limit in words."""
        return f'at {"least" if self.over else "most"} {self.limit:g}'

    def ratio(self, rows: Mapping[str, Figures]) -> float | None:
        """
        Return the ratio, or nothing next to a node that does not keep up.

        The times of a node that misses every second state are those of its queue.

        :param rows: figures of one situation by subject.
        """
        this, other = rows[OURS.name], rows[PLAIN.name if self.over else FLOOR]
        if 2 * other.missed > other.states:
            return None
        upper, lower = (other, this) if self.over else (this, other)
        if self.figure == 'missed':  # there may be none
            return float(upper.missed - lower.missed) / other.states
        return getattr(upper, self.figure) / getattr(lower, self.figure)


TARGETS = (
    Target('p50, this over the echo', 'p50', False, 1.15),
    Target('p99, this over the echo', 'p99', False, 1.2),
    Target('p99.9, this over the echo', 'p999', False, 1.2),
    Target('CPU, this over the echo', 'cpu', False, 1.5),
    Target('missed states, more than the echo', 'missed', False, 0.0),
    Target('p50, plain over this', 'p50', True, 2.5),
    Target('CPU, plain over this', 'cpu', True, 8.0),
)


def figures(turns: Sequence[Seen]) -> Figures:
    """
    Combine turns.

    p50, p90, p99 and the processor time are medians over the turns, so that one slow moment of
    the machine does not decide; the rest is of all states.

    :param turns: what was seen in each.
    """
    delays = [(seen.answered - seen.sent)[seen.answered > 0] * 1e-3 for seen in turns]
    usual = np.median([np.percentile(each, (50.0, 90.0, 99.0)) for each in delays], axis=0)
    everything = np.concatenate(delays)
    answered = [(seen.answered > 0)[:-1] & (seen.answered[:-1] <= seen.sent[1:])
                for seen in turns]
    states = sum(len(seen.sent) for seen in turns)
    return Figures(
        *usual.tolist(), float(np.percentile(everything, 99.9)), float(everything.max()),
        1e6 * float(np.median([seen.cpu for seen in turns])), states,
        sum(int(np.count_nonzero(~each)) for each in answered), states - len(everything))


def checked(name: str, seen: Seen, length: int, controls: bool = False) -> Seen:
    """
    Return what was seen if it can be compared.

    :param name: of the subject.
    :param seen: by the driver.
    :param length: bytes of a command of the others.
    :param controls: whether its commands are to be those of computed torque.
    :raises RuntimeError: if not.
    """
    if seen.unknown or seen.repeated:
        raise RuntimeError(f'{name}: {seen.unknown} commands to no state, {seen.repeated} second '
                           'commands to one: its times would be of other states')
    if seen.length != length:
        raise RuntimeError(f'{name}: a command has {seen.length} bytes instead of {length}')
    tail = len(seen.answered) // 10
    if tail and not seen.answered[-tail:].any():
        raise RuntimeError(f'{name}: the last {tail} states were not answered: it has stopped')
    if controls:
        refuse_wrong(name, *zip(*seen.torques, strict=True) if seen.torques else ((), ()))
    return seen


def sound(programs: Programs, files: Files, subject: Subject, rmw: str,
          seconds: float) -> dict[str, Seen]:
    """
    Return a turn that can be compared; one that the machine has spoiled is made again.

    A controller that gets no states for long stops the robot, as it should.

    :param programs: compiled.
    :param files: messages.
    :param subject: what answers.
    :param rmw: middleware.
    :param seconds: of each rate in each situation.
    :raises RuntimeError: if several in a row cannot.
    """
    length = files.template.stat().st_size
    for left in reversed(range(ATTEMPTS)):
        with conversation(programs, files, subject, rmw) as talk:
            seen = turn(talk, RATES, seconds, WARM)
        try:
            return {place: checked(subject.name, part, length, subject.name != FLOOR)
                    for place, part in seen.items()}
        except RuntimeError as error:
            if not left:
                raise
            print(f'{error}; once more ...', file=sys.stderr, flush=True)
    raise AssertionError('unreachable')


def measured(rmw: str, folder: Path, turns: int, seconds: float) -> dict[str, Any]:
    """
    Measure all subjects with one middleware, turn by turn.

    :param rmw: its identifier.
    :param folder: for programs and messages.
    :param turns: of each subject.
    :param seconds: of each rate in each situation.
    """
    programs, files = build(folder), Files.write(folder)
    subjects = (OURS, echo(programs, files), PLAIN)
    seen: dict[str, dict[str, list[Seen]]] = {}
    for k in range(turns):
        for subject in subjects:
            print(f'{rmw}, turn {k + 1} of {turns}: {subject.name} ...', file=sys.stderr,
                  flush=True)
            for place, part in sound(programs, files, subject, rmw, seconds).items():
                seen.setdefault(place, {}).setdefault(subject.name, []).append(part)
    rows = {place: {name: figures(parts) for name, parts in by_name.items()}
            for place, by_name in seen.items()}
    found = {subject.name: allocated(programs, files, subject, rmw, COUNTED, WARM)
             for subject in subjects[:2]}
    return {
        'rows': {place: {name: each._asdict() for name, each in by_name.items()}
                 for place, by_name in rows.items()},
        'others': float(np.median([each.others for place, by_name in seen.items()
                                   if place.startswith('quiet') for parts in by_name.values()
                                   for each in parts])),
        'targets': [judged(target, rows) for target in TARGETS],
        'allocations': {name: {key: None if math.isnan(value) else value
                               for key, value in each._asdict().items()}
                        for name, each in found.items()}}


def judged(target: Target, rows: Mapping[str, Mapping[str, Figures]]) -> dict[str, Any]:
    """
    Return a target, and what was reached in each situation.

    :param target: what was asked.
    :param rows: figures by situation and subject.
    """
    ratios = {place: target.ratio(by_name) for place, by_name in rows.items()}
    return {'what': target.what, 'target': target.words(), 'ratios': ratios,
            'met': {place: target.met(value) for place, value in ratios.items()}}


def table(found: Mapping[str, Any]) -> str:
    """Return what was measured with one middleware, as text."""
    lines = [f'{"us":42}{"p50":>7}{"p90":>7}{"p99":>7}{"p99.9":>7}{"max":>7}{"CPU":>7}'
             f'{"missed":>8}{"lost":>6}{"states":>8}']
    for place, rows in found['rows'].items():
        lines += [f'{place:16}{name:26}' + ''.join(
            f'{row[key]:7.0f}' for key in ('p50', 'p90', 'p99', 'p999', 'longest', 'cpu'))
            + f'{row["missed"]:8}{row["lost"]:6}{row["states"]:8}' for name, row in rows.items()]
    lines += [f'while it should be quiet, others took {found["others"]:.0%} of the machine', '']
    for target in found['targets']:
        lines.append(f'{target["what"]:34}{target["target"]:>14}: ' + '; '.join(
            f'{place} ' + ('none' if value is None else f'{value:.2f}')
            + ('' if target['met'][place] else ' MISSED')
            for place, value in target['ratios'].items()))
    lines += ['', 'allocations per state']
    for name, row in found['allocations'].items():
        own = 'unknown (SCHED_FIFO refused)' if row['loop'] is None else (
            f'{row["loop"]:.2f} ({row["loop_bytes"]:.0f} bytes)')
        lines.append(f'{name:26}thread of the loop {own}, all others {row["others"]:.2f}')
    return '\n'.join(lines)


def report(rmw: Sequence[str] = (), turns: int = TURNS,
           seconds: float = SECONDS) -> tuple[str, dict[str, Any]]:
    """
    Return the tables and their numbers.

    :param rmw: middlewares; none: the one of the environment.
    :param turns: of each subject.
    :param seconds: of each rate in each situation of a turn.
    """
    reason = reason_to_skip()
    if reason:
        raise RuntimeError(f'the driver and the echo are programs of C: {reason}')
    chosen = list(rmw) or [os.environ.get('RMW_IMPLEMENTATION') or 'rmw_fastrtps_cpp']
    missing = set(chosen) - get_available_rmw_implementations()
    if missing:
        raise ValueError(f'not installed: {", ".join(sorted(missing))} (there are '
                         f'{", ".join(sorted(get_available_rmw_implementations()))})')
    texts, numbers = [], {}
    for each in chosen:
        with tempfile.TemporaryDirectory() as folder:
            numbers[each] = measured(each, Path(folder), turns, seconds)
        texts.append(f'{each}\n{table(numbers[each])}')
    return '\n\n'.join(texts), numbers
