# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From where the robot is seen, and in which colours."""

from __future__ import annotations

from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from rbd_ros.view.server import set_colours
from rbd_ros.view.server_part import origin_of, ServerPart

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from rbd_ros.view.scene import RobotScene

    Array = NDArray[np.float64]

__all__ = ['fitted', 'Look', 'PRESETS', 'Preset']

SMALLEST = 0.15  # m, radius of what is looked at
NEAR = 0.15  # of the size of the robot: what is seen around the tool
THICK = 0.1  # of the size of the robot: how far links reach beyond their frames
BESIDE, ABOVE = 0.72, 0.4  # of a wide window, of a high one: what the panel leaves free


class Preset(NamedTuple):
    """A direction from the robot to the camera, and whether only the tool is looked at."""

    back: tuple[float, float, float]
    tool: bool = False


#: Straight down has no upper side; a little from behind, x is up.
PRESETS = {'Front': Preset((1.0, 0.0, 0.1)), 'Side': Preset((0.0, -1.0, 0.1)),
           'Top': Preset((-0.01, 0.0, 1.0)), 'Tool': Preset((1.0, -1.0, 0.5), tool=True),
           'Fit': Preset((1.6, 1.2, 0.7))}


def fitted(points: ArrayLike, back: ArrayLike, fov: float, aspect: float) -> tuple[Array, Array]:
    """
    Return where a camera stands and where it looks so that points fill the part that is free.

    :param points: of the robot, one in each row.
    :param back: direction from them to the camera.
    :param fov: angle that it sees from top to bottom, rad.
    :param aspect: width of the window by its height; pixels would be those of the screen.
    """
    at = np.asarray(points, float)
    middle = 0.5 * (at.min(axis=0) + at.max(axis=0))
    out = np.asarray(back, float) / np.linalg.norm(back)
    right = np.cross([0.0, 0.0, 1.0], out)
    right /= np.linalg.norm(right)
    up = np.cross(out, right)
    x, y, z = np.array([right, up, out]) @ (at - middle).T
    free_x, free_y = (BESIDE * aspect, 1.0) if aspect > 1.0 else (aspect, ABOVE)
    # Slopes of what is seen: half of the window and of its free part, and between their middles.
    slope = np.tan(0.5 * fov)
    a, b, f, g = slope * aspect, slope, slope * free_x, slope * free_y
    k, j = a - f, b - g
    # A point is at (x - k d) / (d - z) of a camera at the distance d, and must be in -a ... f - k.
    away = max(float(np.max(needed)) for needed in (
        (a * z - x) / f, (x + (f - k) * z) / f, (y + b * z) / g, ((g - j) * z - y) / g,
        [SMALLEST / min(f, g)]))
    look = middle + away * (k * right - j * up)
    return look + away * out, look


class Look:
    """
    A folder with places of the camera and the colours of the page.

    :param server: of the page.
    :param drawn: the robot.
    :param frame: the controlled one, the tool.
    """

    def __init__(self, server: Any, drawn: RobotScene, frame: str) -> None:
        self._drawn, self._frame, self._origin = drawn, frame, origin_of(server)
        with server.gui.add_folder('View', expand_by_default=False):
            places = server.gui.add_button_group('Camera', tuple(PRESETS))
            dark = server.gui.add_checkbox('Dark page', False)
        places.on_click(lambda event: self.go(event.client, event.target.value))
        dark.on_update(lambda _: set_colours(server, dark=dark.value))
        if not isinstance(server, ServerPart):  # where robots stand side by side, it is for all
            server.on_client_connect(self._greet)

    def _greet(self, client: Any) -> None:
        """Put the robot above the panel where the window is high, as that of a phone."""
        if client.camera.image_width < client.camera.image_height:
            self.go(client, 'Fit')

    def go(self, client: Any, name: str) -> None:
        """Put the camera of the one who asked to a place."""
        preset = PRESETS[name]
        robot = np.array([self._drawn.pose(link)[0] for link in self._drawn.links])
        share, seen = (NEAR, [self._drawn.pose(self._frame)[0]]) if preset.tool else (THICK, robot)
        reach = share * float(np.linalg.norm(np.ptp(robot, axis=0)))
        around = [at + reach * side for at in seen for side in (*np.eye(3), *-np.eye(3))]
        camera = client.camera
        eye, look = fitted(around + self._origin, preset.back, camera.fov,
                           camera.image_width / camera.image_height)
        with client.atomic():
            camera.up_direction, camera.position, camera.look_at = (0.0, 0.0, 1.0), eye, look
