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

"""The laws of the tip: motion of a frame, a wrench upon it, and a posture in what is left."""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import dot
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.control.interface.events import Joints, NEVER, Structure
from rbd_ros.control.laws.law_records import (
    ImpedanceInputs, LawGains, LawKernel, TaskGains, TaskInputs, TaskLaw)
from rbd_ros.control.laws.laws import integrated, keep, moment
from rbd_ros.control.laws.springs import Springs, stiffen
from rbd_ros.control.numerics.places import place_of

__all__ = ['begin_task_law', 'go_to_posture', 'impedance_law', 'smooth_step', 'task_law',
           'task_law_rests']

#: rad/s or m/s below which a reference counts as at rest
_REST = 1e-3


def begin_task_law(x: TaskLaw, kernel: LawKernel, R: Matrix, velocity: Vector, joints: Joints,
                   structure: Structure, twist: Vector, now: float) -> None:
    """
    Begin at the present pose and posture.

    Then the reference must begin at the pose that the kernel has found, with the twist, and come
    to rest within ``switch_time``.

    :param x: state of the law.
    :param kernel: of the law, whose common inputs are filled.
    :param R: axes of the tip as columns, which the kernel finds.
    :param velocity: of the tip in its own axes, angular part first, which it finds, too.
    :param joints: the present state.
    :param structure: which joints are controlled.
    :param twist: gets the velocity of the tip, angular part first; base axes.
    :param now: control time, s.
    """
    x.time = NEVER
    x.entered = moment(now, x.entered)
    x.starting = True
    x.integral[:] = 0.0
    x.error[:] = 0.0
    for j in range(len(x.drift)):
        i = place_of(structure, j)
        x.drift[j] = 0.0
        x.start_speed[j] = joints.qd[i]
        x.posture[j] = joints.q[i]
    kernel.run()  # for the pose; the torque is not used
    twist[:3] = R[:, 0] * velocity[0] + R[:, 1] * velocity[1] + R[:, 2] * velocity[2]
    twist[3:6] = R[:, 0] * velocity[3] + R[:, 1] * velocity[4] + R[:, 2] * velocity[5]


def go_to_posture(x: TaskLaw, p: TaskGains) -> None:
    """
    Go to the posture that is named, if there is one; else that of the beginning is kept.

    :param x: state of the law.
    :param p: gains.
    """
    if p.posture_given:
        keep(x.posture, p.posture)


def task_law(x: TaskLaw, p: LawGains, kernel: LawKernel, own: TaskInputs, R: Matrix,
             position: Vector, velocity: Vector, acceleration: Vector, wrench: Vector,
             side: Vector, pace: float, now: float) -> None:
    """
    Move the tip along its reference, and advance the integral.

    Then the reference must be given its lead over the robot, ``x.lead``.

    :param x: state of the law.
    :param p: gains.
    :param kernel: of the law, whose common inputs are filled.
    :param own: its other arrays.
    :param R: reference axes as columns.
    :param position: reference origin, m.
    :param velocity: of the reference, angular part first; base axes.
    :param acceleration: of the reference.
    :param wrench: to be exerted, moment first; base axes.
    :param side: per joint 1 or -1 where the last torque was at a limit, else 0.
    :param pace: share of its speed at which the law acts.
    :param now: control time, s.
    """
    if x.starting:
        _come_to_rest(x, p.switch_time, now)
    if not p.task.integrates:
        x.integral[:] = 0.0
    _fill_reference(own, R, position, velocity, acceleration, wrench)
    _fill_gains(x, p, own, pace)
    kernel.run()
    keep(x.error, own.error)
    keep(x.lead, own.lead)
    if p.task.integrates:
        dt = now - x.time if x.time > NEVER else 0.0
        x.time = moment(now, x.time)
        if not any(side != 0.0):
            for i in range(6):
                # the directions of a frame have no torque limit of their own
                x.integral[i] = integrated(
                    x.integral[i], own.lead[i], pace * pace * pace * p.task.integral[i], dt,
                    p.task.integral_limit[i], 0.0)


