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
"""Contacts that the controller felt, as it reports them in /diagnostics."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from html import escape
from typing import NamedTuple

from rbd_ros.nodes.diagnostic_names import (
    CONTACT_COUNT, CONTACT_FORCE, CONTACT_PLACE, CONTACT_REACTION, CONTACT_TIME, CONTACT_TORQUE)

__all__ = ['ContactEvent', 'ContactEvents']

KEPT = 20  # contacts that are listed
OFF = 'Contacts are not looked for: <code>contact.reaction</code> is off.'
NONE = 'None so far.'
_STYLE = 'style="width:100%;font-size:12px"'


class ContactEvent(NamedTuple):
    """
    One contact.

    :param time: when, ISO 8601.
    :param place: joint, or direction of the frame, that felt it most.
    :param torque: that was felt there, N.m, or N along a direction.
    :param force: at the controlled frame that explains it, N.
    :param reaction: what followed.
    """

    time: str
    place: str
    torque: str
    force: str
    reaction: str

    def cells(self) -> tuple[str, ...]:
        """Return what a row of the list has."""
        return (clock_time(self.time), self.place, self.torque, self.force, self.reaction)


class ContactEvents:
    """The last contacts, newest first; the controller counts them from its activation."""

    def __init__(self) -> None:
        self._events: deque[ContactEvent] = deque(maxlen=KEPT)
        self._count: int | None = None  # contacts that were reported; None: nobody looks
        self._unseen = 0  # contacts between two reports, of which only the last is known

    def take(self, values: Mapping[str, str]) -> None:
        """Take a report of the controller; one that repeats the last contact adds nothing."""
        count = values.get(CONTACT_COUNT, '')
        if not count.isdecimal():
            return
        event = ContactEvent(*(values.get(key, '') for key in (
            CONTACT_TIME, CONTACT_PLACE, CONTACT_TORQUE, CONTACT_FORCE, CONTACT_REACTION)))
        before = self._count if self._count is not None and int(count) >= self._count else 0
        if int(count) > before:
            self._unseen += int(count) - before - 1
            self._events.appendleft(event)
        self._count = int(count)

    def __iter__(self) -> Iterator[ContactEvent]:
        """Go over the contacts, newest first."""
        return iter(list(self._events))

    def html(self) -> str:
        """Return the list."""
        if self._count is None:
            return f'<div style="margin:2px 8px;font-size:12px">{OFF}</div>'
        rows = ''.join('<tr>' + ''.join(f'<td>{escape(cell)}</td>' for cell in event.cells())
                       + '</tr>' for event in list(self._events))
        if not rows:
            return f'<div style="margin:2px 8px;font-size:12px">{NONE}</div>'
        more = f'<div>and {self._unseen} in between</div>' if self._unseen else ''
        return ('<div style="margin:2px 8px;font-size:12px"><table class="contacts" '
                f'{_STYLE}><tr><td>time</td><td>felt by</td><td>N.m or N</td>'
                f'<td>force, N</td><td>then</td></tr>{rows}</table>{more}</div>')


def clock_time(text: str) -> str:
    """Return the time of day here, of a time in ISO 8601; what is none as it is."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return text
    return when.astimezone().strftime('%H:%M:%S.%f')[:-3]
