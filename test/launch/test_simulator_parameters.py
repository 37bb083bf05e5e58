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

"""
Each parameter of the simulator, seen on its topics, on a pendulum whose motion is known.

Time is stopped and stepped, so that each state is exactly so many periods after a reset; what
the pendulum does meanwhile is integrated here by another rule.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import threading
import time
import unittest

from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros.nodes.simulator.node import SILENCE
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import SetParametersAtomically
import rclpy
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
import rig
from scipy.integrate import solve_ivp
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

MASS, LENGTH, INERTIA, GRAVITY = 1.0, 0.5, 0.02, 9.81
STOP, EFFORT, START = 2.5, 20.0, 1.0
PERIOD = 1e-3  # s
ABOUT_JOINT = INERTIA + MASS * LENGTH**2

#: hangs down at zero
PENDULUM = f"""
<robot name="pendulum">
  <link name="base"/>
  <link name="rod"><inertial><origin xyz="0 0 -{LENGTH}"/><mass value="{MASS}"/>
    <inertia ixx="0.02" iyy="{INERTIA}" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/>
    <origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-{STOP}" upper="{STOP}" effort="{EFFORT}" velocity="20"/></joint>
  <joint name="end" type="fixed"><parent link="rod"/><child link="tip"/>
    <origin xyz="0 0 -{LENGTH}"/></joint>
</robot>
"""

STATES = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)

#: values that every test begins with
NORMAL: dict[str, object] = {
    'friction': [0.0], 'damping': [0.0], 'effort_limit': [EFFORT], 'restitution': 0.0,
    'mass_scale': 1.0, 'position_noise': [0.0], 'velocity_noise': [0.0], 'effort_noise': [0.0],
    'position_resolution': [0.0], 'velocity_source': 'measured', 'effort_source': 'motor',
    'state_latency': 0.0, 'dropout_probability': 0.0, 'dropout_length': 1, 'seed': 0,
    'steps_per_call': 1, 'wrench_timeout': 0.2}


def simulator(namespace: str, **parameters: object) -> NodeAction:
    """Return a simulator of the pendulum in a namespace."""
    common = {'robot_description': PENDULUM, 'initial_positions': [START], 'substeps': 1,
              'state_rate': 1.0 / PERIOD, 'publish_clock': True, 'publish_tf': True}
    return NodeAction(package='rbd_ros', executable='simulator', name='simulator',
                      namespace=namespace, output='screen', parameters=[common | parameters])


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start one with rk4, one with the other rule and a slow driver, one without brakes."""
    return LaunchDescription([
        simulator('fine'),
        simulator('coarse', integrator='semi_implicit', command_latency=0.05,
                  command_timeout=0.2),
        simulator('loose', brakes=False, state_rate=200.0, damping=[0.5]), ReadyToTest()])


