# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States and their torques, noted in the control thread for the reporting thread."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.step.state import Parameters, State
from rbd_ros.control.supervisor.due import due_now
from rbd_ros.control.supervisor.states import Due

__all__ = ['note_state', 'Noted', 'Snapshot', 'Snapshots']

Array = npt.NDArray[np.float64]


class Noted(Record):
    """The last state that was noted, and the torques since."""

    divider: float = field('', '', 'states between two that are noted; 0: none are')
    count: float = field('', '', 'states since the last one')
    taken: float = field('', '', 'states that the step had taken at the last look')
    fresh: bool = field('', '', 'whether the last look has noted one')
    stamp_s: float = field('', 's', 'of its message, whole seconds')
    stamp_ns: float = field('', 'ns', 'the rest of it')
    now: float = field('', 's', 'control time')
    steady: float = field('', 's', 'steady time')
    driven: bool = field('', '', 'whether a torque acts')
    tracks: bool = field('', '', 'whether the law follows the reference of the joints')
    q: Vector = field('m', 'rad or m', 'positions')
    qd: Vector = field('m', 'rad/s or m/s', 'velocities')
    total: Vector = field('n', 'N.m or N', 'sum of the torques since the last one')
    torque: Vector = field('n', 'N.m or N', 'mean of the torques until it')
    sent: Vector = field('n', 'N.m or N', 'what was sent')
    reference: Matrix = field('3 n', 'rad or m, /s, /s^2', 'of the joints')
    gravity: Vector = field('3', 'm/s^2', 'in the base')
    payload: Vector = field('10', '', 'see payload_vector')
    sensed: bool = field('', '', 'whether a force-torque sensor is read and not silent')
    wrench: Vector = field('6', 'N.m, N', 'what the surroundings exert on the tool by it')


def note_state(noted: Noted, x: State, p: Parameters) -> None:
    """
    Take a state after its step, if there is a new one.

    :param noted: gets it; ``fresh`` says if it was noted.
    :param x: state of the controller.
    """
    new, noted.taken, noted.fresh = x.taken != noted.taken, x.taken, False
    if not new or noted.divider == 0.0:
        return
    noted.total[:] += x.command.torque.limiter.last
    noted.count += 1.0
    if noted.count < noted.divider:
        return
    noted.stamp_s, noted.stamp_ns, noted.now, noted.steady = x.stamp_s, x.stamp_ns, x.now, x.steady
    noted.driven = due_now(x.command.supervisor) != Due.NOTHING
    noted.tracks = x.laws.tracks()
    noted.q[:] = x.joints.q
    noted.qd[:] = x.joints.qd
    noted.torque[:] = noted.total / noted.count
    noted.total[:] = 0.0
    noted.sent[:] = x.command.torque.limiter.sent
    noted.reference[:] = x.references.joint.profile.state
    noted.gravity[:] = x.load.gravity
    noted.payload[:] = x.load.payload
    # the last wrench of a sensor that has fallen silent is no measurement of now
    noted.sensed = x.sensor.known > 0.0 and x.sensor.is_fresh(p.sensor, x.now)
    noted.wrench[:] = x.sensor.wrench
    noted.count, noted.fresh = 0.0, True


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
    wrench: Array | None = None  # by the force-torque sensor, moment first; None: there is none

    @classmethod
    def of(cls, noted: Noted) -> Snapshot:
        """
        Return a state that was noted.

        :param noted: may change afterwards.
        """
        return cls((int(noted.stamp_s), int(noted.stamp_ns)), noted.now, noted.q.copy(),
                   noted.qd.copy(), noted.torque.copy() if noted.driven else None,
                   noted.sent.copy(), noted.reference.copy() if noted.tracks else None,
                   noted.gravity.copy(), noted.payload.copy(), noted.steady,
                   noted.wrench.copy() if noted.sensed else None)


class Snapshots:
    """
    One snapshot per ``divider`` states, to be taken out of ``kept``.

    :param x: state of the controller; only read.
    :param p: its parameters; only read.
    """

    def __init__(self, x: State, p: Parameters) -> None:
        self._x, self._p = x, p
        self.noted = Noted(x.sizes)
        self.kept: deque[Snapshot] = deque(maxlen=200)
        self.divider = 0  # states between two snapshots; 0: none are taken
        self.watched = True  # whether the reporting thread wants them

    @property
    def wanted(self) -> bool:
        """Return whether states are to be noted."""
        return self.watched and self.divider > 0

    def note(self) -> None:
        """Record a state after its step."""
        self.noted.divider = self.divider
        note_state(self.noted, self._x, self._p)
        if self.noted.fresh:
            self.kept.append(Snapshot.of(self.noted))
