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

"""The simulator node: joint torques in, joint states out."""

from __future__ import annotations

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray


class Simulator(Node):
    """Move one joint of unit inertia by the commanded torque and report its state."""

    def __init__(self) -> None:
        super().__init__('simulator')
        rate = float(self.declare_parameter('rate', 100.0).value)  # Hz
        self._joint = str(self.declare_parameter('joint', 'joint1').value)
        self._step = 1.0 / rate
        self._position, self._velocity, self._torque = 1.0, 0.0, 0.0
        self._states = self.create_publisher(JointState, 'joint_states', 10)
        self.create_subscription(
            Float64MultiArray, 'controller/commands', self._on_command, 10)
        self.create_timer(self._step, self._advance)

    def _on_command(self, command: Float64MultiArray) -> None:
        if command.data:
            self._torque = command.data[0]

    def _advance(self) -> None:
        self._velocity += self._step * self._torque
        self._position += self._step * self._velocity
        state = JointState(name=[self._joint], position=[self._position],
                           velocity=[self._velocity], effort=[self._torque])
        state.header.stamp = self.get_clock().now().to_msg()
        self._states.publish(state)


def main(args: list[str] | None = None) -> None:
    """Run the simulator until it is interrupted."""
    rclpy.init(args=args)
    try:
        rclpy.spin(Simulator())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
