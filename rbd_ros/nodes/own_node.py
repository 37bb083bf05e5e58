# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A node of a command or a panel, beside whatever else of ROS runs in the process."""

from __future__ import annotations

from types import TracebackType
from typing import Any, TYPE_CHECKING

import rclpy
from rclpy.executors import SingleThreadedExecutor

if TYPE_CHECKING:
    from typing import Self  # Python 3.11

__all__ = ['OwnNode']


class OwnNode:
    """
    A node with a context and an executor of its own, which end with it; to be used with ``with``.

    :param name: of the node.
    :param options: of the node.
    """

    def __init__(self, name: str, **options: Any) -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node(name, context=self._context, **options)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
