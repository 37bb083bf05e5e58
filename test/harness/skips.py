# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
No test vanishes silently: under ``./run test`` a skip that is not a fact of the machine fails.

``./run`` installs every library that the tests compare with, so that one which is missing or does
not import is a fault of the environment, and the tests that need it have proved nothing. Elsewhere
(colcon test, plain pytest) they are skipped with their reason.
"""

from __future__ import annotations

from collections.abc import Iterator
import os

import pytest

#: How the reason of a skip begins that no preparation could avoid, such as a missing C compiler.
MACHINE = 'this machine '


def verdict(reason: str) -> str | None:
    """Return why a skip for this reason is a failure here, None where it may be."""
    reason = reason.removeprefix('Skipped: ')
    if 'RBD_ROS_RESULTS' not in os.environ or reason.startswith(MACHINE):
        return None
    return (f'skipped under ./run test: {reason}. ./run installs what the tests need: repair the '
            f'environment (delete .run/). A reason that begins with "{MACHINE.strip()}" may skip.')


def _judge(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, 'wasxfail'):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        failure = verdict(reason)
        if failure is not None:
            report.outcome, report.longrepr = 'failed', failure


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Turn the skip of a test into its failure."""
    report = yield
    _judge(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """Turn the skip of a whole file into its failure."""
    report = yield
    _judge(report)
    return report
