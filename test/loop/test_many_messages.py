# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Joint states of many kinds at once, and of many joints, through the native loop.

Time is simulated and waits for the loop: every message is taken, and none is ever late.
"""

import ctypes
import gc
import time
from typing import NamedTuple
from xml.etree import ElementTree

from builtin_interfaces.msg import Time
from controller_rig import ARM, MODEL
from native_rig import make_controller, Q, Robot
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
from rosgraph_msgs.msg import Clock
from sampling import examples
from sensor_msgs.msg import JointState

#: messages, and ns of simulated time between two of them
COUNT, PERIOD = examples('simulations', 20_000), 1_000_000
#: ns of simulated time at first
BEGIN = 1000 * 10**9
#: messages that are judged at once; those after which memory must not grow, and bytes that it may
PART, SETTLED, GROWTH = 50, COUNT // 4, 200_000


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
    Joint states in turn of all kinds, each after the one before was taken.

    :param robot: gets them.
    :param loop: takes them; it has begun.
    :param own: names of its joints.
    :param kinds: of messages.
    :param rest: where the joints stand at first.
    """

    def __init__(self, robot, loop, own, kinds, rest):
        self.own, self.kinds, self.rest = own, kinds, rest
        self.count, self.moving = 0, None
        self.q = np.zeros((4 * COUNT, len(own)))
        self._loop = loop
        self._clock = robot.driver.create_publisher(Clock, 'clock', 1)
        self._publishers = [robot.driver.create_publisher(JointState, 'joint_states', STATES)
                            for _ in range(2)]
        robot.wait(lambda: all(each.get_subscription_count()
                               for each in (self._clock, *self._publishers)))
        self._phase = np.arange(len(own))

    def _state(self, now):
        """Return positions and velocities at a time in ns."""
        if self.moving is None:
            return self.rest, np.zeros_like(self.rest)
        angle = 1.5e-9 * (now - self.moving)
        swing = 0.3 * (np.cos(self._phase + angle) - np.cos(self._phase))
        ease = 1.0 - np.exp(-angle)
        speed = -0.3 * np.sin(self._phase + angle) * ease + swing * np.exp(-angle)
        return self.rest + swing * ease, 1.5 * speed

    def run(self, count):
        """Send so many messages."""
        for _ in range(count):
            self._send(self.kinds[self.count % len(self.kinds)])
            end = time.monotonic() + patient(20.0)
            while self._loop.count(Word.STATES) < self.count:
                assert time.monotonic() < end, 'a message is not taken'
                time.sleep(1e-4)

    def activate(self, controller):
        """Have the law run, and begin to move."""
        self.run(20)
        assert controller.activate(1e-9 * self.now, time.monotonic()) == ''
        while controller.state.value != 'running':
            assert self.count < COUNT, controller.fault_text()
            self.run(1)
            self._loop.look()
        self.moving = self.now

    @property
    def now(self):
        """Simulated time, ns: the stamp of the next message."""
        return BEGIN + PERIOD * self.count

    def _send(self, kind):
        stamp = divmod(self.now, 10**9)
        q, qd = self._state(self.now)
        self.q[self.count] = q
        # the last entry is what is said of others
        message = joint_state(kind.names, np.append(q, 7.7)[kind.joints],
                              np.append(qd, 8.8)[kind.joints] if kind.velocities else (), (),
                              stamp)
        self._clock.publish(Clock(clock=Time(sec=stamp[0], nanosec=stamp[1])))
        self.count += 1
        self._publishers[kind.publisher].publish(message)

    def number(self, command):
        """Return which message a command answers."""
        stamp = command.header.stamp.sec * 10**9 + command.header.stamp.nanosec
        i, rest = divmod(stamp - BEGIN, PERIOD)
        assert rest == 0 <= i < self.count, 'a command has the stamp of no message'
        return i

    def kind(self, i):
        """Return the kind of a message."""
        return self.kinds[i % len(self.kinds)]


class Judge:
    """
    Compares each command with the torque of another library at the state that it answers.

    The joints that a message does not have are those of the last message before it.
    """

    def __init__(self, stream, gravity):
        self._stream, self._gravity = stream, gravity
        self._known, self._first, self._next = stream.rest.copy(), stream.count, stream.count
        self.judged = np.zeros(len(stream.kinds), int)

    def judge_all(self, commands):
        """Judge what has come; return whether nothing is missing."""
        for command in commands:
            i = self._stream.number(command)
            if i >= self._first:
                self._judge(command, i)
        return self._skipped() == self._stream.count

    def _judge(self, command, i):
        """Expect: the next message that has joints of the robot is answered, to 1e-9."""
        stream = self._stream
        assert i == self._skipped(), 'a message without joints, or a torque is missing'
        part = stream.kind(i).joints
        part = part[part >= 0]
        self.judged[i % len(stream.kinds)] += 1
        self._known[part] = stream.q[i, part]
        np.testing.assert_allclose(command.effort, self._gravity(self._known), rtol=0.0, atol=1e-9,
                                   err_msg=str(stream.kind(i).names))
        self._next = i + 1

    def _skipped(self):
        """Return the next message that has joints of the robot, among those that were sent."""
        stream = self._stream
        while self._next < stream.count and (stream.kind(self._next).joints < 0).all():
            self._next += 1
        return self._next


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
        mode='gravity_compensation', torque_rate_limits=[1e7], simulated=True)
    own = list(MODEL.independent_joint_names)
    loop = robot.loop(controller, simulated_time=1e-9 * BEGIN)
    loop.start()
    stream = Stream(robot, loop, own, kinds_of(own), Q)
    stream.activate(controller)
    attend(controller, loop)  # the start has told everything once
    judge = Judge(stream, PinocchioRobot(MODEL, ARM.read_text()).gravity)
    settled, said = 0, []
    for k in range(COUNT // PART):
        if k == SETTLED // PART:
            settled = allocated()
        stream.run(PART)
        robot.wait(lambda: judge.judge_all(robot.received()))
        said += attend(controller, loop)
        assert controller.state.value == 'running', controller.fault_text()
    growth = allocated() - settled
    assert loop.close()
    print(f'commands by kind {judge.judged.tolist()}; {growth} bytes more')
    assert judge.judged.sum() >= COUNT * 6 // 7
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
        'driver_adds': 'none', 'nominal_rate': 1e9 / PERIOD, 'start.time': 0.0,
        'start.watch_time': 0.0, 'ramp_time': 0.05, 'free_damping': [0.0],
        'mode': 'gravity_compensation', 'torque_rate_limits': [1e7], 'state_tolerance': [100.0],
        'minimum_rate': 10.0, 'state_timeout': 0.8, 'stop_action': 'release',
        'release_torque': 'zero', 'command_type': 'joint_state'}, simulated=True)
    controller = Controller(settings, compile_kernels(settings), lambda torque: None)
    own = list(settings.robot.joints)
    loop = robot.loop(controller, simulated_time=1e-9 * BEGIN)
    loop.start()
    stream = Stream(robot, loop, own, kinds_of(own),
                    np.random.default_rng(1).uniform(-1.0, 1.0, joints))
    stream.activate(controller)
    judge = Judge(stream, PinocchioRobot(model, text).gravity)
    for _ in range(1200 // PART):
        stream.run(PART)
        robot.wait(lambda: judge.judge_all(robot.received()))
        attend(controller, loop)
        assert controller.state.value == 'running', controller.fault_text()
    assert loop.close()
    assert judge.judged.sum() > 1000 and loop.count(Word.UNREADABLE) == 0
