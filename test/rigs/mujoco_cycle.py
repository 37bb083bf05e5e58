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

"""The whole controller without ROS, on a fake clock, around a robot that MuJoCo simulates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from benchmark.mujoco_plant import Plant, PlantOptions
from benchmark.robots import robots_folder
import numpy as np
import numpy.typing as npt
from rbd_ros import load_urdf
from rbd_ros.control.former.cycle import Cycle
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot, Robot
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.former.tick import KERNELS, TickKernels

Array = npt.NDArray[np.float64]

_UR = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint',
       'wrist_2_joint', 'wrist_3_joint')

#: file, joints, tip and a pose with much to carry
ROBOTS = {
    'panda': ('panda_description/urdf/panda.urdf', tuple(f'panda_joint{k}' for k in range(1, 8)),
              'panda_hand', (0.2, -0.5, 0.3, -2.1, 0.2, 1.7, 0.6)),
    'ur5': ('ur_description/urdf/ur5_robot.urdf', _UR, 'tool0', (0.3, -1.0, 1.2, -0.6, -1.0, 0.3)),
    'ur10': ('ur_description/urdf/ur10_robot.urdf', _UR, 'tool0',
             (0.3, -1.0, 1.2, -0.6, -1.0, 0.3)),
    'built-in': (Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf',
                 tuple(f'joint_{k}' for k in range(1, 8)), 'tool0',
                 (0.2, 0.4, -0.3, -1.3, 0.4, 0.8, 0.5)),
}


@cache
def described(name: str) -> tuple[str, Robot]:
    """Return the description of a robot, and what the controller makes of it."""
    file, joints, _, _ = ROBOTS[name]
    text = (robots_folder() / file).read_text()
    model = load_urdf(text, on_warning=lambda _: None)
    fixed = {other: 0.0 for other in model.independent_joint_names if other not in joints}
    return text, make_robot(model, joints, fixed=fixed)


class Driven:
    """
    A robot of MuJoCo under the controller; its brakes open with the first command.

    :param name: of ``ROBOTS``.
    :param noise: N.m, standard deviation of the measured effort.
    :param sensors: whether effort is felt at the joints, brakes included; else of the motors.
    :param plant: options of the plant, besides joints, start and tip.
    :param values: parameters of the controller.
    """

    def __init__(self, name: str, *, rate: float = 500.0, noise: float = 0.0,
                 sensors: bool = False, plant: dict[str, object] | None = None,
                 **values: object) -> None:
        text, robot = described(name)
        _, joints, tip, start = ROBOTS[name]
        options: dict[str, object] = {
            'joints': joints, 'start': start, 'tip': tip, 'step': 0.5e-3,
            'armature': robot.pick(robot.model.rotor_inertia),
            'damping': [0.0] * len(joints), 'friction': [0.0] * len(joints)}
        self.plant = Plant(text, PlantOptions(**options | (plant or {})))
        self.values = defaults() | {
            'driver_adds': 'none', 'release_torque': 'gravity', 'nominal_rate': rate,
            'effort_is_torque': True} | {k.replace('__', '.'): v for k, v in values.items()}
        self.names, self.period = joints, 1.0 / rate
        ticks = TickKernels(robot, driver_adds='none', driver_knows_payload=False)
        self.sent: list[Array] = []
        self.cycle = Cycle(Settings(robot, self.values, simulated=False),
                           {kernel: ticks.compile(kernel) for kernel in KERNELS},
                           lambda torque: self.sent.append(torque.copy()))
        # what the driver makes of position, velocity and effort
        self.mangle: Callable[[Array, Array, Array], tuple] = lambda q, qd, effort: (
            q, qd, effort)
        self.push: Array | None = None  # force and moment at the tip, in the base
        self.said: list[tuple[str, str]] = []
        self.time = 50.0
        self.q, self.qd, self.tip, self.states = [], [], [], []
        self._noise, self._sensors = noise, sensors
        self._rng = np.random.default_rng(0)

    def run(self, duration: float) -> None:
        """Let time pass, a state and a tick per period."""
        plant, cycle = self.plant, self.cycle
        steps = round(self.period / plant.options.step)
        for _ in range(round(duration / self.period)):
            self.time += self.period
            effort = plant.joint_torque() if self._sensors else plant.motor_torque()
            effort += self._noise * self._rng.standard_normal(len(effort))
            cycle.state(self.time, self.time, self.names,
                        *self.mangle(plant.position, plant.velocity, effort), self.time + 1e4)
            cycle.tick(self.time, self.time)
            if self.sent:
                plant.brake(False)
            for _ in range(steps):
                plant.step(self.sent[-1] if self.sent else np.zeros(len(self.names)), self.push)
            self.q.append(plant.position)
            self.qd.append(plant.velocity)
            self.tip.append(plant.tip().position.copy())
            self.states.append(self.state)
            self.said += cycle.events
            cycle.events.clear()

    def start(self, duration: float = 2.0) -> None:
        """Activate, and let time pass."""
        self.cycle.loop.post(self.cycle.activate)
        self.run(duration)

    def stop(self, cause: Cause) -> None:
        """Ask for a stop, as another thread does."""
        self.cycle.loop.post(lambda _, steady: self.cycle.supervisor.fault(steady, cause))

    @property
    def state(self) -> str:
        """State of the supervisor in words."""
        return self.cycle.supervisor.state.value

    @property
    def gravity(self) -> Array:
        """Return g(q) by MuJoCo, as described."""
        return self.plant.described_gravity()

    @property
    def peak(self) -> float:
        """Return the largest velocity of any joint so far, rad/s."""
        return float(np.abs(self.qd).max())

    @property
    def drift(self) -> float:
        """Return the largest way of any joint from where it was first, rad."""
        return float(np.abs(np.array(self.q) - self.q[0]).max())

    def text(self, kind: str) -> str:
        """Return what was said of a kind, in lines."""
        return '\n'.join(text for said, text in self.said if said == kind)
