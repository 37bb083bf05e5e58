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

"""Whether a state is plausible: positions match velocities and are inside the range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.joint_states.motion import WINDOW
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.monitors import BoundMonitor
from rbd_ros.control.parameters.settings import Settings

__all__ = ['Plausibility']

Array = npt.NDArray[np.float64]


class Plausibility:
    """Watch the states of one robot; the kernels of the laws have the same bounds."""

    def __init__(self, settings: Settings, joints: JointMap) -> None:
        """
        Set the bounds.

        :param settings: valid set.
        :param joints: collected states.
        """
        self._motion, self._names = joints.motion, settings.robot.joints
        n = len(self._names)
        self._monitors = self._mismatch, self._differenced, self._range = [
            BoundMonitor(what, self._names, np.zeros(n).tolist(), 0.0) for what in (
                'mismatch of positions and velocities', 'velocity of its positions',
                'distance from the middle of its range')]
        self._middle, self._away, self._speed = np.zeros((3, n))

    def apply(self, settings: Settings) -> None:
        """
        Take new bounds.

        :param settings: valid set.
        """
        patience = settings.number('velocity_patience')
        self._motion.bound(settings.velocity_limits, settings.joints('state_tolerance'),
                           settings.mismatch_limits, patience)
        self._differenced.limit[:] = settings.differenced_limits
        self._middle[:], self._range.limit[:] = settings.position_range
        for monitor in self._monitors:
            monitor.patience = patience

    def restart(self) -> None:
        """Forget what was seen."""
        for monitor in self._monitors:
            monitor.restart()

    def check(self, now: float, q: Array, qd: Array, fault: Callable[[Cause, str], None]) -> bool:
        """
        Check one state.

        :param now: control time, s.
        :param q: positions of the controlled joints.
        :param qd: their velocities.
        :param fault: called with what is wrong.
        :returns: whether nothing was wrong lately.
        """
        mismatch = self._motion.mismatch
        self._mismatch.limit[:] = self._motion.allowed
        np.divide(mismatch, WINDOW, out=self._speed)
        np.add(self._speed, qd, out=self._speed)
        if self._mismatch.check(now, mismatch):
            j = self._mismatch.first_beyond(mismatch)
            fault(Cause.IMPLAUSIBLE, f'{self._names[j]}: its positions change at '
                                     f'{self._speed[j]:.3g} per s, but its velocity is '
                                     f'{qd[j]:.3g}')
        wrong = self._differenced.check(now, self._speed)
        if wrong:
            fault(Cause.OVER_SPEED, wrong)
        np.subtract(q, self._middle, out=self._away)
        if self._range.check(now, self._away):
            j = self._range.first_beyond(self._away)
            fault(Cause.IMPLAUSIBLE, f'{self._names[j]} is at {q[j]:.4g}, far outside its limits '
                  f'(sign, unit or zero of its sensor?)')
        repeats = self._motion.repeats
        stuck = repeats.stuck(self._mismatch.patience)
        if stuck is not None:
            fault(Cause.FROZEN, f'{self._names[stuck]} repeats the position {q[stuck]:.6g} '
                                'exactly, which its sensor never did')
        return (self._motion.calm and repeats.calm
                and all(monitor.calm for monitor in self._monitors))
