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
Limits of a joint reference: bounded velocity and acceleration, inside the joint limits.

The reference never moves faster than its velocity limit and never changes its velocity faster than
its acceleration limit. A target that can be met within these limits is met exactly, in position,
velocity and acceleration; one that cannot is approached along the time-optimal profile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rbd_ros.control.former.references.profiles import joint_kernel

__all__ = ['ReferenceLimiter']


class ReferenceLimiter:
    """Follow a target with bounded velocity and acceleration per joint, inside joint limits."""

    def __init__(self, velocity: Sequence[float], acceleration: Sequence[float],
                 lower: Sequence[float] = (), upper: Sequence[float] = ()) -> None:
        """
        Start at zero.

        :param velocity: largest reference velocity per joint, rad/s or m/s.
        :param acceleration: largest reference acceleration per joint, rad/s^2 or m/s^2.
        :param lower: lower joint limits; none: no joint has one.
        :param upper: upper joint limits.
        """
        self.velocity = np.array(velocity, dtype=float)
        self.acceleration = np.array(acceleration, dtype=float)
        for name, value in (('velocity', self.velocity), ('acceleration', self.acceleration)):
            if not (np.isfinite(value).all() and (value > 0.0).all()):
                raise ValueError(f'reference {name} limits must be positive and finite: {value}')
        self._bound = joint_kernel(len(self.velocity)).bind()
        inputs = self._bound.inputs
        inputs['acceleration'][:] = self.acceleration
        self.acceleration, self._most = inputs['acceleration'], inputs['velocity']
        self._pace: npt.NDArray[np.float64] | None = None
        self.pace(None)
        inputs['lower'][:], inputs['upper'][:] = lower or -np.inf, upper or np.inf
        self.state = inputs['state']  # position, velocity, acceleration of the reference, (3, n)
        self.target = inputs['target']  # wanted position, velocity, acceleration, (3, n), finite
        self._dt, self._run = inputs['dt'], self._bound.run
        # Copies between flat memoryviews take a fraction of what NumPy takes.
        self._state, self._next, self._wanted = (memoryview(a.reshape(-1)) for a in (
            self.state, self._bound.outputs['next'], self.target))

    def pace(self, speed: npt.NDArray[np.float64] | None) -> None:
        """
        Move no faster than at some speed, however far the target is.

        :param speed: per joint; None: no slower than the velocity limit.
        """
        self._pace = speed
        self._most[:] = self.velocity if speed is None else np.minimum(self.velocity, speed)

    def limit(self, velocity: npt.NDArray[np.float64],
              acceleration: npt.NDArray[np.float64]) -> None:
        """
        Change the limits.

        :param velocity: largest reference velocity per joint.
        :param acceleration: largest reference acceleration per joint.
        """
        self.velocity[:], self.acceleration[:] = velocity, acceleration
        self.pace(self._pace)

    def step(self, dt: float) -> None:
        """
        Move the reference towards the target.

        :param dt: s since the last step.
        """
        if dt <= 0.0:
            return
        self._dt[()] = dt
        self._run()
        self._state[:] = self._next

    @property
    def arrived(self) -> bool:
        """Return whether the reference is the target: steps to the same target change nothing."""
        return self._state == self._wanted
