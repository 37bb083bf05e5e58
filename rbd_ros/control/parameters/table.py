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
                     text + '; one for all joints or one per joint', lower, upper,
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
    _text('robot_description', '', 'URDF text; empty: from the topic robot_description or '
          'from robot_description_file'),
    _text('robot_description_file', '', 'URDF or xacro file; empty: see robot_description'),
    _text('joints', [], 'controlled joints in the order of the commands; empty: all movable ones'),
    _text('fixed_positions.joints', [], 'joints that nobody publishes'),
    Parameter('fixed_positions.values', DOUBLES, [], 'rad or m',
              'their positions, one for each name', structural=True),
    _choice('driver_adds', '', ('none', 'gravity', 'gravity_and_coriolis'),
            'what the driver adds to our command by itself; must be given'),
    _switch('driver_knows_payload', False, 'whether the gravity of the driver has the payload'),
    _switch('effort_is_torque', False, 'whether the effort in joint_states is a torque in N.m'),
    _switch('synchronised_stamps', False, 'whether header.stamp is of our own clock, so that '
            'its age is absolute'),
)

_LAW = (
    _choice('mode', 'gravity_compensation', MODES, 'law in use', structural=False),
    _joints('gravity_scale', [1.0], '', 0.0, 1.5, 'share of gravity in gravity_compensation'),
    _joints('free_damping', [0.5], 'N.m.s/rad', 0.0, 1e4, 'damping in gravity_compensation, at '
            'most what a loop at nominal_rate can carry; without any, a robot without friction '
            'drifts for ever'),
    _joints('friction.viscous', [0.0], 'N.m.s/rad', 0.0, 1e4,
            'friction compensated by the velocity of the reference'),
    _joints('friction.coulomb', [0.0], 'N.m', 0.0, 1e4,
            'friction compensated by the velocity of the reference'),
    _joints('friction.speed', [0.05], 'rad/s', 1e-4, 10.0, 'width of tanh at rest'),
    _joints('friction.free', [0.0], '', 0.0, 1.0,
            'share of it that gravity_compensation compensates by the measured velocity, which '
            'drives a joint that has less friction'),
    _joints('rotor_inertia', [], 'kg.m^2', 0.0, 1e6,
            'inertia of the rotors as the joints feel it, the square of the gear ratio times the '
            'rotor; none: of the URDF', structural=True),
    _joints('stiffness', [100.0], '1/s^2', 0.0, 1e5, 'Kp of computed_torque and hold'),
    _joints('damping', [20.0], '1/s', 0.0, 1e4, 'Kd of computed_torque and hold'),
    _joints('integral', [0.0], '1/s^3', 0.0, 1e6, 'Ki of computed_torque'),
    _joints('integral_limit', [5.0], 'rad/s^2', 0.0, 1e3, 'bound of the integral term'),
    _switch('observer_feedback', False, 'subtract the observed external torque in '
            'computed_torque', structural=False),
    _joints('observer_gain', [30.0], '1/s', 0.1, 1e3, 'bandwidth of the momentum observer'),
    _scalar('switch_time', 0.5, 's', 0.05, 5.0, 'fading of a change of the mode, in which '
            'references come to rest'),
    _text('task.frame', '', 'frame of operational_space; empty: the last one of the chain'),
    Parameter('task.axes', STRINGS, ['rx', 'ry', 'rz', 'tx', 'ty', 'tz'], '',
              'controlled directions of the frame; x y z may be written for tx ty tz, but YAML '
              'takes y for true: quote it there', structural=True,
              choices=('rx', 'ry', 'rz', 'tx', 'ty', 'tz', 'x', 'y', 'z')),
    _scalar('task.linear_stiffness', 100.0, '1/s^2', 0.0, 1e5, 'Kp of positions'),
    _scalar('task.angular_stiffness', 100.0, '1/s^2', 0.0, 1e5, 'Kp of orientations'),
    _scalar('task.linear_damping', 20.0, '1/s', 0.0, 1e4, 'Kd of positions'),
    _scalar('task.angular_damping', 20.0, '1/s', 0.0, 1e4, 'Kd of orientations'),
    _scalar('task.linear_integral', 0.0, '1/s^3', 0.0, 1e6, 'Ki of positions'),
    _scalar('task.angular_integral', 0.0, '1/s^3', 0.0, 1e6, 'Ki of orientations'),
    _scalar('task.linear_integral_limit', 2.0, 'm/s^2', 0.0, 1e3,
            'bound of the integral term of positions'),
    _scalar('task.angular_integral_limit', 10.0, 'rad/s^2', 0.0, 1e3,
            'bound of the integral term of orientations'),
    _scalar('task.max_condition', 1e3, '', 1.0, 1e12, 'condition number beyond which directions '
            'of the operational-space inertia are bounded; a radian counts as 0.1 m'),
    _scalar('task.joint_speed', 0.5, '', 0.01, 1.0, 'share of velocity_limits that the frame may '
            'ask of a joint; the posture gets half of it beside'),
    _joints('posture.stiffness', [10.0], '1/s^2', 0.0, 1e5, 'Kp of the posture task'),
    _joints('posture.damping', [6.0], '1/s', 0.0, 1e4, 'Kd of the posture task, which is '
            'approached at Kp/Kd times the way'),
    _joints('posture.position', [], 'rad or m', -1e3, 1e3, 'posture; none: where it started'),
)

