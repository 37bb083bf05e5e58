# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What is seen of a controller after an event, and what is to be said of it."""

from __future__ import annotations

from rbd_ros.compiler.language.whole import where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Event, Result, WORDS
from rbd_ros.control.step.admission import admit_goal, Gate
from rbd_ros.control.step.state import Parameters, State

__all__ = ['beat', 'gather_words', 'see', 'Seen']


class Seen(Record):
    """What a host sees, and what it has told already."""

    state: float = field('', '', 'of the supervisor')
    mode: float = field('', '', 'in force')
    sensed: bool = field('', '', 'whether the force-torque sensor can be used, or there is none')
    measured: bool = field('', '', 'whether there is a wrench')
    told: float = field('', '', 'number of words to be said')
    causes: float = field('', '', 'latched causes that were told')
    ended: float = field('', '', 'goals whose end was told')
    news: bool = field('', '', 'whether anything is to be told')
    period: float = field('', 's', 'of heartbeats')
    due: float = field('', 's', 'steady time of the next heartbeat')
    beats: float = field('', '', 'number of the last heartbeat')
    beating: bool = field('', '', 'whether it is to be sent')
    wrench: Vector = field('6', 'N.m, N', 'what the surroundings exert on the tool')
    latched: Vector = field(f'{len(Cause)}', '', '1 for each latched cause')
    gate: Gate = group(Gate)
    words: Matrix = field(f'{WORDS} 5', '', 'to be said: word, joint, and three numbers each')


def see(seen: Seen, x: State, p: Parameters) -> None:
    """
    See what a controller is like.

    :param seen: gets it.
    :param x: state of the controller.
    :param p: its parameters.
    """
    seen.state, seen.mode = x.command.supervisor.state, x.mode
    seen.sensed = x.sensor.is_fresh(p.sensor, max(x.now, x.command.supervisor.clock))
    # the last wrench of a sensor that has fallen silent is no measurement of now
    seen.measured = x.sensor.known > 0.0 and seen.sensed
    seen.wrench[:] = x.sensor.wrench
    admit_goal(seen.gate, x, p)
    seen.latched[:] = where(x.command.supervisor.faults.order > 0.0, 1.0, 0.0)


def gather_words(seen: Seen, x: State, y: Result) -> None:
    """
    Gather what is to be said after an event; who has asked for it hears the answer from there.

    :param seen: gets it.
    :param x: state of the controller.
    :param y: what the step has given.
    """
    seen.told = 0.0
    for k in range(int(y.told)):
        if y.answer == 0.0 or y.words[k, 0] != y.answer:
            seen.words[int(seen.told)] = y.words[k]
            seen.told += 1.0
    causes, ended = x.command.supervisor.faults.causes, x.references.joint.goal.ended
    seen.news = seen.told > 0.0 or causes != seen.causes or ended != seen.ended
    seen.causes, seen.ended = causes, ended


def beat(seen: Seen, u: Event) -> None:
    """
    Find out whether a heartbeat is due: whoever does not look any more sends none.

    :param seen: says so.
    :param u: has the steady time.
    """
    seen.beating = u.steady >= seen.due
    if seen.beating:
        seen.beats += 1.0
        seen.due = max(seen.due + seen.period, u.steady)
