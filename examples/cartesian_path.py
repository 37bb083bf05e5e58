# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Can the arm draw this square with its tool, and if not, where and why does it fail?"""

import numpy as np
import rbd_ros
from rbd_ros.control.parameters.assembly import build_settings, compile_kernels
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.paths.curve import Curve, WayPoints
from rbd_ros.control.paths.following import PathFollowing
from rbd_ros.control.paths.limits import path_limits
from rbd_ros.control.paths.postures import Postures
from rbd_ros.control.robot import make_robot
from rbd_ros.errors import RbdError

robot = make_robot(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'))
settings = build_settings(robot, defaults() | {'driver_adds': 'gravity'}, simulated=True)
postures = Postures(compile_kernels(settings)['report'], robot)
q = np.array([0.1, 0.4, 0.3, -1.2, 0.5, 0.6, 0.7])
here = postures.at(q)
corners = 0.1 * np.array([[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]])


def drawn(seconds):
    """Return the motion of the joints around the square."""
    curve = Curve(WayPoints(np.linspace(0.0, seconds, 5), here.p + corners, np.array([here.R] * 5),
                            velocity=np.zeros((5, 6))))  # straight lines: a stop at each corner
    following = PathFollowing(postures, path_limits(settings), settings.task_axes, curve, q)
    while not following.work(0.005):
        pass  # time for others, as the controller has it
    return following.knots


slow = drawn(8.0)
print(f'in 8 s: fastest joint {np.abs(slow.qd).max():.2f} rad/s, {len(slow.times)} points')
try:
    drawn(1.2)
except RbdError as error:
    print('in 1.2 s:', error)
