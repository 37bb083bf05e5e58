# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what is heard to the history of the joints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rbd_ros.nodes.dashboard.timeline import now

if TYPE_CHECKING:
    from rbd_ros.nodes.dashboard.joint_history import JointHistory
    from rbd_ros.nodes.dashboard.telemetry import Telemetry
    from rbd_ros.view.torques import Comparison

__all__ = ['Recorder']

OLD = 0.5  # s after which a reference or a command no longer holds


class Recorder:
    """
    Append a row to the history for each picture for which joint states came.

    :param history: that is written.
    :param telemetry: what is heard.
    """

    def __init__(self, history: JointHistory, telemetry: Telemetry) -> None:
        self._history, self._telemetry = history, telemetry
        self._names = [joint.name for joint in history.joints]
        self._last = -math.inf  # stamp of the last row
        self._expected = -math.inf  # stamp up to which torques were filled in

    def record(self) -> None:
        """Append what is known now; nothing without a new joint state."""
        heard, stamp = self._telemetry, self._telemetry.motion.newest
        if stamp == self._last:
            return
        if stamp < self._last:  # the clock went back
            self._expected = -math.inf
        self._last = stamp
        values = {name: [kept.get(joint, math.nan) for joint in self._names] for name, kept in (
            ('position', heard.positions), ('velocity', heard.velocities),
            ('measured_torque', heard.efforts))}
        if heard.age('reference') < OLD:
            for name, kept in (('reference_position', heard.reference_positions),
                               ('reference_velocity', heard.reference_velocities)):
                values[name] = [kept.get(joint, math.nan) for joint in self._names]
        if len(heard.command) == len(self._names) and heard.age('commands') < OLD:
            values['commanded_torque'] = list(heard.command)
        self._history.add(now(), stamp, **values)

    def expect(self, found: Comparison) -> None:
        """Fill in the torques that the model needs, which are known later than the rest."""
        stamps, _, torques = found.points(self._expected)
        if len(stamps) > 1:
            self._history.expect(stamps, torques)
            self._expected = stamps[-1]
