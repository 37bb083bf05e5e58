# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the joints of a robot make of a position: where its tip is, and what moves it."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from rbd_ros.compiler import Bound
    from rbd_ros.control.robot import Robot

__all__ = ['Posture', 'Postures']

Array = npt.NDArray[np.float64]


class Posture(NamedTuple):
    """A position of the controlled joints, seen from the tip."""

    p: Array  # m, in the base
    R: Array  # axes of the tip as columns
    J: Array  # its Jacobian, in its own axes, angular rows first
    H: Array  # inertia matrix of the joints
    bias: Array  # N.m: torque without acceleration
    condition: float  # of the inertia that the tip has along task.axes


class Postures:
    """
    Postures of one robot, by the kernel of its reports.

    :param bound: kernel 'report'; whoever uses it besides is in the same thread.
    :param robot: model and controlled joints.
    """

    def __init__(self, bound: Bound, robot: Robot) -> None:
        self._bound, self._index = bound, list(robot.index)
        self._q = np.zeros(robot.model.nq)
        self._gravity, self._payload = np.array(robot.model.gravity), np.zeros(10)

    def renew(self, q: Array, gravity: Array, payload: Array) -> None:
        """
        Take what does not change along a path.

        :param q: of all joints, for those that are not controlled.
        :param gravity: in the base, m/s^2.
        :param payload: ten numbers of ``payload_vector``.
        """
        self._q[:], self._gravity[:], self._payload[:] = q, gravity, payload

    def at(self, q: Array, qd: Array | None = None) -> Posture:
        """
        Return what is seen at a position.

        :param q: of the controlled joints.
        :param qd: their velocities; none: at rest.
        """
        inputs, out = self._bound.inputs, self._bound.outputs
        inputs['q'][:], inputs['qd'][:] = self._q, 0.0
        inputs['q'][self._index] = q
        if qd is not None:
            inputs['qd'][self._index] = qd
        inputs['gravity'][:], inputs['payload'][:] = self._gravity, self._payload
        inputs['max_condition'][:] = 1e30  # nothing is bounded here
        self._bound()
        return Posture(out['p'].copy(), out['R'].copy(), out['J'].copy(), out['H'].copy(),
                       out['bias'].copy(), float(out['condition'][0]))
