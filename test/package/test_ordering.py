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

"""Files of tests that take long begin first, whichever process they run in."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

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
