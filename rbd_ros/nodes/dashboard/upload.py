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
"""A robot whose description is dropped into the page: checked and looked at, never driven."""

from __future__ import annotations

import threading
from typing import Any, TYPE_CHECKING

import numpy as np
from rbd_ros.errors import RbdError
from rbd_ros.model.positions import neutral
from rbd_ros.model.urdf.document import read_xml
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.nodes.dashboard.poses import plain
from rbd_ros.robot_check import ERROR, examine
from rbd_ros.view.joint_sliders import joint_sliders
from rbd_ros.view.scene import RobotScene, viewpoint
from rbd_ros.view.shapes import read_shapes, Shape

if TYPE_CHECKING:
    from rbd_ros.model.model import Model
    from rbd_ros.nodes.dashboard.operator import Operator

__all__ = ['UploadedRobot']

LARGEST, MOST_BODIES = 2**22, 60  # bytes of a description; larger robots take long to check
MOST_LISTED = 5  # elements of a finding, named one by one
ROOT = '/uploaded'
HOW = ('It is **only looked at**: simulator and controller still have the other robot. To drive '
       'it: `ros2 launch rbd_ros controller.launch.py urdf:=FILE dashboard:=true`')


class UploadedRobot:
    """
    A button that takes a URDF, what is wrong with it, and the robot beside the other one.

    :param server: of the page.
    :param model: the robot of the page, beside which there is room.
    :param operator: knows whether the robot of the page is simulated.
    """

    def __init__(self, server: Any, model: Model, operator: Operator) -> None:
        self._server, self._operator = server, operator
        self._aside = float(viewpoint(model).floor) / 2.0
        self._drawn: RobotScene | None = None
        self._parts: list[Any] = []  # of the panel, that come and go with the robot
        self._lock = threading.Lock()  # files are taken in threads of the page
        gui = server.gui
        with gui.add_folder('Look at another robot', expand_by_default=False):
            self.button = gui.add_upload_button(
                'URDF file', mime_type='.urdf,.xml', disabled=not operator.allowed,
                hint='it is checked and shown beside the robot')
            self.words = gui.add_markdown('')
            self._room = gui.add_folder('Its joints', visible=False)
        self.button.on_upload(lambda _: self.take(self.button.value))

    def take(self, file: Any) -> None:
        """
        Check a description, and show the robot in the place of the last one.

        :param file: with ``name`` and ``content``, bytes.
        """
        if not (self._operator.allowed and self._operator.simulated):
            return
        with self._lock:
            self._clear()
            self.words.content = f'Checking {plain(file.name)} ...'
            try:
                if len(file.content) > LARGEST:
                    raise RbdError(f'it is larger than {LARGEST // 2**20} MB')
                text = file.content.decode('utf-8')
                read_xml(text, 'it')  # a plain word would be taken for the name of a file
                model = load_urdf(text, limits_optional=True)
                if model.nb > MOST_BODIES:
                    raise RbdError(f'it has {model.nb} moving bodies, more than {MOST_BODIES}')
                found = report(text)
                shapes = [each for each in read_shapes(text) if is_harmless(each)]
                self._show(model, shapes)
            except (RbdError, UnicodeDecodeError) as error:
                self.words.content = f'**{plain(file.name)} cannot be shown.** {plain(str(error))}'
                return
            self.words.content = '\n\n'.join([
                f'**{plain(model.name)}**: {model.nb} moving bodies.', found, HOW])

    def _show(self, model: Model, shapes: list[Shape]) -> None:
        self._drawn = drawn = RobotScene(
            self._server, model, shapes, root=ROOT,
            beside=(0.0, self._aside + 0.5 * float(viewpoint(model).floor), 0.0))
        q = np.array(neutral(model), float)
        gui = self._server.gui
        self._room.visible = True
        with self._room:
            self._parts = joint_sliders(gui, model, q, lambda: drawn.show(q))
            gone = gui.add_button('Remove it')
        gone.on_click(lambda _: self.remove())
        self._parts.append(gone)
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


def is_harmless(shape: Shape) -> bool:
    """Return whether a shape is none, or a mesh of a package: a file names no other file here."""
    return shape.kind != 'mesh' or (
        shape.file.startswith('package://') and '..' not in shape.file.split('/'))


def report(text: str) -> str:
    """
    Return what the tests of ``rbd check`` find, as Markdown.

    :param text: a URDF.
    """
    lines = []
    for test, elements in examine(text):
        if elements:
            more = f' and {len(elements) - MOST_LISTED} more' * (len(elements) > MOST_LISTED)
            kind = 'Error' if test.severity == ERROR else 'Warning'
            named = ', '.join(map(plain, elements[:MOST_LISTED]))
            lines.append(f'- {kind}, {test.name}: {named}{more}. {test.advice}')
    return '\n'.join(lines) or 'Nothing is wrong with it.'