_REFERENCE = (
    _joints('reference.velocity', [], 'rad/s', 1e-3, 1e3, 'limit; none: '
            'barrier.velocity times velocity_limits'),
    _joints('reference.acceleration', [20.0], 'rad/s^2', 1e-2, 1e4, 'limit of the reference'),
    _scalar('reference.timeout', 0.5, 's', 0.01, 10.0, 'of streamed set-points'),
    Parameter('reference.refusals', INTEGER, 5, '', 'references refused in a row, each within 1 s '
              'of the one before, that are a fault while the robot moves; 0: none', 0, 1000),
    _switch('reference.linear', False, 'straight lines between points without velocities'),
    _scalar('task.timeout', 0.1, 's', 0.01, 10.0, 'of twist and wrench'),
    _scalar('task.linear_velocity', 0.5, 'm/s', 1e-3, 10.0, 'limit of the reference pose'),
    _scalar('task.angular_velocity', 1.0, 'rad/s', 1e-3, 30.0, 'limit of the reference pose'),
    _scalar('task.linear_acceleration', 2.0, 'm/s^2', 1e-2, 100.0, 'limit of the reference pose'),
    _scalar('task.angular_acceleration', 5.0, 'rad/s^2', 1e-2, 300.0,
            'limit of the reference pose'),
    _scalar('task.linear_lead', 0.05, 'm', 1e-3, 10.0, 'by which the reference pose may be away '
            'from the robot; it waits for a robot that cannot follow'),
    _scalar('task.angular_lead', 0.2, 'rad', 1e-3, 3.0, 'likewise, for the orientation'),
    _scalar('task.linear_error', 0.2, 'm', 1e-3, 10.0, 'distance of the tip from its reference '
            'along controlled directions, beyond it: fault'),
    _scalar('task.angular_error', 0.8, 'rad', 1e-3, 4.0, 'likewise, for the orientation'),
    _scalar('task.force_limit', 50.0, 'N', 0.0, 1e4,
            'largest norm of the force of target_wrench; its direction is kept'),
    _scalar('task.moment_limit', 10.0, 'N.m', 0.0, 1e4,
            'largest norm of the moment of target_wrench; its direction is kept'),
    _joints('tolerance.path', [0.0], 'rad', 0.0, 1e3, 'default path tolerance, 0: none'),
    _joints('tolerance.goal', [0.01], 'rad', 0.0, 1e3, 'default goal tolerance, 0: none'),
    _joints('tolerance.goal_velocity', [0.0], 'rad/s', 0.0, 1e3, 'default, 0: none'),
    _scalar('tolerance.goal_time', 0.5, 's', 0.0, 60.0, 'default time to reach the goal, 0: any'),
)

