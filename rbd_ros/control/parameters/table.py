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
Every parameter of the controller: type, default, unit, bounds, meaning.

The table knows no ROS; the node turns it into descriptors. A set of values is judged as a
whole before anything is applied, and each refusal has a reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import copy
from dataclasses import dataclass
import math

from rbd_ros.control.parameters.rules import rules

__all__ = ['PARAMETERS', 'Kind', 'Parameter', 'Value', 'defaults', 'per_joint', 'refusals']

Value = bool | int | float | str | list[float] | list[str]

#: Kinds of parameters, named as in ROS.
Kind = str
BOOL, INTEGER, DOUBLE, STRING = 'bool', 'integer', 'double', 'string'
DOUBLES, STRINGS = 'double_array', 'string_array'


@dataclass(frozen=True)
class Parameter:
    """One row of the table."""

    name: str
    kind: Kind
    default: Value
    unit: str
    description: str
    lower: float = -math.inf
    upper: float = math.inf
    choices: tuple[str, ...] = ()
    structural: bool = False  # read-only while active
    each_joint: bool = False  # none, one for all, or one per controlled joint

    def refusal(self, value: object) -> str:
        """
        Return why a value cannot be taken; empty if it can.

        :param value: as it came from outside.
        """
        if self.kind in (DOUBLES, STRINGS):
            entries = list(value) if isinstance(value, (list, tuple)) else None
            if entries is None:
                return f'{self.name} must be a {self.kind}, got {value!r}'
        else:
            entries = [value]
        for entry in entries:
            reason = self._entry(entry)
            if reason:
                return reason
        return ''

    def _entry(self, value: object) -> str:
        if not _fits(self.kind, value):
            return f'{self.name} must be of type {self.kind}, got {value!r}'
        if self.choices and value not in self.choices and value != self.default:
            return f'{self.name} must be one of {list(self.choices)}, got {value!r}'
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if not math.isfinite(value) or not self.lower <= value <= self.upper:
                return (f'{self.name} = {value} {self.unit} is outside '
                        f'[{self.lower:g}, {self.upper:g}]')
        return ''


def _fits(kind: Kind, value: object) -> bool:
    if kind == BOOL:
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == INTEGER:
        return isinstance(value, int)
    if kind in (DOUBLE, DOUBLES):
        return isinstance(value, (int, float))
    return isinstance(value, str)


def _scalar(name: str, default: float, unit: str, lower: float, upper: float, text: str,
            structural: bool = False) -> Parameter:
    return Parameter(name, DOUBLE, default, unit, text, lower, upper, structural=structural)


def _joints(name: str, default: list[float], unit: str, lower: float, upper: float,
            text: str, structural: bool = False) -> Parameter:
    return Parameter(name, DOUBLES, default, unit,
                     text + ' One value for all joints, or one per joint.', lower, upper,
                     structural=structural, each_joint=True)


def _choice(name: str, default: str, choices: tuple[str, ...], text: str,
            structural: bool = True) -> Parameter:
    return Parameter(name, STRING, default, '', text, choices=choices, structural=structural)


def _text(name: str, default: Value, text: str) -> Parameter:
    kind = STRINGS if isinstance(default, list) else STRING
    return Parameter(name, kind, default, '', text, structural=True)


def _switch(name: str, default: bool, text: str, structural: bool = True) -> Parameter:
    return Parameter(name, BOOL, default, '', text, structural=structural)


MODES = ('gravity_compensation', 'computed_torque', 'operational_space', 'hold', 'damping')

