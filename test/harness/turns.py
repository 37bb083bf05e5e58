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
