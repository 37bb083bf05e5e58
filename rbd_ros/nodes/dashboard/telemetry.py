# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the dashboard knows: the last message of each topic, and short histories for the plots."""

from __future__ import annotations

from collections import deque
import math
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from action_msgs.msg import GoalStatusArray
from control_msgs.msg import JointTrajectoryControllerState
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
from rbd_ros.model.positions import neutral
from rbd_ros.nodes.dashboard.event_reports import ContactReports, GoalReports
from rbd_ros.nodes.dashboard.mailbox import Mailroom
from rbd_ros.nodes.dashboard.timeline import Timeline
from rbd_ros.nodes.diagnostic_names import (
    BALANCE, CONTACT, JOINT_STATES, LATENCY, RATE, REFERENCE, SUPERVISOR)
from rbd_ros.quoting import one_line
from rbd_ros.view.torques import Motion
from rbd_ros.wire.reading import JointStateReader, read_force, read_plain_array
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String, UInt8MultiArray
from visualization_msgs.msg import Marker, MarkerArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from rbd_ros.model.model import Model
    from rclpy.node import Node

    Array = NDArray[np.float64]

__all__ = ['BasePose', 'History', 'LATCHED', 'Obstacle', 'STALE_AFTER', 'Telemetry']

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STALE_AFTER = 3.0  # s without a message after which its sender counts as gone
HISTORY_LENGTH = 300  # entries of a history
MOST_MARKERS = 1000  # arrows or boxes that are drawn
COMPLAINT_PERIOD, LONGEST_REASON = 5.0, 200  # s and characters, about what cannot be read
MOST_WAITING = 500  # states, or commands, that wait for the next picture
_LEVELS = {0: 'OK', 1: 'warning', 2: 'error', 3: 'stale'}


class History:
    """The last values of a number, with the times at which they came."""

    def __init__(self) -> None:
        self._entries: deque[tuple[float, float]] = deque(maxlen=HISTORY_LENGTH)

    def add(self, value: float) -> None:
        """Append a value that came now."""
        self._entries.append((time.monotonic(), value))

    def arrays(self) -> tuple[Array, Array]:
        """Return times, s from now, and values; one entry of zero where there are none."""
        now = time.monotonic()
        t, x = np.array(list(self._entries) or [(now, 0.0)]).T
        return t - now, x


class Obstacle(NamedTuple):
    """A box in the base frame, m; quaternion w, x, y, z; red, green, blue from 0 to 255."""

    size: tuple[float, float, float]
    position: tuple[float, float, float]
    wxyz: tuple[float, float, float, float]
    colour: tuple[int, int, int]


class BasePose(NamedTuple):
    """Where a floating base is in the world, m; quaternion w, x, y, z."""

    link: str
    position: tuple[float, float, float]
    wxyz: tuple[float, float, float, float]