_ROBOT = (
    _text('robot_description', '', 'URDF text. If empty, robot_description_file is read, or the '
          'controller waits for the topic robot_description.'),
    _text('robot_description_file', '', 'URDF or xacro file, used if robot_description is empty.'),
    _text('joints', [], 'Controlled joints, in command order. If empty, all movable joints.'),
    _text('passive_joints', [], 'Joints that no motor moves, such as a hanging tool.'),
    _text('fixed_positions.joints', [], 'Joints that nobody publishes.'),
    Parameter('fixed_positions.values', DOUBLES, [], 'rad or m',
              'Their positions, one for each name.', structural=True),
    _choice('driver_adds', '', ('none', 'gravity', 'gravity_and_coriolis'),
            'What the driver adds to the commanded torque. Required.'),
    _switch('driver_knows_payload', False,
            "Whether the driver's gravity compensation includes the payload."),
    _switch('effort_is_torque', False,
            'Whether effort in joint_states is the joint torque in N.m, gravity included.'),
    _switch('synchronised_stamps', False, 'Whether the driver stamps with the clock of this '
            'machine, so that the age of a stamp can be taken at face value.'),
)

_LAW = (
    _choice('mode', 'gravity_compensation', MODES, 'Active control law.', structural=False),
    _joints('gravity_scale', [1.0], '', 0.0, 1.5,
            'Fraction of g(q) applied in gravity_compensation.'),
    _joints('free_damping', [0.5], 'N.m.s/rad', 0.0, 1e4, 'Damping in gravity_compensation, '
            'capped at what is stable at nominal_rate. Without damping, a frictionless robot '
            'drifts forever.'),
    _joints('friction.viscous', [0.0], 'N.m.s/rad', 0.0, 1e4,
            'Viscous friction, compensated along the reference velocity.'),
    _joints('friction.coulomb', [0.0], 'N.m', 0.0, 1e4,
            'Dry friction, compensated along the reference velocity.'),
    _joints('friction.speed', [0.05], 'rad/s', 1e-4, 10.0,
            'Speed over which the dry friction compensation rises, tanh(qd / speed).'),
    _joints('friction.free', [0.0], '', 0.0, 1.0, 'Fraction of the friction compensated along '
            'the measured velocity in gravity_compensation. Too much makes a joint move by '
            'itself.'),
    _joints('rotor_inertia', [], 'kg.m^2', 0.0, 1e6, 'Rotor inertia reflected to the joint: gear '
            'ratio squared times rotor inertia. If empty, taken from the URDF.',
            structural=True),
    _joints('stiffness', [100.0], '1/s^2', 0.0, 1e5, 'Kp of computed_torque and hold.'),
    _joints('damping', [20.0], '1/s', 0.0, 1e4, 'Kd of computed_torque and hold.'),
    _joints('integral', [0.0], '1/s^3', 0.0, 1e6, 'Ki of computed_torque.'),
    _joints('integral_limit', [5.0], 'rad/s^2', 0.0, 1e3, 'Bound of the integral term.'),
    _switch('observer_feedback', False, 'Subtract the observed external torque in '
            'computed_torque.', structural=False),
    _joints('observer_gain', [30.0], '1/s', 0.1, 1e3, 'Bandwidth of the momentum observer.'),
    _scalar('switch_time', 0.5, 's', 0.05, 5.0, 'Duration of a mode change: references come to '
            'rest, and what differs between the two laws fades out.'),
    _text('task.frame', '', 'Frame moved by operational_space. If empty, the last frame of the '
          'chain.'),
    Parameter('task.axes', STRINGS, ['rx', 'ry', 'rz', 'tx', 'ty', 'tz'], '',
              'Controlled directions of the frame. x, y, z are accepted for tx, ty, tz, but '
              'YAML reads a bare y as true: quote it.', structural=True,
              choices=('rx', 'ry', 'rz', 'tx', 'ty', 'tz', 'x', 'y', 'z')),
    _scalar('task.linear_stiffness', 100.0, '1/s^2', 0.0, 1e5, 'Kp of the position.'),
    _scalar('task.angular_stiffness', 100.0, '1/s^2', 0.0, 1e5, 'Kp of the orientation.'),
    _scalar('task.linear_damping', 20.0, '1/s', 0.0, 1e4, 'Kd of the position.'),
    _scalar('task.angular_damping', 20.0, '1/s', 0.0, 1e4, 'Kd of the orientation.'),
    _scalar('task.linear_integral', 0.0, '1/s^3', 0.0, 1e6, 'Ki of the position.'),
    _scalar('task.angular_integral', 0.0, '1/s^3', 0.0, 1e6, 'Ki of the orientation.'),
    _scalar('task.linear_integral_limit', 2.0, 'm/s^2', 0.0, 1e3,
            'Bound of the integral term of the position.'),
    _scalar('task.angular_integral_limit', 10.0, 'rad/s^2', 0.0, 1e3,
            'Bound of the integral term of the orientation.'),
    _scalar('task.max_condition', 1e3, '', 1.0, 1e12, 'Condition number of the operational-space '
            'inertia beyond which its singular directions are bounded. A radian counts as 0.1 m.'),
    _scalar('task.joint_speed', 0.5, '', 0.01, 1.0, 'Fraction of velocity_limits that the task '
            'may use. The posture may use half as much in addition.'),
    _joints('posture.stiffness', [10.0], '1/s^2', 0.0, 1e5, 'Kp of the posture task.'),
    _joints('posture.damping', [6.0], '1/s', 0.0, 1e4, 'Kd of the posture task, which approaches '
            'the posture at Kp/Kd times the distance.'),
    _joints('posture.position', [], 'rad or m', -1e3, 1e3,
            'Posture. If empty, the positions at which the mode started.'),
)

