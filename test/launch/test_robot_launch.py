# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Where a robot comes from, which joints it has, and what the system gives a controller.

Several controllers in namespaces of their own: one that is configured in many ways and may have
what it asks for of the system, one that may not and has modes of the user, one of an example file
with the robot that it is made for, one on the topic robot_description.
"""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys
import tempfile
import threading
import time
from typing import ClassVar
import unittest

import arm
from benchmark.robots import robot_file
from diagnostic_msgs.msg import DiagnosticArray
from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros import load_urdf
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
import rclpy
import rig
from sampling import some
from sensor_msgs.msg import JointState
from std_msgs.msg import String

ROOT = Path(__file__).parents[2]

#: three joints in a row by a macro, with a property and an argument that has a default
XACRO = """
<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="expanded">
  <xacro:property name="length" value="0.3"/>
  <xacro:arg name="mass" default="1.5"/>
  <xacro:macro name="part" params="number below">
    <link name="part_${number}"><inertial><origin xyz="0 0 ${length / 2}"/>
      <mass value="$(arg mass)"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="hinge_${number}" type="revolute"><parent link="${below}"/>
      <child link="part_${number}"/><origin xyz="0 0 ${length}"/><axis xyz="0 1 0"/>
      <limit lower="-2" upper="2" effort="40" velocity="3"/></joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:part number="1" below="base"/>
  <xacro:part number="2" below="part_1"/>
