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

"""Joint states of many kinds at once, and of many joints, through the native loop."""

import ctypes
import gc
import threading
import time
from typing import NamedTuple
from xml.etree import ElementTree

from controller_rig import ARM, MODEL
from native_rig import activate, make_controller, Q, Robot
import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros import load_urdf
from rbd_ros.control.controller import Controller
from rbd_ros.control.parameters.assembly import compile_kernels
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
from rbd_ros.loop.words import Word
from rbd_ros.nodes.controller.loop_node import STATES
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
from rbd_ros.wire.messages import joint_state
from sampling import examples
from sensor_msgs.msg import JointState

#: messages, one each millisecond where the machine can
COUNT, PERIOD = examples('simulations', 20_000), 1e-3
#: of these, those after which memory must not grow, and bytes that it may
SETTLED, GROWTH = COUNT // 4, 200_000
#: s by which states may be late, the most that can be given: torques of later ones are those of
#: extrapolated states, which the loop tells
LATE = 0.5


@pytest.fixture
def robot():
    """Give handles; the test is the driver."""
    made = Robot(silent=True)
    # A collection of all that earlier tests have left would stop the thread that plays the driver.
    gc.collect()
    gc.freeze()
    yield made
    made.close()


class MessageKind(NamedTuple):
    """Messages with the same names."""

    names: tuple[str, ...]
    joints: np.ndarray  # of the robot, in the order of the names; -1: another's
    velocities: bool
    publisher: int


def make_kind(names, own, *, velocities=True, publisher=0):
    """Return a kind of messages, by its names and those of the robot."""
    places = np.array([own.index(name) if name in own else -1 for name in names])
    return MessageKind(tuple(names), places, velocities, publisher)


def kinds_of(own):
    """Return kinds that have all joints, some of them, or none."""
    rng = np.random.default_rng(5)
    first, second = rng.permutation(own).tolist(), rng.permutation(own).tolist()
    half = len(own) // 2
    return [
        make_kind(own, own),
        make_kind(own[::-1], own),
        make_kind(['camera', *first[:half], 'finger', *first[half:], 'track'], own),
        make_kind(second, own, velocities=False),
        make_kind([*own[:half], 'finger'], own),
        make_kind(own[half:][::-1], own, velocities=False, publisher=1),
        make_kind(['finger', 'thumb'], own, publisher=1)]


class Stream:
    """
    Joint states in turn of all kinds, from a thread.

    :param robot: gets them.
    :param own: names of its joints.
    :param kinds: of messages.
    :param rest: where the joints stand at first.
    """

    def __init__(self, robot, own, kinds, rest):
        self.own, self.kinds, self.rest = own, kinds, rest
        self.count, self.moving = 0, None
        self.stamps, self.q = np.zeros(4 * COUNT, np.int64), np.zeros((4 * COUNT, len(own)))
        self._publishers = [robot.driver.create_publisher(JointState, 'joint_states', STATES)
                            for _ in range(2)]
        robot.wait(lambda: all(each.get_subscription_count() for each in self._publishers))
        self._phase = np.arange(len(own))
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _state(self, now):
        """Return positions and velocities at a time in ns."""
        if self.moving is None:
            return self.rest, np.zeros_like(self.rest)
        angle = 1.5e-9 * (now - self.moving)
        swing = 0.3 * (np.cos(self._phase + angle) - np.cos(self._phase))
        ease = 1.0 - np.exp(-angle)
        speed = -0.3 * np.sin(self._phase + angle) * ease + swing * np.exp(-angle)
        return self.rest + swing * ease, 1.5 * speed

    def _run(self):
        due = time.monotonic()
        while self.count < len(self.stamps) and not self._end.is_set():
            due = max(due + PERIOD, time.monotonic() - 10.0 * PERIOD)
            time.sleep(max(due - time.monotonic(), 0.0))
            self._send(self.kinds[self.count % len(self.kinds)])

    def _send(self, kind):
        stamp, i = time.time_ns(), self.count
        q, qd = self._state(stamp)  # not of a later time, which would look like a higher speed
        self.stamps[i], self.q[i] = stamp, q
        # the last entry is what is said of others
        message = joint_state(kind.names, np.append(q, 7.7)[kind.joints],
                              np.append(qd, 8.8)[kind.joints] if kind.velocities else (), (),
                              divmod(stamp, 10**9))
        self.count += 1
        self._publishers[kind.publisher].publish(message)

    def number(self, command):
        """Return which message a command answers."""
        stamp = command.header.stamp.sec * 10**9 + command.header.stamp.nanosec
        i = int(np.searchsorted(self.stamps[:self.count], stamp))
        assert self.stamps[i] == stamp, 'a command has the stamp of no message'
        return i

    def kind(self, i):
        """Return the kind of a message."""
        return self.kinds[i % len(self.kinds)]

    def move(self):
        """Begin to move."""
        self.moving = time.time_ns()

    def close(self):
        """End it."""
        self._end.set()
        self._thread.join()


