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
An action server that cannot flood the control thread.

Its goals, cancellations and requests of results share one budget. While too many come, one of each
is taken at a time: a cancellation does not wait behind goals.
"""

from __future__ import annotations

from collections.abc import Callable

from rbd_ros.control.throttle import Budget
from rbd_ros.nodes.controller.bounded import Bounded
from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

__all__ = ['BoundedActionServer']

#: of the time of a processor: share, and s at once, that the requests may take
SHARE, BURST = 0.1, 0.05


class _RequestBudget(Bounded):
    """The budget of an action server."""

    def __init__(self, node: Node, server: BoundedActionServer, budget: Budget,
                 flooded: Callable[[], None]) -> None:
        super().__init__(node, budget, flooded)
        self._server = server

    def _serve(self, served: bool) -> None:
        (self._node.add_waitable if served else self._node.remove_waitable)(self._server)

    def _read(self) -> None:
        data = self._server.take_all()
        if data and self._node.executor is not None:
            self._node.executor.create_task(self._server.execute, data)


class BoundedActionServer(ActionServer):
    """An action server whose goals are executing until somebody ends them."""

    def __init__(self, node: Node, kind: type, name: str, flooded: Callable[[str], None],
                 **more: object) -> None:
        """
        Create the server.

        :param node: in an executor.
        :param kind: type of the action.
        :param name: of the action.
        :param flooded: gets a text when too many requests begin to come.
        :param more: what rclpy's own takes.
        """
        self._requests = _RequestBudget(node, self, Budget(SHARE, BURST), lambda: flooded(
            f'too many requests on {node.resolve_service_name(name)}: they would take more than '
            f'{100.0 * SHARE:g} % of a CPU. They are answered late, or not at all'))
        super().__init__(node, kind, name, **more)

    @property
    def known(self) -> int:
        """Return how many goals there are, those included whose results are kept."""
        return len(self._goal_handles)

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: object) -> None:
        """Answer a goal if there is something to answer; executing alone gives nothing."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def take_data(self) -> dict[str, object]:
        """Take what is ready, or leave it with the middleware if there is too much of it."""
        return super().take_data() if self._requests.admit() else {}

    def take_all(self) -> dict[str, object]:
        """Take one of each kind, ready or not."""
        self._is_goal_request_ready = self._is_cancel_request_ready = True
        self._is_result_request_ready = self._is_goal_expired = True
        return {kind: found for kind, found in super().take_data().items() if found}

    async def execute(self, taken_data: dict[str, object]) -> None:
        """Answer what was taken."""
        begin = self._requests.begin()
        try:
            await super().execute(taken_data)  # no callback of ours waits for anything
        finally:
            self._requests.end(begin)
