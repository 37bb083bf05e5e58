# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Services that cannot flood Python's threads.

Each service of a node has a budget of its own, so that a flood on one does not make another one
wait. While too many requests come, they are answered late; the middleware drops those for which
it has no room, and those clients get no answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rbd_ros.control.throttle import Budget
from rbd_ros.nodes.controller.bounded import Bounded
from rbd_ros.nodes.controller.responses import Responder
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.service import Service

__all__ = ['BoundedService', 'NO_TYPE_DESCRIPTIONS', 'bound_services']

#: for nodes that have no business with services of rclpy's own
NO_TYPE_DESCRIPTIONS = Parameter('start_type_description_service', value=False)

#: of the time of a processor: share, and s at once, that the requests of one service may take
SHARE, BURST = 0.05, 0.05

_MAX_COST = 0.005  # s charged for one request at most: a long configuration is no flood
_DEPTH = 10  # requests kept that the executor had taken already


class BoundedService(Bounded):
    """A service whose requests are bounded per second."""

    def __init__(self, node: Node, service: Service, flooded: Callable[[str], object],
                 responder: Responder) -> None:
        """
        Put itself between the executor and a service.

        :param node: has the service, and an executor.
        :param service: of rclpy.
        :param flooded: gets a text when too many begin to come.
        :param responder: sends the responses.
        """
        name = service.srv_name
        super().__init__(node, Budget(SHARE, BURST), lambda: flooded(
            f'too many requests on {name}: they would take more than {100.0 * SHARE:g} % of a '
            'CPU. They are answered late, or not at all'), _MAX_COST)
        self._service, self._responder = service, responder
        self._callback, self._plain_send = service.callback, service.send_response
        self._waiting: deque[tuple[object, object]] = deque(maxlen=_DEPTH)  # request, its header
        # The executors of rclpy ask the service for both with each request.
        service.callback, service.send_response = self._take, self._answer

    def _take(self, request: object, response: object) -> object:
        """Return the response to a request, or the request itself if it has to wait."""
        if not self.admit():
            return request
        begin = self.begin()
        try:
            return self._callback(request, response)
        finally:
            self.end(begin)

    def _answer(self, response: object, header: object) -> None:
        """Send a response, or keep the request."""
        if isinstance(response, self._service.srv_type.Request):
            self._waiting.append((response, header))
        else:
            self._send(response, header)

    def _send(self, response: object, header: object) -> None:
        if not self._responder.send(self._service, response, header):
            self._plain_send(response, header)

    def _serve(self, served: bool) -> None:
        services = self._node._services
        (services.append if served else services.remove)(self._service)

    def _read(self) -> None:
        service = self._service
        while self._budget_left():
            if self._waiting:
                request, header = self._waiting.popleft()
            else:
                with service.handle:
                    request, header = service.handle.service_take_request(
                        service.srv_type.Request)
            if request is None:
                return
            begin = self.begin()
            try:
                self._send(self._callback(request, service.srv_type.Response()), header)
            finally:
                self.end(begin)


def bound_services(node: Node, warn: Callable[[str], object]) -> list[BoundedService]:
    """
    Bound each service of a node, also those that rclpy made by itself.

    :param node: with its services.
    :param warn: gets a text when too many requests begin to come, or a client has gone.
    """
    responder = Responder(warn)
    return [BoundedService(node, service, warn, responder) for service in list(node._services)]
