# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""The recorder against publishers of all kinds, and what it says of message types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
import json
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from command_rig import data, rbd
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from isolation import own_domain
import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros.identification.bag import read_in_order, recorded_robot, topics
from rbd_ros.nodes import recorder as module
from rbd_ros.nodes.recorder import Recorder
from rbd_ros.recording.definitions import definition, short
from rbd_ros.recording.mcap_file import CHUNK, is_whole, McapFile
from rcl_interfaces.msg import ParameterEvent
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from rosbags.typesys.store import Typestore
from sensor_msgs.msg import Imu, JointState, PointCloud2
from std_msgs.msg import Empty, Float64MultiArray, String
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory
from unique_identifier_msgs.msg import UUID

RELIABLE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
BEST_EFFORT = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)
TYPES = (JointState, Imu, DiagnosticArray, InertiaStamped, ParameterEvent, TFMessage,
         JointTrajectory, Float64MultiArray, PointCloud2, UUID, Empty)


@pytest.mark.sampled('formats', 4)
@pytest.mark.parametrize('kind', TYPES, ids=lambda kind: kind.__name__)
def test_definitions(kind: Any) -> None:
    """The hash of a type by our text is that of the published definition."""
    name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
    fields = {}

    def told(inner: str) -> Any:
        package, _, word = inner.partition('/')
        fields[inner] = getattr(__import__(f'{package}.msg').msg, word)
        return fields[inner].get_fields_and_field_types()
    text = definition(name, told)
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(text, name))
    assert short(name) in fields
    assert store.hash_rihs01(name) == published().hash_rihs01(name)


@cache
def published() -> Typestore:
    """Return the definitions of ROS 2."""
    return get_typestore(Stores.ROS2_JAZZY)


class Robot:
    """A node that says things, named as a controller, in a domain of its own."""

    def __init__(self, name: str = 'controller', namespace: str = '') -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node(name, context=self.context, namespace=namespace)
        self.node.declare_parameter('stiffness', [1.0, 2.0])
        self.node.declare_parameter('label', 'left')
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def close(self) -> None:
        """End it."""
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def robot() -> Iterator[Robot]:
    """Return a node that nobody else hears."""
    with own_domain():
        made = Robot()
        yield made
        made.close()


def heard(recorder: Recorder, robot: Robot, counts: dict[str, int]) -> None:
    """Wait until so many messages have been recorded."""
    end = time.monotonic() + patient(20.0)
    while any(recorder.recorded.topics.get(name, 0) < count for name, count in counts.items()):
        assert time.monotonic() < end, recorder.recorded
        recorder.spin(0.05)
        robot.executor.spin_once(timeout_sec=0.0)


