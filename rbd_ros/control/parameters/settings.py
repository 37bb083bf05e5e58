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

"""Parameter values turned into what the parts of the controller take, for one robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
import time
from typing import cast

import numpy as np
import numpy.typing as npt
from rbd_ros.control.modes.modes import Follows, JOINT_SPRINGS, Mode, TIP_SPRINGS
from rbd_ros.control.parameters.force import force_reasons
from rbd_ros.control.parameters.gains import gain_loop
from rbd_ros.control.parameters.motor_loop import motor_loop_reason, MotorLoop
from rbd_ros.control.parameters.motors import motor_reasons, MotorCase
from rbd_ros.control.parameters.row import Value
from rbd_ros.control.parameters.rules import blind_period, direction, limit_reasons
from rbd_ros.control.parameters.springs import (
    FITTED, fitting_damping, least_rate, Spring, spring_cases, spring_reasons, SpringCase)
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.parameters.validation import per_joint
from rbd_ros.control.references.results import Tolerances
from rbd_ros.control.robot import Robot
from rbd_ros.control.supervisor.states import Timing
from rbd_ros.wire.messages import MOTOR_COMMANDS

__all__ = ['Settings', 'STRAY', 'WINDOW']

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

#: kg.m^2 or kg of a direction in which nothing moves: any spring is stable there
_NO_MOTION = 1e100

#: N.m/rad or N/m of a joint that is given no stiffness, and the share of what the rate can hold
#: that it has at most
_STIFFNESS, _STIFFNESS_SHARE = 50.0, 0.5

#: s over which positions and velocities are compared
WINDOW = 0.1

#: share of the velocity by which positions and velocities may disagree: filters are late
STRAY = 0.5


class Settings:
    """A complete, valid set of values for one robot; created again with every change."""

    def __init__(self, robot: Robot, values: Mapping[str, Value], *,
                 simulated: bool) -> None:
        """
        Take the values.

        :param robot: model and controlled joints.
        :param values: every parameter by name, already checked as a set.
        :param simulated: whether the control clock is that of a simulator.
        """
        self.robot, self.values, self.simulated = robot, dict(values), simulated

    def with_structure_of(self, other: Settings) -> Settings:
        """
        Return these values with the structural ones of another set, which wait for configuring.

        :param other: set that the robot was configured with.
        """
        rows = with_modes(self.robot.own_modes)
        kept = {name: other.values[name] for name, row in rows.items() if row.structural}
        return Settings(self.robot, self.values | kept, simulated=self.simulated)

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

    def refusals(self) -> list[str]:
        """Return why this robot cannot be driven with these values; empty if it can."""
        return limit_reasons(self.torque_limits.tolist(), self.torque_rates.tolist(),
                             stop_time=self.number('stop_time'), names=self.robot.joints
                             ) + (self.spring_refusals() + self.motor_refusals()
                                  + self.force_refusals())

    @property
    def motors_close_loops(self) -> bool:
        """Return whether commands go to motors that close their own loop."""
        return self.text('command_type') in MOTOR_COMMANDS

    @property
    def motor_blind_damping(self) -> Array:
        """Return the damping that motors have without states."""
        return self.joints('motor.blind_damping', self.joints('motor.damping').tolist())

    def motor_refusals(self) -> list[str]:
        """Return which gains of motors could add more than the torque limits."""
        if not self.motors_close_loops:
            return []
        robot = self.robot
        spans = np.array(robot.pick(robot.model.upper)) - np.array(robot.pick(robot.model.lower))
        cases = [MotorCase(*each) for each in zip(
            robot.joints, *(numbers.tolist() for numbers in (
                self.joints('motor.stiffness'), self.joints('motor.damping'),
                self.motor_blind_damping, self.torque_limits, self.velocity_limits, spans)))]
        return motor_reasons(cases, timeout=self.number('motor.timeout'),
                             delay=self.number('delay'), rate=self.number('nominal_rate'))

    def force_refusals(self) -> list[str]:
        """Return why forces cannot be controlled; empty if they can, or none shall be."""
        if not self.names('force_control.axes'):
            return []
        robot, frame = self.robot, self.robot.model.frame
        if robot.sensor and frame(robot.sensor).body != frame(robot.tip).body:
            return [f'force_torque.frame "{robot.sensor}" moves relative to task.frame '
                    f'"{robot.tip}": for force control both must be fixed to one link']
        return force_reasons(self.values, robot.tip_inertia)

    def spring_refusals(self, *, differenced: bool = False) -> list[str]:
        """
        Return which springs and dampers of the mode cannot be stable; others do not act.

        :param differenced: whether states have no velocities, so that their filter counts.
        """
        reasons: list[str] = []
        mode = self.robot.modes[self.text('mode')]
        modes = [mode]
        if self.motors_close_loops and mode.follows is Follows.JOINTS and (
                mode.kernel == 'joint' or mode.spring is not None):
            reasons, modes = self._motor_loop_refusals(mode, differenced=differenced), []
        if self.text('contact.reaction') == 'comply' and TIP_SPRINGS not in modes:
            modes.append(TIP_SPRINGS)
        for spring in [each for one in modes for each in self.springs(one)]:
            reasons += spring_reasons(
                self.values, spring, self._cases(spring, differenced=differenced),
                differenced=differenced)
        return reasons

    def _cases(self, spring: Spring, *, differenced: bool = False) -> list[SpringCase]:
        """Return springs and dampers with their values, judged."""
        count = len(spring.places)
        usual = self.usual_stiffness.tolist() if not self.numbers(spring.stiffness) else ()
        return spring_cases(
            self.values, spring,
            per_joint(spring.stiffness, self.numbers(spring.stiffness), count, usual),
            per_joint(spring.damping, self.numbers(spring.damping), count, [FITTED] * count),
            self.number(spring.ratio) if spring.ratio else 0.0, differenced=differenced)

    @property
    def usual_stiffness(self) -> Array:
        """Return the stiffness of joints that are given none: half of what the rate can hold."""
        [spring], count = self.springs(JOINT_SPRINGS), len(self.robot.joints)
        return np.array([_STIFFNESS if not case.wrong else _STIFFNESS_SHARE * case.most
                         for case in spring_cases(self.values, spring, [_STIFFNESS] * count,
                                                  [FITTED] * count)])

    def rate_for_springs(self) -> tuple[float, str]:
        """Return the rate in Hz that the springs of the mode need, and which one needs it."""
        worst, what = 0.0, ''
        for spring in self.springs(self.robot.modes[self.text('mode')]):
            for place, case in zip(spring.places, self._cases(spring)):
                if (rate := least_rate(case)) > worst:
                    worst = rate
                    what = (f'{spring.stiffness} {case.stiffness:g} {spring.units[0]} of {place} '
                            f'with {spring.damping} {case.damping:.3g} {spring.units[1]}'
                            + f' and {spring.ratio} {case.ratio:g}' * bool(spring.ratio))
        return worst, what

    def springs(self, mode: Mode) -> list[Spring]:
        """
        Return the springs of a mode, and the inertias that they act on.

        :param mode: one of the robot.
        """
        if mode is TIP_SPRINGS:
            return self._tip_springs()
        if mode.spring is None:
            return []
        stiffness, damping = (f'{mode.name}.{name}' for name in mode.spring)
        units = mode.rows[stiffness].unit, mode.rows[damping].unit
        return [Spring(stiffness, damping, '', units, self.robot.joints,
                       self.robot.damped_inertia, self.robot.usual_inertia)]

    def _motor_loop_refusals(self, mode: Mode, *, differenced: bool) -> list[str]:
        """Return which gains of a law and of its motors cannot be stable together."""
        names = ['stiffness', 'damping']
        if mode.spring is not None:
            names = [f'{mode.name}.{name}' for name in mode.spring]
        period, delay, loop = gain_loop(self.values, differenced=differenced)
        law = (self.own_values(mode) if mode is JOINT_SPRINGS
               else [self.joints(name) for name in names])
        gains = [*law, self.joints('motor.stiffness'), self.joints('motor.damping')]
        if mode.spring is None:
            gains[:2] = [gain * self.robot.damped_inertia for gain in gains[:2]]
        reasons = []
        for j, joint in enumerate(self.robot.joints):
            K, D, kp, kd = (float(gain[j]) for gain in gains)
            case = MotorLoop(K, D, kp, kd, self.robot.damped_inertia[j], mode.spring is None)
            if case.is_stable(period, delay):
                continue
            reasons.append(motor_loop_reason(case, joint, names, period, delay, loop))
        return reasons

    def _tip_springs(self) -> list[Spring]:
        """Return the springs at the tip; along other directions than task.axes none acts."""
        mode, axes, inertia = TIP_SPRINGS, self.task_axes, self.robot.tip_inertia
        found = []
        for part, names, felt in (('angular', ('rx', 'ry', 'rz'), inertia[:3]),
                                  ('linear', ('x', 'y', 'z'), inertia[3:])):
            stiffness, damping = (
                f'{mode.name}.{part}_{name}' for name in ('stiffness', 'damping'))
            found.append(Spring(
                stiffness, damping, f'{mode.name}.damping_ratio',
                (mode.rows[stiffness].unit, mode.rows[damping].unit), names,
                [mass if axis in axes and mass > 0.0 else _NO_MOTION
                 for axis, mass in zip(names, felt)], felt))
        return found

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

    def own_values(self, mode: Mode) -> list[Array]:
        """
        Return the parameters of a mode with a law function, in the order of its declaration.

        :param mode: one with a law function.
        """
        fitting: dict[str, Sequence[float]] = {}
        if mode is JOINT_SPRINGS:
            names = [f'{mode.name}.{row.name}' for row in mode.own]
            stiffness = self.joints(names[0], self.usual_stiffness.tolist())
            period, delay, _ = gain_loop(self.values)
            fitting = {names[0]: stiffness.tolist(), names[1]: [
                fitting_damping(k, usual, inertia, period, delay) for k, usual, inertia in zip(
                    stiffness, self.robot.usual_inertia, self.robot.damped_inertia)]}
        return [self.joints(name, fitting.get(name, ())) if row.each_joint
                else np.array([self.number(name)]) for name, row in mode.rows.items()]


def _or_infinite(values: Array) -> Array:
    return np.where(values > 0.0, values, math.inf)
