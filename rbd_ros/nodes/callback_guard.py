# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Guards around callbacks: an exception is logged and handled, and ends no executor.

An exception that escapes a callback ends the executor that runs it. From an action server it even
ends the process, silently and with the last torque still applied. The nodes here therefore wrap
each callback when it is created, so that none can be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import threading
import time
import traceback
from typing import TypeVar

from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer

__all__ = ['DEEP', 'Guard', 'GuardedNode', 'last_line']

Message = TypeVar('Message')
Entity = TypeVar('Entity')

#: of services: requests that come while a callback takes long, and their answers, are kept. Of
#: more than 10 the middleware would drop the oldest ones, and nobody would answer them
DEEP = QoSProfile(depth=200)

#: s within which the same exception is logged once
_REPEAT_AFTER = 10.0


def last_line(trace: str) -> str:
    """
    Return what a traceback ends with: kind and text of the exception.

    :param trace: traceback.
    """
    return trace.strip().splitlines()[-1]


class Guard:
    """Wraps callbacks of one node."""

    def __init__(self, failed: Callable[[str], None], log: Callable[[str], None],
                 lock: threading.RLock | None = None) -> None:
        """
        Set how exceptions are handled.

        :param failed: called with the traceback; must stop the robot.
        :param log: called with a text for the log, once in ten seconds for the same exception.
        :param lock: held while a callback runs, if another thread creates and destroys entities.
        """
        self._failed, self._log = failed, log
        self._lock = lock or contextlib.nullcontext()
        self._times: dict[str, float] = {}

    def report_exception(self, what: str) -> str:
        """
        Handle the current exception: log it and stop the robot.

        :param what: where it was raised.
        :returns: kind and text of the exception.
        """
        trace = traceback.format_exc()
        text = last_line(trace)
        now = time.monotonic()
        if now - self._times.get(what + text, -_REPEAT_AFTER) >= _REPEAT_AFTER:
            self._times[what + text] = now
            self._log(f'exception in {what}, the robot is stopped:\n{trace}')
        self._failed(trace)
        return text

    def timer(self, callback: Callable[[], object]) -> Callable[[], None]:
        """
        Wrap the callback of a timer.

        :param callback: without arguments.
        """
        def guarded() -> None:
            with self._lock:
                try:
                    callback()
                except Exception:
                    self.report_exception(_name(callback))
        return guarded

    def subscription(self, callback: Callable[[Message], object]) -> Callable[[Message], None]:
        """
        Wrap the callback of a subscription.

        :param callback: gets a message.
        """
        def guarded(message: Message) -> None:  # one argument: rclpy counts them
            with self._lock:
                try:
                    callback(message)
                except Exception:
                    self.report_exception(_name(callback))
        return guarded

    def service(self, callback: Callable[..., object]) -> Callable[[object, object], object]:
        """
        Wrap the callback of a service; its answer after an exception is a refusal.

        :param callback: gets request and response, returns the response.
        """
        def guarded(request: object, response: object) -> object:
            with self._lock:
                try:
                    return callback(request, response)
                except Exception:
                    text = self.report_exception(_name(callback))
                    for field, value in (('success', False), ('message', text)):
                        if hasattr(response, field):
                            setattr(response, field, value)
                    return response
        return guarded


class GuardedNode(Node):
    """A node that guards every callback when it is created."""

    guard: Guard  # set before Node.__init__, which creates services itself

    #: executor that spins with this node; None before and after
    served_by: Executor | None = None

    def create_timer(self, period: float, callback: Callable[[], object],
                     **more: object) -> Timer:
        """Create a timer with a guarded callback."""
        return super().create_timer(period, self.guard.timer(callback), **more)

    def create_service(self, kind: type, name: str, callback: Callable[..., object],
                       **more: object) -> Service:
        """Create a service with a guarded callback."""
        more.setdefault('qos_profile', DEEP)
        return super().create_service(kind, name, self.guard.service(callback), **more)

    def create_subscription(self, kind: type, topic: str, callback: Callable[..., object],
                            qos_profile: QoSProfile | int, **more: object) -> Subscription:
        """Create a subscription with a guarded callback; a raw callback guards itself."""
        if not more.get('raw'):  # raw is the loop: one call less
            callback = self.guard.subscription(callback)
        return super().create_subscription(kind, topic, callback, qos_profile, **more)

    def destroy_timer(self, timer: Timer) -> bool:
        """Destroy a timer; it no longer fires, even if its destruction has to wait."""
        timer.cancel()
        return self._destroy_in_executor(super().destroy_timer, timer)

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Destroy a subscription."""
        return self._destroy_in_executor(super().destroy_subscription, subscription)

    def destroy_publisher(self, publisher: Publisher) -> bool:
        """Destroy a publisher."""
        return self._destroy_in_executor(super().destroy_publisher, publisher)

    def _destroy_in_executor(self, destroy: Callable[[Entity], bool], entity: Entity) -> bool:
        """
        Destroy an entity in the thread of the executor, which may be using it at this moment.

        An entity destroyed while the executor uses it ends the executor, and with it the process.
        """
        if self.served_by is None:
            return destroy(entity)
        self.served_by.create_task(destroy, entity)
        return True


def _name(callback: Callable[..., object]) -> str:
    return getattr(callback, '__qualname__', repr(callback)).replace('.<locals>', '')
