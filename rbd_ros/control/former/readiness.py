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
Checks before the first torque: positions, rate, effort against gravity.

No torque has been sent and nothing is lost by waiting: states are collected for ``start.time``, at
least for ``state_timeout``, and from the beginning after each one that is late. Then the start is
refused with the reason, or begins with the torque that seems to act already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.start_check import (
    gravity_that_fits, GravityCheck, position_refusal, rate_findings, REST_SPEED, Verdict)

if TYPE_CHECKING:
    from rbd_ros.control.former.joint_states.joint_map import JointMap
    from rbd_ros.control.parameters.settings import Settings

__all__ = ['StartCheck', 'likely_causes']

Array = npt.NDArray[np.float64]

#: measurements of effort that make a verdict, and intervals that make a rate
_EFFORTS, _INTERVALS = 20, 5

_BEGINS = {
    Verdict.MATCH: 'the first torque is its median, bounded by what g(q) explains',
    Verdict.BRAKED: 'the first torque is g(q)',
    Verdict.UNKNOWN: 'the first torque is g(q) if the robot is at rest'}


def likely_causes(settings: Settings) -> str:
    """
    Return what to look for when a robot does not do at the start what its model predicts.

    :param settings: valid set.
    """
    vector = ', '.join(f'{x:g}' for x in settings.numbers('gravity'))
    source = settings.text('gravity_source')
    gravity = f'gravity [{vector}]' if source == 'parameter' else f'gravity_source {source}'
    return (f'Likely causes: {gravity} does not match the mounting; the sign of a joint is '
            f'wrong; driver_adds "{settings.text("driver_adds")}" does not match the driver; '
            f'the load is not payload.mass {settings.number("payload.mass"):g} kg')


class StartCheck:
    """Checks of one robot before it gets torque."""

    def __init__(self, settings: Settings, joints: JointMap) -> None:
        """
        Set the bounds.

        :param settings: valid set.
        :param joints: collected states.
        """
        robot = settings.robot
        self._settings, self._joints = settings, joints
        self._names, self._units = robot.joints, robot.units
        self._lower, self._upper = (
            np.array(robot.pick(x), dtype=float) for x in (robot.model.lower, robot.model.upper))
        self._check = GravityCheck(self._names, settings.torque_limits.tolist(),
                                   tolerance=settings.number('start.tolerance'))
        self._compare = settings.flag('effort_is_torque')
        self._duration = settings.number('start.time')
        self._wait = max(self._duration, settings.number('state_timeout'))
        self.restart()

    def restart(self) -> None:
        """Forget what was measured before this activation."""
        self._check.restart()
        self._times: list[float] = []
        self._passed = False
        self.torque: Array | None = None  # that acts before the first one, N.m; None: not known

    def passes(self, now: float, qd: Array, gravity: Callable[[], Array],
               columns: Callable[[], Array], fault: Callable[[Cause, str], None],
               announce: Callable[[str, str], None]) -> bool:
        """
        Take one state; return whether torque may begin.

        :param now: control time, s.
        :param qd: velocities of the controlled joints.
        :param gravity: computes the gravity torque of the present state, N.m.
        :param columns: computes those of the three unit vectors of gravity, N.m.
        :param fault: takes the reason of a refusal.
        :param announce: takes kind and text of a finding for the log.
        """
        joints = self._joints
        if self._passed:
            return True
        if not self._times:
            wrong = position_refusal(self._names, self._units, joints.q[joints.controlled],
                                     self._lower, self._upper)
            if wrong:
                fault(Cause.START_CHECK, wrong)
                return False
        self._times.append(now)
        compare = self._compare and joints.effort_known
        if compare:
            self._check.add(qd, joints.effort[joints.controlled], gravity())
        count = len(self._times)
        least = max(_EFFORTS if compare else 1, _INTERVALS + 1 if self._duration else 1)
        if count < least or now - self._times[0] < self._wait:
            return False
        self._passed = self._rate_fits(fault, announce) and self._gravity_fits(
            compare, gravity, columns, fault, announce)
        if self._passed and self.torque is None and np.abs(qd).max() <= REST_SPEED:
            self.torque = gravity().copy()  # at rest this torque acts, whatever holds the robot
        return self._passed

    def _rate_fits(self, fault: Callable[[Cause, str], None],
                   announce: Callable[[str, str], None]) -> bool:
        if len(self._times) <= _INTERVALS:
            return True
        interval = float(np.median(np.diff(self._times)))
        settings = self._settings
        wrong, warning = rate_findings(1.0 / max(interval, 1e-9), settings.number('minimum_rate'),
                                       settings.number('nominal_rate'))
        if wrong:
            fault(Cause.START_CHECK, wrong)
        elif warning:
            announce('warning', f'start check: {warning}')
        return not wrong

    def _gravity_fits(self, compare: bool, gravity: Callable[[], Array],
                      columns: Callable[[], Array], fault: Callable[[Cause, str], None],
                      announce: Callable[[str, str], None]) -> bool:
        if not compare:
            announce('warning' if self._compare else 'info', 'start check: ' + (
                'joint_states has no effort for some joints' if self._compare
                else 'effort_is_torque is false') + ', so gravity cannot be compared before '
                                                    'the first torque, which is g(q) if the '
                                                    'robot is at rest')
            return True
        finding = self._check.finding()
        if finding.verdict is Verdict.MISMATCH:
            fault(Cause.START_CHECK, f'{finding.text}. {self._explain(columns())}')
            return False
        announce('info' if finding.verdict is Verdict.MATCH else 'warning',
                 f'start check: {finding.text}; {_BEGINS[finding.verdict]}')
        if finding.verdict is not Verdict.UNKNOWN:
            self.torque = self._check.start(finding, gravity())
        return True

    def _explain(self, columns: Array) -> str:
        """Return which gravity vector would explain the effort, or what else to look for."""
        vector = gravity_that_fits(self._check.effort, columns, self._check.tolerance)
        if vector is None:
            return likely_causes(self._settings)
        entries = ', '.join(f'{x + 0.0:.1f}' for x in vector.round(1))
        ceiling = vector @ self._settings.numbers('gravity') < 0.0
        where = ' (on a ceiling?)' if ceiling else ''
        return (f'Gravity [{entries}] would fit: if the robot is mounted like '
                f'that{where}, set the parameter gravity')
