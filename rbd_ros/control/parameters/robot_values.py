# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Parameter values as numbers for one robot; its description has those that are not given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
import math
import time
from typing import cast

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.results import Tolerances
from rbd_ros.control.interface.row import Value
from rbd_ros.control.modes import TIP_SPRINGS
from rbd_ros.control.parameters import given
from rbd_ros.control.parameters.given import blind_period, Inputs, numbers_of
from rbd_ros.control.parameters.validation import per_joint
from rbd_ros.control.parameters.values import direction, places, write
from rbd_ros.control.robot import Robot
from rbd_ros.control.supervisor.states import Timing

__all__ = ['RobotValues']

Array = npt.NDArray[np.float64]


class RobotValues:
    """Every parameter by name, in the types and sizes that parts of the controller take."""

    def __init__(self, robot: Robot, values: Mapping[str, Value], *,
                 simulated: bool) -> None:
        """
        Take the values.

        :param robot: model and controlled joints.
        :param values: every parameter by name, already checked as a set.
        :param simulated: whether the control clock is that of a simulator.
        """
        self.robot, self.values, self.simulated = robot, dict(values), simulated

    @cached_property
    def given(self) -> Inputs:
        """Return the same as numbers, of which the parameters of the step are made."""
        robot, numbers = self.robot, numbers_of(self.robot)
        g = Inputs({'n': len(robot.joints), 'm': robot.model.nv})
        g.simulated, g.clock_offset = self.simulated, self.clock_offset
        g.robot.memory[:] = numbers.memory
        write(places(robot.modes, len(robot.joints)).values(), self.values, g.values.memory)
        return g

    def __getitem__(self, name: str) -> Value:
        """Return one value."""
        return self.values[name]

    def flag(self, name: str) -> bool:
        """Return a value that is true or false."""
        return bool(self.values[name])

    def integer(self, name: str) -> int:
        """Return a whole number."""
        return int(cast(int, self.values[name]))

    def number(self, name: str) -> float:
        """Return a number."""
        return float(cast(float, self.values[name]))

    def text(self, name: str) -> str:
        """Return a text."""
        return str(self.values[name])

    def numbers(self, name: str) -> list[float]:
        """Return a list of numbers."""
        return list(cast('list[float]', self.values[name]))

    def names(self, name: str) -> list[str]:
        """Return a list of names."""
        return list(cast('list[str]', self.values[name]))

    @property
    def task_axes(self) -> list[str]:
        """Return the controlled directions of the frame, by their short names."""
        return [direction(axis) for axis in self.names('task.axes')]

    def joints(self, name: str, fallback: Sequence[float] = ()) -> Array:
        """
        Return a per-joint parameter, one number per controlled joint.

        :param name: of the parameter.
        :param fallback: numbers to take where none is given.
        """
        return np.array(per_joint(name, self.numbers(name), len(self.robot.joints), fallback),
                        dtype=float)

    @property
    def torque_limits(self) -> Array:
        """Return the largest torques; 0 where neither URDF nor parameter gives one."""
        return np.array(given.torque_limits(self.given))

    @property
    def torque_rates(self) -> Array:
        """Return the largest changes of the torques per second."""
        return np.array(given.torque_rates(self.given))

    @property
    def velocity_limits(self) -> Array:
        """Return the velocities beyond which a fault is raised."""
        return np.array(given.velocity_limits(self.given))

    @property
    def reference_velocity(self) -> Array:
        """Return the largest reference velocities; usually those where the barrier begins."""
        return np.array(given.reference_velocity(self.given))

    @property
    def release_torque(self) -> str:
        """Return the torque that remains after release; nothing if the driver holds the robot."""
        return self.text('release_torque') or 'zero'

    @property
    def motors_close_loops(self) -> bool:
        """Return whether commands go to motors that close their own loop."""
        return given.motors_close_loops(self.given)

    @property
    def motor_blind_damping(self) -> Array:
        """Return the damping that motors have without states."""
        return np.array(given.motor_blind_damping(self.given))

    def tip_spring(self, name: str) -> Array:
        """
        Return stiffness or damping of the springs at the tip, angular part first.

        :param name: what follows ``angular_`` and ``linear_``.
        """
        names = [f'{TIP_SPRINGS.name}.{part}_{name}' for part in ('angular', 'linear')]
        return np.concatenate([per_joint(each, self.numbers(each), 3) for each in names])

    @property
    def damping_ratio(self) -> float:
        """Return the damping ratio of the springs at the tip."""
        return self.number(f'{TIP_SPRINGS.name}.damping_ratio')

    def timing(self) -> Timing:
        """Return the times of the supervisor."""
        return Timing(
            state_timeout=self.number('state_timeout'), hold_time=self.number('hold_time'),
            brake_time=self.number('brake_time'), release_time=self.number('release_time'),
            ramp_time=self.number('ramp_time'), release_repeats=self.integer('release_repeats'),
            pause_limit=self.number('pause_limit'), simulated=self.simulated,
            recover=self.flag('recover_lost_state'), fault_action=self.text('fault_action'),
            stop_action=self.text('stop_action'), stop_time=self.number('stop_time'),
            period=blind_period(self.number('nominal_rate')),
            contact=self.text('contact.reaction'),
            retract_time=self.number('contact.retract_time'))

    @property
    def report_divider(self) -> int:
        """Return how many states pass between two snapshots; 0: none are taken."""
        dividers = [self.integer('dynamics_divider'), self.integer('state_divider')]
        return min((divider for divider in dividers if divider > 0), default=0)

    @property
    def clock_offset(self) -> float:
        """Return reception minus stamp of a message without delay, by our own clock."""
        return 0.0 if self.simulated else time.monotonic() - time.time()

    def tolerances(self) -> Tolerances:
        """Return the default tolerances of a goal; 0 means none."""
        path = np.full((3, len(self.robot.joints)), math.inf)
        goal = path.copy()
        path[0] = _or_infinite(self.joints('tolerance.path'))
        goal[0] = _or_infinite(self.joints('tolerance.goal'))
        goal[1] = _or_infinite(self.joints('tolerance.goal_velocity'))
        return Tolerances(path, goal, self.number('tolerance.goal_time') or math.inf)

    @property
    def barrier_margins(self) -> Array:
        """
        Return the widths of the zones before joint limits, at most a tenth of each range.

        One number for all joints is in rad for some and in m for others: what is little for
        an elbow is more than the whole stroke of a gripper, which then could not be moved.
        """
        return np.array(given.barrier_margins(self.given))


def _or_infinite(values: Array) -> Array:
    return np.where(values > 0.0, values, math.inf)
