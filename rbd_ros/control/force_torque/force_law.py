# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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

from rbd_ros.compiler.language.whole import dot
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.force_torque.sensor import Sensor
from rbd_ros.control.interface.events import NEVER, NONE
from rbd_ros.control.parameters.given import Inputs

__all__ = ['fill_force', 'ForceGains', 'ForceLaw']

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

    def rests(self) -> bool:
        """Return whether no force is left."""
        return not any((self.reference != 0.0) | (self.integral != 0.0))

    def advance(self, p: ForceGains, wanted: Vector, asked: int, sensor: Sensor,
                velocity: Vector, pace: float, now: float) -> None:
        """
        Find the wrench to exert; along axes that are not controlled it is as wanted.

        :param p: parameters.
        :param wanted: wrench that the robot is to exert, base axes.
        :param asked: whether somebody asks for it; it may be zero.
        :param sensor: knows what the surroundings exert on the tool, and the axes of the tip.
        :param velocity: of the tip in its own axes, in the step before; NaN: not known.
        :param pace: share of its speed at which the law acts.
        :param now: control time, s.
        """
        dt = min(max(now - self.time, 0.0), _LONGEST) if self.time > NEVER else 0.0
        if abs(now) < NONE:
            self.time = now
        for i in range(6):
            k = 0 if i < 3 else 3
            force = dot(sensor.axes[:, i - k], wanted[k:k + 3])
            if not p.axes[i] > 0.0:
                self.reference[i], self.integral[i] = force if abs(force) < NONE else 0.0, 0.0
            elif abs(force) < NONE and asked > 0:
                self._correct(p, i, force, sensor.wrench[i], velocity[i], pace * p.gain, dt)
            elif abs(force) < NONE:
                self._let_go(p, i, dt)
        for k in range(0, 6, 3):
            for j in range(3):
                found = dot(sensor.axes[j], self.reference[k:k + 3] + self.integral[k:k + 3])
                if abs(found) < NONE:
                    self.wrench[k + j] = found

    def _correct(self, p: ForceGains, i: int, wanted: float, external: float, velocity: float,
                 gain: float, dt: float) -> None:
        """Advance reference and integral along one axis."""
        k = 0 if i < 3 else 1
        step, most = p.rate[k] * dt, p.limit[k]
        if not (step >= 0.0 and most >= 0.0):
            return
        self.integral[i] = min(max(self.integral[i], -most), most)
        self.reference[i] = _towards(self.reference[i], min(max(wanted, -_MOST), _MOST), step)
        error = self.reference[i] + external
        if abs(velocity) <= 0.5 * p.speed[k] or velocity * error < 0.0:
            after = self.integral[i] + gain * error * dt
            if math.isfinite(after):
                self.integral[i] = after
        self.integral[i] = min(max(self.integral[i], -most), most)

    def _let_go(self, p: ForceGains, i: int, dt: float) -> None:
        """Let the force along one axis fade."""
        k = 0 if i < 3 else 1
        step, most = p.rate[k] * dt, p.limit[k]
        if step >= 0.0 and most >= 0.0:
            self.reference[i] = _towards(self.reference[i], 0.0, step)
            self.integral[i] = _towards(min(max(self.integral[i], -most), most), 0.0, step)


class ForceGains(Record):
    """What is chosen of the control of the force."""

    used: bool = field('', '', 'whether any axis is controlled')
    gain: float = field('', '1/s', 'of the integral')
    axes: Vector = field('6', '', '1 for each axis that is controlled')
    limit: Vector = field('2', 'N.m, N', 'bound of the integral')
    rate: Vector = field('2', 'N.m/s, N/s', 'of the reference')
    speed: Vector = field('2', 'rad/s, m/s', 'at which the wrench has faded')


def fill_force(p: ForceGains, g: Inputs) -> None:
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


def _towards(value: float, goal: float, step: float) -> float:
    """Return a value after a step towards a goal."""
    return min(value + step, goal) if value < goal else max(value - step, goal)
