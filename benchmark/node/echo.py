# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A node that computes nothing: the floor under every controller on the same middleware.

Run without options it takes the fastest form: the events executor, serialized messages in and
out, one buffer. The options exist to measure what each of these choices gives.
"""

from __future__ import annotations

import argparse
from array import array
import gc
import os
import sys
from threading import Thread

from benchmark.node.arm import JOINTS
from benchmark.node.messages import array_template, effort_template, STAMP
from benchmark.node.qos import COMMANDS, STATES
import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

N = len(JOINTS)


def echo_raw(node: Node, output: str) -> None:
    """Answer each serialized state with a serialized command that carries its efforts."""
    if output == 'array':
        kind, (buffer, at) = Float64MultiArray, array_template(N)
        stamped = False
    else:
        kind, (buffer, at) = JointState, effort_template(JOINTS)
        stamped = True
    publish = node.create_publisher(kind, '~/commands', COMMANDS).publish
    end = at + 8 * N

    def on_state(raw: bytes) -> None:
        buffer[at:end] = raw[-8 * N:]
        if stamped:
            buffer[STAMP:STAMP + 8] = raw[STAMP:STAMP + 8]
        publish(bytes(buffer))
    node.create_subscription(JointState, 'joint_states', on_state, STATES, raw=True)


def echo_typed(node: Node, output: str) -> None:
    """Answer each state with one message, made once, that carries its efforts."""
    if output == 'array':
        command = Float64MultiArray(data=array('d', N * [0.0]))
        publish = node.create_publisher(Float64MultiArray, '~/commands', COMMANDS).publish

        def on_state(state: JointState) -> None:
            command.data = state.effort
            publish(command)
    else:
        answer = JointState(name=list(JOINTS))
        publish = node.create_publisher(JointState, '~/commands', COMMANDS).publish

        def on_state(state: JointState) -> None:
            answer.header.stamp = state.header.stamp
            answer.effort = state.effort
            publish(answer)
    node.create_subscription(JointState, 'joint_states', on_state, STATES)


def main() -> None:
    """Echo until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--output', choices=('array', 'joint_state'), default='array')
    parser.add_argument('--executor', choices=('events', 'single'), default='events')
    parser.add_argument('--form', choices=('raw', 'typed'), default='raw')
    parser.add_argument('--services', action='store_true', help='parameter services and rosout')
    parser.add_argument('--gc', choices=('frozen', 'usual'), default='frozen')
    parser.add_argument('--deadline', action='store_true', help='offer one on the commands')
    parser.add_argument('--timer', type=float, metavar='HZ', help='also run a steady timer')
    parser.add_argument('--second', action='store_true', help='an idle node in another thread')
    parser.add_argument('--busy', type=float, metavar='SWITCH',
                        help='a busy second Python thread, and the switch interval in s')
    options = parser.parse_args()
    rclpy.init(args=[])
    node = Node('controller', start_parameter_services=options.services,
                enable_rosout=options.services)
    if options.deadline:
        COMMANDS.deadline = Duration(seconds=0.1)
    (echo_raw if options.form == 'raw' else echo_typed)(node, options.output)
    executor = EventsExecutor() if options.executor == 'events' else SingleThreadedExecutor()
    executor.add_node(node)
    add_company(node, options)
    if options.gc == 'frozen':
        gc.collect()
        gc.freeze()
        gc.disable()
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    rclpy.try_shutdown()
    os._exit(0)  # other threads may still run


def add_company(node: Node, options: argparse.Namespace) -> None:
    """Add what a real node has besides its loop."""
    if options.timer:
        node.create_timer(1.0 / options.timer, lambda: None,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))
    if options.second:
        second = EventsExecutor()
        second.add_node(Node('second'))
        Thread(target=second.spin, daemon=True).start()
    if options.busy:
        sys.setswitchinterval(options.busy)
        Thread(target=compute_for_ever, daemon=True).start()


def compute_for_ever() -> None:
    """Keep the interpreter busy."""
    while True:
        sum(range(1000))


if __name__ == '__main__':
    main()