def impedance_law(x: TaskLaw, springs: Springs, p: LawGains, kernel: LawKernel,
                  own: ImpedanceInputs, R: Matrix, position: Vector, velocity: Vector,
                  wrench: Vector, external: Vector, shapes: float, pace: Vector, posture: float,
                  now: float) -> None:
    """
    Pull the tip to its reference by springs; there is no integral.

    Then the reference must be given its lead over the robot, ``x.lead``.

    :param x: state of the law.
    :param springs: their stiffness.
    :param p: gains.
    :param kernel: of the law, whose common inputs are filled.
    :param own: its other arrays.
    :param R: reference axes as columns.
    :param position: reference origin, m.
    :param velocity: of the reference, angular part first; base axes.
    :param wrench: to be exerted, moment first; base axes.
    :param external: that acts on the tip by the sensor, in its axes.
    :param shapes: whether that is known and the inertia that is felt may be another one.
    :param pace: share of its speed at which spring and damper of each direction act.
    :param posture: the same of the posture.
    :param now: control time, s.
    """
    if x.starting:
        _come_to_rest(x, p.switch_time, now)
    own.R_ref[:] = R
    own.p_ref[:] = position
    own.velocity_ref[:] = velocity
    own.wrench[:] = wrench
    own.limit[:] = p.limit
    own.spring[:] = pace * pace * p.impedance.stiffness
    own.damper[:] = pace * p.impedance.damping
    stiffen(springs, springs.tip, own.spring, 0, springs.way, p.stiffness_power, now)
    own.spring[:] = springs.tip
    own.damping_ratio[0] = p.impedance.ratio
    own.inertia[:] = (p.impedance.inertia if shapes > 0.0 else 0.0)
    own.external[:] = (external if shapes > 0.0 else 0.0)
    own.task_speed[:] = p.task.speed
    own.max_condition[0] = p.task.max_condition
    own.joint_speed[:] = p.task.joint_speed
    own.drift[:] = x.drift
    own.posture[:] = x.posture
    _keep_posture(own.posture_stiffness, own.posture_damping, p.task, posture)
    kernel.run()
    keep(x.error, own.error)
    keep(x.lead, own.lead)
    for k in range(3):
        turn, way = dot(own.R[:, k], x.lead[:3]), dot(own.R[:, k], x.lead[3:])
        if math.isfinite(turn) and math.isfinite(way):
            springs.way[k], springs.way[3 + k] = turn, way


def _fill_reference(own: TaskInputs, R: Matrix, position: Vector, velocity: Vector,
                    acceleration: Vector, wrench: Vector) -> None:
    own.R_ref[:] = R
    own.p_ref[:] = position
    own.velocity_ref[:] = velocity
    own.acceleration_ref[:] = acceleration
    own.wrench[:] = wrench


def _fill_gains(x: TaskLaw, p: LawGains, own: TaskInputs, pace: float) -> None:
    own.limit[:] = p.limit
    own.task_stiffness[:] = pace * pace * p.task.stiffness
    own.task_damping[:] = pace * p.task.damping
    own.task_integral[:] = x.integral
    own.task_speed[:] = p.task.speed
    own.max_condition[0] = p.task.max_condition
    own.joint_speed[:] = p.task.joint_speed
    own.drift[:] = x.drift
    own.posture[:] = x.posture
    _keep_posture(own.posture_stiffness, own.posture_damping, p.task, pace)


def _keep_posture(stiffness: Vector, damping: Vector, p: TaskGains, pace: float) -> None:
    """Fill the gains of the posture."""
    stiffness[:] = pace * pace * p.posture_stiffness
    damping[:] = pace * p.posture_damping


def task_law_rests(x: TaskLaw, p: TaskGains, velocity: Vector, wrench: Vector) -> bool:
    """
    Return whether the law wants the robot to stay where it is.

    :param x: state of the law.
    :param p: gains.
    :param velocity: of the reference.
    :param wrench: to be exerted.
    """
    if p.posture_given or x.starting or any(wrench != 0.0):
        return False
    return not any(abs(velocity) > _REST)


def _come_to_rest(x: TaskLaw, duration: float, now: float) -> None:
    """Let joint motion that does not move the frame fade like the motion of the frame."""
    gone = (now - x.entered) / duration if duration > 0.0 else 1.0
    share = 1.0 - smooth_step(gone) if math.isfinite(gone) else 0.0
    x.drift[:] = x.start_speed * share
    if share == 0.0:
        x.starting = False


def smooth_step(s: float) -> float:
    """
    Rise from 0 to 1 with zero first and second derivative at both ends.

    :param s: progress; values outside [0, 1] are clamped.
    """
    s = min(max(s, 0.0), 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))
