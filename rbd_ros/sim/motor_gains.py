# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether motors that close their own loop can hold their gains in the steps of a simulation.

A motor applies Kp (q_d - q) + Kd (qd_d - qd) once in a step h and keeps it. For a joint that feels
the inertia I the poles of this lie within the unit circle if

    Kp h / 2 < Kd < 2 I / h

(Jury's criterion for the double integrator behind a zero-order hold).
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.model.model import Model

__all__ = ['GainCheck']

#: times the fewest substeps: a pole just inside the circle still rings
MARGIN = 2.0


class GainCheck:
    """
    Look at the gains of commands, and say once for each joint that they cannot be held.

    :param model: the robot, without closed loops.
    :param joints: that take commands, in their order.
    :param substeps: steps between two states.
    :param step: s, one of them.
    """

    def __init__(self, model: Model, joints: Sequence[str], substeps: int, step: float) -> None:
        self._robot, self._joints = Dynamics(model), tuple(joints)
        self._index = [model.velocity_slice(name).start for name in joints]
        self._substeps, self._step = substeps, step
        self._last = np.zeros((2, len(self._joints)))  # Kp and Kd that were looked at
        self._said: set[str] = set()

    def look(self, q: Array, stiffness: Array, damping: Array) -> list[str]:
        """
        Return what is to be said; nothing if the gains are those of before.

        :param q: position of the robot.
        :param stiffness: Kp of the joints.
        :param damping: Kd of them.
        """
        gains = np.array([stiffness, damping])
        if np.array_equal(gains, self._last) or not np.isfinite(gains).all():
            return []
        self._last = gains
        # felt at a joint while all others give way
        felt = 1.0 / np.diag(np.linalg.inv(self._robot.mass_matrix(q)))[self._index]
        found = []
        for name, Kp, Kd, inertia in zip(self._joints, stiffness, damping, felt, strict=True):
            needed = self._needed(Kp, Kd, inertia)
            if needed > 1.0 and name not in self._said:
                self._said.add(name)
                found.append(
                    f'the motor of joint "{name}" cannot hold Kp {Kp:g} and Kd {Kd:g} in steps of '
                    f'{1e3 * self._step:g} ms with the inertia {inertia:.2g} that it feels: it '
                    f'will swing. A real drive is faster; set substeps to '
                    f'{math.ceil(MARGIN * needed * self._substeps)} instead of {self._substeps}')
        return found

    def _needed(self, Kp: float, Kd: float, inertia: float) -> float:
        """Return by how much steps are too long; at most 1: they are not."""
        damped = Kp * self._step / (2.0 * Kd) if Kd > 0.0 else 0.0  # without damping none helps
        return max(Kd * self._step / (2.0 * inertia), damped)