_REFERENCE = (
    _joints('reference.velocity', [], 'rad/s', 1e-3, 1e3, 'Velocity limit of the reference. If '
            'empty, barrier.velocity times velocity_limits.'),
    _joints('reference.acceleration', [20.0], 'rad/s^2', 1e-2, 1e4,
            'Acceleration limit of the reference.'),
    _scalar('reference.timeout', 0.5, 's', 0.01, 10.0,
            'Time without a streamed set-point after which the last one is held.'),
    Parameter('reference.refusals', INTEGER, 5, '', 'Number of rejected references in a row, each '
              'within 1 s of the previous one, that is a fault while the robot moves. 0 disables '
              'the check.', 0, 1000),
    _switch('reference.linear', False, 'Interpolate linearly between trajectory points that have '
            'no velocities, instead of using splines.'),
    _scalar('task.timeout', 0.1, 's', 0.01, 10.0,
            'Time without a message after which a twist or a wrench ends.'),
    _scalar('task.linear_velocity', 0.5, 'm/s', 1e-3, 10.0, 'Limit of the reference pose.'),
    _scalar('task.angular_velocity', 1.0, 'rad/s', 1e-3, 30.0, 'Limit of the reference pose.'),
    _scalar('task.linear_acceleration', 2.0, 'm/s^2', 1e-2, 100.0,
            'Limit of the reference pose.'),
    _scalar('task.angular_acceleration', 5.0, 'rad/s^2', 1e-2, 300.0,
            'Limit of the reference pose.'),
    _scalar('task.linear_lead', 0.05, 'm', 1e-3, 10.0, 'Largest distance of the reference pose '
            'from the robot. Beyond it, the reference waits for the robot.'),
    _scalar('task.angular_lead', 0.2, 'rad', 1e-3, 3.0, 'The same for the orientation.'),
    _scalar('task.linear_error', 0.2, 'm', 1e-3, 10.0, 'Distance of the frame from its reference, '
            'along the controlled directions, beyond which there is a fault.'),
    _scalar('task.angular_error', 0.8, 'rad', 1e-3, 4.0, 'The same for the orientation.'),
    _scalar('task.force_limit', 50.0, 'N', 0.0, 1e4, 'Largest force of target_wrench. A larger '
            'one is scaled down and keeps its direction.'),
    _scalar('task.moment_limit', 10.0, 'N.m', 0.0, 1e4, 'Largest moment of target_wrench. A '
            'larger one is scaled down and keeps its direction.'),
    _joints('tolerance.path', [0.0], 'rad', 0.0, 1e3, 'Default path tolerance. 0 disables it.'),
    _joints('tolerance.goal', [0.01], 'rad', 0.0, 1e3, 'Default goal tolerance. 0 disables it.'),
    _joints('tolerance.goal_velocity', [0.0], 'rad/s', 0.0, 1e3,
            'Default velocity tolerance at the goal. 0 disables it.'),
    _scalar('tolerance.goal_time', 0.5, 's', 0.0, 60.0,
            'Default time to settle at the goal. 0 means any time.'),
)

