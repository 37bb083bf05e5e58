# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The physical properties of a simulated robot, checked as a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import SettingError
from rbd_ros.model.model import Model

INTEGRATORS = ('rk4', 'semi_implicit')


def per_joint(name: str, value: float | Sequence[float], count: int, least: float = 0.0) -> Array:
    """
    Return one number per joint.

    :param name: what the numbers are, for error messages.
    :param value: one number for all joints, or one per joint.
    :param count: number of joints.
    :param least: what each is at least.
    """
    array = np.array(value, dtype=float).reshape(-1)
    if array.size == 1:
        array = np.repeat(array, count)
    if array.size != count:
        raise SettingError(f'{name} has {array.size} entries; give one for all joints, '
                           f'or {count}, one per joint')
    bad = np.flatnonzero(~(array >= least))
    if bad.size:
        wanted = 'zero or more' if least == 0.0 else 'a number'
        raise SettingError(f'{name}[{bad[0]}] is {array[bad[0]]}; it must be {wanted}')
    return array


@dataclass(frozen=True, eq=False)
class Physics:
    """
    What acts in the joints: arrays with one entry for each independent velocity of the model.

    One number given for an array counts for all joints.

    :param friction: dry friction, N.m or N.
    :param damping: viscous friction, N.m.s/rad or N.s/m.
    :param effort_limit: largest torque of each actuator; infinite for none.
    :param lower: lower stop of each joint with one coordinate; minus infinity for none.
    :param upper: upper stop.
    :param restitution: fraction of the speed that remains after hitting a stop, 0 to 1.
    :param recovery_speed: highest speed at which a joint beyond its stop is brought back, rad/s or
        m/s.
    :param mass_scale: ratio of true masses and inertias to those of the model, to try a controller
        on a robot that differs from its description.
    :param integrator: ``'rk4'`` or ``'semi_implicit'``.
    """

    friction: Array
    damping: Array
    effort_limit: Array
    lower: Array
    upper: Array
    restitution: float = 0.0
    recovery_speed: float = 0.5
    mass_scale: float = 1.0
    integrator: str = 'rk4'

    @classmethod
    def of(cls, model: Model, **changes: Array | Sequence[float] | float | str) -> Physics:
        """
        Return the physics of the description, with changes.

        :param model: the robot; an effort limit of zero means none, as in a URDF.
        :param changes: values that replace those of the description, by field.
        """
        lower, upper = np.full(model.nv, -math.inf), np.full(model.nv, math.inf)
        for name in model.independent_joint_names:
            q, v = model.position_slice(name), model.velocity_slice(name)
            if q.stop - q.start == v.stop - v.start:
                lower[v], upper[v] = model.lower[q], model.upper[q]
        effort = np.array(model.effort_limit)
        described = cls(
            friction=np.array(model.friction), damping=np.array(model.damping),
            effort_limit=np.where(effort > 0.0, effort, math.inf), lower=lower, upper=upper)
        return replace(described, **changes)  # type: ignore[arg-type]  # checked below

    def __post_init__(self) -> None:
        """Refuse invalid values, and name them."""
        least = {'friction': 0.0, 'damping': 0.0, 'effort_limit': 0.0,
                 'lower': -math.inf, 'upper': -math.inf}
        count = max(np.size(getattr(self, name)) for name in least)
        for name, bound in least.items():
            object.__setattr__(self, name, per_joint(name, getattr(self, name), count, bound))
        for name in ('friction', 'damping'):
            if np.isinf(getattr(self, name)).any():
                raise SettingError(f'{name} is {getattr(self, name).tolist()}; it must be finite')
        if (self.lower > self.upper).any():
            joint = int(np.flatnonzero(self.lower > self.upper)[0])
            raise SettingError(f'the lower stop of joint {joint} is {self.lower[joint]}, '
                               f'above its upper stop {self.upper[joint]}')
        self._check_range('restitution', 0.0, 1.0)
        self._check_range('recovery_speed', 0.0, 1e3)
        self._check_range('mass_scale', 1e-3, 1e3)
        if self.integrator not in INTEGRATORS:
            raise SettingError(f'integrator is "{self.integrator}"; '
                               f'it must be one of {", ".join(INTEGRATORS)}')

    def _check_range(self, name: str, low: float, high: float) -> None:
        value = getattr(self, name)
        if not low <= value <= high:
            raise SettingError(f'{name} is {value}; it must be between {low} and {high}')