class Judge:
    """
    Compares each command with the torque of another library at the state that it answers.

    The joints that a message does not have are those of the last message before it.
    """

    def __init__(self, stream, gravity):
        self._stream, self._gravity = stream, gravity
        self._known = stream.rest.copy()
        self.judged = np.zeros(len(stream.kinds), int)
        self.expected = 0  # of them, those whose last messages before were known
        self.late = 0  # commands that were not judged
        self._extrapolates = False

    def judge_all(self, commands, controller):
        """Judge commands that came before the last look, unless states were late by then."""
        before, self._extrapolates = self._extrapolates, controller.x.design.recent > LATE
        if before or self._extrapolates:
            self.late += len(commands)
            return
        for command in commands:
            self.judge(command)

    def judge(self, command):
        """Expect: it is the torque of the right state, to 1e-9."""
        stream = self._stream
        i = stream.number(command)
        part = stream.kind(i).joints
        part = part[part >= 0]
        assert part.size, 'a message without joints of the robot has a torque'
        self.judged[i % len(stream.kinds)] += 1
        self._known[part] = stream.q[i, part]
        if self._fits(command, self._known):
            self.expected += 1
            return
        # Some message has given no torque, or its command was lost.
        for k in range(i - 1, -1, -1):
            q = stream.q[k].copy()
            q[part] = stream.q[i, part]
            if part.size < q.size and self._fits(command, q):
                self._known = q
                return
        raise AssertionError(f'{stream.kind(i).names}: {np.array(command.effort)}, not '
                             f'{self._gravity(self._known)}')

    def _fits(self, command, q):
        return np.allclose(command.effort, self._gravity(q), rtol=0.0, atol=1e-9)


