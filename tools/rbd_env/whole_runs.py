# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
When each kind of heavy tests last ran whole, and which tests are heavy by their time.

``./run test --all`` notes both.
"""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path
import platform

from rbd_env import pace, stages

RECORD = 'test/whole_runs.csv'
HEAVY = 'test/heavy.csv'

#: s of one worker from which on a test, with all its cases, is heavy
_LONG = 0.1


def last(root: Path) -> dict[str, str]:
    """Return day and processor of the last whole run of each kind."""
    try:
        with open(root / RECORD, newline='', encoding='utf-8') as file:
            return {row['kind']: f'{row["day"]} on {row["processor"]}, {row["tests"]} cases'
                    for row in csv.DictReader(file)}
    except OSError:
        return {}


def note(root: Path, names: list[str]) -> None:
    """
    Write down which kinds were just run whole, all passed.

    :param names: the stages that ran.
    """
    counts: dict[str, list[int]] = {}
    for name in names:
        for kind, found in stages.read_sampled(root, name).items():
            before = counts.setdefault(kind, [0, 0])
            counts[kind] = [before[0] + found['kept'], before[1] + found['of']]
    whole = {kind: of for kind, (kept, of) in counts.items() if kept == of}
    if not whole:
        return
    if 'heavy' in whole:
        note_times(root, names)
    rows = {}
    if (root / RECORD).exists():
        with open(root / RECORD, newline='', encoding='utf-8') as file:
            rows = {row['kind']: row for row in csv.DictReader(file)}
    for kind, of in whole.items():
        rows[kind] = {'kind': kind, 'day': date.today().isoformat(),
                      'processor': platform.machine(), 'tests': str(of)}
    try:
        with open(root / RECORD, 'w', newline='', encoding='utf-8') as file:
            writer = csv.DictWriter(file, ['kind', 'day', 'processor', 'tests'],
                                    lineterminator='\n')
            writer.writeheader()
            writer.writerows(rows[kind] for kind in sorted(rows))
    except OSError:  # a checkout that is read-only keeps no record
        pass


def note_times(root: Path, names: list[str]) -> None:
    """
    Write down which tests take longest, all their cases together.

    :param names: the stages that ran whole.
    """
    times: dict[str, float] = {}
    for name in set(names) & set(stages.HEAVY):
        for test, entry in stages.read_results(root, name).items():
            function = test.partition('[')[0]
            times[function] = times.get(function, 0.0) + entry.get('seconds', 0.0) / pace.known()
    try:
        with open(root / HEAVY, 'w', encoding='utf-8') as file:
            file.write('test,seconds\n')
            file.writelines(f'{test},{seconds:.1f}\n' for test, seconds in sorted(times.items())
                            if seconds >= _LONG)
    except OSError:  # a checkout that is read-only keeps no record
        pass
