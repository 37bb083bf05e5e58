# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
``ros2 run rbd_ros stand``: keeps a simulated robot with a floating base on its feet.

The controller is for robots that stand fixed. This node takes the place of it where the base
moves: it knows the pose of the base, from ``~/odometry`` of the simulator, and answers each joint
state with the torques of :class:`rbd_ros.sim.stance.Stance`.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Odometry
import numpy as np
from rbd_ros.errors import SettingError
from rbd_ros.model.urdf import load_urdf
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.description import description_text
from rbd_ros.nodes.diagnostic_names import BALANCE
from rbd_ros.nodes.one_node import run_until_interrupted
from rbd_ros.nodes.parameters import declare_fixed
from rbd_ros.sim import read_balls
from rbd_ros.sim.stance import Stance
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState

__all__ = ['main', 'Stand']

LOWEST_RATE, HIGHEST_RATE = 10.0, 10000.0  # Hz
#: Default and meaning of each parameter.
PARAMETERS: dict[str, tuple[Any, str]] = {
    'robot_description_file': ('', 'URDF of a robot with a floating base.'),
    'scene_file': ('', 'File with its feet, as for the simulator.'),
    'rate': (500.0, 'Rate of the joint states, Hz.')}
#: rad between the up of the world and that of the trunk from which on the robot has fallen
FALLEN = 1.0
DEPTH = 10  # messages that wait
REPORT_PERIOD = 0.5  # s between two diagnostics


class Stand(Node):
    """
    Answer joint states with torques.

    :raises RbdError: for a description or a scene that cannot be used.
    """

    def __init__(self) -> None:
        super().__init__('stand')
        declare_fixed(self, PARAMETERS)
        file, scene, rate = (self.get_parameter(name).value for name in PARAMETERS)
        if not file or not scene:
            raise SettingError('robot_description_file and scene_file must be given; '
                               'config/legged has examples')
        if not LOWEST_RATE <= rate <= HIGHEST_RATE:
            raise SettingError(f'parameter rate must be {LOWEST_RATE:g} to {HIGHEST_RATE:g} Hz, '
                               f'got {rate:g}')
        model = load_urdf(description_text('', file), floating_base=True,
                          on_warning=lambda text: None)
        feet = read_balls(find_resource(scene).read_text(), model, scene)
        self._stance = Stance(model, feet or (), 1.0 / rate)
        self._names = model.independent_joint_names[1:]
        self._order: list[int] = []  # of the joints in the states
        self._base: Odometry | None = None
        self._upright, self._answered = True, False
        self._commands = self.create_publisher(JointState, 'controller/commands', DEPTH)
        self.create_subscription(Odometry, 'simulator/odometry', self._on_base, DEPTH)
        self.create_subscription(JointState, 'joint_states', self._on_state, DEPTH)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 1)
        self.create_timer(REPORT_PERIOD, self._report,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))
        links = ', '.join(dict.fromkeys(ball.link for ball in feet or ()))
        self.get_logger().info(f'keeps "{model.name}" on its feet ({links}); waits for joint '
                               'states and for the odometry of the simulator')

    def _on_base(self, message: Odometry) -> None:
        """Keep the base: it comes before the joint state of the same time."""
        self._base = message

    def _on_state(self, message: JointState) -> None:
        """Answer a state that belongs to the base that is known."""
        base = self._base
        if base is None or base.header.stamp != message.header.stamp:
            return
        if not self._order:
            self._order = [message.name.index(name) for name in self._names]
        p, r = base.pose.pose.position, base.pose.pose.orientation
        w, u = base.twist.twist.angular, base.twist.twist.linear
        if not self._stands(r.x, r.y):
            return
        q = np.array([p.x, p.y, p.z, r.x, r.y, r.z, r.w,
                      *(message.position[i] for i in self._order)])
        v = np.array([w.x, w.y, w.z, u.x, u.y, u.z, *(message.velocity[i] for i in self._order)])
        torques = self._stance.torques(q, v)
        self._commands.publish(JointState(header=message.header, name=self._names,
                                          effort=torques.tolist()))

        self._answered = True

    def _report(self) -> None:
        """Say how the robot stands."""
        if not self._upright:
            level, text = DiagnosticStatus.ERROR, 'the robot has fallen: reset the simulator'
        elif not self._answered:
            level, text = DiagnosticStatus.WARN, 'no joint states with a pose of the base'
        else:
            level, text = DiagnosticStatus.OK, 'stands'
        self._answered = False
        status = DiagnosticStatus(level=level, message=text,
                                  name=f'{self.get_fully_qualified_name().strip("/")}: {BALANCE}')
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def _stands(self, x: float, y: float) -> bool:
        """Return whether the trunk is upright; nothing is sent to a robot that has fallen."""
        upright = 1.0 - 2.0 * (x * x + y * y) > math.cos(FALLEN)  # cosine of the tilt
        if upright != self._upright:
            self._upright = upright
            if upright:
                self._stance.forget()
                self.get_logger().info('the robot is upright again: its current posture is kept')
            else:
                self.get_logger().error(
                    f'the robot has fallen: its trunk leans by more than {FALLEN:g} rad. Nothing '
                    'is sent any more; ~/reset of the simulator puts it back on its feet')
        return upright


def main(args: list[str] | None = None) -> int:
    """
    Run until the process is interrupted.

    :returns: 0 after a clean end, 1 if it did not start or failed.
    """
    return run_until_interrupted('stand', lambda fail: Stand(), args)


if __name__ == '__main__':
    sys.exit(main())
