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
from rbd_ros.control.parameters.gains import largest_damping
from rbd_ros.control.parameters.row import Value
from rbd_ros.control.parameters.rules import blind_period, direction, limit_reasons
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.parameters.validation import per_joint
from rbd_ros.control.references.goals import Tolerances
from rbd_ros.control.robot import Robot
from rbd_ros.control.modes.modes import Follows, Mode
from rbd_ros.control.supervisor.states import Timing

__all__ = ['DAMPED', 'Settings', 'STRAY', 'UNSAID', 'WINDOW']

Array = npt.NDArray[np.float64]

#: fraction of the stable damping that each damper may use: barriers add up
_DAMPER = 0.5

#: the same fraction where states are old by their stamps: more helps against a load that nobody
#: described, and what is stable is a third of it away
_AGED_DAMPER = 0.65

#: s by which states may be later than the delay that is given before anything is said; dampers
#: are made for the age that is measured, stops and holds do not need it
UNSAID = 0.004

#: largest rate of a damper times the delay of its loop, where that is given: x' = -r x(t - T)
#: overshoots from r T = 1/e on and diverges from pi/2 on
DAMPED = 0.3

#: the same for what observes a load and compensates it
_OBSERVED = 0.6

#: the same for the brake, which extrapolates velocities by the delay
_BRAKED = 0.45

#: share of the range of a joint that the zone before each of its limits may take
_ZONE = 0.1
_LEAST_ZONE = 1e-6  # rad or m, for a joint that has no range at all

#: share of the range of a joint, and rad or m, by which it may be outside
_OUTSIDE = 0.1

#: share of the torque limit, and acceleration in rad/s^2 or m/s^2, that move every joint
_MOVING, _PUSHED = 0.02, 2.0

#: share of its tracking limit that a joint may have lagged behind before it moves at all
_STUCK = 0.1

#: share of the torque limit that dry friction may have, and its ratio to what is compensated
_FRICTION, _COMPENSATED = 0.1, 2.0

#: torque rate where none is given: the limit ten times per second
_RATE_PER_LIMIT = 10.0

#: s over which positions and velocities are compared
WINDOW = 0.1

#: share of the velocity by which positions and velocities may disagree: filters are late
STRAY = 0.5


