# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Where the simulated robot is, as messages: transforms of all links, and a floating base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nav_msgs.msg import Odometry
from rbd_ros.nodes.simulator.messages import time_message, transforms
from rbd_ros.nodes.simulator.wire import BaseWriter
from rbd_ros.sim.floating import base_body
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

if TYPE_CHECKING:
    from builtin_interfaces.msg import Time
    from rbd_ros.compiler import Array
    from rbd_ros.model.model import Model
    from rbd_ros.sim import Frames, Sample, SimulatedRobot
    from rclpy.node import Node

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class TransformReports:
    """
    Publish the poses of all links.

    :param node: that publishes.
    :param every: states between two reports.
    :param now: stamp of the fixed ones.
    """

    def __init__(
        self, node: Node, robot: SimulatedRobot, frames: Frames, every: int, now: Time,
    ) -> None:
        self._robot, self._frames, self._every, self._count = robot, frames, every, 0
        self._moving = node.create_publisher(TFMessage, '/tf', 10)
        self._fixed = node.create_publisher(TFMessage, '/tf_static', LATCHED)
        self._fixed.publish(transforms(frames.fixed(), now))

    def report(self, stamp_ns: int) -> None:
        """Publish the poses of the last step, if it is their turn."""
        self._count += 1
        if self._count % self._every == 0:
            self.send(stamp_ns, self._robot.q, self._robot.time)

    def send(self, stamp_ns: int, q: Array, t: float) -> None:
        """
        Publish poses.

        :param stamp_ns: of them.
        :param q: position of the robot.
        :param t: its time, s.
        """
        self._moving.publish(transforms(self._frames.moving(q, t), time_message(stamp_ns)))


class BaseReports:
    """
    Publish pose and velocity of a floating base as they are, with each state.

    :param node: that publishes.
    """

    def __init__(self, node: Node, model: Model) -> None:
        self._writer = BaseWriter(model.body_names[0], model.body_names[base_body(model)])
        self._publisher = node.create_publisher(Odometry, '~/odometry', 10)

    def report(self, stamp_ns: int, sample: Sample) -> None:
        """Publish the base of a reading."""
        self._publisher.publish(self._writer.write(stamp_ns, sample))
