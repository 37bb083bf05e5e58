# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What tests build with compilers of this machine: made once, and kept for the next run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import fcntl
import hashlib
import os
from pathlib import Path
import shutil
import tempfile
import time

from rbd_env.layout import made_folder

__all__ = ['once']

ROOT = Path(__file__).parents[2]

#: s for which is kept what nobody uses
KEPT = 3 * 86400.0


def once(name: str, parts: Iterable[object], make: Callable[[Path], None]) -> Path:
    """
    Return a folder with what was made, by this process or by one before it.

    :param name: of what is made.
    :param parts: all that it depends on, as text.
    :param make: fills a folder; if it raises an error, nothing is kept.
    """
    home = made_folder(ROOT, os.environ) / 'made'
    home.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr([str(part) for part in parts]).encode()).hexdigest()[:24]
    folder = home / f'{name}-{digest}'
    with open(home / f'{folder.name}.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            for old in home.glob(f'{name}-*/'):
                if time.time() - old.stat().st_mtime > KEPT:
                    shutil.rmtree(old, ignore_errors=True)
                    old.with_name(f'{old.name}.lock').unlink(missing_ok=True)
            new = Path(tempfile.mkdtemp(prefix='new-', dir=home))
            try:
                make(new)
                new.rename(folder)
            finally:
                shutil.rmtree(new, ignore_errors=True)
    os.utime(folder)
    return folder
