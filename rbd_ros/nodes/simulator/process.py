# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The simulator process: the node in a thread of its own, and signals in the main thread."""

from __future__ import annotations

import sys

from rbd_ros.errors import RbdError
from rbd_ros.nodes import console
from rbd_ros.nodes.executors import kind_that_works, make_executor, spin_in_thread
from rbd_ros.nodes.process_end import ProcessEnd
from rbd_ros.nodes.process_start import initialise
from rbd_ros.nodes.simulator.native_node import NativeSimulator as Simulator
import rclpy

__all__ = ['main']


def main(args: list[str] | None = None) -> int:
    """
    Run the simulator until it is interrupted.

    rclpy's signal handlers are not used: they would end the context while the loop still runs.

    :returns: 0 after a clean end, 1 if it did not start or the simulation failed.
    """
    end = ProcessEnd()
    console.make_nonblocking()
    log = rclpy.logging.get_logger('simulator')
    try:
        end.start()
        initialise(args)
        node = Simulator()
        executor = make_executor(kind_that_works(node.get_parameter('executor').value, node))
        executor.add_node(node)
        thread = spin_in_thread(executor, 'simulation', end.fail)
        end.wait()
        end.wait_for_controller(lambda: node.last_command, log.info)
        end.close()
        executor.shutdown(timeout_sec=1.0)
        thread.join(2.0)
        log.info(node.summary())
        if not thread.is_alive():
            node.destroy_node()
    except KeyboardInterrupt:
        end.close()
    except RbdError as error:
        end.failure = str(error)
    if end.failure:
        log.fatal(end.failure)
    rclpy.try_shutdown()
    return 1 if end.failure else 0


if __name__ == '__main__':
    sys.exit(main())