class Settings:
    """A complete, valid set of values for one robot; created again with every change."""

    def __init__(self, robot: Robot, values: Mapping[str, Value], *, simulated: bool,
                 age: float = 0.0) -> None:
        """
        Take the values.

        :param robot: model and controlled joints.
        :param values: every parameter by name, already checked as a set.
        :param simulated: whether the control clock is that of a simulator.
        :param age: of states when they arrive, as far as it was measured, s.
        """
        self.robot, self.values, self.simulated = robot, dict(values), simulated
        self.age = age

    def with_structure_of(self, other: Settings) -> Settings:
        """
        Return these values with the structural ones of another set, which wait for configuring.

        :param other: set that the robot was configured with.
        """
        rows = with_modes(self.robot.own_modes)
        kept = {name: other.values[name] for name, row in rows.items() if row.structural}
        return Settings(self.robot, self.values | kept, simulated=self.simulated, age=other.age)

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
    def most_friction(self) -> Array:
        """Return the torques that dry friction can have, N.m."""
        return np.maximum(_FRICTION * self.torque_limits,
                          _COMPENSATED * self.joints('friction.coulomb'))

    @property
    def most_deceleration(self) -> Array:
        """Return what friction can do to a joint that its law still moves within its limits."""
        stiffness = self.joints('stiffness')
        return np.where(stiffness > 0.0, stiffness, math.inf) * self.joints('tracking_limits')

    @property
    def halt_speed(self) -> Array:
        """Return the speeds from which friction cannot stop a joint within a nominal period."""
        inertia = np.maximum(np.array(self.robot.damped_inertia), math.ulp(0.0))
        most = np.minimum(self.most_friction / inertia, self.most_deceleration)
        return most / self.number('nominal_rate')

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
                             stop_time=self.number('stop_time'), names=self.robot.joints)

    def timing(self) -> Timing:
        """Return the times of the supervisor."""
        return Timing(
            state_timeout=self.number('state_timeout'), hold_time=self.number('hold_time'),
            brake_time=self.number('brake_time'), release_time=self.number('release_time'),
            ramp_time=self.number('ramp_time'), release_repeats=self.integer('release_repeats'),
            pause_limit=self.number('pause_limit'), simulated=self.simulated,
            recover=self.flag('recover_lost_state'), fault_action=self.text('fault_action'),
            stop_action=self.text('stop_action'), stop_time=self.number('stop_time'),
            period=blind_period(self.number('nominal_rate')))

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

    def later(self, delay: float, age: float) -> Settings:
        """
        Return these values for states that have shown to be later.

        :param delay: for which damping, stops and holds are made, s.
        :param age: for which dampers are made, s.
        """
        return Settings(self.robot, self.values | {'delay': delay}, simulated=self.simulated,
                        age=age)

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
    def answer_time(self) -> float:
        """
        Return the time in s from a motion to the torque that answers it.

        A state waits for up to a period, a torque acts half a period late on average, and
        velocities that are missing are differences behind a filter.
        """
        return (self.number('delay') + 1.5 / self.number('nominal_rate')
                + self.number('velocity_filter'))

    @property
    def feedback_delay(self) -> float:
        """Return the same where the delay is given; 0: nobody says."""
        return self.answer_time if self.number('delay') else 0.0

    @property
    def fastest_damper(self) -> float:
        """Return the rate in 1/s at which a damper may let a velocity decay."""
        most = self.safe_rate
        return min(most, DAMPED / self.feedback_delay) if self.feedback_delay else most

    @property
    def safe_rate(self) -> float:
        """Return the same for states with velocities that are as old as was measured."""
        period = 1.0 / self.number('nominal_rate')
        late = max(self.number('delay'), self.age)
        return min(_DAMPER / period, _AGED_DAMPER * largest_damping(period, late))

    def damper(self, name: str) -> Array:
        """
        Return a damping per joint, no larger than is stable in a sampled loop with its delay.

        :param name: of the parameter.
        """
        return np.minimum(self.joints(name),
                          self.fastest_damper * np.array(self.robot.damped_inertia))

    @property
    def lateness(self) -> tuple[float, float]:
        """
        Return how late positions are when their torque acts, and how late differences of them, s.

        A torque acts half a period late on average.
        """
        period = 1.0 / self.number('nominal_rate')
        late = self.number('delay') + 0.5 * period
        return late, late + 0.5 * period + self.number('velocity_filter')

    @property
    def ahead(self) -> float:
        """
        Return the time in s by which stops and holds extrapolate positions; 0: nobody says.

        g(q) of a late position acts like a damper with the stiffness of gravity times the delay,
        which is negative for an arm that stands upright. Closed loops would not close.
        """
        known = self.number('delay') and not self.robot.model.loops
        return self.lateness[0] if known else 0.0

    @property
    def brake_rate(self) -> float:
        """Return the rate in 1/s at which a stop lets velocities decay."""
        return min(self.number('brake_rate'), _BRAKED / self.answer_time, self.safe_rate)

    @property
    def hold_gains(self) -> tuple[Array, Array]:
        """Return stiffness and damping of a hold, soft enough for the delay."""
        stiffness, damping = self.joints('stiffness'), self.joints('damping')
        most = self.safe_rate
        if self.feedback_delay:
            most = min(most, self.brake_rate, DAMPED / self.feedback_delay)
        elif (damping <= most).all():
            return stiffness, damping
        damping = np.minimum(damping, most)
        return np.minimum(stiffness, 0.25 * damping * damping), damping

    @property
    def observer_gain(self) -> Array:
        """Return the bandwidth of the observer, whose result a stop compensates."""
        gain = self.joints('observer_gain')
        return np.minimum(gain, _OBSERVED / self.feedback_delay) if self.feedback_delay else gain

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

    def kernel_inputs(self) -> dict[str, dict[str, Array]]:
        """Return what the kernels get besides state and references, by kernel."""
        law = self._barrier() | {'limit': self.torque_limits, 'rate': self.torque_rates,
                                 'speed': self.velocity_limits,
                                 'tolerance': self.joints('state_tolerance'),
                                 'mismatch_limit': self.mismatch_limits,
                                 'differenced': self.differenced_limits,
                                 'standstill': self.standstill_torque,
                                 'halt': self.halt_speed,
                                 **dict(zip(('middle', 'reach'), self.position_range))}
        if self.robot.model.loops:
            law |= {name: np.array([self.number(name)])
                    for name in ('loop_tolerance', 'loop_pivot')}
        friction = {f'friction_{name}': self.joints(f'friction.{name}')
                    for name in ('viscous', 'coulomb', 'speed')}
        guided = friction | {name: self.joints('friction.free') * friction[name]
                             for name in ('friction_viscous', 'friction_coulomb')}
        gains = {'stiffness': self.joints('stiffness'), 'damping': self.joints('damping')}
        return {
            'stop': {'limit': self.torque_limits, 'damping': self.damper('brake_damping')},
            'float': law | guided | {
                'scale': self.joints('gravity_scale'), 'damping': self.damper('free_damping')},
            'damping': law | {'damping': self.damper('brake_damping')},
            'joint': law | friction | gains | {'far': self.joints('tracking_limits')},
            'task': law | {
                'task_stiffness': self.six('stiffness'), 'task_damping': self.six('damping'),
                'max_condition': np.array([self.number('task.max_condition')]),
                'joint_speed': self.number('task.joint_speed') * self.velocity_limits,
                'task_speed': self.both('velocity'), 'far': self.task_errors,
                'posture_stiffness': self.joints('posture.stiffness'),
                'posture_damping': self.joints('posture.damping')},
            **{mode.kernel: law | self._own(mode) for mode in self.robot.modes.values()
               if mode.law is not None},
        }

    def _own(self, mode: Mode) -> dict[str, Array]:
        """Return the inputs of the kernel of a mode with a law function."""
        found = {f'own_{row.name}': self.joints(f'{mode.name}.{row.name}') if row.each_joint
                 else np.array([self.number(f'{mode.name}.{row.name}')]) for row in mode.own}
        if mode.follows is Follows.JOINTS:
            found['far'] = self.joints('tracking_limits')
        return found

    def _barrier(self) -> dict[str, Array]:
        robot = self.robot
        return {
            'barrier_lower': np.array(robot.pick(robot.model.lower)),
            'barrier_upper': np.array(robot.pick(robot.model.upper)),
            'barrier_margin': self.barrier_margins,
            'barrier_stiffness': self.joints('barrier.stiffness'),
            'barrier_damping': self.damper('barrier.damping'),
            'barrier_speed': self.number('barrier.velocity') * self.velocity_limits,
            'barrier_speed_damping': self.damper('barrier.velocity_damping'),
            'barrier_limit': self.number('barrier.torque') * self.torque_limits,
        }


def _or_infinite(values: Array) -> Array:
    return np.where(values > 0.0, values, math.inf)
