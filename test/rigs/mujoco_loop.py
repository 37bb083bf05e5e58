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

"""
The whole controller without ROS, on a fake clock, around a robot that MuJoCo simulates.

The same loop runs around the simulator of the package, for what must hold in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from benchmark.mujoco_plant import Plant, PlantOptions, Tip
from benchmark.robots import robot_file
import numpy as np
import numpy.typing as npt
from rbd_ros import Dynamics
from rbd_ros.control.parameters.assembly import build_robot
from rbd_ros.control.former.cycle import Cycle
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references.trajectory import read_points
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.former.tick import KERNELS, TickKernels
from rbd_ros.control.kernels.tip import AXES
from rbd_ros.sim.robot import SimulatedRobot
import yaml

Array = npt.NDArray[np.float64]

_ROOT = Path(__file__).parents[2]
ARM = _ROOT / 'urdf' / 'seven_joint_arm.urdf'
PANDA = robot_file('panda')
ARM_JOINTS = tuple(f'joint_{k}' for k in range(1, 8))
PANDA_JOINTS = tuple(f'panda_joint{k}' for k in range(1, 8))
#: kg.m^2, as the joints of the built-in arm feel their rotors; MuJoCo reads no transmissions
ARM_ROTORS = (0.6, 0.6, 0.4, 0.4, 0.2, 0.15, 0.1)
ARM_START = (0.2, 0.4, -0.3, -1.3, 0.4, 0.8, 0.5)
PANDA_START = (0.2, -0.5, 0.3, -2.1, 0.2, 1.7, 0.6)


@cache
def demo_parameters() -> dict[str, object]:
    """Return what config/controller.yaml gives the controller of the built-in arm."""
    return configured('controller.yaml')


def configured(name: str) -> dict[str, object]:
    """Return what a file in config/ gives the controller."""
    text = (_ROOT / 'config' / name).read_text()
    return yaml.safe_load(text)['/**']['controller']['ros__parameters']


class OwnPlant:
    """The simulator of the package behind the methods of ``Plant``: friction that sticks."""

    def __init__(self, model: object, options: PlantOptions) -> None:
        self.options, self.locked = options, []
        self._robot, self._dynamics = SimulatedRobot(model), Dynamics(model)
        self._robot.place(options.start)
        self.brake(True)

    @property
    def position(self) -> Array:
        """Return positions."""
        return self._robot.q.copy()

    @property
    def velocity(self) -> Array:
        """Return velocities."""
        return self._robot.v.copy()

    def joint_torque(self) -> Array:
        """Return what sensors at the links feel."""
        return self._robot.joint_torque.copy()

    def brake(self, closed: bool) -> None:
        """Close or open the brakes."""
        self._robot.brake(closed)

    def step(self, command: Array) -> None:
        """Advance by one step."""
        self._robot.command(command)
        self._robot.step(self.options.step)

    def tip(self) -> Tip:
        """Return where the tip is; there is nothing to press on."""
        pose = self._dynamics.pose(self._robot.q, self.options.tip)
        return Tip(pose[:3, 3], pose[:3, :3], np.zeros(3))


class MujocoLoop:
    """
    A controller that runs and a robot whose brakes are open.

    :param urdf: file of the robot.
    :param joints: controlled.
    :param start: their positions.
    :param tip: frame of the task and link that carries the ball.
    :param values: parameters of the controller that are no defaults.
    :param axes: of the task.
    :param own: whether the simulator of the package is the robot.
    :param plant: options of the robot.
    """

    def __init__(self, urdf: Path, joints: Sequence[str], start: Sequence[float], tip: str, *,
                 values: dict[str, object] | None = None, axes: Sequence[str] = AXES,
                 own: bool = False, **plant: object) -> None:
        self.values = defaults() | {
            'driver_adds': 'none', 'release_torque': 'gravity', 'nominal_rate': 500.0,
            'joints': list(joints), 'task.frame': tip} | (values or {})
        self.robot = build_robot(self.values, urdf.read_text(), lambda _: None)
        self.model = self.robot.model
        self.period = 1.0 / float(self.values['nominal_rate'])
        options = PlantOptions(**{'joints': joints, 'start': start, 'tip': tip} | plant)
        self.plant = (OwnPlant(self.model, options) if own
                      else Plant(urdf.read_text(), options))
        ticks = TickKernels(self.robot, driver_adds=self.values['driver_adds'],
                            driver_knows_payload=False, axes=axes)
        self.torque = np.zeros(len(joints))
        self.cycle = Cycle(self.settings(), {name: ticks.compile(name) for name in KERNELS},
                           self._send)
        self.time = 50.0
        self.each: Callable[[float], None] | None = None  # called with the time, every period
        self.speeds: list[Array] = []  # since the last call of forget
        self.forces: list[Array] = []  # upon the plate
        self._names = (*joints, *self.plant.locked)

    def _send(self, torque: Array) -> None:
        self.torque = torque.copy()

    def settings(self, **changes: object) -> Settings:
        """Return the settings with some values changed for good."""
        self.values |= changes
        return Settings(self.robot, self.values, simulated=False)

    def change(self, **values: object) -> None:
        """Change parameters as the node does, at the next cycle."""
        settings = self.settings(**values)
        self.cycle.loop.post(lambda _now, _steady: self.cycle.apply(settings))

    def start(self) -> None:
        """Activate with closed brakes, wait until the law runs, and open them."""
        self.cycle.loop.post(self.cycle.activate)
        for _ in range(50):
            self.run(0.1)
            if self.cycle.supervisor.state.value == 'running':
                break
        assert self.fine, f'{self.cycle.supervisor.state.value} {self.cycle.fault_text()}'
        self.plant.brake(False)

    def switch(self, mode: str) -> None:
        """Change the mode, and let it come to rest."""
        self.change(mode=mode)
        self.run(float(self.values['switch_time']) + 0.3)
        assert self.cycle.mode == mode

    def follow(self, target: Array, seconds: float) -> None:
        """Begin a trajectory with one point, as the topic does."""
        joints = self.robot.joints
        knots = read_points(joints, joints, [seconds], [target.tolist()], [], [])
        self.cycle.intake.take(lambda: self.cycle.reference.follow(self.time, knots, self.time))

    def aim(self, position: Array, quaternion: Array) -> None:
        """Hand over a target pose."""
        self.cycle.intake.take(lambda: self.cycle.task_reference.target_pose(
            self.time, position.tolist(), quaternion.tolist()))

    @property
    def fine(self) -> bool:
        """Return whether the controller runs without a fault."""
        return self.cycle.supervisor.state.value == 'running' and not self.cycle.fault_text()

    def forget(self) -> None:
        """Begin new logs."""
        self.speeds.clear()
        self.forces.clear()

    def run(self, duration: float) -> None:
        """Let time pass."""
        substeps = max(1, round(self.period / self.plant.options.step))
        rest = np.zeros(len(self.plant.locked))
        for _ in range(round(duration / self.period)):
            self.time += self.period
            if self.each is not None:
                self.each(self.time)
            self.cycle.state(self.time, self.time, self._names,
                             np.append(self.plant.position, rest),
                             np.append(self.plant.velocity, rest),
                             np.append(self.plant.joint_torque(), rest), self.time + 1e4)
            self.cycle.tick(self.time, self.time)
            force = np.zeros(3)  # a contact chatters: its mean counts, not samples of it
            for _ in range(substeps):
                self.plant.step(self.torque)
                force += self.plant.tip().force / substeps
            self.speeds.append(self.plant.velocity)
            self.forces.append(force)
