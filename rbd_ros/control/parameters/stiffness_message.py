# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Stiffness and damping as one list of numbers, made into values of parameters."""

from __future__ import annotations

from collections.abc import Sequence
import math

from rbd_ros.control.modes import Mode
from rbd_ros.errors import SettingError

__all__ = ['spring_columns', 'stiffness_changes']


def spring_columns(mode: Mode, joints: int) -> list[tuple[str, str, int]]:
    """
    Return which numbers a row has: names of the parameters of stiffness and damping, and counts.

    :param mode: one with springs.
    :param joints: number of controlled joints.
    """
    return [(stiffness, damping, joints if mode.rows[stiffness].each_joint else 3)
            for stiffness, damping in zip(*mode.spring_names)]


def stiffness_changes(mode: Mode, joints: int, data: Sequence[float],
                      sizes: Sequence[int] = ()) -> dict[str, list[float]]:
    """
    Return the parameters that a message changes.

    One row has a stiffness for each joint, or for rx, ry, rz, x, y, z. A second row, if there is
    one, has the damping.

    :param mode: in force, one with springs.
    :param joints: number of controlled joints.
    :param data: the numbers, row after row.
    :param sizes: of the dimensions that the message names; none: it names none.
    :raises SettingError: if there are too many numbers or too few.
    """
    columns = spring_columns(mode, joints)
    width = sum(count for _, _, count in columns)
    if sizes and math.prod(sizes) != len(data):
        raise SettingError(f'its layout has {" x ".join(map(str, sizes))} numbers, its data '
                           f'{len(data)}')
    if len(data) not in (width, 2 * width):
        raise SettingError(f'{mode.name} takes {width} numbers, the stiffness, or {2 * width}, '
                           f'the stiffness and then the damping; got {len(data)}')
    found, at = dict[str, list[float]](), 0
    for k in range(len(data) // width):
        for stiffness, damping, count in columns:
            found[damping if k else stiffness] = [float(x) for x in data[at:at + count]]
            at += count
    return found