</robot>
"""

#: realtime.* that the two controllers ask for
WISHES = {'realtime.priority': 20, 'realtime.cores': [0], 'realtime.lock_memory': True}


def research_arm() -> str:
    """Return a file of the Panda with the names of its successor, which the example has."""
    file = Path(tempfile.mkdtemp(), 'fr3.urdf')
    file.write_text(robot_file('panda').read_text().replace('panda_', 'fr3_'))
    return str(file)


def own_modes() -> str:
    """Return the file that the guide to control laws tells to write."""
    guide = (ROOT / 'docs' / 'add_a_control_law.md').read_text()
    file = Path(tempfile.mkdtemp(), 'my_modes.py')
    file.write_text(guide.split('```python\n')[1].split('```')[0])
    return str(file)


EXAMPLES = {'franka': ('panda.yaml', research_arm()),
            'ur': ('ur_effort.yaml', robot_file('ur5')),
            'managed': ('ros2_control.yaml', arm.URDF)}

#: those that are started
drawn: list[str] = []


def started(**arguments: str) -> GroupAction:
    """Return what controller.launch.py starts with these arguments."""
    file = ROOT / 'launch' / 'controller.launch.py'
    return GroupAction([IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(file)), launch_arguments=arguments.items())])


def without_rights() -> str:
    """Return what starts a process that may neither lock memory nor have a priority."""
    limits = 'prlimit --rtprio=0 --memlock=65536 --'
    return f'setpriv --bounding-set=-all --inh-caps=-all {limits}' if os.geteuid() == 0 else limits


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> tuple[LaunchDescription, dict[str, object]]:
    """Start them all; nobody is configured but the one on the topic, which waits for it."""
    rich = rig.controller('rich', stifness=[1.0], **WISHES)
    poor = rig.controller('poor', prefix=without_rights(), **WISHES, **{
        'mode_file': own_modes(), 'spring.stiffness': [80.0]})
    drawn[:] = some('configurations', EXAMPLES, 1)
    return LaunchDescription([
        rich, poor,
        started(namespace='topic', use_robot_description='true', autostart='true',
                params_file=str(ROOT / 'config' / 'controller.yaml')),
        *(started(namespace=name, urdf=str(urdf),
                  params_file=str(ROOT / 'config' / file), commands='effort/commands')
          for name, (file, urdf) in EXAMPLES.items() if name in drawn),
        ReadyToTest()]), {'rich': rich, 'poor': poor}


class Case(unittest.TestCase):
    """What every test needs."""

    clients: ClassVar[dict[str, rig.Client]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        """Begin to talk, once."""
        if not cls.clients:
            rclpy.init()

    def client_of(self, namespace: str) -> rig.Client:
        """Return a client of one controller, which all tests share: to be found takes time."""
        if namespace not in self.clients:
            self.clients[namespace] = rig.Client(namespace)
        return self.clients[namespace]

    def refuse(self, client: rig.Client, transition: int, reason: str) -> None:
        """Expect that a transition fails, with a reason in the log."""
        begin = time.monotonic()
        self.assertFalse(client.transition(transition))
        client.wait_text('log', reason, begin)


class TestSources(Case):
    """The description out of a file, a xacro file, a parameter, the topic."""

    def setUp(self) -> None:
        """Make files, and a client."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.client = self.client_of('rich')
        self.addCleanup(self.forget)
        self.client.must_set({'driver_adds': 'none', 'release_torque': 'zero',
                              'joints': rig.NO_NAMES})

    def forget(self) -> None:
        """Clean up, so that the next source counts."""
        if self.client.lifecycle() == 'inactive':
            self.assertTrue(self.client.transition(rig.CLEANUP))
        self.client.must_set({'robot_description': '', 'robot_description_file': ''})

    def file(self, name: str, text: str) -> str:
        """Write a file; return its path."""
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def configure(self, told: str, **values: object) -> None:
        """Configure with a source; expect what is logged about it."""
        begin = time.monotonic()
        self.client.must_set(values)
        self.assertTrue(self.client.transition(rig.CONFIGURE), self.client.last('log'))
        self.client.wait_text('log', told, begin)
        self.forget()

    def test_each_source(self) -> None:
        """Every source is taken, and the log says which one it was."""
        urdf = arm.URDF.read_text()
        self.configure('robot "seven_joint_arm" from the parameter robot_description',
                       robot_description=urdf)
        path = self.file('robot.urdf', urdf)
        self.configure(f'robot "seven_joint_arm" from the file {path}',
                       robot_description_file=path)
        self.configure('robot "seven_joint_arm" from the file package://rbd_ros/urdf/',
                       robot_description_file='package://rbd_ros/urdf/seven_joint_arm.urdf')
        path = self.file('robot.urdf.xacro', XACRO)
        self.configure(f'robot "expanded" from the file {path}: controls hinge_1, hinge_2; '
                       'tip part_2', robot_description_file=path)
        topic = self.client.node.create_publisher(String, 'robot_description', rig.LATCHED)
        topic.publish(String(data=urdf.replace('seven_joint_arm', 'published_arm')))
        begin = time.monotonic()
        self.client.wait(lambda: self.client.transition(rig.CONFIGURE), 'a description')
        self.client.wait_text('log', 'robot "published_arm" from the topic robot_description',
                              begin)
        self.client.node.destroy_publisher(topic)

    def test_refusals(self) -> None:
        """What cannot be read is refused with its name and what to do."""
        client = self.client
        client.must_set({'robot_description_file': self.file(
            'b.xacro', XACRO.replace('name="part"', 'name="bit"'))})
        self.refuse(client, rig.CONFIGURE, 'b.xacro": unknown macro name: xacro:part')
        client.must_set({'robot_description': arm.URDF.read_text()})
        self.refuse(client, rig.CONFIGURE, 'are both given: choose one')
        client.must_set({'robot_description': '', 'robot_description_file': str(arm.URDF)})
        for values, reason in (
                ({'joints': ['joint_9']}, 'no joint "joint_9"'),
                ({'joints': ['joint_1', 'joint_1']}, 'joint_1'),
                ({'joints': rig.NO_NAMES, 'task.frame': 'tool'}, 'did you mean "tool0"')):
            client.must_set(values)
            self.refuse(client, rig.CONFIGURE, reason)
        client.must_set({'task.frame': ''})

    def test_impossible_transition(self) -> None:
        """A transition that this state does not have is refused; the controller goes on."""
        for number, name in ((rig.ACTIVATE, 'activate'), (rig.DEACTIVATE, 'deactivate'), (99, 99)):
            self.refuse(self.client, number,
                        f'transition {name} is refused: not possible while unconfigured')
        self.assertEqual(self.client.lifecycle(), 'unconfigured')

    def test_unknown_parameter(self, rich: object, proc_output: object) -> None:
        """A parameter that does not exist is warned about, with the one that was meant."""
        proc_output.assertWaitFor('parameter stifness is unknown and has no effect; did you mean '
                                  '"stiffness"?', process=rich, timeout=patient(20.0))


