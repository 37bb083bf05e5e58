# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The simulator whose periods are machine code: what is left to Python, and its stalls."""

import ctypes
import time

from geometry_msgs.msg import WrenchStamped
from isolation import own_domain
import pytest
from rbd_ros.nodes.simulator.native_node import NativeSimulator
from rbd_ros.sim.native.records import Look
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

pytest.importorskip('llvmlite', reason='machine code is made by llvmlite')

ROBOT = """<robot name="pendulum"><link name="base"/><link name="rod"><inertial>
<origin xyz="0 0 -0.5"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="swing" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/></joint></robot>"""


class Rig:
    """A simulator with somebody who listens and commands, and an executor that is not forced."""

    def __init__(self, **values):
        given = {'robot_description': ROBOT, 'discovery_time': 0.0, 'state_rate': 100.0,
                 'max_catch_up': 1} | values
        options = [each for name, value in given.items()
                   for each in ('-p', f'{name}:={value!r}' if isinstance(value, str)
                                else f'{name}:={str(value).lower()}')]
        rclpy.init(args=['--ros-args', *options])
        self.node = NativeSimulator()
        self.other = rclpy.create_node('other', use_global_arguments=False)
        self.states = []
        self.other.create_subscription(JointState, 'joint_states', self.states.append,
                                       QoSProfile(depth=2000))
        self.commands = self.other.create_publisher(Float64MultiArray, 'controller/commands', 10)
        self.executor = SingleThreadedExecutor()
        for node in (self.node, self.other):
            self.executor.add_node(node)

    def spin(self, until, limit=20.0):
        """Let callbacks run until something is so."""
        end = time.monotonic() + limit
        while not until():
            assert time.monotonic() < end, 'it does not happen'
            self.executor.spin_once(timeout_sec=0.02)

    def ask(self, kind, name, **fields):
        """Call a service of the simulator."""
        client = self.other.create_client(kind, f'/simulator/{name}')
        self.spin(client.service_is_ready)
        answer = client.call_async(kind.Request(**fields))
        self.spin(answer.done)
        return answer.result()

    def more(self, count=3):
        """Wait for further states; return the last one."""
        wanted = len(self.states) + count
        self.spin(lambda: len(self.states) >= wanted)
        return self.states[-1]

    def command(self, torque, until):
        """Command until something is so."""
        def sent():
            self.commands.publish(Float64MultiArray(data=[torque]))
            return until()
        self.spin(sent)

    def close(self):
        """End in the order of the process."""
        self.executor.shutdown(timeout_sec=1.0)
        text = self.node.summary()
        rclpy.shutdown()
        return text


@pytest.fixture
def rig():
    """Return a running simulator."""
    with own_domain():
        made = Rig()
        yield made
        if rclpy.ok():
            made.close()


def test_states_go_on_while_python_stands_still(rig):
    """Nobody else gets the lock for 2 s; states come at their rate, and no more than one late."""
    rig.more()
    rig.command(1.0, lambda: abs(rig.states[-1].velocity[0]) > 0.0)
    loop = rig.node.loop
    before = loop.look()[Look.PERIODS]
    ctypes.PyDLL(None).usleep(2_000_000)
    # A thread that had waited for the lock would have run one period by now: max_catch_up.
    assert loop.look()[Look.PERIODS] > before + 20
    seen = len(rig.states)
    rig.spin(lambda: len(rig.states) > seen + 20)
    stamps = [state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in rig.states]
    assert sorted(stamps) == stamps


def test_requests_take_the_simulation_back(rig):
    """Pause, step, reset, a parameter and noise: as without the thread, which then goes on."""
    rig.more()
    node, loop = rig.node, rig.node.loop
    assert loop.away
    assert rig.ask(Trigger, 'step').message.startswith('the simulation is running')
    assert rig.ask(SetBool, 'pause', data=True).message == 'paused' and not loop.away
    time_ns = node._simulation.time_ns
    assert rig.ask(Trigger, 'step').success
    assert node._simulation.time_ns == time_ns + 10_000_000 and not loop.away
    assert rig.ask(SetBool, 'pause', data=False).message == 'running' and loop.away
    rig.command(2.0, lambda: abs(rig.states[-1].position[0]) > 0.05)
    assert rig.more().effort[0] == pytest.approx(2.0)
    assert rig.ask(Trigger, 'reset').success and loop.away
    rig.spin(lambda: rig.states[-1].position[0] == 0.0)
    assert node.set_parameters([Parameter('position_noise', value=[0.1])])[0].successful
    assert not loop.away
    rig.spin(lambda: rig.states[-1].position[0] not in (0.0, rig.states[-2].position[0]))
    assert node.set_parameters([Parameter('position_noise', value=[0.0]),
                                Parameter('effort_source', value='none')])[0].successful
    assert loop.away
    rig.spin(lambda: rig.more().position[0] == 0.0 and not rig.states[-1].effort)
    assert 'periods, ' in rig.close()
    assert node._simulation.counters.commands > 0


def test_a_stream_of_pushes_does_not_stop_time(rig):
    """Python runs the periods while something pushes, however often, and then the thread does."""
    rig.more()
    pushes = rig.other.create_publisher(WrenchStamped, '/simulator/wrench', 10)
    message = WrenchStamped()
    message.header.frame_id, message.wrench.torque.y = 'rod', 2.0
    rig.command(0.0, lambda: rig.node.loop.look()[Look.RELEASED])

    def push():
        pushes.publish(message)
        rig.executor.spin_once(timeout_sec=2e-3)
        return not rig.node.loop.away
    rig.spin(push)
    counters, end = rig.node._simulation.counters, time.monotonic() + 0.5
    before = counters.periods
    while time.monotonic() < end:   # more often than there are periods
        push()
    assert counters.periods > before + 5
    rig.spin(lambda: push() and abs(rig.states[-1].position[0]) > 0.01)
    assert not rig.node.loop.away
    rig.spin(lambda: rig.node.loop.away)
    rig.more()


def test_a_command_that_is_refused_is_named(rig, monkeypatch):
    """Wrong size, and not a number."""
    said = []
    monkeypatch.setattr(rig.node, '_warn', said.append)
    rig.more()
    rig.command(float('nan'), lambda: said)
    assert said[-1].startswith('the command of joint "swing" is not finite')
    said.clear()

    def sent():
        rig.commands.publish(Float64MultiArray(data=[1.0, 2.0]))
        return any(text.startswith('a command has 2 values, 1 joints') for text in said)
    rig.spin(sent)


def test_what_is_left_to_the_executor():
    """Settings that machine code does not know are run as before."""
    with own_domain():
        made = Rig(command_latency=0.02, publish_clock=True)
        assert made.node.loop is None
        made.more()
        made.close()