def test_all_that_is_said(robot: Robot, tmp_path: Path) -> None:
    """
    Latched, reliable and best-effort topics are recorded whole and in order, with parameters.

    A publisher that appears late and offers less is recorded as well.
    """
    node, file = robot.node, tmp_path / 'all.mcap'
    node.create_publisher(String, '/robot_description', LATCHED).publish(String(data='<robot/>'))
    states = node.create_publisher(JointState, '/joint_states', RELIABLE)
    weak = node.create_publisher(JointState, '/weak', BEST_EFFORT)
    unwanted = node.create_publisher(String, '/unwanted', RELIABLE)
    mistaken = Robot('mistaken')  # about a type
    mistaken.node.create_subscription(String, '/joint_states', print, 1)
    wanted = ('/robot_description', '/joint_states', '/weak', '/parameter_events')
    with McapFile(file) as out, Recorder(out, wanted, '/controller') as recorder:
        heard(recorder, robot, {'/robot_description': 1, '/parameter_events': 1})
        end = time.monotonic() + patient(20.0)
        while not (states.get_subscription_count() and weak.get_subscription_count()):
            assert time.monotonic() < end
            recorder.spin(0.05)
        for k in range(200):
            message = JointState(name=['a'], position=[float(k)])
            states.publish(message)
            weak.publish(message)
            unwanted.publish(String(data='no'))
            recorder.spin(0.001)
        heard(recorder, robot, {'/joint_states': 200})
        late = node.create_publisher(JointState, '/joint_states', BEST_EFFORT)
        end = time.monotonic() + patient(20.0)
        while recorder.recorded.topics['/joint_states'] < 201:
            assert time.monotonic() < end
            late.publish(JointState(name=['b'], position=[-1.0]))
            recorder.spin(0.1)
        assert not recorder.refused and recorder.recorded.lost == 0
    mistaken.close()
    assert set(topics(file)) == set(wanted)
    found: dict[str, list[Any]] = {}
    for topic, _, message, _ in read_in_order(file, wanted):
        found.setdefault(topic, []).append(message)
    said = [each.position[0] for each in found['/joint_states'] if each.name == ['a']]
    assert said == [float(k) for k in range(200)]
    assert any(each.name == ['b'] for each in found['/joint_states'])
    assert len(found['/weak']) > 100 and found['/robot_description'][0].data == '<robot/>'
    given = next(each for each in found['/parameter_events'] if each.node == '/controller')
    values = {each.name: each.value for each in given.new_parameters}
    assert values['stiffness'].double_array_value.tolist() == [1.0, 2.0]
    assert values['label'].string_value == 'left'


def test_only_what_was_asked_for(robot: Robot, tmp_path: Path) -> None:
    """Parameters are asked for by whoever records their changes, and by nobody else."""
    states = robot.node.create_publisher(JointState, '/joint_states', LATCHED)
    states.publish(JointState(name=['a'], position=[1.0]))
    kind = 'sensor_msgs/msg/JointState'
    one, all_of_it = tmp_path / 'one.mcap', tmp_path / 'all.mcap'
    with (McapFile(one) as file, Recorder(file, ['/joint_states'], '/controller') as only,
          McapFile(all_of_it) as other, Recorder(other, None, '/controller') as every):
        for _ in range(2):  # both have looked again since the parameters could be had
            heard(only, robot, {'/joint_states': 1})
            heard(every, robot, {'/joint_states': 1, '/parameter_events': 1})
            only.spin(0.6)
            robot.executor.spin_once(timeout_sec=0.1)
        assert only.kinds == {'/joint_states': kind}
        assert every.kinds['/joint_states'] == kind and '/parameter_events' in every.kinds
    assert set(topics(one)) == {'/joint_states'}


def test_parameters_that_come_late(robot: Robot, tmp_path: Path) -> None:
    """A recording that ends before the controller has answered waits for its parameters."""
    file, answering = tmp_path / 'late.mcap', threading.Event()

    def answer() -> None:
        time.sleep(1.0)
        while not answering.wait(0.0):
            robot.executor.spin_once(timeout_sec=0.05)
    with McapFile(file) as out, Recorder(out, ['/parameter_events'], '/controller') as recorder:
        end = time.monotonic() + patient(20.0)
        while not recorder._asked:
            assert time.monotonic() < end
            recorder.spin(0.1)
        assert not recorder.recorded.messages
        busy = threading.Thread(target=answer)
        busy.start()
        assert recorder.wait_for_parameters() == []
        answering.set()
        busy.join()
    (event,) = (each for _, _, each, _ in read_in_order(file, ['/parameter_events']))
    assert event.node == '/controller'
    assert {each.name for each in event.new_parameters} >= {'stiffness', 'label'}


