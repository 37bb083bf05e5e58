# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""A robot that somebody leads by hand: where it is, what was shown, whether it floats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
import math
import threading
import time
from types import TracebackType

from control_msgs.msg import JointTrajectoryControllerState
import numpy as np
import numpy.typing as npt
from rbd_ros.control.modes import Follows, MODES, Takes, taking
from rbd_ros.errors import RbdError
from rbd_ros.nodes.own_node import OwnNode
from rcl_interfaces.srv import GetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

__all__ = ['TaughtRobot']

Array = npt.NDArray[np.float64]

WAIT = 10.0  # s for the robot to be there
FRESH = 0.5  # s for which a position, or a reference of the controller, is known
_ANSWER = 2.0  # s for the controller to tell its parameters
_LIMITS = ['reference.velocity', 'reference.acceleration']
_STATES = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
_LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)


class TaughtRobot(OwnNode):
    """
    A listener with a thread of its own; it sends nothing.

    :param topic: of the joint states.
    :param controller: name of the controller's node.
    :param wait: s for the robot to be there.
    """

    def __init__(self, topic: str, controller: str, wait: float = WAIT) -> None:
        super().__init__('rbd_teach', start_parameter_services=False, enable_rosout=False)
        self._topic, self._controller, self._wait = topic, controller, wait
        self._last: dict[str, float] = {}
        self._heard: dict[str, float] = {}  # steady time of each joint's last position
        self._description = self._mode = ''
        self._controlled: tuple[str, ...] = ()
        self._reference: dict[str, float] = {}
        self._referred = -np.inf  # steady time of the reference
        self._samples: list[tuple[float, dict[str, float], Set[str]]] | None = None
        node = self._node
        node.create_subscription(JointState, topic, self._on_state, _STATES)
        # of the robot whose states these are
        self._described = f'{topic.rpartition("/")[0]}/robot_description'
        node.create_subscription(String, self._described, self._on_description, _LATCHED)
        node.create_subscription(String, f'{controller}/mode', self._on_mode, _LATCHED)
        node.create_subscription(JointTrajectoryControllerState, f'{controller}/controller_state',
                                 self._on_reference, 1)
        self._parameters = node.create_client(GetParameters, f'{controller}/get_parameters')
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        super().__exit__(kind, error, trace)

    def _spin(self) -> None:
        while not self._ending.is_set():
            self._executor.spin_once(timeout_sec=0.05)

    def _on_state(self, message: JointState) -> None:
        here = {name: place for name, place in zip(message.name, message.position)
                if math.isfinite(place)}  # NaN is what a driver says of what it does not know
        self._last = self._last | here
        self._heard |= dict.fromkeys(here, time.monotonic())
        if self._samples is not None:
            stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            self._samples.append((stamp or time.monotonic(), self._last, here.keys()))

    def _on_description(self, message: String) -> None:
        self._description = message.data

    def _on_reference(self, message: JointTrajectoryControllerState) -> None:
        self._controlled = tuple(message.joint_names)
        self._reference = dict(zip(message.joint_names, message.reference.positions))
        self._referred = time.monotonic()

    def _on_mode(self, message: String) -> None:
        self._mode = message.data

    def _await(self, ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + self._wait
        while not ready():
            if time.monotonic() > end:
                raise RbdError(what)
            time.sleep(0.01)

    def description(self) -> str:
        """Return the robot's description."""
        self._await(lambda: bool(self._description),
                    f'no robot description on {self._described} within {self._wait:g} s; is the '
                    f'robot running? Otherwise give --urdf')
        return self._description

    def position(self, joints: Sequence[str]) -> Array:
        """Return where the joints are now."""
        self._await(lambda: self._are_fresh(joints),
                    f'no joint states of {", ".join(joints)} on {self._topic} within '
                    f'{self._wait:g} s; start the driver, or give --topic')
        here = self._last
        return np.array([here[name] for name in joints], float)

    def _are_fresh(self, joints: Sequence[str]) -> bool:
        since = time.monotonic() - FRESH
        return all(self._heard.get(name, -np.inf) > since for name in joints)

    def seen(self) -> Mapping[str, float]:
        """Return the last position of every joint that was heard of."""
        return self._last

    def controlled(self) -> tuple[str, ...]:
        """Return the joints that the controller moves; none: it has not said so."""
        self._await(lambda: bool(self._last), f'no joint states on {self._topic} within '
                    f'{self._wait:g} s; start the driver, or give --topic')
        end = time.monotonic() + FRESH
        while not self._controlled and time.monotonic() < end:
            time.sleep(0.01)
        return self._controlled

    def limits(self) -> list[dict[str, float]]:
        """
        Return the largest velocities and accelerations of the controller's reference, by joint.

        Nothing where it does not tell: another controller, or one that is not there.
        """
        found: list[dict[str, float]] = [{} for _ in _LIMITS]
        joints = self.controlled()
        if not (joints and self._parameters.wait_for_service(FRESH)):
            return found
        asked = self._parameters.call_async(GetParameters.Request(names=_LIMITS))
        end = time.monotonic() + _ANSWER
        while not asked.done() and time.monotonic() < end:
            time.sleep(0.01)
        values = asked.result().values if asked.done() else []
        for limits, value in zip(found, values):
            most = list(value.double_array_value)
            if len(most) in (1, len(joints)):
                limits.update(zip(joints, most * len(joints)))
        return found

    def reference(self, joints: Sequence[str]) -> Array | None:
        """Return what the controller follows; None if it has not said so just now."""
        end = time.monotonic() + FRESH
        while time.monotonic() < end:
            there = self._reference
            if time.monotonic() - self._referred < FRESH and set(joints) <= there.keys():
                return np.array([there[name] for name in joints], float)
            time.sleep(0.01)
        return None

    def begin(self) -> None:
        """Begin to keep what is shown."""
        self._samples = []

    def shown(self, joints: Sequence[str]) -> tuple[Array, Array]:
        """
        Return times and positions since the beginning, and keep no more.

        Others than these joints, such as a gripper, may have a driver and a clock of their own.
        """
        samples, self._samples = self._samples or [], None
        wanted = set(joints)
        rows = [(t, [here[name] for name in joints]) for t, here, told in samples
                if wanted & told and wanted <= here.keys()]
        return (np.array([t for t, _ in rows], float),
                np.array([row for _, row in rows], float).reshape(-1, len(joints)))

    def stiffness_warning(self) -> str:
        """Return why the robot cannot be led by hand; empty if it can, or nobody knows."""
        mode = MODES.get(self._mode)
        if mode is None or mode.follows is Follows.NOTHING:
            return ''
        free = next(name for name, each in MODES.items() if each.follows is Follows.NOTHING)
        return (f'the controller is in mode {self._mode} and holds the robot; to guide it by '
                f'hand: ros2 param set {self._controller} mode {free}')

    def refusal_warning(self) -> str:
        """Return why the controller may refuse a motion; empty if it takes one, or is unknown."""
        mode = MODES.get(self._mode)
        if mode is None or Takes.TRAJECTORY in mode.takes:
            return ''
        return (f'the controller is in mode {self._mode}, in which it refuses motions unless its '
                f'parameter goal_mode is set; before you type yes: ros2 param set '
                f'{self._controller} mode {taking(Takes.TRAJECTORY)[0]}')