class _Mallinfo(ctypes.Structure):
    """A struct mallinfo2 of glibc."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        'arena', 'ordblks', 'smblks', 'hblks', 'hblkhd', 'usmblks', 'fsmblks', 'uordblks',
        'fordblks', 'keepcost')]


def allocated():
    """Return the bytes that this process has allocated and not given back."""
    gc.collect()
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = _Mallinfo
    info = mallinfo()
    return info.uordblks + info.hblkhd


def attend(controller, loop):
    """Do what the thread beside the loop does; return what was said."""
    loop.look()
    loop.read()
    controller.attend()
    said = [text for _, text in controller.events]
    controller.events.clear()
    return said


def test_many_kinds_of_messages(robot):
    """
    Each torque is that of the right state, whichever kinds of messages have told it.

    They come at 1 kHz, in different orders, with extra joints, without velocities, and in two
    parts from two publishers. No message counts as unreadable, and no memory is kept.
    """
    controller = make_controller(
        mode='gravity_compensation', torque_rate_limits=[1e7], delay=LATE)
    own = list(MODEL.independent_joint_names)
    stream = Stream(robot, own, kinds_of(own), Q)
    loop = robot.loop(controller)
    loop.start()
    try:
        activate(robot, controller, loop)
        attend(controller, loop)  # the start has told everything once
        robot.received()
        stream.move()
        judge = Judge(stream, PinocchioRobot(MODEL, ARM.read_text()).gravity)
        first, begin, settled, said = stream.count, time.monotonic(), None, []
        while stream.count < first + COUNT:
            assert time.monotonic() - begin < patient(120.0), f'{stream.count - first} messages'
            commands = robot.received()
            said += attend(controller, loop)
            assert controller.state.value == 'running', controller.fault_text()
            judge.judge_all(commands, controller)
            commands.clear()  # nor are they memory that is kept
            if settled is None and stream.count > first + SETTLED:
                settled = allocated()
            time.sleep(0.05)
        growth = allocated() - settled
    finally:
        stream.close()
        assert loop.close(stop=True)
    print(f'{COUNT / (time.monotonic() - begin):.0f} messages per second, commands by kind '
          f'{judge.judged.tolist()}, {judge.expected} as expected; {growth} bytes more')
    assert judge.judged[-1] == 0
    assert judge.judged[:-1].min() > 0.5 * (COUNT - 1.2 * judge.late) / len(stream.kinds)
    assert judge.expected > 0.9 * judge.judged.sum()
    assert loop.count(Word.UNREADABLE) == loop.count(Word.FAILED) == loop.count(Word.UNSENT) == 0
    assert controller.x.states.sources.rejected == 0.0
    assert len(said) < 10, said  # each thing once, not once for each message
    assert growth < GROWTH


def tree_urdf(count, rng):
    """Return a robot whose joints have general axes and inertias, some of them in branches."""
    root = ElementTree.Element('robot', name=f'tree_{count}')
    ElementTree.SubElement(root, 'link', name='base')

    def numbers(values):
        return ' '.join(f'{value:.6f}' for value in values)
    for k in range(count):
        parent = k - 1 if rng.random() < 0.8 else int(rng.integers(-1, k))
        link = ElementTree.SubElement(root, 'link', name=f'body_{k}')
        inertial = ElementTree.SubElement(link, 'inertial')
        ElementTree.SubElement(inertial, 'origin', xyz=numbers(rng.uniform(-0.05, 0.05, 3)))
        ElementTree.SubElement(inertial, 'mass', value=f'{rng.uniform(0.1, 0.5):.6f}')
        ElementTree.SubElement(inertial, 'inertia', ixx='0.01', iyy='0.012', izz='0.015',
                               ixy='0.001', ixz='-0.002', iyz='0.0005')
        joint = ElementTree.SubElement(root, 'joint', name=f'joint_{k}', type='revolute')
        ElementTree.SubElement(joint, 'parent', link='base' if parent < 0 else f'body_{parent}')
        ElementTree.SubElement(joint, 'child', link=f'body_{k}')
        ElementTree.SubElement(joint, 'origin', xyz=numbers(rng.uniform(-0.1, 0.1, 3)),
                               rpy=numbers(rng.uniform(-1.5, 1.5, 3)))
        axis = rng.normal(size=3)
        ElementTree.SubElement(joint, 'axis', xyz=numbers(axis / np.linalg.norm(axis)))
        ElementTree.SubElement(joint, 'limit', lower='-3', upper='3', effort='1000',
                               velocity='5')
    return ElementTree.tostring(root, encoding='unicode')


@pytest.mark.sampled('sweeps', 1)
@pytest.mark.parametrize('joints', [20, 50])
def test_many_joints(robot, joints):
    """A robot of 50 joints gets its torques through the loop, to 1e-9 those of Pinocchio."""
    text = tree_urdf(joints, np.random.default_rng(50))
    model = load_urdf(text)
    settings = Settings(make_robot(model), defaults() | {
        'driver_adds': 'none', 'nominal_rate': 1.0 / PERIOD, 'start.time': 0.0,
        'start.watch_time': 0.0, 'ramp_time': 0.05, 'free_damping': [0.0],
        'mode': 'gravity_compensation', 'torque_rate_limits': [1e7], 'state_tolerance': [100.0],
        'delay': LATE,
        'minimum_rate': 10.0, 'state_timeout': 0.8, 'stop_action': 'release',
        'release_torque': 'zero', 'command_type': 'joint_state'}, simulated=False)
    controller = Controller(settings, compile_kernels(settings), lambda torque: None)
    own = list(settings.robot.joints)
    stream = Stream(robot, own, kinds_of(own), np.random.default_rng(1).uniform(-1.0, 1.0, joints))
    loop = robot.loop(controller)
    loop.start()
    try:
        activate(robot, controller, loop)
        robot.received()
        stream.move()
        judge = Judge(stream, PinocchioRobot(model, text).gravity)
        begin = time.monotonic()
        while judge.judged.sum() < 1000:
            assert time.monotonic() - begin < patient(60.0), judge.judged
            commands = robot.received()
            attend(controller, loop)
            assert controller.state.value == 'running', controller.fault_text()
            judge.judge_all(commands, controller)
            time.sleep(0.05)
    finally:
        stream.close()
        assert loop.close(stop=True)
    assert judge.judged[:-1].all() and judge.expected > 0.9 * judge.judged.sum()
    assert loop.count(Word.UNREADABLE) == 0
