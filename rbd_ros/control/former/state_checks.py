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

"""The checks of each state: closed loops, the start, bounds, plausibility."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.loop_watch import LoopWatch
from rbd_ros.control.former.modes import Law
from rbd_ros.control.former.plausibility import Plausibility
from rbd_ros.control.former.readiness import StartCheck
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.supervisor import State, Supervisor
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.former.watch import Watch

__all__ = ['StateChecks']

Array = npt.NDArray[np.float64]


class StateChecks:
    """All checks of the states of one robot; what one finds is reported as a fault at once."""

    def __init__(self, settings: Settings, joints: JointMap, kernels: Mapping[str, Bound],
                 supervisor: Supervisor, fault: Callable[[Cause, str], None]) -> None:
        """
        Build the checks.

        :param settings: valid set of parameters.
        :param joints: the states.
        :param kernels: compiled ticks by name.
        :param supervisor: whose state decides what is checked.
        :param fault: takes a cause and what exactly.
        """
        self._joints, self._supervisor, self._fault = joints, supervisor, fault
        self.start = StartCheck(settings, joints)
        self.loops = (LoopWatch(settings, joints, kernels['loops'])
                      if settings.robot.model.loops else None)
        self._watch = Watch(settings, joints)
        self._plausible = Plausibility(settings, joints)

    def loops_are_closed(self) -> bool:
        """Return whether the state closes all loops, and passive joints are known."""
        return self.loops is None or self.loops.check(
            self._fault, starts=self._supervisor.state is State.PROBING)

    def are_calm(self, now: float, law: Law, q: Array, qd: Array) -> bool:
        """
        Check the bounds and the plausibility of a state under control.

        :param now: control time, s.
        :param law: in force.
        :param q: positions of the controlled joints.
        :param qd: their velocities.
        :returns: whether no watched bound was exceeded.
        """
        calm = self._watch.check(now, self._supervisor.state, law, q, qd, self._fault)
        return self._plausible.check(now, q, qd, self._fault) and calm

    def restart(self) -> None:
        """Forget all states: every stream is checked anew."""
        self._joints.restart()
        self.start.restart()
        if self.loops is not None:
            self.loops.restart()

    def begin(self, now: float, q: Array, qd: Array) -> None:
        """
        Begin to watch a robot that gets torque from now on.

        :param now: control time, s.
        :param q: positions of the controlled joints.
        :param qd: their velocities.
        """
        self._watch.begin(now, q, qd)
        self._plausible.restart()

    def changed_law(self) -> None:
        """Record that another law is active."""
        self._watch.changed_law()

    def apply(self, settings: Settings) -> None:
        """
        Take new parameters.

        :param settings: valid set for the same robot.
        """
        self._watch.apply(settings)
        self._plausible.apply(settings)
        if self.loops is not None:
            self.loops.apply(settings)