class TestModes(Case):
    """Modes of the user."""

    def test_file_of_modes(self) -> None:
        """The file is read when configuring; over ROS its gains can be set, but not the file."""
        client = self.client_of('poor')
        client.must_set(arm.PARAMETERS)
        self.addCleanup(client.must_set, {'robot_description_file': ''})
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        self.addCleanup(client.transition, rig.CLEANUP)
        file = client.get('mode_file')
        taken, reason = client.set({'mode_file': str(arm.URDF)})
        self.assertFalse(taken)
        self.assertIn('read-only', reason)
        self.assertEqual(client.get('mode_file'), file)
        self.assertEqual(list(client.get('spring.stiffness')), [80.0])
        client.must_set({'mode': 'spring', 'spring.damping': [8.0]})
        self.assertIn('is outside [0, 100]', client.set({'spring.damping': [800.0]})[1])
        self.assertIn("'cartesian_impedance', 'spring'], got 'sprung'",
                      client.set({'mode': 'sprung'})[1])
        client.must_set({'mode': 'gravity_compensation'})


class TestExamples(Case):
    """The launch file with a robot, a file of parameters, a namespace, another topic."""

    def test_files(self) -> None:
        """Each example file is loaded and fits its robot; the log says what is sent where."""
        sent = {'franka': 'the torque without gravity on /franka/effort/commands '
                          '(float64_multi_array), payload known to the driver',
                'ur': 'the torque without gravity on /ur/effort/commands',
                'managed': 'the total torque on /managed/effort/commands'}
        for name, text in ((name, sent[name]) for name in drawn):
            with self.subTest(name):
                client, begin = self.client_of(name), time.monotonic()
                self.assertEqual(client.lifecycle(), 'unconfigured')  # nobody told it to start
                self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
                client.wait_text('log', f'sends {text}', begin)
                # who publishes what is made known by and by
                topic = f'/{name}/effort/commands'
                client.wait(lambda topic=topic: client.node.count_publishers(topic) == 1,
                            f'the publisher of {topic}')
                self.assertTrue(client.transition(rig.CLEANUP))

    def test_topic(self) -> None:
        """With use_robot_description the controller waits for the topic, then starts."""
        client, begin = self.client_of('topic'), time.monotonic()
        client.wait_text('log', 'waiting for /topic/robot_description', begin)
        self.assertEqual(client.lifecycle(), 'unconfigured')
        topic = client.node.create_publisher(String, 'robot_description', rig.LATCHED)
        topic.publish(String(data=arm.URDF.read_text()))
        client.wait_text('log', 'from the topic robot_description', begin)
        driver = rig.Driver(client, arm.JOINTS, arm.Q, 500.0)
        driver.effort = arm.GRAVITY.copy()
        self.addCleanup(driver.close)
        client.wait_text('state', 'running', begin)


