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

"""A set of values for one robot, and whether its springs, motors and forces fit that robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.modes import Follows, JOINT_SPRINGS, Mode, TIP_SPRINGS
from rbd_ros.control.parameters.force import AXES, force_reasons
from rbd_ros.control.parameters.gains import gain_loop
from rbd_ros.control.parameters.motor_loop import motor_loop_reason, MotorLoop
from rbd_ros.control.parameters.motors import motor_reasons, MotorCase
from rbd_ros.control.parameters.pushes import Pushed, pushes
from rbd_ros.control.parameters.robot_values import RobotValues
from rbd_ros.control.parameters.rules import limit_reasons
from rbd_ros.control.parameters.shaping import inertia_reasons, usual_masses
from rbd_ros.control.parameters.springs import (
    FITTED, fitting_damping, least_rate, Spring, spring_cases, spring_reasons, SpringCase)
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.parameters.validation import per_joint

__all__ = ['Settings']

Array = npt.NDArray[np.float64]

#: kg.m^2 or kg of a direction in which nothing moves: any spring is stable there
_NO_MOTION = 1e100

#: N.m/rad or N/m of a joint that is given no stiffness, and the share of what the rate can hold
#: that it has at most
_STIFFNESS, _STIFFNESS_SHARE = 50.0, 0.5


class Settings(RobotValues):
    """A complete, valid set of values for one robot; created again with every change."""

    def with_structure_of(self, other: Settings) -> Settings:
        """
        Return these values with the structural ones of another set, which wait for configuring.

        :param other: set that the robot was configured with.
        """
        rows = with_modes(self.robot.own_modes)
        kept = {name: other.values[name] for name, row in rows.items() if row.structural}
        return Settings(self.robot, self.values | kept, simulated=self.simulated)

    def refusals(self) -> list[str]:
        """Return why this robot cannot be driven with these values; empty if it can."""
        return limit_reasons(self.torque_limits.tolist(), self.torque_rates.tolist(),
                             stop_time=self.number('stop_time'), names=self.robot.spoken()
                             ) + (self.spring_refusals() + self.motor_refusals()
                                  + self.force_refusals() + self.inertia_refusals())

    def motor_refusals(self) -> list[str]:
        """Return which gains of motors could add more than the torque limits."""
        if not self.motors_close_loops:
            return []
        robot = self.robot
        spans = np.array(robot.pick(robot.model.upper)) - np.array(robot.pick(robot.model.lower))
        cases = [MotorCase(*each) for each in zip(
            robot.spoken(), *(numbers.tolist() for numbers in (
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

    def inertia_refusals(self) -> list[str]:
        """Return why the tip cannot feel as if it had the wanted inertia; empty if it can."""
        robot, wanted = self.robot, self.tip_spring('inertia')
        if not wanted.any():
            return []
        chosen, frame = [AXES.index(axis) for axis in self.task_axes], robot.model.frame
        try:
            masses = usual_masses(list(zip(robot.sampled, robot.sampled_jacobians)))
        except np.linalg.LinAlgError:  # a joint that moves nothing
            masses = np.zeros(6)
        return inertia_reasons(
            wanted.tolist(), masses.tolist(), chosen, sensor=robot.sensor, tip=robot.tip,
            together=not robot.sensor or frame(robot.sensor).body == frame(robot.tip).body)

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
                    said = (f'{spring.stiffness} {{a:g}} {spring.units[0]} of {{joint}} with '
                            f'{spring.damping} {{b:.3g}} {spring.units[1]}'
                            + f' and {spring.ratio} {{c:g}}' * bool(spring.ratio))
                    what = Sentence(said)(place, case.stiffness, case.damping, case.ratio)
        return worst, what

    def pushed(self) -> Pushed | None:
        """Return what pushes ask of the joints that springs hold; None: no spring does."""
        mode, robot = self.robot.modes[self.text('mode')], self.robot
        springs = self.springs(mode)
        places = [place for spring in springs for place in spring.places]
        cases = [case for spring in springs for case in self._cases(spring)]
        acts = [i for i, case in enumerate(cases) if case.stiffness > 0.0 and (
            mode is not TIP_SPRINGS or places[i] in self.task_axes)]
        if not acts:
            return None
        rows = robot.sampled_jacobians if mode is TIP_SPRINGS else [
            np.eye(len(robot.joints))] * len(robot.sampled)
        try:
            return pushes(
                [places[i] for i in acts], [(H, J[acts]) for H, J in zip(robot.sampled, rows)],
                np.array([cases[i].stiffness for i in acts]),
                np.array([cases[i].damping for i in acts]), cases[0].ratio, self.torque_limits,
                self.torque_rates)
        except np.linalg.LinAlgError:  # a joint that moves nothing
            return None

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
        units = '{effort}/{unit}', '{effort}.s/{unit}'
        return [Spring(stiffness, damping, '', units, self.robot.spoken(),
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
        for j, joint in enumerate(self.robot.spoken()):
            K, D, kp, kd = (float(gain[j]) for gain in gains)
            case = MotorLoop(K, D, kp, kd, self.robot.damped_inertia[j], mode.spring is None)
            if case.is_stable(period, delay):
                continue
            reasons.append(motor_loop_reason(case, joint, names, period, delay, loop))
        return reasons

    def _tip_springs(self) -> list[Spring]:
        """Return the springs at the tip; along other directions than task.axes none acts."""
        mode, axes, inertia = TIP_SPRINGS, self.task_axes, np.array(self.robot.tip_inertia)
        found = []
        for part, names, felt in (('angular', ('rx', 'ry', 'rz'), inertia[:3]),
                                  ('linear', ('x', 'y', 'z'), inertia[3:])):
            stiffness, damping = (
                f'{mode.name}.{part}_{name}' for name in ('stiffness', 'damping'))
            found.append(Spring(
                stiffness, damping, f'{mode.name}.damping_ratio',
                (mode.rows[stiffness].unit, mode.rows[damping].unit), names,
                [mass if axis in axes and mass > 0.0 else _NO_MOTION
                 for axis, mass in zip(names, felt.tolist())], felt.tolist()))
        return found

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
