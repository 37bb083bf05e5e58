# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A part of a page that looks like a whole one: a place in its scene, under a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbd_ros.compiler import Array

__all__ = ['origin_of', 'ServerPart']


class ServerPart:
    """
    What a robot needs of a server, while others stand beside it.

    :param server: the viser server.
    :param name: of the part, one word.
    :param origin: where it is in the world, m.
    """

    def __init__(self, server: Any, name: str, origin: Sequence[float]) -> None:
        self._server, self.gui = server, server.gui
        self.origin: Array = np.array(origin, float)
        self.scene = ScenePart(server.scene, f'/{name}', self.origin)

    def remove(self) -> None:
        """Take all of it out of the scene."""
        self.scene.root.remove()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)


class ScenePart:
    """
    A scene whose nodes have a common parent.

    :param scene: of the server.
    :param root: path of the parent.
    :param origin: where it is, m.
    """

    def __init__(self, scene: Any, root: str, origin: Array) -> None:
        self._scene, self._path = scene, root
        self.root = scene.add_frame(root, show_axes=False, position=origin)

    def __getattr__(self, name: str) -> Any:
        add = getattr(self._scene, name)
        return lambda path, *words, **more: add(f'{self._path}{path}', *words, **more)


def origin_of(server: Any) -> Array:
    """Return where the scene of a server, or of a part, is in the world, m."""
    return server.origin if isinstance(server, ServerPart) else np.zeros(3)
