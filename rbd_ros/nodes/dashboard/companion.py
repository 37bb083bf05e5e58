# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A robot that was brought by a file and is simulated: its processes, its node and its panel.

It has a namespace that nobody else uses, and says nothing outside of it. What it is told goes
through a node of its own, which knows no remapping of the dashboard: no topic of another robot
can be reached.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TYPE_CHECKING

from rbd_ros.nodes.dashboard.child_launch import ChildLaunch
from rbd_ros.nodes.dashboard.robot_tab import RobotTab
from rbd_ros.nodes.executors import kind_that_works, make_executor, spin_in_thread
from rbd_ros.nodes.shared_topics import SHARED
from rbd_ros.view.server_part import ServerPart
from rclpy.node import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ['Companion', 'free_namespace', 'own_node']

NAME = 'dropped'
LEFT, TOP, WIDTH = 15, 15, 320  # pixels: place and width of the panel
LONGEST_TITLE = 30  # characters
END_PATIENCE = 4.0  # s to wait for its processes when the dashboard ends


class Companion:
    """
    Start a simulator and a controller, and show them; only in the main thread.

    :param server: of the page.
    :param node: of the dashboard.
    :param urdf: text of the description.
    :param title: of the panel.
    :param place: where the robot stands in the world, m.
    :param folder: gets the description and the log; each start writes them anew.
    :raises RbdError: if the processes cannot be started.
    :raises OSError: if the files cannot be written.
    """

    def __init__(self, server: Any, node: Node, urdf: str, title: str,
                 place: Sequence[float], folder: Path) -> None:
        self.namespace = free_namespace(node)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / 'robot.urdf'
        file.write_text(urdf, encoding='utf-8')
        self.child = ChildLaunch(['rbd_ros', 'beside.launch.py', f'namespace:={self.namespace}',
                                  f'urdf:={file}'], folder / 'log')
        self._node = own_node(node, self.namespace)
        self._executor = make_executor(kind_that_works('events', self._node))
        self._executor.add_node(self._node)
        spin_in_thread(self._executor, self.namespace, self._node.get_logger().warning)
        values = {'robot_description': urdf, 'controller': 'controller', 'simulator': 'simulator',
                  'allow_commands': True}
        # what is kept of it is not mixed up with files of a robot that may have the same name
        self.robot = RobotTab(self._node, values.get, kept=lambda kind: folder / kind)
        self._part = ServerPart(server, self.namespace, place)
        self._panel = server.gui.add_panel()
        self._panel.float(x=LEFT, y=TOP, width=WIDTH)
        self.robot.open(self._part, self._panel.add_tab(title[:LONGEST_TITLE] or NAME))

    def update(self) -> None:
        """Show the present; to be called some 25 times per second."""
        self.robot.update()

    def leave(self) -> None:
        """Take it off the page, and tell its processes to end."""
        self.child.interrupt()
        self.robot.close()
        self._panel.remove()
        self._part.remove()
        self._executor.shutdown(timeout_sec=1.0)
        self._node.destroy_node()

    def end(self) -> None:
        """Wait for the end of its processes."""
        self.child.end(END_PATIENCE)


def own_node(node: Node, namespace: str) -> Node:
    """
    Return a node for a robot that has nothing to do with the one of the dashboard.

    :param node: of the dashboard; the names that it was given hold for its robot alone.
    :param namespace: of the new one.
    """
    return Node('dashboard', namespace=namespace, context=node.context,
                use_global_arguments=False, start_parameter_services=False,
                cli_args=['--ros-args', *(word for name in SHARED
                                          for word in ('-r', f'/{name}:={name}'))])


def free_namespace(node: Node) -> str:
    """Return a namespace in which nobody is heard of."""
    used = {each.strip('/').partition('/')[0] for _, each in node.get_node_names_and_namespaces()}
    used |= {topic.strip('/').partition('/')[0] for topic, _ in node.get_topic_names_and_types()}
    names = (NAME, *(f'{NAME}_{k}' for k in range(2, len(used) + 3)))
    return next(name for name in names if name not in used)
