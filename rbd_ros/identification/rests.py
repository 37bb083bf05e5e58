# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Readings of a force-torque sensor in the poses in which a recorded robot rested."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.errors import RbdError
from rbd_ros.identification.bag import BagError, JOINT_STATE, read_messages, WRENCH
from rbd_ros.model.model import Model

__all__ = ['read_rests', 'Rests']

Array = npt.NDArray[np.float64]

#: rad or m by which a joint that rests may differ from where the rest began
STILL = 2e-3
#: s at both ends of a rest that do not count: the arm still swings, or speeds up already
SETTLING = 0.3
#: readings that a pose needs
FEWEST = 5


class Rests(NamedTuple):
    """
    Poses at rest, one row each.

    :param t: time at which the rest began, s.
    :param q: positions of the joints.
    :param wrench: mean of the readings as they came, moment first.
    :param spread: rms of the readings about their mean, moment and force.
    """

    t: Array
    q: Array
    wrench: Array
    spread: Array


def read_rests(path: str | Path, model: Model, sensor: str, states: str = '/joint_states',
               seconds: float = 1.0) -> Rests:
    """
    Return the poses of a bag in which all joints rested, with what the sensor read there.

    :param sensor: topic of geometry_msgs/WrenchStamped, stamped by the clock of the states.
    :param states: topic of sensor_msgs/JointState.
    :param seconds: for which a rest lasts at least.
    :raises BagError: if this is not a bag, a topic is missing, or nothing rested.
    """
    t, q = _positions(path, model, states)
    messages = read_messages(path, sensor, WRENCH)
    at = np.array([_time(message) for message in messages])
    read = np.array([[getattr(part, axis) for part in (each.wrench.torque, each.wrench.force)
                      for axis in 'xyz'] for each in messages]).reshape(len(messages), 6)
    if not np.isfinite(read).all():
        raise BagError(f'{path}: readings on "{sensor}" contain NaN or infinity')
    rows = []
    for begin, end in _still(t, q, seconds):
        inside = read[(at >= t[begin] + SETTLING) & (at <= t[end] - SETTLING)]
        if len(inside) >= FEWEST:
            left = inside - inside.mean(axis=0)
            rows.append((t[begin] - t[0], q[begin:end + 1].mean(axis=0), inside.mean(axis=0),
                         np.sqrt(np.mean(left.reshape(-1, 2, 3) ** 2, axis=(0, 2)))))
    if not rows:
        raise BagError(f'{path}: no pose in which all joints rested for {seconds:g} s and '
                       f'"{sensor}" had {FEWEST} readings; stay {seconds:g} s in each pose, and '
                       'stamp states and readings by one clock')
    return Rests(*(np.array(column) for column in zip(*rows, strict=True)))


def _time(message: object) -> float:
    stamp = message.header.stamp  # type: ignore[attr-defined]
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def _positions(path: str | Path, model: Model, topic: str) -> tuple[Array, Array]:
    """Return times, increasing, and positions of all joints of a model."""
    names = list(model.independent_joint_names)
    if model.nq != len(names):
        raise RbdError(f'"{model.name}" has joints with several coordinates, which a JointState '
                       'message cannot contain')
    rows = []
    for message in read_messages(path, topic, JOINT_STATE):
        place = dict(zip(message.name, message.position, strict=False))
        if all(name in place for name in names):
            rows.append((_time(message), [place[name] for name in names]))
    if not rows:
        raise BagError(f'{path}: no message on "{topic}" has the positions of all joints of '
                       f'"{model.name}"')
    t, first = np.unique([row[0] for row in rows], return_index=True)
    q = np.array([row[1] for row in rows], float)[first]
    if not np.isfinite(q).all():
        raise BagError(f'{path}: positions on "{topic}" contain NaN or infinity')
    return t, q


def _still(t: Array, q: Array, seconds: float) -> list[tuple[int, int]]:
    """Return first and last sample of each time in which no joint left where it was."""
    found, begin = [], 0
    for k in range(1, len(t) + 1):
        if k < len(t) and np.abs(q[k] - q[begin]).max() <= STILL:
            continue
        if t[k - 1] - t[begin] >= seconds:
            found.append((begin, k - 1))
        begin = k
    return found
