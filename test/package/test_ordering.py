# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Files of tests that take long begin first, and workers begin to look for them apart."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

import pytest
from rbd_env.pace import patient

CONFTEST = """
import sys
sys.path.insert(0, {folder!r})
from ordering import slowest_first

def pytest_collection_modifyitems(items):
    slowest_first(items)
"""
MANY = 'def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n'
SLOW = 'import pytest\npytestmark = pytest.mark.slow\ndef test_it(): pass\n'


def test_files_marked_as_slow_begin(tmp_path: Path) -> None:
    """A slow file comes before one with many tests, and that before one with few."""
    for name, text in (('test_1_few', 'def test_it(): pass\n'), ('test_2_many', MANY),
                       ('test_3_slow', SLOW)):
        (tmp_path / f'{name}.py').write_text(text)
    harness = Path(__file__).parents[1] / 'harness'
    (tmp_path / 'conftest.py').write_text(CONFTEST.format(folder=str(harness)))
    (tmp_path / 'pytest.ini').write_text('[pytest]\nmarkers = slow\n')
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '--collect-only', '-q', '-p', 'no:cacheprovider',
         '-p', 'no:launch_testing', '-p', 'no:launch_ros', str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, timeout=patient(120), check=False)
    files = [line.partition('::')[0] for line in done.stdout.splitlines() if '::' in line]
    assert files == ['test_3_slow.py', *['test_2_many.py'] * 3, 'test_1_few.py'], done.stdout


APART = """
import pathlib, sys
sys.path.insert(0, {folder!r})
from ordering import begin_apart, shuffle, slowest_first

def pytest_configure(config):
    begin_apart(config)
    if hasattr(config, 'workerinput'):
        pathlib.Path(config.workerinput['workerid']).write_text(config.args[0])

def pytest_collection_modifyitems(items):
    {order}
"""


@pytest.mark.parametrize('order', ['slowest_first(items)', 'shuffle(items, "3")'])
def test_workers_begin_apart(tmp_path: Path, order: str) -> None:
    """Each begins in another room, and they agree about the tests, of which none is lost."""
    harness = Path(__file__).parents[1] / 'harness'
    for room in 'abcd':
        (tmp_path / 'test' / room).mkdir(parents=True)
        (tmp_path / 'test' / room / f'test_{room}.py').write_text(MANY)
    (tmp_path / 'test' / 'test_e.py').write_text('def test_it(): pass\n')
    (tmp_path / 'test' / 'conftest.py').write_text(APART.format(folder=str(harness), order=order))
    (tmp_path / 'pytest.ini').write_text('[pytest]\nmarkers = slow\n')
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-n', '2', 'test', '--ignore', 'test/d',
         '-p', 'no:cacheprovider', '-p', 'no:launch_testing', '-p', 'no:launch_ros'],
        cwd=tmp_path, capture_output=True, text=True, timeout=patient(120), check=False)
    assert '10 passed' in done.stdout, done.stdout
    assert [(tmp_path / f'gw{k}').read_text() for k in range(2)] == ['test/a', 'test/c']
