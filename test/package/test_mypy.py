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

"""The type checker mypy over the library."""

import importlib.util
import subprocess
import sys

from linted import ROOT
import pytest


@pytest.mark.linter
@pytest.mark.skipif(not importlib.util.find_spec('mypy'), reason='mypy is not installed')
def test_mypy() -> None:
    """The types of the library agree, and a user's script sees them; settings: pyproject.toml."""
    done = subprocess.run(
        [sys.executable, '-m', 'mypy', 'rbd_ros', 'test/package/typed_script.py'], cwd=ROOT,
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, '\n' + done.stdout + done.stderr