_SAFETY = (
    _joints('torque_limits', [], 'N.m', 1e-6, 1e5,
            'Limits of the total torque. If empty, the effort limits of the URDF.', True),
    _joints('torque_rate_limits', [], 'N.m/s', 1e-6, 1e7,
            'Limits of the torque rate. If empty, ten times the torque limits per second.', True),
    _joints('velocity_limits', [], 'rad/s', 1e-3, 1e3,
            'Velocities beyond which there is a fault. If empty, those of the URDF.'),
    _scalar('velocity_patience', 0.02, 's', 0.0, 1.0,
            'Time over a velocity limit that is tolerated.'),
    _joints('state_tolerance', [0.02], 'rad or m', 1e-6, 100.0, 'Noise and quantisation of '
            'measured positions. A position that differs by more from what the previous position '
            'and the velocity allow is implausible.'),
    _joints('tracking_limits', [0.5], 'rad', 1e-4, 100.0,
            'Tracking errors beyond which there is a fault.'),
    _scalar('tracking_patience', 0.1, 's', 0.0, 5.0,
            'Time over a tracking limit that is tolerated.'),
    _joints('brake_damping', [5.0], 'N.m.s/rad', 0.0, 1e4,
            'D of the braking law g(q) - D qd, capped at what is stable at nominal_rate.'),
    _scalar('hold_torque', 0.3, '', 0.0, 1.0, 'Bound, as a fraction of torque_limits, of what a '
            'stop adds to g(q) besides damping: the observed load, and the push of a hold.'),
    _joints('hold_distance', [0.1], 'rad or m', 1e-3, 10.0,
            'Distance by which a held robot can be pushed away before the hold yields.'),
    _joints('barrier.margin', [0.05], 'rad or m', 1e-4, 1.0, 'Width of the zone before a joint '
            "limit, at most a tenth of the joint's range."),
    _joints('barrier.stiffness', [50.0], 'N.m/rad or N/m', 0.0, 1e5,
            'Stiffness of the push inside the zone.'),
    _joints('barrier.damping', [5.0], 'N.m.s/rad or N.s/m', 0.0, 1e4,
            'Damping of motion towards the limit inside the zone.'),
    _scalar('barrier.velocity', 0.9, '', 0.1, 1.0,
            'Fraction of velocity_limits at which the velocity barrier begins.'),
    _joints('barrier.velocity_damping', [10.0], 'N.m.s/rad or N.s/m', 0.0, 1e4,
            'Damping of the velocity beyond the barrier.'),
    _scalar('barrier.torque', 0.3, '', 0.0, 1.0,
            'Bound of the barriers, as a fraction of torque_limits.'),
    _scalar('nominal_rate', 1000.0, 'Hz', 10.0, 4000.0, 'Expected rate of joint_states.', True),
    _scalar('minimum_rate', 100.0, 'Hz', 0.0, 4000.0,
            'Rate of joint_states below which there is a fault.', True),
    _scalar('state_timeout', 0.1, 's', 0.002, 1.0, 'Age beyond which a state is lost.', True),
    _scalar('prescribed_timeout', 1.0, 's', 0.01, 60.0,
            'The same for joints that are not controlled.', True),
    Parameter('probe_count', INTEGER, 5, '', 'Number of states that must arrive in time, after a '
              'gap, before any is used.', 1, 1000, structural=True),
    _scalar('velocity_filter', 0.01, 's', 0.0, 1.0,
            'Filter time of velocities obtained by differentiating positions.', True),
    _scalar('hold_time', 0.3, 's', 0.0, 2.0,
            'Time for which the last gravity torque is held after the state is lost.', True),
    _scalar('brake_time', 0.5, 's', 0.0, 2.0, 'Duration of braking with g(q) - D qd.', True),
    _scalar('release_time', 0.5, 's', 0.0, 2.0, 'Duration of the ramp to the release torque.',
            True),
    _scalar('stop_time', 1.0, 's', 0.01, 3.0,
            'Time in which the rate limits must allow every torque to reach zero.', True),
    _scalar('ramp_time', 1.0, 's', 0.0, 30.0, 'Ramp of the gains after activation.', True),
    Parameter('release_repeats', INTEGER, 5, '', 'Number of times the release torque is '
              'published.', 1, 100, structural=True),
    _choice('release_torque', '', ('zero', 'gravity'), 'Torque left standing after release. '
            'Required if driver_adds is none.'),
    _choice('fault_action', 'hold', ('hold', 'release'), 'What follows braking after a fault.'),
    _choice('stop_action', 'hold', ('hold', 'release'),
            'What follows braking after a stop by the operator.'),
    _switch('recover_lost_state', False,
            'Whether the controller recovers by itself when a lost state returns.'),
    _scalar('pause_limit', 60.0, 's', 0.1, 1e5,
            'Time for which the simulated clock may stand still.', True),
    _scalar('dead_man_timeout', 0.0, 's', 0.0, 5.0,
            'Time without a dead-man message after which the robot stops. 0: not used.', True),
    _scalar('start.tolerance', 0.15, '', 0.0, 1.0, 'Largest difference between measured effort '
            'and predicted gravity torque, as a fraction of torque_limits.', True),
    _scalar('start.time', 0.2, 's', 0.0, 5.0,
            'Time for which rate, positions and effort are checked before the first torque.',
            True),
    _scalar('start.watch_time', 0.5, 's', 0.0, 30.0, 'Time after the first torque for which '
            'unexpected motion is a fault; at least ramp_time.', True),
    _scalar('start.distance', 0.5, 'rad', 1e-3, 10.0,
            'Motion at the start beyond which there is a fault.', True),
    _scalar('start.velocity', 0.2, 'rad/s', 1e-3, 100.0, 'Velocity that a joint may gain by '
            'itself while the gains ramp in. Beyond it there is a fault.', True),
    _scalar('start.acceleration', 50.0, 'rad/s^2', 0.1, 1e4,
            'Acceleration at the start beyond which there is a fault.', True),
)

