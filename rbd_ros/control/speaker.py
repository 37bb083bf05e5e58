# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a step has said, and latched faults, in sentences: ordinary Python, outside of the step.

Sentences of faults are made while the records still say what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.words import (
    ArrivalWord, FlowWord, LoadWord, ReferenceWord, Saying, SupervisorWord, word_of)
from rbd_ros.control.joint_states.diagnosis import diagnosis_text
from rbd_ros.control.joint_states.intake import Intake
from rbd_ros.control.joint_states.words import arrival_text
from rbd_ros.control.modes import names_in, Takes, taking
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.step.state import Parameters, State
from rbd_ros.control.supervisor.latch import Latch, Latched
from rbd_ros.control.supervisor.states import SupervisorState
from rbd_ros.control.texts import likely_causes, load_text

__all__ = ['FaultSentences', 'Speaker']

_STATES = tuple(SupervisorState)
_STALE = (Cause.STATE_STALE, Cause.PRESCRIBED_STALE)


class Speaker:
    """
    Make sentences of the words of one robot.

    :param settings: set in force.
    :param intake: kinds of messages.
    :param x: state of the controller; only read.
    :param p: its parameters.
    :param modes: their names, in the order of their numbers.
    """

    def __init__(self, settings: Settings, intake: Intake, x: State, p: Parameters,
                 modes: Sequence[str]) -> None:
        self.settings = settings
        self._intake, self._x, self._p, self._modes = intake, x, p, tuple(modes)
        #: what those outside have said of a cause, by its text
        self.outside: dict[str, str] = {}
        #: why the last reference was refused
        self.refused = ''
        #: says which faults are latched
        self.faults: Callable[[], str] = str
        self._told: dict[Cause, tuple[Latched, str]] = {}  # sentences of faults that have come

    def sentences(self, rows: Sequence[Sequence[float]]) -> list[tuple[str, str]]:
        """
        Return words as kinds and texts.

        :param rows: word, joint and three numbers each.
        """
        found = []
        for word, joint, *numbers in rows:
            said = word_of(word)
            kind = said.kind if said else 'warning'
            for line in self.text(int(word), int(joint), *numbers).split('\n'):
                if line:
                    found.append((kind, line))
        return found

    def text(self, word: int, joint: int, a: float, b: float, c: float) -> str:
        """
        Return the sentence of a word; empty: there is none.

        :param word: its code.
        :param joint: that it is about.
        """
        said, robot = word_of(word), self.settings.robot
        if said is None:
            return ''
        if isinstance(said, LoadWord):
            return load_text(word, joint, (a, b, c), self.settings, self._x.start)
        names = self._intake.joints if 'model_joint' in said.sentence.names else robot.spoken()
        name = names[joint] if 0 <= joint < len(names) else ''
        if isinstance(said, ArrivalWord):
            return arrival_text(self._intake, word, name, a, b, c)
        return said.text(name, a, b, c, **{place: self._named(place, said, a, c)
                                           for place in said.sentence.names - {'joint'}})

    def _named(self, place: str, said: Saying, a: float, c: float) -> str:
        """Return what a sentence is about besides a joint."""
        x = self._x
        if place == 'state':
            return _STATES[int(x.command.supervisor.state if said == ReferenceWord.NOT_RUNNING
                               else a)].value
        if place == 'mode':
            return self._modes[int(x.mode if said == ReferenceWord.OTHER_MODE else a)]
        if place == 'modes':
            return names_in(taking(Takes.TRAJECTORY, self.settings.robot.own_modes), 'or')
        if place == 'faults':
            return self.faults()
        if place == 'causes':
            return f'. {likely_causes(self.settings)}' if c > 0.0 else ''
        if place == 'recovered':
            return '; '.join(map(self.fault, x.command.supervisor.recovered.listed()))
        return self.refused if place == 'refusal' else ''

    def fault(self, fault: Latched) -> str:
        """
        Return the sentence of a cause, with what was seen when it was first told.

        :param fault: cause and words.
        """
        known, text = self._told.get(fault.cause, (None, ''))
        if known != fault:
            text = self._make(fault)
            self._told[fault.cause] = fault, text
        return text

    def _make(self, fault: Latched) -> str:
        if fault.word == FlowWord.OUTSIDE:
            detail = self.outside.get(fault.cause.name, '')
        elif fault.cause in _STALE and not isinstance(word_of(fault.word), SupervisorWord):
            detail = self.diagnosis()  # every joint, each with its reason
        else:
            detail = self.text(fault.word, fault.joint, *fault.numbers)
        return f'{fault.cause.text}: {detail}' if detail else fault.cause.text

    def diagnosis(self) -> str:
        """Return which joints are unknown or too old, and why; empty: none."""
        x = self._x
        return diagnosis_text(x.states, x.joints, self._p.structure, self._p.states.ages,
                              self._intake, max(x.now, x.command.supervisor.clock))


class FaultSentences:
    """
    One sentence for each latched cause.

    :param faults: causes as the step latches them.
    :param speaker: makes the sentences.
    """

    def __init__(self, faults: Latch, speaker: Speaker) -> None:
        self._faults, self._speaker = faults, speaker
        self._seen = b''  # the causes as they stood in the record when the sentences were made
        #: sentences by the names of their causes, first one first
        self.by_cause: dict[str, str] = {}

    def update(self) -> None:
        """Make the sentences of new causes, and drop those of cleared ones."""
        seen = self._faults.order.tobytes() + self._faults.details.tobytes()
        if seen == self._seen:
            return
        self._seen = seen  # one step may clear a cause and find another one
        self.by_cause = {each.cause.name: self._speaker.fault(each)
                         for each in self._faults.listed()}

    def text(self) -> str:
        """Return all sentences in one line."""
        return '; '.join(self.by_cause.values())
