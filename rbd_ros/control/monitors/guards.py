# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Guards against silent operators and senders of nothing but refused references."""

from __future__ import annotations

from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import accuse, NEVER, NOBODY, Result
from rbd_ros.control.interface.words import SupervisorWord
from rbd_ros.control.monitors.monitors import MonitorParameters
from rbd_ros.control.supervisor.answers import moment
from rbd_ros.control.supervisor.states import StateCode

__all__ = ['check_dead_man', 'DeadMan', 'is_alive', 'press', 'Refusals']

#: s between two refused references beyond which they are not consecutive
_ROW = 1.0


class DeadMan(Record):
    """A signal that must be repeated to keep the robot going."""

    pressed: float = field('', 's', 'steady time of the last signal that counts', NEVER)


class Refusals(Record):
    """Consecutive refused references: a sender of nothing else has lost the robot."""

    row: float = field('', '', 'how many there were in a row')
    time: float = field('', 's', 'steady time of the last one', NEVER)

    def accept(self) -> None:
        """Record a reference that was accepted: the count starts again."""
        self.row = 0.0

    def refuse(self, p: MonitorParameters, steady: float) -> bool:
        """
        Record a reference that was refused.

        :param p: says how many are too many.
        :returns: whether it is one too many.
        """
        time = moment(steady, self.time)
        if time - self.time > _ROW:
            self.row = 0.0
        self.row += 1.0
        self.time = time
        return 0.0 < p.refusals <= self.row


def is_alive(x: DeadMan, p: MonitorParameters, steady: float) -> bool:
    """
    Return whether the robot may move; not where a time is no number.

    :param p: has the time within which it must come.
    """
    return p.dead_man_timeout <= 0.0 or steady - x.pressed <= p.dead_man_timeout


def press(x: DeadMan, p: MonitorParameters, y: Result, steady: float, pressed: int, state: int,
          ) -> None:
    """
    Take one message of the dead-man switch; letting it go stops at once.

    :param p: has the time within which it must come.
    :param y: takes what is wrong.
    :param pressed: 1 if the operator holds it; one 0 between any number of 1 counts.
    :param state: of the supervisor.
    """
    x.pressed = moment(steady, NEVER) if pressed > 0 else NEVER
    if state != StateCode.PROBING and not is_alive(x, p, steady):
        accuse(y, Cause.DEAD_MAN, SupervisorWord.DEAD_MAN_RELEASED)


def check_dead_man(x: DeadMan, p: MonitorParameters, y: Result, steady: float, state: int,
                   ) -> None:
    """
    Check whether the signal still comes; a start just waits for it.

    :param p: has the time within which it must come.
    :param y: takes what is wrong.
    :param state: of the supervisor.
    """
    if state != StateCode.PROBING and not is_alive(x, p, steady):
        accuse(y, Cause.DEAD_MAN, SupervisorWord.NO_DEAD_MAN_MESSAGE, NOBODY,
               p.dead_man_timeout)
