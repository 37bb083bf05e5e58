# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Rules between values that may change while a robot is driven: each is judged here, for every host.

What is refused is a word with the place that it is about and three numbers; its sentence is made
outside, by :mod:`rbd_ros.control.parameters.rule_texts`.
"""

from __future__ import annotations

import enum

from rbd_ros.compiler.language.whole import finite
from rbd_ros.compiler.procedure import Matrix
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import NOBODY
from rbd_ros.control.interface.payload import Body, judge_body
from rbd_ros.control.interface.row import ContactReaction
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.modes import LawCode
from rbd_ros.control.parameters.force import ForceCase, judge_force
from rbd_ros.control.parameters.gains import GainCase, judge_gains
from rbd_ros.control.parameters.given import (
    Inputs, loop_delay, mode_of, motors_close_loops, own_place, weight_delay)
from rbd_ros.control.parameters.gravity import GravityCase, judge_gravity
from rbd_ros.control.parameters.springs import (
    FITTED, judge_spring, SpringCase, usual_stiffness)

__all__ = ['GAINS', 'joint_spring', 'judge_alone', 'judge_robot', 'judge_turn', 'judge_values',
           'Judgement', 'RuleWord', 'tip_spring']

#: reasons that are told at once
_REASONS = 64

#: kg.m^2 or kg of a direction in which nothing moves: any spring is stable there
_NO_MOTION = 1e100

#: parameters of stiffness, damping and integral that belong together; none: there is no integral
GAINS = (
    ('stiffness', 'damping', 'integral'),
    ('task.linear_stiffness', 'task.linear_damping', 'task.linear_integral'),
    ('task.angular_stiffness', 'task.angular_damping', 'task.angular_integral'),
    ('posture.stiffness', 'posture.damping', ''))


class RuleWord(enum.IntEnum):
    """Why values are refused; each but the first stands for a row of words that follow it."""

    GRAVITY = 1000  # that of the activation
    GAINS = 1010  # stiffness, damping, most: too much damping, stiffness, or (first) integral
    TIP = 1030  # stiffness, damping, most: too much damping or stiffness along each of AXES
    FORCES = 1050  # damping, most, inertia: too stiff surroundings or a gain along each of AXES
    JOINTS = 1070  # stiffness, damping, most: too much damping or stiffness in each mode


class Judgement(Record):
    """What is wrong with values, and room to find it."""

    count: int = field('', '', 'reasons')
    differenced: bool = field('', '', 'whether states have no velocities, so that their filter '
                                      'counts')
    rows: Matrix = field(f'{_REASONS} 5', '', 'word, place and three numbers of each')
    body: Body = group(Body)
    gains: GainCase = group(GainCase)
    spring: SpringCase = group(SpringCase)
    force: ForceCase = group(ForceCase)
    gravity: GravityCase = group(GravityCase)

    def refuse(self, word: int, place: int, a: float, b: float, c: float) -> None:
        """Add a reason, if there is room."""
        if self.count < len(self.rows):
            self.rows[self.count, 0] = word
            self.rows[self.count, 1] = place
            self.rows[self.count, 2] = a
            self.rows[self.count, 3] = b
            self.rows[self.count, 4] = c
            self.count += 1


# -- procedures -----------------------------------------------------------------------------------

def judge_values(x: Judgement, g: Inputs) -> None:
    """
    Find what is wrong with values for a robot.

    :param x: gets it, after what it has.
    :param g: what was given.
    """
    judge_alone(x, g)
    judge_robot(x, g)


def judge_turn(x: Judgement) -> None:
    """
    Find out whether gravity is too far from that of the activation.

    :param x: its ``gravity`` has both; gets the reason.
    """
    judge_gravity(x.gravity)
    if x.gravity.far > 0.0:
        x.refuse(RuleWord.GRAVITY, NOBODY, x.gravity.started[0], x.gravity.started[1],
                 x.gravity.started[2])


def judge_alone(x: Judgement, g: Inputs) -> None:
    """
    Find what is wrong whatever the robot is: gains and payload.

    :param x: gets it.
    :param g: what was given; nothing of the robot counts.
    """
    for j in range(len(g.values.stiffness)):
        if j == 0 or (g.values.stiffness[j] != g.values.stiffness[j - 1]
                      or g.values.damping[j] != g.values.damping[j - 1]
                      or g.values.integral[j] != g.values.integral[j - 1]):
            _judge_gains(x, g, 0, g.values.stiffness[j], g.values.damping[j],
                         g.values.integral[j])
    _judge_gains(x, g, 1, g.values.task.linear_stiffness, g.values.task.linear_damping,
                 g.values.task.linear_integral)
    _judge_gains(x, g, 2, g.values.task.angular_stiffness, g.values.task.angular_damping,
                 g.values.task.angular_integral)
    for j in range(len(g.values.stiffness)):
        if j == 0 or (g.values.posture.stiffness[j] != g.values.posture.stiffness[j - 1]
                      or g.values.posture.damping[j] != g.values.posture.damping[j - 1]):
            _judge_gains(x, g, 3, g.values.posture.stiffness[j], g.values.posture.damping[j], 0.0)
    if all(finite(g.values.payload.com)) and all(finite(g.values.payload.inertia)):
        x.body.reset()
        x.body.mass = g.values.payload.mass
        x.body.com[:] = g.values.payload.com
        x.body.inertia[:] = g.values.payload.inertia
        for i in range(3):
            x.body.axes[i, i] = 1.0
        judge_body(x.body)
        if x.body.word > 0.0:
            x.refuse(int(x.body.word), NOBODY, x.body.a, x.body.b, x.body.c)


def _judge_gains(x: Judgement, g: Inputs, which: int, stiffness: float, damping: float,
                 integral: float) -> None:
    """Judge gains in 1/s^2, 1/s and 1/s^3, as far as they are given."""
    x.gains.stiffness, x.gains.damping, x.gains.integral = stiffness, damping, integral
    x.gains.period, x.gains.delay = 1.0 / g.values.nominal_rate, loop_delay(g, x.differenced)
    if not stiffness + damping + integral >= 0.0:
        return
    judge_gains(x.gains)
    word = RuleWord.GAINS + 3 * which + int(x.gains.wrong) - 1
    if x.gains.wrong == 3.0:
        x.refuse(word, NOBODY, integral, stiffness, x.gains.most)
    elif x.gains.wrong > 0.0:
        x.refuse(word, NOBODY, stiffness, damping, x.gains.most)


def judge_robot(x: Judgement, g: Inputs) -> None:
    """
    Find what is wrong with the delay, with springs that act, and with the control of forces.

    :param x: gets it.
    :param g: what was given.
    """
    mode, most = mode_of(g), weight_delay(g)
    if not g.values.delay < most:
        x.refuse(LoadWord.TOO_LATE, NOBODY, g.values.delay, most, 0.0)
    sprung = g.robot.spring[mode] >= 0.0
    if sprung and not (motors_close_loops(g) and g.robot.law[mode] == LawCode.OWN_JOINT):
        for j in range(len(g.robot.inertia)):
            joint_spring(x.spring, g, mode, j, x.differenced)
            _refuse_spring(x, RuleWord.JOINTS + 2 * mode, j)
    if mode == g.robot.comply or g.values.contact.reaction == ContactReaction.COMPLY:
        for i in range(6):
            tip_spring(x.spring, g, i, x.differenced)
            _refuse_spring(x, RuleWord.TIP + 2 * i, NOBODY)
    for i in range(6):
        if g.values.force_control.axes[i] > 0.0 and g.robot.tip_inertia[i] > 0.0:
            _judge_force(x, g, i)


def _refuse_spring(x: Judgement, word: int, place: int) -> None:
    if x.spring.wrong > 0.0:
        x.refuse(word + int(x.spring.wrong) - 1, place, x.spring.stiffness, x.spring.damping,
                 x.spring.most)


def joint_spring(x: SpringCase, g: Inputs, mode: int, j: int, differenced: bool) -> None:
    """
    Judge the spring of a mode at a joint.

    :param x: gets it.
    :param g: what was given.
    :param mode: its number.
    :param j: the joint.
    :param differenced: whether states have no velocities, so that their filter counts.
    """
    n = len(g.robot.inertia)
    stiffness = g.values.own[own_place(g.robot.spring[mode], n) + j]
    damping = g.values.own[own_place(g.robot.damper[mode], n) + j]
    x.inertia, x.usual = g.robot.inertia[j], g.robot.usual_inertia[j]
    x.period, x.delay = 1.0 / g.values.nominal_rate, loop_delay(g)
    usual = usual_stiffness(x)
    x.stiffness = stiffness if stiffness >= 0.0 else usual
    x.damping = damping if damping >= 0.0 else FITTED
    x.delay = loop_delay(g, differenced)
    judge_spring(x)


def tip_spring(x: SpringCase, g: Inputs, i: int, differenced: bool) -> None:
    """
    Judge a spring at the tip; along other directions than task.axes none acts.

    :param x: gets it.
    :param g: what was given.
    :param i: which of ``AXES``.
    :param differenced: whether states have no velocities, so that their filter counts.
    """
    if i < 3:
        x.stiffness = g.values.cartesian_impedance.angular_stiffness[i]
        x.damping = g.values.cartesian_impedance.angular_damping[i]
    else:
        x.stiffness = g.values.cartesian_impedance.linear_stiffness[i - 3]
        x.damping = g.values.cartesian_impedance.linear_damping[i - 3]
    acts = g.values.task.axes[i] > 0.0 and g.robot.tip_inertia[i] > 0.0
    x.inertia, x.usual = g.robot.tip_inertia[i] if acts else _NO_MOTION, g.robot.tip_inertia[i]
    x.ratio = g.values.cartesian_impedance.damping_ratio
    x.period, x.delay = 1.0 / g.values.nominal_rate, loop_delay(g, differenced)
    judge_spring(x)


def _judge_force(x: Judgement, g: Inputs, i: int) -> None:
    """Judge the control of a force along one of ``AXES``."""
    x.force.inertia, x.force.gain = g.robot.tip_inertia[i], g.values.force_control.gain
    x.force.lag = g.values.force_torque.filter
    x.force.stiffness = (
        g.values.force_control.environment_angular_stiffness if i < 3
        else g.values.force_control.environment_stiffness)
    x.force.delay = loop_delay(g) + 1.0 / g.values.nominal_rate
    x.force.gains[0] = g.values.task.linear_stiffness
    x.force.gains[1] = g.values.task.angular_stiffness
    x.force.gains[2] = g.values.task.linear_damping
    x.force.gains[3] = g.values.task.angular_damping
    judge_force(x.force)
    if x.force.wrong > 0.0:
        x.refuse(RuleWord.FORCES + 2 * i + int(x.force.wrong) - 1, NOBODY, x.force.damping,
                 x.force.most, x.force.inertia)
