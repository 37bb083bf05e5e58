# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What was asked for and is reduced, and what is not supervised, in words."""

from __future__ import annotations

import math

from rbd_ros.control.interface.sentences import effort_unit
from rbd_ros.control.laws.design import Design, design, DesignLimits, fill_design
from rbd_ros.control.parameters.early_rules import gain_reasons
from rbd_ros.control.parameters.pushes import PUSH
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import PARAMETERS

__all__ = ['designed', 'notices']

#: dampers and springs by parameter, as they are used
_CAPPED = {'free_damping': 'free_damping', 'brake_damping': 'brake_damping',
           'barrier.stiffness': 'barrier_stiffness', 'barrier.damping': 'barrier_damping',
           'barrier.velocity_damping': 'barrier_speed_damping'}

#: share of the velocities after braking that is worth a notice
_LEFT = 0.2


def designed(settings: Settings, age: float = 0.0) -> Design:
    """
    Return the gains that are made for the delay that is given.

    :param settings: valid set.
    :param age: of states when they arrive, s.
    """
    sizes = {'n': len(settings.robot.joints)}
    x, p = Design(sizes), DesignLimits(sizes)
    fill_design(p, settings.given)
    design(x.plain(), p.plain(), p.delay, age)
    return x


def notices(settings: Settings) -> list[str]:
    """
    Return warnings for whoever configures a robot.

    :param settings: valid set.
    """
    robot, x, texts = settings.robot, designed(settings), []
    unwatched = [joint for joint, most in zip(robot.joints, settings.velocity_limits)
                 if math.isinf(most)]
    if unwatched:
        texts.append(f'the speed of {", ".join(unwatched)} is not supervised: give '
                     'velocity in <limit> of the URDF, or velocity_limits')
    narrow = [f'{joint} {b:.3g} {unit} instead of {a:.3g} {unit}' for joint, unit, a, b in zip(
        robot.joints, robot.units, settings.joints('barrier.margin'),
        settings.barrier_margins) if b < a]
    if narrow and _asked(settings, 'barrier.margin'):
        texts.append('barrier.margin is reduced to a tenth of the range of the joint: '
                     f'{", ".join(narrow)}')
    for name, used in _CAPPED.items():
        less = [f'{joint} {b:.3g} {_units(name, unit)} instead of {a:.3g} {_units(name, unit)}'
                for joint, unit, a, b in zip(robot.joints, robot.units, settings.joints(name),
                                             getattr(x, used)) if b < a]
        if less and _asked(settings, name):
            texts.append(f'{name} is reduced, because more would oscillate {_late(x)}: '
                         f'{", ".join(less)}')
    if not settings.number('delay'):  # else they are refused
        texts += [f'if joint states have no velocities: {reason}'
                  for reason in [*gain_reasons(settings.values, differenced=True),
                                 *settings.live_refusals(differenced=True)]]
    needed, which = settings.rate_for_springs()
    if 0.0 < settings.number('minimum_rate') < needed:
        texts.append(f'minimum_rate {settings.number("minimum_rate"):g} Hz is too low for the '
                     f'springs: {which} needs {needed:.4g} Hz. States may come more slowly than '
                     'nominal_rate only down to that: give minimum_rate, or softer springs')
    texts += _late_dampers(settings)
    asked, left = settings.number('brake_rate'), math.exp(
        -x.brake_rate * settings.number('brake_time'))
    if x.brake_rate < asked and (
            _asked(settings, 'brake_rate') or x.feedback_delay or left > _LEFT):
        texts.append(f'brake_rate is reduced from {asked:.3g} to {x.brake_rate:.3g} 1/s, because '
                     f'more would overshoot {_late(x)}: a stop leaves {100.0 * left:.2g} % of '
                     'the velocities after brake_time')
    return texts


def _late_dampers(settings: Settings) -> list[str]:
    """Return which torque rates let the dampers of springs act late after a usual push."""
    pushed = settings.pushed()
    if pushed is None:
        return []
    low = [f'{joint} {needed:.4g} {effort_unit(unit)}/s instead of {rate:.4g} '
           f'{effort_unit(unit)}/s'
           for joint, needed, rate, unit in zip(settings.robot.joints, pushed.rates,
                                                settings.torque_rates, settings.robot.units)
           if needed > rate]
    if not low:
        return []
    slides = dict(zip(settings.robot.joints, settings.robot.units)) | dict.fromkeys('xyz', 'm')
    pushes = [f'{push:.3g} {effort_unit(slides.get(place, "rad"))} at {place}'
              for place, push in pushed.largest.items()]
    return [f'torque_rate_limits are low for the springs of {settings.text("mode")}: after a push '
            f'of {100.0 * PUSH:g} % of torque_limits that ends at once their dampers need '
            f'{", ".join(low)}. In half of the sampled poses the damping holds for pushes '
            f'up to {", ".join(pushes)}: give torque_rate_limits that the robot can take, softer '
            'springs, or rotor_inertia where the description has no rotors']


def _units(name: str, unit: str) -> str:
    """Return the unit of a spring or damper of a joint by that of its position."""
    return f'{effort_unit(unit)}{"" if "stiffness" in name else ".s"}/{unit}'


def _late(x: Design) -> str:
    """Return the delay of the feedback in words."""
    if not x.feedback_delay:
        return 'at nominal_rate'
    return (f'when velocities act {1e3 * x.feedback_delay:.3g} ms late (delay, 1.5 periods of '
            'nominal_rate, velocity_filter)')


def _asked(settings: Settings, name: str) -> bool:
    """Return whether a value was chosen; a default that is too large needs no notice."""
    return settings.values[name] != PARAMETERS[name].default
