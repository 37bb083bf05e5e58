# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The readings of a driver: noise, encoder steps, latency and lost samples, all seeded."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import SettingError
from rbd_ros.sim.floating import base_body
from rbd_ros.sim.physics import per_joint
from rbd_ros.sim.robot import SimulatedRobot

Item = TypeVar('Item')

VELOCITY_SOURCES = ('measured', 'difference', 'none')
EFFORT_SOURCES = ('motor', 'joint', 'none')


class Sample(NamedTuple):
    """
    One reading of all published joints.

    :param time_ns: simulated time at which it was taken, ns.
    :param position: rad or m.
    :param velocity: rad/s or m/s; empty if the robot does not measure it.
    :param effort: N.m or N; empty if the robot does not measure it.
    :param base: true state of a floating base: x, y, z, quaternion x, y, z, w in the world, then
        angular and linear velocity in base coordinates; empty if the base is fixed.
    """

    time_ns: int
    position: Array
    velocity: Array
    effort: Array
    base: Array = np.empty(0)


@dataclass(frozen=True)
class Imperfections:
    """
    What makes a reading differ from the true state; one number for all joints, or one per joint.

    :param position_noise: standard deviation, rad or m.
    :param velocity_noise: standard deviation, rad/s or m/s.
    :param effort_noise: standard deviation, N.m or N.
    :param resolution: step of the encoder, rad or m; 0 for none.
    :param velocity: ``'measured'``, ``'difference'`` of successive positions, or ``'none'``.
    :param effort: ``'motor'``: the torque of the actuator; ``'joint'``: the torque on the link,
        with friction, brakes and stops, as a torque sensor measures it; ``'none'``.
    :param latency: time from a reading to its delivery, s.
    :param loss: probability that a loss begins at a reading.
    :param loss_length: number of readings lost in a row.
    :param seed: of the random numbers.
    """

    position_noise: float | Sequence[float] = 0.0
    velocity_noise: float | Sequence[float] = 0.0
    effort_noise: float | Sequence[float] = 0.0
    resolution: float | Sequence[float] = 0.0
    velocity: str = 'measured'
    effort: str = 'motor'
    latency: float = 0.0
    loss: float = 0.0
    loss_length: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse invalid values, and name them."""
        for name, known in (('velocity', VELOCITY_SOURCES), ('effort', EFFORT_SOURCES)):
            if getattr(self, name) not in known:
                raise SettingError(f'the source of {name} is "{getattr(self, name)}"; '
                                   f'it must be one of {", ".join(known)}')
        if not 0.0 <= self.latency <= 10.0:
            raise SettingError(f'latency is {self.latency}; it must be between 0 and 10 s')
        if not 0.0 <= self.loss <= 1.0:
            raise SettingError(f'loss is {self.loss}; it must be a probability, 0 to 1')
        if self.loss_length < 1:
            raise SettingError(f'loss_length is {self.loss_length}; it must be at least 1')


class DelayLine(Generic[Item]):
    """
    Keeps items for a fixed time, on any clock.

    :param delay_ns: how long each item is kept, ns.
    """

    def __init__(self, delay_ns: int) -> None:
        self._delay = delay_ns
        self._items: deque[tuple[int, Item]] = deque()

    def put(self, item: Item, now_ns: int) -> None:
        """Add an item."""
        self._items.append((now_ns + self._delay, item))

    def take(self, now_ns: int) -> list[Item]:
        """Remove and return the items that are due, oldest first."""
        ready = []
        while self._items and self._items[0][0] <= now_ns:
            ready.append(self._items.popleft()[1])
        return ready

    def clear(self) -> None:
        """Drop all items."""
        self._items.clear()


class PlainReading(NamedTuple):
    """
    A reading without chance, as numbers.

    :param from_q: positions of the joints from those of the robot, before ``offset`` is added.
    :param from_v: velocities of the joints from those of the robot.
    :param own: which velocity of the robot is a joint's own, for its effort; -1: none.
    :param resolution: step of the encoder; 0: none.
    :param velocity: place in ``VELOCITY_SOURCES``.
    :param effort: place in ``EFFORT_SOURCES``.
    """

    from_q: Array
    offset: Array
    from_v: Array
    own: Array
    resolution: Array
    velocity: int
    effort: int


class Sensors:
    """
    Reads all joints of a robot that have one coordinate, including mimic joints.

    :param robot: the robot to read.
    :param imperfections: what makes the readings differ from the true state.
    :raises SettingError: for lists whose length is not the number of published joints.
    """

    def __init__(self, robot: SimulatedRobot, imperfections: Imperfections) -> None:
        model = robot.model
        single = [i for i in range(1, model.nb + 1) if model.joint[i].nq == model.joint[i].nv == 1]
        #: Names of the joints that are read, in the order of every sample.
        self.names = tuple(model.joint_names[i - 1] for i in single)
        self._robot = robot
        self._pick_q = [model.q_index[i].start for i in single]
        self._pick_v = [model.v_index[i].start for i in single]
        base = base_body(model)
        self._base = (model.q_index[base], model.v_index[base]) if base else None
        self._follows = np.array(
            [model.coupling is not None and i in model.coupling.followers for i in single])
        self._own = np.array(
            [k for name in self.names if name in set(model.independent_joint_names)
             for k in model.velocity_order([name])], dtype=np.intp)
        count = len(single)
        x = imperfections
        self._noise = [_if_any(per_joint(f'{name}_noise', getattr(x, f'{name}_noise'), count))
                       for name in ('position', 'velocity', 'effort')]
        self._resolution = _if_any(per_joint('resolution', x.resolution, count))
        self.imperfections = x
        self._line: DelayLine[Sample] = DelayLine(round(x.latency * 1e9))
        self.reset()

    def reset(self) -> None:
        """Start again with the same random numbers; readings in transit are dropped."""
        self._random = np.random.default_rng(self.imperfections.seed)
        self._line.clear()
        self._to_lose = 0
        #: time and positions of the last reading, where velocities are differences of them
        self.last: tuple[int, Array] | None = None
        self.lost = 0

    @property
    def plain(self) -> PlainReading | None:
        """Return how to read the joints, if that is linear, at once and free of chance."""
        x, model, count = self.imperfections, self._robot.model, len(self.names)
        coupling = model.coupling
        if (x.latency > 0.0 or x.loss > 0.0 or any(noise is not None for noise in self._noise)
                or (coupling is not None and coupling.gears)):
            return None
        from_q, from_v = np.eye(model.nq), np.eye(model.nv)
        offset = np.zeros(count)
        if coupling is not None:
            from_q = _dense(coupling.rows_q, model.nq)
            from_v = _dense(coupling.rows_v, model.nv)
            offset = np.array(coupling.q0)[self._pick_q]
        own = np.full(count, -1.0)
        own[~self._follows] = self._own
        return PlainReading(
            from_q[self._pick_q], offset, from_v[self._pick_v], own,
            np.zeros(count) if self._resolution is None else self._resolution,
            VELOCITY_SOURCES.index(x.velocity), EFFORT_SOURCES.index(x.effort))

    def read(self, now_ns: int) -> None:
        """Take a reading at simulated time ``now_ns`` and send it."""
        sample = self._reading(now_ns)
        if self._to_lose == 0 and self.imperfections.loss > 0.0:
            if self._random.random() < self.imperfections.loss:
                self._to_lose = self.imperfections.loss_length
        if self._to_lose:
            self._to_lose -= 1
            self.lost += 1
            return
        self._line.put(sample, now_ns)

    def delivered(self, now_ns: int) -> list[Sample]:
        """Return the readings that have arrived by ``now_ns``, oldest first."""
        return self._line.take(now_ns)

    def _reading(self, now_ns: int) -> Sample:
        robot, model, x = self._robot, self._robot.model, self.imperfections
        q, v = robot.q, robot.v
        if model.coupling is not None:
            y = q.tolist()
            q, v = np.array(model.expand_q(y)), np.array(model.expand_v(v.tolist(), y))
        position = self._blur(q[self._pick_q], 0)
        step = self._resolution
        if step is not None:
            whole = np.where(step > 0.0, step, 1.0)
            position = np.where(step > 0.0, np.round(position / whole) * whole, position)
        velocity = effort = np.empty(0)
        if x.velocity == 'measured':
            velocity = self._blur(v[self._pick_v], 1)
        elif x.velocity == 'difference':
            velocity = self._difference(now_ns, position)
        if x.effort != 'none':
            effort = np.zeros(len(self.names))
            torque = robot.motor_torque if x.effort == 'motor' else robot.joint_torque
            effort[~self._follows] = torque[self._own]
            effort = self._blur(effort, 2)
        if self._base is None:
            return Sample(now_ns, position, velocity, effort)
        base = np.concatenate([q[self._base[0]], v[self._base[1]]])
        return Sample(now_ns, position, velocity, effort, base)

    def _blur(self, values: Array, kind: int) -> Array:
        noise = self._noise[kind]
        if noise is None:
            return values
        return values + noise * self._random.standard_normal(values.size)

    def _difference(self, now_ns: int, position: Array) -> Array:
        last, self.last = self.last, (now_ns, position)
        if last is None or now_ns <= last[0]:
            return np.zeros_like(position)
        return (position - last[1]) / ((now_ns - last[0]) * 1e-9)


def _if_any(values: Array) -> Array | None:
    """Return the values, or None if all are zero, so that perfect sensors cost nothing."""
    return values if values.any() else None


def _dense(rows: Sequence[Sequence[tuple[int, float]]], count: int) -> Array:
    """Return a matrix of so many columns from the entries of its rows."""
    made = np.zeros((len(rows), count))
    for k, row in enumerate(rows):
        for j, value in row:
            made[k, j] += value
    return made
