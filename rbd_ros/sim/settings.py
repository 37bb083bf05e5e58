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
Every parameter of the simulator: type, default, unit, bounds, meaning.

The table knows no ROS; the node turns it into descriptors. A set of values is judged as a whole
by making what it describes; each refusal has a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.errors import SettingError
from rbd_ros.sim.physics import INTEGRATORS, per_joint, Physics
from rbd_ros.sim.sensors import EFFORT_SOURCES, Imperfections, VELOCITY_SOURCES
from rbd_ros.sim.simulation import Schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rbd_ros.model import Model

    Array = NDArray[np.float64]

Value = bool | int | float | str | list[float] | list[str] | None

COMMAND_TYPES = ('float64_multi_array', 'joint_state')


@dataclass(frozen=True)
class Setting:
    """
    One row of the table.

    :param kind: ``bool``, ``int``, ``float``, ``str``, ``floats`` or ``strs``.
    :param default: None for an array that is not given.
    :param description: with the unit.
    :param fixed: whether it can be given at the start only.
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


_JOINTS = '; one for all joints or one each'
_ROBOT = (
    Setting('robot_description', 'str', '', 'URDF text of the simulated robot; empty: from '
            'robot_description_file', fixed=True),
    Setting('robot_description_file', 'str', '', 'URDF or xacro file; empty: the built-in '
            'seven-joint arm', fixed=True),
    Setting('joints', 'strs', None, 'joints that take commands, in command order; the others '
            'keep their brakes; not given: all with one coordinate', fixed=True),
    _floats('initial_positions', 'rad or m, of the joints that take commands; not given: zero, '
            'or the nearest position within the stops', -1e6, fixed=True),
    _floats('rotor_inertia', 'kg.m^2 or kg as felt at the joint, of the joints that take '
            'commands; not given: of the description' + _JOINTS, fixed=True),
    _floats('gravity', 'm/s^2, in the base frame; not given: 0 0 -9.81', -100.0, 100.0,
            fixed=True),
)
_TIME = (
    _float('state_rate', 500.0, 'Hz, of joint_states', 1.0, 2000.0, True),
    _int('substeps', 2, 'steps of the integrator between two states', 1, 1000),
    _choice('integrator', 'rk4', INTEGRATORS, 'rule of integration'),
    _float('real_time_factor', 1.0, 'simulated over real time', 0.001, 100.0, True),
    _int('max_catch_up', 20, 'periods run at once after a delay; more are given up', 1, 1000),
    Setting('lockstep', 'bool', False, 'after the first command, integrate only when the command '
            'with the stamp of the last state has come; needs command_type joint_state',
            fixed=True),
    _float('lockstep_resend', 0.05, 's, after which an unanswered state is sent again', 1e-3,
           60.0, True),
    _float('lockstep_timeout', 2.0, 's, after which the brakes close for want of an answer', 1e-2,
           3600.0, True),
    _int('steps_per_call', 1, 'periods that a call of ~/step advances', 1, 1_000_000, False),
)
_DRIVER = (
    _choice('command_type', 'float64_multi_array', COMMAND_TYPES, 'message of the commands'),
    Setting('brakes', 'bool', True, 'hold the robot until the first command', fixed=True),
    _float('command_timeout', 0.0, 's without a command after which the brakes close; 0: the '
           'last command stays', 0.0, 3600.0, True),
    _float('command_latency', 0.0, 's, from a command to its effect', 0.0, 1.0, True),
    Setting('publish_clock', 'bool', False, 'publish simulated time on /clock', fixed=True),
    Setting('publish_tf', 'bool', False, 'publish the poses of all links on tf and tf_static',
            fixed=True),
    _float('tf_rate', 50.0, 'Hz, of tf', 0.1, 1000.0, True),
    Setting('publish_description', 'bool', True, 'publish robot_description, latched',
            fixed=True),
    _float('wrench_timeout', 0.2, 's of simulated time that a push lasts; 0: until the next one',
           0.0, 3600.0),
    _float('discovery_time', 1.0, 's, to look for another publisher of joint_states at the start',
           0.0, 60.0, True),
    _choice('executor', 'events', ('events', 'single'), 'executor; events needs rclpy 7.1.4'),
)
_JOINT_PHYSICS = (
    _floats('friction', 'N.m or N, dry friction; not given: of the description' + _JOINTS),
    _floats('damping', 'N.m.s/rad or N.s/m; not given: of the description' + _JOINTS),
    _floats('effort_limit', 'N.m or N; not given: of the description' + _JOINTS),
    _float('restitution', 0.0, 'part of the speed that comes back from a stop', 0.0, 1.0),
    _float('mass_scale', 1.0, 'true masses over described masses', 0.01, 100.0),
)
_READING = (
    _floats('position_noise', 'rad or m, standard deviation' + _JOINTS, default=[0.0]),
    _floats('velocity_noise', 'rad/s or m/s, standard deviation' + _JOINTS, default=[0.0]),
    _floats('effort_noise', 'N.m or N, standard deviation' + _JOINTS, default=[0.0]),
    _floats('position_resolution', 'rad or m, step of the encoders; 0: none' + _JOINTS,
            default=[0.0]),
    _choice('velocity_source', 'measured', VELOCITY_SOURCES, 'what velocity is', False),
    _choice('effort_source', 'motor', EFFORT_SOURCES, 'what effort is: of the motor, or on the '
            'links with friction and brakes', False),
    _float('state_latency', 0.0, 's, from a reading to its publication', 0.0, 1.0),
    _float('dropout_probability', 0.0, 'that a state is lost', 0.0, 1.0),
    _int('dropout_length', 1, 'states lost in a row', 1, 100_000, False),
    _int('seed', 0, 'of the random numbers', 0, 2**31 - 1, False),
)

#: Every parameter by name.
SETTINGS: Mapping[str, Setting] = {
    s.name: s for s in (*_ROBOT, *_TIME, *_DRIVER, *_JOINT_PHYSICS, *_READING)}


def default_values() -> dict[str, Value]:
    """Return a fresh set of all defaults."""
    return {s.name: list(s.default) if isinstance(s.default, list) else s.default
            for s in SETTINGS.values()}


class Settings:
    """
    A set of values, judged as a whole, and what it describes.

    :param values: by name; what is missing has its default.
    :raises SettingError: with the reason why the set cannot be.
    """

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = default_values() | dict(values)
        for name, setting in SETTINGS.items():
            setting.check(self.values[name])
        x = self.values
        if x['lockstep'] and x['command_type'] != 'joint_state':
            raise SettingError('lockstep needs command_type joint_state: other commands do not '
                               'tell which state they answer')
        if x['gravity'] is not None and len(x['gravity']) != 3:
            raise SettingError(f'gravity has {len(x["gravity"])} entries; it needs 3')
        self.schedule()
        self.imperfections()

    def joints(self, model: Model) -> tuple[str, ...]:
        """Return the joints that take commands."""
        given = self.values['joints']
        single = [name for name in model.independent_joint_names
                  if model.joint[model.joint_index(name)].nq == 1]
        for name in given or ():
            if name not in single:
                model.joint_index(name)
                raise SettingError(f'joint "{name}" cannot take a command: it mimics another '
                                   'or has more than one coordinate')
        return tuple(given or single)

    def model(self, model: Model) -> Model:
        """Return the robot with the rotors and the gravity of these settings."""
        x = self.values
        if x['gravity'] is not None:
            model = model.with_gravity(x['gravity'])
        if x['rotor_inertia'] is not None:
            rotors = self._spread(model, 'rotor_inertia', np.array(model.rotor_inertia))
            model = dataclasses.replace(model, rotor_inertia=tuple(rotors.tolist()))
        return model

    def initial_positions(self, model: Model, neutral: Array) -> Array:
        """Return the position at the start, within the stops."""
        q, given = np.array(neutral, dtype=float), self.values['initial_positions']
        joints = self.joints(model)
        if given is not None:
            if len(given) != len(joints):
                raise SettingError(f'initial_positions has {len(given)} entries; '
                                   f'{len(joints)} joints take commands')
            q[model.position_order(joints)] = given
        for name in joints:
            k = model.position_slice(name).start
            low, high = model.lower[k], model.upper[k]
            if given is None:
                q[k] = min(max(q[k], low), high)
            elif not low <= q[k] <= high:
                raise SettingError(f'initial_positions puts joint "{name}" at {q[k]:g}, beyond '
                                   f'its stops {low:g} and {high:g}')
        return q

    def physics(self, model: Model) -> Physics:
        """Return what acts in the joints."""
        x = self.values
        physics = Physics.of(model)
        arrays = {name: self._spread(model, name, getattr(physics, name))
                  for name in ('friction', 'damping', 'effort_limit')}
        return dataclasses.replace(
            physics, restitution=x['restitution'], mass_scale=x['mass_scale'],
            integrator=x['integrator'], **arrays)

    def imperfections(self) -> Imperfections:
        """Return how the robot is read."""
        x = self.values
        return Imperfections(
            position_noise=x['position_noise'], velocity_noise=x['velocity_noise'],
            effort_noise=x['effort_noise'], resolution=x['position_resolution'],
            velocity=x['velocity_source'], effort=x['effort_source'],
            latency=x['state_latency'], loss=x['dropout_probability'],
            loss_length=x['dropout_length'], seed=x['seed'])

    def schedule(self) -> Schedule:
        """Return when things happen."""
        x = self.values
        return Schedule(
            period_ns=round(1e9 / x['state_rate']), substeps=x['substeps'],
            speed=x['real_time_factor'], most=x['max_catch_up'], brakes=x['brakes'],
            command_latency=x['command_latency'], command_timeout=x['command_timeout'],
            lockstep=x['lockstep'], resend=x['lockstep_resend'], patience=x['lockstep_timeout'])

    def _spread(self, model: Model, name: str, described: Array) -> Array:
        """Return the description's values with those given for the joints that take commands."""
        given, out = self.values[name], np.array(described, dtype=float)
        if given is not None:
            index = model.velocity_order(self.joints(model))
            out[index] = per_joint(name, given, len(index))
        return out
