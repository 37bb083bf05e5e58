# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Contact forces of the simulated robot as messages: wrenches at links, arrows and the scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geometry_msgs.msg import Point, WrenchStamped
import numpy as np
from rbd_ros.model.collision_shapes import Box
from rbd_ros.nodes.arrows import PER_NEWTON
from rbd_ros.nodes.simulator.messages import time_message
from rbd_ros.spatial import Mat3
from rbd_ros.spatial.quaternion import from_rotation
from rclpy.qos import DurabilityPolicy, QoSProfile
from visualization_msgs.msg import Marker, MarkerArray

if TYPE_CHECKING:
    from rbd_ros.sim import ContactForce, Frames, Obstacle, SimulatedRobot
    from rclpy.node import Node

#: Side of the square that stands for a floor without end, m.
FLOOR = 4.0


class ContactReports:
    """
    Publish what touches.

    A message of ``~/contact_wrench`` for each pair of a link and an obstacle that touch: the force
    on the link, at the origin of its frame. When a pair parts, one more message says zero.

    :param node: that publishes.
    :param every: states between two reports.
    """

    def __init__(self, node: Node, robot: SimulatedRobot, frames: Frames, every: int) -> None:
        self._robot, self._frames, self._every, self._count = robot, frames, every, 0
        self._wrenches = node.create_publisher(WrenchStamped, '~/contact_wrench', 10)
        self._markers = node.create_publisher(MarkerArray, '~/contact_markers', 10)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._scene = node.create_publisher(MarkerArray, '~/scene', latched)
        base = robot.model.body_names[0]
        assert robot.world is not None
        self._scene.publish(MarkerArray(markers=[
            scene_marker(each, base, k) for k, each in enumerate(robot.world.obstacles)]))
        self._touching: set[tuple[int, str]] = set()

    def report(self, stamp_ns: int) -> None:
        """Publish the contacts of the last step, if it is their turn."""
        self._count += 1
        if self._count % self._every:
            return
        forces = self._robot.contact_forces
        stamp, names = time_message(stamp_ns), self._robot.model.body_names
        sums: dict[tuple[int, str], np.ndarray] = {key: np.zeros(6) for key in self._touching}
        q = self._robot.q
        for each in forces:
            key = (each.body, each.obstacle)
            sums[key] = sums.get(key, np.zeros(6)) + self._frames.at_body(
                q, each.body, each.point, each.force, self._robot.time)
        for (body, _), wrench in sums.items():
            message = WrenchStamped()
            message.header.frame_id, message.header.stamp = names[body], stamp
            t, f = message.wrench.torque, message.wrench.force
            t.x, t.y, t.z, f.x, f.y, f.z = wrench.tolist()
            self._wrenches.publish(message)
        if forces or self._touching:
            self._markers.publish(arrows(forces, names[0]))
        self._touching = {(each.body, each.obstacle) for each in forces}


def arrows(forces: list[ContactForce], frame: str) -> MarkerArray:
    """Return an arrow for each force, after an order to remove those before."""
    markers = [Marker(action=Marker.DELETEALL)]
    for k, each in enumerate(forces):
        marker = Marker(type=Marker.ARROW, ns='contacts', id=k)
        marker.points = [Point(**dict(zip('xyz', end.tolist()))) for end in (
            each.point, each.point + PER_NEWTON * each.force)]
        marker.scale.x, marker.scale.y, marker.scale.z = 0.01, 0.02, 0.02
        marker.color.r, marker.color.g, marker.color.a = 0.9, 0.3, 1.0
        markers.append(marker)
    for marker in markers:
        marker.header.frame_id = frame
    return MarkerArray(markers=markers)


def scene_marker(obstacle: Obstacle, frame: str, number: int) -> Marker:
    """Return an obstacle as a marker; a half-space as a large flat plate."""
    shape, R, p = obstacle.placed
    marker = Marker(type=Marker.CUBE, ns='scene', id=number)
    marker.header.frame_id = frame
    if isinstance(shape, Box):
        size, middle = shape.size, p
    else:
        size, middle = (FLOOR, FLOOR, 0.02), p - 0.01 * R[:, 2]
    marker.scale.x, marker.scale.y, marker.scale.z = size
    o = marker.pose.orientation
    o.x, o.y, o.z, o.w = from_rotation(Mat3(tuple(map(tuple, R.T.tolist()))))
    at = marker.pose.position
    at.x, at.y, at.z = middle.tolist()
    marker.color.r = marker.color.g = marker.color.b = 0.6
    marker.color.a = 0.8
    return marker
