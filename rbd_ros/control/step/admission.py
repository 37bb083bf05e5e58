# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Who is let in: whether a goal is taken now, and whether a topic has one publisher only."""

from __future__ import annotations

from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.step.state import Parameters, State
from rbd_ros.control.supervisor.answers import Supervisor
from rbd_ros.control.supervisor.due import is_working
from rbd_ros.control.supervisor.states import StateCode

__all__ = ['admit_goal', 'count_publishers', 'follows_goals', 'Gate', 'Publishers']


class Gate(Record):
    """Whether a goal is taken."""

    word: float = field('', '', 'why none is taken; 0: it is')
    a: float = field('', '', 'state or mode that the word is about')
    switches: bool = field('', '', 'whether it is taken once the mode is the one of goals')


class Publishers(Record):
    """Who publishes a reference."""

    count: float = field('', '', 'publishers of its topic, as they were counted last')
    crowded: bool = field('', '', 'whether its messages are dropped')
    news: bool = field('', '', 'whether the robot has to hold: nobody knows whom to follow')


def admit_goal(gate: Gate, x: State, p: Parameters) -> None:
    """
    Find out whether a goal is taken now.

    :param gate: says so.
    :param x: state of the controller.
    :param p: its parameters.
    """
    state = int(x.command.supervisor.state)
    gate.word, gate.a, gate.switches = 0.0, state, False
    if not is_working(x.command.supervisor):
        gate.word = _idle_word(x.command.supervisor)
    elif not follows_goals(x, p):
        gate.a = x.mode
        gate.switches = p.goal_mode >= 0.0 and state == StateCode.RUNNING
        if not p.goal_mode >= 0.0:
            gate.word = ReferenceWord.OTHER_MODE
        elif not gate.switches:
            gate.word = ReferenceWord.SWITCHES_LATER


def follows_goals(x: State, p: Parameters) -> bool:
    """Return whether mode and law take goals; that of a hold follows a reference of its own."""
    return p.takes and x.laws.tracks()


def _idle_word(supervisor: Supervisor) -> int:
    """Return why a controller that does not work takes no goal; a requested end is no fault."""
    wanted = 0.0
    if supervisor.faults.has(Cause.DEACTIVATED):
        wanted += 1.0
    if supervisor.faults.has(Cause.SIGNAL):
        wanted += 1.0
    if supervisor.faults.causes > wanted:
        return ReferenceWord.FAULTY
    if supervisor.state == StateCode.INACTIVE or supervisor.state == StateCode.RELEASED:
        return ReferenceWord.NOT_ACTIVE
    return ReferenceWord.NOT_RUNNING


def count_publishers(publishers: Publishers) -> None:
    """
    Find out what follows from the number of publishers of a reference.

    :param publishers: have it.
    """
    several = publishers.count > 1.0
    publishers.news = several and not publishers.crowded
    publishers.crowded = several
