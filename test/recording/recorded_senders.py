# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joint states as drivers send them: in parts, in any order, and wrong in every way at times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from recorded_chance import Chance
from recorded_events import CLOCK_OFFSET
from recorded_worlds import World

__all__ = ['Driver', 'Message']

#: of a coarse encoder, rad or m
_STEP = 2.0**-13

#: s by which a clock is ahead that is not ours
_FOREIGN = 5000.0


class Message(NamedTuple):
    """The data of the event ``state``."""

    names: tuple[str, ...]
    position: list[float]
    velocity: list[float]
    effort: list[float]
    seconds: int
    nanoseconds: int


class Driver:
    """Sends the states of a robot."""

    def __init__(self, world: World, random: Chance, *, simulated: bool,
                 synchronised: bool) -> None:
        """
        Choose who sends what.

        :param world: the robot.
        :param random: source of chance.
        :param simulated: whether the control clock is that of a simulator.
        :param synchronised: whether stamps are those of our clock.
        """
        self._world, self._random = world, random
        measured = ([world.names[i] for i in world.index] if world.kind.assembly
                    else list(world.names))
        order = [measured[i] for i in random.order(len(measured))]
        parts = random.one([1, 1, 1, 2, 3])
        self.sources = [tuple(order[k::parts]) for k in range(min(parts, len(order)))]
        driven = [name for name in order if world.names.index(name) in world.index]
        if len(driven) < len(order) and random.below(0.5):  # a driver for each kind of joints
            self.sources = [tuple(driven), tuple(x for x in order if x not in driven)]
        if random.below(0.3):  # a gripper that the robot does not have
            self.sources[0] = ('finger', *self.sources[0])
        if random.below(0.1):
            self.sources.append(tuple(measured))  # and one that has them all, too
        self._place = {name: i for i, name in enumerate(world.names)}
        self._noise = random.one([0.0, 1e-5])
        self._coarse = random.below(0.2)
        self._has_velocity = random.below(0.85)
        self._has_effort = random.below(0.6) and not world.robot.model.loops
        self._offset = (0.0 if simulated else -CLOCK_OFFSET) if (
            synchronised or simulated or random.below(0.3)) else _FOREIGN
        self._stamped = synchronised or random.below(0.9)
        self.age = random.one([0.0, 0.001, 0.003, 0.014])
        self._last: dict[tuple[str, ...], Message] = {}
        self._frozen: dict[str, float] = {}

    def message(self, source: int, now: float, wrong: dict[str, int]) -> Message:
        """
        Return what a source sends now.

        :param source: its number.
        :param now: control time, s.
        :param wrong: names of what is wrong, each with a number that says where.
        """
        names, random = self.sources[source], self._random
        noise = random.between(-1.0, 1.0, (2, len(names))) * self._noise
        position, velocity, effort = [], [], []
        gravity = self._world.gravity() if self._has_effort and not wrong else None
        for k, name in enumerate(names):
            i = self._place.get(name)
            q = 0.5 if i is None else float(self._world.q[i] + noise[0, k])
            position.append(round(q / _STEP) * _STEP if self._coarse else q)
            velocity.append(0.0 if i is None else float(self._world.qd[i] + 10.0 * noise[1, k]))
            effort.append(0.0 if i is None or gravity is None else float(gravity[i]))
        stamp = round((now - self.age + self._offset) * 1e9) if self._stamped else 0
        made = Message(names, position, velocity if self._has_velocity else [],
                       effort if self._has_effort else [], *divmod(stamp, 10**9))
        for kind, where in sorted(wrong.items(), key=lambda item: item[0] == 'short'):
            made = self._spoil(made, kind, where)
        self._last[names] = made
        if not {'freeze', 'stands'} & wrong.keys():
            self._frozen.clear()
        return made

    def _spoil(self, made: Message, kind: str, where: int) -> Message:
        """Return a message with something wrong."""
        n = len(made.names)
        k, q, qd = where % n, list(made.position), list(made.velocity) or [0.0] * n
        if kind == 'not a number':
            q[k] = (np.nan, np.inf)[where % 2]
        elif kind == 'jump':
            q[k] += (0.03, 0.3, -4.0)[where % 3]
        elif kind == 'freeze':
            q[k] = self._frozen.setdefault(made.names[k], q[k])
        elif kind == 'stands':  # by its velocity, too
            k = self._standing(made, where)
            q[k], qd[k] = self._frozen.setdefault(made.names[k], q[k]), 0.0
        elif kind == 'absurd speed':
            qd[k] = (1e300, 60.0, np.nan, np.inf)[where % 4]
        elif kind == 'short':
            return made._replace(position=q[:-1]) if where % 2 else made._replace(
                velocity=qd[:-1], effort=[0.0] * n)
        elif kind == 'no velocity':
            return made._replace(velocity=[])
        elif kind == 'wrong effort':
            return made._replace(effort=[30.0 * (-1.0)**i for i in range(n)])
        elif kind == 'wrong names':
            return made._replace(names=tuple(f'{name}_x' for name in made.names))
        elif kind == 'name twice':
            return made._replace(names=(made.names[0],) * n)
        elif kind == 'stamp stands' and made.names in self._last:
            last = self._last[made.names]
            return made._replace(seconds=last.seconds, nanoseconds=last.nanoseconds)
        elif kind == 'stamp back':
            return made._replace(seconds=max(made.seconds - 1, 0))
        elif kind == 'stamp ahead':
            return made._replace(seconds=made.seconds + 2)
        elif kind == 'no stamp':
            return made._replace(seconds=0, nanoseconds=0)
        else:
            return made
        return made._replace(position=q, velocity=qd if made.velocity or qd[k] else [])

    def _standing(self, made: Message, where: int) -> int:
        """Return which joint of a message stands: the fastest one, or any, as long as it lasts."""
        held = [k for k, name in enumerate(made.names) if name in self._frozen]
        if held:
            return held[0]
        speed = [abs(float(self._world.qd[self._place[name]])) if name in self._place else 0.0
                 for name in made.names]
        return speed.index(max(speed)) if where % 2 else where % len(speed)
