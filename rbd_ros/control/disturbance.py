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
Torques that the model does not explain, observed in the loop and compensated by the law.

The same observer shows a load that the description does not have: a stop that trusts g(q) of a
wrong payload accelerates instead of braking. It runs if the parameters ask for it, and whenever
something is unusual: beyond a bound, and during every stop.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.joint_states.joint_map import JointMap
from rbd_ros.control.laws.observer import MomentumObserver
from rbd_ros.control.safety.limits import is_finite, TorqueLimiter
from rbd_ros.control.settings import Settings

__all__ = ['Disturbance']

Array = npt.NDArray[np.float64]


#: rad/s or m/s above which a joint counts as moving
_MOVES = 0.05

#: s without an observation after which what was observed is forgotten
_GAP = 0.1


class Disturbance:
    """The observer of one robot; its result is an input of the law, and of every stop."""

    def __init__(self, settings: Settings, bound: Bound, external: Array) -> None:
        """
        Take a kernel.

        :param settings: valid set.
        :param bound: kernel 'momentum'.
        :param external: input of the law that gets the observed torque, N.m.
        """
        self.observed = False  # whether the parameters ask for it
        self._bound, self._external = bound, external
        self._observer = MomentumObserver(settings.observer_gain.tolist(),
                                          settings.robot.model.nv)
        self._time = -math.inf
        self._share = np.zeros_like(external)  # bound of the load, N.m
        self._usual_share = self._share.copy()
        self.load = np.zeros_like(external)  # torque that the robot showed besides g(q), N.m
        self.apply(settings)

    @property
    def observer(self) -> MomentumObserver:
        """Return the observer."""
        return self._observer

    def apply(self, settings: Settings) -> None:
        """
        Take new parameters.

        :param settings: valid set.
        """
        self.observed = settings.flag('observer_feedback')
        self._observer.gain[:] = settings.observer_gain
        self._usual_share[:] = settings.number('hold_torque') * settings.torque_limits
        self._share[:] = self._usual_share
        if not self.observed:
            self._external[:] = 0.0

    def reset(self) -> None:
        """Forget what was observed."""
        self._observer.reset()
        self.load[:] = 0.0
        self._share[:] = self._usual_share

    def ignore(self) -> None:
        """Trust no load any more: the motion of a joint is not known."""
        self.load[:] = self._share[:] = 0.0

    def distrust(self, most: Array) -> None:
        """
        Trust the observed load up to a new bound, because g(q) of the description is wrong.

        :param most: bound of the load from now on, N.m.
        """
        self._share[:] = most

    def observe(self, now: float, joints: JointMap, limiter: TorqueLimiter) -> None:
        """
        Observe a state and the torque that was sent, after the limits.

        :param now: control time, s.
        :param joints: the state.
        :param limiter: has the torque.
        """
        if not 0.0 <= now - self._time <= _GAP:
            self.reset()
        inputs, outputs = self._bound.inputs, self._bound.outputs
        inputs['q'][:], inputs['qd'][:] = joints.q, joints.qd
        self._bound()
        torque = self._observer.update(outputs['H'], joints.qd, outputs['bias'], limiter.last,
                                       now - self._time)
        self._time = now
        if not is_finite(torque):  # nothing can be learned from an absurd velocity
            self.reset()
            self._external[:] = 0.0
            return
        if self.observed:
            np.clip(torque, -limiter.limit, limiter.limit, out=self._external)
        self._update_load(torque, joints.qd[joints.select])

    def _update_load(self, torque: Array, qd: Array) -> None:
        """
        Take the torque observed at a moving joint as its load.

        A robot that is blocked shows a torque, too: that of the obstacle, or of the person, in its
        way. To compensate it would be to go on pushing.
        """
        bounded = np.clip(torque, -self._share, self._share)
        self.load[:] = np.where(np.abs(qd) > _MOVES, bounded, self.load)
