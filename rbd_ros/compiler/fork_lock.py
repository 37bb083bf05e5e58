# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Locks that a forked child finds open.

A child has one thread, the one that forked. A lock that another one held would stay closed in it
for ever. What such locks protect here is changed by single steps of the interpreter, so that a
child finds it whole and may begin anew.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType
import weakref


class ForkLock:
    """A re-entrant lock; in a forked child it is open unless the thread that forked holds it."""

    __slots__ = ('__weakref__', '_lock')

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._lock.release()

    def _renew(self) -> None:
        if self._lock.acquire(blocking=False):      # nobody's, or that of this very thread
            self._lock.release()
        else:
            self._lock = threading.RLock()


_all: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_all):
        lock._renew()


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_renew_all)
