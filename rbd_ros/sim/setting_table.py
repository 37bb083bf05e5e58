# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Every parameter of the simulator: type, default, unit, bounds, meaning.

The table does not depend on ROS; the node turns it into parameter descriptors.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
import math

import numpy as np

from rbd_ros.errors import SettingError
from rbd_ros.sim.contact.world import CONTACTS
from rbd_ros.sim.physics import INTEGRATORS
from rbd_ros.sim.sensors import EFFORT_SOURCES, VELOCITY_SOURCES

Value = bool | int | float | str | list[float] | list[str] | None

COMMAND_TYPES = ('float64_multi_array', 'joint_state', 'motor_array', 'motor_joint_state')
#: Those that carry gains: the simulated motors close their own loop.
MOTOR_TYPES = ('motor_array', 'motor_joint_state')
#: Those with the stamp of the state that they answer.
STAMPED_TYPES = ('joint_state', 'motor_joint_state')


@dataclass(frozen=True)
class Setting:
    """
    One row of the table.

    :param kind: ``bool``, ``int``, ``float``, ``str``, ``floats`` or ``strs``.
    :param default: None for an array without a default.
    :param description: text shown to users, with the unit.
    :param fixed: whether it can be set only at startup.
    """

    name: str
    kind: str
    default: Value
    description: str
    lower: float = -math.inf
    upper: float = math.inf
    choices: tuple[str, ...] = ()
    fixed: bool = False

    def check(self, value: Value) -> None:
        """Refuse a value outside of the bounds or choices."""
        if value is None:
            return
        if self.choices and value not in self.choices:
            raise SettingError(f'{self.name} is "{value}"; it must be one of '
                               f'{", ".join(self.choices)}')
        if self.kind not in ('int', 'float', 'floats'):
            return
        for number in np.atleast_1d(np.array(value, dtype=float)):
            if not self.lower <= number <= self.upper:
                raise SettingError(f'{self.name} is {number:g}; it must be between '
                                   f'{self.lower:g} and {self.upper:g}')


def _floats(name: str, text: str, lower: float = 0.0, upper: float = 1e6,
            default: Value = None, fixed: bool = False) -> Setting:
    return Setting(name, 'floats', default, text, lower, upper, fixed=fixed)


def _float(name: str, default: float, text: str, lower: float, upper: float,
           fixed: bool = False) -> Setting:
    return Setting(name, 'float', default, text, lower, upper, fixed=fixed)


def _int(name: str, default: int, text: str, lower: int, upper: int, fixed: bool = True,
         ) -> Setting:
    return Setting(name, 'int', default, text, lower, upper, fixed=fixed)


def _choice(name: str, default: str, choices: tuple[str, ...], text: str, fixed: bool = True,
            ) -> Setting:
    return Setting(name, 'str', default, text, choices=choices, fixed=fixed)


