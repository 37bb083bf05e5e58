# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A process with one node, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rbd_ros.errors import RbdError
from rbd_ros.nodes.executors import kind_that_works, make_executor, spin_in_thread
from rbd_ros.nodes.process_end import ProcessEnd
from rbd_ros.nodes.process_start import initialise
import rclpy
from rclpy.executors import Executor
from rclpy.node import Node

__all__ = ['run_until_interrupted']

_Made = TypeVar('_Made', bound=Node)


def run_until_interrupted(
    name: str, make: Callable[[Callable[[str], None]], _Made], args: list[str] | None, *,
    leave: Callable[[_Made, Executor], None] = lambda node, executor: None,
) -> int:
    """
    Run a node until the process is interrupted.

    :param name: of the node, for the thread and the log.
    :param make: returns the node; it is given what to call with the reason if the node fails.
    :param args: of the command line, None: those of the process.
    :param leave: what to do before the end, while the node still runs.
    :returns: 0 after a clean end, 1 if it did not start or failed.
    """
    end = ProcessEnd()
    try:
        end.start()
        initialise(args)
        node = make(end.fail)
        executor = make_executor(kind_that_works('events', node))
        executor.add_node(node)
        thread = spin_in_thread(executor, name, end.fail)
        end.wait()
        leave(node, executor)
        end.close()
        executor.shutdown(timeout_sec=1.0)
        thread.join(1.0)
        if not thread.is_alive():
            node.destroy_node()
    except KeyboardInterrupt:
        end.close()
    except RbdError as error:
        end.failure = str(error)
    if end.failure:
        rclpy.logging.get_logger(name).fatal(end.failure)
    rclpy.try_shutdown()
    return 1 if end.failure else 0
