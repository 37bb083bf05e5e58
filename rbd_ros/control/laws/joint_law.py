# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the law of the joints remembers: its integral, and what it compensates."""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NEVER
from rbd_ros.control.laws.kept import integrated, kept
from rbd_ros.control.supervisor.answers import moment

__all__ = ['is_at_rest', 'JointGains', 'JointLaw']

#: rad/s or m/s below which a reference counts as at rest
_REST = 1e-3


class JointGains(Record):
    """Computed torque."""

    integrates: bool = field('', '', 'whether any joint has an integral term')
    stiffness: Vector = field('n', '1/s^2', 'Kp')
    damping: Vector = field('n', '1/s', 'Kd')
    integral: Vector = field('n', '1/s^3', 'Ki')
    integral_limit: Vector = field('n', 'rad/s^2 or m/s^2', 'bound of the integral term')


class JointLaw(Record):
    """Computed torque along a joint reference."""

    time: float = field('', 's', 'control time of the last step of the integral', NEVER)
    integral: Vector = field('n', 'rad/s^2 or m/s^2', 'integral term')
    external: Vector = field('n', 'N.m or N', 'observed torque that is compensated')
    error: Vector = field('n', 'rad or m', 'reference minus position in the last step')

    def prepare(self, p: JointGains) -> None:
        """Forget an integral that no gain feeds, before the law is computed."""
        if not p.integrates:
            self.integral[:] = 0.0

    def integrate(self, p: JointGains, gain: Vector, pace: float, error: Vector, side: Vector,
                  now: float) -> None:
        """
        Keep the error, and advance the integral.

        :param p: its bounds.
        :param gain: Ki.
        :param pace: share of its speed at which the law acts.
        :param error: reference minus position.
        :param side: 1 or -1 where the last torque was at a limit, else 0.
        :param now: control time, s.
        """
        self.error[:] = kept(error, self.error)
        if p.integrates:
            dt = now - self.time if self.time > NEVER else 0.0
            self.time = moment(now, self.time)
            for j in range(len(self.integral)):
                self.integral[j] = integrated(
                    self.integral[j], error[j], pace * pace * pace * gain[j], dt,
                    p.integral_limit[j], side[j])


def is_at_rest(reference: Matrix) -> bool:
    """Return whether a reference of position, velocity and acceleration stands still."""
    return not any(abs(reference[1]) > _REST)
