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
Inputs of which no flood can take the time of the loop.

Each message or request that an executor hands over costs the interpreter some time, wanted or
not. An input that costs more time than its budget allows is taken out of its executor: then the
middleware keeps the newest ones by itself, without the interpreter, and a timer reads them now and
then, within the budget. After a while the input is given back to the executor, to see whether the
flood has ended.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import time

from rbd_ros.control.repeats import Budget
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

__all__ = ['Bounded', 'OVERHEAD', 'POLL']

POLL = 0.01  # s between two looks while there are too many
OVERHEAD = 1e-4  # s that an executor takes to read one message
_AGAIN, _MOST = 1.0, 8.0  # s after which they are taken as they come again, if they go on


class Bounded:
    """An input that an executor serves while its budget lasts, and a timer beyond."""

    def __init__(self, node: Node, budget: Budget, flooded: Callable[[], object],
                 most: float = math.inf) -> None:
        """
        Start with all of the budget; kinds of inputs say how to be served and read.

        :param node: in an executor.
        :param budget: of processor time.
        :param flooded: called when too many begin to come.
        :param most: s that one message or request can cost; what takes longer is no flood.
        """
        self.polling = False  # more come than may
        self._node, self._flooded, self._dearest = node, flooded, most
        self._budget = budget
        self._again, self._until = _AGAIN, -math.inf  # s; steady time
        self._timer = node.create_timer(POLL, self._poll, autostart=False,
                                        clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _serve(self, served: bool) -> None:
        """Add the input to what the executor asks its node for, or remove it."""
        raise NotImplementedError

    def _read(self) -> None:
        """Handle what was kept, as long as ``_left``."""
        raise NotImplementedError

    def destroy(self) -> None:
        """End the timer; the input itself can be destroyed then."""
        if self.polling:
            self._give_back()
        self._node.destroy_timer(self._timer)

    def admit(self) -> bool:
        """Return whether what the executor brings may be handled now; else the timer does it."""
        if self.polling:
            return False
        if self._left():
            return True
        self._take_out()
        return False

    def _left(self) -> bool:
        """Return whether any of the budget is left."""
        return self._budget.left(time.monotonic())

    def begin(self) -> float:
        """Return when the work for one message begins."""
        return time.thread_time()  # not what others take meanwhile

    def end(self, begin: float) -> None:
        """Pay for the work that began at a time."""
        self._budget.spend(min(time.thread_time() - begin + OVERHEAD, self._dearest))

    def _take_out(self) -> None:
        """Take the input out of the executor, which asks its nodes what to wait for."""
        now = time.monotonic()
        first = now - self._until > _AGAIN  # else they have gone on all the time
        self._again = _AGAIN if first else min(2.0 * self._again, _MOST)
        self.polling, self._until = True, now + self._again
        self._serve(False)
        self._node._wake_executor()
        self._timer.reset()
        if first:
            self._flooded()

    def _give_back(self) -> None:
        self.polling = False
        self._budget.cut()
        self._timer.cancel()
        self._serve(True)
        self._node._wake_executor()

    def _poll(self) -> None:
        """Take what the middleware has kept."""
        now = time.monotonic()
        if not self._left():
            return
        self._read()
        if self.polling and now > self._until:
            self._give_back()
