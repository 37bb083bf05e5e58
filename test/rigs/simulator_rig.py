# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A real simulator in this process, in a domain of its own, and who listens and commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import time

from isolation import own_domain
from rbd_env.pace import patient
from rbd_ros.nodes.simulator.native_node import NativeSimulator
from rcl_interfaces.msg import Log
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

#: a pendulum whose inertia about its hinge is 0.35 kg m^2
ROBOT = """<robot name="pendulum"><link name="base"/><link name="rod"><inertial>
<origin xyz="0 0 -0.5"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="swing" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/></joint><link name="tip"/><joint name="glue" type="fixed">
<parent link="rod"/><child link="tip"/><origin xyz="0 0 -0.5"/></joint></robot>"""


class SimulatorRig:
    """A simulator with somebody who listens and commands, and an executor that is not forced."""

    def __init__(self, **values: object) -> None:
        given = {'robot_description': ROBOT, 'discovery_time': 0.0, 'state_rate': 100.0,
                 'max_catch_up': 1} | values
        options = [each for name, value in given.items()
                   for each in ('-p', f'{name}:={value!r}' if isinstance(value, str)
                                else f'{name}:={str(value).lower()}')]
        rclpy.init(args=['--ros-args', *options])
        self.node = NativeSimulator()
        self.other = rclpy.create_node('other', use_global_arguments=False)
        self.states: list[JointState] = []
        self.log: list[str] = []
        self.sent = 0
        self.other.create_subscription(JointState, 'joint_states', self.states.append,
                                       QoSProfile(depth=2000))
        self.other.create_subscription(
            Log, '/rosout', lambda message: self.log.append(message.msg),
            QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self._by_name = 'joint_state' in str(given.get('command_type'))
        self.commands = self.other.create_publisher(
            JointState if self._by_name else Float64MultiArray, 'controller/commands', 10)
        self.executor = SingleThreadedExecutor()
        for node in (self.node, self.other):
            self.executor.add_node(node)

    def spin(self, until: Callable[[], object], limit: float = 20.0) -> None:
        """Let callbacks run until something is so."""
        end = time.monotonic() + patient(limit)
        while not until():
            assert time.monotonic() < end, f'it does not happen; {self.log[-3:]}'
            self.executor.spin_once(timeout_sec=0.02)

    def ask(self, kind: type, name: str, **fields: object) -> object:
        """Call a service of the simulator."""
        client = self.other.create_client(kind, f'/simulator/{name}')
        self.spin(client.service_is_ready)
        answer = client.call_async(kind.Request(**fields))
        self.spin(answer.done)
        return answer.result()

    def listen(self, kind: type, topic: str) -> list:
        """Return a list that every message of a topic is added to."""
        heard: list = []
        self.other.create_subscription(kind, topic, heard.append, 100)
        return heard

    def more(self, count: int = 3) -> JointState:
        """Wait for further states; return the last one."""
        wanted = len(self.states) + count
        self.spin(lambda: len(self.states) >= wanted)
        return self.states[-1]

    def send(self, *numbers: float, names: Sequence[str] = ('swing',), **fields: object) -> None:
        """Send one command; where it has names, with the stamp of the last state."""
        message = Float64MultiArray(data=numbers)
        if self._by_name:
            message = JointState(**{'name': list(names), 'effort': list(numbers)} | fields)
            if self.states:
                message.header.stamp = self.states[-1].header.stamp
        self.commands.publish(message)
        self.sent += 1

    def command(self, torque: float, until: Callable[[], object]) -> None:
        """Command until something is so."""
        def sent() -> object:
            self.send(torque)
            return until()
        self.spin(sent)

    def is_told(self, text: str, *numbers: float, **more: object) -> None:
        """Send a command again and again until the log has a text about it: once a second."""
        begin = len(self.log)

        def told() -> bool:
            self.send(*numbers, **more)
            return any(text in line for line in self.log[begin:])
        self.spin(told)

    def close(self) -> str:
        """End in the order of the process."""
        self.executor.shutdown(timeout_sec=1.0)
        text = self.node.summary()
        for node in (self.node, self.other):  # or what is left of it would end the next one's log
            node.destroy_node()
        rclpy.shutdown()
        return text


@contextmanager
def simulator(**values: object) -> Iterator[SimulatorRig]:
    """Give a running simulator."""
    with own_domain():
        made = SimulatorRig(**values)
        try:
            yield made
        finally:
            if rclpy.ok():
                made.close()
