# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A native loop on a real middleware, in the process of the test, with a driver."""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref

from controller_rig import Arm, MODEL
import numpy as np
from rbd_env.pace import patient
from rbd_ros.loop.endpoints import Endpoints
from rbd_ros.loop.native_loop import NativeLoop
from rbd_ros.loop.records import Limits
from rbd_ros.loop.words import Word
from rbd_ros.nodes.controller.loop_node import STATES
import rclpy
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, UInt64
from std_srvs.srv import Trigger

RATE = 500.0
Q = np.array([0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9])


class Robot:
    """
    Handles for a loop, and a driver that sends states of the arm from a thread.

    :param silent: whether the driver sends nothing, so that a test can do it.
    """

    def __init__(self, *, silent: bool = False) -> None:
        rclpy.init()
        # Other tests run at the same time.
        self.node, self.driver = (rclpy.create_node(name, namespace=f'tested_by_{os.getpid()}')
                                  for name in ('loop', 'driver'))
        create = self.node.create_subscription
        self.states = create(JointState, 'joint_states', lambda _: None, STATES, raw=True)
        self.clock = create(Clock, 'clock', lambda _: None, 1, raw=True)
        self.dead_man = create(Bool, 'dead_man', lambda _: None, 1, raw=True)
        self.output = self.node.create_publisher(JointState, 'commands', 50)
        self.heartbeat = self.node.create_publisher(UInt64, 'heartbeat', 1)
        self.stop = self.node.create_service(Trigger, 'stop', lambda _, response: response)
        self.signals, self.signalling = socket.socketpair()
        self.commands = self.driver.create_subscription(JointState, 'commands', lambda _: None,
                                                        2000, raw=True)
        self.publisher = self.driver.create_publisher(JointState, 'joint_states', 50)
        self.sent: dict[int, np.ndarray] = {}  # position by stamp in ns
        self.move = lambda q: q
        self.loops: list[weakref.ref[NativeLoop]] = []
        self.silent = silent
        self._q = Q.copy()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._drive, daemon=True)
        self.wait(lambda: self.publisher.get_subscription_count()
                  and self.output.get_subscription_count())
        self._thread.start()

    def _drive(self) -> None:
        while not self._end.wait(1.0 / RATE):
            if self.silent:
                continue
            stamp = time.time_ns()
            message = JointState(name=list(MODEL.independent_joint_names),
                                 position=self._q.tolist(), velocity=[0.0] * 7)
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
            self.sent[stamp] = self._q.copy()
            self.publisher.publish(message)
            self._q = self.move(self._q)

    def loop(self, controller, supervision: float = 0.0,
             simulated_time: float | None = None, sensor: int = 0) -> NativeLoop:
        """Return a loop that has not begun; on simulated time, if one is given."""
        limits = Limits({})
        limits.simulated = float(simulated_time is not None)
        limits.period, limits.watch, limits.beat = 2e-3, 2e-2, 0.1
        limits.state_timeout, limits.end = controller.settings.number('state_timeout'), 3.0
        limits.supervision = supervision
        loop = NativeLoop(controller, Endpoints(
            states=self.states.handle.pointer, dead_man=self.dead_man.handle.pointer,
            stop=self.stop.handle.pointer, output=self.output.handle.pointer,
            heartbeat=self.heartbeat.handle.pointer,
            clock=self.clock.handle.pointer if limits.simulated else 0,
            signals=self.signals.fileno(), sensor=sensor),
            limits, simulated_time or 0.0)
        self.loops.append(weakref.ref(loop))
        return loop

    def received(self) -> list[JointState]:
        """Return the commands that have come since the last time."""
        found = []
        with self.commands.handle:
            while (taken := self.commands.handle.take_message(JointState, True)) is not None:
                found.append(deserialize_message(taken[0], JointState))
        return found

    @staticmethod
    def wait(condition) -> None:
        """Wait until something is so."""
        end = time.monotonic() + patient(20.0)
        while not condition():
            assert time.monotonic() < end, 'not in time'
            time.sleep(0.005)

    def close(self) -> None:
        """End it all."""
        self._end.set()
        self._thread.join()
        for each in self.loops:
            if (loop := each()) is not None:
                assert loop.close()
        for node in (self.node, self.driver):
            node.destroy_node()
        rclpy.shutdown()
        self.signals.close()
        self.signalling.close()


def make_controller(**values):
    """Return a controller that trusts a driver which puts its robot anywhere."""
    controller = Arm(
        Q, period=1.0 / RATE, ramp_time=0.05, brake_time=0.05, release_time=0.05,
        state_tolerance=[100.0], stop_action='release', minimum_rate=10.0, state_timeout=0.8,
        release_torque='zero', command_type='joint_state', **values).controller
    # the rig of the arm has a clock of its own; here stamps are of the clock of this machine
    controller.p.states.ages.clock_offset = controller.settings.clock_offset
    return controller


def activate(robot, controller, loop):
    """Have the law run."""
    robot.wait(lambda: loop.count(Word.STATES) > 20)
    assert controller.activate(time.monotonic(), time.monotonic()) == ''

    def runs():
        loop.look()
        return controller.state.value == 'running'
    robot.wait(runs)
