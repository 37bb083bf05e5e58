# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What a drive adds to the torque of its joint: friction in several forms, the rotor, an offset.

The torque that a motor gives is that of the bodies, plus friction, plus the rotor's inertia. Each
form of friction is a column next to those of the bodies. Viscous friction may depend on the
direction; Coulomb friction may depend on the direction (the offset is half the difference) and on
the load that the gear carries. A constant offset of the torque sensor cannot be told from Coulomb
friction that depends on the direction: both are the parameter ``offset``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import SettingError
from rbd_ros.identification.parameters import parameter_names
from rbd_ros.model.model import Model

__all__ = ['drive_columns', 'drive_names', 'DRIVES', 'free_columns', 'own_drives', 'terms_of']

#: Forms of friction, by what efforts are and how much is asked. Offsets, which may be negative,
#: come last.
DRIVES: Mapping[str, tuple[str, ...]] = {
    'sensor': ('rotor',),
    'simple': ('viscous', 'coulomb', 'rotor'),
    'full': ('viscous forward', 'viscous backward', 'coulomb', 'load', 'rotor', 'offset'),
}


def terms_of(kind: str) -> tuple[str, ...]:
    """
    Return the parameters of each drive.

    :param kind: ``'sensor'`` for efforts of torque sensors behind the gear, which feel no
        friction; ``'simple'`` for viscous and Coulomb friction; ``'full'`` for friction that
        depends on direction and load too.
    """
    if kind not in DRIVES:
        raise SettingError(f'friction "{kind}" is unknown; take one of {", ".join(DRIVES)}')
    return DRIVES[kind]


def free_columns(kind: str, nv: int) -> int:
    """Return how many of the last columns may have negative parameters."""
    return nv if 'offset' in terms_of(kind) else 0


def drive_names(model: Model, kind: str) -> list[str]:
    """Return a name for each parameter of the drives, such as ``coulomb of joint_1``."""
    places = [name.partition(' of ')[2] for name in
              parameter_names(model, drives=True)[10 * model.nb:10 * model.nb + model.nv]]
    return [f'{term} of {place}' for term in terms_of(kind) for place in places]


def own_drives(model: Model, kind: str) -> Array:
    """Return the parameters that a model has for its drives; what it has not is zero."""
    known = {'viscous': model.damping, 'viscous forward': model.damping,
             'viscous backward': model.damping, 'coulomb': model.friction,
             'rotor': model.rotor_inertia}
    none = (0.0,) * model.nv
    return np.array([known.get(term, none) for term in terms_of(kind)], float).ravel()


def drive_columns(kind: str, qd: Array, qdd: Array, load: Array) -> Array:
    """
    Return the torque of each drive per unit of each of its parameters, (count, nv, terms).

    :param qd: velocities, (count, nv).
    :param qdd: accelerations, (count, nv).
    :param load: torque of the bodies, (count, nv), for friction that grows with it.
    """
    sign = np.sign(qd)
    forms = {'viscous': qd, 'viscous forward': np.maximum(qd, 0.0),
             'viscous backward': np.minimum(qd, 0.0), 'coulomb': sign,
             'load': np.abs(load) * sign, 'rotor': qdd, 'offset': np.ones_like(qd)}
    return np.stack([forms[term] for term in terms_of(kind)], axis=2)
