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
"""What a person can send from the page; without permission, nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import InertiaStamped, PoseStamped, WrenchStamped
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import SetBool, Trigger

if TYPE_CHECKING:
    from rclpy.client import Client
    from rclpy.node import Node
    from rclpy.publisher import Publisher

__all__ = ['Operator', 'WATCHES']

WATCHES = 'Nothing is sent: allow_commands is false, this page only watches.'


class Operator:
    """
    Send commands to a controller and to a simulator.

    :param node: gives publishers and clients.
    :param controller: name of the controller.
    :param simulator: name of the simulator.
    :param allowed: whether anything may be sent; if not, there is not even a publisher.
    """

    def __init__(self, node: Node, controller: str, simulator: str, *, allowed: bool) -> None:
        self._node, self.allowed = node, allowed
        self.answer = '' if allowed else WATCHES  # what became of the last command
        if not allowed:
            return
        self._target_topic = f'{controller}/target_pose'
        self._target: Publisher[PoseStamped] | None = None
        self._load = node.create_publisher(InertiaStamped, f'{controller}/payload', 1)
        self._wrench = node.create_publisher(WrenchStamped, f'{simulator}/wrench', 1)
        self._values = node.create_client(GetParameters, f'{controller}/get_parameters')
        self._parameters = node.create_client(SetParameters, f'{controller}/set_parameters')
        self._stop = node.create_client(Trigger, f'{controller}/stop')
        self._reset = node.create_client(Trigger, f'{controller}/reset')
        self._pause = node.create_client(SetBool, f'{simulator}/pause')

    def set(self, name: str, value: Any) -> None:
        """Set a parameter of the controller."""
        if self.allowed:
            message = Parameter(name, value=value).to_parameter_msg()
            self._call(self._parameters, SetParameters.Request(parameters=[message]),
                       f'{name} {value}')

    def read(self, names: Sequence[str], take: Callable[[dict[str, Any]], None]) -> bool:
        """
        Ask the controller for parameters.

        :param take: gets their values by name, in the thread of the node.
        :returns: whether it could be asked.
        """
        if not self.allowed or not self._values.service_is_ready():
            return False

        def done(future: Any) -> None:
            if future.exception() is None:
                values = map(parameter_value_to_python, future.result().values)
                take(dict(zip(names, values, strict=False)))

        self._values.call_async(GetParameters.Request(names=names)).add_done_callback(done)
        return True

    def stop(self) -> None:
        """Brake and hold."""
        if self.allowed:
            self._call(self._stop, Trigger.Request(), 'stop')

    def reset(self) -> None:
        """Clear faults and ramp in again."""
        if self.allowed:
            self._call(self._reset, Trigger.Request(), 'reset')

    def pause(self, paused: bool) -> None:
        """Stop the time of the simulator, or let it go on."""
        if self.allowed:
            self._call(self._pause, SetBool.Request(data=paused),
                       'pause' if paused else 'continue')

    def aim(self, on: bool) -> None:
        """
        Get ready to send targets, or leave the topic to others.

        The controller drops the targets of two publishers: whoever does not drag must not be one.
        """
        if self.allowed and on and self._target is None:
            self._target = self._node.create_publisher(PoseStamped, self._target_topic, 1)
        elif not on and self.allowed and self._target is not None:
            self._node.destroy_publisher(self._target)
            self._target = None

    def target(self, position: Sequence[float], wxyz: Sequence[float]) -> None:
        """Send a target pose of the controlled frame, in the base."""
        if self.allowed and self._target is not None:
            message = PoseStamped()
            message.header.stamp = self._node.get_clock().now().to_msg()
            place, turn = message.pose.position, message.pose.orientation
            place.x, place.y, place.z = map(float, position)
            turn.w, turn.x, turn.y, turn.z = map(float, wxyz)
            self._target.publish(message)

    def push(self, frame: str, force: Sequence[float]) -> None:
        """Push a frame of the simulated robot, N along its axes."""
        if self.allowed:
            message = WrenchStamped()
            message.header.frame_id = frame
            to = message.wrench.force
            to.x, to.y, to.z = map(float, force)
            self._wrench.publish(message)

    def payload(self, mass: float) -> None:
        """Give the controller a point mass at its payload frame."""
        if self.allowed:
            message = InertiaStamped()
            message.inertia.m = float(mass)
            self._load.publish(message)
            self.answer = f'payload {mass:g} kg: sent'

    def _call(self, client: Client, request: Any, what: str) -> None:
        if not client.service_is_ready():
            self.answer = f'{what}: not sent, {client.srv_name} does not answer'
            return
        self.answer = f'{what}: sent'

        def done(future: Any) -> None:
            self.answer = f'{what}: {outcome(future)}'

        client.call_async(request).add_done_callback(done)


def outcome(future: Any) -> str:
    """Return what a service answered, in words."""
    if future.exception() is not None:
        return str(future.exception())
    response = future.result()
    if hasattr(response, 'results'):
        result = response.results[0]
        return 'set' if result.successful else f'refused: {result.reason}'
    return response.message or ('done' if response.success else 'refused')