class TestJoints(Case):
    """Joints that are not controlled, from a publisher of their own."""

    def test_gripper(self) -> None:
        """An arm and its gripper by two publishers: needed, used, missed; or given as fixed."""
        client = self.client_of('rich')
        urdf = robot_file('panda').read_text()
        joints = [f'panda_joint{k}' for k in range(1, 8)]
        q = np.array([0.2, -0.5, 0.3, -1.8, 0.4, 1.6, 0.5])
        model = load_urdf(urdf, on_warning=lambda _: None)
        peer = PinocchioRobot(model, urdf)
        client.must_set({
            'robot_description': urdf, 'joints': joints, 'driver_adds': 'none',
            'release_torque': 'zero',
            'command_type': 'joint_state', 'nominal_rate': 200.0, 'minimum_rate': 20.0,
            'state_timeout': 0.8, 'prescribed_timeout': 0.5, 'ramp_time': 0.1, 'stop_time': 0.5,
            'activation_timeout': 0.5, 'brake_time': 0.1, 'release_time': 0.1,
            'brake_damping': [0.1]})
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        driver = rig.Driver(client, joints, q, 200.0)
        self.addCleanup(driver.close)
        client.wait(lambda: client.states.get_subscription_count() > 0, 'the controller')
        self.refuse(client, rig.ACTIVATE, 'no usable state of panda_finger_joint1')
        gripper = Gripper('rich')
        self.addCleanup(gripper.close)
        client.must_set({'activation_timeout': 20.0})
        self.assertTrue(client.transition(rig.ACTIVATE), client.last('log'))
        wanted = peer.gravity(np.append(q, Gripper.POSITION))[:7]
        self.wait_torque(client, wanted)
        begin = time.monotonic()
        gripper.silent = True
        client.wait_text('fault', 'panda_finger_joint1', begin)
        self.assertTrue(client.transition(rig.DEACTIVATE))
        self.assertTrue(client.transition(rig.CLEANUP))
        client.must_set({'fixed_positions.joints': ['panda_finger_joint1'],
                         'fixed_positions.values': [Gripper.POSITION]})
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        self.assertTrue(client.transition(rig.ACTIVATE), client.last('log'))
        self.wait_torque(client, wanted)
        self.assertTrue(client.transition(rig.DEACTIVATE))
        self.assertTrue(client.transition(rig.CLEANUP))
        client.must_set({'fixed_positions.joints': rig.NO_NAMES, 'robot_description': '',
                         'fixed_positions.values': rig.NO_NUMBERS, 'joints': rig.NO_NAMES})

    def wait_torque(self, client: rig.Client, wanted: np.ndarray) -> None:
        """Wait for a torque."""
        begin = time.monotonic()
        client.wait(lambda: bool(client.commands) and client.commands[-1].time > begin
                    and np.linalg.norm(client.commands[-1].effort - wanted)
                    < 1e-8 * np.linalg.norm(wanted), f'the torque {wanted.round(3)}')


class Gripper:
    """A driver of its own for two fingers, one of which mimics the other, at a low rate."""

    POSITION = 0.03

    def __init__(self, namespace: str) -> None:
        self.silent = False
        self._node = rclpy.create_node('gripper', namespace=namespace)
        self._states = self._node.create_publisher(JointState, 'joint_states', 10)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        names = ['panda_finger_joint1', 'panda_finger_joint2']
        while not self._end.wait(0.05):
            if not self.silent:
                self._states.publish(rig.state_message(
                    names, [self.POSITION] * 2, [0.0] * 2, stamp=time.time_ns()))

    def close(self) -> None:
        """End it."""
        self._end.set()
        self._thread.join()
        self._node.destroy_node()


def allowed(code: str) -> bool:
    """Return whether the system lets a process of ours do something."""
    return subprocess.run([sys.executable, '-c', code], check=False, timeout=patient(60),
                          capture_output=True).returncode == 0


