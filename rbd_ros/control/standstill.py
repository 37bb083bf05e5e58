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
Torque without motion: a joint that is held, or a sensor that is frozen.

A joint that stands exactly still while its law pushes is held by something, or it moves and its
sensor does not say so. Two momentum observers tell the two apart. The first believes the sensor:
what holds a joint, a brake or friction, then acts on this joint alone. The second lets the joint
move freely, as the model predicts. If the sensor is frozen, the other joints feel that motion, in
proportion to a column of the inertia matrix: the first observer finds torques on them, and the
second does not. A wall or a person acts on several joints as well, but for both observers.

Where the second is right, the joint is braked all the same, by its predicted motion.
"""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.joint_states.joint_map import JointMap
from rbd_ros.control.laws.observer import MomentumObserver
from rbd_ros.control.modes import Law
from rbd_ros.control.safety.causes import Cause
from rbd_ros.control.safety.limits import TorqueLimiter
from rbd_ros.control.safety.monitors import Patience
from rbd_ros.control.settings import Settings

__all__ = ['Standstill']

Array = npt.NDArray[np.float64]
Report = Callable[[Cause, str], None]

#: share of the torque limits by which friction and errors of the model can hide a torque
_HIDDEN = 0.02

#: what is left of the torques on the other joints if the joint moves unseen, at most
_LEFT = 0.5

#: s for which a joint stands still before its tracking error means something: the steps of a
#: coarse encoder are shorter at any speed that matters
_STANDS = 0.05

#: share of the errors of the tip that are faults, beyond which a joint should have moved
_LAGS = 0.1

#: s for which the model may stand in for a sensor from the start of a standstill on: its errors
#: add up, and a wrong prediction brakes a joint that does not move
_HORIZON = 0.2

#: s after which what was seen before a gap is forgotten
_GAP = 0.1


class Standstill:
    """Watch the joints of one robot that stand still against a torque, on the slow path."""

    def __init__(self, settings: Settings, joints: JointMap, bound: Bound,
                 observer: MomentumObserver) -> None:
        """
        Take the parts.

        :param settings: valid set.
        :param joints: the states.
        :param bound: kernel 'momentum'.
        :param observer: that believes the sensors; runs whenever something is unusual.
        """
        self._joints, self._bound, self._believes = joints, bound, observer
        self._names = settings.robot.joints
        self._coupled = not settings.robot.model.loops
        n = len(self._names)
        self._doubts = MomentumObserver(observer.gain.tolist(), settings.robot.model.nv)
        self._gate, self._hidden, self._far = np.zeros((3, n))
        self._time = np.zeros(n)  # s of standstill
        self._suspect: int | None = None  # joint whose sensor may be frozen
        self._lost = False  # it is: the model stands in for it
        self._place = self._error = 0.0  # where the suspect stands, and its error then
        # of the suspect by the model: way, velocity, its change in the last period
        self._moved = self._speed = self._change = 0.0
        self._patience = Patience(0.0)
        self._now = self._predicted = -math.inf
        self.apply(settings)

    def apply(self, settings: Settings) -> None:
        """
        Take new bounds.

        :param settings: valid set.
        """
        self._gate[:] = settings.standstill_torque
        self._hidden[:] = _HIDDEN * settings.torque_limits
        self._far[:] = settings.standstill_errors
        self._lags = _LAGS * settings.task_errors
        self._patience.most = settings.number('velocity_patience')
        self._doubts.gain[:] = self._believes.gain

    def restart(self) -> None:
        """Forget what was seen."""
        self._time[:] = 0.0
        self._suspect, self._lost = None, False

    @property
    def calm(self) -> bool:
        """Return whether no joint stands still against a torque."""
        return not self._time.any()

    def check(self, now: float, law: Law, runs: bool, fault: Report) -> None:
        """
        Check a state whose torque is computed.

        :param now: control time, s.
        :param law: of the mode.
        :param runs: whether the law has computed it; else the robot is being stopped.
        :param fault: called with what is wrong.
        """
        elapsed, self._now = now - self._now, now
        if self._lost or not (runs or self._time.any()):
            return
        if not 0.0 <= elapsed <= _GAP:
            self.restart()
            elapsed = 0.0
        repeats = self._joints.motion.repeats
        held = repeats.present.copy()
        if runs:
            excess = law.outputs['law'] - law.outputs['gravity']
            held &= (np.abs(excess) > self._gate) | repeats.unusual
        else:
            held &= self._time > 0.0
        if not held.any():
            self.restart()
            return
        # A joint that stands is not calm from its first message on. Its time begins there: the
        # messages before may have taken the fast path, with the joint in motion.
        self._time[:] = np.where(held, np.where(self._time > 0.0, self._time + elapsed, 1e-9), 0.0)
        self._choose_suspect(now, law)
        self._judge(now, law, runs, fault)

    def _choose_suspect(self, now: float, law: Law) -> None:
        """Choose the joint that stands longest; among equals the one that is pushed hardest."""
        if self._suspect is not None and self._time[self._suspect] > 0.0:
            return
        pushed = np.abs(self._believes.torque) / self._hidden
        i = self._suspect = int(np.lexsort((pushed, self._time))[-1])
        self._place = float(self._joints.q[self._joints.controlled[i]])
        self._moved, self._change, self._predicted = 0.0, 0.0, now
        self._error = float(law.error[i]) if law.tracks else 0.0
        self._speed = float(self._joints.motion.speed[i])
        self._doubts.reset()
        self._doubts.torque[:] = self._believes.torque  # what acts already is no evidence
        self._patience.restart()

    def _judge(self, now: float, law: Law, runs: bool, fault: Report) -> None:
        """Report a joint that should move and does not."""
        i = self._suspect
        if i is None:
            return
        believed, doubted = self._felt_by_others(i)
        unseen = believed > 1.0 and doubted < _LEFT * believed
        present = self._joints.motion.repeats.present
        braked = len(present) > 1 and bool(present.all())  # nothing moves at all
        if (runs and self._time[i] >= _STANDS and not braked
                and (believed < 1.0 or unseen)):  # else an obstacle
            behind = self._behind(i, law)
            if behind > self._far[i]:
                fault(Cause.TRACKING, f'{self._names[i]} does not move at all: it should have '
                      f'moved by {behind:.3g}, more than a tenth of tracking_limits (blocked, '
                      'or a frozen sensor)')
        if self._patience.runs_out(now, unseen):
            fault(Cause.FROZEN, f'{self._names[i]} stands at {self._place:.6g}, but the other '
                                'joints feel that it moves')

    def _behind(self, i: int, law: Law) -> float:
        """
        Return by how much a joint should have moved since it stands still.

        An error that does not grow, at a wall or against friction, says nothing of the sensor.
        """
        if law.tracks:
            return abs(float(law.error[i]) - self._error)
        lags = law.leads and bool((np.abs(law.error) > self._lags).any())
        return abs(self._moved) if lags else 0.0

    def trust_model(self) -> None:
        """Take the sensor of the joint that stands for frozen, if it did not stand for long."""
        i, repeats = self._suspect, self._joints.motion.repeats
        if i is None or (repeats.stuck(self._patience.most) is not None
                         and not repeats.unusual[i]):  # another sensor lacks its noise
            return
        self._lost = self._lost or 0.0 < float(self._time[i]) <= _HORIZON

    def _felt_by_others(self, i: int) -> tuple[float, float]:
        """
        Return the torques on the other joints by both observers, where 1 cannot be hidden.

        A joint that stands still itself may be held, and is no witness: behind closed brakes, the
        torques of a law that wants to move one joint alone are those that the others would feel.
        """
        sizes = []
        for observer in (self._believes, self._doubts):
            torque = np.where(self._joints.motion.repeats.present, 0.0,
                              observer.torque / self._hidden)
            torque[i] = 0.0
            sizes.append(math.sqrt(torque @ torque))
        return sizes[0], sizes[1] if self._coupled else math.inf

    def predict(self, now: float, limiter: TorqueLimiter) -> None:
        """
        Predict how the suspect moves if it is free, after the first observer has taken a state.

        :param now: control time, s.
        :param limiter: has the torque that acts from now on.
        """
        elapsed, self._predicted = now - self._predicted, now
        i = self._suspect
        if i is None or not 0.0 < elapsed <= _GAP:
            return
        inputs, outputs = self._bound.inputs, self._bound.outputs
        j = self._joints.controlled[i]
        if not self._lost:  # else both observers have taken the predicted state
            inputs['q'][j] += self._moved
            inputs['qd'][j] = self._speed
            self._bound()
        self._doubts.update(outputs['H'], inputs['qd'], outputs['bias'], limiter.last, elapsed)
        # What the period before does not explain, it will go on to do.
        change = self._change - self._doubts.unexplained[i] * elapsed / outputs['H'][i, j]
        self._change = change
        self._speed += change
        self._moved += self._speed * elapsed

    def replace(self) -> None:
        """Put the predicted motion in the place of that of a frozen sensor."""
        if self._lost and self._suspect is not None:
            j = self._joints.controlled[self._suspect]
            self._joints.q[j] = self._place + self._moved
            self._joints.qd[j] = self._speed
