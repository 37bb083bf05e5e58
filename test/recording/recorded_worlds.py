# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How the robots of the recording move, to the last bit the same on every machine.

A path is made of polynomials: sums and products of doubles, which all machines round alike. A
free robot moves by its dynamics, whose last bits depend on the machine: its velocity is rounded
to a grid that is some 1e10 times coarser than these, in every step. What drives it is the torque
of the record, rounded as it is stored, not that of the controller under test. So the inputs of a
replay are those of the recording, whatever the controller does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from recorded_chance import Chance
from recorded_robots import controlled_robot, Kind, KINDS, plant

__all__ = ['World', 'make_world']

Array = npt.NDArray[np.float64]

#: of velocities and positions of free robots, and of what is computed for measured loops
_FINE, _GRID = 2.0**-30, 2.0**-20

#: s after the last torque from which on brakes hold a free robot
_BRAKES = 0.05


def on_grid(x: Array, grid: float) -> Array:
    """
    Return the nearest multiples of a power of two.

    :param x: numbers.
    :param grid: power of two.
    """
    return np.rint(x / grid) * grid


class World:
    """A robot that follows a path, whatever torques it gets."""

    def __init__(self, name: str, random: Chance) -> None:
        """
        Put it to its home.

        :param name: kind of robot.
        :param random: chooses where it goes.
        """
        self.kind: Kind = KINDS[name]
        self.robot = controlled_robot(name)
        self.names = self.robot.model.independent_joint_names
        self.index = list(self.robot.index)
        self.home = np.array([self.kind.home[each] for each in self.names])
        self.q, self.qd = self.home.copy(), np.zeros(len(self.names))
        self.moves = False  # whether it goes on when it has arrived
        self.haste = 1.0  # how much faster than usual
        self.target = self.home.copy()
        self._random = random
        self._begin, self._speed = self.q, self.qd
        self._time, self._duration = 0.0, 0.0
        self._plant = plant(name)

    def go(self, target: Array, duration: float) -> None:
        """
        Go somewhere from the present motion.

        :param target: positions of all joints.
        :param duration: s.
        """
        self._begin, self._speed, self.target = self.q.copy(), self.qd.copy(), target
        self._time, self._duration = 0.0, duration

    def stop(self) -> None:
        """Come to rest soon."""
        self.moves = False
        if self.qd.any():
            self.go(self.q + 0.05 * self.qd, 0.1)

    def advance(self, dt: float, torque: Array | None) -> None:
        """
        Let time pass.

        :param dt: s.
        :param torque: that was sent, N.m; None: none was.
        """
        if self._time >= self._duration:
            self.qd[:] = 0.0
            if not self.moves:
                return
            way = self._random.between(-1.0, 1.0, len(self.q)) * self.kind.reach
            self.go(self.home + way, self._random.between(0.3, 1.5) / self.haste)
        self._time = min(self._time + dt, self._duration)
        T = self._duration
        s, v, d = self._time / T, self._speed * T, self.target - self._begin
        c3, c4, c5 = 10.0 * d - 6.0 * v, 8.0 * v - 15.0 * d, 6.0 * d - 3.0 * v
        self.q = self._begin + s * (v + s * s * (c3 + s * (c4 + s * c5)))
        self.qd = (v + s * s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5))) / T

    def gravity(self) -> Array:
        """Return the torques that hold the robot, N.m, of all joints."""
        return on_grid(self._plant.gravity(self.q), _GRID)


class LoopWorld(World):
    """A robot whose passive joints follow the driven ones, and are measured."""

    def __init__(self, name: str, random: Chance) -> None:
        """Put it to a closed position."""
        super().__init__(name, random)
        self._driven = sorted(self.index)
        self._others = [i for i in range(len(self.q)) if i not in self.index]
        self._closed = self._plant.assemble(self.q, self.robot.joints).require()
        self._close()

    def advance(self, dt: float, torque: Array | None) -> None:
        """Let time pass."""
        super().advance(dt, torque)
        self._close()

    def _close(self) -> None:
        """Compute positions and velocities of the passive joints."""
        near = self._closed.copy()
        near[self._driven] = self.q[self._driven]
        if not np.array_equal(near, self._closed):
            self._closed = self._plant.assemble(near, self.robot.joints).require()
        G = self._plant.loop_map(self._closed, independent=self.robot.joints).G
        self.q[self._others] = on_grid(self._closed, _FINE)[self._others]
        self.qd[self._others] = on_grid(G @ self.qd[self._driven], _FINE)[self._others]


class FreeWorld(World):
    """A robot that its torques move, until nothing is sent and its brakes hold it."""

    def __init__(self, name: str, random: Chance) -> None:
        """Put it to its home."""
        super().__init__(name, random)
        self.push = np.zeros(len(self.q))  # of a hand, N.m
        self._torque, self._silent = np.zeros(len(self.q)), 1.0

    def go_home(self) -> None:
        """Be put back, after a fall."""
        if self._silent > _BRAKES and np.abs(self.q - self.home).max() > 1.0:
            self.q = self.home.copy()

    def advance(self, dt: float, torque: Array | None) -> None:
        """Let time pass; a step is never longer than some milliseconds."""
        self._silent += dt
        if torque is not None:
            self._torque[self.index] = torque
            self._silent = 0.0
        if self._silent > _BRAKES:
            self.qd = on_grid(0.5 * self.qd, _GRID)
            self.q = self.q + dt * self.qd
            return
        parts = int(dt / 0.004) + 1
        h = dt / parts
        for _ in range(parts):
            qdd = self._plant.forward_dynamics(self.q, self.qd, self._torque + self.push)
            self.qd = on_grid(np.clip(self.qd + h * qdd, -10.0, 10.0), _GRID)
            self.q = self.q + h * self.qd


def make_world(name: str, random: Chance) -> World:
    """
    Return a robot at its home.

    :param name: kind of robot.
    :param random: chooses where it goes.
    """
    kind = KINDS[name]
    if kind.free:
        return FreeWorld(name, random)
    measured = controlled_robot(name).model.loops and not kind.assembly
    return (LoopWorld if measured else World)(name, random)
