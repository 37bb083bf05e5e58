# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A URDF that somebody gives to the page: checked, and shown beside the robot."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any, TYPE_CHECKING

import numpy as np
from rbd_ros.errors import RbdError
from rbd_ros.model.positions import neutral
from rbd_ros.nodes.dashboard.given_robot import GivenRobot, read_robot
from rbd_ros.quoting import markdown_text
from rbd_ros.view.joint_sliders import joint_sliders
from rbd_ros.view.scene import RobotScene
from rbd_ros.view.shapes import read_shapes

if TYPE_CHECKING:
    from rbd_ros.model.model import Model

__all__ = ['FILE_KINDS', 'UploadedRobot']

FILE_KINDS = '.urdf,.xml'
ROOT = '/uploaded'
HOW = ('It is **only shown** until you press Simulate it: then it gets its own simulator and '
       'controller.')
REFUSED = ('**It can be shown, but not simulated** until this is changed in the file:\n\n{}'
           '\n\nWhat a URDF cannot express can be set in a parameter file: '
           '`ros2 launch rbd_ros controller.launch.py simulate:=true urdf:=FILE '
           'params_file:=FILE`')


class UploadedRobot:
    """
    A button that takes a URDF, what is wrong with it, and the robot beside the other one.

    :param server: of the page.
    :param place: returns where in the world there is room for a robot, m.
    :param takes: returns whether files are taken now.
    :param simulate: is told which robot shall be simulated.
    """

    def __init__(self, server: Any, place: Callable[[Model], tuple[float, float, float]],
                 takes: Callable[[], bool], simulate: Callable[[GivenRobot], None]) -> None:
        self._server, self._place, self._takes, self._simulate = server, place, takes, simulate
        self._drawn: RobotScene | None = None
        self._parts: list[Any] = []  # of the panel, that come and go with the robot
        self._lock = threading.Lock()  # files are taken in threads of the page
        gui = server.gui
        self.button = gui.add_upload_button(
            'URDF file', mime_type=FILE_KINDS,
            hint='it is checked and shown beside the robot; or drop it onto the page')
        self.words = gui.add_markdown('')
        self._room = gui.add_folder('Its joints', visible=False)
        self.button.on_upload(lambda _: self.take(self.button.value))

    def take(self, file: Any) -> None:
        """
        Check a description, and show the robot in the place of the last one.

        :param file: with ``name`` and ``content``, bytes.
        """
        if not self._takes():
            return
        with self._lock:
            self._clear()
            self.words.content = f'Checking {markdown_text(file.name)} ...'
            try:
                robot = read_robot(file.content)
                self._show(robot)
            except RbdError as error:
                self.words.content = (f'**{markdown_text(file.name)} cannot be shown.** '
                                      f'{markdown_text(str(error))}')
                return
            self.words.content = '\n\n'.join([
                f'**{markdown_text(robot.model.name)}**: {robot.model.nb} moving bodies.',
                REFUSED.format(robot.refusal) if robot.refusal else f'{robot.report}\n\n{HOW}'])

    def _show(self, robot: GivenRobot) -> None:
        model = robot.model
        self._drawn = drawn = RobotScene(self._server, model, read_shapes(robot.text), root=ROOT,
                                         beside=self._place(model))
        q = np.array(neutral(model), float)
        gui = self._server.gui
        self._room.visible = True
        with self._room:
            start = gui.add_button('Simulate it', color='green', disabled=bool(robot.refusal))
            self._parts = joint_sliders(gui, model, q, lambda: drawn.show(q))
            gone = gui.add_button('Remove it')
        start.on_click(lambda _: None if robot.refusal else self._simulate(robot))
        gone.on_click(lambda _: self.remove())
        self._parts += start, gone
        drawn.show(q)

    def remove(self) -> None:
        """Take the robot away."""
        with self._lock:
            self._clear()
            self.words.content = ''

    def _clear(self) -> None:
        if self._drawn is not None:
            self._drawn.remove()
            self._drawn = None
        for part in self._parts:
            part.remove()
        self._parts = []
        self._room.visible = False
