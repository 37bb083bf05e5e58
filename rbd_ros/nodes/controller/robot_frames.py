# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Frames of the robot as messages name them, where they are now."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.robot_now import RobotNow
from rbd_ros.dynamics.robot import Dynamics

__all__ = ['RobotFrames']

Array = npt.NDArray[np.float64]


class RobotFrames:
    """Frames that a header may name: the base, links and every other frame of the robot."""

    def __init__(self, now: RobotNow) -> None:
        """
        Take the model.

        :param now: gives the present positions.
        """
        self._now, self._robot = now, now.settings.robot
        # Uncompiled: nothing is compiled while active.
        self._dynamics = Dynamics(self._robot.model, backend='reference')

    def pose(self, name: str) -> tuple[Array, Array]:
        """
        Return axes (as columns) and origin of a frame in the base, at the present state.

        :param name: of the frame; empty: the base.
        :raises RbdError: if there is no such frame, or the control loop does not answer.
        """
        model = self._robot.model
        if not name or name == model.body_names[0]:
            return np.eye(3), np.zeros(3)
        if model.frame(name.lstrip('/')).body != 0:  # else it does not move
            self._now.refresh()
        T = self._dynamics.pose(self._now.q, name.lstrip('/'))
        return T[:3, :3], T[:3, 3]

    def in_payload(self, name: str) -> tuple[Array, Array]:
        """
        Return axes and origin of a frame in the payload frame, as both stand now.

        :param name: of the frame; empty: the payload frame.
        """
        carrier = self._robot.payload_frame
        if not name or name == carrier:
            return np.eye(3), np.zeros(3)
        model = self._robot.model
        moves = model.frame(name).body != model.frame(carrier).body
        if moves and not self._now.ready:
            raise GoalError(ResultCode.INVALID_GOAL, f'"{name}" moves relative to the payload '
                                                     f'frame "{carrier}", and there is no '
                                                     'fresh joint state to convert with')
        R0, p0 = self.pose(carrier)
        R1, p1 = self.pose(name)
        return R0.T @ R1, R0.T @ (p1 - p0)
