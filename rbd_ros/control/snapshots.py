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

from rbd_ros.control.step.state import State
from rbd_ros.control.supervisor.due import due_now
from rbd_ros.control.supervisor.states import Due

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
    """
    One snapshot per ``divider`` states, to be taken out of ``kept``.

    :param x: state of the controller; only read.
    """

    def __init__(self, x: State) -> None:
        self._x = x
        self.kept: deque[Snapshot] = deque(maxlen=200)
        self.divider = 0  # states between two snapshots; 0: none are taken
        self.watched = True  # whether the reporting thread wants them
        self._sum = np.zeros_like(x.command.torque.limiter.last)  # of torques since the last
        self._count = 0

    @property
    def wanted(self) -> bool:
        """Return whether states are to be noted."""
        return self.watched and self.divider > 0

    def note(self, tracks: bool) -> None:
        """
        Record a state after its step.

        :param tracks: whether the law follows the reference of the joints.
        """
        x, limiter = self._x, self._x.command.torque.limiter
        np.add(self._sum, limiter.last, out=self._sum)
        self._count += 1
        if self._count < self.divider:
            return
        running = due_now(x.command.supervisor) != Due.NOTHING
        self.kept.append(Snapshot(
            (int(x.stamp_s), int(x.stamp_ns)), x.now, x.joints.q.copy(), x.joints.qd.copy(),
            self._sum / self._count if running else None, limiter.sent.copy(),
            x.references.joint.profile.state.copy() if tracks else None, x.load.gravity.copy(),
            x.load.payload.copy(), x.steady))
        self._sum[:] = 0.0
        self._count = 0
