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

"""States and their torques, copied in the control thread for the reporting thread."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.control.former.control_loop import ControlLoop
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.load import Load
from rbd_ros.control.former.references.joint_space import JointReference
from rbd_ros.control.former.safety.supervisor import Due

__all__ = ['Snapshot', 'Snapshots']

Array = npt.NDArray[np.float64]


class Snapshot(NamedTuple):
    """One state and what was done with it, for reports; all joints, then the controlled ones."""

    stamp: tuple[int, int]  # s and ns, of the message
    now: float  # control time, s
    q: Array
    qd: Array
    torque: Array | None  # mean total torque since the last snapshot, N.m; None: no torque
    sent: Array  # N.m
    reference: Array | None  # position, velocity, acceleration of the controlled joints
    gravity: Array
    payload: Array
    steady: float


class Snapshots:
    """One snapshot per ``divider`` states, to be taken out of ``kept``."""

    def __init__(self, joints: JointMap, loop: ControlLoop, reference: JointReference,
                 load: Load) -> None:
        """
        Keep nothing yet.

        :param joints: collected states.
        :param loop: its torques are noted.
        :param reference: of the controlled joints.
        :param load: payload and gravity.
        """
        self._joints, self._loop = joints, loop
        self._reference, self._load = reference, load
        self.kept: deque[Snapshot] = deque(maxlen=200)
        self.divider = 0  # states between two snapshots; 0: none are taken
        self.watched = True  # whether the reporting thread wants them
        self._sum = np.zeros_like(loop.sent)  # of the torques since the last one
        self._count = 0

    @property
    def wanted(self) -> bool:
        """Return whether states are to be noted."""
        return self.watched and self.divider > 0

    def note(self, stamp: tuple[int, int], now: float, steady: float, tracks: bool) -> None:
        """
        Record a state after its cycle.

        :param stamp: s and ns, of the message.
        :param now: control time, s.
        :param steady: steady time, s.
        :param tracks: whether the law follows the reference of the joints.
        """
        joints, loop = self._joints, self._loop
        np.add(self._sum, loop.limiter.last, out=self._sum)
        self._count += 1
        if self._count < self.divider:
            return
        running = loop.supervisor.due is not Due.NOTHING
        self.kept.append(Snapshot(
            stamp, now, joints.q.copy(), joints.qd.copy(),
            self._sum / self._count if running else None, loop.sent.copy(),
            self._reference.state.copy() if tracks else None,
            self._load.gravity.value.copy(), self._load.payload.value.copy(), steady))
        self._sum[:] = 0.0
        self._count = 0
