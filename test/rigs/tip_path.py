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
