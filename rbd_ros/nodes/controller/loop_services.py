# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Services by which the control loop is asked for something, and answers for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading
from typing import Any, NamedTuple, TYPE_CHECKING

from rbd_ros.control.interface.words import SessionWord
from rbd_ros.nodes.controller.bounded_services import BoundedService
from rbd_ros.nodes.controller.responses import Responder
from std_srvs.srv import SetBool, Trigger

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller
    from rclpy.node import Node

__all__ = ['ask_loop', 'LoopService', 'Offer', 'offered_services', 'PAUSE', 'Reply', 'TARE']

#: s that the control loop may take to answer
_LIMIT = 2.0


class Reply(NamedTuple):
    """What a service answers."""

    success: bool
    message: str


def ask_loop(controller: Controller, ask: Callable[[float, float], str]) -> Reply:
    """
    Have something done in the control thread and wait for it.

    :param controller: of the configured robot.
    :param ask: gets control and steady time, and returns the reason of a refusal, or nothing.
    """
    done, late = threading.Event(), threading.Event()
    reply = [Reply(False, SessionWord.NO_ANSWER.text(a=_LIMIT))]

    def request(now: float, steady: float) -> None:
        if late.is_set():
            return
        try:
            refused = ask(now, steady)
            reply[0] = Reply(not refused, refused or controller.answer)
        except Exception as error:
            reply[0] = Reply(False, repr(error))
            raise
        finally:
            done.set()
    controller.post(request)
    if not done.wait(_LIMIT):
        late.set()  # what was said to fail must not happen later
    return reply[0]


@dataclass(frozen=True)
class Offer:
    """
    What a service offers.

    :param kind: type of the service; its response has ``success`` and ``message``.
    :param name: of the service.
    :param ask: what is done in the control thread for a request, at control and steady time;
        returns the reason of a refusal, or nothing.
    """

    kind: type
    name: str
    ask: Callable[[Controller, Any, float, float], str]


#: lets a trajectory rest on its way, and go on
PAUSE = Offer(
    SetBool, '~/pause',
    lambda controller, request, now, steady: controller.pause(now, steady, request.data))

#: finds the bias of the force-torque sensor; nothing moves
TARE = Offer(Trigger, '~/tare_force_torque',
             lambda controller, _, now, steady: controller.tare(now, steady))


class LoopService:
    """Serve one configured robot."""

    def __init__(self, node: Node, controller: Controller, offer: Offer) -> None:
        """
        Offer the service.

        :param node: the lifecycle node.
        :param controller: of the configured robot.
        :param offer: what it is.
        """
        self._node, self._controller, self._offer = node, controller, offer
        warn = node.get_logger().warning
        self._service = node.create_service(offer.kind, offer.name, self._on_request)
        self._bounded = BoundedService(node, self._service, warn, Responder(warn))

    def destroy(self) -> None:
        """End serving."""
        self._bounded.destroy()
        self._node.destroy_service(self._service)

    def _on_request(self, request: Any, response: Any) -> Any:
        controller, offer = self._controller, self._offer
        response.success, response.message = ask_loop(
            controller, lambda now, steady: offer.ask(controller, request, now, steady))
        self._node.get_logger().info(f'{offer.name}: {response.message}')
        return response


def offered_services(node: Node, controller: Controller) -> list[LoopService]:
    """
    Offer what there is for a robot.

    :param node: the lifecycle node.
    :param controller: of the configured robot.
    """
    offers = (PAUSE, TARE) if controller.settings.robot.sensor else (PAUSE,)
    return [LoopService(node, controller, each) for each in offers]
