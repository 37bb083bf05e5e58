# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Sentences of what rules between values refuse, the same for every host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.modes import Mode, MODES, TIP_SPRINGS
from rbd_ros.control.parameters.gains import gain_loop
from rbd_ros.control.parameters.judging import GAINS, Judgement, RuleWord
from rbd_ros.control.parameters.springs import Spring, spring_sentences
from rbd_ros.control.parameters.values import AXES

__all__ = ['FAR', 'joint_parameters', 'rule_texts', 'said', 'tip_parameters']

#: What is said of gravity that is too far from that of the start.
FAR = Sentence(
    'gravity may differ by 5 % in size and 15 degrees in direction from {a:g}, {b:g}, {c:g} '
    'm/s^2, with which the controller was activated: deactivate first')


def rule_texts(values: Mapping[str, object], modes: Mapping[str, Mode] = MODES, *,
               differenced: bool = False) -> dict[int, Sentence]:
    """
    Return what is said of each word, by the name of the joint that it is about.

    :param values: that cannot change while a robot is driven.
    :param modes: of the robot.
    :param differenced: whether states have no velocities, so that their filter counts.
    """
    loop = gain_loop(values, differenced=differenced)[2]
    found = {int(RuleWord.GRAVITY): FAR}
    for k, names in enumerate(GAINS):
        found |= enumerate(_gain_sentences(*names, loop), RuleWord.GAINS + 3 * k)
    for k, axis in enumerate(AXES):
        found |= enumerate(_force_sentences(axis, values, loop), RuleWord.FORCES + 2 * k)
        found |= enumerate(spring_sentences(tip_parameters(axis), loop), RuleWord.TIP + 2 * k)
    for k, mode in enumerate(modes.values()):
        if mode.spring is not None:
            found |= enumerate(spring_sentences(joint_parameters(mode, '{joint}'), loop),
                               RuleWord.JOINTS + 2 * k)
    return found


def tip_parameters(axis: str) -> Spring:
    """
    Return the parameters of a spring at the tip.

    :param axis: out of ``AXES``.
    """
    part = f'{TIP_SPRINGS.name}.{"angular" if axis in AXES[:3] else "linear"}'
    return Spring(f'{part}_stiffness', f'{part}_damping', f'{TIP_SPRINGS.name}.damping_ratio',
                  ('N.m/rad', 'N.m.s/rad') if axis in AXES[:3] else ('N/m', 'N.s/m'), axis)


def joint_parameters(mode: Mode, joint: str) -> Spring:
    """
    Return the parameters of a spring at a joint.

    :param mode: that has it.
    :param joint: its name.
    """
    stiffness, damping = (f'{mode.name}.{name}' for name in mode.spring or ())
    return Spring(stiffness, damping, '', ('{effort}/{unit}', '{effort}.s/{unit}'), joint)


def _gain_sentences(stiffness: str, damping: str, integral: str, loop: str) -> list[Sentence]:
    """Return what is said of each gain; the integral comes in the place of the stiffness."""
    return [Sentence(each) for each in (
        f'{damping} {{b:g}} 1/s cannot be stable {loop}: give less than {{c:.4g}} 1/s',
        f'{stiffness} {{a:g}} 1/s^2 with {damping} {{b:g}} 1/s cannot be stable {loop}: with this '
        'damping give less than {c:.4g} 1/s^2',
        f'{integral} {{a:g}} 1/s^3 with {stiffness} {{b:g}} 1/s^2 cannot be stable: give less '
        f'than {{c:.4g}} 1/s^3, the product of {stiffness} and {damping}')]


def _force_sentences(axis: str, values: Mapping[str, object], loop: str) -> list[Sentence]:
    """Return what is said of surroundings and of a gain along an axis."""
    name, unit, of = ('environment_stiffness', 'N/m', 'kg') if axis in AXES[3:] else (
        'environment_angular_stiffness', 'N.m/rad', 'kg.m^2')
    name = f'force_control.{name}'
    stiffness = f'{name} {values[name]:g} {unit}'
    return [Sentence(each) for each in (
        f'pressing along {axis} on {stiffness} cannot be stable {loop}, with {{c:.3g}} {of} and a '
        f'damping of {{a:g}} 1/s: give less than {{b:.4g}} {unit}',
        f'force_control.gain {values["force_control.gain"]:g} 1/s along {axis} with {stiffness}, '
        f'a damping of {{a:g}} 1/s and force_torque.filter {values["force_torque.filter"]:g} s is '
        f'not stable enough {loop}: give at most {{b:.4g}} 1/s')]


def said(x: Judgement, texts: Mapping[int, Sentence],
         joints: Sequence[str] = ()) -> list[str]:
    """
    Return the reasons as sentences, each once.

    :param x: what was found.
    :param texts: see :func:`rule_texts`.
    :param joints: names of the controlled joints.
    """
    return list(dict.fromkeys(
        _sentence(int(word), texts)(joints[int(place)] if place >= 0.0 else '', *numbers)
        for word, place, *numbers in x.rows[:x.count].tolist()))


def _sentence(word: int, texts: Mapping[int, Sentence]) -> Sentence:
    """Return what is said of a word: of a payload that is always the same."""
    return texts[word] if word in texts else LoadWord(word).sentence
