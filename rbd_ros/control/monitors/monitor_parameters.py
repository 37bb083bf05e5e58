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

"""Bounds of the monitors."""

from __future__ import annotations

import numpy as np

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.parameters.settings import Settings

__all__ = ['fill_monitors', 'MonitorParameters']


class MonitorParameters(Record):
    """What a robot, its sensors and its operators may do."""

    velocity_patience: float = field('', 's', 'for which velocities and positions may be wrong')
    tracking_patience: float = field('', 's', 'for which a tracking error may be too large')
    minimum_rate: float = field('', 'Hz', 'of joint states')
    watch_time: float = field('', 's', 'from the first torque in which a motion is watched')
    distance: float = field('', 'rad or m', 'that a joint may move by itself in that time')
    gained: float = field('', 'rad/s or m/s', 'that it may gain, in two states in a row')
    acceleration: float = field('', 'rad/s^2 or m/s^2', 'that it may show, filtered')
    dead_man_timeout: float = field('', 's', 'within which the next signal must come; 0: none')
    refusals: float = field('', '', 'references in a row that are too many if refused; 0: any '
                                    'number is tolerated')
    velocity: Vector = field('n', 'rad/s or m/s', 'largest velocities', NONE)
    tracking: Vector = field('n', 'rad or m', 'largest tracking errors', NONE)
    task_error: Vector = field('2', 'rad, m', 'largest tracking errors of the tip', NONE)
    differenced: Vector = field('n', 'rad/s or m/s', 'largest velocities of positions', NONE)
    middle: Vector = field('n', 'rad or m', 'of the range of each joint')
    reach: Vector = field('n', 'rad or m', 'largest distance from there', NONE)
    zone_lower: Vector = field('n', 'rad or m', 'positions below which a barrier pushes up', -NONE)
    zone_upper: Vector = field('n', 'rad or m', 'positions above which one pushes down', NONE)


def fill_monitors(p: MonitorParameters, settings: Settings) -> None:
    """
    Take the bounds; ordinary Python.

    :param p: takes them.
    :param settings: valid set.
    """
    number, robot = settings.number, settings.robot
    p.velocity_patience = min(number('velocity_patience'), NONE)
    p.tracking_patience = min(number('tracking_patience'), NONE)
    p.minimum_rate = number('minimum_rate')
    p.watch_time = max(number('ramp_time'), number('start.watch_time'))
    p.distance = min(number('start.distance'), NONE)
    p.gained = min(number('start.velocity'), NONE)
    p.acceleration = min(number('start.acceleration'), NONE)
    p.dead_man_timeout = number('dead_man_timeout')
    p.refusals = settings.integer('reference.refusals')
    middle, reach = settings.position_range
    margin = settings.barrier_margins
    for target, values in (
            (p.velocity, settings.velocity_limits), (p.tracking, settings.joints(
                'tracking_limits')), (p.task_error, settings.task_errors),
            (p.differenced, settings.differenced_limits), (p.middle, middle), (p.reach, reach),
            (p.zone_lower, np.array(robot.pick(robot.model.lower)) + margin),
            (p.zone_upper, np.array(robot.pick(robot.model.upper)) - margin)):
        target[:] = np.clip(values, -NONE, NONE)