_JOINTS = ' One value for all joints, or one per joint.'
_ROBOT = (
    Setting('robot_description', 'str', '', 'URDF text of the simulated robot. If empty, '
            'robot_description_file is read.', fixed=True),
    Setting('robot_description_file', 'str', '', 'URDF or xacro file. If empty, the built-in '
            'seven-joint arm.', fixed=True),
    Setting('joints', 'strs', None, 'Joints that take commands, in command order; the others, '
            'except passive joints of loops, keep their brakes closed. Default: all joints with '
            'one coordinate.', fixed=True),
    _floats('initial_positions', 'rad or m, of the joints that take commands. Default: zero, or '
            'the nearest position within the limits (built-in arm: a bent pose).', -1e6,
            fixed=True),
    _choice('start_pose', 'zero', ('zero', 'bent'), 'Where the joints start without '
            'initial_positions: zero, or bent: inside the limits, above the base and far from '
            'singular poses, for arms without closed loops.'),
    Setting('assembly.joints', 'strs', None, 'Passive joints of a robot with closed loops whose '
            'approximate initial positions are given; they select how it is assembled.',
            fixed=True),
    _floats('assembly.values', 'rad or m, of assembly.joints. Default: zero.', -1e6, fixed=True),
    Setting('floating_base', 'bool', False, 'Let the root link of the description move freely: a '
            'legged or flying robot.', fixed=True),
    _floats('initial_base_pose', 'm and rad: x, y, z, roll, pitch, yaw of a floating base. '
            'Default: upright at the origin, just touching the floor.', -1e6, fixed=True),
    _floats('rotor_inertia', 'kg.m^2 or kg, reflected to the joint, of the joints that take '
            'commands. Default: from the description.' + _JOINTS, fixed=True),
    _floats('gravity', 'm/s^2, in the base frame. Default: 0 0 -9.81.', -100.0, 100.0,
            fixed=True),
)
_TIME = (
    _float('state_rate', 500.0, 'Hz, rate of joint_states.', 1.0, 2000.0, True),
    _int('substeps', 2, 'Integration steps between two states.', 1, 1000),
    _choice('integrator', 'rk4', INTEGRATORS, 'Integration method.'),
    _float('real_time_factor', 1.0, 'Ratio of simulated to real time.', 0.001, 100.0, True),
    _int('max_catch_up', 20, 'Most periods to run at once after a delay; the rest are skipped.',
         1, 1000),
    Setting('lockstep', 'bool', False, 'After the first command, integrate only once the command '
            'with the stamp of the last state has arrived. Needs command_type joint_state or '
            'motor_joint_state.',
            fixed=True),
    _float('lockstep_resend', 0.05, 's, after which an unanswered state is sent again.', 1e-3,
           60.0, True),
    _float('lockstep_timeout', 2.0, 's without an answer, after which the brakes close.', 1e-2,
           3600.0, True),
    _int('steps_per_call', 1, 'Periods by which a call of ~/step advances time.', 1, 1_000_000,
         False),
)
_DRIVER = (
    _choice('command_type', 'float64_multi_array', COMMAND_TYPES, 'Message type of commands; '
            'those of motors have gains, which the simulated motors apply in every step.'),
    Setting('brakes', 'bool', True, 'Hold the robot until the first command.', fixed=True),
    _float('command_timeout', 0.0, 's without a command, after which the brakes close. 0: the '
           'last command stays.', 0.0, 3600.0, True),
    _float('command_latency', 0.0, 's, from a command to its effect.', 0.0, 1.0, True),
    Setting('publish_clock', 'bool', False, 'Publish simulated time on /clock.', fixed=True),
    Setting('publish_tf', 'bool', False, 'Publish the poses of all links on tf and tf_static.',
            fixed=True),
    _float('tf_rate', 50.0, 'Hz, rate of tf.', 0.1, 1000.0, True),
    Setting('publish_description', 'bool', True, 'Publish robot_description, latched.',
            fixed=True),
    _float('wrench_timeout', 0.2, 's of simulated time that a push lasts. 0: until the next one.',
           0.0, 3600.0),
    _float('discovery_time', 1.0, 's, for which to look for another publisher of joint_states at '
           'startup.', 0.0, 60.0, True),
    _choice('loop', 'native', ('native', 'executor'), 'What runs the periods: a thread of machine '
            'code where it knows all that happens in them, or the executor.'),
    _choice('executor', 'events', ('events', 'single'), 'Executor; events needs rclpy 7.1.4.'),
)
_JOINT_PHYSICS = (
    _floats('friction', 'N.m or N, dry friction. Default: from the description.' + _JOINTS),
    _floats('damping', 'N.m.s/rad or N.s/m. Default: from the description.' + _JOINTS),
    _floats('effort_limit', 'N.m or N. Default: from the description.' + _JOINTS),
    _float('restitution', 0.0, 'Fraction of the speed that remains after hitting a joint limit.',
           0.0, 1.0),
    _float('mass_scale', 1.0, 'Ratio of the true masses to those of the description.', 0.01,
           100.0),
)
_CONTACT = (
    _choice('contact', 'none', CONTACTS, 'How the robot touches the scene: not at all, as a '
            'spring with a damper, or rigidly.'),
    Setting('scene_file', 'str', '', 'YAML file with floor and boxes, and optionally the contact '
            'balls of the robot. If empty, a floor at height 0.', fixed=True),
    _float('contact_stiffness', 2e4, 'N/m, of each touching point of a soft contact.', 1.0, 1e8,
           True),
    _float('contact_damping', 200.0, 'N.s/m, of each touching point of a soft contact.', 1e-3,
           1e6, True),
    _float('contact_friction', 0.6, 'Coefficient of Coulomb friction.', 0.0, 10.0, True),
    _float('contact_restitution', 0.0, 'Fraction of the speed that remains after a rigid impact.',
           0.0, 1.0, True),
    _float('contact_rate', 100.0, 'Hz, rate of contact forces and their markers.', 0.1, 1000.0,
           True),
)
_READING = (
    _floats('position_noise', 'rad or m, standard deviation.' + _JOINTS, default=[0.0]),
    _floats('velocity_noise', 'rad/s or m/s, standard deviation.' + _JOINTS, default=[0.0]),
    _floats('effort_noise', 'N.m or N, standard deviation.' + _JOINTS, default=[0.0]),
    _floats('position_resolution', 'rad or m, encoder step. 0: none.' + _JOINTS,
            default=[0.0]),
    _choice('velocity_source', 'measured', VELOCITY_SOURCES, 'What velocity contains.', False),
    _choice('effort_source', 'motor', EFFORT_SOURCES, 'What effort contains: the motor torque, '
            'or the torque on the link, with friction and brakes.', False),
    _float('state_latency', 0.0, 's, from a measurement to its publication.', 0.0, 1.0),
    _float('dropout_probability', 0.0, 'Probability, at each state, that a loss begins.', 0.0,
           1.0),
    _int('dropout_length', 1, 'Number of states lost in a row.', 1, 100_000, False),
    _int('seed', 0, 'Seed of the random numbers.', 0, 2**31 - 1, False),
)

#: Every parameter by name.
SETTINGS: Mapping[str, Setting] = {
    s.name: s for s in (
        *_ROBOT, *_TIME, *_DRIVER, *_JOINT_PHYSICS, *_CONTACT, *_READING)}


def default_values() -> dict[str, Value]:
    """Return a fresh set of all defaults."""
    return {s.name: copy(s.default) for s in SETTINGS.values()}
