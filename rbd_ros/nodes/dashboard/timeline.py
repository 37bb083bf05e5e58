# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Events on a time line: what happened when, why, and what to do about it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime
import threading
import time
from typing import NamedTuple

from rbd_ros.quoting import markup_text

__all__ = ['Event', 'now', 'Timeline']

KEPT = 200  # events
NONE = 'Nothing so far.'
#: Kinds of events, with the ground behind their names, on which white can be read.
COLOURS = {'fault': '#c92a2a', 'warning': '#b35c00', 'stop': '#b35c00', 'reset': '#237032',
           'mode': '#1864ab', 'contact': '#6741d9', 'goal': '#0b7285'}
_SINCE_1970 = time.time() - time.monotonic()


def now() -> float:
    """Return the time, s since 1970, by a clock that is never set back."""
    return _SINCE_1970 + time.monotonic()


class Event(NamedTuple):
    """
    Something that happened.

    :param time: when, s since 1970.
    :param kind: one of those that have a colour.
    :param text: what, and why.
    :param advice: what to do; empty: nothing.
    """

    time: float
    kind: str
    text: str
    advice: str = ''

    @property
    def words(self) -> str:
        """Return it in a line."""
        return f'{self.kind}: {self.text}'

    def html(self) -> str:
        """Return a row of a table."""
        clock = datetime.fromtimestamp(self.time).strftime('%H:%M:%S.%f')[:-3]
        advice = f'<div><b>Next:</b> {markup_text(self.advice)}</div>' if self.advice else ''
        badge = (f'<span style="background:{COLOURS[self.kind]};color:#fff;border-radius:3px;'
                 f'padding:0 4px">{self.kind}</span>')
        return (f'<tr style="vertical-align:top"><td>{clock}</td><td>{badge}</td>'
                f'<td style="overflow-wrap:anywhere">{markup_text(self.text)}{advice}</td></tr>')


class Timeline:
    """The last events; a new one makes room."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._html = ''  # of these events; empty: to be made
        self._lock = threading.RLock()  # messages add events while the page shows them

    def add(self, kind: str, text: str, advice: str = '', at: float | None = None) -> None:
        """
        Append an event.

        :param at: when, s since 1970; None: now.
        """
        with self._lock:
            self._events.appendleft(Event(now() if at is None else at, kind, text, advice))
            self._html = ''

    def reword(self, kind: str, texts: tuple[str, ...], text: str) -> None:
        """Give the newest event of a kind that has one of some texts another text."""
        with self._lock:
            for k, event in enumerate(self):
                if event.kind == kind and event.text in texts:
                    self._events[k] = event._replace(text=text)
                    self._html = ''
                    return

    def __iter__(self) -> Iterator[Event]:
        """Go over the events, newest first."""
        return iter(list(self._events))

    def html(self) -> str:
        """Return the list, newest first."""
        with self._lock:
            if not self._html:
                rows = ''.join(event.html() for event in self)
                found = (f'<table class="events" style="width:100%">{rows}</table>' if rows
                         else NONE)
                self._html = ('<div style="margin:2px 8px;font-size:12px;max-height:300px;'
                              f'overflow-y:auto">{found}</div>')
            return self._html
