# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A robot that MuJoCo simulates, or the simulator of the package, under the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from benchmark.mujoco_plant import Plant, PlantOptions, Tip
from benchmark.mujoco_robots import DrivenRobot, Measured
import numpy as np
import numpy.typing as npt
from rbd_ros import Dynamics, load_urdf
from rbd_ros.sim.physics import Physics
from rbd_ros.sim.robot import SimulatedRobot
import yaml

Array = npt.NDArray[np.float64]

_CONFIG = Path(__file__).parents[2] / 'config'


def configured(name: str) -> dict[str, object]:
    """Return what a file in config/ gives the controller."""
    text = (_CONFIG / name).read_text()
    return yaml.safe_load(text)['/**']['controller']['ros__parameters']


class OwnPlant:
    """The simulator of the package behind the methods of ``Plant``: friction that sticks."""

    def __init__(self, text: str, options: PlantOptions) -> None:
        model = load_urdf(text, on_warning=lambda _: None)
        self.options, self.braked = options, False
        given = {name: getattr(options, name) for name in ('friction', 'damping')
                 if getattr(options, name)}
        self._robot = SimulatedRobot(model, physics=Physics.of(model, **given))
        self._dynamics = Dynamics(model)
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
        self.braked = closed
        self._robot.brake(closed)

    def step(self, command: Array, push: Array | None = None) -> None:
        """Advance by one step; nobody can push it."""
        assert push is None
        self._robot.command(command)
        self._robot.step(self.options.step)

    def tip(self) -> Tip:
        """Return where the tip is; there is nothing to press on."""
        pose = self._dynamics.pose(self._robot.q, self.options.tip)
        return Tip(pose[:3, 3], pose[:3, :3], np.zeros(3))


class Driven(DrivenRobot):
    """
    A robot that keeps a log.

    :param name: of ``mujoco_robots.ROBOTS``.
    :param rate: of its states, Hz.
    :param noise: N.m, standard deviation of the measured effort.
    :param sensors: whether effort is felt at the joints, brakes included; else of the motors.
    :param own: whether the simulator of the package is the robot.
    :param plant: options of the plant that are not as described; no friction by default.
    :param values: parameters of the controller, ``a__b`` for ``a.b``.
    """

    def __init__(self, name: str, *, rate: float = 500.0, noise: float = 0.0,
                 sensors: bool = False, own: bool = False,
                 plant: Mapping[str, object] | None = None, **values: object) -> None:
        self._own = own
        super().__init__(name, rate, {'effort_is_torque': True} | {
            key.replace('__', '.'): value for key, value in values.items()}, plant or {})
        # what the driver makes of position, velocity and effort
        self.mangle: Callable[[Array, Array, Array], Measured] = lambda *measured: measured
        self.sent: list[Array] = []
        self.said: list[tuple[str, str]] = []
        self.q: list[Array] = []
        self.qd: list[Array] = []
        self.tip: list[Array] = []
        self.forces: list[Array] = []  # upon the plate
        self.states: list[str] = []
        self._noise, self._sensors = noise, sensors
        self._rng = np.random.default_rng(0)
        self._force, self._steps = np.zeros(3), 0

    def make_plant(self, text: str, options: PlantOptions) -> Plant | OwnPlant:
        """Return a robot of MuJoCo or of the package."""
        return (OwnPlant if self._own else Plant)(text, options)

    def send(self, torque: Array) -> None:
        """Write a torque down."""
        super().send(torque)
        self.sent.append(self.torque)

    def measure(self) -> Measured:
        """Return what the driver makes of what it measures."""
        plant = self.plant
        effort = plant.joint_torque() if self._sensors else plant.motor_torque()
        effort += self._noise * self._rng.standard_normal(len(effort))
        return self.mangle(plant.position, plant.velocity, effort)

    def step(self) -> None:
        """Feel the plate at each step: a contact chatters, and its mean counts."""
        super().step()
        if self.plant.options.plate_below is not None:
            self._force += self.plant.tip().force
            self._steps += 1

    def note(self) -> None:
        """Write down what has become of it."""
        self.q.append(self.plant.position)
        self.qd.append(self.plant.velocity)
        self.tip.append(self.plant.tip().position.copy())
        self.states.append(self.state)
        self.said += self.controller.events
        self.controller.events.clear()
        if self._steps:
            self.forces.append(self._force / self._steps)
            self._force, self._steps = np.zeros(3), 0

    def forget(self) -> None:
        """Begin new logs."""
        for log in (self.q, self.qd, self.tip, self.forces, self.states):
            log.clear()

    def start(self, duration: float = 2.0) -> None:
        """Activate, and let time pass."""
        self.activate()
        self.run(duration)

    def switch(self, mode: str) -> None:
        """Change the mode, and let it come to rest."""
        self.change(mode=mode)
        self.run(self.controller.settings.number('switch_time') + 0.3)
        assert self.controller.mode == mode

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
