# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The folder of the page that takes another robot: it is looked at, then simulated."""

from __future__ import annotations

from pathlib import Path
import time
from typing import Any, TYPE_CHECKING

from rbd_ros.errors import RbdError
from rbd_ros.nodes.dashboard.companion import Companion
from rbd_ros.nodes.dashboard.given_robot import LARGEST
from rbd_ros.nodes.dashboard.upload import FILE_KINDS, UploadedRobot
from rbd_ros.quoting import markdown_text
from rbd_ros.view.file_drop import take_dropped_files
from rbd_ros.view.scene import viewpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rbd_ros.model.model import Model
    from rbd_ros.nodes.dashboard.given_robot import GivenRobot
    from rbd_ros.nodes.dashboard.robot_tab import RobotTab
    from rclpy.node import Node

__all__ = ['RobotBeside']

LAST = 1e9  # place in the panel: below all that is there
LOOK_PERIOD = 1.0  # s between two looks at whether the robots of the page are simulated
STARTED = ('**{}** is simulated in the namespace `{}`, with a panel of its own. Its log is in '
           '`{}`.')
FAILED = '**{} was ended.** {} The whole log: `{}`'


class RobotBeside:
    """
    One robot besides those of the page; only where all of these are simulated.

    Buttons are pressed in threads of the page, what follows is done in the main thread.

    :param node: of the dashboard.
    :param server: of the page.
    :param robots: those of the page.
    :param folder: for files of the one that is simulated.
    """

    def __init__(self, node: Node, server: Any, robots: Sequence[RobotTab], folder: Path) -> None:
        self._node, self._server, self._robots, self._files = node, server, robots, folder
        self.companion: Companion | None = None
        self._title = ''
        self._asked: GivenRobot | None = None  # to be simulated
        self._end_asked = False
        self._leaving: list[Companion] = []  # whose processes are about to end
        self._next_look = 0.0  # a steady time
        gui = server.gui
        self._room = gui.add_folder('Another robot', order=LAST, visible=False)
        with self._room:
            self.upload = UploadedRobot(server, self._place, self._takes, self.simulate)
            self.words = gui.add_markdown('')
            self.end_button = gui.add_button('End it', color='red', visible=False)
        self.end_button.on_click(lambda _: self.end())
        take_dropped_files(server, FILE_KINDS, LARGEST)

    def simulate(self, robot: GivenRobot) -> None:
        """Ask for the simulation of a robot."""
        if self._takes():
            self._asked = robot

    def end(self) -> None:
        """Ask for the end of the simulation."""
        self._end_asked = True

    def update(self) -> None:
        """Do what was asked for, and show the present; some 25 times per second."""
        asked, self._asked = self._asked, None
        if asked is not None and self._takes():  # the robot may have become a real one
            self._start(asked)
        end, self._end_asked = self._end_asked, False
        if self.companion is not None:
            self.companion.update()
            if end:
                self._leave('')
            elif not self.companion.child.is_running():
                reason = markdown_text(self.companion.child.error()) or 'Its processes have ended.'
                self._leave(FAILED.format(self._title, reason, self.companion.child.log))
        self._leaving = [each for each in self._leaving if each.child.is_running()]
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_PERIOD
            self._room.visible = self.companion is not None or self._is_simulated()

    def close(self) -> None:
        """End all that was started, and wait for that."""
        if self.companion is not None:
            self._leave('')
        for each in self._leaving:
            each.end()

    def _takes(self) -> bool:
        return self.companion is None and self._is_simulated()

    def _is_simulated(self) -> bool:
        return all(each.page is not None and each.page.simulated for each in self._robots)

    def _place(self, model: Model) -> tuple[float, float, float]:
        edge = max(each.page.edge for each in self._robots if each.page is not None)
        return 0.0, edge + 0.5 * viewpoint(model).floor, 0.0

    def _start(self, robot: GivenRobot) -> None:
        self._title = markdown_text(robot.model.name)
        self.upload.remove()
        try:
            self.companion = Companion(self._server, self._node, robot.text, robot.model.name,
                                       self._place(robot.model), self._files)
        except (RbdError, OSError) as error:
            self.words.content = (f'**{self._title} cannot be simulated.** '
                                  f'{markdown_text(str(error))}')
            return
        self.words.content = STARTED.format(
            self._title, self.companion.namespace, self.companion.child.log)
        self._show_running(True)

    def _leave(self, words: str) -> None:
        """Take the robot off the page; its processes take a while to end."""
        assert self.companion is not None
        self.companion.leave()
        self._leaving.append(self.companion)
        self.companion = None
        self.words.content = words
        self._show_running(False)

    def _show_running(self, running: bool) -> None:
        self.end_button.visible = running
        self.upload.button.disabled = running
