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
sensor does not say so. What the other joints feel tells the two apart (``hidden_motion``). If
they feel that it moves, its sensor is frozen: the joint is braked all the same, by its predicted
motion.

If nobody feels anything, a brake may hold it, or friction. Then it is a tracking error, which ends
in a hold, if the joint falls behind after a halt that took more torque than friction has.
"""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.former.hidden_motion import HiddenMotion
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.laws.observer import MomentumObserver
from rbd_ros.control.former.modes import Law
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.monitors import Patience
from rbd_ros.control.parameters.settings import Settings

__all__ = ['Standstill']

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Report = Callable[[Cause, str], None]

#: share of the torque limits by which errors of the model can hide a torque
_HIDDEN = 0.02

#: torques on the other joints, where 1 cannot be hidden, that prove something, and what is left of
#: them at most if the joint moves unseen
_FELT, _LEFT = 1.0, 0.5

#: the same for torques that errors of the model could hide, but that the motion of this joint
#: explains as no chance would; and after a halt that friction does not explain
_HINT, _HARDLY = 0.05, 0.1
_HINT_HALTED, _HARDLY_HALTED = 0.1, 0.2

#: other joints that must agree, if there are so many; fewer are misled by one push
_WITNESSES, _FEWEST = 3, 2

#: s for which an abrupt halt is remembered
_REMEMBERED = 1.0

#: s for which a joint stands still before its tracking error means something: the steps of a
#: coarse encoder are shorter at any speed that matters
_STANDS = 0.05

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
        :param observer: of external torques; runs whenever something is unusual.
        """
        self._joints, self._bound, self._observer = joints, bound, observer
        self._names = settings.robot.joints
        n = len(self._names)
        # In closed loops the motion of one joint alone does not exist.
        self._enough = math.inf if settings.robot.model.loops else max(
            _FEWEST, min(_WITNESSES, n - 1))
        self._suspect = HiddenMotion(observer.gain, settings.robot.model.nv)
        self._gate, self._halt, self._far, self._tolerance = np.zeros((4, n))
        self._friction, self._pull = np.zeros((2, n))
        self._halted = np.zeros(n, dtype=bool)  # whether a joint came to stand abruptly
        self._time = np.zeros(n)  # s of standstill
        self._lost = False  # the model stands in for the sensor of the suspect
        self._place = self._error = 0.0  # where the suspect stands, and its error then
        self._right = False  # the others have felt that the suspect stands
        self._patience = Patience(0.0)
        self._now = self._predicted = -math.inf
        self.apply(settings)

    def apply(self, settings: Settings) -> None:
        """
        Take new bounds.

        :param settings: valid set.
        """
        self._gate[:] = settings.standstill_torque
        self._suspect.hidden[:] = _HIDDEN * settings.torque_limits
        self._suspect.set_gain(self._observer.gain)
        self._friction[:], self._pull[:] = settings.most_friction, settings.most_deceleration
        self._halt[:] = settings.halt_speed
        self._tolerance[:] = settings.joints('state_tolerance')
        self._far[:] = settings.standstill_errors
        self._patience.most = settings.number('velocity_patience')

    def restart(self) -> None:
        """Forget what was seen."""
        self._time[:] = 0.0
        self._halted[:] = False
        self._suspect.forget()
        self._lost = False

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
        held, began = self._hold(law, runs, elapsed)
        if not held.any():
            self.restart()
            return
        self._choose_suspect(now, law, began)
        self._judge(now, law, runs, fault)

    def _hold(self, law: Law, runs: bool, elapsed: float) -> tuple[Flags, Flags]:
        """Return which joints stand although they should move, and which of them newly do."""
        motion = self._joints.motion
        held = motion.repeats.present.copy()
        slower = np.abs(motion.speed - self._joints.qd[self._joints.controlled])
        self._halted |= slower > self._halt
        self._halted &= held & (self._time < _REMEMBERED)
        if runs:
            excess = law.outputs['law'] - law.outputs['gravity']
            held &= (np.abs(excess) > self._gate) | motion.repeats.unusual | self._halted
        else:
            held &= self._time > 0.0
        # A joint that stands is not calm from its first message on. Its time begins there: the
        # messages before may have taken the fast path, with the joint in motion.
        began = held & (self._time == 0.0)
        self._time[:] = np.where(held, np.where(began, 1e-9, self._time + elapsed), 0.0)
        return held, began

    def _choose_suspect(self, now: float, law: Law, began: Flags) -> None:
        """Choose the joint with the most abrupt halt, or else the one that stands longest."""
        suspect, motion, index = self._suspect, self._joints.motion, self._joints.controlled
        slower = np.abs(motion.speed - self._joints.qd[index])
        halts = np.where(began & self._halted, slower / self._halt, 0.0)
        i = suspect.joint
        if i is not None and self._time[i] > 0.0 and (self._halted[i] or not halts.any()):
            return
        if halts.any():
            i = int(halts.argmax())
        else:  # among equals the one that is pushed hardest
            pushed = np.abs(self._observer.torque) / suspect.hidden
            i = int(np.lexsort((pushed, self._time))[-1])
        self._place = float(self._joints.q[index[i]])
        self._error = float(law.error[i]) if law.tracks else 0.0
        suspect.follow(i, float(motion.speed[i]) if began[i] else 0.0, self._joints.qd[index])
        self._predicted, self._right = now - motion.elapsed, False
        self._patience.restart()

    def _judge(self, now: float, law: Law, runs: bool, fault: Report) -> None:
        """Report a joint that should move and does not."""
        suspect, i = self._suspect, self._suspect.joint
        if i is None:
            return
        halted = self._time[i] <= _REMEMBERED and suspect.stop > min(
            self._friction[i], suspect.inertia * self._pull[i])
        seen, free, witnesses = suspect.felt()
        unseen = seen > _FELT and free < _LEFT * seen and self._time[i] <= _HORIZON or (
            seen > _HINT and free < _HARDLY * seen) or (
            halted and seen > _HINT_HALTED and free < _HARDLY_HALTED * seen)
        present = self._joints.motion.repeats.present
        braked = len(present) > 1 and bool(present.all())  # nothing moves at all
        self._right = self._right or free > _HINT and seen < _LEFT * free
        if (runs and halted and not (braked or self._right) and self._time[i] >= _STANDS
                and (max(seen, free) < _HINT or free < _LEFT * seen)):  # else an obstacle
            behind = self._behind(i, law)
            if behind > self._far[i]:
                fault(Cause.TRACKING, f'{self._names[i]} does not move at all: it should have '
                      f'moved by {behind:.3g}, more than a tenth of tracking_limits (blocked, '
                      'or a frozen sensor)')
        if self._patience.runs_out(now, unseen and witnesses >= self._enough
                                   and abs(suspect.way) > self._tolerance[i]):
            fault(Cause.FROZEN, f'{self._names[i]} stands at {self._place:.6g}, but the other '
                                'joints feel that it moves')

    def _behind(self, i: int, law: Law) -> float:
        """Return by how much a joint should have moved since it stands still."""
        if law.tracks:
            return abs(float(law.error[i]) - self._error)
        return abs(self._suspect.way) if law.leads else 0.0

    def trust_model(self) -> None:
        """Take the sensor of the joint that stands for frozen, if it did not stand for long."""
        i, repeats = self._suspect.joint, self._joints.motion.repeats
        if i is None or (repeats.stuck(self._patience.most) is not None
                         and not repeats.unusual[i]):  # another sensor lacks its noise
            return
        self._lost = self._lost or 0.0 < float(self._time[i]) <= _HORIZON

    def predict(self, now: float, torque: Array, acted: Array | None) -> None:
        """
        Predict how the suspect moves if it is free, after the first observer has taken a state.

        :param now: control time, s.
        :param torque: that acts from now on.
        :param acted: mean one that the state answers to, if states are late; None: the last one.
        """
        elapsed, self._predicted = now - self._predicted, now
        if not 0.0 < elapsed <= _GAP:
            return
        joints = self._joints
        if self._lost:  # the first observer has taken the predicted state
            self._suspect.go_on(self._bound, joints.controlled, torque, elapsed, acted)
        else:
            self._suspect.update(self._bound, joints.controlled, joints.motion.speed, torque,
                                 elapsed, joints.motion.repeats.present, acted)

    def replace(self) -> None:
        """Put the predicted motion in the place of that of a frozen sensor."""
        if self._lost and self._suspect.joint is not None:
            j = self._joints.controlled[self._suspect.joint]
            self._joints.q[j] = self._place + self._suspect.way
            self._joints.qd[j] = self._suspect.speed
