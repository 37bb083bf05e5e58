# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the launch tests of the controller share: a client, a driver, a clock in our hands.

The client reads everything that the controller says and talks to its services; one thread
spins it, so that times of reception are those of the messages and not of the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
import sys
import threading
import time
from typing import ClassVar, NamedTuple
import unittest

import arm
from builtin_interfaces.msg import Time
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node as NodeAction
from launch_ros.substitutions import FindPackageShare
import launch_testing
import launch_testing.asserts
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
import numpy as np
import numpy.typing as npt
from rbd_env.pace import patient
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
import rclpy
from rclpy.client import Client as RosClient
from rclpy.executors import ExternalShutdownException
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String, UInt64, UInt8MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

Array = npt.NDArray[np.float64]

#: s for what must come some time: start of a process, discovery, an answer on a busy machine
PATIENCE = patient(60.0)

#: s that a busy machine may add to a reaction: of the controller, the middleware, this test
MARGIN = patient(1.0)

#: s in which a server that is seen here has seen us, too; before, its answer would be lost
FIND = 0.2

#: s of sleep by which stalls of the machine are measured
_NAP = 0.01

LATCHED = QoSProfile(depth=50, durability=DurabilityPolicy.TRANSIENT_LOCAL)

#: states of the supervisor in which each joint state has its torque
ANSWERING = ('running', 'ramping in', 'braking', 'holding', 'ramping down')

#: empty lists, whose type a parameter cannot show by itself
NO_NAMES, NO_NUMBERS = Parameter.Type.STRING_ARRAY, Parameter.Type.DOUBLE_ARRAY

#: services of every controller that tests ask, which are found together
USUAL = {'change_state': ChangeState, 'get_parameters': GetParameters, 'get_state': GetState,
         'set_parameters_atomically': SetParametersAtomically, 'stop': Trigger, 'reset': Trigger}

#: transitions by name
CONFIGURE, CLEANUP = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP
ACTIVATE, DEACTIVATE = Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_DEACTIVATE


def controller(namespace: str = '', prefix: str | None = None,
               **parameters: object) -> NodeAction:
    """Return the action that starts a controller, by way of another program if one is given."""
    return NodeAction(package='rbd_ros', executable='controller', name='controller',
                      namespace=namespace, output='screen', prefix=prefix,
                      parameters=[dict(parameters)])


def launched(**arguments: str) -> IncludeLaunchDescription:
    """Return the action that includes ``controller.launch.py`` with arguments."""
    file = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'launch', 'controller.launch.py'])
    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(file), launch_arguments=arguments.items())


def saboteur(folder: Path, namespace: str = '', **parameters: object) -> NodeAction:
    """Return the action that starts a controller which raises when told so by ``break_it``."""
    return NodeAction(executable=sys.executable, name='controller', namespace=namespace,
                      arguments=[str(Path(__file__).with_name('saboteur.py'))], output='screen',
                      parameters=[dict(parameters)],
                      additional_env={'SABOTAGE': str(folder / 'sabotage')})


def break_it(client: Client, folder: Path, kind: str) -> None:
    """Let a saboteur raise the next time it comes to a place."""
    file = folder / 'sabotage'
    made = file.with_suffix('.new')
    made.write_text(kind)
    made.rename(file)
    client.wait(lambda: not file.exists(), 'somebody who takes the sabotage')


def to_time(ns: int) -> Time:
    """Return a stamp."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


def to_ns(stamp: Time) -> int:
    """Return a stamp in ns."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


class Command(NamedTuple):
    """One command as it came."""

    time: float  # s, steady, of reception
    stamp: int  # ns, of the state it was computed from
    names: tuple[str, ...]
    effort: Array


class Text(NamedTuple):
    """A text that the controller published or logged."""

    time: float  # s, steady, of reception
    text: str


