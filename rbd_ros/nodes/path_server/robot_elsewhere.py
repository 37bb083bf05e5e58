# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A robot whose controller is another process, as its topics show it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
import time

from control_msgs.msg import JointTrajectoryControllerState
import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.load.load import payload_of
from rbd_ros.control.modes import Takes, taking
from rbd_ros.control.parameters.settings import Settings
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

__all__ = ['RobotElsewhere']

Array = npt.NDArray[np.float64]
Joints = dict[str, tuple[float, float]]  # position and velocity of each

FRESH = 2.0  # s for which a message says where the robot is

#: rad/s or m/s below which a measured joint stands, and rad or m by which it then may seem to move
_STANDS, _NOISE = 0.02, 0.002

_STATES = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
_LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)


class RobotElsewhere:
    """
    What is known of a robot: ``control.robot_now.RobotNow``.

    Its joints are held where ``controller_state`` of the controller says. Where nobody says so,
    they are taken to be held where they are measured, which is less exact. In a mode of the tip no
    joint is held: a path then begins where the tip is measured.
    """

    def __init__(self, node: Node, settings: Settings, controller: str) -> None:
        """
        Listen.

        :param node: resolves ``joint_states``, and logs.
        :param settings: of the robot.
        :param controller: name of its controller.
        """
        robot, self.settings, self._node = settings.robot, settings, node
        self.changes = 0
        self.mode = self.state = ''  # of the controller, if it tells
        self._tip_modes = taking(Takes.TARGET, robot.own_modes)
        self.gravity, self.payload = np.array(robot.model.gravity), payload_of(settings)
        self._names = list(robot.model.independent_joint_names)
        self._needed = [name for name in (robot.joints if robot.assembly else self._names)
                        if name not in robot.fixed]
        self._place = np.array(robot.assembly or [robot.fixed.get(name, 0.0)
                                                  for name in self._names])
        self._held: Array | None = None  # where joints stand, if nobody says where they are held
        self._measured: Joints = {}
        self._state: JointTrajectoryControllerState | None = None
        self._told, self._seen = -np.inf, dict[str, float]()  # steady times; of each joint
        self._topics = (node.resolve_topic_name('joint_states'), f'{controller}/controller_state')
        node.create_subscription(JointState, self._topics[0], self._on_joints, _STATES)
        node.create_subscription(JointTrajectoryControllerState, self._topics[1], self._on_state,
                                 _STATES)
        node.create_subscription(String, f'{controller}/mode', self._on_mode, _LATCHED)
        node.create_subscription(String, f'{controller}/state', self._on_supervisor, _LATCHED)

    def _on_mode(self, message: String) -> None:
        self.changes += message.data != self.mode  # it may be told again and again
        self.mode = message.data

    def _on_supervisor(self, message: String) -> None:
        self.changes += message.data != self.state
        self.state = message.data

    @property
    def leads_tip(self) -> bool:
        """Return whether the controller is in a mode of the tip."""
        return self.mode in self._tip_modes

    def _on_joints(self, message: JointState) -> None:
        self._take(_by_joint(message.name, message.position, message.velocity))

    def _on_state(self, message: JointTrajectoryControllerState) -> None:
        self._state, self._told = message, time.monotonic()
        there = message.feedback
        self._take(_by_joint(message.joint_names, there.positions, there.velocities))

    def _take(self, measured: Joints) -> None:
        good = {name: pair for name, pair in measured.items() if np.isfinite(pair).all()}
        self._measured |= good
        self._seen |= dict.fromkeys(good, time.monotonic())

    @property
    def ready(self) -> bool:
        """Return whether there is a fresh state of every joint."""
        return not self._stale

    @property
    def _stale(self) -> list[str]:
        oldest = time.monotonic() - FRESH
        return [name for name in self._needed if self._seen.get(name, -np.inf) <= oldest]

    def refresh(self) -> None:
        """Ask for a fresh state."""
        if self._stale:
            raise GoalError(ResultCode.INVALID_GOAL, (
                f'no states of {", ".join(self._stale)} within {FRESH:g} s on '
                f'{" or ".join(self._topics)}'))

    @property
    def q(self) -> Array:
        """Return the measured positions of all joints."""
        for k, name in enumerate(self._names):
            if name in self._measured:
                self._place[k] = self._measured[name][0]
        return self._place.copy()

    @property
    def reference(self) -> tuple[Array, Array]:
        """
        Return position and velocity to which the controlled joints are held.

        :raises GoalError: if the controller holds none, or has ceased to tell where.
        """
        state = self._state
        if self.leads_tip:
            return self._standing(warn=False)
        if state is None:
            return self._standing()
        if not time.monotonic() - self._told < FRESH:  # measured, they would step to their error
            raise GoalError(ResultCode.INVALID_GOAL, (
                f'nothing on {self._topics[1]} within {FRESH:g} s, on which the controller '
                f'publishes its reference: is it still active?'))
        there = state.reference
        if not len(there.positions):
            raise GoalError(
                ResultCode.INVALID_GOAL, 'the controller follows no joint reference now '
                f'({self._topics[1]} has no reference): switch to a mode that follows joint '
                'trajectories')
        return self._ordered(_by_joint(state.joint_names, there.positions, there.velocities))

    def _standing(self, *, warn: bool = True) -> tuple[Array, Array]:
        """Return where joints are measured; once they stand, noise does not move them."""
        self.refresh()
        q, qd = self.measured
        if np.abs(qd).max() > _STANDS:
            self._held = None
            return q, qd
        if self._held is None or np.abs(q - self._held).max() > _NOISE:
            self._held = q
            if warn:
                self._node.get_logger().warning(
                    f'nothing on {self._topics[1]}: the path starts at the measured joint '
                    f'positions, not where the controller holds them. Its reference steps by the '
                    f'difference, its tracking error, when the path starts')
        return self._held.copy(), np.zeros(len(q))

    @property
    def measured(self) -> tuple[Array, Array]:
        """Return position and velocity of the controlled joints."""
        return self._ordered(self._measured)

    def _ordered(self, known: Joints) -> tuple[Array, Array]:
        joints = self.settings.robot.joints
        missing = [name for name in joints if name not in known]
        if missing:
            raise GoalError(ResultCode.INVALID_JOINTS, f'the controller does not hold '
                            f'{", ".join(missing)}: joints of the parameter file and of the '
                            'controller must be the same')
        q, qd = np.array([known[name] for name in joints], float).T
        return q, qd


def _by_joint(names: Sequence[str], positions: Sequence[float],
              velocities: Sequence[float]) -> Joints:
    """Return arrays of a message by joint: without velocities all stand; a missing one is NaN."""
    speeds = velocities if len(velocities) else [0.0] * len(positions)
    return dict(zip(names, zip_longest(positions, speeds, fillvalue=np.nan)))