_OUTPUT = (
    _choice('command_type', 'float64_multi_array', ('float64_multi_array', 'joint_state'),
            'Message type of ~/commands.'),
    Parameter('dynamics_divider', INTEGER, 0, '', 'Number of states per set of ~/dynamics '
              'messages. 0: none are published.', 0, 100000),
    Parameter('state_divider', INTEGER, 10, '', 'Number of states per ~/controller_state. 0: none '
              'are published.', 0, 100000),
    _choice('executor', 'events', ('events', 'single'), 'Executor of the control loop.'),
    _switch('fast_path', True, 'Handle ordinary states in one machine-code function. If false, '
            'every state takes the slow path in Python, with the same torques.'),
    _switch('realtime.lock_memory', False, 'Call mlockall. Warns if refused.'),
    Parameter('realtime.priority', INTEGER, 0, '', 'SCHED_FIFO priority. 0: not used.', 0, 99,
              structural=True),
    Parameter('realtime.cpu', INTEGER, -1, '', 'CPU of the control loop. -1: any.', -1, 4095,
              structural=True),
    _switch('realtime.freeze_gc', True, 'Call gc.freeze at activation.'),
)

_LOAD = (
    Parameter('gravity', DOUBLES, [0.0, 0.0, -9.81], 'm/s^2', 'Gravity vector in the base frame.',
              -100.0, 100.0),
    _choice('gravity_source', 'parameter', ('parameter', 'imu', 'tf'),
            'Where the direction of gravity comes from.'),
    _text('gravity_frame', '', 'Frame whose z axis points up, for gravity_source tf.'),
    _scalar('gravity_timeout', 0.5, 's', 0.01, 10.0,
            'Age beyond which a measured direction is lost.', True),
    _scalar('gravity_slew', 50.0, 'm/s^3', 0.1, 1e6, 'Largest rate of change of the vector.'),
    _text('payload.frame', '', 'Frame that carries the payload. If empty, task.frame.'),
    _scalar('payload.mass', 0.0, 'kg', 0.0, 1e4, 'Mass of the payload.'),
    Parameter('payload.com', DOUBLES, [0.0, 0.0, 0.0], 'm',
              'Centre of mass of the payload, in payload.frame.', -10.0, 10.0),
    Parameter('payload.inertia', DOUBLES, [0.0] * 6, 'kg.m^2',
              'xx, xy, xz, yy, yz, zz about the centre of mass.', -1e4, 1e4),
    _scalar('payload.ramp_time', 1.0, 's', 0.0, 60.0,
            'Time over which a change of the payload is blended in.'),
)