class Client:
    """A node that hears one controller, and asks it for things."""

    def __init__(self, namespace: str = '', name: str = 'client',
                 kind: type = JointState) -> None:
        """
        Listen.

        :param namespace: of the controller.
        :param name: of this node.
        :param kind: of the commands: with joints and stamps, or plain numbers.
        """
        self._kind = kind
        #: says how all processes that could answer have ended; empty while one of them runs
        self.ended: Callable[[], str] = lambda: ''
        #: gets each command as it came, in the thread of the executor
        self.take_command: Callable[[JointState], None] = lambda _: None
        self.node: Node = rclpy.create_node(name, namespace=namespace)
        self.commands: list[Command] = []
        self.saturation: list[tuple[float, list[int]]] = []
        self.texts: dict[str, list[Text]] = {'state': [], 'fault': [], 'mode': [], 'log': []}
        self._answers: dict[int, Command] = {}
        self._clients: dict[str, RosClient] = {}
        self._strangers = False  # whether the controller may not know some of them
        lock = threading.RLock()
        # Only texts wake who waits for a condition, and topics that are listened to for that,
        # besides a look every 20 ms: a look at each command of a fast controller would take much
        # of a processor.
        self._arrived, self._told = threading.Condition(lock), threading.Condition(lock)
        self._subscribe()
        self._failure = ''  # what ended the executor
        self._executor = EventsExecutor()
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        self._stalls: list[tuple[float, float]] = []
        self._closed = threading.Event()
        self._meter = threading.Thread(target=self._measure, daemon=True)
        self._meter.start()

    def _subscribe(self) -> None:
        create = self.node.create_subscription
        create(self._kind, 'controller/commands', self._on_command, 1000)
        for kind in ('state', 'fault', 'mode'):
            create(String, f'controller/{kind}', lambda message, kind=kind: self._keep(
                kind, message.data), LATCHED)
        create(UInt8MultiArray, 'controller/saturation', self._on_saturation, LATCHED)
        create(Log, '/rosout', lambda message: self._keep('log', message.msg), LATCHED)

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass
        except Exception as error:
            self._failure = f'; the executor of the test ended: {error!r}'
            raise

    @contextmanager
    def repeating(self, seconds: float, action: Callable[[], None]) -> Iterator[None]:
        """
        Do something again and again meanwhile, in a thread of its own.

        Not by a timer: one that is destroyed in another thread than that of the executor can end
        the executor, which may be looking at it just then.
        """
        ended = threading.Event()

        def run() -> None:
            while not ended.wait(seconds):
                action()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def stalled(self, since: float) -> float:
        """Return for how long this process stood still since a time, in s: no fault of others."""
        return sum(lost for at, lost in self._stalls if at >= since)

    def margin(self, since: float, times: int = 1) -> float:
        """Return what a reaction may take beyond its configured time: MARGIN, and stalls."""
        return times * MARGIN + self.stalled(since)

    def _measure(self) -> None:
        """Note each time that a short sleep took long: the machine did not let us run."""
        before = time.monotonic()
        while not self._closed.wait(_NAP):
            now = time.monotonic()
            if now - before > 3 * _NAP:
                self._stalls.append((now, now - before - _NAP))
            before = now

    def close(self) -> None:
        """End the node and its threads."""
        self._closed.set()
        self._meter.join()
        self._executor.shutdown(timeout_sec=5.0)
        self._thread.join(5.0)
        self.node.destroy_node()

    @cached_property
    def states(self) -> Publisher:
        """Return the publisher of joint states; made when needed, as there may be a driver."""
        return self.node.create_publisher(JointState, 'joint_states', 50)

    @cached_property
    def clock(self) -> Publisher:
        """Return the publisher of simulated time."""
        return self.node.create_publisher(Clock, '/clock', 10)

    @cached_property
    def trajectory(self) -> Publisher:
        """Return the publisher of trajectories, once somebody listens."""
        made = self.node.create_publisher(JointTrajectory, 'controller/joint_trajectory', 1)
        self.wait(lambda: made.get_subscription_count() > 0, 'a subscription of trajectories')
        return made

    # -- what comes -----------------------------------------------------------------------------

    def _on_command(self, message: JointState | Float64MultiArray) -> None:
        if isinstance(message, JointState):
            command = Command(time.monotonic(), to_ns(message.header.stamp), tuple(message.name),
                              np.array(message.effort))
        else:
            command = Command(time.monotonic(), 0, (), np.array(message.data))
        with self._arrived:
            self.commands.append(command)
            self._answers[command.stamp] = command
            self._arrived.notify_all()
        self.take_command(message)

    def _on_saturation(self, message: UInt8MultiArray) -> None:
        self.saturation.append((time.monotonic(), list(message.data)))

    def _keep(self, kind: str, text: str) -> None:
        with self._arrived:
            self.texts[kind].append(Text(time.monotonic(), text))
            self._told.notify_all()

    def listen(self, kind: type, name: str, depth: int = 100, *, wakes: bool = False) -> list:
        """
        Return a list that every message on a topic is added to.

        :param wakes: whether each one wakes who waits for a condition, at once.
        """
        messages: list = []

        def add(message: object) -> None:
            with self._arrived:
                messages.append(message)
                if wakes:
                    self._told.notify_all()
        self.node.create_subscription(kind, name, add, depth)
        return messages

    def last(self, kind: str) -> str:
        """Return the last text of a topic."""
        return self.texts[kind][-1].text if self.texts[kind] else ''

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
        """
        Wait until a condition holds; fail with what was awaited.

        Where nobody is left who could bring it about, what is under way may still arrive.

        :param seconds: at the usual pace; a slow machine gets more.
        """
        seconds = patient(seconds)
        end = time.monotonic() + seconds
        with self._arrived:
            while not condition():
                if ended := self.ended():
                    end = min(end, time.monotonic() + MARGIN)
                if time.monotonic() > end:
                    raise AssertionError(
                        f'{what}: {ended or f"not within {seconds:g} s"}; '
                        f'state {self.last("state")!r}, '
                        f'fault {self.last("fault")!r}, {len(self.commands)} commands, last '
                        f'{self.commands[-1:]}{self._failure}')
                self._told.wait(0.02)

    def wait_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition holds, or for some time; return whether it holds."""
        end = time.monotonic() + seconds
        with self._arrived:
            while not condition():
                left = end - time.monotonic()
                if left <= 0.0:
                    return False
                self._told.wait(left)
        return True

    def wait_found(self, is_ready: Callable[[], bool], what: str) -> None:
        """Wait for a new service or action, and until its server has found this client."""
        self.wait(is_ready, what)
        time.sleep(FIND)

    def wait_text(self, kind: str, text: str, since: float, seconds: float = 60.0) -> Text:
        """Wait for a text on a topic, received after a time; return it."""
        found: list[Text] = []

        def look() -> bool:
            found.extend(s for s in self.texts[kind] if s.time >= since and text in s.text)
            return bool(found)
        self.wait(look, f'"{text}" on {kind}', seconds)
        return found[0]

    def expect_order(self, since: float, *states: str) -> None:
        """Expect states since a time in this order; the middleware may keep the newest alone."""
        seen = [said.text for said in self.texts['state'] if said.time >= since]
        assert seen == [state for state in states if state in seen], seen
        assert seen[-1] == states[-1], seen

    def wait_running(self) -> None:
        """
        Wait until the controller runs, again after states that were late.

        On a busy machine a driver of ours may stand still for longer than ``state_timeout``: what
        follows is right, and not what is tested by those who only want it to run.
        """
        while True:
            self.wait(lambda: self.last('state') in ('running', 'fault'), 'running')
            if self.last('state') == 'running':
                return
            assert 'no fresh joint state' in self.last('fault'), self.last('fault')
            heard = len(self.texts['state'])
            # after a halt it looks for other senders for some seconds
            self.wait(lambda: self.trigger('reset').success, 'a reset')
            self.wait(lambda heard=heard: len(self.texts['state']) > heard, 'a reset')

    def answer(self, stamp: int, seconds: float) -> Command | None:
        """Return the command computed from the state with a stamp; None if none comes."""
        end = time.monotonic() + seconds
        with self._arrived:
            while stamp not in self._answers:
                if not self._arrived.wait(max(end - time.monotonic(), 0.0)):
                    return None
            return self._answers[stamp]

    def forget(self, stamp: int) -> None:
        """Forget a command with a stamp: a clock that went back comes to it again."""
        with self._arrived:
            self._answers.pop(stamp, None)

    # -- what is asked --------------------------------------------------------------------------

    def service(self, kind: type, name: str) -> RosClient:
        """Return the client of a service of the controller, which is there."""
        for each, of in {**USUAL, name: kind}.items():
            if each not in self._clients:
                self._clients[each] = self.node.create_client(of, f'controller/{each}')
                self._strangers = True
        self.wait(self._clients[name].service_is_ready, f'service {name}')
        if self._strangers:
            self.be_discovered()
            self._strangers = False
        return self._clients[name]

    def ask(self, kind: type, name: str, request: object) -> rclpy.Future:
        """Begin to call a service of the controller."""
        future = self.service(kind, name).call_async(request)
        future.add_done_callback(lambda _: None)
        return future

    def call(self, kind: type, name: str, request: object) -> object:
        """Call a service of the controller."""
        future = self.ask(kind, name, request)
        self.wait(future.done, f'answer of {name}')
        return future.result()

    def be_discovered(self) -> None:
        """
        Wait until the controller knows every publisher that was created here before.

        A participant announces its publishers in order. Who answers a request knows the publisher
        of requests, and so all that were announced before it.
        """
        client = self.node.create_client(GetState, 'controller/get_state')
        self.wait(client.service_is_ready, 'service get_state')
        answers: list[tuple[float, rclpy.Future]] = []

        def answered() -> bool:
            # an answer is lost when the server has not yet found who would read it
            if not answers or time.monotonic() - answers[-1][0] > FIND:
                answers.append((time.monotonic(), client.call_async(GetState.Request())))
            return any(future.done() for _, future in answers)
        self.wait(answered, 'an answer of get_state')
        self.node.destroy_client(client)

    def settle(self) -> None:
        """Wait until a message that was just published has been taken, as far as one can see."""
        for _ in range(3):
            time.sleep(0.1)
            self.get('mode')

    def set(self, values: Mapping[str, object]) -> tuple[bool, str]:
        """Set parameters as one; return whether they were taken, and the reason if not."""
        messages = [
            Parameter(name, value, []).to_parameter_msg() if isinstance(value, Parameter.Type)
            else Parameter(name, value=value).to_parameter_msg()
            for name, value in values.items()]
        result = self.call(SetParametersAtomically, 'set_parameters_atomically',
                           SetParametersAtomically.Request(parameters=messages)).result
        return result.successful, result.reason

    def must_set(self, values: Mapping[str, object]) -> None:
        """Set parameters that must be taken."""
        taken, reason = self.set(values)
        assert taken, f'{", ".join(values)}: {reason}'

    def get(self, name: str) -> object:
        """Return the value of a parameter."""
        result = self.call(GetParameters, 'get_parameters', GetParameters.Request(names=[name]))
        return parameter_value_to_python(result.values[0])

    def trigger(self, name: str) -> Trigger.Response:
        """Call ~/stop or ~/reset."""
        return self.call(Trigger, name, Trigger.Request())

    def ask_transition(self, transition: int) -> rclpy.Future:
        """Begin a transition."""
        return self.ask(ChangeState, 'change_state', ChangeState.Request(
            transition=Transition(id=transition)))

    def transition(self, transition: int) -> bool:
        """Make a transition; return whether it succeeded."""
        future = self.ask_transition(transition)
        self.wait(future.done, f'transition {transition}')
        return future.result().success

    def put_down(self) -> None:
        """Deactivate and clean up, again and again, so that the next test begins afresh."""
        end = time.monotonic() + PATIENCE
        while (label := self.lifecycle()) != 'unconfigured':
            assert time.monotonic() < end, f'the controller stays {label}'
            self.transition(DEACTIVATE if label == 'active' else CLEANUP)

    def lifecycle(self) -> str:
        """Return the state of the lifecycle."""
        return self.call(GetState, 'get_state', GetState.Request()).current_state.label


def state_message(names: Iterable[str], q: Iterable[float], qd: Iterable[float] = (),
                  effort: Iterable[float] = (), stamp: int = 0) -> JointState:
    """Return a joint state."""
    message = JointState(name=list(names), position=[float(x) for x in q],
                         velocity=[float(x) for x in qd], effort=[float(x) for x in effort])
    message.header.stamp = to_time(stamp)
    return message


def trajectory_message(names: Sequence[str], times: Sequence[float],
                       points: Sequence[Sequence[Array]], stamp: int = 0) -> JointTrajectory:
    """Return a trajectory; each point is position, and velocity, and acceleration."""
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = to_time(stamp)
    for t, rows in zip(times, points, strict=True):
        point = JointTrajectoryPoint()
        for field, row in zip(('positions', 'velocities', 'accelerations'), rows):
            setattr(point, field, [float(x) for x in row])
        point.time_from_start.sec = int(t)
        point.time_from_start.nanosec = round((t - int(t)) * 1e9)
        message.points.append(point)
    return message


class Driver:
    """
    Publish states of a robot that stays where it is put, from a thread, at a steady rate.

    :param client: whose publisher is used.
    :param names: joints in the message.
    :param q: positions.
    :param rate: Hz.
    """

    def __init__(self, client: Client, names: Sequence[str], q: Array, rate: float) -> None:
        self.names, self.q, self.rate = list(names), np.array(q, dtype=float), rate
        self.qd, self.effort = np.zeros_like(self.q), np.zeros_like(self.q)
        self.mangle: Callable[[JointState], Iterable[JointState]] | None = None
        self.good = 0.0  # steady time of the last state that was not mangled
        self.count = 0  # messages that were sent
        self._client, self._lock = client, threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._end.is_set():
            with self._lock:
                message = state_message(self.names, self.q, self.qd, self.effort, time.time_ns())
                if self.mangle is None:
                    self.good = time.monotonic()
                for one in (message,) if self.mangle is None else self.mangle(message):
                    self._client.states.publish(one)
                    self.count += 1
            due = max(due + 1.0 / self.rate, time.monotonic() - 1.0 / self.rate)  # no bursts
            self._end.wait(max(due - time.monotonic(), 0.0))

    def provoke(self, mangle: Callable[[JointState], Iterable[JointState]]) -> float:
        """Spoil every state from now on; return the time of the last good one."""
        with self._lock:
            self.mangle = mangle
            return self.good

    def silence(self) -> float:
        """Send nothing from now on; return the time of the last state."""
        return self.provoke(lambda _: ())

    def behave(self) -> None:
        """Send good states of a robot at rest again."""
        with self._lock:
            self.mangle = None
            self.qd[:] = 0.0

    def close(self) -> None:
        """End the thread."""
        self._end.set()
        self._thread.join()


class Lockstep(Driver):
    """
    The same on simulated time, which passes as fast as the controller answers.

    Time waits for the answer to each state, and where a state has none, now and then for a sign of
    life: a controller, or a machine, that stands still loses none. Whatever is waited for comes
    after so many periods, at any load; nothing that is configured in seconds takes seconds.

    :param client: whose publishers are used; it must hear heartbeats.
    :param names: joints in the message.
    :param q: positions.
    :param rate: Hz of simulated time.
    """

    #: periods without an answer that pass between two signs of life
    FREE = 10
    #: s for an answer or a sign of life; a controller that is not configured gives none
    SIGN = 0.5

    def __init__(self, client: Client, names: Sequence[str], q: Array, rate: float) -> None:
        self.period = round(1e9 / rate)  # ns
        self.now = 100_000_000_000  # ns; who changes it does so while it is paused
        self._beats = client.listen(UInt64, 'controller/heartbeat', wakes=True)
        self._unanswered = self._seen = 0
        self._pace, self._paused, self._rests = threading.Condition(), False, False
        super().__init__(client, names, q, rate)

    def _run(self) -> None:
        while not self._end.is_set():
            with self._pace:
                self._rests = self._paused
                self._pace.notify_all()
                if self._rests:
                    self._pace.wait(0.1)
                    continue
            self._step()

    def _step(self) -> None:
        client = self._client
        with self._lock:
            self.now += self.period
            client.forget(self.now)
            client.clock.publish(Clock(clock=to_time(self.now)))
            message = state_message(self.names, self.q, self.qd, self.effort, self.now)
            sent = (message,) if self.mangle is None else tuple(self.mangle(message))
            if self.mangle is None:
                self.good = time.monotonic()
            for one in sent:
                client.states.publish(one)
                self.count += 1
        if sent and self._is_answered(good=self.mangle is None):
            self._unanswered = 0
        else:
            self._unanswered += 1
            self._await_life()

    def _is_answered(self, *, good: bool) -> bool:
        """
        Wait for the answer to the last state.

        A controller that runs answers each good one: who does not has not come to it yet, and
        time waits.
        """
        client, end = self._client, time.monotonic() + self.SIGN
        while True:
            answering = client.last('state') in ANSWERING and (good or self._unanswered == 0)
            if client.answer(self.now, 0.05 if answering else 0.001) is not None:
                return True
            if not answering or not good:
                return False
            if time.monotonic() > end or self._end.is_set():
                return True  # lost, as messages may be

    def _await_life(self) -> None:
        """Wait for a sign of life now and then."""
        if self._unanswered >= self.FREE:
            self._client.wait_until(lambda: len(self._beats) > self._seen, self.SIGN)
            self._unanswered, self._seen = 0, len(self._beats)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let time stand still meanwhile."""
        with self._pace:
            self._paused = True
            assert self._pace.wait_for(lambda: self._rests, PATIENCE)
        try:
            yield
        finally:
            with self._pace:
                self._paused = False
                self._pace.notify_all()

    def pass_time(self, seconds: float) -> None:
        """Wait until simulated time has passed."""
        end = self.now + seconds * 1e9
        self._client.wait(lambda: self.now >= end, f'{seconds:g} s of simulated time')

    def see_life(self, beats: float) -> None:
        """Wait until so many signs of life have come."""
        before = len(self._beats)
        self._client.wait(lambda: len(self._beats) >= before + beats, 'signs of life')


