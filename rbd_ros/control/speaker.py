# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""What a step has said, in sentences: ordinary Python, outside of the step."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.control.force_torque import words as sensor_words
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.joint_states.diagnosis import diagnosis_text
from rbd_ros.control.joint_states.intake import Intake
from rbd_ros.control.joint_states.words import arrival_texts, ArrivalWord
from rbd_ros.control.laws import words as law_words
from rbd_ros.control.load import words as load_words
from rbd_ros.control.load.texts import likely_causes, load_text
from rbd_ros.control.load.words import LoadWord
from rbd_ros.control.observers import words as observer_words
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references import words as reference_words
from rbd_ros.control.references.words import ReferenceWord
from rbd_ros.control.session import words as session_words
from rbd_ros.control.step.state import Parameters, State
from rbd_ros.control.step.words import FlowWord
from rbd_ros.control.supervisor.latch import Latched, latched
from rbd_ros.control.supervisor.states import State as SupervisorState
from rbd_ros.control.supervisor.words import supervisor_text, SupervisorWord

__all__ = ['Speaker']

_STATES = tuple(SupervisorState)
_OF_MODEL = (ArrivalWord.JUMP, ArrivalWord.DISAGREE, ArrivalWord.STALE, ArrivalWord.UNKNOWN)
_STALE = (Cause.STATE_STALE, Cause.PRESCRIBED_STALE)
_TEXTS = {**law_words.TEXTS, **observer_words.TEXTS, **reference_words.TEXTS,
          **sensor_words.TEXTS, **session_words.TEXTS}


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
        self._arrival = arrival_texts(intake)
        #: what those outside have said of a cause, by its text
        self.outside: dict[str, str] = {}
        #: why the last reference was refused
        self.refused = ''
        self._told: dict[Cause, tuple[Latched, str]] = {}  # sentences of faults that have come

    def sentences(self, rows: Sequence[Sequence[float]]) -> list[tuple[str, str]]:
        """
        Return words as kinds and texts.

        :param rows: word, joint and three numbers each.
        """
        found = []
        for word, joint, *numbers in rows:
            kind = self._kind(int(word))
            for line in self.text(int(word), int(joint), *numbers).split('\n'):
                if line:
                    found.append((kind, line))
        return found

    def _kind(self, word: int) -> str:
        if word == FlowWord.STATE:
            return 'state'
        if word == FlowWord.MODE:
            return 'mode'
        return load_words.KINDS.get(word, 'warning')

    def text(self, word: int, joint: int, a: float, b: float, c: float) -> str:
        """
        Return the sentence of a word; empty: there is none.

        :param word: its code.
        :param joint: that it is about.
        :param a: first number.
        :param b: second number.
        :param c: third number.
        """
        if word == FlowWord.STATE:
            return _STATES[int(a)].value
        if word == FlowWord.MODE:
            return self._modes[int(a)]
        if word == FlowWord.RECOVERS:
            ended = latched(self._x.command.supervisor.recovered)
            return f'recovers by itself: {"; ".join(map(self.fault, ended))}'
        if word in (ReferenceWord.OTHER_MODE, ReferenceWord.NOT_RUNNING):
            x = self._x
            return _TEXTS[word](self._modes[int(x.mode)] if word == ReferenceWord.OTHER_MODE else
                                _STATES[int(x.command.supervisor.state)].value, a, b, c)
        names = self._intake.joints if word in _OF_MODEL else self.settings.robot.spoken()
        name = names[joint] if 0 <= joint < len(names) else ''
        if word in tuple(ArrivalWord):
            return self._arrival[word](name, a, b, c)
        if word in tuple(LoadWord):
            return load_text(word, joint, (a, b, c), self.settings, self._x.start)
        if word == SupervisorWord.REFUSED_IN_A_ROW:
            return f'{supervisor_text(word, name, a, b, c, "")}; the last one: {self.refused}'
        if word in tuple(SupervisorWord):
            return supervisor_text(word, name, a, b, c, likely_causes(self.settings))
        return _TEXTS[word](name, a, b, c) if word in _TEXTS else ''

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
        elif fault.cause in _STALE and fault.word not in tuple(SupervisorWord):
            detail = self.diagnosis()  # every joint, each with its reason
        else:
            detail = self.text(fault.word, fault.joint, *fault.numbers)
        return f'{fault.cause.text}: {detail}' if detail else fault.cause.text

    def diagnosis(self) -> str:
        """Return which joints are unknown or too old, and why; empty: none."""
        x = self._x
        return diagnosis_text(x.states, x.joints, self._p.structure, self._p.states.ages,
                              self._intake, max(x.now, x.command.supervisor.clock))
