# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the laws of the tip remember: where a motion comes to rest, and a posture that is kept."""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Joints, NEVER, Structure
from rbd_ros.control.laws.kept import integrated, kept
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.supervisor.answers import moment
from rbd_ros.control.torque.fade import smooth_step

__all__ = ['TaskGains', 'TaskLaw']

#: rad/s or m/s below which a reference counts as at rest
_REST = 1e-3


class TaskGains(Record):
    """Operational space; six numbers have the angular part first."""

    max_condition: float = field('', '', 'condition beyond which directions are bounded', 1.0)
    integrates: bool = field('', '', 'whether any direction has an integral term')
    posture_given: bool = field('', '', 'whether a posture is named, else the first is kept')
    stiffness: Vector = field('6', '1/s^2', 'Kp')
    damping: Vector = field('6', '1/s', 'Kd')
    integral: Vector = field('6', '1/s^3', 'Ki')
    integral_limit: Vector = field('6', 'rad/s^2, m/s^2', 'bound of the integral term')
    speed: Vector = field('2', 'rad/s, m/s', 'of the frame at which a wrench has faded')
    joint_speed: Vector = field('n', 'rad/s or m/s', 'that the frame may ask of a joint')
    posture: Vector = field('n', 'rad or m', 'posture that is named')
    posture_stiffness: Vector = field('n', '1/s^2', 'Kp of the posture')
    posture_damping: Vector = field('n', '1/s', 'Kd of the posture')


class TaskLaw(Record):
    """Operational-space law of the tip."""

    time: float = field('', 's', 'control time of the last step of the integral', NEVER)
    entered: float = field('', 's', 'control time at which the law began', NEVER)
    starting: bool = field('', '', 'true until the motion that it began with has faded')
    integral: Vector = field('6', 'rad/s^2, m/s^2', 'integral term, angular part first')
    lead: Vector = field('6', 'rad, m', 'from the robot to its reference in the last step, along '
                                        'the controlled directions; base axes')
    error: Vector = field('2', 'rad, m', 'angle and distance of it')
    drift: Vector = field('n', 'rad/s or m/s', 'joint velocity that is left to fade')
    posture: Vector = field('n', 'rad or m', 'posture that is kept')
    start_speed: Vector = field('n', 'rad/s or m/s', 'joint velocity that it began with')

    def begin(self, joints: Joints, structure: Structure, now: float) -> None:
        """Begin at the present pose and posture, from which the reference comes to rest."""
        self.time, self.entered, self.starting = NEVER, moment(now, self.entered), True
        self.integral[:] = self.error[:] = self.drift[:] = 0.0
        for j in range(len(self.posture)):
            i = place_of(structure, j)
            self.start_speed[j], self.posture[j] = joints.qd[i], joints.q[i]

    def go_to_posture(self, p: TaskGains) -> None:
        """Go to the posture that is named, if there is one; else the first one is kept."""
        if p.posture_given:
            self.posture[:] = kept(p.posture, self.posture)

    def prepare(self, p: TaskGains, duration: float, now: float) -> None:
        """Let joint motion that does not move the frame fade like the motion of the frame."""
        if not p.integrates:
            self.integral[:] = 0.0
        if self.starting:
            gone = (now - self.entered) / duration if duration > 0.0 else 1.0
            share = 1.0 - smooth_step(gone) if math.isfinite(gone) else 0.0
            self.drift[:] = self.start_speed * share
            self.starting = share != 0.0

    def note(self, lead: Vector, error: Vector) -> None:
        """Keep how far the reference is ahead."""
        self.lead[:] = kept(lead, self.lead)
        self.error[:] = kept(error, self.error)

    def integrate(self, p: TaskGains, lead: Vector, pace: float, side: Vector,
                  now: float) -> None:
        """
        Advance the integral, unless a joint is at its limit: directions have none of their own.

        :param p: gains.
        :param lead: from the robot to its reference.
        :param pace: share of its speed at which the law acts.
        :param side: 1 or -1 where the last torque was at a limit, else 0.
        :param now: control time, s.
        """
        if not p.integrates:
            return
        dt = now - self.time if self.time > NEVER else 0.0
        self.time = moment(now, self.time)
        if not any(side != 0.0):
            for i in range(6):
                self.integral[i] = integrated(self.integral[i], lead[i], pace * pace * pace *
                                              p.integral[i], dt, p.integral_limit[i], 0.0)

    def rests(self, p: TaskGains, velocity: Vector, wrench: Vector) -> bool:
        """Return whether the law wants the robot to stay where it is, by its reference."""
        if p.posture_given or self.starting or any(wrench != 0.0):
            return False
        return not any(abs(velocity) > _REST)
