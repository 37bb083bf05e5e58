# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signals that end a command: while a robot moves, each of them must stop it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import signal
import threading

__all__ = ['as_interrupts', 'halts_noted', 'noted']


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Take SIGTERM, and the SIGHUP of a terminal that has gone, for Ctrl-C."""
    with _handled(signal.default_int_handler, signal.SIGTERM, signal.SIGHUP):
        yield


@contextmanager
def noted() -> Iterator[threading.Event]:
    """Note Ctrl-C, SIGTERM and SIGHUP; raised in the middle of a chunk, they would cut a file."""
    ended = threading.Event()
    with _handled(lambda *_: ended.set(), signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        yield ended


@contextmanager
def halts_noted() -> Iterator[threading.Event]:
    """Note Ctrl-Z instead of halting: who moves a robot brings it to rest first."""
    asked = threading.Event()
    with _handled(lambda *_: asked.set(), signal.SIGTSTP):
        yield asked


@contextmanager
def _handled(handler: signal._HANDLER, *which: signal.Signals) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # signals are not its matter
        yield
        return
    before = {each: signal.signal(each, handler) for each in which
              if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN}  # nohup
    try:
        yield
    finally:
        for each, former in before.items():
            signal.signal(each, former)
