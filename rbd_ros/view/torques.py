# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Measured against predicted torque: what the joints did, smoothed, and what the model says of it.

A page may be late: velocity and acceleration at a time are found from what came before and after,
so that neither lags behind the torque.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.compiler import Array

if TYPE_CHECKING:
    from rbd_ros.dynamics.robot import Dynamics

__all__ = ['Comparison', 'fixed_positions', 'Moment', 'Motion', 'Track']

HALF_WINDOW = 0.05  # s, half of the time over which a state is smoothed
FEWEST = 7  # states in a window, of a driver that is slow
PERIOD = 0.08  # s between two points
SPAN = 150  # points that are compared
LONGEST_GAP = 1.0  # s without states after which a plot goes on from the present
MOST_ROWS = 4000  # states of one kind that are kept
MOST_TRACKS = 8  # kinds of messages, as in the controller
_NOTHING = (0.0, (0.0, 0.0, 0.0), ((0.0, 0.0, 0.0),) * 3)  # mass, centre, inertia


class Moment(NamedTuple):
    """Smoothed position, velocity, acceleration and torque of some joints; the last may lack."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array | None


class Track:
    """States of the same joints, in the order of time."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, Sequence[float], Sequence[float], Sequence[float]]]
        self._rows = deque(maxlen=MOST_ROWS)

    def add(self, t: float, q: Sequence[float], qd: Sequence[float], tau: Sequence[float]) -> None:
        """Append a state; after a jump of the clock what was before it is forgotten."""
        rows = self._rows
        if rows and not 0.0 <= t - rows[-1][0] <= LONGEST_GAP:
            rows.clear()
        if not rows or t > rows[-1][0]:
            rows.append((t, q, qd, tau))

    def __len__(self) -> int:
        """Return how many states are kept."""
        return len(self._rows)

    @property
    def newest(self) -> float:
        """Return the time of the last state, minus infinity if there is none."""
        return self._rows[-1][0] if self._rows else -math.inf

    def forget(self, before: float) -> None:
        """Drop what is older than a time."""
        rows = self._rows
        while rows and rows[0][0] < before:
            rows.popleft()

    def half_window(self) -> float:
        """Return half of the time that is smoothed: more where states are rare."""
        rows = self._rows
        if len(rows) < 2:
            return HALF_WINDOW
        period = (rows[-1][0] - rows[0][0]) / (len(rows) - 1)
        return max(HALF_WINDOW, 0.5 * FEWEST * period)

    def at(self, t: float, half: float) -> Moment | None:
        """
        Return the smoothed state at a time.

        The slope of a straight line through the velocities is their derivative averaged with a
        parabola as the weight; torques are averaged with the same weight, so that both have lost
        the same of what is fast.

        :param half: half of the window, s.
        """
        rows = [row for row in list(self._rows) if abs(row[0] - t) <= half]
        if len(rows) < 4 or not rows[0][0] < t < rows[-1][0]:
            return None
        n = len(rows[0][1])
        s = np.array([row[0] for row in rows]) - t
        weight = np.maximum(half * half - s * s, 0.0)
        if weight.sum() <= 0.0:
            return None

        def table(parts: list[Sequence[float]]) -> Array | None:
            if any(len(part) != n for part in parts):
                return None
            found = np.concatenate(parts, dtype=float).reshape(len(rows), n)
            return found if np.isfinite(found).all() else None
        q, qd, tau = (table([row[1] for row in rows]), table([row[2] for row in rows]),
                      table([row[3] for row in rows]))
        if q is None:
            return None
        if qd is None:  # of positions, velocity and acceleration are the two derivatives
            c = np.polynomial.polynomial.polyfit(s, q, 2)
            here, speed, rate = c[0], c[1], 2.0 * c[2]
        else:
            here, speed = _middle(s, q, weight), _middle(s, qd, weight)
            lever = s - s.mean()
            rate = lever @ qd / (lever @ lever)  # slope of the straight line
        return Moment(here, speed, rate, None if tau is None else _middle(s, tau, weight))


def _middle(s: Array, x: Array, weight: Array) -> Array:
    """Return the weighted mean, moved to the middle where the states lie to one side of it."""
    total = weight.sum()
    mean, aside = weight @ x / total, float(weight @ s) / total
    if aside == 0.0:
        return mean
    spread = float(weight @ (s - aside) ** 2)
    slope = weight * (s - aside) @ x / spread if spread > 0.0 else 0.0
    return mean - slope * aside


