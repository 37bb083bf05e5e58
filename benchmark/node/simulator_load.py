# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the simulator costs: processor time of its process while it simulates a Panda at 1 kHz.

Beside it run a dashboard, and somebody who answers every state with a command. The processor time
is that of all threads of the simulator, by the kernel's accounts (``process.usage``).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
import os
import signal
import subprocess
import sys
from threading import Thread
import time

from benchmark.node.messages import array_template
from benchmark.node.process import usage
from benchmark.node.qos import COMMANDS, STATES
from benchmark.robots import robot_file
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

RATE = 1000.0


class Commander(Node):
    """
    Answer every state with a command of zeros, and count.

    :param joints: how many take commands.
    """

    def __init__(self, joints: int) -> None:
        super().__init__('commander', enable_rosout=False, start_parameter_services=False)
        self.states = 0
        self._command = bytes(array_template(joints)[0])
        self._output = self.create_publisher(Float64MultiArray, 'controller/commands', COMMANDS)
        self.create_subscription(JointState, 'joint_states', self._on_state, STATES, raw=True)

    def _on_state(self, _: bytes) -> None:
        self.states += 1
        self._output.publish(self._command)


@contextmanager
def program(module: str, **parameters: object) -> Iterator[int]:
    """Run a node of the package; give the number of its process."""
    options = [each for name, value in parameters.items()
               for each in ('-p', f'{name}:={value}')]
    made = subprocess.Popen([sys.executable, '-m', module, '--ros-args', *options],
                            stdout=subprocess.DEVNULL)
    try:
        yield made.pid
    finally:
        made.send_signal(signal.SIGTERM)
        try:
            made.wait(10.0)
        except subprocess.TimeoutExpired:
            made.kill()
            made.wait()


def measure(seconds: float, **parameters: object) -> dict[str, float]:
    """
    Return processor time, rates and the load of the machine.

    :param seconds: for which it is measured.
    :param parameters: of the simulator, besides robot and rate.
    """
    robot = robot_file('panda')
    given: dict[str, object] = {
        'robot_description_file': robot, 'state_rate': RATE, 'substeps': 1,
        'gravity': [0.0, 0.0, 0.0], **parameters}
    rclpy.init()
    node, executor = Commander(8), EventsExecutor()
    executor.add_node(node)
    Thread(target=executor.spin, daemon=True).start()
    try:
        with program('rbd_ros.nodes.simulator.process', **given) as pid, \
                program('rbd_ros.nodes.dashboard.node', robot_description_file=robot):
            end = time.monotonic() + 60.0
            while node.states < 5 * RATE and time.monotonic() < end:
                time.sleep(0.1)
            before, states, begin = usage(pid), node.states, time.monotonic()
            time.sleep(seconds)
            after, now = usage(pid), time.monotonic()
            received = node.states - states
    finally:
        executor.shutdown(timeout_sec=1.0)
        rclpy.try_shutdown()
    cpu = after.cpu - before.cpu
    return {'cpu': cpu / (now - begin), 'rate': received / (now - begin),
            'us_per_state': 1e6 * cpu / max(received, 1),
            'waiting': after.waiting - before.waiting, 'load': os.getloadavg()[0]}


def main() -> int:
    """Print the numbers of a run for each way to run the loop."""
    parser = argparse.ArgumentParser(prog='python -m benchmark.node.simulator_load',
                                     description=__doc__)
    parser.add_argument('--seconds', type=float, default=20.0, help='of each run (20)')
    parser.add_argument('--turns', type=int, default=1, help='runs of each (1)')
    parser.add_argument('--loop', action='append', default=[], choices=('native', 'executor'),
                        help='how the loop runs; both by default')
    chosen = parser.parse_args()
    for _ in range(chosen.turns):
        for loop in chosen.loop or ('executor', 'native'):
            found = measure(chosen.seconds, loop=loop)
            print(f'{loop:9}: {100.0 * found["cpu"]:5.1f} % of a processor, '
                  f'{found["us_per_state"]:5.0f} us for each of {found["rate"]:.0f} states/s; '
                  f'{found["waiting"]:.1f} s ready without a processor; load {found["load"]:.1f}',
                  flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
