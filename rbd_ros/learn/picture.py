# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A robot in 3-D inside a notebook, at rest or in motion.

The view is a recording of a viser scene in a frame of its own: it needs no server once it is made,
stays in the saved notebook, and can be turned with the mouse. The live page of ``rbd view`` cannot
be embedded: it refuses to be shown inside another page, so that none can lead a user's clicks.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.errors import RbdError
from rbd_ros.model.model import Model
from rbd_ros.model.urdf import find_resource
from rbd_ros.view.scene import RobotScene, viewpoint
from rbd_ros.view.server import start_server, stop_server
from rbd_ros.view.shapes import read_shapes

__all__ = ['Picture', 'picture']

HEIGHT = 380            # of the frame, pixels
RATE = 30.0             # pictures per second of a motion


class Picture:
    """
    A recorded scene, which a notebook shows by itself.

    :param page: HTML; if empty, there is no picture.
    :param title: what it shows, or why it cannot.
    """

    def __init__(self, page: str, title: str) -> None:
        self.page, self.title = page, title

    def __repr__(self) -> str:
        return self.title

    def _repr_html_(self) -> str:
        """Return the scene in a frame; the name is that of IPython."""
        if not self.page:
            return f'<p>{escape(self.title)}</p>'
        return (f'<iframe title="{escape(self.title)}" srcdoc="{escape(self.page)}" '
                f'width="100%" height="{HEIGHT}" style="border:1px solid #ddd"></iframe>')


def picture(
    model: Model, q: ArrayLike, *, urdf: str | None = None, rate: float = RATE,
    draw: Callable[[Any], None] | None = None,
) -> Picture:
    """
    Return a view of a robot.

    :param q: independent positions, (nq,), or those of a motion, (times, nq).
    :param urdf: where its description is, with the shapes of its links; without it they are boxes
        that have their inertia.
    :param rate: rows of ``q`` per second.
    :param draw: adds what else there is to see; gets the viser scene.
    """
    path = np.atleast_2d(np.asarray(q, float))
    try:
        server = start_server()
    except RbdError as error:       # a lesson goes on without its pictures
        return Picture('', str(error))
    try:
        file = None if urdf is None else find_resource(urdf)
        shapes = [] if file is None else read_shapes(file.read_text())
        robot = RobotScene(server, model, shapes, near=file)
        camera, place = server.initial_camera, viewpoint(model, aside=0.0)
        camera.position, camera.look_at = place.eye, place.look
        if draw is not None:
            draw(server.scene)
        robot.show(path[0])
        recording = server.get_scene_serializer()
        for row in path[1:]:
            robot.show(row)
            recording.insert_sleep(1.0 / rate)
        return Picture(recording.as_html(), f'3-D view of {model.name}')
    finally:
        stop_server(server)
