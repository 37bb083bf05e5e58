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

from typing import TYPE_CHECKING

from rbd_ros.nodes.controller.bounded_services import BoundedService
from rbd_ros.nodes.controller.loop_answers import ask_loop
from rbd_ros.nodes.controller.responses import Responder
from rclpy.service import Service
from std_srvs.srv import Trigger

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller
    from rclpy.node import Node

__all__ = ['SensorService', 'TARE']

#: name of the service
TARE = '~/tare_force_torque'


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
        controller = self._controller
        refused = ask_loop(controller, controller.tare)
        response.success = not refused
        response.message = refused or _found(controller)
        self._node.get_logger().info(f'{TARE}: {response.message}')
        return response


def _found(controller: Controller) -> str:
    """Return the bias as the parameters have it."""
    bias = controller.p.sensor.sign * controller.x.sensor.bias
    force, moment = (', '.join(f'{x:.6g}' for x in part) for part in (bias[3:], bias[:3]))
    return f'force_torque.force_bias: [{force}], force_torque.moment_bias: [{moment}]'
