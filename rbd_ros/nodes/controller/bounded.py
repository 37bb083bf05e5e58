# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Inputs that cannot flood Python's threads.

Each message or request that an executor hands over costs the interpreter some time, wanted or
not. An input that costs more time than its budget allows is taken out of its executor: then the
middleware keeps the newest ones by itself, without the interpreter, and a timer reads them now and
then, within the budget. After a while the input is given back to the executor, to see whether the
flood has ended.

The control loop needs none of it for a torque or ~/stop. An executor of events keeps an event for
each message, without a bound, and whoever comes later waits behind them: without a budget ~/reset
waited for 4 s behind 4 s of some thousand goals per second. The rates of the flood tests alone do
not need it.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import time

from rbd_ros.control.throttle import Budget
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

__all__ = ['Bounded', 'OVERHEAD', 'POLL_PERIOD']

POLL_PERIOD = 0.01  # s between two reads while there are too many
OVERHEAD = 1e-4  # s that an executor takes to read one message
#: s after which the executor serves the input again; doubled while the flood goes on
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 8.0


class Bounded:
    """An input that an executor serves while its budget lasts, and a timer beyond."""

    def __init__(self, node: Node, budget: Budget, flooded: Callable[[], object],
                 max_cost: float = math.inf) -> None:
        """
        Start with the whole budget; subclasses define how an input is served and read.

        :param node: in an executor.
        :param budget: of processor time.
        :param flooded: called when too many begin to come.
        :param max_cost: s charged for one message or request at most; one long one is no flood.
        """
        self.polling = False  # the timer reads, not the executor
        self._node, self._flooded, self._max_cost = node, flooded, max_cost
        self._budget = budget
        self._pause, self._until = _FIRST_PAUSE, -math.inf  # s; steady time
        self._timer = node.create_timer(POLL_PERIOD, self._poll, autostart=False,
                                        clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _serve(self, served: bool) -> None:
        """Add the input to what the executor asks its node for, or remove it."""
        raise NotImplementedError

    def _read(self) -> None:
        """Handle what was kept, as long as ``_budget_left``."""
        raise NotImplementedError

    def destroy(self) -> None:
        """End the timer; the input itself can be destroyed then."""
        if self.polling:
            self._stop_polling()
        self._node.destroy_timer(self._timer)

    def admit(self) -> bool:
        """Return whether what the executor brings may be handled now; else the timer does it."""
        if self.polling:
            return False
        if self._budget_left():
            return True
        self._start_polling()
        return False

    def _budget_left(self) -> bool:
        """Return whether any of the budget is left."""
        return self._budget.left(time.monotonic())

    def begin(self) -> float:
        """Return the processor time at which the work for one message begins."""
        return time.thread_time()  # without the time that other threads take

    def end(self, begin: float) -> None:
        """Charge the budget for the work that began at a processor time."""
        self._budget.spend(min(time.thread_time() - begin + OVERHEAD, self._max_cost))

    def _start_polling(self) -> None:
        """Take the input out of the executor, which asks its nodes what to wait for."""
        now = time.monotonic()
        first = now - self._until > _FIRST_PAUSE  # else the flood never ended
        self._pause = _FIRST_PAUSE if first else min(2.0 * self._pause, _LONGEST_PAUSE)
        self.polling, self._until = True, now + self._pause
        self._serve(False)
        self._node._wake_executor()
        self._timer.reset()
        if first:
            self._flooded()

    def _stop_polling(self) -> None:
        self.polling = False
        self._budget.cut()
        self._timer.cancel()
        self._serve(True)
        self._node._wake_executor()

    def _poll(self) -> None:
        """Take what the middleware has kept."""
        now = time.monotonic()
        if not self._budget_left():
            return
        self._read()
        if self.polling and now > self._until:
            self._stop_polling()
