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

"""Which law computes the torque: that of the mode, holding after a stop, or gravity alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.former.braking import Braking
from rbd_ros.control.former.control_loop import Need, Torques
from rbd_ros.control.former.holding import Holding
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.modes import JointLaw, Law, TaskLaw
from rbd_ros.control.former.references.joint_space import JointReference
from rbd_ros.control.former.references.operational_space import TaskReference
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.modes.modes import Follows

__all__ = ['LawChoice']

Array = npt.NDArray[np.float64]


class LawChoice:
    """The laws of one robot, one of them active."""

    def __init__(self, settings: Settings, kernels: Mapping[str, Bound], joints: JointMap,
                 references: tuple[JointReference, TaskReference],
                 saturation: Callable[[], Array]) -> None:
        """
        Make the laws; that of the mode is active.

        :param settings: valid set.
        :param kernels: compiled ticks by name.
        :param joints: source of positions and velocities.
        :param references: of the joints and of the tip.
        :param saturation: gives per joint 1 or -1 at a torque limit, else 0.
        """
        self.joint = JointLaw('joint', kernels['joint'], joints, references[0], saturation)
        self._stop = Law('stop', kernels['stop'], joints)
        self.braking = Braking(self._stop, joints)
        self._modes = settings.robot.modes
        self._laws: dict[str, Law] = {'joint': self.joint}
        for mode in self._modes.values():
            name = mode.kernel
            if name in self._laws:
                continue
            if mode.follows is Follows.JOINTS:
                self._laws[name] = JointLaw(name, kernels[name], joints, references[0],
                                            saturation)
            elif mode.follows is Follows.TIP:
                self._laws[name] = TaskLaw(name, kernels[name], joints, references[1], saturation)
            else:
                self._laws[name] = Law(name, kernels[name], joints)
        self.mode = settings.text('mode')
        self.law = self._laws[self._modes[self.mode].kernel]

    def choose(self, mode: str) -> bool:
        """
        Activate the law of a mode.

        :param mode: its name.
        :returns: whether it is another law than before.
        """
        before, self.mode = self.law, mode
        self.law = self._laws[self._modes[mode].kernel]
        return self.law is not before

    def apply(self, settings: Settings) -> None:
        """
        Take new gains.

        :param settings: valid set.
        """
        self.braking.apply(settings)
        for law in self._laws.values():
            law.apply(settings)

    def compute(self, need: Need, now: float, holding: Holding, torques: Torques) -> None:
        """
        Evaluate what the loop needs; the results are passed on without copies.

        :param need: of the loop.
        :param now: control time, s.
        :param holding: the law after a stop.
        :param torques: get the results.
        """
        law: Law | Braking | Holding = self.braking
        if need is Need.LAW:
            law = self.law
        elif need is Need.HOLD:
            law = holding
        law.compute(now)
        outputs = law.outputs
        torques.gravity, torques.driver = outputs['gravity'], outputs['driver']
        if need is Need.STOP:
            torques.brake = outputs['brake']
        else:
            torques.law = outputs['law']

    def gravity(self) -> Array:
        """Return the gravity torque of the present state, in a buffer."""
        self._stop.compute(0.0)  # it does not depend on time
        return self._stop.outputs['gravity']

    def gravity_columns(self) -> Array:
        """Return the torques of the three unit vectors of gravity, one row per joint."""
        vector = self._stop.inputs['gravity']
        present = vector.copy()
        columns = []
        for axis in np.eye(3):
            vector[:] = axis
            columns.append(self.gravity().copy())
        vector[:] = present
        return np.array(columns).T
