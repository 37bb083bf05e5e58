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
"""
The process of the dashboard.

It is apart from the controller: it may die or stall without any effect on the torque loop. It
listens at 127.0.0.1 unless told otherwise, and sends nothing unless ``allow_commands`` is true.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from rbd_ros.control.robot import last_frame
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.nodes.dashboard.operator import Operator
from rbd_ros.nodes.dashboard.page import Page
from rbd_ros.nodes.dashboard.telemetry import LATCHED, Telemetry
from rbd_ros.nodes.description import description_text
from rbd_ros.nodes.ending import Ending
from rbd_ros.nodes.executors import make_executor, spin_in_thread
from rbd_ros.nodes.process_start import initialise
from rbd_ros.view.scene import start_server
from rcl_interfaces.msg import ParameterDescriptor
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

__all__ = ['Dashboard', 'main']

PERIOD = 0.04  # s between two pictures
WAIT = 60.0  # s for a description

PARAMETERS: dict[str, tuple[Any, str]] = {
    'host': ('127.0.0.1', 'Address to listen at. With 0.0.0.0 every machine in the network can '
                          'open the page, and drive the robot if allow_commands is true.'),
    'port': (8080, 'Port of the page, or the next one above that is free.'),
    'allow_commands': (False, 'Whether the page may send anything.'),
    'robot_description': ('', 'URDF text. If empty, robot_description_file.'),
    'robot_description_file': ('', 'URDF or xacro file. If empty, the topic robot_description.'),
    'controller': ('controller', 'Name of the controller.'),
    'simulator': ('simulator', 'Name of the simulator.'),
    'joints': (Parameter.Type.STRING_ARRAY, 'Joints in the order of the commands. Default: all.'),
    'frame': ('', 'Controlled frame. If empty, the last frame of the chain.'),
}


class Dashboard(Node):
    """The node: parameters, subscriptions, clients, and the page."""

    def __init__(self) -> None:
        """Declare the parameters and listen for a description."""
        super().__init__('dashboard')
        for name, (value, text) in PARAMETERS.items():
            self.declare_parameter(
                name, value, ParameterDescriptor(description=text, read_only=True))
        self._text = ''
        self.create_subscription(String, 'robot_description', self._on_description, LATCHED)

    def open(self) -> Page:
        """
        Open the page; the node must spin meanwhile, for the description may come by a topic.

        :raises RbdError: for a robot that cannot be read, or if viser is missing.
        """
        urdf = self._description()
        model = load_urdf(urdf)
        joints = tuple(self._value('joints') or model.independent_joint_names)
        frame = self._value('frame') or last_frame(model, joints)
        model.frame(frame)
        controller = self._value('controller')
        telemetry = Telemetry(self, controller)
        operator = Operator(self, controller, self._value('simulator'),
                            allowed=self._value('allow_commands'))
        host = self._value('host')
        server = start_server(host, self._value('port'))
        page = Page(server, model, urdf, frame, joints, telemetry, operator)
        watches = '' if operator.allowed else ' (it watches only: allow_commands is false)'
        self.get_logger().info(f'open http://{host}:{server.get_port()} in a browser{watches}')
        return page

    def _value(self, name: str) -> Any:
        return self.get_parameter_or(name).value

    def _on_description(self, message: String) -> None:
        self._text = self._text or message.data

    def _description(self) -> str:
        text, file = self._value('robot_description'), self._value('robot_description_file')
        if text or file:
            return description_text(text, file)
        end = time.monotonic() + WAIT
        while not self._text:
            if time.monotonic() > end:
                raise SettingError(
                    f'nobody has published robot_description for {WAIT:g} s: start the robot, or '
                    'name its file with -p robot_description_file:=my_robot.urdf')
            time.sleep(0.05)
        return self._text


def main(args: list[str] | None = None) -> int:
    """
    Serve the page until the process is interrupted.

    :returns: 0 after a clean end, 1 if it did not start or failed.
    """
    end = Ending()
    # A process that is killed can leave shared memory locked, and its partners waiting; the
    # loopback device has no lock.
    os.environ.setdefault('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    try:
        initialise(args)
        node = Dashboard()
        executor = make_executor('single')
        executor.add_node(node)
        spin_in_thread(executor, 'dashboard', end.fail)
        page = node.open()
        while not end.wait(PERIOD):
            page.update()
        executor.shutdown(timeout_sec=1.0)
    except KeyboardInterrupt:
        pass
    except RbdError as error:
        end.failure = str(error)
    if end.failure:
        rclpy.logging.get_logger('dashboard').fatal(end.failure)
    rclpy.try_shutdown()
    return 1 if end.failure else 0


if __name__ == '__main__':
    sys.exit(main())
