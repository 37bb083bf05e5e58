# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Events that the controller reports itself: contacts that it felt, goals that it follows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from action_msgs.msg import GoalStatus, GoalStatusArray
from rbd_ros.nodes.diagnostic_names import (
    CONTACT_COUNT, CONTACT_FORCE, CONTACT_PLACE, CONTACT_REACTION, CONTACT_TIME, CONTACT_TORQUE,
    LAST_GOAL)

if TYPE_CHECKING:
    from rbd_ros.nodes.dashboard.timeline import Timeline

__all__ = ['ContactReports', 'GoalReports']

ENDS = {GoalStatus.STATUS_SUCCEEDED: 'succeeded', GoalStatus.STATUS_CANCELED: 'cancelled',
        GoalStatus.STATUS_ABORTED: 'aborted'}


class ContactReports:
    """
    Contacts, which the controller counts from its activation; it repeats the last of them.

    :param timeline: gets them.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline, self._count = timeline, 0

    def take(self, values: Mapping[str, str]) -> None:
        """Take a report; of several contacts within one, the last is known."""
        count = values.get(CONTACT_COUNT, '')
        if not count.isdecimal():
            return
        before = self._count if int(count) >= self._count else 0
        if int(count) > before:
            place, torque, force, reaction = (values.get(key, '?') for key in (
                CONTACT_PLACE, CONTACT_TORQUE, CONTACT_FORCE, CONTACT_REACTION))
            more = int(count) - before - 1
            self._timeline.add(
                'contact', f'felt by {place}: {torque}; {force} N at the frame. Then: '
                f'{reaction}' + (f'. And {more} just before' if more else ''),
                at=seconds(values.get(CONTACT_TIME, '')))
        self._count = int(count)


class GoalReports:
    """
    Goals of the action: accepted and ended, and why.

    :param timeline: gets them.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._known: dict[bytes, int] | None = None  # status of each goal; None: nothing heard
        self._unexplained = False  # whether the reason of an end is still to come

    def take(self, message: GoalStatusArray) -> None:
        """Take the status of all goals; those that ended before the first one are old."""
        found = {bytes(each.goal_info.goal_id.uuid): each.status for each in message.status_list}
        for name, status in found.items():
            before = None if self._known is None else self._known.get(name)
            if status == before or (status in ENDS and self._known is None):
                continue
            if status in ENDS:
                self._timeline.add('goal', ENDS[status])
                self._unexplained = True
            elif before is None:
                self._timeline.add('goal', 'accepted')
        self._known = found

    def explain(self, values: Mapping[str, str]) -> None:
        """Take a report that has the reason of the last end."""
        if self._unexplained and values.get(LAST_GOAL):
            self._timeline.reword('goal', tuple(ENDS.values()), values[LAST_GOAL])
            self._unexplained = False


def seconds(text: str) -> float | None:
    """Return a time in ISO 8601 as s since 1970; None: it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
