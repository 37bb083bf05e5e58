# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The parameters of the simulator, checked as a whole, and the objects that they describe.

An invalid set is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import dataclasses

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import SettingError
from rbd_ros.model.collision_shapes import CollisionShape
from rbd_ros.model.model import Model
from rbd_ros.model.positions import neutral as zero_position
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.sim.contact.mesh import read_mesh
from rbd_ros.sim.contact.world import read_balls, read_scene, Surface, World
from rbd_ros.sim.floating import placed_base
from rbd_ros.sim.physics import per_joint, Physics
from rbd_ros.sim.schedule import Schedule
from rbd_ros.sim.sensors import Imperfections
from rbd_ros.sim.setting_table import (
    default_values, MOTOR_TYPES, SETTINGS, STAMPED_TYPES, Value)
from rbd_ros.sim.start_pose import bent_pose


class Settings:
    """
    A set of values, checked as a whole, and the objects that it describes.

    :param values: by name; missing ones have their default.
    :raises SettingError: if the set is invalid, with the reason.
    """

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = default_values() | dict(values)
        for name, setting in SETTINGS.items():
            setting.check(self.values[name])
        if self.flag('lockstep') and self.text('command_type') not in STAMPED_TYPES:
            raise SettingError(f'lockstep needs command_type {" or ".join(STAMPED_TYPES)}: other '
                               'commands do not carry the stamp of the state that they answer')
        gravity = self.numbers('gravity')
        if gravity is not None and len(gravity) != 3:
            raise SettingError(f'gravity has {len(gravity)} entries; it needs x, y, z in m/s^2')
        self.schedule()
        self.imperfections()

    @property
    def motors_close_loops(self) -> bool:
        """Return whether commands have gains, for motors that close their own loop."""
        return self.text('command_type') in MOTOR_TYPES

    # --- values by type -----------------------------------------------------------------------

    def flag(self, name: str) -> bool:
        """Return the value of a boolean parameter."""
        return bool(self.values[name])

    def integer(self, name: str) -> int:
        """Return the value of an integer parameter."""
        return int(self.number(name))

    def number(self, name: str) -> float:
        """Return the value of a numeric parameter."""
        value = self.values[name]
        if not isinstance(value, (int, float)):
            raise SettingError(f'{name} is {value!r}; it must be a number')
        return value

    def text(self, name: str) -> str:
        """Return the value of a string parameter."""
        return str(self.values[name])

    def numbers(self, name: str) -> list[float] | None:
        """Return the values of a numeric array, or None if it is not given."""
        value = self.values[name]
        return [float(x) for x in value] if isinstance(value, list) else None

    def names(self, name: str) -> list[str] | None:
        """Return the values of a string array, or None if it is not given."""
        value = self.values[name]
        return [str(x) for x in value] if isinstance(value, list) else None

    # --- what they describe -------------------------------------------------------------------

    def joints(self, model: Model) -> tuple[str, ...]:
        """Return the joints that take commands."""
        given = self.names('joints')
        single = [name for name in model.independent_joint_names
                  if model.joint[model.joint_index(name)].nq == 1]
        for name in given or ():
            if name not in single:
                model.joint_index(name)
                raise SettingError(f'joint "{name}" cannot take a command: it mimics another '
                                   'or has more than one coordinate')
        return tuple(given or single)

    def model(self, model: Model) -> Model:
        """Return the robot with the rotor inertias and the gravity of these settings."""
        gravity = self.numbers('gravity')
        if gravity is not None:
            model = model.with_gravity(gravity)
        rotors = self._spread(model, 'rotor_inertia', np.array(model.rotor_inertia))
        return dataclasses.replace(model, rotor_inertia=tuple(rotors.tolist()))

    def initial_positions(self, model: Model, neutral: Array) -> Array:
        """Return the initial position, within the stops."""
        q, given = np.array(neutral, dtype=float), self.numbers('initial_positions')
        joints = self.joints(model)
        near, values = self.names('assembly.joints') or [], self.numbers('assembly.values') or []
        if len(near) != len(values):
            raise SettingError(f'assembly.joints has {len(near)} names, assembly.values '
                               f'{len(values)} numbers: give one for each')
        if near:  # a closed position that was found from zero is another assembly
            q = np.array(zero_position(model), dtype=float)
            q[model.position_order(near)] = values
        if given is not None:
            if len(given) != len(joints):
                raise SettingError(f'initial_positions has {len(given)} entries; '
                                   f'{len(joints)} joints take commands')
            q[model.position_order(joints)] = given
        elif (self.text('start_pose') == 'bent' and not model.loops
              and not self.flag('floating_base')):
            return bent_pose(model, joints)
        for name in joints:
            k = model.position_slice(name).start
            low, high = model.lower[k], model.upper[k]
            if given is None:
                q[k] = min(max(q[k], low), high)
            elif not low <= q[k] <= high:
                raise SettingError(f'initial_positions puts joint "{name}" at {q[k]:g}, beyond '
                                   f'its stops {low:g} and {high:g}')
        return q

    def start_position(self, model: Model, neutral: Array, world: World | None) -> Array:
        """Return the initial position, including the pose of a floating base."""
        return placed_base(model, self.initial_positions(model, neutral),
                           self.numbers('initial_base_pose'), world)

    def placed_joints(self, model: Model) -> tuple[str, ...]:
        """Return the joints whose initial position is given."""
        return () if self.numbers('initial_positions') is None else self.joints(model)

    def physics(self, model: Model) -> Physics:
        """Return what acts in the joints."""
        base = Physics.of(model)
        return dataclasses.replace(
            base, friction=self._spread(model, 'friction', base.friction),
            damping=self._spread(model, 'damping', base.damping),
            effort_limit=self._spread(model, 'effort_limit', base.effort_limit),
            restitution=self.number('restitution'), mass_scale=self.number('mass_scale'),
            integrator=self.text('integrator'))

    def world(self, description: str, model: Model) -> World | None:
        """
        Return what the robot may touch, or None.

        :param description: URDF text, for its collision shapes.
        """
        kind = self.text('contact')
        if kind == 'none':
            return None
        scene = 'floor: 0.0'
        file = self.text('scene_file')
        if file:
            scene = find_resource(file).read_text()
        surface = Surface(
            stiffness=self.number('contact_stiffness'), damping=self.number('contact_damping'),
            friction=self.number('contact_friction'),
            restitution=self.number('contact_restitution'))
        name = file or 'the scene'
        shapes: Sequence[CollisionShape] | None = read_balls(scene, model, name)
        if shapes is None:
            shapes = load_collisions(description, model, read_mesh=read_mesh)
        return World(kind, shapes, read_scene(scene, name), surface)

    def imperfections(self) -> Imperfections:
        """Return the imperfections of the sensors."""
        position, velocity, effort, resolution = (
            self.numbers(name) or [0.0] for name in (
                'position_noise', 'velocity_noise', 'effort_noise', 'position_resolution'))
        return Imperfections(
            position_noise=position, velocity_noise=velocity, effort_noise=effort,
            resolution=resolution, velocity=self.text('velocity_source'),
            effort=self.text('effort_source'), latency=self.number('state_latency'),
            loss=self.number('dropout_probability'), loss_length=self.integer('dropout_length'),
            seed=self.integer('seed'))

    def schedule(self) -> Schedule:
        """Return the timing."""
        return Schedule(
            period_ns=round(1e9 / self.number('state_rate')), substeps=self.integer('substeps'),
            speed=self.number('real_time_factor'), max_catch_up=self.integer('max_catch_up'),
            brakes=self.flag('brakes'), command_latency=self.number('command_latency'),
            command_timeout=self.number('command_timeout'), lockstep=self.flag('lockstep'),
            resend=self.number('lockstep_resend'), patience=self.number('lockstep_timeout'))

    def _spread(self, model: Model, name: str, described: Array) -> Array:
        """Return the values of the description, replaced for the joints that take commands."""
        given, out = self.numbers(name), np.array(described, dtype=float)
        if given is not None:
            index = model.velocity_order(self.joints(model))
            out[index] = per_joint(name, given, len(index))
        return out
