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

"""Parameter values as numbers for one robot; its description has those that are not given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
import time
from typing import cast

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.results import Tolerances
from rbd_ros.control.interface.row import Value
from rbd_ros.control.modes import TIP_SPRINGS
from rbd_ros.control.parameters.rules import blind_period, direction
from rbd_ros.control.parameters.validation import per_joint
from rbd_ros.control.robot import Robot
from rbd_ros.control.supervisor.states import Timing
from rbd_ros.wire.messages import MOTOR_COMMANDS

__all__ = ['RobotValues', 'STRAY', 'WINDOW']

Array = npt.NDArray[np.float64]

#: share of the range of a joint that the zone before each of its limits may take
_ZONE = 0.1
_LEAST_ZONE = 1e-6  # rad or m, for a joint that has no range at all

#: share of the range of a joint, and rad or m, by which it may be outside
_OUTSIDE = 0.1

#: share of the torque limit, and acceleration in rad/s^2 or m/s^2, that move every joint
_MOVING, _PUSHED = 0.02, 2.0

#: share of its tracking limit that a joint may have lagged behind before it moves at all
_STUCK = 0.1

#: torque rate where none is given: the limit ten times per second
_RATE_PER_LIMIT = 10.0

#: share of the torque limits that counts as a contact where nothing is given
_TOUCHED = 0.1

#: s over which positions and velocities are compared
WINDOW = 0.1

#: share of the velocity by which positions and velocities may disagree: filters are late
STRAY = 0.5


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
        described = [0.0 if math.isinf(x) else x for x in
                     self.robot.pick(self.robot.model.effort_limit)]
        return self.joints('torque_limits', described)

    @property
    def torque_rates(self) -> Array:
        """Return the largest changes of the torques per second."""
        return self.joints('torque_rate_limits', (_RATE_PER_LIMIT * self.torque_limits).tolist())

    @property
    def velocity_limits(self) -> Array:
        """Return the velocities beyond which a fault is raised."""
        return self.joints('velocity_limits', [
            x if x > 0.0 else math.inf for x in self.robot.pick(self.robot.model.velocity_limit)])

    @property
    def contact_torques(self) -> Array:
        """Return the observed torques beyond which there is a contact."""
        return self.joints('contact.torque', (_TOUCHED * self.torque_limits).tolist())

    def contact_friction(self, name: str) -> Array:
        """
        Return the friction that an observer sees; that of the law if no other is given.

        :param name: 'coulomb' or 'viscous'.
        """
        return self.joints(f'contact.{name}', self.joints(f'friction.{name}').tolist())

    @property
    def contact_wrench(self) -> Array:
        """Return the moments and forces beyond which there is a contact; 0: any."""
        names = ('contact.moment', 'contact.force')
        return np.concatenate([per_joint(name, self.numbers(name), 3) for name in names])

    @property
    def mismatch_limits(self) -> Array:
        """Return how far positions may depart from the integrated velocities, rad or m."""
        return self.joints('state_tolerance') + STRAY * WINDOW * self.velocity_limits

    @property
    def differenced_limits(self) -> Array:
        """Return the velocities that positions may show, noise included."""
        return self.velocity_limits + self.joints('state_tolerance') / WINDOW

    @property
    def standstill_torque(self) -> Array:
        """Return the torques besides g(q) under which a joint that does not move is watched."""
        return np.minimum(_MOVING * self.torque_limits,
                          _PUSHED * np.array(self.robot.damped_inertia))

    @property
    def standstill_errors(self) -> Array:
        """Return the tracking errors that a joint may have that does not move at all."""
        return _STUCK * self.joints('tracking_limits')

    @property
    def position_range(self) -> tuple[Array, Array]:
        """Return the middle of the positions that a joint can have, and how far it may be away."""
        robot = self.robot
        lower, upper = (np.array(robot.pick(x)) for x in (robot.model.lower, robot.model.upper))
        bounded = np.isfinite(lower) & np.isfinite(upper)
        low, high = np.where(bounded, lower, 0.0), np.where(bounded, upper, 0.0)
        reach = (0.5 + _OUTSIDE) * (high - low) + _OUTSIDE
        return 0.5 * (low + high), np.where(bounded, reach, math.inf)

    @property
    def reference_velocity(self) -> Array:
        """Return the largest reference velocities; usually those where the barrier begins."""
        share = self.number('barrier.velocity')  # a robot that catches up is faster than these
        usual = [share * x if math.isfinite(x) else 1.0 for x in self.velocity_limits]
        return self.joints('reference.velocity', usual)

    @property
    def release_torque(self) -> str:
        """Return the torque that remains after release; nothing if the driver holds the robot."""
        return self.text('release_torque') or 'zero'

    @property
    def motors_close_loops(self) -> bool:
        """Return whether commands go to motors that close their own loop."""
        return self.text('command_type') in MOTOR_COMMANDS

    @property
    def motor_blind_damping(self) -> Array:
        """Return the damping that motors have without states."""
        return self.joints('motor.blind_damping', self.joints('motor.damping').tolist())

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

    @property
    def same_clock(self) -> bool:
        """Return whether the clock of the stamps is known to be ours."""
        return self.simulated or self.flag('synchronised_stamps')

    def both(self, name: str) -> Array:
        """
        Return a parameter of the task for turns and for ways.

        :param name: what follows ``task.angular_`` and ``task.linear_``.
        """
        return np.array([self.number(f'task.angular_{name}'), self.number(f'task.linear_{name}')])

    def six(self, name: str) -> Array:
        """
        Return a parameter of the task for each direction of the frame, angular ones first.

        :param name: what follows ``task.angular_`` and ``task.linear_``.
        """
        return np.repeat(self.both(name), 3)

    def wrench_limit(self) -> list[float]:
        """Return the largest norms of moment and force."""
        return [self.number('task.moment_limit'), self.number('task.force_limit')]

    @property
    def task_errors(self) -> Array:
        """Return how far the tip may be from its reference: rad and m."""
        return np.array([self.number('task.angular_error'), self.number('task.linear_error')])

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
        robot = self.robot
        span = np.array(robot.pick(robot.model.upper)) - np.array(robot.pick(robot.model.lower))
        return np.minimum(self.joints('barrier.margin'), np.maximum(_ZONE * span, _LEAST_ZONE))


def _or_infinite(values: Array) -> Array:
    return np.where(values > 0.0, values, math.inf)