class Bench:
    """One simulator, stopped, and what is needed to step it."""

    def __init__(self, namespace: str) -> None:
        self.node = rclpy.create_node('client', namespace=namespace)
        self.states: list[JointState] = []
        self.log: list[str] = []
        self._commanded = time.monotonic()  # last, s
        self.transforms: list[TFMessage] = []
        create = self.node.create_subscription
        create(JointState, 'joint_states', self.states.append, STATES)
        create(TFMessage, '/tf', self.transforms.append, 100)
        create(Log, '/rosout', lambda m: self.log.append(m.msg), rig.LATCHED)
        self.commands = self.node.create_publisher(Float64MultiArray, 'controller/commands', 10)
        self.wrench = self.node.create_publisher(WrenchStamped, 'simulator/wrench', 10)
        kinds = {'pause': SetBool, 'step': Trigger, 'reset': Trigger,
                 'set_parameters_atomically': SetParametersAtomically}
        self._clients = {name: self.node.create_client(kind, f'simulator/{name}')
                         for name, kind in kinds.items()}
        self._executor = EventsExecutor()
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()
        self.wait(lambda: self.commands.get_subscription_count() and
                  self.wrench.get_subscription_count(), 'the simulator')

    def close(self) -> None:
        """End it."""
        self._executor.shutdown(timeout_sec=5.0)
        self._thread.join(5.0)
        self.node.destroy_node()

    def wait(self, condition: Callable[[], object], what: str,
             seconds: float = patient(60.0)) -> None:
        """Wait for something."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f'{what}: not within {seconds:g} s'
            time.sleep(0.002)

    def call(self, name: str, request: object) -> object:
        """Call a service."""
        self.wait(self._clients[name].service_is_ready, name)
        future = self._clients[name].call_async(request)
        self.wait(future.done, f'the answer of {name}')
        return future.result()

    def pause(self, paused: bool) -> None:
        """Stop time, or let it run."""
        assert self.call('pause', SetBool.Request(data=paused)).success

    def set(self, **values: object) -> None:
        """Set parameters, which must be taken."""
        result = self.call('set_parameters_atomically', SetParametersAtomically.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()
                        for name, value in values.items()])).result
        assert result.successful, result.reason

    def begin(self, **values: object) -> None:
        """Stop time, go back to the start, with these parameters besides the normal ones."""
        self.pause(True)
        self.set(**NORMAL | values)
        assert self.call('reset', Trigger.Request()).success

    def command(self, torque: float) -> None:
        """
        Send a command, and wait until it is taken: services come after it.

        After a reset, one that comes too soon after another is held for part of an old stream.
        """
        time.sleep(max(self._commanded + 2.0 * SILENCE - time.monotonic(), 0.0))
        self.commands.publish(Float64MultiArray(data=[torque]))
        time.sleep(0.1)
        self.pause(True)
        self._commanded = time.monotonic()

    def step(self, periods: int = 1) -> JointState:
        """Go on by so many periods; return the state after the last one."""
        self.set(steps_per_call=periods)
        self.states.clear()
        answer = self.call('step', Trigger.Request())
        assert answer.success, answer.message
        self.now = float(answer.message.split()[1])
        self.wait(lambda: bool(self.states), 'a state')
        return self.states[-1]

    def run(self, count: int) -> list[JointState]:
        """Let time run for so many states."""
        self.states.clear()
        self.pause(False)
        self.wait(lambda: len(self.states) >= count, f'{count} states')
        self.pause(True)
        return self.states[:count]


def stamp(state: JointState) -> float:
    """Return the time of a state, s."""
    return state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec


def fall(seconds: float, torque: float = 0.0, *, damping: float = 0.0, friction: float = 0.0,
         scale: float = 1.0) -> tuple[float, float]:
    """Return angle and speed of the pendulum that was let go; friction before it turns."""
    def rate(_: float, x: np.ndarray) -> list[float]:
        pull = torque - scale * MASS * GRAVITY * LENGTH * math.sin(x[0])
        if friction:
            pull -= friction * (np.sign(x[1]) or np.sign(pull))
        return [x[1], (pull - damping * x[1]) / (scale * ABOUT_JOINT)]
    return tuple(solve_ivp(rate, (0.0, seconds), [START, 0.0], method='DOP853', rtol=1e-12,
                           atol=1e-12).y[:, -1])


class Case(unittest.TestCase):
    """Tests on one simulator."""

    namespace = 'fine'

    @classmethod
    def setUpClass(cls) -> None:
        """Begin to talk."""
        rclpy.init()
        cls.bench = Bench(cls.namespace)

    @classmethod
    def tearDownClass(cls) -> None:
        """End."""
        cls.bench.close()
        rclpy.shutdown()

    def assert_state(self, state: JointState, wanted: tuple[float, float],
                     tolerance: float = 1e-7) -> None:
        """Expect angle and speed."""
        np.testing.assert_allclose([state.position[0], state.velocity[0]], wanted, rtol=0.0,
                                   atol=tolerance)


class TestPhysics(Case):
    """What acts in the joint."""

    def test_brakes_then_fall(self) -> None:
        """The brakes hold until the first command; then it falls as a pendulum does."""
        bench = self.bench
        bench.begin(effort_source='joint')
        state = bench.step(300)
        self.assertEqual((state.position[0], state.velocity[0]), (START, 0.0))
        self.assertAlmostEqual(state.effort[0], MASS * GRAVITY * LENGTH * math.sin(START), 9)
        bench.command(0.0)
        begin = bench.now
        self.assert_state(bench.step(800), fall(0.8), 1e-8)
        self.assertAlmostEqual(bench.now - begin, 0.8, 6)
        self.assertAlmostEqual(stamp(bench.states[-1]), bench.now, 6)

    def test_friction_and_damping(self) -> None:
        """Damping slows it, dry friction too, and enough of that holds it."""
        bench = self.bench
        bench.begin(damping=[0.3])
        bench.command(0.0)
        self.assert_state(bench.step(700), fall(0.7, damping=0.3))
        bench.begin(friction=[2.0])
        bench.command(0.0)
        # Dry friction acts once per step, whatever the rule: an error of first order.
        self.assert_state(bench.step(400), fall(0.4, friction=2.0), 0.1 * PERIOD)
        bench.begin(friction=[5.0])
        bench.command(0.0)
        self.assert_state(bench.step(500), (START, 0.0), 1e-12)

    def test_torque_and_its_limit(self) -> None:
        """A torque counts up to the limit; the effort is that of the motor."""
        bench = self.bench
        bench.begin(effort_limit=[5.0])
        bench.command(50.0)
        state = bench.step(400)
        self.assert_state(state, fall(0.4, 5.0))
        self.assertAlmostEqual(state.effort[0], 5.0, 12)
        bench.begin(mass_scale=2.0)
        bench.command(6.0)
        self.assert_state(bench.step(400), fall(0.4, 6.0, scale=2.0))

    def test_stops(self) -> None:
        """At a stop it rests, or comes back with its share of the speed."""
        bench = self.bench
        for restitution in (0.0, 0.5):
            bench.begin(restitution=restitution)
            bench.command(EFFORT)
            before, top = 0.0, 0.0
            for _ in range(200):
                state = bench.step(5)
                top = max(top, state.position[0])
                if state.position[0] > STOP - 1e-3 or state.velocity[0] < -1e-6:
                    break
                before = state.velocity[0]
            self.assertLessEqual(top, STOP + 1e-6)
            self.assertGreater(before, 1.0)
            if restitution:
                self.assertLess(state.velocity[0], -0.4 * before)
                self.assertGreater(state.velocity[0], -0.6 * before)
            else:
                self.assert_state(bench.step(100), (STOP, 0.0), 1e-6)

    def test_push(self) -> None:
        """A wrench acts at its frame, in its axes, for its time; an unknown frame is reported."""
        bench = self.bench
        bench.begin(wrench_timeout=0.1)
        hold = MASS * GRAVITY * LENGTH * math.sin(START)
        bench.command(hold)
        push = WrenchStamped()
        push.header.frame_id = 'nowhere'
        bench.wrench.publish(push)
        bench.wait(lambda: any('a wrench is ignored: no frame "nowhere"' in text
                               for text in bench.log), 'a complaint')
        push.header.frame_id = 'tip'
        push.wrench.force.x, push.wrench.torque.y = -2.0, 0.3
        bench.wrench.publish(push)
        for _ in range(100):  # balanced, until the push arrives
            state = bench.step()
            if abs(state.velocity[0]) > 1e-9:
                break
            time.sleep(0.02)
        torque = 2.0 * LENGTH + 0.3  # the tip is below the hinge: -x is ahead
        self.assertAlmostEqual(state.velocity[0], torque / ABOUT_JOINT * PERIOD, 6)
        speeds = [bench.step(50).velocity[0] for _ in range(4)]
        gained = np.diff([state.velocity[0], *speeds])
        self.assertGreater(gained[0], 0.9 * 50 * PERIOD * torque / ABOUT_JOINT)
        self.assertLess(abs(gained[2:]).max(), 0.5 * gained[0])

    def test_transforms(self) -> None:
        """TF has the pose of the link at the time of the state."""
        bench = self.bench
        bench.begin()
        bench.command(0.0)
        bench.transforms.clear()
        for _ in range(40):  # one of so many states has a transform
            state = bench.step(10)
            mine = [t for m in bench.transforms for t in m.transforms
                    if t.child_frame_id == 'rod' and t.header.stamp == state.header.stamp]
            if mine:
                break
        self.assertEqual(mine[0].header.frame_id, 'base')
        r, t = mine[0].transform.rotation, mine[0].transform.translation
        half = 0.5 * state.position[0]
        np.testing.assert_allclose([r.x, r.y, r.z, r.w, t.x, t.y, t.z],
                                   [0.0, math.sin(half), 0.0, math.cos(half), 0.0, 0.0, 1.0],
                                   atol=1e-12)


class TestSensors(Case):
    """How the joint is read."""

    def test_noise(self) -> None:
        """Readings scatter as configured around the truth, and again with the same seed."""
        bench = self.bench
        runs = []
        for seed in (1, 1, 2):
            bench.begin(position_noise=[0.01], velocity_noise=[0.1], effort_noise=[0.5],
                        seed=seed)
            states = bench.run(400)
            rows = np.array([[s.position[0], s.velocity[0], s.effort[0]] for s in states])
            # Seven standard deviations of each estimate: by chance in 1 of 4e11.
            sigma = np.array([0.01, 0.1, 0.5])
            np.testing.assert_allclose(rows.std(axis=0), sigma, rtol=7.0 / math.sqrt(2 * 400))
            off = np.abs(rows.mean(axis=0) - [START, 0.0, 0.0])
            np.testing.assert_array_less(off, 7.0 * sigma / math.sqrt(400))
            bench.begin(position_noise=[0.01], seed=seed)
            runs.append([bench.step().position[0] for _ in range(5)])
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])

    def test_resolution_and_difference(self) -> None:
        """An encoder has steps, and speeds may be differences of what it reads, or missing."""
        bench = self.bench
        bench.begin(position_resolution=[0.01], velocity_source='difference')
        bench.command(0.0)
        bench.step(200)
        before, state = bench.step().position[0], bench.step()
        self.assertAlmostEqual(math.remainder(state.position[0], 0.01), 0.0, 9)
        self.assertAlmostEqual(state.velocity[0], (state.position[0] - before) / PERIOD, 6)
        bench.begin(velocity_source='none', effort_source='none')
        state = bench.step()
        self.assertEqual((len(state.position), len(state.velocity), len(state.effort)), (1, 0, 0))

    def test_latency(self) -> None:
        """A late state has the stamp and the values of when it was taken."""
        bench = self.bench
        bench.begin(state_latency=0.1)
        bench.command(0.0)
        state = bench.step(500)
        self.assertAlmostEqual(bench.now - stamp(state), 0.1, 6)
        self.assert_state(state, fall(0.4), 1e-6)

    def test_losses(self) -> None:
        """States are lost in the given share, alone or in a row."""
        bench = self.bench
        for length, share in ((1, 0.5), (10, 0.1)):
            bench.begin(dropout_probability=share, dropout_length=length, seed=4)
            times = np.array([stamp(state) for state in bench.run(300)])
            gaps = np.round(np.diff(times) / PERIOD).astype(int)
            print(f'losses of {length}: {(gaps > 1).mean():.2f} of the gaps are longer, the '
                  f'longest {gaps.max()} periods')
            self.assertGreater((gaps > length).sum(), 2)  # of 30 at least: 1e-10 by chance
        # A busy machine loses states too, one or two at a time: they are not looked at.
        self.assertEqual(np.bincount(gaps[gaps >= length]).argmax(), length + 1)

    def test_rate(self) -> None:
        """States come up to 1 kHz, whole periods apart."""
        bench = self.bench
        bench.begin()
        times = [stamp(state) for state in bench.run(1000)]
        gaps = np.diff(times) / PERIOD
        np.testing.assert_allclose(gaps, np.round(gaps), atol=1e-3)


class TestDriver(Case):
    """Another rule of integration, commands that take time, brakes that close again."""

    namespace = 'coarse'

    def test_semi_implicit(self) -> None:
        """The coarse rule is the one that it is called after; a command comes late."""
        bench = self.bench
        bench.begin()
        bench.command(0.0)
        state = bench.step(50)
        self.assert_state(state, (START, 0.0), 0.0)
        q, qd = START, 0.0
        for _ in range(100):
            qd += -MASS * GRAVITY * LENGTH * math.sin(q) / ABOUT_JOINT * PERIOD
            q += qd * PERIOD
        state = bench.step(100)
        self.assert_state(state, (q, qd), 1e-9)
        self.assertGreater(abs(state.position[0] - fall(0.1)[0]), 1e-4)

    def test_commands_cease(self) -> None:
        """Without commands for command_timeout the brakes close."""
        bench = self.bench
        bench.begin()
        bench.command(0.0)
        self.assertNotEqual(bench.step(150).velocity[0], 0.0)
        state = bench.step(100)
        self.assertEqual(state.velocity[0], 0.0)
        self.assertEqual(bench.step(100).position[0], state.position[0])


class TestLoose(Case):
    """A robot without brakes."""

    namespace = 'loose'

    def test_falls(self) -> None:
        """It does not wait for a command."""
        self.bench.pause(True)
        assert self.bench.call('reset', Trigger.Request()).success
        wanted = fall(0.5, damping=0.5)
        self.assert_state(self.bench.step(100), wanted, 1e-5)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the nodes ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """The simulators end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
