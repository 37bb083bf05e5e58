# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the controller would take a reference now, and what to do if not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_ros.control.modes import MODES, names_in, Takes, taking
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.nodes.dashboard.telemetry import STALE_AFTER
from rbd_ros.quoting import markdown_text

if TYPE_CHECKING:
    from rbd_ros.nodes.dashboard.telemetry import Telemetry

__all__ = ['missing']

NO_STATES = 'No joint states: the position of the robot is unknown.'
CHOOSE_MODE = 'The mode is {}: choose {} above.'
NOT_RUNNING = 'The controller is {}, not running: see the box at the top.'
OTHERS = ('Another program publishes on the same topic, so the controller drops the messages of '
          'both. End it, or switch this off.')


def missing(telemetry: Telemetry, what: Takes, *, seen: bool, crowded: bool) -> str:
    """
    Return why the controller would take no reference, and what to do; empty: it would.

    :param telemetry: what is heard of it.
    :param what: kind of the reference.
    :param seen: whether the robot is known to be somewhere.
    :param crowded: whether others publish on the topic.
    """
    if not seen or telemetry.age('states') > STALE_AFTER:
        return NO_STATES
    # a mode of the user, which is not in the table, may take them
    if telemetry.mode in MODES and telemetry.mode not in taking(what):
        return CHOOSE_MODE.format(telemetry.mode, names_in(taking(what), 'or'))
    if telemetry.state != State.RUNNING.value:
        return NOT_RUNNING.format(markdown_text(telemetry.state) or 'not there')
    return OTHERS if crowded else ''
