# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Trajectories as MoveIt plans them, and its simple controller manager as a client."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rbd_ros.control.references.trajectory import Knots

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """
    A way from rest to rest that is no straight line, with all its derivatives.

    :param start: positions at its begin.
    :param way: from there to its end.
    :param sway: how far it leaves the straight line.
    :param seconds: that it takes.
    """

    start: Array
    way: Array
    sway: Array
    seconds: float

    def at(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration at a time from its begin."""
        s = min(max(time / self.seconds, 0.0), 1.0)
        x = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        v = 30.0 * s * s * (1.0 - s)**2 / self.seconds
        a = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / self.seconds**2
        turn = 2.0 * np.pi
        slope = self.way + turn * self.sway * np.cos(turn * x)
        bend = -turn * turn * self.sway * np.sin(turn * x)
        return (self.start + self.way * x + self.sway * np.sin(turn * x), slope * v,
                slope * a + bend * v * v)

    @property
    def end(self) -> Array:
        """Return the positions at its end."""
        return self.start + self.way

    def knots(self, count: int = 200) -> Knots:
        """Return points as a time parametrisation gives them: the first one is the start."""
        times = np.linspace(0.0, self.seconds, count)
        return Knots(times, *(np.array(each) for each in zip(*map(self.at, times), strict=True)))


def random_plan(rng: np.random.Generator, start: Array, seconds: float, size: float) -> Plan:
    """Return a plan of some size from a position."""
    return Plan(start, rng.uniform(-size, size, len(start)),
                rng.uniform(-0.2, 0.2, len(start)) * size, seconds)


class ServoStream:
    """
    What MoveIt Servo publishes as JointTrajectory, from its rolling window of commands.

    Each command is for ``latency`` later. A message has all commands of the window but the newest,
    its stamp is the time of the oldest; velocities are the smaller of the two differences, or 0
    where the direction changes.

    :param period: publish_period, s.
    :param latency: max_expected_latency, s.
    """

    def __init__(self, period: float, latency: float) -> None:
        self._period, self._latency = period, latency
        self._window: list[tuple[float, Array, Array]] = []

    def command(self, now: float, q: Array) -> tuple[float, Knots] | None:
        """Take a command; return stamp and points of the message, if there is one."""
        window, due = self._window, now + self._latency
        while window and window[0][0] < now - self._latency:
            window.pop(0)
        qd = np.zeros(len(q))
        if len(window) >= 2:
            (t0, q0, _), (t1, q1, v1) = window[-2:]
            before, after = (q1 - q0) / (t1 - t0), (q - q1) / (due - t1)
            v1[:] = np.where(before * after <= 0.0, 0.0, np.where(
                np.abs(after) < np.abs(before), after, before))
            qd = v1.copy()
        window.append((due, q.copy(), qd))
        if len(window) < 3:
            return None
        stamp = window[0][0]
        times, points, speeds = zip(*window[:-1], strict=True)
        return stamp, Knots(np.array(times) - stamp, np.array(points), np.array(speeds), None)
