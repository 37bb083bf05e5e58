# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The type checker mypy over the library.

What it knows of each file is kept with the checkout, and for other checkouts of the user: it goes
by the contents of files, so that a fresh clone has to look at what is different only.
"""

from importlib import metadata
import importlib.util
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

from linted import ROOT
import pytest
from rbd_env.layout import user_cache


def borrow(own: Path, kept: Path) -> None:
    """Take what other checkouts have found, if this one has nothing of its own."""
    if not own.exists() and kept.exists():
        shutil.unpack_archive(kept, own, filter='data')


def lend(own: Path, kept: Path) -> None:
    """Leave it to other checkouts, in one step, if the user's cache can be written."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            os.replace(shutil.make_archive(f'{folder}/mypy', 'tar', own), kept)
    except OSError:
        pass


@pytest.mark.linter
@pytest.mark.skipif(not importlib.util.find_spec('mypy'), reason='mypy is not installed')
def test_mypy() -> None:
    """The types of the library agree, and a user's script sees them; settings: pyproject.toml."""
    own = Path(os.environ.get('MYPY_CACHE_DIR', ROOT / '.run' / 'mypy'))
    kept = user_cache(dict(os.environ)) / 'mypy' / f'{metadata.version("mypy")}.tar'
    borrow(own, kept)
    done = subprocess.run(
        [sys.executable, '-m', 'mypy', 'rbd_ros', 'test/package/typed_script.py'], cwd=ROOT,
        env={**os.environ, 'MYPY_CACHE_DIR': str(own)}, capture_output=True, text=True,
        check=False)
    assert done.returncode == 0, '\n' + done.stdout + done.stderr
    lend(own, kept)


@pytest.mark.linter
def test_a_checkout_borrows_what_another_lends(tmp_path: Path) -> None:
    """Only where it has nothing; a cache that cannot be written is no failure."""
    one, two, kept = tmp_path / 'one', tmp_path / 'two', tmp_path / 'cache' / 'mypy.tar'
    borrow(two, kept)
    assert not two.exists()
    (one / '3.12').mkdir(parents=True)
    for text in ('old', 'new'):
        (one / '3.12' / 'found').write_text(text)
        lend(one, kept)
        borrow(two, kept)
        assert (two / '3.12' / 'found').read_text() == 'old'
    borrow(tmp_path / 'three', kept)
    assert (tmp_path / 'three' / '3.12' / 'found').read_text() == 'new'
    lend(one, one / '3.12' / 'found' / 'mypy.tar')
    assert [path.name for path in kept.parent.iterdir()] == ['mypy.tar']
