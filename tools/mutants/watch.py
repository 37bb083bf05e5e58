# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A plugin of pytest: tests in the order that was asked for, and a line for each as it runs."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

_asked = json.loads(os.environ['RBD_ROS_MUTANTS'])


def _say(word: str, test: str) -> None:
    with open(_asked['said'], 'a', encoding='utf-8') as file:
        file.write(json.dumps([word, test]) + '\n')


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was asked to be, and sort by file: what takes longest after all others."""
    place = {name: k for k, name in reversed(list(enumerate(_asked['order'])))}
    left_out = [item for item in items if item.nodeid in _asked['left_out']]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    long = _long(config.rootpath / 'test' / 'heavy.csv')
    items[:] = sorted((item for item in items if item not in left_out), key=lambda item: (
        item.nodeid.partition('[')[0] in long,
        place.get(item.nodeid.partition('::')[0], len(place))))


def _long(file: Path) -> set[str]:
    """Return the tests that take a second and more, without their cases."""
    if not file.exists():
        return set()
    with file.open(newline='', encoding='utf-8') as rows:
        return {row['test'] for row in csv.DictReader(rows) if float(row['seconds']) >= 1.0}


def pytest_runtest_logstart(nodeid: str) -> None:
    """Say which test begins."""
    _say('begins', nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Say which file cannot be read."""
    if report.failed:
        _say('failed', report.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say how a test ended."""
    if report.failed:
        _say('failed', report.nodeid)
    elif report.when == 'teardown':
        _say('passed', report.nodeid)
