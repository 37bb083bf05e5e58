# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A set of values for one robot, and whether its springs, motors and forces fit that robot."""

from __future__ import annotations


import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.modes import Follows, JOINT_SPRINGS, Mode, TIP_SPRINGS
from rbd_ros.control.parameters.force import axes_reasons
from rbd_ros.control.parameters.gains import gain_loop
from rbd_ros.control.parameters.given import fit_springs
from rbd_ros.control.parameters.judging import joint_spring, judge_robot, Judgement, tip_spring
from rbd_ros.control.parameters.motor_loop import motor_loop_reason, MotorLoop
from rbd_ros.control.parameters.motors import motor_reasons, MotorCase
from rbd_ros.control.parameters.pushes import Pushed, pushes
from rbd_ros.control.parameters.robot_values import RobotValues
from rbd_ros.control.parameters.rule_texts import (
    joint_parameters, rule_texts, said, tip_parameters)
from rbd_ros.control.parameters.rules import limit_reasons
from rbd_ros.control.parameters.shaping import inertia_reasons, usual_masses
from rbd_ros.control.parameters.springs import least_rate, Spring, SpringCase
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.parameters.values import AXES, places

__all__ = ['Settings']

Array = npt.NDArray[np.float64]


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
                             ) + (self.force_refusals() + self.live_refusals()
                                  + self.motor_refusals() + self.inertia_refusals())

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
        """Return why forces cannot be controlled along these axes; empty if they can."""
        robot, frame = self.robot, self.robot.model.frame
        if not self.names('force_control.axes'):
            return []
        if robot.sensor and frame(robot.sensor).body != frame(robot.tip).body:
            return [f'force_torque.frame "{robot.sensor}" moves relative to task.frame '
                    f'"{robot.tip}": for force control both must be fixed to one link']
        return axes_reasons(self.values)

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

    def live_refusals(self, *, differenced: bool = False) -> list[str]:
        """
        Return what is wrong with springs and dampers that act, and with forces; others do not act.

        :param differenced: whether states have no velocities, so that their filter counts.
        """
        reasons: list[str] = []
        mode, x = self.robot.modes[self.text('mode')], Judgement({})
        if self.motors_close_loops and mode.follows is Follows.JOINTS and (
                mode.kernel == 'joint' or mode.spring is not None):
            reasons = self._motor_loop_refusals(mode, differenced=differenced)
        x.differenced = differenced
        judge_robot(x.plain(), self.given.plain())
        texts = rule_texts(self.values, self.robot.modes, differenced=differenced)
        return reasons + said(x, texts, self.robot.spoken())

    def _springs(self, mode: Mode) -> list[tuple[Spring, SpringCase]]:
        """Return the springs of a mode with their values, judged."""
        found, g = [], self.given.plain()
        if mode is TIP_SPRINGS:
            for i, axis in enumerate(AXES):
                found.append((tip_parameters(axis), SpringCase({})))
                tip_spring(found[-1][1], g, i, False)
        elif mode.spring is not None:
            k = list(self.robot.modes).index(mode.name)
            for j, joint in enumerate(self.robot.spoken()):
                found.append((joint_parameters(mode, joint), SpringCase({})))
                joint_spring(found[-1][1], g, k, j, False)
        return found

    def rate_for_springs(self) -> tuple[float, str]:
        """Return the rate in Hz that the springs of the mode need, and which one needs it."""
        worst, what = 0.0, ''
        for spring, case in self._springs(self.robot.modes[self.text('mode')]):
            if (rate := least_rate(case)) > worst:
                worst = rate
                text = (f'{spring.stiffness} {{a:g}} {spring.units[0]} of {{joint}} with '
                        f'{spring.damping} {{b:.3g}} {spring.units[1]}'
                        + f' and {spring.ratio} {{c:g}}' * bool(spring.ratio))
                what = Sentence(text)(spring.place, case.stiffness, case.damping, case.ratio)
        return worst, what

    def pushed(self) -> Pushed | None:
        """Return what pushes ask of the joints that springs hold; None: no spring does."""
        mode, robot = self.robot.modes[self.text('mode')], self.robot
        springs = self._springs(mode)
        where = [spring.place for spring, _ in springs]
        cases = [case for _, case in springs]
        acts = [i for i, case in enumerate(cases) if case.stiffness > 0.0 and (
            mode is not TIP_SPRINGS or where[i] in self.task_axes)]
        if not acts:
            return None
        rows = robot.sampled_jacobians if mode is TIP_SPRINGS else [
            np.eye(len(robot.joints))] * len(robot.sampled)
        try:
            return pushes(
                [where[i] for i in acts], [(H, J[acts]) for H, J in zip(robot.sampled, rows)],
                np.array([cases[i].stiffness for i in acts]),
                np.array([cases[i].damping for i in acts]), cases[0].ratio, self.torque_limits,
                self.torque_rates)
        except np.linalg.LinAlgError:  # a joint that moves nothing
            return None

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

    def own_values(self, mode: Mode) -> list[Array]:
        """
        Return the parameters of a mode with a law function, in the order of its declaration.

        :param mode: one with a law function.
        """
        g, found = self.given, places(self.robot.modes, len(self.robot.joints))
        values = g.values.memory.copy()
        own = g.values.own
        begin = found[next(iter(JOINT_SPRINGS.rows))].at - int(g.robot.fitted_to)
        fit_springs(values[begin:begin + own.size], g.plain())
        return [values[found[name].at:found[name].at + found[name].size] for name in mode.rows]