class TestRealTime(Case):
    """What is asked of the system is done where it may be, and else warned about."""

    def bring_up(self, namespace: str) -> tuple[rig.Client, dict[str, str]]:
        """Bring a controller up; return what it says became of its wishes."""
        client = self.client_of(namespace)
        told: dict[str, str] = {}

        def hear(message: DiagnosticArray) -> None:
            for status in message.status:
                if namespace in status.name and status.name.endswith(': real time'):
                    told.update({value.key: value.value for value in status.values})
        client.node.create_subscription(DiagnosticArray, '/diagnostics', hear, 10)
        driver = rig.Driver(client, arm.JOINTS, arm.Q, arm.RATE)
        self.addCleanup(driver.close)
        client.must_set(arm.PARAMETERS)
        self.addCleanup(client.must_set, {'robot_description_file': ''})
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        self.assertTrue(client.transition(rig.ACTIVATE), client.last('log'))
        client.wait_running()
        client.wait(lambda: 'realtime.freeze_gc' in told, 'what is reported about real time')
        self.addCleanup(client.put_down)
        return client, told

    def threads(self, process: object) -> tuple[list[int], list[int]]:
        """Return a process' threads with the priority, and those on the one processor."""
        tids = [int(p.name) for p in Path(f'/proc/{pid(process)}/task').iterdir()]
        first = [tid for tid in tids if os.sched_getscheduler(tid) == os.SCHED_FIFO
                 and os.sched_getparam(tid).sched_priority == WISHES['realtime.priority']]
        return first, [tid for tid in tids if os.sched_getaffinity(tid) == {0}]

    def locked(self, process: object) -> int:
        """Return the kB of a process that cannot be paged out."""
        lines = Path(f'/proc/{pid(process)}/status').read_text().splitlines()
        return int(next(line for line in lines if line.startswith('VmLck')).split()[1])

    def test_with_rights(self, rich: object) -> None:
        """The loop has its priority and processor and the memory is locked, if we may."""
        _, told = self.bring_up('rich')
        first, pinned = self.threads(rich)
        print(f'{told}; {len(first)} threads with priority, {len(pinned)} on processor 0, '
              f'{self.locked(rich)} kB locked')
        fifo = allowed('import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))')
        self.assertEqual(told['realtime.priority'].startswith('applied'), fifo, told)
        self.assertEqual(bool(first), fifo)
        if os.cpu_count() != 1:
            self.assertTrue(pinned)
        self.assertTrue(told['realtime.cores'].startswith('applied'))
        self.assertTrue(told['realtime.prefault'].startswith('applied'), told)
        memory = allowed('import ctypes, sys; sys.exit(ctypes.CDLL(None).mlockall(3))')
        self.assertEqual(told['realtime.lock_memory'].startswith('applied'), memory, told)
        self.assertEqual(self.locked(rich) > 10_000, memory)
        self.assertEqual(told['realtime.freeze_gc'], 'applied')

    def test_without_rights(self, poor: object, proc_output: object) -> None:
        """Each refusal is a warning with its reason, and the robot is carried all the same."""
        client, told = self.bring_up('poor')
        for name, reason in (('realtime.priority', 'not permitted'),
                             ('realtime.lock_memory', 'Cannot allocate|not permitted')):
            self.assertRegex(told[name], f'refused .*({reason})')
            said = [line for out in proc_output[poor] for line in out.text.decode().splitlines()
                    if f'{name}: ' in line and 'continuing without' in line]
            self.assertEqual(len(said), 1, said)
            self.assertRegex(said[0], 'to allow it: .*(limits.d|docker run)')
        self.assertEqual(self.threads(poor)[0], [])
        self.assertEqual(self.locked(poor), 0)
        begin = time.monotonic()
        client.wait(lambda: bool(client.commands) and client.commands[-1].time > begin
                    and np.allclose(client.commands[-1].effort, arm.GRAVITY, atol=1e-6),
                    'gravity')


def pid(process: object) -> int:
    """Return the number of a process that launch started."""
    return process.process_details['pid']


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controllers ended."""

    @classmethod
    def tearDownClass(cls) -> None:
        """End the clients."""
        while Case.clients:
            Case.clients.popitem()[1].close()
        rclpy.shutdown()

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """They end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
