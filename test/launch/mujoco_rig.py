# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Robots that MuJoCo simulates, behind a driver that knows nothing of rbd_ros, and their truth.

A test starts ``driver('panda', PANDA)`` next to ``rig.controller('panda', ...)`` and reads what
the robot really does from ``Truth``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import os
from pathlib import Path
import signal
import sys
import time
import unittest

from benchmark.robots import robots_folder
from geometry_msgs.msg import PoseStamped, WrenchStamped
from launch_ros.actions import Node as NodeAction
import numpy as np
from rclpy.qos import QoSProfile
import rig
from sensor_msgs.msg import JointState

Array = np.ndarray

START_SPEED, START_DRIFT = 0.05, 0.01  # rad/s, rad: no kick
END_DROP = 0.02  # m that the tip may sink when the controller ends and leaves gravity

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Arm:
    """A robot and the place where it starts."""

    urdf: Path
    joints: tuple[str, ...]
    tip: str
    start: tuple[float, ...]
    down: tuple[float, ...] = ()  # the tip points down, with room on all sides
    plate: tuple[float, ...] = ()  # m, middle of a plate, 3 cm below the tip then
    more: dict[str, object] = field(default_factory=dict)  # parameters of the driver


PANDA = Arm(robots_folder() / 'panda_description/urdf/panda.urdf',
            tuple(f'panda_joint{k}' for k in range(1, 8)), 'panda_hand',
            (0.2, -0.5, 0.3, -2.1, 0.2, 1.7, 0.6), (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785),
            (0.45, 0.0, 0.456), {
                'armature': [0.1] * 7, 'damping': [0.5] * 7,
                'friction': [0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.15]})
#: of a driver that waits for the answer to each state, on the clock of the simulation; it does so
#: no longer when the controller has gone, and keeps the last torque
LOCKSTEP = {'answer_wait': 3.0, 'command_timeout': 0.5, 'brake_delay': 0.05}

BUILT_IN = Arm(_ROOT / 'urdf' / 'seven_joint_arm.urdf',
               tuple(f'joint_{k}' for k in range(1, 8)), 'tool0',
               (0.2, 0.4, -0.3, -1.7, 0.4, -1.3, 0.5), (0.0, 0.5, 0.0, -1.9, 0.0, -1.7416, 0.0),
               (-0.2, 0.0, 0.427), {'armature': [0.6, 0.6, 0.4, 0.4, 0.2, 0.15, 0.1]})


def driver(namespace: str, arm: Arm, **parameters: object) -> NodeAction:
    """
    Return the action that starts a robot whose commands are those of ``<namespace>/controller``.

    :param namespace: of the topics.
    :param arm: robot.
    :param parameters: of mujoco_driver.py.
    """
    given = {'urdf': str(arm.urdf), 'joints': list(arm.joints), 'tip': arm.tip,
             'start': list(arm.start), **arm.more, **parameters}
    return NodeAction(
        executable=sys.executable, name='driver', namespace=namespace, output='screen',
        arguments=[str(Path(__file__).with_name('mujoco_driver.py'))], parameters=[given],
        remappings=[('commands', 'controller/commands')],
        additional_env={'PYTHONPATH': os.pathsep.join(
            [str(_ROOT), *filter(None, [os.environ.get('PYTHONPATH')])])})


def _seconds(message: JointState | PoseStamped | WrenchStamped) -> float:
    return 1e-9 * rig.to_ns(message.header.stamp)


