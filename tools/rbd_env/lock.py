# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A lock between processes that the system drops when its holder dies.

Programs that work for the holder inherit it (``close_fds=False``): where ./run is killed and its
pip is not, the next one waits until that pip has ended too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
import os
from pathlib import Path

from rbd_env import progress


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock on a folder, waiting aloud while another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.step('another ./run is preparing the environment; waiting for it')
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
