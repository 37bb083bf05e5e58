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

"""
Force control along chosen axes of the tip: an integral corrects the force that is fed forward.

    u = r + z,    z' = K (r - f),    |z| <= limit

r is the wanted wrench, which moves with a bounded rate, and f what the sensor says that the tool
exerts. In contact z makes up for friction and errors of the model. In free space it is kept from
growing by the speed: the wrench fades between half of a speed and that speed, and z grows no more
from half of it on. Where no wrench is asked for any more, r and z go to zero with the same rate:
the force neither begins nor ends with a step. Six numbers have the moment first.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NEVER, NONE
from rbd_ros.control.parameters.given import Given

__all__ = ['begin_force_law', 'fill_force', 'force_law', 'force_rests', 'ForceGains', 'ForceLaw']

#: N or N.m that nobody means
_MOST = 1e5

#: s; a step of the integral is never longer
_LONGEST = 0.1


class ForceLaw(Record):
    """What the control of the force remembers; axes of the tip."""

    time: float = field('', 's', 'control time of the last step', NEVER)
    reference: Vector = field('6', 'N.m, N', 'that is to be exerted now')
    integral: Vector = field('6', 'N.m, N', 'by which that is corrected')
    wrench: Vector = field('6', 'N.m, N', 'that the law exerts; base axes')


class ForceGains(Record):
    """What is chosen of the control of the force."""

    used: bool = field('', '', 'whether any axis is controlled')
    gain: float = field('', '1/s', 'of the integral')
    axes: Vector = field('6', '', '1 for each axis that is controlled')
    limit: Vector = field('2', 'N.m, N', 'bound of the integral')
    rate: Vector = field('2', 'N.m/s, N/s', 'of the reference')
    speed: Vector = field('2', 'rad/s, m/s', 'at which the wrench has faded')


def fill_force(p: ForceGains, g: Given) -> None:
    """
    Take the parameters.

    :param p: gets them.
    :param g: what was given.
    """
    p.used, p.gain = any(g.values.force_control.axes > 0.0), g.values.force_control.gain
    p.axes[:] = g.values.force_control.axes
    p.limit[0] = g.values.force_control.moment_limit
    p.limit[1] = g.values.force_control.force_limit
    p.rate[0], p.rate[1] = g.values.force_control.moment_rate, g.values.force_control.force_rate
    p.speed[0] = g.values.force_control.angular_speed
    p.speed[1] = g.values.force_control.linear_speed


def begin_force_law(x: ForceLaw) -> None:
    """
    Begin without a force.

    :param x: the law.
    """
    x.time = NEVER
    x.reference[:] = x.integral[:] = x.wrench[:] = 0.0


def force_rests(x: ForceLaw) -> bool:
    """
    Return whether no force is left.

    :param x: the law.
    """
    return not any((x.reference != 0.0) | (x.integral != 0.0))


def force_law(x: ForceLaw, p: ForceGains, wanted: Vector, asked: int, external: Vector,
              axes: Matrix, velocity: Vector, pace: float, now: float) -> None:
    """
    Find the wrench to exert, in ``x.wrench``; along axes that are not controlled it is as wanted.

    :param x: the law.
    :param p: parameters.
    :param wanted: wrench that the robot is to exert, base axes.
    :param asked: whether somebody asks for it; it may be zero.
    :param external: what the surroundings exert on the tool by the sensor, axes of the tip.
    :param axes: of the tip as columns, in the base.
    :param velocity: of the tip in its own axes, in the step before; NaN: not known.
    :param pace: share of its speed at which the law acts.
    :param now: control time, s.
    """
    dt = min(max(now - x.time, 0.0), _LONGEST) if x.time > NEVER else 0.0
    if abs(now) < NONE:
        x.time = now
    for k in range(2):
        for j in range(3):
            i = 3 * k + j
            force = (axes[0, j] * wanted[3 * k] + axes[1, j] * wanted[3 * k + 1]
                     + axes[2, j] * wanted[3 * k + 2])
            if p.axes[i] > 0.0:
                _correct(x, p, i, k, force, asked, external[i], velocity[i], pace, dt)
            else:
                x.reference[i] = force if abs(force) < NONE else 0.0
                x.integral[i] = 0.0
    for k in range(2):
        for j in range(3):
            total = 0.0
            for n in range(3):
                total += axes[j, n] * (x.reference[3 * k + n] + x.integral[3 * k + n])
            if abs(total) < NONE:
                x.wrench[3 * k + j] = total


def _correct(x: ForceLaw, p: ForceGains, i: int, k: int, wanted: float, asked: int,
             external: float, velocity: float, pace: float, dt: float) -> None:
    """Advance reference and integral along one axis: the i-th, of moments (0) or forces (1)."""
    step, most = p.rate[k] * dt, p.limit[k]
    if not (step >= 0.0 and most >= 0.0 and abs(wanted) < NONE):
        return
    x.integral[i] = min(max(x.integral[i], -most), most)
    if asked == 0:
        x.reference[i] = _towards(x.reference[i], 0.0, step)
        x.integral[i] = _towards(x.integral[i], 0.0, step)
        return
    x.reference[i] = _towards(x.reference[i], min(max(wanted, -_MOST), _MOST), step)
    error = x.reference[i] + external
    if abs(velocity) <= 0.5 * p.speed[k] or velocity * error < 0.0:
        after = x.integral[i] + pace * p.gain * error * dt
        if math.isfinite(after):
            x.integral[i] = after
    x.integral[i] = min(max(x.integral[i], -most), most)


def _towards(value: float, goal: float, step: float) -> float:
    """Return a value after a step towards a goal."""
    return min(value + step, goal) if value < goal else max(value - step, goal)
