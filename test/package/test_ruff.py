# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