def test_parameters_that_never_come(robot: Robot, tmp_path: Path,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that tells no parameters is named: its recording cannot be replayed."""
    file = tmp_path / 'silent.mcap'
    robot.node.create_publisher(String, '/controller/state', LATCHED).publish(
        String(data='running'))
    monkeypatch.setattr(module, '_PATIENCE', 0.5)
    said, warned = rbd('record', '--out', file, '--for', '1')
    assert '/controller did not tell its parameters, which rbd replay needs' in ' '.join(
        warned.split())
    assert 'rbd replay' not in said


@pytest.mark.sampled('configurations', 2)
@pytest.mark.parametrize('number', (signal.SIGINT, signal.SIGTERM, signal.SIGKILL),
                         ids=('interrupt', 'terminate', 'kill'))
def test_the_end_of_the_command(robot: Robot, tmp_path: Path, number: int) -> None:
    """Ctrl-C and SIGTERM leave a whole file; a killed process one that can be mended."""
    file = tmp_path / 'run.mcap'
    states = robot.node.create_publisher(JointState, '/joint_states', RELIABLE)
    message = JointState(name=['a'], position=np.random.default_rng(1).random(2000).tolist())
    with subprocess.Popen(
            [sys.executable, '-m', 'rbd_ros.command_line', 'record', file, '--json'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        end, sent = time.monotonic() + patient(40.0), 0
        while not (file.exists() and file.stat().st_size > 3 * CHUNK):
            assert time.monotonic() < end and command.poll() is None
            states.publish(message)
            sent += 1
            time.sleep(0.005)
        command.send_signal(number)
        said, _ = command.communicate(timeout=patient(20.0))
    killed = number == signal.SIGKILL
    assert is_whole(file) is not killed
    with pytest.warns(UserWarning, match='was cut off') if killed else nullcontext():
        found = read_in_order(file, ['/joint_states'])
    assert 10 < len(found) <= sent
    assert all(len(each.position) == 2000 for _, _, each, _ in found)
    if not killed:
        assert command.returncode == 0
        assert json.loads(said)['topics']['/joint_states'] == len(found)


def test_two_namespaces(robot: Robot, tmp_path: Path) -> None:
    """The command records both robots in one file, each with the parameters of its controller."""
    file, sides = tmp_path / 'two.mcap', [Robot(namespace='left'), Robot(namespace='right')]
    for k, side in enumerate(sides):
        side.node.set_parameters([Parameter('label', value=f'robot {k}')])
        side.states = side.node.create_publisher(JointState, 'joint_states', RELIABLE)
        side.latched = side.node.create_publisher(String, 'robot_description', LATCHED)
        side.latched.publish(String(data=f'<robot name="{k}"/>'))
        side.mode = side.node.create_publisher(String, 'controller/mode', LATCHED)
        side.mode.publish(String(data='hold'))  # whoever is heard is asked for parameters
    wanted = {'/left/joint_states', '/left/robot_description', '/right/joint_states',
              '/right/robot_description', '/parameter_events'}
    with subprocess.Popen(
            [sys.executable, '-m', 'rbd_ros.command_line', 'record', '--out', file, '--json',
             '--namespace', 'left', '--namespace', '/right'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        end = time.monotonic() + patient(40.0)
        heard = 0  # after the command has found the publishers, longer than it may stand still
        while heard < 80:
            heard += all(side.states.get_subscription_count() for side in sides)
            assert time.monotonic() < end and command.poll() is None
            for k, side in enumerate(sides):
                side.states.publish(JointState(name=['a'], position=[float(k)]))
                side.executor.spin_once(timeout_sec=0.01)
        command.send_signal(signal.SIGINT)
        while command.poll() is None:  # it may still ask for parameters
            assert time.monotonic() < end + patient(20.0)
            for side in sides:
                side.executor.spin_once(timeout_sec=0.01)
        said, _ = command.communicate()
    for side in sides:
        side.close()
    assert command.returncode == 0 and wanted <= json.loads(said)['topics'].keys()
    found = read_in_order(file, wanted)
    for k, side in enumerate(('left', 'right')):
        states = [each.position[0] for topic, _, each, _ in found
                  if topic == f'/{side}/joint_states']
        assert states and set(states) == {float(k)}
        labels = [value.value.string_value for topic, _, each, _ in found
                  if topic == '/parameter_events' and each.node == f'/{side}/controller'
                  for value in each.new_parameters if value.name == 'label']
        assert labels == [f'robot {k}']
        assert recorded_robot(file, side).description == f'/{side}/robot_description'


def test_a_robot_in_a_namespace_that_was_not_named(robot: Robot, tmp_path: Path) -> None:
    """Where only another robot is heard, the command says where its states are."""
    side, file = Robot(namespace='left'), tmp_path / 'none.mcap'
    states = side.node.create_publisher(JointState, 'joint_states', RELIABLE)
    poses = side.node.create_publisher(String, '/tf_static', LATCHED)
    poses.publish(String(data='heard'))
    _, warned = rbd('record', '--out', file, '--for', '1.2')
    side.node.destroy_publisher(states)
    side.close()
    assert 'there are some on /left/joint_states: give their namespace' in ' '.join(
        warned.split())


def test_time_counts_from_the_first_message(robot: Robot, tmp_path: Path) -> None:
    """A recording of one second has a second of messages, however late the first one comes."""
    states = robot.node.create_publisher(JointState, '/joint_states', RELIABLE)
    file, ended, sent = tmp_path / 'late.mcap', threading.Event(), list[float]()

    def publish() -> None:
        while not (states.get_subscription_count() or ended.is_set()):
            time.sleep(0.01)
        time.sleep(1.2)  # longer than the recording
        first = time.monotonic()
        while not ended.wait(0.01):
            sent.append(time.monotonic() - first)
            states.publish(JointState(name=['a'], position=[sent[-1]]))
    thread = threading.Thread(target=publish)
    thread.start()
    try:
        said = data('record', '--out', file, '--for', '1', '--topics', '/joint_states', '--only')
    finally:
        ended.set()
        thread.join()
    assert 1.0 <= said['seconds'] < patient(2.0)
    *_, (_, _, last, _) = read_in_order(file, ['/joint_states'])
    # whatever it was late: nothing is left out that was sent within the second
    assert not [each for each in sent if last.position[0] < each < 0.8]


def test_nothing_is_said(robot: Robot, tmp_path: Path) -> None:
    """A recorder of a silent network ends with an empty, whole file."""
    with McapFile(tmp_path / 'none.mcap') as out, Recorder(out, ['/none'], '/no') as recorder:
        recorder.spin(0.3)
        assert recorder.recorded.messages == 0 and '0 messages' in recorder.recorded.line()
    assert read_in_order(tmp_path / 'none.mcap', ['/none']) == []


def test_parts_of_actions_and_services(robot: Robot, tmp_path: Path) -> None:
    """They have no message class: they are named, and all else is recorded."""
    said = robot.node.create_publisher(String, '/said', LATCHED)
    said.publish(String(data='heard'))
    robot.node.create_publisher(
        FollowJointTrajectory.Impl.FeedbackMessage, '/follow/_action/feedback', RELIABLE)
    with McapFile(tmp_path / 'all.mcap') as out, Recorder(out, None) as recorder:
        heard(recorder, robot, {'/said': 1})
        end = time.monotonic() + patient(20.0)
        while '/follow/_action/feedback' not in recorder.refused:
            assert time.monotonic() < end
            recorder.spin(0.1)
    assert recorder.refused['/follow/_action/feedback'].endswith(
        'is part of an action or a service, which are not recorded')


def test_names_as_they_are_typed(robot: Robot, tmp_path: Path) -> None:
    """Names need no slash in front, and spaces may follow commas; what is silent is named."""
    node, file = robot.node, tmp_path / 'run.mcap'
    for name in ('/joint_states', '/camera/info', '/controller/mode'):
        node.create_publisher(String, name, LATCHED).publish(String(data='heard'))
    said, warned = rbd('record', file, '--for', '1.2', '--topics', 'joint_states, camera/inof',
                       '--controller', 'controller', '--json')
    counts = json.loads(said)['topics']
    assert counts['/joint_states'] == counts['/controller/mode'] == 1
    assert ('/camera/inof was not recorded: nothing was heard on it; did you mean "/camera/info"?'
            in ' '.join(warned.split()))
