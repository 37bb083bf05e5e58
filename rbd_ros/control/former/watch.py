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

"""Supervision of each state: too fast, too far, too slow, not the described robot."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rbd_ros.control.former.readiness import likely_causes
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.monitors import BoundMonitor
from rbd_ros.control.former.safety.start_check import MotionWatch
from rbd_ros.control.former.safety.supervisor import State

if TYPE_CHECKING:
    from rbd_ros.control.former.joint_states.joint_map import JointMap
    from rbd_ros.control.former.modes import Law
    from rbd_ros.control.parameters.settings import Settings

__all__ = ['Watch']

Array = npt.NDArray[np.float64]
Report = Callable[[Cause, str], None]

#: s from the first torque within which a fault names its likely causes
_EARLY = 5.0


#: names of the tracking errors of operational space
_TIP = ('orientation of the tip', 'position of the tip')


class Watch:
    """Monitors of a running robot and checks before it starts."""

    def __init__(self, settings: Settings, joints: JointMap) -> None:
        """
        Set the bounds.

        :param settings: valid set.
        :param joints: collected states.
        """
        names = settings.robot.joints
        self._joints = joints
        self._speed = BoundMonitor('velocity', names, settings.velocity_limits.tolist(), 0.0)
        self._error = BoundMonitor('tracking error', names,
                                   settings.joints('tracking_limits').tolist(), 0.0)
        self._lead = BoundMonitor('tracking error', _TIP, [0.0, 0.0], 0.0)
        robot, margin = settings.robot, settings.barrier_margins
        self._motion = MotionWatch(
            names, duration=max(settings.number('ramp_time'), settings.number('start.watch_time')),
            distance=settings.number('start.distance'),
            velocity=settings.number('start.velocity'),
            acceleration=settings.number('start.acceleration'),
            zones=(np.array(robot.pick(robot.model.lower)) + margin,
                   np.array(robot.pick(robot.model.upper)) - margin))
        self._began = -math.inf  # control time of the first torque
        self._hint = ''  # likely causes of an early fault, not yet reported
        self.apply(settings)

    def apply(self, settings: Settings) -> None:
        """
        Take new bounds.

        :param settings: valid set.
        """
        self._speed.limit[:] = settings.velocity_limits
        self._speed.patience = settings.number('velocity_patience')
        self._causes = likely_causes(settings)
        self._error.limit[:] = settings.joints('tracking_limits')
        self._error.patience = settings.number('tracking_patience')
        self._lead.limit[:] = settings.task_errors
        self._lead.patience = self._error.patience

    def changed_law(self) -> None:
        """Forget the tracking error of another law."""
        self._error.restart()
        self._lead.restart()

    def begin(self, now: float, q: Array, qd: Array) -> None:
        """
        Record that torque begins.

        :param now: control time, s.
        :param q: positions of the controlled joints.
        :param qd: their velocities.
        """
        self._motion.arm(now, q, qd)
        self._began, self._hint = now, self._causes
        self._speed.restart()
        self._error.restart()
        self._lead.restart()

    def check(self, now: float, state: State, law: Law, q: Array, qd: Array,
              fault: Report) -> bool:
        """
        Check for faults that are detected while the state is good.

        :param now: control time, s.
        :param state: of the supervisor.
        :param law: in use; its tracking error is from the last cycle.
        :param q: positions of the controlled joints.
        :param qd: their velocities.
        :param fault: takes what is wrong.
        :returns: whether all is calm, so that the fast path may check the rest in its kernel.
        """
        wrong = self._speed.check(now, qd)
        if wrong:
            fault(Cause.OVER_SPEED, self._explained(now, wrong))
        rate = self._joints.rate
        if rate.low:
            fault(Cause.LOW_RATE, f'{rate.rate:.4g} Hz, minimum_rate {rate.minimum:.4g} Hz')
        if state is State.RUNNING and law.tracks:
            wrong = self._error.check(now, law.error)
            if wrong:
                fault(Cause.TRACKING, self._explained(now, wrong))
        elif state is State.RUNNING and law.leads:
            wrong = self._lead.check(now, law.error)
            if wrong:
                fault(Cause.TRACKING, self._explained(now, wrong))
        if self._motion.armed and state in (State.RAMPING_IN, State.RUNNING):
            wrong = self._motion.check(now, q, qd, rests=law.rests)
            if wrong:
                fault(Cause.WRONG_MODEL, self._explained(now, wrong))
        return (not (rate.low or self._motion.armed) and self._speed.calm and self._error.calm
                and self._lead.calm)

    def _explained(self, now: float, wrong: str) -> str:
        """Return what is wrong; soon after the first torque, with what to look for."""
        causes, self._hint = self._hint, ''  # once is enough
        return f'{wrong}. {causes}' if causes and now - self._began < _EARLY else wrong