_NODE = (
    _switch('autostart', False, 'Configure and activate automatically, once description and '
            'states have arrived.'),
    _scalar('activation_timeout', 5.0, 's', 0.1, 60.0,
            'Time for which activation waits for a state of every joint.'),
    _scalar('command_deadline', 0.1, 's', 0.0, 10.0,
            'DEADLINE offered on ~/commands. 0: none.', True),
    _scalar('liveliness_lease', 0.2, 's', 0.0, 10.0, 'LIVELINESS lease offered on ~/commands and '
            'asserted by the control loop. 0: none.', True),
    _scalar('heartbeat_rate', 20.0, 'Hz', 1.0, 100.0,
            'Rate of ~/heartbeat and of asserting liveliness.', True),
    _scalar('realtime.switch_interval', 5e-4, 's', 0.0, 0.1, 'Interval after which Python makes '
            "a busy thread yield. 0: Python's default.", True),
)

#: Every parameter by name.
PARAMETERS: Mapping[str, Parameter] = {
    p.name: p for p in (*_ROBOT, *_LAW, *_REFERENCE, *_SAFETY, *_OUTPUT, *_LOAD, *_NODE)}


def defaults() -> dict[str, Value]:
    """Return a fresh set of default values."""
    return copy.deepcopy({p.name: p.default for p in PARAMETERS.values()})


def per_joint(name: str, value: Sequence[float], n: int,
              fallback: Sequence[float] = ()) -> list[float]:
    """
    Spread a per-joint parameter over the joints.

    :param name: of the parameter, for the error.
    :param value: none, one or n numbers.
    :param n: number of controlled joints.
    :param fallback: numbers to take where none is given.
    """
    if len(value) == n:
        return [float(x) for x in value]
    if len(value) == 1:
        return [float(value[0])] * n
    if not value and len(fallback) == n:
        return [float(x) for x in fallback]
    raise ValueError(f'{name} has {len(value)} entries; give one for all, or one for each of '
                     f'the {n} joints')


def refusals(changes: Mapping[str, object], current: Mapping[str, Value] | None = None, *,
             active: bool = False, joints: int = 0) -> list[str]:
    """
    Judge a set of changes as a whole; empty if it may be applied.

    :param changes: new values by name.
    :param current: values in force; None: the defaults.
    :param active: whether the controller is active, which locks structural parameters.
    :param joints: number of controlled joints, 0 while it is not known.
    """
    current = defaults() if current is None else current
    reasons = []
    for name, value in changes.items():
        parameter = PARAMETERS.get(name)
        if parameter is None:
            continue  # not ours: use_sim_time, QoS overrides
        reason = parameter.refusal(value)
        if reason:
            reasons.append(reason)
        elif active and parameter.structural and value != current.get(name):
            reasons.append(f'{name} cannot be changed while active: deactivate first')
        elif parameter.each_joint and isinstance(value, (list, tuple)):
            if joints and len(value) not in (0, 1, joints):
                reasons.append(f'{name} has {len(value)} entries; give one for all, or one for '
                               f'each of the {joints} joints')
            elif not value and parameter.default:
                reasons.append(f'{name} must have at least one entry')
    return reasons or rules({**current, **changes})
