# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The condition of robot and controller on the page: a colour, words, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.nodes.dashboard.telemetry import STALE_AFTER, Telemetry
from rbd_ros.quoting import markup_text

__all__ = ['is_asked_for', 'Level', 'Status', 'status_of']

Level = str
#: Colours of the frame and of the ground behind the words, by level.
COLOURS: dict[Level, tuple[str, str]] = {
    'good': ('#2b8a3e', '#ebfbee'), 'waiting': ('#495057', '#f1f3f5'),
    'warning': ('#e8a600', '#fff9db'), 'fault': ('#c92a2a', '#fff0f0')}
_ORDER = ('good', 'waiting', 'warning', 'fault')
_STARTING = (State.PROBING.value, State.RAMPING_IN.value)
_BY_OPERATOR = tuple(cause.text for cause in Cause if cause.by_operator)


class Status(NamedTuple):
    """
    What a person should know first.

    :param level: good, waiting, warning or fault.
    :param headline: one line, HTML.
    :param lines: more of them.
    :param advice: what to press or to do next; empty: nothing.
    """

    level: Level
    headline: str
    lines: Sequence[str] = ()
    advice: str = ''

    def html(self) -> str:
        """Return a coloured box with all of it."""
        frame, ground = COLOURS[self.level]
        parts = [f'<div>{self.headline}</div>', *(f'<div>{line}</div>' for line in self.lines)]
        if self.advice:
            parts.append(f'<div style="margin-top:4px"><b>Next:</b> {self.advice}</div>')
        return (f'<div class="status {self.level}" style="border-left:6px solid {frame};'
                f'background:{ground};padding:6px 10px;margin:2px 8px;font-size:13px;'
                f'overflow-wrap:anywhere;color:#212529">{"".join(parts)}</div>')


def is_asked_for(fault: str) -> bool:
    """
    Return whether a person asked for a stop, and nothing else is wrong.

    :param fault: all that the controller has latched, as on ``~/fault``.
    """
    return bool(fault) and all(part.startswith(_BY_OPERATOR) for part in fault.split('; '))


def status_of(telemetry: Telemetry, *, commands: bool) -> Status:
    """
    Return the status.

    :param telemetry: what was heard.
    :param commands: whether the page has buttons that act.
    """
    found = _of_controller(telemetry, commands)
    if not telemetry.fault or is_asked_for(telemetry.fault):
        lines, level = list(found.lines), found.level
    else:
        lines, level = [f'Fault: {markup_text(telemetry.fault)}', *found.lines], 'fault'
    for name, (rank, text) in sorted(telemetry.diagnostics.items()):
        if rank == 'OK' or (telemetry.fault and telemetry.fault in text):  # said already
            continue
        lines.append(f'{rank.capitalize()}: {markup_text(name)}: {markup_text(text)}')
        level = max(level, 'fault' if rank == 'error' else 'warning', key=_ORDER.index)
    return found._replace(lines=lines, level=level)


def _of_controller(telemetry: Telemetry, commands: bool) -> Status:
    """Return what the controller is doing, or what there is in its place."""
    if telemetry.age('states') > STALE_AFTER:
        return Status('fault', '<b>No joint states.</b>', (),
                      'is the driver or the simulator running, and not paused?')
    if telemetry.age('balance') < STALE_AFTER:
        return Status('good', 'The node <b>stand</b> keeps the robot on its feet.')
    # the plugin of ros2_control has no diagnostics
    age = min(telemetry.age('controller'), telemetry.age('reference'))
    if age == float('inf'):
        return Status('waiting', '<b>No controller yet.</b> Waiting for its diagnostics.')
    if age > STALE_AFTER:
        return Status('fault', '<b>The controller has vanished.</b> Nothing was heard from it for '
                      f'{age:.0f} s: the robot depends on its driver.', (),
                      'start it again.')
    state = telemetry.state or 'unknown'
    headline = (f'State <b>{markup_text(state)}</b>, mode '
                f'<b>{markup_text(telemetry.mode or "unknown")}</b>')
    if telemetry.fault:
        return _stopped(telemetry, headline, commands)
    if state == State.RUNNING.value:
        return Status('good', headline)
    if state in _STARTING:
        return Status('waiting', headline, (), 'wait, the torque is ramped in.')
    if state in (State.INACTIVE.value, State.RELEASED.value):
        return Status('waiting', headline, (), 'configure and activate the controller '
                      '(<code>ros2 lifecycle set</code>).')
    return Status('warning', headline)


def _stopped(telemetry: Telemetry, headline: str, commands: bool) -> Status:
    """Return what to do after a stop; one that a person asked for is no fault."""
    act = 'press Reset' if commands else 'call <code>~/reset</code> of the controller'
    over = telemetry.state in (State.HOLDING.value, State.FAULT.value)
    if is_asked_for(telemetry.fault):
        asked = f'Stopped as requested ({markup_text(telemetry.fault)}).'
        return Status('warning', headline, (asked,), f'{act} to go on.' if over else
                      'wait, the robot is being stopped.')
    if not over:
        return Status('fault', headline, (), 'wait, the robot is being stopped.')
    lines = (('No torque is sent any more.',) if telemetry.state == State.FAULT.value else ())
    return Status('fault', headline, lines, f'remove the cause, then {act}.')
