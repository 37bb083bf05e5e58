# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What every test has: a record of its outcome, its turn, its own ROS domain."""

from __future__ import annotations

import gc
from importlib.util import find_spec
import logging

from isolation import pytest_runtest_protocol
from ordering import begin_apart, shuffle, slowest_first
from outcomes import (
    pytest_collection_finish,
    pytest_collectreport,
    pytest_runtest_logreport,
    pytest_sessionfinish,
    pytest_xdist_node_collection_finished,
)
import pytest
import sampling
from sampling import pytest_addoption, pytest_testnodedown
from skips import pytest_make_collect_report, pytest_runtest_makereport

__all__ = [
    'pytest_addoption',
    'pytest_collection_finish',
    'pytest_collection_modifyitems',
    'pytest_collectreport',
    'pytest_configure',
    'pytest_make_collect_report',
    'pytest_runtest_logreport',
    'pytest_runtest_makereport',
    'pytest_runtest_protocol',
    'pytest_runtest_setup',
    'pytest_runtestloop',
    'pytest_sessionfinish',
    'pytest_testnodedown',
    'pytest_xdist_node_collection_finished',
]

if find_spec('hypothesis'):
    from hypothesis import settings

    # A busy machine is no failure, and the time of an example is no property. The same examples
    # each time: what a change broke is then told from what was there before. New ones at each
    # run are looked for with --hypothesis-profile=search.
    settings.register_profile('search', deadline=None)
    settings.register_profile('rbd_ros', deadline=None, derandomize=True)
    settings.load_profile('rbd_ros')

# Tracing makes many objects without cycles, as does the collection of thousands of tests.
gc.set_threshold(50_000, 10, 10)

# The pytest plugin of launch installs a logger class whose records do not reach caplog.
logging.getLogger('rbd_ros').propagate = True


def pytest_configure(config: pytest.Config) -> None:
    """Settle which sample is drawn, and where to begin."""
    sampling.choose(config)
    begin_apart(config)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember which test runs."""
    sampling.begin(item)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw the sample, begin with what takes longest."""
    sampling.leave_out(config, items)
    if config.option.order_seed:
        shuffle(items, config.option.order_seed)
    else:
        slowest_first(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """
    Let the garbage collector look at what tests make, not at what was there before.

    Otherwise it walks all modules and collected tests again and again, a tenth of the time.
    """
    gc.collect()
    gc.freeze()
