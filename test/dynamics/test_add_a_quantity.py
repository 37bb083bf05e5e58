# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The guide that adds a quantity is followed step by step, in a copy of the package."""

import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

from linted import ROOT
from rbd_env.pace import patient
import rbd_ros

GUIDE = ROOT / 'docs' / 'developers' / 'add_a_quantity.md'
ROWS, METHODS = '\n\n# --- rows of the table', '\n# --- methods'


def followed(package: Path) -> tuple[set[Path], str]:
    """
    Follow the guide in a copy of the package.

    :returns: the files that were touched, and the proof with which the guide ends.
    """
    text = GUIDE.read_text()
    algorithm, rule, row, method, proof = re.findall(r'```py\n(.*?)```', text, re.DOTALL)
    first, second = (package.parent / name for name in re.findall(
        r'(?:In|in)\s`(rbd_ros/\w[\w/.]*\.py)`[:.]', text))
    first.write_text(f'{first.read_text()}\n\n{algorithm}')
    family = second.read_text()
    assert family.count(ROWS) == family.count(METHODS) == 1
    family = family.replace(ROWS, f'\n\n{rule}{ROWS}').replace(METHODS, f'\n{row}{METHODS}')
    second.write_text(f'{family}\n{method}')           # the class of the family is the last
    return {first, second}, proof


def test_the_guide_adds_a_quantity(tmp_path):
    """Two files of the product are touched, and all that the guide promises holds."""
    package = tmp_path / 'rbd_ros'
    shutil.copytree(Path(rbd_ros.__file__).parent, package,
                    ignore=shutil.ignore_patterns('__pycache__'))
    files, proof = followed(package)
    assert len(files) == 2
    path = os.pathsep.join([str(tmp_path), *sys.path[1:]])
    script = f'{proof}\nprint(rbd_ros.__file__)\n'
    done = subprocess.run([sys.executable, '-c', script], check=True, text=True, cwd=tmp_path,
                          timeout=patient(120), stdout=subprocess.PIPE,
                          env=os.environ | {'PYTHONPATH': path})
    assert str(package) in done.stdout
