# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Poses of what is drawn, given to viser without its detours.

Its setters compare what is new with what was, by functions for arrays of any size, and take ten
times as long as to note the change. Who knows that a node has moved need not ask. What is
used here is not promised to stay: where it is not as known, the setters are used.
"""

from __future__ import annotations

from typing import Any

__all__ = ['NodePose']

Place = tuple[float, float, float]
Turn = tuple[float, float, float, float]


class NodePose:
    """
    The pose of a node of a scene, to be set often.

    :param handle: of the node.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._inner: Any = None
        try:
            from viser._messages import SetOrientationMessage, SetPositionMessage
            inner = handle._impl
            self._queue = inner.api._queue_scene_message
            self._moved, self._turned = SetPositionMessage, SetOrientationMessage
            known = (inner.removed is False and isinstance(inner.name, str)
                     and inner.position.shape == (3,) and inner.wxyz.shape == (4,))
        except (ImportError, AttributeError):
            known = False
        if known:
            self._inner = inner

    def move(self, position: Place) -> None:
        """Set the position, m, in the parent of the node."""
        inner = self._inner
        if inner is None or inner.removed:
            self._handle.position = position
        else:
            inner.position[:] = position
            self._queue(self._moved(inner.name, position))

    def turn(self, wxyz: Turn) -> None:
        """Set the orientation, a unit quaternion."""
        inner = self._inner
        if inner is None or inner.removed:
            self._handle.wxyz = wxyz
        else:
            inner.wxyz[:] = wxyz
            self._queue(self._turned(inner.name, wxyz))
