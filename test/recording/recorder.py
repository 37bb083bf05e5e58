# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Run controllers through scenarios, and compare what is seen with a record or with each other.

A record has one entry per event in each of its columns. Torques are whole multiples of 1e-9 of
their limits. ``inputs`` is a checksum of all events so far, one per hundred: if it differs, the
scenario is not the recorded one, and nothing that follows says anything about a controller.

After a difference of states the two go different ways, and all that follows differs. They are
compared again as soon as both rest in the same state, from which each start is a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple
import zlib

import numpy as np
import numpy.typing as npt
from recorded_events import Controller, Event, EVENTS, IDLE, Reply, Seen
from scenarios import Scenario

__all__ = ['COLUMNS', 'Comparison', 'Difference', 'Make', 'Record', 'UNIT', 'compare', 'record',
           'replay']

Array = npt.NDArray[np.float64]
Make = Callable[[Scenario], Controller]

#: share of a torque limit in which torques are stored
UNIT = 1e-9

#: events between two checksums
_EVERY = 100

#: numbers per event, besides the torque
COLUMNS = ('kind', 'state', 'faults', 'mode', 'sent', 'answer', 'goals', 'notices')


class Record(NamedTuple):
    """
    What was seen of a controller in a scenario.

    :param columns: one whole number per event in each.
    :param torque: of each event in which something was sent, in units.
    :param inputs: checksums.
    """

    columns: dict[str, npt.NDArray[np.int64]]
    torque: npt.NDArray[np.int64]
    inputs: npt.NDArray[np.int64]


class Difference(NamedTuple):
    """Where two controllers differ, or one from its record."""

    seed: int
    event: int  # its number
    kind: str
    column: str
    expected: object
    found: object


class Comparison:
    """Differences in one scenario."""

    def __init__(self, seed: int, tolerance: float) -> None:
        """
        Begin in step.

        :param seed: of the scenario.
        :param tolerance: of torques, as a share of their limits.
        """
        self.seed, self.tolerance = seed, tolerance
        self.events = self.compared = self.torques = 0
        self.worst = 0.0  # difference of torques, as a share of their limits
        self.differences: list[Difference] = []
        self._columns = COLUMNS[1:]
        self._apart = False

    def note(self, kind: str, expected: Mapping[str, int], want: Array | None, seen: Seen,
             got: Array | None) -> None:
        """
        Take what was seen after an event.

        :param kind: of event.
        :param expected: numbers by column.
        :param want: torque as a share of its limit.
        :param seen: of the controller under test.
        :param got: its torque as a share of its limit.
        """
        self.events += 1
        if self._apart:
            self._apart = not (seen.state == expected['state'] and seen.state in IDLE)
            return
        self.compared += 1
        found = seen._asdict()
        for column in self._columns:
            if found[column] != expected[column]:
                self._differ(kind, column, expected[column], found[column])
        if want is not None and got is not None:
            self.torques += 1
            off = float(np.abs(want - got).max())
            self.worst = max(self.worst, off)
            if not off <= self.tolerance:
                self._differ(kind, 'torque', want.tolist(), got.tolist())

    def _differ(self, kind: str, column: str, expected: object, found: object) -> None:
        self._apart = True
        self.differences.append(Difference(
            self.seed, self.events - 1, kind, column, expected, found))


def _in_units(seen: Seen, limits: Array) -> npt.NDArray[np.int64] | None:
    return None if seen.torque is None else np.rint(
        seen.torque / limits / UNIT).astype(np.int64)


def _check(event: Event, before: int) -> int:
    """Return the checksum that goes on with an event."""
    return zlib.crc32(repr((event.kind, event.now, event.steady, event.data)).encode(), before)


def record(scenario: Scenario, controller: Controller) -> Record:
    """
    Record a controller.

    :param scenario: what happens; it can be used once.
    :param controller: of its robot.
    """
    rows, torques, inputs, check = [], [], [], 0
    limits, story = controller.limits, scenario.events()
    event = next(story)
    try:
        while True:
            check = _check(event, check)
            if len(rows) % _EVERY == 0:
                inputs.append(check)
            seen = controller.handle(event)
            rows.append((EVENTS.index(event.kind), seen.state, seen.faults, seen.mode, seen.sent,
                         seen.answer, seen.goals, seen.notices))
            units = _in_units(seen, limits)
            if units is not None:
                torques.append(units)
            event = story.send(Reply(
                seen.state, None if units is None else units * UNIT * limits))
    except StopIteration:
        pass
    table = np.array(rows, dtype=np.int64).T
    return Record(dict(zip(COLUMNS, table, strict=True)),
                  np.array(torques, dtype=np.int64).reshape(-1, len(limits)),
                  np.array(inputs, dtype=np.int64))


def replay(scenario: Scenario, controller: Controller, recorded: Record,
           comparison: Comparison) -> Comparison:
    """
    Compare a controller with a record.

    :param scenario: what happens; it can be used once.
    :param controller: of its robot.
    :param recorded: what was seen of another one.
    :param comparison: takes the differences.
    :raises AssertionError: if the events are not those of the record.
    """
    columns = {name: column.tolist() for name, column in recorded.columns.items()}
    limits, story, check = controller.limits, scenario.events(), 0
    torques = iter(recorded.torque)
    event: Event | None = next(story)
    for k in range(len(columns['state'])):
        assert event is not None, f'seed {scenario.seed} ends before event {k}'
        check = _check(event, check)
        assert k % _EVERY or check == recorded.inputs[k // _EVERY], (
            f'seed {scenario.seed}: the inputs before event {k} are not those of the recording: '
            'scenarios have changed, or robots, or parameters. ./run record records them anew')
        expected = {name: column[k] for name, column in columns.items()}
        units = next(torques) if expected['sent'] else None
        seen = controller.handle(event)
        comparison.note(event.kind, expected, None if units is None else units * UNIT, seen,
                        None if seen.torque is None else seen.torque / limits)
        try:
            event = story.send(Reply(
                expected['state'], None if units is None else units * UNIT * limits))
        except StopIteration:
            event = None
    assert event is None, f'seed {scenario.seed} goes on after its last recorded event'
    return comparison


def compare(scenario: Scenario, one: Controller, other: Controller,
            comparison: Comparison) -> Comparison:
    """
    Compare two controllers side by side; the first one decides what happens next.

    :param scenario: what happens; it can be used once.
    :param one: controller that is right.
    :param other: controller under test.
    :param comparison: takes the differences.
    """
    limits, story = one.limits, scenario.events()
    event = next(story)
    try:
        while True:
            right, seen = one.handle(event), other.handle(event)
            comparison.note(event.kind, right._asdict(),
                            None if right.torque is None else right.torque / limits, seen,
                            None if seen.torque is None else seen.torque / limits)
            units = _in_units(right, limits)
            event = story.send(Reply(
                right.state, None if units is None else units * UNIT * limits))
    except StopIteration:
        return comparison
