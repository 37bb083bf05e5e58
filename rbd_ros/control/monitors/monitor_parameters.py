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


from rbd_ros.compiler.language.whole import clip, finite, minimum, where
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.parameters.given import barrier_margins, Given, velocity_limits, WINDOW

__all__ = ['fill_monitors', 'MonitorParameters']


#: share of the range of a joint, and rad or m, by which it may be outside
_OUTSIDE = 0.1


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


def fill_monitors(p: MonitorParameters, g: Given) -> None:
    """
    Take the bounds.

    :param p: gets them.
    :param g: what was given.
    """
    p.velocity_patience, p.tracking_patience = (
        g.values.velocity_patience, g.values.tracking_patience)
    p.minimum_rate = g.values.minimum_rate
    p.watch_time = max(g.values.ramp_time, g.values.start.watch_time)
    p.distance, p.gained = g.values.start.distance, g.values.start.velocity
    p.acceleration, p.dead_man_timeout = g.values.start.acceleration, g.values.dead_man_timeout
    p.refusals = g.values.reference.refusals
    p.velocity[:] = minimum(velocity_limits(g), NONE)
    p.tracking[:] = minimum(g.values.tracking_limits, NONE)
    p.task_error[0], p.task_error[1] = g.values.task.angular_error, g.values.task.linear_error
    p.differenced[:] = minimum(velocity_limits(g) + g.values.state_tolerance / WINDOW, NONE)
    p.middle[:] = where(finite(g.robot.lower) & finite(g.robot.upper),
                        0.5 * (g.robot.lower + g.robot.upper), 0.0)
    p.reach[:] = where(finite(g.robot.lower) & finite(g.robot.upper),
                       (0.5 + _OUTSIDE) * (g.robot.upper - g.robot.lower) + _OUTSIDE, NONE)
    p.zone_lower[:] = clip(g.robot.lower + barrier_margins(g), -NONE, NONE)
    p.zone_upper[:] = clip(g.robot.upper - barrier_margins(g), -NONE, NONE)
