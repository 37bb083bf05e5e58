# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A line in the log before a robot is compiled for the first time, which takes seconds."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rbd_ros.compiler.native.cache import announced

if TYPE_CHECKING:
    from rclpy.node import Node

__all__ = ['telling_of_compiling']


def telling_of_compiling(node: Node) -> AbstractContextManager[None]:
    """
    Return a context in which the log says once that kernels are compiled, before that begins.

    :param node: has the log. It says nothing where all of them are on disk.
    """
    return announced(lambda: node.get_logger().info(
        'compiling kernels for this robot; the first time takes some seconds'))
