# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The mark ``seed``: which items of the source documents a test checks, and how it ended."""

from __future__ import annotations

import csv
import difflib
import json
import os
from pathlib import Path

import pytest

LEDGER = Path(__file__).with_name('seed_ledger.csv')
WITHOUT_REASON = 5
_outcomes: dict[str, dict[str, object]] = {}
_RANK = ('passed', 'skipped', 'failed')


def known_ids() -> list[str]:
    """Return the ids of all items of the ledger."""
    with open(LEDGER, newline='', encoding='utf-8') as file:
        return [row['id'] for row in csv.DictReader(file)]


def seeds_of(item: pytest.Item) -> tuple[list[str], bool]:
    """Return the ids that a test is marked with, and whether a reason is given for many."""
    marks = list(item.iter_markers('seed'))
    ids = [str(name) for mark in marks for name in mark.args]
    return list(dict.fromkeys(ids)), any(mark.kwargs.get('reason') for mark in marks)


def problems(item_name: str, ids: list[str], has_reason: bool, known: list[str]) -> list[str]:
    """Return a sentence for each thing that is wrong with the marks of a test."""
    found = []
    for name in ids:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f'; did you mean "{near[0]}"?' if near else ''
            found.append(f'{item_name}: no item "{name}" in {LEDGER.name}{hint}')
    if len(ids) > WITHOUT_REASON and not has_reason:
        found.append(
            f'{item_name}: {len(ids)} seed marks on one test need a reason: '
            "@pytest.mark.seed(..., reason='why one test checks them all')")
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark where no settings file does."""
    config.addinivalue_line('markers', 'seed(*ids, reason=None): items of the ledger')


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse marks that are wrong and attach the ids to the reports."""
    known = known_ids()
    wrong: list[str] = []
    for item in items:
        ids, has_reason = seeds_of(item)
        wrong += problems(item.nodeid.partition('[')[0], ids, has_reason, known)
        if ids:
            item.user_properties.append(('seeds', ids))
    if wrong:
        raise pytest.UsageError('\n'.join(dict.fromkeys(wrong)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember the worst outcome of the phases of each test."""
    ids = next((value for key, value in report.user_properties if key == 'seeds'), [])
    entry = _outcomes.setdefault(report.nodeid, {'outcome': 'passed', 'seeds': ids})
    if _RANK.index(report.outcome) > _RANK.index(str(entry['outcome'])):
        entry['outcome'] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the outcomes to the file that the environment names, if it names one."""
    target = os.environ.get('RBD_ROS_RESULTS')
    if target and not hasattr(session.config, 'workerinput'):
        Path(target).write_text(json.dumps(_outcomes))
