# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot, pulled at any link with the mouse as if by a rubber band."""

from __future__ import annotations

from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from rbd_ros.nodes.dashboard.adjust import by_hand
from rbd_ros.view.server_part import origin_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from rbd_ros.nodes.dashboard.operator import Operator
    from rbd_ros.view.scene import RobotScene

    Array = NDArray[np.float64]

__all__ = ['LinkPull', 'MOST']

SOFTEST, USUAL, STIFFEST = 5, 60, 500  # N/m of the band
MOST = 100.0  # N, however far the mouse is
COLOUR = (240, 140, 0)
NOTHING = (0.0, 0.0, 0.0)


class Grip(NamedTuple):
    """Where the mouse holds the robot."""

    browser: int
    link: str
    point: Array  # in the link, m
    end: Array  # of the band, in the scene of the robot, m


class LinkPull:
    """
    A box that lets the mouse pull at links, and the band between the two.

    :param server: of the page.
    :param drawn: the robot in the scene.
    :param operator: sends the force.
    """

    def __init__(self, server: Any, drawn: RobotScene, operator: Operator) -> None:
        self._drawn, self._operator, self._origin = drawn, operator, origin_of(server)
        self._grip: Grip | None = None
        off, gui = not operator.allowed, server.gui
        self._on = gui.add_checkbox(
            'Pull at the links with the mouse', False, disabled=off,
            hint='press on a link of the robot, and move the mouse')
        self._on.on_update(by_hand(self.switch))
        self._stiffness = gui.add_slider('Pull, N/m', SOFTEST, STIFFEST, 5, USUAL, disabled=off)
        self._arrow = server.scene.add_arrows(
            '/pull', np.zeros((1, 2, 3)), COLOUR, shaft_radius=0.006, head_radius=0.018,
            head_length=0.04, visible=False)

    def switch(self) -> None:
        """Let the links be pulled, or leave the mouse to the camera."""
        for handle in (*self._drawn.drawn, *self._drawn.boxes):
            handle.remove_drag_callback()
            if self._on.value:
                handle.on_drag(self.drag)
        if not self._on.value:
            self._release()

    async def drag(self, event: Any) -> None:
        """
        Take what the mouse does, in the order in which it does it.

        :param event: of viser, its points in the world.
        """
        if event.phase == 'start' and self._operator.simulated:
            link = self._drawn.link_of(event.target)
            p, R = self._drawn.pose(link)
            self._grip = Grip(event.client_id, link, R.T @ (self._here(event.start_position) - p),
                              self._here(event.end_position))
        elif self._grip is not None and self._grip.browser == event.client_id:
            if event.phase == 'end':
                self._release()
            else:
                self._grip = self._grip._replace(end=self._here(event.end_position))

    def _here(self, point: ArrayLike) -> Array:
        """Return a point of the world in the scene of this robot."""
        return np.asarray(point, float) - self._origin

    def send(self) -> None:
        """Pull at the link that is held; to be called some 25 times per second."""
        grip = self._grip
        if grip is None:
            return
        p, R = self._drawn.pose(grip.link)
        at = p + R @ grip.point
        way = grip.end - at
        stiffness = min(max(float(self._stiffness.value), SOFTEST), STIFFEST)
        force = R.T @ way * min(stiffness, MOST / max(float(np.linalg.norm(way)), 1e-9))
        self._operator.push(grip.link, force.tolist(), np.cross(grip.point, force).tolist())
        self._arrow.points = np.array([[at, grip.end]])
        self._arrow.visible = True

    def _release(self) -> None:
        """Let go, at once and not when the simulator forgets the last force."""
        grip, self._grip = self._grip, None
        self._arrow.visible = False
        if grip is not None:
            self._operator.push(grip.link, NOTHING)
