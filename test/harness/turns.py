# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Tests of nodes share the processors of this machine, or have them alone.

A test that promises a time of reaction, or takes all processors, has the mark ``alone``: it waits
until all others have ended, those of other runs on this machine among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
import os
from pathlib import Path

import pytest

#: not TMPDIR: copies of a checkout have one of their own, and the same processors
EVERYBODYS = Path('/tmp')


class Turns:
    """
    Lets tests of nodes on this machine run beside each other, or one alone.

    Locks on two files: tests share the room, who wants it alone waits in the door until it is
    empty, and nobody passes meanwhile. The system frees them with the process, however it ends.
    """

    def __init__(self, folder: Path | None = None) -> None:
        name = f'rbd_ros_launch_tests_{os.getuid()}'
        self._door, self._room = (
            (folder or EVERYBODYS) / f'{name}.{each}'
            for each in ('door', 'room'))

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Run with others."""
        with self._locked(fcntl.LOCK_SH):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run when all others have ended, and let none begin before the end."""
        with self._locked(fcntl.LOCK_EX):
            yield

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        with open(self._room, 'a') as room:
            with open(self._door, 'a') as door:
                fcntl.flock(door, fcntl.LOCK_EX)
                fcntl.flock(room, kind)
            yield


@contextmanager
def its_turn(item: pytest.Item) -> Iterator[None]:
    """Wait until a test may run, beside others or alone."""
    turns = Turns()
    with turns.alone() if item.get_closest_marker('alone') else turns.beside():
        yield
