# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The robot that a command works on, and vectors of its coordinates from the command line."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from rbd_ros.command_line.output import warn
from rbd_ros.compiler import Array
from rbd_ros.errors import SettingError, UnknownName
from rbd_ros.model.model import Model
from rbd_ros.model.positions import neutral
from rbd_ros.model.urdf import find_resource, load_urdf
from rbd_ros.model.urdf.check import Note
from rbd_ros.model.urdf.description import read_description

__all__ = ['coordinate_names', 'joint_units', 'Loaded', 'load', 'read', 'tips', 'vector']


class Loaded(NamedTuple):
    """
    A robot and what came with it.

    :param text: its URDF.
    :param notes: warnings of the loader.
    """

    model: Model
    text: str
    notes: list[Note]


def read(robot: str) -> str:
    """
    Return the URDF text of a robot.

    :param robot: as the user named it.
    """
    if robot == '-':
        return sys.stdin.read()
    if not robot.endswith('.xacro'):
        find_resource(robot)                # its error lists where it was searched for
    return read_description(robot)


def load(robot: str, floating_base: bool = False, *, quiet: bool = False) -> Loaded:
    """
    Load a robot for a command; limits may lack effort or velocity.

    :param robot: as the user named it.
    :param quiet: whether warnings are kept back: the caller shows them.
    """
    text = read(robot)
    notes: list[Note] = []
    # A file is loaded by its name, which its errors mention.
    source = text if robot == '-' or robot.endswith('.xacro') else robot
    model = load_urdf(source, floating_base, limits_optional=True, on_warning=notes.append)
    if not quiet:
        for note in notes:
            warn(note)
    return Loaded(model, text, notes)


def coordinate_names(model: Model, *, velocities: bool = False) -> list[str]:
    """Return a name for each entry of q or v: its joint, numbered where that has several."""
    names = []
    for joint in model.independent_joint_names:
        part = model.velocity_slice(joint) if velocities else model.position_slice(joint)
        size = part.stop - part.start
        names += [joint] if size == 1 else [f'{joint}.{k}' for k in range(size)]
    return names


def joint_units(model: Model) -> dict[str, str]:
    """Return the unit of the position of each independent joint."""
    return {name: 'm' if model.joint[model.joint_index(name)].type_name == 'prismatic' else 'rad'
            for name in model.independent_joint_names}


def vector(model: Model, option: str, text: str | None, *, velocities: bool = True) -> Array:
    """
    Return a vector that was given on the command line.

    :param option: its name, for errors.
    :param text: numbers in the order of the joints, separated by commas or spaces; or pairs
        ``joint=number``, the others staying zero (neutral); None for zero altogether.
    :param velocities: whether it is of velocities or forces, and not of positions.
    """
    names = coordinate_names(model, velocities=velocities)
    start = np.zeros(model.nv) if velocities else np.array(neutral(model), float)
    words = (text or '').replace(',', ' ').split()
    if any('=' in word for word in words):
        for word in words:
            name, sign, value = word.partition('=')
            if not sign:
                raise SettingError(f'{option}: "{word}" is not a pair joint=number; give only '
                                   f'numbers, or only pairs, as in {names[0]}=0.5 with a point')
            if name not in names:
                raise UnknownName('joint', name, names)
            start[names.index(name)] = _float(option, value)
        return start
    if words and len(words) != len(names):
        commas = '. A comma ends a number: write decimal points' if len(
            words) == 2 * len(names) and ',' in str(text) else ''
        raise SettingError(f'{option} has {len(words)} numbers, "{model.name}" needs '
                           f'{len(names)}: {", ".join(names)}; or give some as joint=number'
                           f'{commas}')
    return np.array([_float(option, word) for word in words], float) if words else start


def _float(option: str, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise SettingError(f'{option}: "{word}" is not a number') from None
    if not math.isfinite(value):
        raise SettingError(f'{option}: {word} is not finite')
    return value


def tips(model: Model) -> list[str]:
    """Return the last frame of every outermost body."""
    last = {frame.body: name for name, frame in model.frames.items()}
    return [last[i] for i in range(1, model.nb + 1) if not model.children[i]]
