# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Computed torque as a plain rclpy node with Pinocchio: what a careful user writes in an hour.

It holds the first state that it sees, which is the law of the controller in computed-torque
mode with a set-point that stands still.
"""

from __future__ import annotations

import argparse

from benchmark.node.arm import DAMPING, JOINTS, STIFFNESS, URDF
from benchmark.node.qos import COMMANDS, STATES
import numpy as np
import pinocchio as pin
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray


class ComputedTorque(Node):
    """Answer each joint state with H(q)(Kp e + Kd e') + C(q, qd)."""

    def __init__(self, stamped: bool = False) -> None:
        """
        Connect.

        :param stamped: publish commands that carry names and the stamp of their state.
        """
        super().__init__('controller')
        self.model = pin.buildModelFromUrdf(str(URDF))
        self.data = self.model.createData()
        self.limit = self.model.effortLimit
        self.reference = None
        self.command = JointState(name=JOINTS) if stamped else Float64MultiArray()
        self.publisher = self.create_publisher(type(self.command), '~/commands', COMMANDS)
        self.create_subscription(JointState, 'joint_states', self.on_state, STATES)

    def on_state(self, state: JointState) -> None:
        """Compute and publish the torques of one state."""
        index = {name: i for i, name in enumerate(state.name)}
        order = [index[name] for name in JOINTS]
        q = np.array(state.position)[order]
        v = np.array(state.velocity)[order]
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            self.get_logger().warning('joint state is not finite', throttle_duration_sec=1.0)
            return
        if self.reference is None:
            self.reference = q
        a = STIFFNESS * (self.reference - q) - DAMPING * v
        tau = pin.rnea(self.model, self.data, q, v, a)
        tau = np.clip(tau, -self.limit, self.limit)
        if isinstance(self.command, JointState):
            self.command.header.stamp, self.command.effort = state.header.stamp, tau.tolist()
        else:
            self.command.data = tau.tolist()
        self.publisher.publish(self.command)


def main() -> None:
    """Control until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--output', choices=('array', 'joint_state'), default='array')
    options = parser.parse_args()
    rclpy.init(args=[])
    executor = SingleThreadedExecutor()
    executor.add_node(ComputedTorque(options.output == 'joint_state'))
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
