# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One robot of the dashboard, from its namespace to its part of the page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
import time
from typing import Any, TYPE_CHECKING

from rbd_ros.control.robot import last_frame
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.operator import Operator
from rbd_ros.nodes.dashboard.page import Page
from rbd_ros.nodes.dashboard.pose_file import state_folder
from rbd_ros.nodes.dashboard.settings import Settings
from rbd_ros.nodes.dashboard.telemetry import LATCHED, Telemetry
from rbd_ros.nodes.description import description_text
from rbd_ros.quoting import markdown_text
from std_msgs.msg import String

if TYPE_CHECKING:
    from pathlib import Path

    from rclpy.node import Node

__all__ = ['RobotTab']

DESCRIPTION_TIMEOUT = 5.0  # s after which the page says that there is no description
MISSING = ('**No robot yet.** Nobody has published {}: start the robot, or name its file with '
           '`-p robot_description_file:=my_robot.urdf`.')
ANOTHER = ('**Another robot description was published.** The page still shows the first one; '
           'start the dashboard again to show the new one.')


class RobotTab:
    """
    What waits for a description, and then is the page of that robot.

    :param node: gives subscriptions.
    :param value: returns a parameter by its name.
    :param namespace: of controller, simulator and topics; empty: that of the node.
    :param kept: returns the folder of a kind of files, as poses and lessons.
    """

    def __init__(self, node: Node, value: Callable[[str], Any], namespace: str = '',
                 kept: Callable[[str], Path] = state_folder) -> None:
        self._node, self._value, self._namespace = node, value, namespace
        self._kept = kept
        #: What is wrong with the robot; empty: nothing.
        self.problem = ''
        self.page: Page | None = None
        self._received = ''  # the newest text on the topic
        self._tried: str | None = None  # that of which a page was made, or could not be made
        self._begin = time.monotonic()
        self._topic = self._name('robot_description')
        node.create_subscription(String, self._topic, self._on_description, LATCHED)

    def open(self, server: Any, tab: Any = None) -> None:
        """
        Say that a robot is awaited.

        :param server: or a part of one.
        :param tab: of the panel; None: the robot has it for itself.
        """
        self._server, self._room = server, nullcontext() if tab is None else tab
        with self._room:
            self._notice = server.gui.add_markdown('Waiting for the robot')

    def update(self) -> None:
        """Show the present, or what is missing; to be called some 25 times per second."""
        if self.page is not None:
            self.page.update()
            self._tell_of_another()
            return
        heard = self._received  # once: the next one may come while a page is made
        if heard == self._tried:
            return
        try:
            self._tried = heard
            text = self._description(heard)
            if text:
                with self._room:
                    self.page = self._make(text)
                self.problem = ''
                self._notice.visible = False  # removed, it would leave an update behind
            else:
                self._tried = None
                if time.monotonic() > self._begin + DESCRIPTION_TIMEOUT:
                    self._notice.content = MISSING.format(self._topic)
        except RbdError as error:
            self.problem = str(error)
            self._node.get_logger().error(self.problem)
            self._notice.content = f'**The robot cannot be shown.** {markdown_text(self.problem)}'

    def close(self) -> None:
        """End what was begun on the page."""
        if self.page is not None:
            self.page.close()

    def _make(self, urdf: str) -> Page:
        """
        Return the page of a robot.

        :param urdf: text of its description.
        :raises RbdError: for a robot that cannot be read.
        """
        value, node = self._value, self._node
        model = load_urdf(urdf, limits_optional=True)
        joints = tuple(value('joints') or model.independent_joint_names)
        if not joints:
            raise RbdError(f'robot "{model.name}" has no movable joint: the dashboard needs one')
        frame = value('frame') or last_frame(model, joints)
        model.frame(frame)
        controller, simulator = self._name(value('controller')), self._name(value('simulator'))
        telemetry = Telemetry(node, controller, simulator, namespace=self._namespace)
        operator = Operator(node, controller, simulator, allowed=value('allow_commands'),
                            joint_states=telemetry.joint_states)
        file = value('robot_description_file')
        return Page(self._server, model, urdf, frame, joints, telemetry, operator,
                    Settings(node, controller), find_resource(file) if file else None,
                    self._kept)

    def _description(self, heard: str) -> str:
        """
        Return the text of the robot, empty while there is none.

        :param heard: the text on the topic.
        """
        text, file = self._value('robot_description'), self._value('robot_description_file')
        return description_text(text, file) if text or file else heard

    def _tell_of_another(self) -> None:
        """Say that the robot on the page is no longer the one on the topic."""
        given = self._value('robot_description') or self._value('robot_description_file')
        other = not given and self._received != self._tried
        if self._notice.visible != other:
            self._notice.content, self._notice.visible = ANOTHER, other

    def _name(self, name: str) -> str:
        """Return a name within the namespace."""
        return f'{self._namespace}/{name}' if self._namespace else name

    def _on_description(self, message: String) -> None:
        """Take a robot; a new one is shown only in the place of one that could not be."""
        self._received = message.data
