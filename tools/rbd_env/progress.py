# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the user sees while the environment is prepared: each step, and how long it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import sys
import threading
import time

WIDTH = 28

#: what is under way, in the order of beginning: several steps may be at the same time
_open: list[Bar] = []
_pen = threading.RLock()


def step(text: str) -> None:
    """Print one step on standard error, so that the command's own output stays clean."""
    _say(f'[run] {text}')


def note(text: str) -> None:
    """Print a paragraph on standard error."""
    _say(f'\n{text}\n')


@contextmanager
def timed(text: str) -> Iterator[None]:
    """Name a step when it begins, and say how long it took when it is done."""
    with Bar(text, 0, '') as bar:
        yield
        bar.close(0)


class Bar:
    """
    A step that takes a while: redrawn on a terminal, its begin and end printed elsewhere.

    :param label: what is done.
    :param total: the value at which it is full; 0 for a step that cannot say how far it is.
    :param unit: 'B' to show sizes in MB with a speed, else the word for what is counted.
    """

    def __init__(self, label: str, total: int, unit: str = 'B') -> None:
        self._label, self._total, self._unit = label, total, unit
        self._start = time.monotonic()
        self._end = 0.0  # when it was full; pip still works on the file after that
        self._short = label
        with _pen:
            _open.append(self)
        if is_live():
            _draw()
        elif not total:
            _say(f'[run] {label}')

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop()

    def text(self, done: int, note: str = '') -> str:
        """Return the line for a state."""
        if not self._total:
            return f'[run] {self._label}'
        fraction = min(done / self._total, 1.0)
        filled = int(fraction * WIDTH)
        bar = '#' * filled + '-' * (WIDTH - filled)
        count = self._count(done)
        return f'[run] {self._label} [{bar}] {100 * fraction:3.0f} %  {count} {note}'.rstrip()

    def _count(self, done: int) -> str:
        if self._unit != 'B':
            return f'{done} of {self._total} {self._unit}'
        if done >= self._total:
            self._end = self._end or time.monotonic()
        seconds = (self._end or time.monotonic()) - self._start
        speed = done / 1e6 / max(seconds, 1e-3)
        return f'{done / 1e6:.1f} of {self._total / 1e6:.1f} MB, {speed:.1f} MB/s'

    def show(self, done: int, note: str = '') -> None:
        """Draw a state; nothing where nobody watches."""
        if is_live():
            self._short = f'{self._label}: {self._count(done)} {note}'.rstrip()
            _draw()

    def close(self, done: int) -> None:
        """Print the last state, with the time that it took."""
        self._drop()
        _say(f'{self.text(done)}, {time.monotonic() - self._start:.1f} s')

    def _drop(self) -> None:
        """Show it no longer: it is done, or it has failed."""
        with _pen:
            if self in _open:
                _open.remove(self)

    @property
    def short(self) -> str:
        """Return its state in few words, to stand beside those of others."""
        return self._short


def is_live() -> bool:
    """Return whether somebody watches a terminal."""
    return sys.stderr.isatty()


def clear() -> None:
    """Take away the line that is being redrawn, before something else is printed."""
    with _pen:
        if _open and is_live():
            print('\r\033[K', end='', file=sys.stderr, flush=True)


def _say(text: str) -> None:
    """Print above the line that is being redrawn."""
    with _pen:
        start = '\r\033[K' if is_live() else ''
        print(f'{start}{text}', file=sys.stderr, flush=True)
        _draw()


def _draw() -> None:
    with _pen:
        if _open and is_live():
            line = ' | '.join(bar.short for bar in _open)
            print(f'\r\033[K[run] {line[:104]}', end='', file=sys.stderr, flush=True)
