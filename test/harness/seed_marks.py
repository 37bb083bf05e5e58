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
from functools import cache
import json
import os
from pathlib import Path

import pytest

LEDGER = Path(__file__).parents[1] / 'seed_ledger.csv'
WITHOUT_REASON = 5
_outcomes: dict[str, dict[str, object]] = {}
_collected: set[str] = set()
_RANK = ('passed', 'repeated', 'skipped', 'failed')


@cache
def known_ids() -> list[str]:
    """Return the ids of all items of the ledger."""
    with open(LEDGER, newline='', encoding='utf-8') as file:
        return [row['id'] for row in csv.DictReader(file)]


def seeds_of(item: pytest.Item) -> tuple[list[str], bool]:
    """Return the ids that a test is marked with, and whether a reason is given for many."""
    marks = list(item.iter_markers('seed'))
    ids = [str(name) for mark in marks for name in mark.args]
    return list(dict.fromkeys(ids)), any(mark.kwargs.get('reason') for mark in marks)


def oracles_of(item: pytest.Item) -> list[str]:
    """Return the ids of marks with ``oracle=True``: computed by the test, not by the package."""
    return [str(name) for mark in item.iter_markers('seed') if mark.kwargs.get('oracle')
            for name in mark.args]


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
    config.addinivalue_line(
        'markers', 'seed(*ids, reason=None, oracle=False): items of the ledger')


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Attach the ids to the reports."""
    for item in items:
        ids, _ = seeds_of(item)
        if ids:
            item.user_properties += [('seeds', ids), ('oracle', oracles_of(item))]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test whose marks are wrong; an error at collection would be lost in a worker."""
    ids, has_reason = seeds_of(item)
    wrong = problems(item.nodeid.partition('[')[0], ids, has_reason, known_ids()) if ids else []
    if wrong:
        pytest.fail('\n'.join(wrong), pytrace=False)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remember what is going to run in this process."""
    _collected.update(item.nodeid for item in session.items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(ids: list[str]) -> None:
    """Remember what is going to run in the worker processes."""
    _collected.update(ids)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Count a file that was skipped or could not be read as a test that was, so that it shows."""
    if not report.passed:
        _outcomes[report.nodeid] = {'outcome': report.outcome, 'seeds': []}
        if report.skipped:
            _outcomes[report.nodeid]['reason'] = reason_of(report)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return why something was skipped."""
    if hasattr(report, 'wasxfail'):
        return f'expected to fail: {report.wasxfail}'
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix('Skipped: ')


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """
    Remember the worst outcome of the phases of each test, and why it was skipped or repeated.

    A test that passed only when it was run again is "repeated", which is not "passed".
    """
    properties = dict(report.user_properties)
    entry = _outcomes.setdefault(report.nodeid, {
        'outcome': 'passed', 'seeds': properties.get('seeds', []),
        'oracle': properties.get('oracle', [])})
    entry['seconds'] = round(float(str(entry.get('seconds', 0.0))) + report.duration, 3)
    if _RANK.index(report.outcome) > _RANK.index(str(entry['outcome'])):
        entry['outcome'] = report.outcome
        if report.skipped:
            entry['reason'] = reason_of(report)
    if 'repeated' in properties:
        entry['repeated'] = properties['repeated']
        if entry['outcome'] == 'passed':
            entry['outcome'] = 'repeated'


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """
    Write the outcomes to the file that the environment names, if it names one.

    Workers only send their reports to the process that started them. A run that ends without the
    outcome of each test has lost some: it names them, and fails.
    """
    if hasattr(session.config, 'workerinput'):
        return
    target = os.environ.get('RBD_ROS_RESULTS')
    if target:
        Path(target).write_text(json.dumps(_outcomes))
    lost = sorted(_collected - set(_outcomes))
    if lost and not session.config.option.collectonly and not session.shouldfail:
        session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR
        print(f'\n{len(lost)} tests have no outcome: {", ".join(lost)}')
