# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The driver's side of a measurement: publish joint states, take the time until the command.

It runs as a process of its own and prints what it saw as JSON. Two ways to publish: `wait` sends
the next state only after the command (latency of an idle machine, losses by time-out), `free`
sends at a steady rate whatever comes back (commands carry the stamp of their state then).
"""

from __future__ import annotations

import argparse
import gc
import json
from threading import Event, Thread
import time

from benchmark.node.arm import JOINTS, motion
from benchmark.node.messages import joint_state, STAMP, stamp_from, stamp_into
from benchmark.node.process import usage
from benchmark.node.qos import COMMANDS, STATES
import numpy as np
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

#: Seconds after which a command counts as lost.
LOST = 0.2
#: Of so many commands one is kept whole, to see whether its torques are right.
KEPT = 20
#: Seconds to wait for the first command.
PATIENCE = 60.0


class Driver:
    """A robot that sways a little and does not care for torques."""

    def __init__(self, node: Node, output: str, rate: float) -> None:
        """
        Make the messages beforehand and connect.

        :param output: type of the commands, ``array`` or ``joint_state``.
        :param rate: states per second.
        """
        self.period = round(1e9 / rate)
        turns = round(rate / 2.0)  # one period of the motion
        effort = np.zeros(len(JOINTS))
        self.states = [bytearray(joint_state(JOINTS, *motion(k / rate), effort))
                       for k in range(turns)]
        self.sent: list[int] = []  # monotonic ns, like all times here
        self.stamps: dict[tuple[int, int], int] = {}
        self.answered: list[tuple[int, int]] = []  # which state, when
        self.kept: list[tuple[int, bytes]] = []  # which state, one of some commands
        self.answer = Event()
        self.publisher = node.create_publisher(JointState, 'joint_states', STATES)
        stamped = output == 'joint_state'
        node.create_subscription(
            JointState if stamped else Float64MultiArray, 'controller/commands',
            self.on_stamped if stamped else self.on_command, COMMANDS, raw=True)

    def on_command(self, raw: bytes) -> None:
        """Take the time of a command to the last state."""
        now = time.monotonic_ns()
        self.note(len(self.sent) - 1, now, raw)

    def on_stamped(self, raw: bytes) -> None:
        """Take the time of a command to the state whose stamp it carries."""
        now = time.monotonic_ns()
        self.note(self.stamps.get(stamp_from(raw, STAMP), -1), now, raw)

    def note(self, k: int, now: int, raw: bytes) -> None:
        """Note the command to a state."""
        if len(self.answered) % KEPT == 0:
            self.kept.append((k, raw))
        self.answered.append((k, now))
        self.answer.set()

    def send(self) -> None:
        """Publish the next state."""
        k = len(self.sent)
        buffer = self.states[k % len(self.states)]
        wall = time.time_ns()
        stamp = divmod(wall, 1_000_000_000)
        stamp_into(buffer, STAMP, *stamp)
        self.stamps[stamp] = k
        self.sent.append(time.monotonic_ns())
        self.publisher.publish(bytes(buffer))

    def forget(self) -> None:
        """Start counting afresh."""
        self.sent.clear()
        self.stamps.clear()
        self.answered.clear()
        self.kept.clear()

    def run(self, count: int, wait: bool) -> None:
        """Publish a number of states at the rate, or slower if waiting takes longer."""
        due = time.monotonic_ns()
        for _ in range(count):
            pause = due - time.monotonic_ns()
            if pause > 0:
                time.sleep(pause * 1e-9)
            elif wait:
                due -= pause
            self.answer.clear()
            self.send()
            if wait and not self.answer.wait(LOST):
                time.sleep(LOST)  # a late command must not answer the next state
            due += self.period

    def warm_up(self, count: int) -> None:
        """Publish until commands have come steadily; the first may take a process start."""
        deadline = time.monotonic() + PATIENCE
        while not self.answered:
            if time.monotonic() > deadline:
                raise TimeoutError(f'no command within {PATIENCE:.0f} s')
            self.run(10, wait=False)
        self.run(count, wait=False)
        time.sleep(0.05)
        self.forget()


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--pid', type=int, required=True, help='process under test')
    parser.add_argument('--output', choices=('array', 'joint_state'), default='array')
    parser.add_argument('--way', choices=('wait', 'free'), default='wait')
    parser.add_argument('--rate', type=float, default=500.0, help='states per second')
    parser.add_argument('--warm', type=int, default=300, help='states before measuring')
    parser.add_argument('--count', type=int, default=1000, help='states to measure')
    options = parser.parse_args()
    rclpy.init(args=[])
    node = Node('driver', start_parameter_services=False, enable_rosout=False)
    driver = Driver(node, options.output, options.rate)
    executor = EventsExecutor()
    executor.add_node(node)
    thread = Thread(target=executor.spin)
    thread.start()
    try:
        print(json.dumps(measure(driver, options)))
    finally:
        executor.shutdown()
        thread.join()
        rclpy.try_shutdown()


def measure(driver: Driver, options: argparse.Namespace) -> dict[str, object]:
    """Return when states went and commands came, and what the process under test used."""
    driver.warm_up(options.warm)
    gc.collect()
    gc.freeze()
    gc.disable()
    before = usage(options.pid)
    driver.run(options.count, options.way == 'wait')
    after = usage(options.pid)
    time.sleep(LOST)
    kind = JointState if options.output == 'joint_state' else Float64MultiArray
    whole = [(k, deserialize_message(raw, kind)) for k, raw in driver.kept if k >= 0]
    return {'sent': driver.sent, 'answered': driver.answered,
            'torques': [(k % len(driver.states) / options.rate, list(
                made.effort if kind is JointState else made.data)) for k, made in whole],
            'before': before._asdict(), 'after': after._asdict()}


if __name__ == '__main__':
    main()
