# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where things of the scene are on the page."""

from __future__ import annotations

from typing import Any

import numpy as np
from rbd_ros.view.scene import viewpoint

FOV = np.radians(75.0)  # vertical, of the page


def pixel(model: Any, point: Any, size: tuple[int, int]) -> tuple[float, float]:
    """
    Return where a point of the scene is on the page.

    :param model: the robot that the page was opened for.
    :param point: in the base, m.
    :param size: width and height of the scene.
    """
    eye, look, _ = viewpoint(model)
    x, y, _ = project(eye, look, point, size)
    return x, y


def project(eye: Any, look: Any, point: Any, size: tuple[int, int]) -> tuple[float, float, float]:
    """
    Return where a point of the scene is for a camera, and how many pixels a metre has there.

    :param eye: where the camera stands, m.
    :param look: at which point it looks.
    :param point: in the scene, m.
    :param size: width and height of the scene.
    """
    ahead = np.subtract(look, eye) / np.linalg.norm(np.subtract(look, eye))
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    d = np.asarray(point) - eye
    scale = size[1] / 2.0 / np.tan(FOV / 2.0) / (d @ ahead)
    return size[0] / 2.0 + scale * (d @ right), size[1] / 2.0 - scale * (d @ up), scale
