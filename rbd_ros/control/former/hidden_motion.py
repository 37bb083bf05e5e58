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
Whether the other joints feel that a joint moves which says that it stands.

Two momentum observers watch the robot from the moment at which a joint comes to a halt. The first
believes its sensor. The second lets it move freely, as the model predicts. What the sensor hides,
the others feel in proportion to a column of the inertia matrix, beginning with the halt itself: a
joint that really stops within one period jerks all others, and a sensor that freezes does not.
Then the first observer finds torques on them that the second does not.

Friction must not pass for such a torque. It does not change while a joint slides in one direction;
when it sticks, breaks loose or turns, it does, by an amount that nobody knows. Therefore only
joints bear witness that have moved on in one direction ever since, and what acted on them at the
beginning is no evidence.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.former.laws.observer import MomentumObserver

__all__ = ['HiddenMotion']

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: s after the halt in which it is learned what acts on the other joints anyway
_SETTLE = 0.01


class _Felt:
    """Torques on all joints that a hypothesis leaves unexplained, as they change since a halt."""

    def __init__(self, gain: Array, variables: int) -> None:
        self.observer = MomentumObserver(gain.tolist(), variables)
        self._usual = np.zeros(len(gain))  # what acted at the beginning
        self.change = np.zeros(len(gain))  # since then, filtered

    def begin(self, H: Array, qd: Array, bias: Array, tau: Array) -> None:
        """Take the state before the halt."""
        self.observer.reset()
        self.observer.update(H, qd, bias, tau, 0.0)
        self._usual[:] = self.change[:] = 0.0

    def update(self, H: Array, qd: Array, bias: Array, tau: Array, dt: float, learnt: int,
               acted: Array | None) -> None:
        """Take a state; as many periods have shown what acts anyway, 0: nothing is learnt."""
        observer = self.observer
        observer.update(H, qd, bias, tau, dt, acted=acted)
        if learnt > 0:
            self._usual += (observer.unexplained - self._usual) / learnt
        share = -np.expm1(-observer.gain * dt)
        self.change += share * (observer.unexplained - self._usual - self.change)


class HiddenMotion:
    """Follow one joint that stands by its sensor, and that moves by the model."""

    def __init__(self, gain: Array, variables: int) -> None:
        """
        Follow no joint.

        :param gain: of the observers, 1/s.
        :param variables: velocities that share in the momentum.
        """
        self._seen, self._free = _Felt(gain, variables), _Felt(gain, variables)
        self.hidden = np.ones(len(gain))  # torques that errors of the model can hide, N.m
        self.joint: int | None = None
        self.way = self.speed = 0.0  # of the joint by the model, since it stands
        self.stop = 0.0  # N.m that its halt took, besides the torque of its motor
        self.inertia = 0.0  # of the joint, kg.m^2
        self._change = 0.0  # of the speed in the last period
        self._time, self._periods = 0.0, 0  # s since the halt, periods
        self._sign = np.zeros(len(gain))  # direction of each witness; 0: it is none

    def set_gain(self, gain: Array) -> None:
        """
        Take a new bandwidth.

        :param gain: of the observers, 1/s.
        """
        for felt in (self._seen, self._free):
            felt.observer.gain[:] = gain

    def forget(self) -> None:
        """Follow no joint."""
        self.joint = None

    def follow(self, joint: int, speed: float, qd: Array) -> None:
        """
        Begin with a joint that has come to a halt.

        :param joint: its place among the controlled ones.
        :param speed: that it had before.
        :param qd: velocities of all controlled joints.
        """
        self.joint, self.way, self.speed = joint, 0.0, speed
        self._change = self.stop = self._time = 0.0
        self._periods = 0
        self._sign[:] = np.sign(qd)

    def update(self, bound: Bound, index: npt.NDArray[np.intp], before: Array, tau: Array,
               dt: float, repeated: Flags, acted: Array | None) -> None:
        """
        Take a state.

        :param bound: kernel 'momentum', evaluated where the sensors say.
        :param index: places of the controlled joints among all.
        :param before: velocities of the controlled joints in the state before.
        :param tau: torque that acts from now on.
        :param dt: s since the state before.
        :param repeated: joints that repeat their position.
        :param acted: mean torque that the motion answers to, if states are late; None: the last.
        """
        i, inputs, outputs = self.joint, bound.inputs, bound.outputs
        if i is None:
            return
        j, qd = index[i], inputs['qd']
        self._sign[repeated | (self._sign * qd[index] <= 0.0)] = 0.0
        H, bias = outputs['H'], outputs['bias']
        if self._periods == 0:
            first = qd.copy()
            first[index] = before
            for felt in (self._seen, self._free):
                felt.begin(H, first, bias, tau)
        learnt = self._periods if self._time < _SETTLE else 0
        self._seen.update(H, qd, bias, tau, dt, learnt, acted)
        if self._periods == 0:
            self.stop = abs(float(self._seen.observer.unexplained[i]))
            self.inertia = float(H[i, j])
        inputs['q'][j] += self.way
        qd[j] = self.speed
        bound()
        self.go_on(bound, index, tau, dt, acted, learnt)
        self._time += dt
        self._periods += 1

    def go_on(self, bound: Bound, index: npt.NDArray[np.intp], tau: Array, dt: float,
              acted: Array | None, learnt: int = 0) -> None:
        """
        Predict the motion of the joint.

        :param bound: kernel 'momentum', evaluated where the joint is by the model.
        :param index: places of the controlled joints among all.
        :param tau: torque that acts from now on.
        :param dt: s since the state before.
        :param acted: mean torque that the motion answers to, if states are late; None: the last.
        :param learnt: periods since the halt in which everything was as usual.
        """
        i, outputs = self.joint, bound.outputs
        if i is None:
            return
        self._free.update(outputs['H'], bound.inputs['qd'], outputs['bias'], tau, dt, learnt,
                          acted)
        # What the period before does not explain, it will go on to do.
        unexplained = float(self._free.observer.unexplained[i])
        self._change -= unexplained * dt / float(outputs['H'][i, index[i]])
        self.speed += self._change
        self.way += self.speed * dt

    def felt(self) -> tuple[float, float, int]:
        """
        Return what the other joints feel, where 1 cannot be hidden.

        :returns: torques if the sensor is right, torques if the joint is free, and how many joints
            bear witness.
        """
        witness = self._sign != 0.0
        if self.joint is None or self._time < _SETTLE:
            return 0.0, 0.0, 0
        seen, free = (math.sqrt(float(np.sum((felt.change / self.hidden)[witness] ** 2)))
                      for felt in (self._seen, self._free))
        return seen, free, int(witness.sum())
