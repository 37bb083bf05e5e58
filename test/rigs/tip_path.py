# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Paths of the tip as messages."""

from __future__ import annotations

from geometry_msgs.msg import Quaternion, Transform, Vector3
import numpy as np
import numpy.typing as npt
from rbd_ros.nodes.controller.reports import quaternion
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

Array = npt.NDArray[np.float64]


def tip_path(tip: str, pose: Array, *ways: tuple[float, Array]) -> MultiDOFJointTrajectory:
    """Return a path: after each time, the tip that far from a pose, with its axes."""
    message = MultiDOFJointTrajectory(joint_names=[tip])
    turn = Quaternion(**dict(zip('xyzw', quaternion(pose[:3, :3]))))
    for seconds, way in ways:
        x, y, z = (pose[:3, 3] + way).tolist()
        point = MultiDOFJointTrajectoryPoint(
            transforms=[Transform(translation=Vector3(x=x, y=y, z=z), rotation=turn)])
        point.time_from_start.sec = int(seconds)
        point.time_from_start.nanosec = round((seconds % 1.0) * 1e9)
        message.points.append(point)
    return message
