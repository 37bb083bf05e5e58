# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A page that plays planned motions one after the other, while somebody decides about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from rbd_ros.command_line.excitation_plan import Path
from rbd_ros.command_line.robots import Loaded, tips
from rbd_ros.compiler import Array
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf import find_resource
from rbd_ros.view.motion import MotionPlayer
from rbd_ros.view.scene import RobotScene
from rbd_ros.view.server import start_server, stop_server
from rbd_ros.view.shapes import read_shapes

__all__ = ['joined', 'motion_page']

PORT = 8080


def joined(legs: Sequence[Path]) -> tuple[Callable[[Array], Array], float]:
    """Return positions of motions one after the other at times, (count, nq), and the duration."""
    ends = np.cumsum([leg.t[-1] for leg in legs])

    def position(t: Array) -> Array:
        found = np.empty((len(t), legs[0].q.shape[1]))
        which = np.minimum(np.searchsorted(ends, t), len(legs) - 1)
        for k, leg in enumerate(legs):
            here = which == k
            found[here] = leg.position(np.clip(t[here] - (ends[k] - leg.t[-1]), 0.0, leg.t[-1]))
        return found
    return position, float(ends[-1])


@contextmanager
def motion_page(robot: str, loaded: Loaded, legs: Sequence[Path]) -> Iterator[str]:
    """
    Serve a page that plays motions; yield its address, empty where no page can be served.

    :param robot: as the user named it.
    """
    try:
        server = start_server(port=PORT)
    except RbdError:  # the packages for it are not installed: the motion is described in numbers
        yield ''
        return
    try:
        scene = RobotScene(server, loaded.model, read_shapes(loaded.text),
                           near=None if robot == '-' else find_resource(robot))
        with MotionPlayer(server, scene, *joined(legs), tips(loaded.model), scene.show):
            yield f'http://127.0.0.1:{server.get_port()}'
    finally:
        stop_server(server)
