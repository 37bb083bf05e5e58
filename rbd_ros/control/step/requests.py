# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Requests and their answers, which are codes with numbers; the sentences are made outside."""

from __future__ import annotations

import enum

from rbd_ros.compiler.procedure import Matrix
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Event, Kind, NOBODY, Result
from rbd_ros.control.interface.words import ReferenceWord, SessionWord, SupervisorWord
from rbd_ros.control.step.state import Parameters, State
from rbd_ros.control.supervisor.due import is_finished, is_working
from rbd_ros.control.supervisor.states import StateCode

__all__ = ['admit_reference', 'Answer', 'answer_request', 'answer_stop', 'ask_carry',
           'ask_stop', 'blame', 'check_request', 'Session',
           'Starting', 'stop_word']


class Starting(enum.IntEnum):
    """What a request on ~/stop cancels, besides a torque."""

    NOTHING = 0
    ACTIVATION = 1
    AUTOMATIC = 2


class Answer(Record):
    """What is answered to a request: one word, or two."""

    granted: bool = field('', '', 'whether it was granted')
    count: float = field('', '', 'number of words')
    words: Matrix = field('2 5', '', 'word, joint, and three numbers each')

    def say(self, word: int, joint: float, a: float, b: float, c: float) -> None:
        """Add a word."""
        k = int(self.count)
        self.words[k, 0], self.words[k, 1] = word, joint
        self.words[k, 2], self.words[k, 3], self.words[k, 4] = a, b, c
        self.count += 1.0

    def begin(self, granted: bool) -> None:
        """Forget the last one."""
        self.granted, self.count = granted, 0.0


class Session(Record):
    """What is asked of a controller, and what its host knows."""

    kind: float = field('', '', 'of the request, see Kind')
    before: float = field('', '', 'number of the last ~/stop when it was made')
    stops: float = field('', '', 'number of the last ~/stop by now')
    starting: int = field('', '', 'start that waits in the host', Starting.NOTHING)
    due: bool = field('', '', 'whether what was asked for is to happen')
    carrying: bool = field('', '', 'whether a robot that was taken over is carried')
    answer: Answer = group(Answer)


def check_request(s: Session) -> None:
    """
    Find out whether a request may still happen: who stopped after it was made is right.

    :param s: session; ``due`` says whether it may, the answer why not.
    """
    begins = s.kind == Kind.ACTIVATE or s.kind == Kind.RESET
    s.due = not (begins and s.before < s.stops)
    if not s.due:
        s.answer.begin(False)
        s.answer.say(SessionWord.STOPPED_MEANWHILE, NOBODY, 0.0, 0.0, 0.0)


def answer_request(s: Session, x: State, u: Event, p: Parameters, y: Result) -> None:
    """
    Answer the request that was the last event.

    :param s: session.
    :param x: state after the step.
    :param u: the request.
    :param p: parameters.
    :param y: what the step has given.
    """
    state = x.command.supervisor.state
    s.answer.begin(y.answer == 0.0)
    if y.answer != 0.0 and y.told > 0.0 and y.words[0, 0] == y.answer:  # a word with numbers
        s.answer.say(int(y.answer), y.words[0, 1], y.words[0, 2], y.words[0, 3], y.words[0, 4])
    elif y.answer != 0.0:
        other = y.answer == ReferenceWord.OTHER_MODE
        s.answer.say(int(y.answer), NOBODY, x.mode if other else state, 0.0, 0.0)
    elif u.kind == Kind.PAUSE:
        s.answer.say(SessionWord.PAUSED if u.numbers[0] > 0.0 else SessionWord.RESUMED, NOBODY,
                     0.0, 0.0, 0.0)
    elif u.kind == Kind.TARE:
        sign = p.sensor.sign  # as the parameters have it
        s.answer.say(SessionWord.FORCE_BIAS, NOBODY, sign * x.sensor.bias[3],
                     sign * x.sensor.bias[4], sign * x.sensor.bias[5])
        s.answer.say(SessionWord.MOMENT_BIAS, NOBODY, sign * x.sensor.bias[0],
                     sign * x.sensor.bias[1], sign * x.sensor.bias[2])
    else:
        s.answer.say(SessionWord.RESET if u.kind == Kind.RESET else SessionWord.DONE, NOBODY,
                     state, 0.0, 0.0)


def admit_reference(s: Session, x: State) -> None:
    """
    Find out whether references are taken now.

    :param s: session; ``due`` says whether they are, the answer why not.
    :param x: state of the controller.
    """
    s.due = is_working(x.command.supervisor)
    if not s.due:
        s.answer.begin(False)
        s.answer.say(ReferenceWord.NOT_RUNNING, NOBODY, x.command.supervisor.state, 0.0, 0.0)


def blame(u: Event, cause: int, word: int) -> None:
    """
    Make the event of a cause that somebody outside of the step has seen.

    :param u: becomes that.
    :param cause: see ``Cause``.
    :param word: that says what exactly; ``FlowWord.OUTSIDE``: the text is kept outside.
    """
    u.kind, u.cause = Kind.FAULT, cause
    u.numbers[:] = 0.0
    u.numbers[0], u.numbers[1] = word, NOBODY


def ask_carry(s: Session, x: State, u: Event) -> None:
    """
    Make the event by which a robot is carried that another controller has held before.

    :param s: session; ``due`` says whether it is, ``carrying`` whether this goes on. A fault
        before the first torque leaves what was there; a reset begins there.
    :param x: state of the controller.
    :param u: becomes that event.
    """
    u.kind, s.due = Kind.CARRY, x.command.supervisor.state == StateCode.PROBING
    s.carrying = s.due or x.command.supervisor.state == StateCode.FAULT


def ask_stop(s: Session, x: State, u: Event) -> None:
    """
    Make the event of a request on ~/stop.

    :param s: session; ``due`` says whether there is anything to stop.
    :param x: state of the controller.
    :param u: becomes that event.
    """
    blame(u, Cause.OPERATOR_STOP, SupervisorWord.STOP_SERVICE)
    s.due = not is_finished(x.command.supervisor)


def answer_stop(s: Session, x: State) -> None:
    """
    Answer a request on ~/stop, which is always granted.

    :param s: session.
    :param x: state after the step, if there was anything to stop.
    """
    s.answer.begin(True)
    s.answer.say(stop_word(s.starting, s.due), NOBODY, x.command.supervisor.state,
                 0.0, 0.0)


def stop_word(starting: int, stopping: bool) -> int:
    """
    Return what a request on ~/stop has led to.

    :param starting: start that waited in the host, see ``Starting``.
    :param stopping: whether there was anything to stop.
    """
    if starting == Starting.ACTIVATION:
        return SessionWord.ACTIVATION_CANCELLED
    if starting == Starting.AUTOMATIC:
        return SessionWord.START_CANCELLED
    return SessionWord.DONE if stopping else SessionWord.NOTHING_TO_STOP
