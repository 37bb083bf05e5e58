# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
