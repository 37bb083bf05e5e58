# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The process of the dashboard.

It is separate from the controller: it may die or stall without any effect on the torque loop. It
listens on 127.0.0.1 by default, and sends nothing unless ``allow_commands`` is true.
"""

from __future__ import annotations

import math
from pathlib import Path
import re
import secrets
import sys
import time
from typing import Any

import numpy as np
from rbd_ros.errors import RbdError
from rbd_ros.nodes.dashboard.pose_file import state_folder
from rbd_ros.nodes.dashboard.robot_beside import RobotBeside
from rbd_ros.nodes.dashboard.robot_tab import RobotTab
from rbd_ros.nodes.executors import kind_that_works, make_executor, spin_in_thread
from rbd_ros.nodes.parameters import declare_fixed
from rbd_ros.nodes.process_end import ProcessEnd
from rbd_ros.nodes.process_start import initialise
from rbd_ros.view.scene import add_floor, VIEW_DIRECTION
from rbd_ros.view.server import start_server, stop_server
from rbd_ros.view.server_part import ServerPart
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

__all__ = ['Dashboard', 'main']

PERIOD = 0.04  # s from one picture to the next
SHORTEST = 0.01  # s of rest after a picture: what is late leaves other threads their time

PARAMETERS: dict[str, tuple[Any, str]] = {
    'host': ('127.0.0.1', 'Address to listen on. With 0.0.0.0 every machine in the network can '
                          'open the page, and drive the robot if allow_commands is true.'),
    'port': (8080, 'Port of the page; if it is taken, the next free one.'),
    'allow_commands': (False, 'Whether the page may send anything.'),
    'token': ('', 'Secret needed to open a page with commands. Everybody on the ROS network can '
                  'read this parameter: use token_file. If both are empty, a new one at each '
                  'start, which is printed where the dashboard was started.'),
    'token_file': ('', 'File with the token, which only its owner may read.'),
    'allowed_hosts': (
        Parameter.Type.STRING_ARRAY, 'Host names under which the page may be opened, '
        'besides localhost and numeric addresses.'),
    'robot_description': ('', 'URDF text. If empty, robot_description_file.'),
    'robot_description_file': ('', 'URDF or xacro file. If empty, the topic robot_description.'),
    'controller': ('controller', 'Name of the controller.'),
    'simulator': ('simulator', 'Name of the simulator.'),
    'joints': (Parameter.Type.STRING_ARRAY, 'Joints in the order of the commands. Default: all.'),
    'frame': ('', 'Controlled frame, unless task.frame of the controller names one. If empty, '
                  'the last frame of the chain.'),
    'robots': (Parameter.Type.STRING_ARRAY, 'Namespaces of robots to show side by side, each with '
               'a tab. Default: one robot, in the namespace of this node.'),
    'spacing': (1.5, 'Distance between robots shown side by side, m. 0: where their descriptions '
                     'place them.'),
}
OF_ONE_ROBOT = 'robot_description', 'robot_description_file', 'joints', 'frame'
NAMESPACE = re.compile('/?[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)*')
#: Of several robots: by how much further away the camera is for each one more, where it looks,
#: and the width of the floor around them, m.
FURTHER, LOOK, FLOOR = 0.4, (0.0, 0.0, 0.3), 2


class Dashboard(Node):
    """The node: parameters, and the page of each robot as soon as that is known."""

    def __init__(self) -> None:
        """
        Declare the parameters and listen for descriptions.

        :raises RbdError: for a value of another type, and for robots that cannot be told apart.
        """
        super().__init__('dashboard')
        declare_fixed(self, PARAMETERS)
        self._namespaces = tuple(self._value('robots') or ('',))
        if self._namespaces != ('',) and not all(map(NAMESPACE.fullmatch, self._namespaces)):
            raise RbdError('parameter robots: namespaces, such as [left, right]')
        if len(self._namespaces) > 1:
            if len({_word(each) for each in self._namespaces}) < len(self._namespaces):
                raise RbdError('parameter robots: each namespace once')
            for name in OF_ONE_ROBOT:  # it would hold for the limits of the others, too
                if self._value(name):
                    raise RbdError(f'parameter robots: {name} belongs to one robot; leave it out, '
                                   'each namespace has its own')
        self.tabs = [RobotTab(self, self._value, each) for each in self._namespaces]
        #: What takes another robot; None: this page takes none.
        self.beside: RobotBeside | None = None

    @property
    def problem(self) -> str:
        """Return what is wrong with the robots; empty: nothing."""
        return '; '.join(filter(None, (tab.problem for tab in self.tabs)))

    def open(self) -> None:
        """
        Serve the page, which says what it waits for.

        :raises RbdError: if viser is missing.
        """
        token = ''
        if self._value('allow_commands'):
            token = self._token() or secrets.token_urlsafe(16)
            if not re.fullmatch(r'[A-Za-z0-9_-]+', token):
                raise RbdError('the token has letters, digits, - and _ only')
        self._server = start_server(self._value('host'), self._value('port'), token=token,
                                    names=self._value('allowed_hosts') or ())
        if len(self.tabs) == 1:
            self.tabs[0].open(self._server)
        else:
            self._open_tabs()
        port = self._server.get_port()
        if self._value('allow_commands'):
            self.beside = RobotBeside(self, self._server, self.tabs,
                                      state_folder('dropped') / str(port))
        if port != self._value('port'):
            self.get_logger().warning(
                f'port {self._value("port")} is in use by another program: the page is on {port}')
        everywhere = self._value('host') in ('0.0.0.0', '::')  # it is no address to open
        address = '127.0.0.1' if everywhere else self._value('host')
        page = f'http://{address}:{port}'
        there = '; on another machine with the address of this one' if everywhere else ''
        if token:
            # Not to the log: everybody hears /rosout, and its files can be read by everybody.
            print(f'open {page}/?token={token} in a browser{there}', flush=True)
            self.get_logger().info(f'the page is {page}; its token is printed only where the '
                                   'dashboard was started')
        else:
            self.get_logger().info(
                f'open {page} in a browser (view only: allow_commands is false){there}')

    def _token(self) -> str:
        """
        Return the token that was given, empty: none.

        :raises RbdError: for a file that cannot be read, or that others may read.
        """
        file = self._value('token_file')
        if not file:
            return str(self._value('token'))
        try:
            path = Path(file).expanduser()
            if path.stat().st_mode & 0o077:
                raise RbdError(f'token_file "{file}" may be read by others: chmod 600 {path}')
            return path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise RbdError(f'token_file "{file}" cannot be read: {error}') from error

    def _open_tabs(self) -> None:
        """Give each robot a tab of the panel, and a place in the scene beside the others."""
        count, spacing = len(self.tabs), self._value('spacing')
        group = self._server.gui.add_tab_group()
        for k, (tab, name) in enumerate(zip(self.tabs, self._namespaces, strict=True)):
            place = (0.0, spacing * (0.5 * (count - 1) - k), 0.0)  # the first one at +y
            tab.open(ServerPart(self._server, _word(name), place), group.add_tab(name))
        add_floor(self._server.scene, FLOOR + math.ceil(spacing * count))
        eye = np.array(VIEW_DIRECTION) * (1.0 + FURTHER * (count - 1))
        self._server.initial_camera.position = tuple(eye.tolist())
        self._server.initial_camera.look_at = LOOK

    def update(self) -> None:
        """Show the present, or what is missing; to be called some 25 times per second."""
        for tab in self.tabs:
            tab.update()
        if self.beside is not None:
            self.beside.update()

    def close(self) -> None:
        """End the server, and what was started beside the robot."""
        if self.beside is not None:
            self.beside.close()
        stop_server(self._server)

    def _value(self, name: str) -> Any:
        return self.get_parameter_or(name).value


def _word(namespace: str) -> str:
    """Return a namespace as one word, for paths in the scene."""
    return namespace.strip('/').replace('/', '.')


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
        thread = spin_in_thread(executor, 'dashboard', end.fail)
        node.open()
        due = time.monotonic() + PERIOD
        while not end.wait(due - time.monotonic()):
            node.update()
            due = max(due + PERIOD, time.monotonic() + SHORTEST)
        end.close()
        executor.shutdown(timeout_sec=1.0)
        end.failure = end.failure or node.problem
        node.close()
        thread.join(1.0)
        if not thread.is_alive():
            node.destroy_node()
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