_SAFETY = (
    _joints('torque_limits', [], 'N.m', 1e-6, 1e5, 'of the total torque; none: effort of the URDF',
            True),
    _joints('torque_rate_limits', [], 'N.m/s', 1e-6, 1e7, 'none: ten times the limit per second',
            True),
    _joints('velocity_limits', [], 'rad/s', 1e-3, 1e3, 'beyond it: fault; none: of the URDF'),
    _scalar('velocity_patience', 0.02, 's', 0.0, 1.0, 'for which a velocity may be exceeded'),
    _joints('state_tolerance', [0.02], 'rad or m', 1e-6, 100.0, 'noise and quantisation of a '
            'measured position, beyond which it must fit to velocity and position before'),
    _joints('tracking_limits', [0.5], 'rad', 1e-4, 100.0, 'tracking error beyond it: fault'),
    _scalar('tracking_patience', 0.1, 's', 0.0, 5.0, 'for which a tracking error is borne'),
    _joints('brake_damping', [5.0], 'N.m.s/rad', 0.0, 1e4, 'D of g(q) - D qd, at most what a '
            'loop at nominal_rate can carry'),
    _scalar('hold_torque', 0.3, '', 0.0, 1.0, 'bound of what a stop adds to g(q) beside damping: '
            'the load that the robot shows, and the push of a hold; share of torque_limits'),
    _joints('hold_distance', [0.1], 'rad or m', 1e-3, 10.0, 'by which a held robot may be pushed '
            'away before the hold yields and follows'),
    _joints('barrier.margin', [0.05], 'rad or m', 1e-4, 1.0, 'width of the zone before joint '
            'limits, at most a tenth of the range of the joint'),
    _joints('barrier.stiffness', [50.0], 'N.m/rad or N/m', 0.0, 1e5, 'push inside the zone'),
    _joints('barrier.damping', [5.0], 'N.m.s/rad or N.s/m', 0.0, 1e4,
            'against motion into a limit'),
    _scalar('barrier.velocity', 0.9, '', 0.1, 1.0, 'share of velocity_limits where it begins'),
    _joints('barrier.velocity_damping', [10.0], 'N.m.s/rad or N.s/m', 0.0, 1e4,
            'of the excess velocity'),
    _scalar('barrier.torque', 0.3, '', 0.0, 1.0, 'bound of the barriers, share of torque_limits'),
    _scalar('nominal_rate', 1000.0, 'Hz', 10.0, 4000.0, 'of joint_states', True),
    _scalar('minimum_rate', 100.0, 'Hz', 0.0, 4000.0, 'of joint_states; below it: fault', True),
    _scalar('state_timeout', 0.1, 's', 0.002, 1.0, 'age of a state that may be used', True),
    _scalar('prescribed_timeout', 1.0, 's', 0.01, 60.0, 'age of joints not controlled', True),
    Parameter('probe_count', INTEGER, 5, '', 'states that prove their age', 1, 1000,
              structural=True),
    _scalar('velocity_filter', 0.01, 's', 0.0, 1.0, 'where velocity must be differenced', True),
    _scalar('hold_time', 0.3, 's', 0.0, 2.0, 'of the last gravity torque, state lost', True),
    _scalar('brake_time', 0.5, 's', 0.0, 2.0, 'of live g(q) - D qd', True),
    _scalar('release_time', 0.5, 's', 0.0, 2.0, 'of the ramp to the release torque', True),
    _scalar('stop_time', 1.0, 's', 0.01, 3.0, 'in which the rate limit must reach zero', True),
    _scalar('ramp_time', 1.0, 's', 0.0, 30.0, 'of the gains at activation', True),
    Parameter('release_repeats', INTEGER, 5, '', 'times the release torque is published', 1, 100,
              structural=True),
    _choice('release_torque', '', ('zero', 'gravity'), 'what remains after release; must be given '
            'where driver_adds is none'),
    _choice('fault_action', 'hold', ('hold', 'release'), 'after braking for a fault'),
    _choice('stop_action', 'hold', ('hold', 'release'), 'after braking for an operator'),
    _switch('recover_lost_state', False, 'whether a lost state may end its own fault'),
    _scalar('pause_limit', 60.0, 's', 0.1, 1e5, 'simulated clock at rest before a fault', True),
    _scalar('dead_man_timeout', 0.0, 's', 0.0, 5.0, 'of the dead-man signal; 0: none', True),
    _scalar('start.tolerance', 0.15, '', 0.0, 1.0, 'difference of measured effort and predicted '
            'gravity, share of torque_limits', True),
    _scalar('start.time', 0.2, 's', 0.0, 5.0, 'for which rate, positions and effort are looked at '
            'before the first torque', True),
    _scalar('start.watch_time', 0.5, 's', 0.0, 30.0, 'after the first torque for which the motion '
            'is watched, and the whole ramp at least', True),
    _scalar('start.distance', 0.5, 'rad', 1e-3, 10.0, 'motion at the start beyond it: fault',
            True),
    _scalar('start.velocity', 0.2, 'rad/s', 1e-3, 100.0, 'that a joint may gain by itself while '
            'the gains ramp in; beyond it: fault', True),
    _scalar('start.acceleration', 50.0, 'rad/s^2', 0.1, 1e4, 'at the start beyond it: fault',
            True),
)

