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

"""The service that lets a trajectory rest on its way and go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_ros.nodes.controller.bounded_services import BoundedService
from rbd_ros.nodes.controller.loop_answers import ask_loop
from rbd_ros.nodes.controller.responses import Responder
from std_srvs.srv import SetBool

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller
    from rclpy.node import Node

__all__ = ['PAUSE', 'PauseService']

#: name of the service
PAUSE = '~/pause'


class PauseService:
    """Serve one configured robot."""

    def __init__(self, node: Node, controller: Controller) -> None:
        """
        Offer the service.

        :param node: the lifecycle node.
        :param controller: of the configured robot.
        """
        self._node, self._controller = node, controller
        warn = node.get_logger().warning
        self._service = node.create_service(SetBool, PAUSE, self._on_pause)
        self._bounded = BoundedService(node, self._service, warn, Responder(warn))

    def destroy(self) -> None:
        """End serving."""
        self._bounded.destroy()
        self._node.destroy_service(self._service)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        controller = self._controller
        refused = ask_loop(controller, lambda now, steady: controller.pause(
            now, steady, request.data))
        response.success = not refused
        response.message = refused or (
            'the trajectory comes to rest on its path' if request.data
            else 'the trajectory goes on')
        self._node.get_logger().info(f'{PAUSE}: {response.message}')
        return response
