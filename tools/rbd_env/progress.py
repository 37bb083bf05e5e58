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

"""What the user sees while the environment is prepared: a line per step, a bar for waiting."""

from __future__ import annotations

import sys
import time

WIDTH = 28


def step(text: str) -> None:
    """Print one step on standard error, so that the command's own output stays clean."""
    print(f'[run] {text}', file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Print a paragraph on standard error."""
    print(f'\n{text}\n', file=sys.stderr, flush=True)


class Bar:
    """
    A progress bar that redraws itself on a terminal and prints its last state elsewhere.

    :param label: what is counted.
    :param total: the value at which it is full.
    :param unit: 'B' to show sizes in MB with a speed, else the word for what is counted.
    """

    def __init__(self, label: str, total: int, unit: str = 'B') -> None:
        self._label, self._total, self._unit = label, max(total, 1), unit
        self._start = time.monotonic()
        self._end = 0.0  # when it was full; pip still works on the file after that
        self._live = sys.stderr.isatty()

    def text(self, done: int, note: str = '') -> str:
        """Return the line for a state."""
        fraction = min(done / self._total, 1.0)
        filled = int(fraction * WIDTH)
        bar = '#' * filled + '-' * (WIDTH - filled)
        if self._unit == 'B':
            if done >= self._total:
                self._end = self._end or time.monotonic()
            seconds = (self._end or time.monotonic()) - self._start
            speed = done / 1e6 / max(seconds, 1e-3)
            count = f'{done / 1e6:.1f} of {self._total / 1e6:.1f} MB, {speed:.1f} MB/s'
        else:
            count = f'{done} of {self._total} {self._unit}'
        return f'[run] {self._label} [{bar}] {100 * fraction:3.0f} %  {count} {note}'.rstrip()

    def show(self, done: int, note: str = '') -> None:
        """Draw a state; nothing where nobody watches."""
        if self._live:
            print(f'\r\033[K{self.text(done, note)[:110]}', end='', file=sys.stderr, flush=True)

    def close(self, done: int) -> None:
        """Draw the last state and end the line."""
        start = '\r\033[K' if self._live else ''
        print(f'{start}{self.text(done)}', file=sys.stderr, flush=True)
