# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A console that takes no lines stops neither the torques nor the services."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
import os
from pathlib import Path
import select
import subprocess
import time

import pytest
from rig import PATIENCE
from standing import Standing

LINES = 1500  # by each of two loggers, far more than any pipe or terminal keeps
PROGRAM = [str(Path(__file__).with_name('chatter.py'))]


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """Give a pipe that nobody reads."""
    end, start = os.pipe()
    fcntl.fcntl(start, fcntl.F_SETPIPE_SZ, 1 << 16)
    yield end, start
    os.close(end)


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Give a terminal; Ctrl-S is typed when the controller runs."""
    end, start = os.openpty()
    yield end, start
    os.close(end)


def read(end: int, seconds: float) -> str:
    """Return what comes out for a while."""
    text, until = b'', time.monotonic() + seconds
    while time.monotonic() < until:
        if select.select([end], [], [], 0.1)[0]:
            text += os.read(end, 1 << 16)
    return text.decode(errors='replace')


@pytest.mark.sampled('launches', 1)
@pytest.mark.parametrize('console', [pipe, terminal])
def test_console_that_takes_nothing(console: object, tmp_path: Path) -> None:
    """Torques go on, ~/stop answers, what was not seen is counted when lines are taken again."""
    order = tmp_path / 'lines'
    with console() as (end, start):
        system = Standing({}, PROGRAM, {'CHATTER': str(order)}, stdout=subprocess.DEVNULL,
                          stderr=start)
        os.close(start)
        try:
            client = system.client
            system.run()
            if console is terminal:
                read(end, 0.2)
                os.write(end, b'\x13')  # Ctrl-S
            begin = time.monotonic()
            made = order.with_suffix('.new')
            made.write_text(str(LINES))
            made.rename(order)
            client.wait(lambda: not order.exists(), 'all lines logged', 30.0)
            print(f'largest gap {system.largest_gap(begin):.4f} s')
            assert system.largest_gap(begin) < client.margin(begin)
            assert time.monotonic() - client.commands[-1].time < client.margin(begin)
            asked = time.monotonic()
            assert client.trigger('stop').success
            assert time.monotonic() - asked < client.margin(asked, 2)
            client.wait_text('state', 'holding', asked)
            if console is terminal:
                os.write(end, b'\x11')  # Ctrl-Q
            said = read(end, 0.3)
            client.must_set({'mode': 'damping'})  # something to say
            until = time.monotonic() + PATIENCE
            while 'lines were not printed' not in said and time.monotonic() < until:
                said += read(end, 0.2)
        finally:
            code = system.close()
    assert code == 0
    assert '[WARN] [' in said and '] [controller]: ' in said
    assert '\x1b[33m' in said or console is pipe  # colours, on a terminal
    assert 'lines were not printed' in said
    assert sum('own line' in each.text for each in client.texts['log']) < 100
    assert any('similar lines suppressed' in each.text for each in client.texts['log'])
