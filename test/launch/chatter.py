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

"""
A controller that logs too much on request.

The environment names a file; what is written there is the number of lines to log, once by the
node's own logger and once by rclpy's, which knows nothing of the node's queue.
"""

from __future__ import annotations

import os
from pathlib import Path
import sys
import threading
import time

from rbd_ros.nodes.controller.node import ControllerNode
from rbd_ros.nodes.controller.process import main
import rclpy.logging

nodes: list[ControllerNode] = []


def listen(file: Path) -> None:
    """Log as many lines as are written into a file."""
    plain = rclpy.logging.get_logger('chatter')
    while True:
        if file.exists():
            for k in range(int(file.read_text())):
                plain.warning(f'plain line {k} ' + 'x' * 100)
                nodes[0].get_logger().warning(f'own line {k} ' + 'x' * 100)
                time.sleep(0.0005)
            file.unlink()
        time.sleep(0.01)


def noted(node: ControllerNode, *given: object, **more: object) -> None:
    """Create the node and note it."""
    plain_init(node, *given, **more)
    nodes.append(node)


if __name__ == '__main__':
    plain_init = ControllerNode.__init__
    ControllerNode.__init__ = noted  # type: ignore[method-assign]
    threading.Thread(target=listen, args=(Path(os.environ['CHATTER']),), daemon=True).start()
    sys.exit(main())
