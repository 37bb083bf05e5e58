# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Whether a robot can hold a payload where it stands."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.events import Result
from rbd_ros.control.interface.payload import PayloadError
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.load.load import judge_weight
from rbd_ros.dynamics.robot import Dynamics

__all__ = ['PayloadCheck']

Array = npt.NDArray[np.float64]


class PayloadCheck:
    """Compare what a payload needs at the present pose with the torque limits."""

    def __init__(self, controller: Controller) -> None:
        """
        Take the model.

        :param controller: gives the present positions and the direction of gravity.
        """
        self._controller, self._robot = controller, controller.settings.robot
        # Uncompiled: nothing is compiled while active.
        self._dynamics = Dynamics(self._robot.model, backend='reference',
                                  payload_frame=self._robot.payload_frame)

    def check(self, payload: Array) -> None:
        """
        Refuse a payload that the torque limits cannot hold; without a known pose none is.

        :param payload: ten numbers of ``payload_vector``.
        :raises PayloadError: naming the worst joint, what it needs and what it has.
        :raises RbdError: if the control loop does not tell the present pose.
        """
        controller = self._controller
        controller.refresh()
        if not controller.ready:
            return
        mass = float(payload[0])
        com = payload[1:4] / mass if mass > 0.0 else np.zeros(3)
        self._dynamics.set_gravity(controller.x.load.gravity)
        self._dynamics.set_payload(mass, com, np.zeros((3, 3)))  # at rest inertia does not count
        torque: Array = self._dynamics.gravity(controller.x.joints.q.copy())
        needed = np.array(self._robot.pick(torque.tolist()))
        verdict = Result({'n': len(needed)})
        judge_weight(needed, controller.settings.torque_limits, mass, verdict)
        if verdict.answer:
            _, joint, *numbers = verdict.words[0]
            raise PayloadError(LoadWord.TOO_HEAVY.text(
                self._robot.spoken()[int(joint)], *numbers))
