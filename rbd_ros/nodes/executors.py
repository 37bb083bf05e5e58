# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Executors in threads of their own."""

from __future__ import annotations

import atexit
from collections.abc import Callable
import os
import threading
import traceback

from rbd_ros.loop.rcl import check_callbacks, LoopUnavailable
from rcl_interfaces.msg import ParameterEvent
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node

__all__ = ['kind_that_works', 'make_executor', 'spin_in_thread']

#: times that an executor may raise before it is given up
_MAX_FAILURES = 1000

#: s to wait for a thread when the interpreter ends
_JOIN_LIMIT = 0.5

#: what still spins
_spinning: dict[threading.Thread, Executor] = {}


def kind_that_works(kind: str, node: Node) -> str:
    """
    Return the kind of executor to take where the middleware may not say when messages come.

    :param kind: what is wanted, see ``make_executor``.
    :param node: no executor has it yet; its log says why another kind is taken.
    """
    if kind == 'events':
        # Of its own: whatever has come before a callback is set is told once, to the first one.
        tried = node.create_subscription(ParameterEvent, '/parameter_events', lambda _: None, 1)
        try:
            check_callbacks([('subscription', tried.handle.pointer)])
        except LoopUnavailable as error:
            node.get_logger().warning(f'executor "single" is used, not "events": {error}')
            return 'single'
        finally:
            node.destroy_subscription(tried)
    return kind


def make_executor(kind: str) -> Executor:
    """
    Return an executor for one node.

    :param kind: 'events' (fast, experimental in Jazzy) or 'single'.
    """
    if kind == 'events':
        try:
            from rclpy.experimental.events_executor import EventsExecutor
            return EventsExecutor()
        except ImportError:
            pass
    return SingleThreadedExecutor()


def spin_in_thread(executor: Executor, name: str, failed: Callable[[str], None],
                   ) -> threading.Thread:
    """
    Run an executor until it is shut down.

    An exception of the executor itself, as from rclpy's own callbacks, is reported and the
    executor is started again: the stop sequence still needs it.

    :param executor: with its node.
    :param name: of the thread.
    :param failed: called with a traceback if the executor raises.
    """
    def run() -> None:
        for _ in range(_MAX_FAILURES):
            try:
                executor.spin()
                return
            except Exception:
                failed(traceback.format_exc())

    def run_listed() -> None:
        try:
            run()
        finally:
            _spinning.pop(threading.current_thread(), None)
    thread = threading.Thread(target=run_listed, name=name, daemon=True)
    _spinning[thread] = executor
    thread.start()
    return thread


@atexit.register
def _end_all() -> None:
    """End all executors: a thread of theirs that outlives the interpreter ends the process."""
    left = dict(_spinning)
    for executor in left.values():
        executor.shutdown(timeout_sec=_JOIN_LIMIT)
    for thread in left:
        thread.join(_JOIN_LIMIT)


os.register_at_fork(after_in_child=_spinning.clear)  # their threads are not in the child
