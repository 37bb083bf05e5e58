# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What happens to a controller, and what is seen of it: the whole interface of the recording.

Whoever plugs another controller in writes one class with ``handle``; nothing else of a controller
is used. Times are those of the control clock and of the steady clock, in s. The data of events:

=========== =====================================================================================
state       names, positions, velocities, efforts, stamp as s and ns
unreadable  nothing; a message that is no joint state
tick        nothing; the timer
dead_man    whether the switch is pressed
activate, reset, stop, deactivate, signal, exception   nothing
parameters  changed values by name
hold        nothing; references are to come to rest
refused     nothing; a reference was refused before it reached the controller
points      times, positions, velocities, accelerations, delay of the start or None
goal        key, times, positions, velocities, accelerations, time to settle
cancel      key
pose        position, quaternion
twist       angular and linear
wrench      moment and force
payload     mass, centre of mass, inertia
gravity     where down is, age of the measurement
=========== =====================================================================================

All but ``state``, ``unreadable``, ``tick``, ``dead_man``, ``reset`` and ``stop`` wait until the
next event of the loop, as requests of other threads do.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from rbd_ros.control import modes
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.supervisor.states import SupervisorState as State

__all__ = ['CAUSES', 'CLOCK_OFFSET', 'Controller', 'EVENTS', 'Event', 'IDLE', 'MODES', 'Reply',
           'STATES', 'Seen']

#: Modes by number, those that there were when it was recorded. Others came after them.
MODES = tuple(modes.MODES)[:5]

Array = npt.NDArray[np.float64]

#: reception minus stamp of a message without delay, s, where the clock is not simulated
CLOCK_OFFSET = -1000.0

#: The order of these names is part of the format of the file.
EVENTS = ('state', 'unreadable', 'tick', 'dead_man', 'activate', 'reset', 'stop', 'deactivate',
          'signal', 'exception', 'parameters', 'hold', 'refused', 'points', 'goal', 'cancel',
          'pose', 'twist', 'wrench', 'payload', 'gravity')
#: What was recorded had no loop beside Python and no force sensor, and looked for no contact.
STATES = tuple(state for state in State if state not in (
    State.FLOATING, State.COMPLYING, State.RETRACTING))
CAUSES = tuple(cause for cause in Cause if cause not in (
    Cause.SUPERVISION, Cause.FORCE_SENSOR, Cause.CONTACT, Cause.SECOND_SENDER))

#: places in ``STATES`` of those in which nothing is sent and a new start forgets everything
IDLE = tuple(STATES.index(state) for state in (State.INACTIVE, State.RELEASED, State.FAULT))


class Event(NamedTuple):
    """Something that happens at a time."""

    kind: str
    now: float  # control time, s
    steady: float  # s
    data: tuple[Any, ...] = ()


class Seen(NamedTuple):
    """
    What is seen of a controller after an event.

    :param state: of the supervisor, its place in ``STATES``.
    :param faults: that are latched, a bit for each place in ``CAUSES``.
    :param mode: its place in ``MODES``.
    :param sent: how many torques were sent.
    :param torque: the last one of them, N.m; None: none.
    :param answer: 0: nothing was asked; 1: granted; 2: refused.
    :param goals: 0: no goal has ended; else ten times its status, plus one, less its code.
    :param notices: how many warnings were left for the log.
    """

    state: int
    faults: int
    mode: int
    sent: int
    torque: Array | None
    answer: int
    goals: int
    notices: int


class Reply(NamedTuple):
    """What the world and the operator learn: the state, and the torque that moves the robot."""

    state: int
    torque: Array | None


class Controller(Protocol):
    """A controller of one robot."""

    limits: Array  # of the torques, N.m

    def handle(self, event: Event) -> Seen:
        """
        Let something happen.

        :param event: what and when.
        """
