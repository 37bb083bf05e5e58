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

"""Executors in threads of their own."""

from __future__ import annotations

from collections.abc import Callable
import threading
import traceback

from rclpy.executors import Executor, SingleThreadedExecutor

__all__ = ['make_executor', 'spin_in_thread']

#: times that an executor may raise before it is given up
_MAX_FAILURES = 1000


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
                   prepare: Callable[[], None] | None = None) -> threading.Thread:
    """
    Run an executor until it is shut down.

    An exception of the executor itself, as from rclpy's own callbacks, is reported and the
    executor is started again: the stop sequence still needs it.

    :param executor: with its node.
    :param name: of the thread.
    :param failed: called with a traceback if the executor raises.
    :param prepare: run first, in the new thread.
    """
    def run() -> None:
        if prepare is not None:
            prepare()
        for _ in range(_MAX_FAILURES):
            try:
                executor.spin()
                return
            except Exception:
                failed(traceback.format_exc())
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
