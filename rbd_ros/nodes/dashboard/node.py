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

It is separate from the controller: it may die or stall without any effect on the torque loop. It
listens on 127.0.0.1 by default, and sends nothing unless ``allow_commands`` is true.
"""

from __future__ import annotations

import re
import secrets
import sys
import time
from typing import Any

from rbd_ros.control.robot import last_frame
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.operator import Operator
from rbd_ros.nodes.dashboard.page import Page
from rbd_ros.nodes.dashboard.settings import Settings
from rbd_ros.nodes.dashboard.telemetry import LATCHED, Telemetry
from rbd_ros.nodes.description import description_text
from rbd_ros.nodes.executors import kind_that_works, make_executor, spin_in_thread
from rbd_ros.nodes.process_end import ProcessEnd
from rbd_ros.nodes.process_start import initialise
from rbd_ros.view.server import start_server, stop_server
from rcl_interfaces.msg import ParameterDescriptor
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

__all__ = ['Dashboard', 'main']

PERIOD = 0.04  # s between two pictures
DESCRIPTION_TIMEOUT = 5.0  # s after which the page says that there is no description

PARAMETERS: dict[str, tuple[Any, str]] = {
    'host': ('127.0.0.1', 'Address to listen at. With 0.0.0.0 every machine in the network can '
                          'open the page, and drive the robot if allow_commands is true.'),
    'port': (8080, 'Port of the page, or the next one above that is free.'),
    'allow_commands': (False, 'Whether the page may send anything.'),
    'token': ('', 'What whoever opens a page with commands has to know. If empty, a new one at '
                  'each start; the log has it.'),
    'allowed_hosts': (Parameter.Type.STRING_ARRAY, 'Host names by which the page may be opened, '
                      'besides localhost and addresses in numbers.'),
    'robot_description': ('', 'URDF text. If empty, robot_description_file.'),
    'robot_description_file': ('', 'URDF or xacro file. If empty, the topic robot_description.'),
    'controller': ('controller', 'Name of the controller.'),
    'simulator': ('simulator', 'Name of the simulator.'),
    'joints': (Parameter.Type.STRING_ARRAY, 'Joints in the order of the commands. Default: all.'),
    'frame': ('', 'Controlled frame. If empty, the last frame of the chain.'),
}
MISSING = ('**No robot yet.** Nobody has published robot_description: start the robot, or name '
           'its file with `-p robot_description_file:=my_robot.urdf`.')


class Dashboard(Node):
    """The node: parameters, and the page as soon as the robot is known."""

    def __init__(self) -> None:
        """Declare the parameters and listen for a description."""
        super().__init__('dashboard')
        for name, (value, text) in PARAMETERS.items():
            self.declare_parameter(
                name, value, ParameterDescriptor(description=text, read_only=True))
        #: What is wrong with the robot; empty: nothing.
        self.problem = ''
        self._received, self._tried = '', False
        self._page: Page | None = None
        self._begin = time.monotonic()
        self.create_subscription(String, 'robot_description', self._on_description, LATCHED)

    def open(self) -> None:
        """
        Serve the page, which says what it waits for.

        :raises RbdError: if viser is missing.
        """
        token = ''
        if self._value('allow_commands'):
            token = self._value('token') or secrets.token_urlsafe(16)
            if not re.fullmatch(r'[A-Za-z0-9_-]+', token):
                raise RbdError('parameter token: letters, digits, - and _ only')
        self._server = start_server(self._value('host'), self._value('port'), token=token,
                                    names=self._value('allowed_hosts') or ())
        self._notice = self._server.gui.add_markdown('Waiting for the robot')
        self.get_logger().info(
            f'open http://{self._value("host")}:{self._server.get_port()}'
            + (f'/?token={token} in a browser' if token
               else ' in a browser (view only: allow_commands is false)'))

    def update(self) -> None:
        """Show the present, or what is missing; to be called some 25 times per second."""
        if self._page is not None:
            self._page.update()
        elif not self._tried:
            try:
                text = self._description()
                self._tried = bool(text)
                if text:
                    self._page = self._make(text)
                    self._notice.visible = False  # removed, it would leave an update behind
                elif time.monotonic() > self._begin + DESCRIPTION_TIMEOUT:
                    self._notice.content = MISSING
            except RbdError as error:
                self._tried, self.problem = True, str(error)
                self.get_logger().error(self.problem)
                self._notice.content = f'**The robot cannot be shown.** {self.problem}'

    def close(self) -> None:
        """End the server."""
        stop_server(self._server)

    def _make(self, urdf: str) -> Page:
        """
        Return the page of a robot.

        :param urdf: text of its description.
        :raises RbdError: for a robot that cannot be read.
        """
        model = load_urdf(urdf, limits_optional=True)
        joints = tuple(self._value('joints') or model.independent_joint_names)
        frame = self._value('frame') or last_frame(model, joints)
        model.frame(frame)
        controller, simulator = self._value('controller'), self._value('simulator')
        telemetry = Telemetry(self, controller, simulator)
        operator = Operator(self, controller, simulator, allowed=self._value('allow_commands'))
        file = self._value('robot_description_file')
        settings = Settings(self, controller)
        return Page(self._server, model, urdf, frame, joints, telemetry, operator, settings,
                    find_resource(file) if file else None)

    def _description(self) -> str:
        """Return the text of the robot, empty while there is none."""
        text, file = self._value('robot_description'), self._value('robot_description_file')
        return description_text(text, file) if text or file else self._received

    def _value(self, name: str) -> Any:
        return self.get_parameter_or(name).value

    def _on_description(self, message: String) -> None:
        """Take a robot; a new one only in the place of one that could not be shown."""
        if self._page is None and message.data != self._received:
            self._received, self._tried, self.problem = message.data, False, ''


def main(args: list[str] | None = None) -> int:
    """
    Serve the page until the process is interrupted.

    :returns: 0 after a clean end, 1 if it did not start, failed or could not show the robot.
    """
    end = ProcessEnd()
    try:
        end.start()
        initialise(args)
        node = Dashboard()
        # states come at the rate of the loop
        executor = make_executor(kind_that_works('events', node))
        executor.add_node(node)
        spin_in_thread(executor, 'dashboard', end.fail)
        node.open()
        while not end.wait(PERIOD):
            node.update()
        end.close()
        executor.shutdown(timeout_sec=1.0)
        end.failure = end.failure or node.problem
        node.close()
    except KeyboardInterrupt:
        end.close()
    except RbdError as error:
        end.failure = str(error)
    if end.failure:
        rclpy.logging.get_logger('dashboard').fatal(end.failure)
    rclpy.try_shutdown()
    return 1 if end.failure else 0


if __name__ == '__main__':
    sys.exit(main())
