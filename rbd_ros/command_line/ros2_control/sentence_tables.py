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

"""What a controller of ros2_control says: words of the step as sentences with places."""

from __future__ import annotations

from collections.abc import Callable
import enum

from rbd_ros.command_line.ros2_control.literals import text
from rbd_ros.control.controller import Controller
from rbd_ros.control.force_torque import words as sensor_words
from rbd_ros.control.force_torque.words import SensorWord
from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.joint_states.words import arrival_texts, ArrivalWord
from rbd_ros.control.laws import words as law_words
from rbd_ros.control.laws.words import LawWord
from rbd_ros.control.load import words as load_words
from rbd_ros.control.load.texts import likely_causes
from rbd_ros.control.load.words import LoadWord
from rbd_ros.control.observers import words as observer_words
from rbd_ros.control.observers.words import ObserverWord
from rbd_ros.control.references import words as reference_words
from rbd_ros.control.references.words import PointWord, ReferenceWord
from rbd_ros.control.session import words as session_words
from rbd_ros.control.session.words import SessionWord
from rbd_ros.control.supervisor import words as supervisor_words
from rbd_ros.control.supervisor.states import State
from rbd_ros.control.supervisor.words import SupervisorWord

__all__ = ['sentence_rows']

#: words whose first number is a state of the supervisor
_OF_STATES = (SupervisorWord.CANNOT_ACTIVATE, SupervisorWord.STOP_NOT_ENDED,
              SupervisorWord.NOTHING_TO_RESET)

#: sentences of words whose numbers are bits, one for each joint of the model
_OF_BITS: dict[enum.IntEnum, str] = {
    ArrivalWord.NOT_FINITE: 'the position of {joint} is not finite',
    ArrivalWord.NO_VELOCITY: 'no velocity for {joint}: using the filtered derivative of the '
                             'position'}

#: what sentences are about, if it is no joint
_ABOUT: dict[enum.IntEnum, str] = {
    ReferenceWord.MODE_CHANGED: 'RBD_MODE', ReferenceWord.OTHER_MODE: 'RBD_MODE',
    ReferenceWord.NOT_RUNNING: 'RBD_STATE', ReferenceWord.STOPPED: 'RBD_FAULTS'}


class _Place(float):
    """A number of a sentence that formats as its own place."""

    name = ''

    def __format__(self, spec: str) -> str:
        """Return the place."""
        return f'{{{self.name}:{spec or "g"}}}'


def _places(value: float) -> list[_Place]:
    """Return the three numbers of a sentence, all of one value."""
    places = [_Place(value) for _ in range(3)]
    for place, name in zip(places, 'abc', strict=True):
        place.name = name
    return places


def sentence_rows(controller: Controller) -> list[str]:
    """Return the sentences of the words, each with places for what it is about and numbers."""
    texts = {**arrival_texts(controller.intake), **supervisor_words.TEXTS,
             **reference_words.TEXTS, **law_words.TEXTS, **observer_words.TEXTS,
             **load_words.TEXTS, **sensor_words.TEXTS, **session_words.TEXTS}
    causes = likely_causes(controller.settings)
    found = []
    for kind in (ArrivalWord, SupervisorWord, ReferenceWord, PointWord, LawWord, ObserverWord,
                 LoadWord, SensorWord, SessionWord):
        for word in kind:
            about, pattern = _pattern(word, load_words.SHORT.get(word, texts.get(word)))
            if word is LoadWord.START_MISMATCH:
                pattern += f'. {causes}'
            elif word in supervisor_words.EXPLAINED:
                pattern += f'{{c||. {causes}}}'
            if about == 'RBD_JOINT' and kind is ArrivalWord:
                about = 'RBD_MODEL_JOINT'
            found.append(f'{{{word.value}, {about}, {text(pattern)}}}')
    return found


def _pattern(word: enum.IntEnum, said: Callable[..., str] | None) -> tuple[str, str]:
    """Return a sentence and what it is about; what it computes is left to its name."""
    if word in _OF_BITS:
        return 'RBD_BITS', _OF_BITS[word]
    if isinstance(said, Sentence):
        return _ABOUT.get(word, 'RBD_JOINT'), said.template
    try:
        if said is not None:
            pattern, other = (said('{joint}', *_places(value)) for value in (1.0, 2.0))
            if word in _OF_STATES:
                return 'RBD_STATE', pattern.replace(tuple(State)[1].value, '{joint}')
            if pattern == other:
                return _ABOUT.get(word, 'RBD_JOINT'), pattern
    except (ValueError, LookupError):
        pass  # it makes a number of a formatted one, or looks something up by it
    return 'RBD_JOINT', word.name.lower().replace('_', ' ') + ' {joint} ({a:g}, {b:g}, {c:g})'
