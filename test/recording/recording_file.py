# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The recording as a file, and what it covers.

``data/recording.npz`` is an archive of NumPy arrays, compressed by LZMA; ``np.load`` reads it. Per
seed it has ``SEED.columns`` (one row of whole numbers for each name in ``recorder.COLUMNS``, one
column per event), ``SEED.inputs`` (checksums) and ``SEED.torque``: the second differences in time
of all torques that were sent, in units of 1e-9 of their limits, sign in the last bit, as planes of
bytes, the lowest one first, each joint by joint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
import zipfile

import numpy as np
import numpy.typing as npt
from recorded_events import CAUSES, EVENTS, MODES, STATES
from recorder import COLUMNS, Record

__all__ = ['Coverage', 'FILE', 'read', 'seeds', 'write']

Whole = npt.NDArray[np.int64]

FILE = Path(__file__).parent / 'data' / 'recording.npz'
_BYTES = 6  # of a difference
_SUMS = np.uint32  # of inputs


def _packed(torque: Whole) -> npt.NDArray[np.uint8]:
    """Return the planes of bytes of the second differences."""
    steps = torque
    for _ in range(2):
        steps = np.diff(steps, axis=0, prepend=np.zeros((1, torque.shape[1]), dtype=np.int64))
    signed = np.where(steps < 0, -2 * steps - 1, 2 * steps)
    assert not signed.size or signed.max() < 1 << 8 * _BYTES
    return np.array([signed.T >> 8 * k & 255 for k in range(_BYTES)], dtype=np.uint8)


def _unpacked(planes: npt.NDArray[np.uint8]) -> Whole:
    """Return what was packed."""
    signed = sum(plane.astype(np.int64) << 8 * k for k, plane in enumerate(planes))
    steps = np.where(signed & 1, -(signed + 1) // 2, signed // 2).T  # type: ignore[operator]
    return np.cumsum(np.cumsum(steps, axis=0), axis=0)


def write(path: Path, records: Iterator[tuple[int, Record]]) -> None:
    """
    Write a recording; the same one is the same bytes.

    :param path: of the file.
    :param records: by seed.
    """
    unfinished = path.with_suffix('.part')
    with zipfile.ZipFile(unfinished, 'w', zipfile.ZIP_LZMA) as archive:
        for seed, made in records:
            arrays = {
                'columns': np.array([made.columns[name] for name in COLUMNS]).astype(np.uint32),
                'inputs': made.inputs.astype(_SUMS), 'torque': _packed(made.torque)}
            for name, array in arrays.items():
                entry = zipfile.ZipInfo(f'{seed}.{name}.npy')
                entry.compress_type = zipfile.ZIP_LZMA
                with archive.open(entry, 'w', force_zip64=True) as file:
                    np.lib.format.write_array(file, np.ascontiguousarray(array),
                                              allow_pickle=False)
    unfinished.replace(path)


def seeds(path: Path = FILE) -> list[int]:
    """
    Return the seeds that were recorded.

    :param path: of the file.
    """
    with np.load(path) as archive:
        return sorted({int(name.partition('.')[0]) for name in archive.files})


def read(chosen: list[int], path: Path = FILE) -> Iterator[tuple[int, Record]]:
    """
    Yield the records of some seeds.

    :param chosen: seeds.
    :param path: of the file.
    """
    with np.load(path) as archive:
        for seed in chosen:
            columns = archive[f'{seed}.columns'].astype(np.int64)
            yield seed, Record(dict(zip(COLUMNS, columns, strict=True)),
                               _unpacked(archive[f'{seed}.torque']),
                               archive[f'{seed}.inputs'].astype(np.int64))


class Coverage(NamedTuple):
    """How often what was recorded."""

    cycles: int  # messages and ticks
    torques: int
    events: Counter[str]
    states: Counter[str]
    transitions: Counter[tuple[str, str]]  # between one event and the next
    causes: Counter[str]  # newly latched
    modes: Counter[str]  # torques while the law acts
    requests: Counter[tuple[str, str]]  # kind and state in which it came
    goals: Counter[int]  # how they ended

    @classmethod
    def of(cls, records: Iterator[tuple[int, Record]]) -> Coverage:
        """
        Count.

        :param records: by seed.
        """
        found = cls(0, 0, *(Counter() for _ in range(7)))
        torques = 0
        for _, made in records:
            torques += len(made.torque)
            found._add(made)
        cycles = sum(found.events[name] for name in ('state', 'unreadable', 'tick'))
        return found._replace(cycles=cycles, torques=torques)

    def _add(self, made: Record) -> None:
        column = made.columns
        kinds = [EVENTS[k] for k in column['kind']]
        states = [STATES[k].name for k in column['state']]
        before = ['INACTIVE', *states[:-1]]
        self.events.update(kinds)
        self.states.update(states)
        self.transitions.update(pair for pair in zip(before, states) if pair[0] != pair[1])
        self.requests.update(zip(kinds, before))
        faults = column['faults']
        new = faults & ~np.concatenate([[0], faults[:-1]])
        self.causes.update({cause.name: int((new >> k & 1).sum())
                            for k, cause in enumerate(CAUSES)})
        law = [MODES[mode] for mode, state, sent in zip(column['mode'], states, column['sent'])
               if sent and state in ('RAMPING_IN', 'RUNNING')]
        self.modes.update(law)
        self.goals.update(int(x) for x in column['goals'] if x)

    def table(self) -> str:
        """Return all counts as text."""
        lines = [f'{self.cycles} cycles, {self.torques} torques']
        for name in ('events', 'states', 'causes', 'modes', 'goals'):
            counts = getattr(self, name)
            lines += ['', name, *(f'  {key}: {counts[key]}' for key in sorted(counts, key=str))]
        lines += ['', 'transitions', *(f'  {a} -> {b}: {count}' for (a, b), count in sorted(
            self.transitions.items()))]
        order = [state.name for state in STATES]
        lines += ['', 'requests by state', '  ' + ' '.join(order)]
        lines += [f'  {kind}: ' + ' '.join(str(self.requests[kind, state]) for state in order)
                  for kind in EVENTS]
        return '\n'.join(lines)
