# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Frames that a message may name, as tables of C99."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rbd_ros.command_line.ros2_control.literals import number, text
from rbd_ros.control.references.pose_profile import quaternion_of
from rbd_ros.control.robot import Robot
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.model.positions import neutral

__all__ = ['frame_tables']


def frame_tables(robot: Robot) -> dict[str, tuple[str, list[str]]]:
    """
    Return the frames that are fixed to the base, and to the payload frame: name and rows of each.

    :param robot: model and payload frame.
    """
    model, carrier = robot.model, robot.payload_frame
    base = dict.fromkeys([model.body_names[0], *_of_body(robot, 0)])
    return {'frame': ('kFrames', _rows(robot, list(base), model.body_names[0])),
            'payload_frame': ('kPayloadFrames', _rows(
                robot, _of_body(robot, model.frame(carrier).body), carrier))}


def _of_body(robot: Robot, body: int) -> list[str]:
    return [name for name, frame in robot.model.frames.items() if frame.body == body]


def _rows(robot: Robot, names: Sequence[str], fixed_to: str) -> list[str]:
    """Return frames as they lie in the one that they are fixed to."""
    model, turn = robot.model, np.zeros(4)
    dynamics, q = Dynamics(model, backend='reference'), neutral(model)
    poses = {name: np.eye(4) if name == model.body_names[0] else dynamics.pose(q, name)
             for name in {*names, fixed_to}}
    found = []
    for name in names:
        T = np.linalg.solve(poses[fixed_to], poses[name])
        quaternion_of(np.ascontiguousarray(T[:3, :3]), turn)
        numbers = [', '.join(map(number, each)) for each in (T[:3, :3].ravel(), turn, T[:3, 3])]
        found.append(f'{{{text(name)}, {{{numbers[0]}}}, {{{numbers[1]}}}, {{{numbers[2]}}}}}')
    return found
