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

"""The linter ruff over all Python files."""

import importlib.util
import subprocess
import sys

from linted import PATHS, ROOT
import pytest


@pytest.mark.linter
@pytest.mark.skipif(not importlib.util.find_spec('ruff'), reason='ruff is not installed')
def test_ruff() -> None:
    """No finding with the settings of pyproject.toml."""
    done = subprocess.run(
        [sys.executable, '-m', 'ruff', 'check', '--no-cache', '--output-format', 'concise',
         *PATHS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, '\n' + done.stdout + done.stderr