class LockstepCase(unittest.TestCase):
    """Tests of one controller of the built-in arm, which stands, in lockstep."""

    driver: ClassVar[Lockstep]

    @classmethod
    def setUpClass(cls) -> None:
        """Start the driver."""
        rclpy.init()
        cls.client = Client()
        cls.driver = Lockstep(cls.client, arm.JOINTS, arm.Q, arm.RATE)
        cls.prepare()

    @classmethod
    def prepare(cls) -> None:
        """Make what the tests need besides."""

    @classmethod
    def tearDownClass(cls) -> None:
        """End driver and client."""
        cls.driver.close()
        cls.client.close()
        rclpy.shutdown()

    @classmethod
    def activate(cls) -> None:
        """Configure where that is needed, activate, wait until it runs."""
        client = cls.client
        assert client.lifecycle() == 'inactive' or client.transition(CONFIGURE), client.last('log')
        assert client.transition(ACTIVATE), client.last('log')
        client.wait(lambda: client.last('state') == 'running', 'running')

    @classmethod
    def configure(cls, **changes: object) -> None:
        """Put the controller down and bring it up with other parameters."""
        cls.client.put_down()
        cls.client.must_set({name.replace('__', '.'): value for name, value in changes.items()})
        cls.activate()

    def wait_torque(self, wanted: Array, tolerance: float = 1e-6) -> None:
        """Wait for a command that comes from now on with a torque."""
        since = time.monotonic()

        def look() -> bool:
            last = self.client.commands[-1] if self.client.commands else None
            return last is not None and last.time > since and bool(
                np.abs(last.effort - wanted).max() < tolerance)
        self.client.wait(look, f'the torque {wanted.round(3)}')


@launch_testing.post_shutdown_test()
class CleanEnd(unittest.TestCase):
    """After a test: how the processes ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """All end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
