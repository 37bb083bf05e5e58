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
The law that holds a robot after a stop: it carries the robot and yields to a push.

A person may lean on a stopped robot, or be caught by it. A hold therefore adds no more to g(q)
than a fraction of the torque limits, and gives way if the robot is pushed further than
``hold_distance``. It does not return by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.modes import JointLaw
from rbd_ros.control.parameters.settings import DAMPED, Settings

__all__ = ['Holding']

Array = npt.NDArray[np.float64]

#: s, time constant of the spring and damper of a hold
_SETTLE = 0.1

#: s between two warnings that the robot is being pushed
_QUIET = 5.0


class Holding:
    """Hold one robot where it was when holding began."""

    def __init__(self, law: JointLaw, joints: JointMap, names: Sequence[str], load: Array,
                 announce: Callable[[str, str], None]) -> None:
        """
        Take the parts.

        :param law: of joint space.
        :param joints: the state.
        :param names: of the controlled joints.
        :param load: torque that the robot shows besides g(q), N.m; updated by the observer.
        :param announce: takes what must be logged.
        """
        self._law, self._joints, self._names, self._load = law, joints, tuple(names), load
        self._announce = announce
        n = len(self._names)
        self._most, self._bound, self._way = np.zeros((3, n))
        # The gains of the law fit the described inertia. A light wrist with a load that is not
        # described needs more: as stiff as its damper can settle, and no stiffer than reaches the
        # bound at hold_distance.
        self._stiffness, self._damping = np.zeros((2, n))
        self._gains, self._usual = np.zeros((2, 2, n))  # of the law: while it holds, else
        self._ahead = 0.0  # s
        self._announced = -np.inf

    @property
    def outputs(self) -> dict[str, Array]:
        """Return the results of the law."""
        return self._law.outputs

    def apply(self, settings: Settings) -> None:
        """
        Take new bounds.

        :param settings: valid set.
        """
        self._most[:] = settings.joints('hold_distance')
        self._bound[:] = settings.number('hold_torque') * settings.torque_limits
        self._damping[:] = settings.damper('brake_damping')
        settle = max(_SETTLE, 4.0 * settings.feedback_delay / DAMPED)
        self._stiffness[:] = np.minimum(self._damping / settle, self._bound / self._most)
        self._gains[:] = settings.hold_gains
        self._ahead = settings.ahead

    def enter(self, now: float, most: Array) -> None:
        """
        Begin at the present position, and come to rest.

        :param now: control time, s.
        :param most: velocities that braking has left; what shows more is noise, or a load.
        """
        self._law.begin(now, np.clip(self._joints.qd[self._joints.controlled], -most, most))
        self._law.external[:] = self._load
        self._way[:] = 0.0
        self._announced = -np.inf

    def compute(self, now: float) -> None:
        """
        Evaluate the law at the present state, within its bounds around g(q).

        :param now: control time, s.
        """
        law = self._law
        moved = law.reference.give_way(self._joints.q[self._joints.controlled], self._most)
        if moved.any():
            self._way += moved
            self._warn(now)
        stiffness, damping = law.inputs['stiffness'], law.inputs['damping']
        self._usual[0], self._usual[1] = stiffness, damping
        stiffness[:], damping[:] = self._gains
        try:
            law.compute(now, self._ahead)
        finally:
            stiffness[:], damping[:] = self._usual
        torque, gravity = law.outputs['law'], law.outputs['gravity']
        torque += self._stiffness * law.error
        torque -= self._damping * self._joints.qd[self._joints.controlled]
        np.clip(torque, gravity - self._bound, gravity + self._bound, out=torque)  # keeps NaN

    def _warn(self, now: float) -> None:
        if now - self._announced < _QUIET:
            return
        self._announced = now
        j = int(np.abs(self._way).argmax())
        self._announce('warning', f'the hold yields to a push: {self._names[j]} has moved by '
                                  f'{abs(self._way[j]) + self._most[j]:.3g} so far. If nobody is '
                                  'pushing, the payload or the description is wrong')
