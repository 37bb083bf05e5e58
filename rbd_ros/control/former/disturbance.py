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
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.laws.observer import MomentumObserver
from rbd_ros.control.former.safety.limits import is_finite, TorqueLimiter
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.former.torque_history import TorqueHistory

__all__ = ['Disturbance']

Array = npt.NDArray[np.float64]


#: rad/s or m/s above which a joint counts as moving
_MOVES = 0.05

#: s over which the mean of the load is taken
_MEAN = 0.1

#: largest gain of the observer times the filter of differenced velocities: what a coarse encoder
#: shows as a load
_COARSE = 0.03

#: N.m; keeps a division by zero finite
_TINY = 1e-300

#: s without an observation after which what was observed is forgotten
_GAP = 0.1


class Disturbance:
    """The observer of one robot; its result is an input of the law, and of every stop."""

    def __init__(self, settings: Settings, bound: Bound, external: Array, load: Array) -> None:
        """
        Take a kernel.

        :param settings: valid set.
        :param bound: kernel 'momentum'.
        :param external: input of the law that gets the observed torque, N.m.
        :param load: input of the brake that gets what the robot shows besides g(q), N.m.
        """
        self.observed = False  # whether the parameters ask for it
        self._bound, self._external = bound, external
        self._observer = MomentumObserver(settings.observer_gain.tolist(),
                                          settings.robot.model.nv)
        self._time = -math.inf
        self._sent, self._delay, self._filter = TorqueHistory(), 0.0, 0.0
        self.acted: Array | None = None  # mean torque that the last state answers to, N.m
        self._drive, self._bias = np.zeros((2, len(external)))  # torque besides C, and C
        self._place = np.full(len(external), np.nan)  # of the state before
        self._gain = self._observer.gain.copy()
        self._share = np.zeros_like(external)  # bound of the load, N.m
        self._usual_share = self._share.copy()
        self.load = load  # bounded for all joints in proportion
        self.mean = np.zeros_like(load)  # of the load, for what needs no quick answer
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
        self._observer.gain[:] = self._gain[:] = settings.observer_gain
        self._delay = settings.number('delay')
        self._filter = settings.number('velocity_filter')
        self._usual_share[:] = settings.number('hold_torque') * settings.torque_limits
        self._share[:] = self._usual_share
        if not self.observed:
            self._external[:] = 0.0

    def reset(self) -> None:
        """Forget what was observed."""
        self._observer.reset()
        self._sent.clear()
        self.load[:] = self.mean[:] = 0.0
        self._share[:] = self._usual_share

    def forget(self) -> None:
        """Forget the load that was observed so far."""
        self._observer.torque[:] = self.load[:] = self.mean[:] = 0.0

    def ignore(self) -> None:
        """Trust no load any more: the motion of a joint is not known."""
        self.load[:] = self.mean[:] = self._share[:] = 0.0

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
        if not 0.0 < now - self._time <= _GAP:
            self.reset()
        elapsed, self._time = now - self._time, now
        inputs, outputs = self._bound.inputs, self._bound.outputs
        inputs['q'][:], inputs['qd'][:] = joints.q, joints.qd
        self._bound()
        self.acted = self._acted(elapsed, outputs['bias'], joints.motion.differenced)
        self._sent.note(now, limiter.last)
        torque = self._observer.update(outputs['H'], joints.qd, outputs['bias'], limiter.last,
                                       elapsed, acted=self.acted)
        if not is_finite(torque):  # nothing can be learned from an absurd velocity
            self.reset()
            self._external[:] = self._drive[:] = self._bias[:] = 0.0
            self.acted = None
            return
        if self.observed:
            np.clip(torque, -limiter.limit, limiter.limit, out=self._external)
        self._update_load(torque, joints, elapsed)

    def _acted(self, elapsed: float, bias: Array, differenced: bool) -> Array | None:
        """
        Return the mean torque that the measured motion is the answer to; None: the last one.

        States are late, and so the torque is one that was sent a delay ago. Differences of
        positions are filtered: what drives the motion is filtered in the same way. They are also
        coarse, and their noise is less in a slower observer.
        """
        observer, late = self._observer, self._time - self._delay
        acted = self._sent.mean(late - elapsed, late)
        slowest = _COARSE / self._filter if differenced and self._filter else math.inf
        np.minimum(self._gain, slowest, out=observer.gain)
        middle = 0.5 * (bias + self._bias)
        self._bias[:] = bias
        if acted is None:
            observer.known = False
            return None
        if not differenced:
            return acted
        if not observer.known:
            self._drive[:] = acted - middle
        self._drive += elapsed / (elapsed + self._filter) * (acted - middle - self._drive)
        return self._drive + middle

    def _update_load(self, torque: Array, joints: JointMap, elapsed: float) -> None:
        """
        Take the torque observed while the robot moves as its load.

        A robot that is blocked shows a torque, too: that of the obstacle, or of the person, in its
        way. To compensate it would be to go on pushing. The same holds for a joint that stands
        exactly still, by a brake or by a frozen sensor. A joint that is slow for a moment follows
        the others: what acts on nearly parallel axes accelerates next to no inertia, and an old
        load of one of them would throw both about.
        """
        q, qd = joints.q[joints.select], np.abs(joints.qd[joints.select])
        # without velocities, a slow joint stands between the steps of its encoder
        stands = (q == self._place) & (qd <= _MOVES) & (not joints.motion.differenced)
        self._place[:] = q
        if qd.max() > _MOVES:
            excess = float((np.abs(torque) / np.maximum(self._share, _TINY)).max())
            self.load[:] = np.where(stands, self.load, torque / max(excess, 1.0))
            self.mean += elapsed / (elapsed + _MEAN) * (self.load - self.mean)
