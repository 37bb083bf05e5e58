# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Steps of a stack of boxes, compared with MuJoCo: ``./run bench stack``.

Both have the same boxes, floor, friction and step. The stack must stand in both. Of each step the
best of some repetitions counts: a step is short compared with the turns of other programs.
"""

from __future__ import annotations

from time import perf_counter

import mujoco
import numpy as np

from rbd_ros import ModelBuilder
from rbd_ros.joints import Free
from rbd_ros.model.collision_shapes import Box, CollisionShape, HalfSpace
from rbd_ros.sim import Obstacle, Physics, SimulatedRobot, Surface, World
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

#: s, of both.
STEP = 1e-3
#: Steps from the start on that are measured.
STEPS = 50
REPETITIONS = 30
FRICTION = 0.6
#: Boxes, m, and where they are at the start: one on another, 1 cm off.
BOXES, SIDE = 6, 0.2
PLACES = [(0.01 * (k % 2), 0.0, SIDE * (k + 0.5)) for k in range(BOXES)]


class Stack:
    """
    Boxes of 1 kg, one on another and a little off, in this package.

    :param kind: of contact, ``'soft'`` or ``'rigid'``.
    """

    def __init__(self, kind: str) -> None:
        builder, names = ModelBuilder('stack'), [f'box {k}' for k in range(BOXES)]
        for name in names:
            builder.add_body(name, 'base', Free(), inertia=RigidInertia.from_com(
                1.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*[SIDE * SIDE / 6.0] * 3)))
        model = builder.build()
        shapes = [CollisionShape(name, k + 1, Box((SIDE,) * 3)) for k, name in enumerate(names)]
        floor = Obstacle('floor', Placed(HalfSpace(), np.eye(3), np.zeros(3)))
        world = World(kind, shapes, [floor], Surface(friction=FRICTION),
                      tuple(zip(names, names[1:])))
        self.robot = SimulatedRobot(
            model, physics=Physics.of(model, integrator='semi_implicit'), world=world)
        self.robot.place([x for place in PLACES for x in (*place, 0.0, 0.0, 0.0, 1.0)])

    def reset(self) -> None:
        """Go to the start."""
        self.robot.reset()

    def step(self) -> None:
        """Take one step."""
        self.robot.step(STEP)

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the boxes are, and all velocities."""
        return self.robot.q.reshape(-1, 7)[:, :3], self.robot.v


class TheirStack:
    """The same boxes in MuJoCo."""

    def __init__(self) -> None:
        friction = f'friction="{FRICTION} 0 0"'
        bodies = ''.join(
            f'<body pos="{x} {y} {z}"><freejoint/><geom type="box" mass="1" {friction} '
            f'size="{SIDE / 2} {SIDE / 2} {SIDE / 2}"/></body>' for x, y, z in PLACES)
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{STEP}"/><worldbody><geom type="plane" size="9 9 1" '
            f'{friction}/>{bodies}</worldbody></mujoco>')
        self.data = mujoco.MjData(self.model)

    def reset(self) -> None:
        """Go to the start."""
        mujoco.mj_resetData(self.model, self.data)

    def step(self) -> None:
        """Take one step."""
        mujoco.mj_step(self.model, self.data)

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the boxes are, and all velocities."""
        return self.data.qpos.reshape(-1, 7)[:, :3], self.data.qvel


def _stands(stack: Stack | TheirStack) -> None:
    """
    Refuse a stack that does not stand.

    :raises RuntimeError: if a box has moved by more than 3 mm, or falls, after half a second.
    """
    for _ in range(STEPS):  # until it has settled
        stack.step()
    for _ in range(500):
        stack.step()
        place, v = stack.state
        moved, speed = np.abs(place - PLACES).max(), np.abs(v).max()
        if not (moved < 3e-3 and speed < 0.05):
            raise RuntimeError(f'{type(stack).__name__}: boxes moved by {1e3 * moved:.2f} mm, and '
                               f'have {speed:.3f} m/s: the stack does not stand')


def _best_times(*stacks: Stack | TheirStack) -> list[float]:
    """Return seconds per step, measured turn by turn."""
    for stack in stacks:
        _stands(stack)
    best = np.full((len(stacks), STEPS), np.inf)
    for _ in range(REPETITIONS):
        for times, stack in zip(best, stacks):
            stack.reset()
            for k in range(STEPS):
                start = perf_counter()
                stack.step()
                times[k] = min(times[k], perf_counter() - start)
    return best.mean(axis=1).tolist()


def report() -> tuple[str, dict[str, object]]:
    """Return microseconds per step of a stack as text and as data, next to MuJoCo."""
    lines = [f'{BOXES} boxes     {"MuJoCo us":>10}{"ours us":>9}{"ratio":>7}']
    numbers: dict[str, object] = {}
    kinds = ('soft', 'rigid')
    other, *times = _best_times(TheirStack(), *map(Stack, kinds))
    for kind, own in zip(kinds, times):
        lines.append(f'{kind:12}{other * 1e6:10.1f}{own * 1e6:9.1f}{other / own:7.2f}')
        numbers[kind] = {
            'mujoco_us': other * 1e6, 'ours_us': own * 1e6, 'ratio': other / own}
    return '\n'.join(lines), numbers
