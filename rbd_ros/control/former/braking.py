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
The law that brakes a robot: the velocities of all joints decay at one rate.

    tau = H(q) (-r qd) + C(q, qd) - load - D excess

Dampers per joint would not do: braking the shoulder accelerates the elbow, and a heavy link can
throw a light one. Here every joint is x' = -r x, and the answer to a late state is the same for
all. Such states are extrapolated: a joint has moved on by its velocity, and all velocities have
decayed as the law told them to while they were on their way.

The model may be wrong: a light wrist with a load that nobody described hardly feels r. The dampers
D therefore act on what a joint is faster than the decay allows.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.modes import Law
from rbd_ros.control.parameters.settings import Settings

__all__ = ['Braking']

Array = npt.NDArray[np.float64]

#: s within which the rate rises: the first torques just end what accelerates joints by itself,
#: which the rate limits would delay otherwise
_RISE = 0.05

#: share of it that the first torque has
_BEGUN = 0.2

#: share of its velocity that a joint may have at once where something is wrong
_URGENT = 0.5

#: share of the velocity limit that each joint may always have; in rad/s or m/s without limits
_SLOW = 0.05


class Braking:
    """Brake one robot."""

    def __init__(self, law: Law, joints: JointMap) -> None:
        """
        Take the kernel.

        :param law: of the kernel 'stop'.
        :param joints: the state.
        """
        self._law, self._joints, self._motion = law, joints, joints.motion
        self._enters = self._urgent = False
        self.load: Array = law.inputs['load']  # torque that the robot shows besides g(q), N.m
        self.allowed: Array = law.inputs['allowed']  # velocities that the decay leaves
        self._rate = law.inputs['brake_rate']
        self._speed, self._slow = np.zeros((2, len(self.allowed)))
        self._full_rate = self._begun = 0.0
        self._late = self._later = 0.0  # s by which states and differenced velocities are late
        self._ahead = 0.0  # s by which positions are extrapolated

    @property
    def outputs(self) -> dict[str, Array]:
        """Return the results."""
        return self._law.outputs

    def apply(self, settings: Settings) -> None:
        """
        Take new bounds.

        :param settings: valid set.
        """
        self._law.apply(settings)
        self._full_rate = settings.brake_rate
        self._late, self._later = settings.lateness
        self._ahead = settings.ahead
        limits = settings.velocity_limits
        self._slow[:] = _SLOW * np.where(np.isfinite(limits), limits, 1.0)

    def enter(self, *, urgent: bool) -> None:
        """
        Begin to brake with the next state.

        :param urgent: whether something is wrong: then the rate does not rise first.
        """
        self._enters, self._urgent = True, urgent
        self.allowed[:] = self._slow

    def _begin(self, now: float) -> None:
        """Begin to brake."""
        self._enters = False
        urgent = self._urgent and self._late < _BEGUN * _RISE  # else the hurry would throw it
        self._begun = now - (1.0 if urgent else _BEGUN) * _RISE
        np.abs(self._joints.qd[self._joints.controlled], out=self._speed)
        if urgent:
            self._speed *= _URGENT

    def compute(self, now: float) -> None:
        """
        Evaluate the law where the robot is by now, not where it was measured.

        :param now: control time, s.
        """
        if self._enters:
            self._begin(now)
        since = now - self._begun
        late = self._later if self._motion.differenced else self._late
        self._law.read_state()
        share = math.exp(self._decay(since - late) - self._decay(since))
        self._law.extrapolate(0.5 * (1.0 + share) * self._ahead)
        self._law.inputs['qd'] *= share
        self._rate[0] = self._full_rate * min(since / _RISE, 1.0)
        np.maximum(self._speed * math.exp(-self._decay(since - late)), self._slow,
                   out=self.allowed)
        self._law.run()

    def _decay(self, since: float) -> float:
        """Return by which power of e velocities have decayed at a time since the beginning."""
        since = max(since, 0.0)
        return self._full_rate * (since - 0.5 * _RISE if since > _RISE
                                  else 0.5 * since * since / _RISE)