class Motion:
    """What drivers publish of the joints, and what was sent to them, with times."""

    def __init__(self) -> None:
        self._tracks: dict[tuple[str, ...], Track] = {}
        self.sent = Track()  # torques of the controlled joints, in place of positions
        self.newest = -math.inf  # time of the last state
        self.needs_sent = False  # each torque that is sent; the last one is enough otherwise

    def add(self, t: float, names: Sequence[str], q: Sequence[float], qd: Sequence[float],
            tau: Sequence[float]) -> None:
        """Take a joint state; what is empty was not measured."""
        key = tuple(names)
        track = self._tracks.get(key)
        if len(q) != len(key) or (track is None and len(self._tracks) >= MOST_TRACKS):
            return
        if track is None:
            track = self._tracks[key] = Track()
        track.add(t, q, qd, tau)
        self.newest = t

    def add_sent(self, tau: Sequence[float]) -> None:
        """Take torques that were sent for the last joint state."""
        if math.isfinite(self.newest):
            self.sent.add(self.newest, tau, (), ())

    def due(self, last: float) -> list[float]:
        """
        Return the times, since the last one, at which a state can be smoothed by now.

        :param last: time of the last point of the plot.
        """
        tracks = [track for track in self._tracks.values()
                  if track.newest > self.newest - LONGEST_GAP]
        if not tracks:
            return []
        half = max(track.half_window() for track in tracks)
        until = min(track.newest for track in tracks) - half
        if not 0.0 <= until - last <= LONGEST_GAP:
            last = until - PERIOD
        for track in (*tracks, self.sent):
            track.forget(last - 2.0 * half)
        return [last + PERIOD * (k + 1) for k in range(int((until - last) / PERIOD + 1e-6))]

    def at(self, t: float) -> dict[str, tuple[float, float, float, float]]:
        """Return q, qd, qdd and torque of each joint at a time; NaN: the torque is not known."""
        found: dict[str, tuple[float, float, float, float]] = {}
        for names, track in list(self._tracks.items()):
            moment = track.at(t, track.half_window())
            if moment is not None:
                tau = np.full(len(names), np.nan) if moment.tau is None else moment.tau
                found.update(zip(names, zip(moment.q, moment.qd, moment.qdd, tau), strict=True))
        return found

    def sent_at(self, t: float) -> Array | None:
        """Return the smoothed torques that were sent."""
        half = self.sent.half_window()
        moment = self.sent.at(t, half)
        return None if moment is None else moment.q


