# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Motors that close their own loop get gains and a torque, which add up to what the controller wants.

A motor applies Kp (q_d - q) + Kd (qd_d - qd) + tau_ff at its own rate. The torque tau_ff is chosen
such that this is the torque of the controller at the measured state. From then on

    tau(t) = tau - Kp (q(t) - q) - Kd (qd(t) - qd)

whatever q_d and qd_d are: the motor answers to what has changed since the state was measured.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.parameters.given import Inputs, motor_blind_damping, motors_close_loops

__all__ = ['MotorParameters', 'share_torque']


class MotorParameters(Record):
    """Gains that motors may have."""

    used: bool = field('', '', 'whether commands go to motors that close their own loop')
    stiffness: Vector = field('n', 'N.m/rad or N/m', 'Kp where the law follows joint references')
    damping: Vector = field('n', 'N.m.s/rad or N.s/m', 'Kd with states')
    blind_damping: Vector = field('n', 'N.m.s/rad or N.s/m', 'Kd without states')

    def fill(self, g: Inputs) -> None:
        """
        Take the gains.

        :param g: what was given.
        """
        self.used = motors_close_loops(g)
        self.stiffness[:] = g.values.motor.stiffness
        self.damping[:] = g.values.motor.damping
        self.blind_damping[:] = motor_blind_damping(g)


def share_torque(motor: Matrix, j: int, q: float, qd: float, torque: float) -> None:
    """
    Give a motor the rest of a torque of which its gains make a part.

    :param motor: column ``j`` has where the motor shall go, how fast, Kp and Kd; gets the torque.
    :param j: joint.
    :param q: measured position, rad.
    :param qd: velocity that the motor has as well, rad/s.
    :param torque: that all this must be at q and qd, N.m.
    """
    rest = torque - (motor[2, j] * (motor[0, j] - q) + motor[3, j] * (motor[1, j] - qd))
    motor[4, j] = rest
    # numbers that are not finite, or absurd, leave the torque alone
    if not (abs(motor[0, j]) < 1e9 and abs(motor[1, j]) < 1e9 and 0.0 <= motor[2, j] < 1e9
            and 0.0 <= motor[3, j] < 1e9 and math.isfinite(rest)):
        motor[0, j], motor[1, j], motor[2, j], motor[3, j] = 0.0, 0.0, 0.0, 0.0
        motor[4, j] = torque
