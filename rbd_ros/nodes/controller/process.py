# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The controller process: nodes in threads of their own, and signals in the main thread.

The main thread only waits, so that Python can run a signal handler at any time. It stops the
robot before anything is shut down: rclpy's own handlers would make the context invalid before
the release torque could be published.
"""

from __future__ import annotations

from collections.abc import Iterable
import os
import signal
import sys
import time
from types import FrameType

import numpy as np
from numpy.typing import NDArray
from rbd_ros.control.interface.causes import Cause
from rbd_ros.errors import SettingError
from rbd_ros.loop.rcl import LoopUnavailable
from rbd_ros.nodes import console
from rbd_ros.nodes.controller.node import ControllerNode
from rbd_ros.nodes.controller.realtime import prefault, prepare_thread, switch_interval
from rbd_ros.nodes.executors import make_executor, spin_in_thread
from rbd_ros.nodes.process_end import SignalEvent
from rbd_ros.nodes.process_start import initialise
import rclpy

__all__ = ['main']

_ANNOUNCE_TIME = 0.05  # s for the end of the stop to be announced
_JOIN_LIMIT = 0.5  # s to wait for a thread to end


class _EndReason:
    """Why the process ends; the first reason counts."""

    def __init__(self) -> None:
        self.event = SignalEvent()
        self.cause = Cause.SIGNAL
        self.text = ''
        #: executors are shut down: one of rclpy may raise then, as handles have gone
        self.closing = False

    def on_signal(self, number: int, _: FrameType | None) -> None:
        """Take a signal; a second one changes nothing, the stop is never cut short."""
        self.text = self.text or signal.Signals(number).name
        self.event.set()

    def on_failure(self, text: str) -> None:
        """Take the traceback of a thread that died."""
        if self.closing:
            return
        self.cause, self.text = Cause.EXCEPTION, text
        self.event.set()


def main(args: list[str] | None = None) -> int:
    """Run the controller until a signal, then stop the robot and end."""
    ending = _EndReason()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # nohup ignores SIGHUP: whoever uses it wants the controller to outlive the terminal
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            ending.event.take(number, ending.on_signal)
    console.make_nonblocking()
    try:
        initialise(args)
        node = ControllerNode(signals=ending.event.fileno())
    except (LoopUnavailable, SettingError) as error:
        console.print_line(f'controller: {error}')
        rclpy.try_shutdown()
        return 1
    value = {name: node.get_parameter(name).value for name in (
        'executor', 'realtime.priority', 'realtime.cores', 'realtime.cpu', 'realtime.prefault',
        'realtime.switch_interval')}
    node.realtime |= switch_interval(value['realtime.switch_interval'])
    warn = node.get_logger().warning

    def prepare(arrays: Iterable[NDArray[np.generic]]) -> None:
        cores = value['realtime.cores'] or value['realtime.cpu']
        node.realtime |= prepare_thread(value['realtime.priority'], cores, warn)
        if value['realtime.prefault']:
            # A later thread usually takes over stack and heap of the one before, and if it does
            # not, each configuration would keep some more memory.
            first = 'realtime.prefault' not in node.realtime
            node.realtime |= prefault(warn, arrays, thread=first)
    node.loop_node.prepare = prepare
    slow, changes = (make_executor(value['executor']) for _ in range(2))
    slow.add_node(node)
    changes.add_node(node.transitions)
    node.served_by, node.transitions.served_by = slow, changes
    threads = [spin_in_thread(slow, 'services', ending.on_failure),
               spin_in_thread(changes, 'transitions', ending.on_failure)]
    ending.event.wait()
    node.loop_node.stop()
    node.ending.set()
    node.autostart.retire()
    log = node.get_logger()
    log.info(f'ending ({ending.text.strip().splitlines()[-1]}): stopping the robot first')
    if not node.stop(ending.cause):
        log.error('the stop sequence did not end in time')
    time.sleep(_ANNOUNCE_TIME)
    ending.closing = True
    for executor in (changes, slow):
        executor.shutdown(timeout_sec=_JOIN_LIMIT)
    for thread in threads:
        thread.join(_JOIN_LIMIT)
    alive = any(thread.is_alive() for thread in threads) or not node.autostart.join(_JOIN_LIMIT)
    alive = alive or not node.loop_node.end(_JOIN_LIMIT)
    node.log_queue.close()
    failure = ending.text if ending.cause is Cause.EXCEPTION else node.loop_node.failure
    if failure:
        console.print_line(failure)
    code = 1 if failure else 0
    if alive:  # for instance in a compilation, which cannot be interrupted
        os._exit(code)
    nodes = (node.loop_node, node.transitions, node)
    for each in nodes:
        each.served_by = None
    node.discard_robot()
    for each in nodes:
        each.destroy_node()
    rclpy.try_shutdown()
    return code


if __name__ == '__main__':
    sys.exit(main())
