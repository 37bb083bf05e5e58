# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Arms of MuJoCo under the controller that the nodes run, without ROS, on a fake clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import dataclasses
from functools import cache
from pathlib import Path
from typing import Any, cast, NamedTuple

from benchmark.mujoco_plant import Plant, PlantOptions
from benchmark.robots import robots_folder
import numpy as np
import numpy.typing as npt
from rbd_ros import load_urdf
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.assembly import compile_kernels
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references.trajectory import read_points
from rbd_ros.control.robot import make_robot, Robot

__all__ = ['AHEAD', 'described', 'DrivenRobot', 'Kind', 'make_controller', 'ROBOTS', 'stamp_at']

Array = npt.NDArray[np.float64]
Measured = tuple[Array | Sequence[float], Array | Sequence[float], Array | Sequence[float]]

#: s by which the clock of the stamps is ahead of the control clock
AHEAD = 1e4


class Kind(NamedTuple):
    """
    A robot.

    :param file: its description; a relative path is below the folder of known robots.
    :param joints: controlled ones; others are locked at zero.
    :param tip: link that carries the tool.
    :param pose: bent, amid the range of the joints, with much to carry.
    """

    file: Path
    joints: tuple[str, ...]
    tip: str
    pose: tuple[float, ...]


_UR = (('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint',
        'wrist_2_joint', 'wrist_3_joint'), 'tool0', (0.3, -1.0, 1.2, -0.6, -1.0, 0.3))

ROBOTS = {
    'built-in': Kind(Path(__file__).parents[1] / 'urdf' / 'seven_joint_arm.urdf',
                     tuple(f'joint_{k}' for k in range(1, 8)), 'tool0',
                     (0.2, 0.4, -0.3, -1.3, 0.4, 0.8, 0.5)),
    'panda': Kind(Path('panda_description/urdf/panda.urdf'),
                  tuple(f'panda_joint{k}' for k in range(1, 8)), 'panda_hand',
                  (0.2, -0.5, 0.3, -2.1, 0.2, 1.7, 0.6)),
    'ur5': Kind(Path('ur_description/urdf/ur5_robot.urdf'), *_UR),
    'ur10': Kind(Path('ur_description/urdf/ur10_robot.urdf'), *_UR),
}


@cache
def described(name: str, rotors: tuple[float, ...] | None = None) -> tuple[str, Robot]:
    """
    Return the description of a robot, and what the controller makes of it.

    :param name: of ``ROBOTS``.
    :param rotors: their inertia at each joint, or at all of them, kg.m^2; None: as described.
    """
    kind = ROBOTS[name]
    text = (robots_folder() / kind.file).read_text()
    model = load_urdf(text, on_warning=lambda _: None)
    if rotors is not None:
        given = dict(zip(kind.joints, np.broadcast_to(rotors, len(kind.joints)).tolist()))
        model = dataclasses.replace(model, rotor_inertia=tuple(
            given.get(joint, 0.0) for joint in model.independent_joint_names))
    fixed = {other: 0.0 for other in model.independent_joint_names if other not in kind.joints}
    return text, make_robot(model, kind.joints, tip=kind.tip, fixed=fixed)


def make_controller(robot: Robot, values: Mapping[str, object],
                    send: Callable[[Array], None]) -> Controller:
    """
    Return a controller whose driver adds nothing.

    :param robot: to control.
    :param values: parameters that are no defaults.
    :param send: gets the torques.
    """
    settings = Settings(robot, defaults() | {
        'driver_adds': 'none', 'release_torque': 'gravity'} | dict(values), simulated=False)
    return Controller(settings, compile_kernels(settings), send)


def stamp_at(time: float) -> tuple[int, int]:
    """
    Return the stamp of a state.

    :param time: control time at which it was measured, s.
    """
    return divmod(round(1e9 * (time + AHEAD)), 1_000_000_000)


