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
