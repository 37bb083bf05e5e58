# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One browser for all of these tests, and a page of it for each file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cdp import Browser, opened, Page
from chrome import PATIENCE, SIZE
from demo import shown, watching
from isolation import own_domain
import pytest
from rbd_env import browser as programs


@pytest.fixture(scope='session')
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start the browser, or skip with the reason."""
    program = programs.find()
    if program is None:
        pytest.skip(f'this machine has no browser: {programs.ADVICE}')
    with opened(program, str(tmp_path_factory.mktemp('profile')), PATIENCE) as browser:
        yield browser


@pytest.fixture(scope='module')
def empty_page(chromium: Browser) -> Iterator[Page]:
    """Open a page, and close it after the last test of the file."""
    page = chromium.open(SIZE)
    yield page
    page.close()


@pytest.fixture(scope='module')
def page(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Start robot, controller and dashboard for the tests of a file, and open their page."""
    made = chromium.open(SIZE)
    with own_domain(), shown(made, tmp_path_factory.mktemp('dashboard')):
        yield made
    made.close()


@pytest.fixture(scope='module')
def watcher(page: Page) -> Iterator[Any]:
    """Give a node that hears the robot of the page."""
    with watching() as made:
        yield made
