# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How each test ended, for the summary of ``./run test``; what was lost fails the run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import sampling

_outcomes: dict[str, dict[str, object]] = {}
_collected: set[str] = set()
_sampled: list[list[object]] = []
_RANK = ('passed', 'skipped', 'failed')


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
        _outcomes[report.nodeid] = {'outcome': report.outcome}
        if report.skipped:
            _outcomes[report.nodeid]['reason'] = reason_of(report)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return why something was skipped."""
    if hasattr(report, 'wasxfail'):
        return f'expected to fail: {report.wasxfail}'
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix('Skipped: ')


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember the worst outcome of the phases of each test, and why it was skipped."""
    entry = _outcomes.setdefault(report.nodeid, {'outcome': 'passed'})
    if report.when == 'teardown':
        _sampled.extend(value for name, value in report.user_properties if name == 'sampled')
    entry['seconds'] = round(float(str(entry.get('seconds', 0.0))) + report.duration, 3)
    if _RANK.index(report.outcome) > _RANK.index(str(entry['outcome'])):
        entry['outcome'] = report.outcome
        if report.skipped:
            entry['reason'] = reason_of(report)


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
        Path(target).with_suffix('.sampled').write_text(json.dumps(sampling.told(_sampled)))
    lost = sorted(_collected - set(_outcomes))
    if lost and not session.config.option.collectonly and not session.shouldfail:
        session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR
        shown = ', '.join(lost[:20]) + (', ...' if len(lost) > 20 else '')
        print(f'\n{len(lost)} tests have no outcome: {shown}')
