# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Tests of nodes take turns: beside each other, or one alone."""

from __future__ import annotations

import fcntl
from pathlib import Path
import threading
import time

from rbd_env.pace import patient
from turns import Turns


def is_free(file: Path) -> bool:
    """Return whether nobody has locked a file."""
    with file.open('a') as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_one_alone_waits_for_all_others_and_they_for_it(tmp_path: Path) -> None:
    """Tests share the room; who wants it alone comes in when it is empty, before later ones."""
    turns, order = Turns(tmp_path), []
    inside, leave, wants = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with turns.beside():
            inside.set()
            leave.wait()
            order.append('first')

    def alone() -> None:
        wants.set()
        with turns.alone():
            order.append('alone')

    def later() -> None:
        with turns.beside():
            order.append('later')

    threads = [threading.Thread(target=each, daemon=True) for each in (first, alone, later)]
    threads[0].start()
    inside.wait()
    with Turns(tmp_path).beside():  # beside the first one
        assert not order
    threads[1].start()
    wants.wait()
    door, = tmp_path.glob('*.door')
    end = time.monotonic() + patient(10.0)
    while is_free(door):  # until it waits in there
        assert time.monotonic() < end
        time.sleep(0.01)
    threads[2].start()
    threads[2].join(0.2)
    assert not order
    leave.set()
    for thread in threads:
        thread.join(patient(10.0))
    assert order == ['first', 'alone', 'later']