_OUTPUT = (
    _choice('command_type', 'float64_multi_array', ('float64_multi_array', 'joint_state'),
            'message on ~/commands'),
    Parameter('dynamics_divider', INTEGER, 0, '', 'states per burst of ~/dynamics; 0: none',
              0, 100000),
    Parameter('state_divider', INTEGER, 10, '', 'states per ~/controller_state; 0: none',
              0, 100000),
    _choice('executor', 'events', ('events', 'single'), 'executor of the hot node'),
    _switch('fast_path', True, 'whether ordinary states take the fast path: one built-in '
            'function of machine code; false: every state is judged step by step in Python, with '
            'the same torques'),
    _switch('realtime.lock_memory', False, 'mlockall; warns if refused'),
    Parameter('realtime.priority', INTEGER, 0, '', 'SCHED_FIFO priority; 0: none', 0, 99,
              structural=True),
    Parameter('realtime.cpu', INTEGER, -1, '', 'processor of the hot thread; -1: any', -1, 4095,
              structural=True),
    _switch('realtime.freeze_gc', True, 'gc.freeze at activation'),
)

_LOAD = (
    Parameter('gravity', DOUBLES, [0.0, 0.0, -9.81], 'm/s^2', 'in the base frame', -100.0, 100.0),
    _choice('gravity_source', 'parameter', ('parameter', 'imu', 'tf'), 'of the direction'),
    _text('gravity_frame', '', 'frame whose z axis points up, for gravity_source tf'),
    _scalar('gravity_timeout', 0.5, 's', 0.01, 10.0, 'of a measured direction', True),
    _scalar('gravity_slew', 50.0, 'm/s^3', 0.1, 1e6, 'largest change of the vector'),
    _text('payload.frame', '', 'frame that carries the payload; empty: task.frame'),
    _scalar('payload.mass', 0.0, 'kg', 0.0, 1e4, 'payload'),
    Parameter('payload.com', DOUBLES, [0.0, 0.0, 0.0], 'm', 'centre of mass', -10.0, 10.0),
    Parameter('payload.inertia', DOUBLES, [0.0] * 6, 'kg.m^2',
              'xx xy xz yy yz zz about the centre of mass', -1e4, 1e4),
    _scalar('payload.ramp_time', 1.0, 's', 0.0, 60.0, 'over which a payload comes'),
)

_NODE = (
    _switch('autostart', False, 'configure and activate by itself, as soon as description and '
            'states are there'),
    _scalar('activation_timeout', 5.0, 's', 0.1, 60.0, 'for which activation waits for states '
            'of every joint'),
    _scalar('command_deadline', 0.1, 's', 0.0, 10.0, 'DEADLINE offered on ~/commands; 0: none',
            True),
    _scalar('liveliness_lease', 0.2, 's', 0.0, 10.0, 'LIVELINESS lease offered on ~/commands, '
            'asserted by the loop itself; 0: none', True),
    _scalar('heartbeat_rate', 20.0, 'Hz', 1.0, 100.0, 'of ~/heartbeat and of asserting '
            'liveliness', True),
    _scalar('realtime.switch_interval', 5e-4, 's', 0.0, 0.1, 'after which a busy thread must '
            'give way; 0: as Python has it', True),
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