class Truth:
    """What a robot really does, as its driver publishes it."""

    def __init__(self, client: rig.Client) -> None:
        self.times: list[float] = []  # s, stamps, one per row of the joints
        self.joints: list[Array] = []  # positions
        self.peaks: list[Array] = []  # largest speeds since the row before
        self.tips: list[tuple[float, Array, Array]] = []  # time, position, quaternion x y z w
        self.forces: list[tuple[float, Array]] = []  # time, N upon the plate
        self._client = client
        create, depth = client.node.create_subscription, QoSProfile(depth=5000)
        create(JointState, 'driver/truth', self._on_joints, depth)
        create(PoseStamped, 'driver/tip', self._on_tip, depth)
        create(WrenchStamped, 'driver/force', self._on_force, depth)

    def _on_joints(self, message: JointState) -> None:
        self.joints.append(np.array(message.position))
        self.peaks.append(np.array(message.velocity))
        self.times.append(_seconds(message))

    def _on_tip(self, message: PoseStamped) -> None:
        p, q = message.pose.position, message.pose.orientation
        self.tips.append((_seconds(message), np.array([p.x, p.y, p.z]),
                          np.array([q.x, q.y, q.z, q.w])))

    def _on_force(self, message: WrenchStamped) -> None:
        f = message.wrench.force
        self.forces.append((_seconds(message), np.array([f.x, f.y, f.z])))

    def peak(self, since: float) -> Array:
        """Return the largest speed of each joint since a time."""
        rows = [v for t, v in zip(self.times, self.peaks) if since <= t]
        return np.max(rows, axis=0)

    def drop(self, since: float) -> float:
        """Return how far the tip was below its place at a time, at most, in m."""
        heights = [p[2] for t, p, _ in self.tips if t >= since]
        return heights[0] - min(heights)

    def mean_force(self, since: float) -> Array:
        """Return the mean force upon the plate since a time."""
        return np.mean([f for t, f in self.forces if t >= since], axis=0)

    @property
    def now(self) -> float:
        """Return the time of the last row, s."""
        return self.times[-1] if self.times else 0.0

    def pass_time(self, seconds: float) -> None:
        """Let the time of the robot pass."""
        end = self.now + seconds
        self._client.wait(lambda: self.now >= end, f'{seconds:g} s of the robot', 120.0)

    def wait_rest(self, speed: float = 1e-3, seconds: float = 5.0) -> None:
        """Wait until no joint has moved faster than a speed for 0.2 s."""
        begin = self.now
        while self.now < begin + 0.25 or not (self.peak(self.now - 0.2) < speed).all():
            assert self.now < begin + seconds, f'rest: {speed:g} rad/s: not in {seconds:g} s'
            self.pass_time(0.02)

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that the truth shows."""
        self._client.wait(lambda: bool(self.joints) and condition(), what)


def start(test: unittest.TestCase, client: rig.Client, truth: Truth) -> None:
    """Expect a start without a kick, with brakes that open late and noisy efforts."""
    test.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
    truth.wait(lambda: len(truth.joints) > 10, 'the robot')
    q, begin = truth.joints[-1], truth.now
    test.assertTrue(client.transition(rig.ACTIVATE), client.last('log'))
    client.wait(lambda: client.last('state') == 'running', 'running')
    truth.pass_time(1.0)
    speed, drift = truth.peak(begin).max(), np.abs(truth.joints[-1] - q).max()
    print(f'start: {speed:.4f} of {START_SPEED} rad/s, drift {drift:.4f} of {START_DRIFT} rad')
    test.assertEqual((client.last('state'), client.last('fault')), ('running', ''))
    test.assertLess(speed, START_SPEED)
    test.assertLess(drift, START_DRIFT)


def end(test: unittest.TestCase, client: rig.Client, truth: Truth, process: NodeAction) -> None:
    """Press Ctrl-C: the tip sinks no further than it may, and there is no fault."""
    truth.wait_rest(0.02, 20.0)
    begin, pid = truth.now, process.process_details['pid']
    os.kill(pid, signal.SIGINT)
    client.wait_text('log', 'released', time.monotonic() - rig.FIND, 10.0)
    # A second signal, which ends the launch, would not find the handler any more.
    client.wait(lambda: not Path(f'/proc/{pid}').exists(), 'the end of the process')
    truth.pass_time(1.0)
    drop = truth.drop(begin)
    print(f'end: {1e3 * drop:.2f} of {1e3 * END_DROP} mm')
    test.assertLess(drop, END_DROP)
    test.assertEqual(client.last('fault'), '')
