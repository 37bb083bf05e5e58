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

"""The controller node: joint states in, joint torques out."""

from __future__ import annotations

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

STATES = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


class Controller(Node):
    """Answer each joint state with torques that pull the joints to zero and damp them."""

    def __init__(self) -> None:
        super().__init__('controller')
        self._stiffness = float(self.declare_parameter('stiffness', 20.0).value)  # N.m/rad
        self._damping = float(self.declare_parameter('damping', 4.0).value)  # N.m.s/rad
        self._commands = self.create_publisher(Float64MultiArray, '~/commands', 10)
        self.create_subscription(JointState, 'joint_states', self._on_state, STATES)

    def _on_state(self, state: JointState) -> None:
        if len(state.velocity) != len(state.position):
            self.get_logger().warning(
                'joint_states without velocities is ignored', throttle_duration_sec=5.0)
            return
        torques = [-self._stiffness * q - self._damping * qd
                   for q, qd in zip(state.position, state.velocity, strict=True)]
        self._commands.publish(Float64MultiArray(data=torques))


def main(args: list[str] | None = None) -> None:
    """Run the controller until it is interrupted."""
    rclpy.init(args=args)
    try:
        rclpy.spin(Controller())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