class Comparison:
    """
    Torques that were measured, and those that the model predicts for the motion.

    :param robot: compiled with a payload frame; it gets gravity and payload of the controller.
    :param frame: where its payload hangs.
    :param joints: the controlled ones.
    :param motion: what is known of them.
    """

    def __init__(self, robot: Dynamics, frame: str, joints: Sequence[str],
                 motion: Motion) -> None:
        model, self._frame = robot.model, frame
        self._robot, self._joints, self._motion = robot, tuple(joints), motion
        self._names = model.independent_joint_names
        self._index = [self._names.index(name) for name in joints]
        self._rotors = np.array(model.rotor_inertia)[self._index]
        self._points: deque[tuple[float, Array, Array]] = deque(maxlen=SPAN)
        self._last = -math.inf
        #: What is compared: 'effort', or 'sent' plus what the driver adds; empty: nothing yet.
        self.source = ''
        self._load: tuple[float, Any, Any] = _NOTHING
        #: Joints that nobody publishes, at rest.
        self._fixed: dict[str, tuple[float, float, float, float]] = {}
        #: Whether the controller has a payload at another frame, which is not counted.
        self.elsewhere = False

    def carry(self, settings: Mapping[str, Any]) -> None:
        """
        Give the robot gravity and payload of the controller; ask for what its efforts lack.

        :param settings: parameters of the controller.
        """
        self._motion.needs_sent = settings.get('effort_is_torque') is False
        self._fixed = {name: (q, 0.0, 0.0, math.nan)
                       for name, q in fixed_positions(settings).items()}
        mass = float(settings.get('payload.mass') or 0.0)
        frame = settings.get('payload.frame') or settings.get('task.frame') or self._frame
        self.elsewhere = mass > 0.0 and frame != self._frame
        self._load = _NOTHING
        if mass > 0.0 and not self.elsewhere:
            xx, xy, xz, yy, yz, zz = settings.get('payload.inertia') or (0.0,) * 6
            self._load = (mass, settings.get('payload.com') or (0.0,) * 3,
                          ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
        self._robot.set_payload(*self._load)
        if settings.get('gravity') is not None:
            self._robot.set_gravity(settings['gravity'])

    def update(self, settings: Mapping[str, Any]) -> None:
        """
        Add what happened since the last time.

        :param settings: parameters of the controller; where one is not known, that which the
            robot description implies.
        """
        for t in self._motion.due(self._last):
            if self._points and t < self._points[-1][0]:
                self._points.clear()  # the clock went back
            self._last = t
            found = {**self._fixed, **self._motion.at(t)}
            if all(name in found for name in self._names):
                self._add(t, np.array([found[name] for name in self._names]), settings)

    def _add(self, t: float, state: Array, settings: Mapping[str, Any]) -> None:
        q, qd, qdd, effort = state.T.copy()
        robot, index, n = self._robot, self._index, len(self._index)
        predicted = robot.inverse_dynamics(q, qd, qdd)[index]
        rotors = settings.get('rotor_inertia')
        if rotors:
            predicted = predicted + (_each(rotors, n) - self._rotors) * qdd[index]
        predicted = predicted + friction(qd[index], settings)
        measured = effort[index]
        source = 'effort'
        if settings.get('effort_is_torque') is False:
            sent = self._motion.sent_at(t)
            if sent is None or len(sent) != n:
                return
            source, measured = 'sent', sent + self._driver(q, qd, settings)
        if not (np.isfinite(measured).all() and np.isfinite(predicted).all()):
            return
        if source != self.source:
            self._points.clear()
            self.source = source
        self._points.append((t, measured, predicted))

    def _driver(self, q: Array, qd: Array, settings: Mapping[str, Any]) -> Array:
        """Return what the driver adds to a command."""
        adds, robot = settings.get('driver_adds') or 'none', self._robot
        if adds == 'none':
            return np.zeros(len(self._index))
        if not settings.get('driver_knows_payload'):
            robot.set_payload(*_NOTHING)
        added = robot.gravity(q) if adds == 'gravity' else robot.bias(q, qd)
        robot.set_payload(*self._load)
        return added[self._index]

    def points(self, since: float = -math.inf) -> tuple[Array, Array, Array]:
        """Return times, and a row of measured and one of predicted torques for each of them."""
        found = [point for point in list(self._points) if point[0] >= since]
        n = len(self._joints)
        return (np.array([t for t, _, _ in found]),
                np.array([measured for _, measured, _ in found]).reshape(-1, n),
                np.array([predicted for _, _, predicted in found]).reshape(-1, n))

    def rms(self) -> Array | None:
        """Return the rms difference of each joint of late; None: there is nothing yet."""
        if not self._points:
            return None
        apart = np.array([measured - predicted for _, measured, predicted in self._points])
        return np.sqrt((apart * apart).mean(axis=0))


def fixed_positions(settings: Mapping[str, Any]) -> dict[str, float]:
    """
    Return where the joints are that nobody publishes, by name.

    :param settings: parameters of the controller.
    """
    return dict(zip(settings.get('fixed_positions.joints') or (),
                    settings.get('fixed_positions.values') or (), strict=False))


def friction(qd: Array, settings: Mapping[str, Any]) -> Array:
    """Return the torque that friction takes at some velocities, as the controller describes it."""
    n = len(qd)
    viscous, dry, speed = (_each(settings.get(f'friction.{name}') or [default], n)
                           for name, default in (('viscous', 0.0), ('coulomb', 0.0),
                                                 ('speed', 0.05)))
    return viscous * qd + dry * np.tanh(qd / speed)


def _each(value: Any, n: int) -> Array:
    """Return one number per joint; NaN where there is another number of them."""
    found = np.atleast_1d(np.asarray(value, float))
    return np.broadcast_to(found, n).copy() if len(found) in (1, n) else np.full(n, np.nan)
