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

"""The service that finds the bias of the force-torque sensor; nothing moves."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rbd_ros.nodes.controller.bounded_services import BoundedService
from rbd_ros.nodes.controller.responses import Responder
from rclpy.service import Service
from std_srvs.srv import Trigger

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller
    from rclpy.node import Node

__all__ = ['SensorService', 'TARE']

#: name of the service
TARE = '~/tare_force_torque'

#: s that the control loop may take to answer
_LIMIT = 2.0


class SensorService:
    """Serve one configured robot, if it has a sensor."""

    def __init__(self, node: Node, controller: Controller) -> None:
        """
        Offer the service.

        :param node: the lifecycle node.
        :param controller: of the configured robot.
        """
        self._node, self._controller = node, controller
        self._service: Service | None = None
        self._bounded: BoundedService | None = None
        if controller.settings.robot.sensor:
            warn = node.get_logger().warning
            self._service = node.create_service(Trigger, TARE, self._on_tare)
            self._bounded = BoundedService(node, self._service, warn, Responder(warn))

    def destroy(self) -> None:
        """End serving."""
        if self._bounded is not None:
            self._bounded.destroy()
        if self._service is not None:
            self._node.destroy_service(self._service)

    def _on_tare(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        controller, done, late = self._controller, threading.Event(), threading.Event()
        refused = [f'the control loop has not answered within {_LIMIT:g} s']

        def request(now: float, steady: float) -> None:
            if late.is_set():
                return
            try:
                refused[0] = controller.tare(now, steady)
            except Exception as error:
                refused[0] = repr(error)
                raise
            finally:
                done.set()
        controller.post(request)
        if not done.wait(_LIMIT):
            late.set()  # what was said to fail must not happen later
        response.success = not refused[0]
        response.message = refused[0] or _found(controller)
        self._node.get_logger().info(f'{TARE}: {response.message}')
        return response


def _found(controller: Controller) -> str:
    """Return the bias as the parameters have it."""
    bias = controller.p.sensor.sign * controller.x.sensor.bias
    force, moment = (', '.join(f'{x:.6g}' for x in part) for part in (bias[3:], bias[:3]))
    return f'force_torque.force_bias: [{force}], force_torque.moment_bias: [{moment}]'
