# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Bags of joint states, as a recorder would write them, of motions that an arm could make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rbd_ros import Dynamics
from rbd_ros.model.model import Model
from rosbags.rosbag2 import Writer
from rosbags.typesys import get_typestore, Stores

STORE = get_typestore(Stores.ROS2_JAZZY)
STATE, NUMBER = 'sensor_msgs/msg/JointState', 'std_msgs/msg/Float64'


def write(path: Path, model: Model, rows: Iterable[Sequence[Any]], *,
          topic: str = '/joint_states', kind: str = STATE, effort: bool = True,
          names: Sequence[str] | None = None) -> Path:
    """Write a bag of joint states, joints in reverse order; each row is t, q, qd, tau."""
    with Writer(path, version=9) as writer:
        connection = writer.add_connection(topic, kind, typestore=STORE)
        message = STORE.types[STATE]
        for t, q, qd, tau in rows:
            stamp = STORE.types['builtin_interfaces/msg/Time'](int(t), round(t % 1 * 1e9))
            header = STORE.types['std_msgs/msg/Header'](stamp, '')
            values = [np.array(x[::-1]) for x in (q, qd, tau if effort else tau[:0])]
            state = message(header, list(names or model.joint_names)[::-1], *values)
            if kind == NUMBER:
                state = STORE.types[NUMBER](0.0)
            writer.write(connection, round(t * 1e9), STORE.serialize_cdr(state, kind))
    return path


def write_motions(folder: Path, robot: Dynamics, count: int, *, seconds: float,
                  rate: float) -> None:
    """
    Write bags of an arm whose joints swing, each with amplitudes of half a radian.

    :param folder: gets a bag for each motion.
    :param robot: whose torques are recorded: revolute joints only.
    :param count: how many.
    :param seconds: that each lasts.
    :param rate: messages in a second.
    """
    t = np.arange(0.0, seconds, 1.0 / rate)
    for k in range(count):
        rng = np.random.default_rng(k)
        phase, speed = rng.uniform(0.0, 6.0, robot.model.nv), rng.uniform(2.0, 6.0, robot.model.nv)
        angle = np.outer(t, speed) + phase
        q, qd = 0.5 * np.sin(angle), 0.5 * speed * np.cos(angle)
        tau = robot.inverse_dynamics(q, qd, -speed * speed * q)
        write(folder / f'bag_{k:03d}', robot.model, zip(t, q, qd, tau, strict=True))
