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

"""What is looked at in each state: too fast, too far, too slow, not the described robot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rbd_ros.control.causes import Cause
from rbd_ros.control.monitors import ErrorMonitor, SpeedMonitor
from rbd_ros.control.startup import GravityCheck, MotionWatch, Verdict
from rbd_ros.control.supervisor import State

if TYPE_CHECKING:
    from rbd_ros.control.joint_map import JointMap
    from rbd_ros.nodes.modes import Law
    from rbd_ros.nodes.settings import Settings

__all__ = ['Watch']

Array = npt.NDArray[np.float64]
Report = Callable[[Cause, str], None]

#: measurements of effort at rest that make a verdict
_CHECKS = 20


class Watch:
    """Monitors of a running robot and checks before it starts."""

    def __init__(self, settings: Settings, joints: JointMap) -> None:
        """
        Set the bounds.

        :param settings: valid set.
        :param joints: collected states.
        """
        names = settings.robot.joints
        limits = settings.torque_limits.tolist()
        self._joints = joints
        self._speed = SpeedMonitor(names, settings.velocity_limits.tolist(), 0.0)
        self._error = ErrorMonitor(names, settings.joints('tracking_limits').tolist(), 0.0)
        self._check = GravityCheck(names, limits, tolerance=settings.number('start.tolerance'))
        self._motion = MotionWatch(names, distance=settings.number('start.distance'),
                                   acceleration=settings.number('start.acceleration'))
        self._checks = 0
        self._compare = settings.flag('effort_is_torque')
        self.apply(settings)

    def apply(self, settings: Settings) -> None:
        """
        Take new bounds.

        :param settings: valid set.
        """
        self._speed.limit[:] = settings.velocity_limits
        self._speed.patience = settings.number('velocity_patience')
        self._error.limit[:] = settings.joints('tracking_limits')
        self._error.patience = settings.number('tracking_patience')

    def restart(self) -> None:
        """Forget what was measured before this activation."""
        self._check.restart()
        self._checks = 0

    def changed_law(self) -> None:
        """Forget the tracking error of another law."""
        self._error.restart()

    def begin(self, now: float, q: Array, qd: Array) -> None:
        """
        Note that torque begins.

        :param now: control time, s.
        :param q: positions of the controlled joints.
        :param qd: their velocities.
        """
        self._motion.arm(now, q, qd)
        self._speed.restart()
        self._error.restart()

    def may_start(self, qd: Array, gravity: Callable[[], Array], fault: Report,
                  tell: Callable[[str, str], None]) -> bool:
        """
        Compare measured effort and predicted gravity before any torque leaves.

        :param qd: velocities of the controlled joints.
        :param gravity: computes the gravity torque of the present state.
        :param fault: takes a mismatch.
        :param tell: takes a finding for the log.
        """
        joints = self._joints
        if not self._compare or not joints.effort_known or self._checks > _CHECKS:
            return True
        self._check.add(qd, joints.effort[joints.controlled], gravity())
        self._checks += 1
        if self._checks < _CHECKS:
            return False
        self._checks += 1
        finding = self._check.finding()
        if finding.verdict is Verdict.MISMATCH:
            fault(Cause.WRONG_MODEL, finding.text)
            return False
        tell('info' if finding.verdict is Verdict.MATCH else 'warning',
             f'start check: {finding.text}')
        return True

    def look(self, now: float, state: State, law: Law, q: Array, qd: Array,
             fault: Report) -> bool:
        """
        Look for faults that show while the state is good.

        :param now: control time, s.
        :param state: of the supervisor.
        :param law: in use; its tracking error is that of the last cycle.
        :param q: positions of the controlled joints.
        :param qd: their velocities.
        :param fault: takes what is wrong.
        :returns: whether all is calm: what a kernel watches by itself needs no look.
        """
        wrong = self._speed.check(now, qd)
        if wrong:
            fault(Cause.OVER_SPEED, wrong)
        rate = self._joints.rate
        if rate.low:
            fault(Cause.LOW_RATE, f'{rate.rate:.4g} Hz, minimum_rate {rate.minimum:.4g} Hz')
        if state is State.RUNNING and law.tracks:
            wrong = self._error.check(now, law.error)
            if wrong:
                fault(Cause.TRACKING, wrong)
        elif state is State.RAMPING_IN:
            wrong = self._motion.check(now, q, qd)
            if wrong:
                fault(Cause.WRONG_MODEL, wrong)
        return not rate.low and self._speed.calm and self._error.calm