class Telemetry:
    """
    Subscribe to what a controller and a driver publish, and keep the newest of it.

    What comes at the rate of the loop waits until the page looks; what is rare calls back.

    :param node: gives the subscriptions.
    :param controller: name of the controller, relative or absolute.
    :param simulator: name of the simulator; a real robot has none.
    :param namespace: of the joint states; empty: that of the node.
    """

    def __init__(self, node: Node, controller: str, simulator: str, *,
                 namespace: str = '') -> None:
        within = f'{namespace}/' if namespace else ''
        #: full names of the controller and of the topic of joint states
        self.controller = node.resolve_topic_name(controller)
        self.joint_states = node.resolve_topic_name(f'{within}joint_states')
        self.state, self.mode, self.fault = '', '', ''
        self.positions: dict[str, float] = {}
        #: where joints are that nobody publishes, as the controller was told
        self.fixed: Mapping[str, float] = {}
        self.velocities: dict[str, float] = {}
        self.efforts: dict[str, float] = {}
        self.command: tuple[float, ...] = ()
        self.saturation: tuple[int, ...] = ()
        self.force: Array = np.zeros(3)  # external, along the axes of the controlled frame, N
        self.contacts: Array = np.zeros((0, 2, 3))  # both ends of each arrow, in the base, m
        self.obstacles: list[Obstacle] = []
        self.base: BasePose | None = None  # None: the base is fixed, or nobody says where it is
        self.diagnostics: dict[str, tuple[str, str]] = {}
        self.rate, self.latency = History(), History()
        #: What the controller follows, by joint; empty: nothing.
        self.reference_positions: dict[str, float] = {}
        self.reference_velocities: dict[str, float] = {}
        self.timeline = Timeline()
        self._contacts, self._goals = ContactReports(self.timeline), GoalReports(self.timeline)
        self.motion = Motion()  # for the torque that the model predicts
        self._plotted = {RATE: self.rate, LATENCY: self.latency}
        self._received: dict[str, float] = {}
        self._last: dict[tuple[str, ...], tuple[Any, Any, Any]] = {}  # states not kept yet
        self._count, self._since = 0, time.monotonic()
        self._name = node.resolve_topic_name(controller).strip('/')  # as in /diagnostics
        #: of the node that holds a robot on legs, in the place of the controller
        self._balance = f'{node.resolve_topic_name(f"{within}stand").strip("/")}: {BALANCE}'
        self._log = node.get_logger()
        for name in ('state', 'mode', 'fault'):
            node.create_subscription(
                String, f'{controller}/{name}',
                lambda message, name=name: setattr(self, name, message.data), LATCHED)
        rare: list[tuple[Any, str, Callable[[Any], None], QoSProfile | int]] = [
            (UInt8MultiArray, f'{controller}/saturation', self.on_saturation, LATCHED),
            (MarkerArray, f'{simulator}/contact_markers', self.on_contacts, 10),
            (MarkerArray, f'{simulator}/scene', self.on_scene, LATCHED),
            (DiagnosticArray, '/diagnostics', self.on_diagnostics, 10),
            (GoalStatusArray, f'{controller}/follow_joint_trajectory/_action/status',
             self._goals.take, LATCHED)]
        for kind, topic, take, quality in rare:
            node.create_subscription(kind, topic, self._sound(topic, take), quality)
        self._room = room = Mailroom(node, within.replace('/', '_'))
        self._reader = JointStateReader()
        self._states = room.open(JointState, f'{within}joint_states', MOST_WAITING)
        self._command_topic = f'{controller}/commands'
        self._commands = room.open(Float64MultiArray, self._command_topic)
        self._newest = [
            (room.open(kind, topic), self._sound(topic, read)) for kind, topic, read in (
                (WrenchStamped, f'{controller}/external_wrench', self._read_wrench),
                (JointTrajectoryControllerState, f'{controller}/controller_state',
                 self._read_reference),
                (Odometry, f'{simulator}/odometry', self._read_odometry))]

    def _sound(self, topic: str, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """
        Return what hands over messages of others, and leaves out those that cannot be read.

        Bytes that are no message, or numbers that nobody can draw, must not end the page of one
        who is jogging; whatever fails here was caused by what came.
        """
        def taken(message: Any) -> None:
            try:
                take(message)
            except Exception as error:
                self._log.warning(
                    f'a message on {topic} cannot be read and is left out: '
                    f'{type(error).__name__}: {one_line(str(error))[:LONGEST_REASON]}',
                    throttle_duration_sec=COMPLAINT_PERIOD)
        return taken

    def close(self) -> None:
        """Give up the mailboxes; the subscriptions end with the node."""
        self._room.close()

    def take(self) -> None:
        """Take what has come since the last look."""
        # taking them all costs as much as the states do, so that only who needs them gets them
        depth = MOST_WAITING if self.motion.needs_sent else 1
        if self._commands.depth != depth:
            self._room.give_up(self._commands)
            self._commands = self._room.open(Float64MultiArray, self._command_topic, depth)
        state = self._sound(self.joint_states, self._read_state)
        command = self._sound(self._command_topic, self._read_command)
        arrived = [*((at, state, data) for at, data in self._states.take()),
                   *((at, command, data) for at, data in self._commands.take())]
        for _, read, data in sorted(arrived, key=lambda each: each[0]):
            read(data)
        self._keep_newest()
        for box, read in self._newest:
            newest = box.newest()
            if newest is not None:
                read(newest)

    def age(self, what: str) -> float:
        """
        Return how long ago something was received, s.

        :param what: states, commands, reference, force, contacts or controller.
        """
        return time.monotonic() - self._received.get(what, -np.inf)

    def position(self, model: Model) -> Array | None:
        """Return q, None while a joint has never been seen and is not fixed."""
        return _in_order(model, {**self.fixed, **self.positions})

    def velocity(self, model: Model) -> Array:
        """Return qd, zero where nobody publishes it."""
        qd = np.zeros(model.nv)
        for name in model.independent_joint_names:
            place = model.velocity_slice(name)
            if place.stop - place.start == 1:
                qd[place] = self.velocities.get(name, 0.0)
        return qd

    def on_states(self, message: JointState) -> None:
        """Keep what the driver measured."""
        stamp = message.header.stamp
        self._note(stamp.sec + 1e-9 * stamp.nanosec, tuple(message.name), message.position,
                   message.velocity, message.effort)
        self._keep_newest()

    def _read_state(self, data: bytes) -> None:
        state = self._reader.read(data)
        if state is None:
            self.on_states(deserialize_message(data, JointState))
        else:
            self._note(state.stamp, state.names, state.position, state.velocity, state.effort)

    def _note(self, stamp: float, names: tuple[str, ...], position: Any, velocity: Any,
              effort: Any) -> None:
        """Take a state, and count it in case no controller does: that misses none."""
        now = self._received['states'] = time.monotonic()
        self._last[names] = position, velocity, effort
        # without a stamp, the time of its arrival has to do
        self.motion.add(stamp or now, names, position, velocity, effort)
        self._count += 1
        span = now - self._since
        if span > 0.5:
            if self.age('controller') > STALE_AFTER:
                self.rate.add(self._count / span)
            self._count, self._since = 0, now

    def _keep_newest(self) -> None:
        """Keep the last state of each group of joints, by name."""
        for names, parts in self._last.items():
            for kept, values in zip((self.positions, self.velocities, self.efforts), parts,
                                    strict=True):
                # What is not finite cannot be drawn; the controller reports it as a fault.
                kept.update((name, float(value)) for name, value in zip(names, values)
                            if math.isfinite(value))
        self._last.clear()

    def _read_command(self, data: bytes) -> None:
        """Keep the torques that were sent."""
        torques = read_plain_array(data)  # with dimensions it is for motors, and no torque
        self._received['commands'] = time.monotonic()
        self.command = () if torques is None else tuple(_finite(torques).tolist())
        if self.command:
            self.motion.add_sent(self.command)

    def on_saturation(self, message: UInt8MultiArray) -> None:
        """Keep which torques are at a limit."""
        self.saturation = tuple(message.data)

    def _read_reference(self, data: bytes) -> None:
        found = self._reader.read(data)  # both begin alike
        if found is None:
            self.on_reference(deserialize_message(data, JointTrajectoryControllerState))
        else:
            self._follow(found.names, found.position.tolist(), found.velocity.tolist())

    def on_reference(self, message: JointTrajectoryControllerState) -> None:
        """Keep what the controller follows."""
        reference = message.reference
        self._follow(message.joint_names, reference.positions, reference.velocities)

    def _follow(self, names: Sequence[str], positions: Sequence[float],
                velocities: Sequence[float]) -> None:
        self._received['reference'] = time.monotonic()
        self.reference_positions = dict(zip(names, positions))
        self.reference_velocities = dict(zip(names, velocities))

    def _read_wrench(self, data: bytes) -> None:
        force = read_force(data)
        if force is None:
            self.on_wrench(deserialize_message(data, WrenchStamped))
        else:
            self._feel(force)

    def on_wrench(self, message: WrenchStamped) -> None:
        """Keep the force that the momentum observer sees."""
        force = message.wrench.force
        self._feel((force.x, force.y, force.z))

    def _feel(self, force: tuple[float, float, float]) -> None:
        self.force = _finite(force)
        self._received['force'] = time.monotonic()

    def on_contacts(self, message: MarkerArray) -> None:
        """Keep the arrows of the contact forces; a message without any: nothing touches."""
        ends = [[(at.x, at.y, at.z) for at in marker.points]
                for marker in message.markers[:MOST_MARKERS]
                if marker.type == Marker.ARROW and len(marker.points) == 2]
        self.contacts = _finite(ends).reshape(-1, 2, 3)
        self._received['contacts'] = time.monotonic()

    def on_scene(self, message: MarkerArray) -> None:
        """Keep the things that the robot may touch."""
        self.obstacles = [_obstacle(each) for each in message.markers[:MOST_MARKERS]
                          if each.type == Marker.CUBE]

    def _read_odometry(self, data: bytes) -> None:
        self.on_odometry(deserialize_message(data, Odometry))

    def on_odometry(self, message: Odometry) -> None:
        """Keep where the base is."""
        at, turn = message.pose.pose.position, message.pose.pose.orientation
        numbers = (at.x, at.y, at.z), (turn.w, turn.x, turn.y, turn.z)
        if all(map(math.isfinite, (*numbers[0], *numbers[1]))) and any(numbers[1]):
            self.base = BasePose(message.child_frame_id, *numbers)

    def on_diagnostics(self, message: DiagnosticArray) -> None:
        """Keep level and text of each part, and the rate and the latency of our controller."""
        for status in message.status:
            level = _LEVELS.get(int.from_bytes(status.level, 'little'), 'stale')
            self.diagnostics[status.name] = (level, status.message)
            if status.name == f'{self._name}: {SUPERVISOR}':
                self._received['controller'] = time.monotonic()
            if status.name == self._balance:
                self._received['balance'] = time.monotonic()
            for part, take in ((CONTACT, self._contacts.take), (REFERENCE, self._goals.explain)):
                if status.name == f'{self._name}: {part}':
                    take({pair.key: pair.value for pair in status.values})
            if status.name == f'{self._name}: {JOINT_STATES}':
                for pair in status.values:
                    if pair.key in self._plotted and _is_number(pair.value):
                        self._plotted[pair.key].add(float(pair.value))


def _obstacle(marker: Marker) -> Obstacle:
    at, turn, size, colour = (
        marker.pose.position, marker.pose.orientation, marker.scale, marker.color)
    _finite((size.x, size.y, size.z, at.x, at.y, at.z, turn.w, turn.x, turn.y, turn.z))
    red, green, blue = (min(max(round(255 * part), 0), 255)
                        for part in (colour.r, colour.g, colour.b))
    return Obstacle((size.x, size.y, size.z), (at.x, at.y, at.z), (turn.w, turn.x, turn.y, turn.z),
                    (red, green, blue))


def _finite(values: Any) -> Array:
    """
    Return numbers that can be drawn.

    :raises ValueError: if one of them is none.
    """
    found = np.array(values, float)
    if not np.isfinite(found).all():
        raise ValueError('a number is not finite')
    return found


def _in_order(model: Model, values: Mapping[str, float]) -> Array | None:
    """Return q; a joint with several coordinates is not among joint states, and neutral."""
    q = np.array(neutral(model), float)
    for name in model.independent_joint_names:
        place = model.position_slice(name)
        if place.stop - place.start == 1:
            if name not in values:
                return None
            q[place] = values[name]
    return q


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
