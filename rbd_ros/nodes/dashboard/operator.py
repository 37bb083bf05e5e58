# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a person can send from the page; without permission, nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
import math
import threading
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rbd_ros.nodes.dashboard.simulated_only import is_simulated
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

if TYPE_CHECKING:
    from rclpy.client import Client
    from rclpy.node import Node
    from rclpy.publisher import Publisher
    from rclpy.task import Future

__all__ = ['VIEW_ONLY', 'Operator']

VIEW_ONLY = 'Nothing is sent: allow_commands is false, so this page only watches.'
ANSWER_TIMEOUT = 5.0  # s to wait for an answer
SET_POINT_AHEAD = 60_000_000  # ns until a set-point is due: one and a half pictures
LOOK_PERIOD = 0.1  # s for which it is known who moves the robot: the page asks several times
MAX_PENDING = 20  # requests whose answers are waited for; the oldest makes room


class _Request(NamedTuple):
    """A request that was sent."""

    client: Client
    future: Future
    what: str  # in words; empty: nobody asked for it
    end: float  # steady time until which it is waited for


class Operator:
    """
    Send commands to a controller and to a simulator.

    :param node: gives publishers and clients.
    :param controller: name of the controller.
    :param simulator: name of the simulator.
    :param allowed: whether anything may be sent; if not, there is not even a publisher.
    :param joint_states: topic of the robot.
    """

    def __init__(self, node: Node, controller: str, simulator: str, *, allowed: bool,
                 joint_states: str = 'joint_states') -> None:
        self._node, self.allowed = node, allowed
        self._ends = f'{controller}/commands', joint_states, simulator
        self._simulated, self._looked = False, -math.inf  # and when, a steady time
        self.answer = '' if allowed else VIEW_ONLY  # what became of the last command
        self._sent: deque[_Request] = deque()
        self._lock = threading.Lock()  # buttons are pressed in threads of the page
        if not allowed:
            return
        self._target = _Reference(node, PoseStamped, f'{controller}/target_pose')
        self._set_point = _Reference(node, JointTrajectory, f'{controller}/joint_trajectory')
        self._wrench = node.create_publisher(WrenchStamped, f'{simulator}/wrench', 1)
        self._parameters = node.create_client(SetParameters, f'{controller}/set_parameters')
        self._stop = node.create_client(Trigger, f'{controller}/stop')
        self._reset = node.create_client(Trigger, f'{controller}/reset')
        self._pause = node.create_client(SetBool, f'{simulator}/pause')
        self._home = node.create_client(Trigger, f'{simulator}/reset')

    def set(self, values: Mapping[str, Any]) -> None:
        """Set parameters of the controller, by name."""
        if self.allowed:
            messages = [Parameter(name, value=value).to_parameter_msg()
                        for name, value in values.items()]
            self._call(self._parameters, SetParameters.Request(parameters=messages),
                       ', '.join(f'{name} {_plain(value)}' for name, value in values.items()))

    def expire(self) -> None:
        """Give up answers that are overdue; to be called from time to time."""
        with self._lock:
            while self._sent and (self._sent[0].future.done()
                                  or self._sent[0].end < time.monotonic()):
                oldest = self._forget()
                if not oldest.future.done() and self.answer == f'{oldest.what}: sent':
                    self.answer = f'{oldest.what}: no answer from {oldest.client.srv_name}'

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

    @property
    def simulated(self) -> bool:
        """Return whether the robot that moves is a simulated one, or was just now."""
        if self.allowed and time.monotonic() > self._looked + LOOK_PERIOD:
            self._simulated = is_simulated(
                self._node, *map(self._node.resolve_topic_name, self._ends))
            self._looked = time.monotonic()
        return self._simulated

    def home(self) -> None:
        """Put the simulated robot back to where it started."""
        if self.allowed:
            self._call(self._home, Trigger.Request(), 'back to the start pose')

    def aim(self, on: bool) -> None:
        """
        Get ready to send targets, or leave the topic to others.

        The controller drops the targets of two publishers: whoever does not drag must not be one.
        """
        if self.allowed:
            self._target.switch(on)

    def steer(self, on: bool) -> None:
        """Get ready to send set-points of the joints, or leave the topic to others."""
        if self.allowed:
            self._set_point.switch(on)

    @property
    def is_crowded(self) -> bool:
        """Return whether somebody else publishes set-points or trajectories of the joints."""
        return self.allowed and self._set_point.is_crowded

    @property
    def is_aim_crowded(self) -> bool:
        """Return whether somebody else publishes targets of the controlled frame."""
        return self.allowed and self._target.is_crowded

    def set_point(self, joints: Sequence[str], positions: Sequence[float]) -> None:
        """
        Send one set-point of a stream.

        :param joints: names of all that the controller commands.
        :param positions: of each.
        """
        if self.allowed:
            # due soon: the controller passes it at an even speed, and stops there without the next
            point = JointTrajectoryPoint(positions=positions, time_from_start=Duration(
                nanosec=SET_POINT_AHEAD))
            self._set_point.publish(JointTrajectory(joint_names=list(joints), points=[point]))

    def hold(self, joints: Sequence[str]) -> None:
        """
        Have the controller come to rest, whatever set-point it is on the way to.

        :param joints: names of all that the controller commands.
        """
        if self.allowed:
            self._set_point.publish(JointTrajectory(joint_names=list(joints)))

    def target(self, position: Sequence[float], wxyz: Sequence[float]) -> None:
        """Send a target pose of the controlled frame, in the base."""
        if self.allowed:
            message = PoseStamped()
            message.header.stamp = self._node.get_clock().now().to_msg()
            place, turn = message.pose.position, message.pose.orientation
            place.x, place.y, place.z = map(float, position)
            turn.w, turn.x, turn.y, turn.z = map(float, wxyz)
            self._target.publish(message)

    def push(self, frame: str, force: Sequence[float],
             torque: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """
        Push a frame of the simulated robot at its origin.

        :param frame: its name.
        :param force: N along its axes.
        :param torque: N.m about its axes.
        """
        if self.allowed:
            message = WrenchStamped()
            message.header.frame_id = frame
            to, about = message.wrench.force, message.wrench.torque
            to.x, to.y, to.z = map(float, force)
            about.x, about.y, about.z = map(float, torque)
            self._wrench.publish(message)

    def _call(self, client: Client, request: Any, what: str) -> None:
        if not client.service_is_ready():
            self.answer = f'{what}: not sent, {client.srv_name} does not answer'
            return
        self.answer = f'{what}: sent'

        def done(future: Any) -> None:
            self.answer = f'{what}: {outcome(future)}'

        self._send(client, request, what, done)

    def _send(self, client: Client, request: Any, what: str,
              done: Callable[[Any], None]) -> None:
        self.expire()
        future = client.call_async(request)
        with self._lock:
            if len(self._sent) >= MAX_PENDING:
                self._forget()
            self._sent.append(_Request(client, future, what, time.monotonic() + ANSWER_TIMEOUT))
        future.add_done_callback(done)

    def _forget(self) -> _Request:
        """Let go of the oldest request, which is returned; rclpy would keep it for ever."""
        oldest = self._sent.popleft()
        if not oldest.future.done():
            oldest.client.remove_pending_request(oldest.future)
        return oldest


class _Reference:
    """
    A topic of references, on which there is a publisher only while it is switched on.

    :param node: gives the publisher.
    :param kind: of its messages.
    :param topic: its name.
    """

    def __init__(self, node: Node, kind: Any, topic: str) -> None:
        self._node, self._kind, self._topic = node, kind, topic
        self._publisher: Publisher[Any] | None = None
        self._lock = threading.Lock()  # it is switched in threads of the page

    def switch(self, on: bool) -> None:
        """Make the publisher, or take it away."""
        with self._lock:
            if on and self._publisher is None:
                self._publisher = self._node.create_publisher(self._kind, self._topic, 1)
            elif not on and self._publisher is not None:
                self._node.destroy_publisher(self._publisher)
                self._publisher = None

    @property
    def is_crowded(self) -> bool:
        """Return whether there are other publishers."""
        return self._node.count_publishers(self._topic) > (self._publisher is not None)

    def publish(self, message: Any) -> None:
        """Send a message, if it is switched on."""
        with self._lock:
            if self._publisher is not None:
                self._publisher.publish(message)


def _plain(value: Any) -> str:
    """Return a value in words: a list as its numbers."""
    return ', '.join(f'{x:g}' for x in value) if isinstance(value, list) else str(value)


def outcome(future: Any) -> str:
    """Return what a service answered, in words."""
    if future.exception() is not None:
        return str(future.exception())
    response = future.result()
    if hasattr(response, 'results'):
        reasons = [result.reason for result in response.results if not result.successful]
        return f'refused: {"; ".join(reasons)}' if reasons else 'set'
    return response.message or ('done' if response.success else 'refused')
