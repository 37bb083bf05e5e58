# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a controller of ros2_control says: words of the step as sentences with places."""

from __future__ import annotations

from rbd_ros.command_line.ros2_control.literals import text
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.entries import EntryWord
from rbd_ros.control.interface.words import LoadWord, Saying, TABLES
from rbd_ros.control.modes import names_in, Takes, taking
from rbd_ros.control.parameters.rule_texts import rule_texts
from rbd_ros.control.texts import likely_causes

__all__ = ['sentence_rows']

#: what the place ``{joint}`` of a sentence of the plugin is, by the name that it has here
_ABOUT = {'model_joint': 'RBD_MODEL_JOINT', 'joints': 'RBD_BITS', 'state': 'RBD_STATE',
          'mode': 'RBD_MODE'}

#: what the plugin has no name for: there are no kinds of messages
_UNNAMED = {'twice': 'a joint', 'first': 'one kind', 'second': 'another kind', 'kind': 'one kind',
            'refused': 'other kinds', 'unreadable': 'other bytes', 'outside': 'from outside',
            'recovered': 'what was lost has come back', 'refusal': 'see the log',
            'faults': '{faults}'}  # it has these


def sentence_rows(controller: Controller) -> list[str]:
    """Return the sentences of the words, each with places for what it is about and numbers."""
    robot = controller.settings.robot
    names = _UNNAMED | {
        'loop': '" or "'.join(loop.name for loop in robot.model.loops),
        'modes': names_in(taking(Takes.TRAJECTORY, robot.own_modes), 'or')}
    causes = f'. {likely_causes(controller.settings)}'
    settings = controller.settings
    rules = rule_texts(settings.values, settings.robot.modes)
    return [*[_row(word, names | {
        'causes': causes if word is LoadWord.START_MISMATCH else f'{{c||{causes}}}'})
        for table in TABLES for word in table],
        *[f'{{{word.value}, RBD_LIVE, {text(word.sentence.template)}}}' for word in EntryWord],
        *[f'{{{int(word)}, RBD_JOINT, {text(each.template)}}}' for word, each in rules.items()]]


def _row(word: Saying, names: dict[str, str]) -> str:
    pattern, about = word.sentence.template, 'RBD_JOINT'
    for name in word.sentence.names:
        about = _ABOUT.get(name, about)
        pattern = pattern.replace(f'{{{name}}}', names.get(name, '{joint}'))
    return f'{{{word.value}, {about}, {text(pattern)}}}'