class DrivenRobot:
    """
    A robot under the controller; its brakes open with the first torque.

    :param name: of ``ROBOTS``.
    :param rate: of its states, Hz.
    :param values: parameters of the controller that are no defaults.
    :param plant: options of the robot that are not as described; no friction by default.
    """

    def __init__(self, name: str, rate: float, values: Mapping[str, object],
                 plant: Mapping[str, object]) -> None:
        kind, rotors = ROBOTS[name], cast('Sequence[float] | None', values.get('rotor_inertia'))
        text, self.robot = described(name, None if rotors is None else tuple(rotors))
        self.robot = dataclasses.replace(
            self.robot, sensor=str(values.get('force_torque.frame', '')))
        still = [0.0] * len(kind.joints)
        options: dict[str, Any] = {
            'joints': kind.joints, 'start': kind.pose, 'tip': kind.tip, 'step': 0.5e-3,
            'armature': self.robot.pick(self.robot.model.rotor_inertia), 'damping': still,
            'friction': still, **plant}
        self.plant = self.make_plant(text, PlantOptions(**options))
        self.torque = np.array(still)
        self.values = {'nominal_rate': rate, 'task.frame': kind.tip, **values}
        self.controller = make_controller(self.robot, self.values, self.send)
        self.controller.p.states.ages.clock_offset = -AHEAD  # as for a driver on this machine
        self.age = 2e-4  # s, of each state when it arrives
        self.limit = self.controller.settings.torque_limits
        self.period, self.time = 1.0 / rate, 50.0
        self.push: Array | None = None  # force and moment at the tip, in the base
        self.opens = True  # whether its brakes can be opened
        self.each: Callable[[float], None] | None = None  # called with the time, every period

    def make_plant(self, text: str, options: PlantOptions) -> Plant:
        """Return the robot that is driven."""
        return Plant(text, options)

    def send(self, torque: Array) -> None:
        """Take a torque."""
        self.torque = torque.copy()
        self.plant.brake(self.plant.braked and not self.opens)

    def measure(self) -> Measured:
        """Return position, velocity and effort, as the driver gives them."""
        return self.plant.position, self.plant.velocity, ()

    def note(self) -> None:
        """Look at what has become of it, after each period."""

    def run(self, duration: float) -> None:
        """
        Let time pass, a state and a tick per period.

        :param duration: s.
        """
        steps = max(1, round(self.period / self.plant.options.step))
        for _ in range(round(duration / self.period)):
            self.time += self.period
            if self.each is not None:
                self.each(self.time)
            self.controller.take_state(self.time, self.time, self.robot.joints, *self.measure(),
                                       stamp_at(self.time - self.age))
            self.controller.take_timer(self.time, self.time)
            for _ in range(steps):
                self.step()
            self.note()

    def step(self) -> None:
        """Let the robot move for one step of its own."""
        self.plant.step(self.torque, self.push)

    # -- what it is like ----------------------------------------------------------------------

    @property
    def state(self) -> str:
        """State of the supervisor in words."""
        return self.controller.state.value

    @property
    def causes(self) -> list[Cause]:
        """Causes of all latched faults, first one first."""
        return [Cause[name] for name in self.controller.faults()]

    @property
    def fault(self) -> str:
        """Every latched fault in one line."""
        return self.controller.fault_text()

    # -- requests -----------------------------------------------------------------------------

    def activate(self) -> None:
        """Activate, as another thread does."""
        self.controller.post(self.controller.activate)

    def stop(self, cause: Cause) -> None:
        """Ask for a stop, as another thread does."""
        self.controller.post(lambda _, steady: self.controller.fault(steady, cause))

    def change(self, **values: object) -> None:
        """Change parameters as the node does, at the next event."""
        controller = self.controller
        settings = Settings(self.robot, controller.settings.values | values, simulated=False)
        controller.post(lambda now, steady: controller.apply(settings, now, steady))

    def follow(self, target: Array, seconds: float) -> None:
        """Begin a trajectory with one point, as the topic does; 0 s: a set-point."""
        joints = self.robot.joints
        knots = read_points(joints, joints, [seconds], [target.tolist()], [], [])
        self.controller.take_points(self.time, self.time, knots, self.time)

    def aim(self, position: Array, quaternion: Array) -> None:
        """Hand over a target pose."""
        self.controller.take_pose(self.time, self.time, position.tolist(), quaternion.tolist())
