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

"""Smooth joint paths through random waypoints, and robots to move along them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmark.robots import robots_folder
import numpy as np
import numpy.typing as npt
from rbd_ros import load_urdf, Model

Array = npt.NDArray[np.float64]

_ROOT = Path(__file__).parents[2]


#: directions of a frame, in the order of the rows of its Jacobian
AXES = ('rx', 'ry', 'rz', 'x', 'y', 'z')


class Quintic:
    """Fifth-degree polynomials through positions, velocities and accelerations at knots."""

    def __init__(self, times: Array, q: Array, qd: Array, qdd: Array) -> None:
        self.times, self.q, self.qd, self.qdd = times, q, qd, qdd

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration; at rest outside of the knots."""
        times = self.times
        if t <= times[0] or t >= times[-1]:
            end = self.q[0 if t <= times[0] else -1]
            return end.copy(), np.zeros_like(end), np.zeros_like(end)
        i = int(np.searchsorted(times, t, side='right')) - 1
        h = times[i + 1] - times[i]
        # Solve for the coefficients of (t - t_i)^k: nothing is shared with the controller.
        rows = []
        for s in (0.0, h):
            rows.append([s**k for k in range(6)])
            rows.append([k * s**(k - 1) if k > 0 else 0.0 for k in range(6)])
            rows.append([k * (k - 1) * s**(k - 2) if k > 1 else 0.0 for k in range(6)])
        values = [self.q[i], self.qd[i], self.qdd[i],
                  self.q[i + 1], self.qd[i + 1], self.qdd[i + 1]]
        c = np.linalg.solve(np.array(rows), np.array(values))
        s = t - times[i]
        power = s ** np.arange(6)
        first = np.array([0.0] + [k * s**(k - 1) for k in range(1, 6)])
        second = np.array([0.0, 0.0] + [k * (k - 1) * s**(k - 2) for k in range(2, 6)])
        return power @ c, first @ c, second @ c


def random_path(rng: np.random.Generator, start: Array, lower: Array, upper: Array,
                speed: Array, count: int, spacing: float) -> Quintic:
    """
    Return a path from rest to rest through random waypoints.

    :param start: where it begins, inside of the bounds.
    :param lower: of the waypoints.
    :param upper: of the waypoints.
    :param speed: that no joint exceeds.
    :param count: of waypoints after the start.
    :param spacing: s between two.
    """
    times = spacing * np.arange(count + 1)
    q = np.vstack([start, rng.uniform(lower, upper, (count, len(start)))])
    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    qd[1:-1] = (q[2:] - q[:-2]) / (2.0 * spacing)
    qdd[1:-1] = rng.uniform(-0.5, 0.5, qdd[1:-1].shape) * np.abs(qd[1:-1])
    path = Quintic(times, q, qd, qdd)
    samples = np.array([path(t)[:2] for t in np.linspace(0.0, times[-1], 40 * count)])
    reach = np.abs(samples[:, 0] - start).max(axis=0)
    room = np.minimum(upper - start, start - lower)
    scale = np.minimum(1.0, np.minimum(speed / (np.abs(samples[:, 1]).max(axis=0) + 1e-9),
                                       1.2 * room / (reach + 1e-9)))
    return Quintic(times, start + scale * (q - start), scale * qd, scale * qdd)


@dataclass(frozen=True)
class Robot:
    """A robot to prove the controller on, with the joints that it controls."""

    name: str
    file: str
    tip: str
    joints: tuple[str, ...] = ()  # controlled, in this order; empty: all
    fixed: dict[str, float] = field(default_factory=dict)
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    axes: tuple[str, ...] = AXES  # of the tip, that these joints can move

    @property
    def urdf(self) -> str:
        """Return the text of the description."""
        if self.file.startswith('example-robot-data:'):
            return (robots_folder() / self.file.partition(':')[2]).read_text()
        return (_ROOT / self.file).read_text()

    def load(self) -> Model:
        """Return the model with this robot's gravity."""
        return load_urdf(self.urdf, gravity=self.gravity, on_warning=lambda _: None)


def bounds(model: Model, index: list[int]) -> tuple[Array, Array, Array]:
    """Return where waypoints may lie (well inside of the limits) and how fast to go."""
    lower = np.maximum(np.array(model.lower)[index], -1.8)
    upper = np.minimum(np.array(model.upper)[index], 1.8)
    centre, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    speed = np.minimum(np.array(model.velocity_limit)[index], 4.0)
    speed = np.where(speed > 0.0, speed, 1.0)
    return centre - 0.7 * half, centre + 0.7 * half, 0.6 * speed


TIAGO_ARM = tuple(f'arm_{k}_joint' for k in range(1, 8))
UR5 = ('wrist_3_joint', 'elbow_joint', 'shoulder_pan_joint', 'wrist_1_joint',
       'shoulder_lift_joint', 'wrist_2_joint')

ROBOTS = (
    Robot('built-in arm', 'urdf/seven_joint_arm.urdf', 'tool0'),
    # the fingers are measured, not controlled, and one mimics the other
    Robot('Panda', 'example-robot-data:panda_description/urdf/panda.urdf', 'panda_hand',
          tuple(f'panda_joint{k}' for k in range(1, 8))),
    # commands in an order that is not that of the tree
    Robot('UR5', 'example-robot-data:ur_description/urdf/ur5_robot.urdf', 'tool0', UR5),
    Robot('Kinova', 'example-robot-data:kinova_description/robots/kinova.urdf',
          'j2s6s200_end_effector'),
    # its last links are so light that only positions of the tip are well conditioned
    Robot('TIAGo', 'example-robot-data:tiago_description/robots/tiago_no_hand.urdf',
          'arm_tool_link', TIAGO_ARM, {'wheel_right_joint': 0.3, 'wheel_left_joint': -0.2},
          axes=('x', 'y', 'z')),
    Robot('gantry', 'test/urdf/gantry.urdf', 'tool', axes=('rz', 'x', 'y', 'z')),
    Robot('mimic gripper', 'test/urdf/mimic_gripper.urdf', 'right_pad', axes=('ry', 'y')),
    Robot('tilted arm', 'urdf/seven_joint_arm.urdf', 'tool0',
          gravity=(3.1, -5.2, -7.713268)),
)
