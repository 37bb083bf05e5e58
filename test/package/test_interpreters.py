# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The library, without the nodes, is for every Python that setup.py names: 3.10 and newer."""

from __future__ import annotations

import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

from linted import ROOT
import pytest

VERSIONS = ('3.10', '3.11', '3.13', '3.14')
#: Compiles each module of the library and makes the imports that it makes from the standard
#: library when it is loaded, with no other package.
PROGRAM = """
import ast, pathlib, sys
root = pathlib.Path(sys.argv[1])
count = 0
for file in root.rglob('*.py'):
    if file.relative_to(root).parts[0] == 'nodes':
        continue
    tree = ast.parse(file.read_text(encoding='utf-8'), str(file))
    compile(tree, str(file), 'exec')
    for node in tree.body:
        names = ([node.module] if isinstance(node, ast.ImportFrom) else
                 [each.name for each in node.names] if isinstance(node, ast.Import) else [])
        if names and names[0].partition('.')[0] in sys.stdlib_module_names:
            exec(compile(ast.Module([node], []), str(file), 'exec'), {})
            count += 1
print(count)
"""


def interpreter(version: str) -> str | None:
    """Return a Python of a version that this machine has, None for none."""
    beside = Path(sys.base_prefix).parent       # where pyenv has its versions
    candidates = [shutil.which(f'python{version}'),
                  *sorted(beside.glob(f'{version}*/bin/python{version}'))]
    for each in filter(None, candidates):
        said = subprocess.run([str(each), '-I', '-c', 'import sys; print(*sys.version_info[:2])'],
                              capture_output=True, text=True, check=False)
        if said.stdout.split() == version.split('.'):
            return str(each)
    return None


@pytest.mark.sampled('configurations', 1)
@pytest.mark.parametrize('version', VERSIONS)
def test_syntax_and_imports(version: str) -> None:
    """No module uses syntax or a name of the standard library that this Python has not."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f'this machine has no Python {version}')
    done = subprocess.run([python, '-I', '-c', PROGRAM, str(ROOT / 'rbd_ros')], text=True,
                          capture_output=True, check=False, env={'PATH': os.environ['PATH']})
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


def test_declared_version() -> None:
    """Pip refuses a Python that is older than the oldest one tested here."""
    found = re.search(r"python_requires='>=([\d.]+)'", (ROOT / 'setup.py').read_text())
    assert found and found[1] == VERSIONS[0] and sys.version_info >= (3, 10)
