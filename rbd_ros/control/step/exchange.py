# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The step between messages: a joint state comes as bytes, and a torque leaves as bytes.

Whoever waits for messages puts one where it is read, runs this, and sends what was written. What
is said is left to be looked at, when there is anything.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.joint_states.forms import Letters, read_state
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.step.state import Kernels, Parameters, State, Work
from rbd_ros.control.step.step import step
from rbd_ros.wire.command import Slots, write_command, write_motor_command
from rbd_ros.wire.joint_state import Parts

__all__ = ['exchange', 'Mail', 'Notes']


class Notes(Record):
    """What is left for a slower thread, and what that says."""

    arrived: float = field('', '', '1 if a message was put there: it is what happens')
    attention: float = field('', '', '1 if there is something to look at')
    cycle: float = field('', '', '1 if a state was taken')
    stamp: float = field('', 's', 'of the last message')
    ended: float = field('', '', 'goals whose end is known')
    minded: float = field('', '', '1 if every event is to be looked at')


class Mail(NamedTuple):
    """What is read and written."""

    message: Bytes
    parts: Parts
    letters: Letters
    command: Bytes
    slots: Slots
    notes: Notes


def exchange(mail: Mail, x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work,
             y: Result) -> None:
    """
    Let one thing happen; a message that is no joint state is left as ``Kind.UNREADABLE``.

    :param mail: what is read and written.
    :param x: state, see :func:`rbd_ros.control.step.step.step`.
    :param u: what happened, unless a message has arrived.
    :param p: parameters.
    :param ring: pieces of trajectories.
    :param k: kernels.
    :param w: room for what lasts for one step.
    :param y: gets what is to be sent and said.
    """
    y.send, y.told, taken = 0.0, 0.0, x.taken
    mail.notes.attention, mail.notes.cycle = 1.0, 0.0
    arrived, mail.notes.arrived = mail.notes.arrived, 0.0
    if arrived > 0.0 and u.kind == Kind.STATE:  # nothing else becomes one by a mark left over
        if not read_state(mail.message, mail.parts, mail.letters, u):
            u.kind, mail.letters.forms.news = Kind.UNREADABLE, 0.0
            return
    elif u.kind != Kind.STATE:
        mail.letters.forms.news = 0.0
    if u.kind == Kind.STATE:
        mail.notes.stamp = mail.parts.stamp_s + 1e-9 * mail.parts.stamp_ns
    step(x, u, p, ring, k, w, y)
    if y.send > 0.0:
        if mail.slots.step > 0.0:
            write_motor_command(mail.command, mail.slots, y.motor, len(y.torque), x.stamp_s,
                                x.stamp_ns)
        else:
            write_command(mail.command, mail.slots, y.torque, x.stamp_s, x.stamp_ns)
    if x.taken != taken:
        mail.notes.cycle = 1.0
    if not _is_noteworthy(mail, x, y):
        mail.notes.attention = 0.0


def _is_noteworthy(mail: Mail, x: State, y: Result) -> bool:
    """Return whether there is something to look at."""
    return (y.told > 0.0 or mail.letters.forms.news > 0.0 or mail.notes.minded > 0.0
            or x.command.supervisor.faults.causes > 0.0
            or x.references.joint.goal.ended != mail.notes.ended)
