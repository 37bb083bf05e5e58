# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
A real controller node in this process, in a domain of its own, and who talks to it by topics.

The arm moves in step with it, on a clock in our hands: each state is answered before the next one
is made, and the torque of the answer moves the arm through one period. What happens does not
depend on how fast the machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, ExitStack
from functools import cached_property
import gc
from pathlib import Path
import re
import tempfile
import time

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
from controller_rig import ARM, robot_and_dynamics
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from isolation import own_domain
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
import numpy as np
import numpy.typing as npt
from rbd_env.pace import patient
from rbd_ros.nodes.controller.node import ControllerNode
from rbd_ros.nodes.controller.path_planner import PathPlanner
from rbd_ros.nodes.executors import make_executor, spin_in_thread
from rcl_interfaces.msg import Log, Parameter as ParameterMessage, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
import rclpy
from rclpy.action import ActionClient
from rclpy.duration import Duration
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
import yaml

Array = npt.NDArray[np.float64]

LATCHED = QoSProfile(depth=50, durability=DurabilityPolicy.TRANSIENT_LOCAL)
COMMANDS = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)

#: without its rotors, as the arm of the fake clock
URDF = re.sub(r'\s*<rotorInertia>.*?</rotorInertia>', '', ARM.read_text())
JOINTS = tuple(f'joint_{k}' for k in range(1, 8))
START = np.array([0.1, 0.4, -0.2, -1.2, 0.3, 0.8, 0.2])

#: states of the controller in which each joint state is answered
ANSWERED = ('ramping in', 'running', 'braking', 'holding', 'floating', 'complying', 'retracting')

PERIOD = 10_000_000  # ns of simulated time
BEGIN = 1_000_000_000_000  # ns, first time of the clock

VALUES = {
    'use_sim_time': True, 'autostart': False, 'robot_description': URDF, 'driver_adds': 'none',
    'release_torque': 'zero', 'command_type': 'joint_state', 'nominal_rate': 1e9 / PERIOD,
    'minimum_rate': 20.0, 'state_timeout': 1.0, 'stop_time': 0.5, 'ramp_time': 0.05,
    'switch_time': 0.05, 'brake_time': 0.1, 'hold_time': 0.1, 'release_time': 0.1,
    'brake_damping': [0.1], 'tracking_limits': [10.0], 'reference.acceleration': [50.0],
    'start.time': 0.0, 'start.watch_time': 0.0, 'free_damping': [0.0], 'dynamics_divider': 1,
    'state_divider': 1, 'mode': 'computed_torque', 'state_tolerance': [100.0]}

#: how a goal may end, by its status
ENDS = {GoalStatus.STATUS_SUCCEEDED: 'succeeded', GoalStatus.STATUS_ABORTED: 'aborted',
        GoalStatus.STATUS_CANCELED: 'canceled'}


def to_time(ns: int) -> Time:
    """Return a stamp."""
    seconds, rest = divmod(int(ns), 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


class Goal:
    """A goal that was sent, and what its client hears."""

    def __init__(self, rig: NodeRig, goal: FollowJointTrajectory.Goal, **more: object) -> None:
        self._rig, self.feedback = rig, []
        sent = rig.action.send_goal_async(
            goal, feedback_callback=lambda each: self.feedback.append(each.feedback), **more)
        rig.wait(sent.done, 'an answer to a goal')
        self.handle = sent.result()
        self._result: Future | None = None
        if self.handle.accepted:
            self._result = self.handle.get_result_async()

    @property
    def ended(self) -> str:
        """How it has ended; empty while it has not."""
        if self._result is None:
            return 'rejected'
        return ENDS[self._result.result().status] if self._result.done() else ''

    @property
    def result(self) -> FollowJointTrajectory.Result:
        """The result of one that has ended."""
        return self._result.result().result

    def end(self) -> str:
        """Go on until it has ended; return how."""
        self._rig.run_until(lambda: bool(self.ended), 'the end of a goal')
        return self.ended

    def cancel(self) -> int:
        """Cancel it; return how many goals are being cancelled."""
        done = self.handle.cancel_goal_async()
        self._rig.wait(done.done, 'an answer to a cancellation')
        return len(done.result().goals_canceling)


class NodeRig:
    """
    One controller node, the arm that it moves, and a node that hears it and asks it for things.

    :param values: of parameters, besides ``VALUES``.
    """

    def __init__(self, **values: object) -> None:
        self._stack = ExitStack()
        self._stack.enter_context(own_domain())
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        given = {name.replace('__', '.'): value for name, value in (VALUES | values).items()
                 if value is not None}
        (folder / 'parameters.yaml').write_text(yaml.safe_dump(
            {'controller': {'ros__parameters': given}}))
        rclpy.init(args=['--ros-args', '--params-file', str(folder / 'parameters.yaml')],
                   signal_handler_options=SignalHandlerOptions.NO)
        self.failed: list[str] = []
        self.node = ControllerNode()
        self.node.begin -= 10.0  # others that were there before have been discovered
        self.client = rclpy.create_node('client', use_global_arguments=False)
        create = self.client.create_subscription
        self.commands: list[JointState] = []
        self._output = create(JointState, 'controller/commands', lambda _: None, COMMANDS,
                              raw=True)
        self.client._subscriptions.remove(self._output)  # read here, by no executor
        self.texts: dict[str, list[str]] = {'state': [], 'fault': [], 'mode': [], 'log': []}
        for kind in ('state', 'fault', 'mode'):
            create(String, f'controller/{kind}',
                   lambda message, kind=kind: self.texts[kind].append(message.data), LATCHED)
        create(Log, '/rosout', self._on_log, LATCHED)
        self._before: dict[str, object] = {}  # of parameters that were changed
        self._publishers: dict[str, Publisher] = {}
        self._states = self.client.create_publisher(JointState, 'joint_states', 50)
        self._clock = self.client.create_publisher(Clock, '/clock', 10)
        self.now = BEGIN
        self.q, self.qd, self.stuck, self.push = START.copy(), np.zeros(7), True, np.zeros(7)
        self.dynamics = robot_and_dynamics()[1]
        self._serve()

    def _serve(self) -> None:
        """Have all nodes served, each in a thread of its own."""
        nodes = [self.node, self.node.transitions, self.client]
        self._threads = []
        for each in nodes:
            executor = make_executor('events')
            executor.add_node(each)
            each.served_by = executor
            self._threads.append((executor, spin_in_thread(
                executor, each.get_name(), self.failed.append)))

    def _on_log(self, message: Log) -> None:
        if message.name == 'controller':
            self.texts['log'].append(message.msg)

    def close(self) -> None:
        """End all nodes, in the order of the process."""
        self.node.loop_node.stop()
        self.node.ending.set()
        self.node.autostart.retire()
        for executor, _ in self._threads:
            executor.shutdown(timeout_sec=1.0)
        for _, thread in self._threads:
            thread.join(1.0)
        self.node.loop_node.end(5.0)
        self.node.log_queue.close()
        nodes = (self.node.loop_node, self.node.transitions, self.node, self.client)
        for each in nodes:
            each.served_by = None
        if 'action' in self.__dict__:
            self.action.destroy()
        self.node.discard_robot()
        for each in nodes:
            each.destroy_node()
        # One that were left to the collector would take /rosout from the next one of its name.
        self.__dict__.update(node=None, client=None, _threads=[], _output=None)
        del nodes, each
        gc.collect()
        rclpy.try_shutdown()
        self._stack.close()

    # -- time -----------------------------------------------------------------------------------

    def step(self, *, wait: bool = True, stamp: int | None = None,
             q: Sequence[float] | None = None) -> JointState | None:
        """
        Let a period pass: the clock, a state, and the command that answers it, by which it moves.

        :param wait: whether a command is waited for; who looks at states need not answer yet.
        :param stamp: of the state, ns, if it is not that of the clock; q: likewise.
        """
        self.now += PERIOD
        self._clock.publish(Clock(clock=to_time(self.now)))
        stamp = self.now if stamp is None else stamp
        state = JointState(name=JOINTS, position=list(self.q if q is None else q),
                           velocity=list(self.qd))
        state.header.stamp = to_time(stamp)
        self._states.publish(state)
        answer = self._answer(stamp, patient(20.0) if wait else 0.01)
        if answer is None:
            self.qd = np.zeros(7)  # without torque the brakes hold
        elif not self.stuck:
            self._move(np.array(answer.effort))
        return answer

    def _answer(self, stamp: int, seconds: float) -> JointState | None:
        """Return the command for the state with a stamp; none where the controller rests."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for message in self.received():
                if message.header.stamp == to_time(stamp):
                    return message
            if self.said('state') not in ANSWERED:
                end = min(end, time.monotonic() + 0.01)
            time.sleep(2e-4)
        return None

    def received(self) -> list[JointState]:
        """Return the commands that have come since the last time."""
        found = []
        with self._output.handle:
            while (taken := self._output.handle.take_message(JointState, True)) is not None:
                found.append(deserialize_message(taken[0], JointState))
        self.commands += found
        return found

    def _move(self, torque: Array, parts: int = 10) -> None:
        h = 1e-9 * PERIOD / parts
        for _ in range(parts):
            self.qd = self.qd + h * self.dynamics.forward_dynamics(
                self.q, self.qd, torque + self.push)
            self.q = self.q + h * self.qd

    def run(self, seconds: float) -> None:
        """Let simulated time pass."""
        for _ in range(round(seconds * 1e9 / PERIOD)):
            self.step()

    def run_until(self, condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
        """Go on until a condition holds, for some simulated time and then some real time."""
        end = self.now + seconds * 1e9
        while not condition():
            assert self.now < end, f'{what}: not within {seconds:g} s; {self.last_words()}'
            self.step()

    def wait(self, condition: Callable[[], object], what: str, *, steps: bool = False) -> None:
        """
        Wait until a condition holds: on a busy machine no longer in simulated time than on others.

        That stands, which is a pause to who runs; a stop would take it for a dead robot.

        :param steps: whether it goes on now and then in any case, because an answer may need it.
        """
        end, due = time.monotonic() + min(patient(10.0), 45.0), time.monotonic() + 0.02
        while not condition():
            assert time.monotonic() < end, f'{what} does not come; {self.last_words()}'
            time.sleep(2e-3)
            if time.monotonic() > due and (
                    steps or self.said('state') in ('braking', 'holding')):
                self.step()
                due = time.monotonic() + 0.02

    @property
    def planner(self) -> PathPlanner:
        """Who checks paths, some milliseconds of the machine at a time."""
        return next(each for each in self.node._parts if isinstance(each, PathPlanner))

    # -- what it says ---------------------------------------------------------------------------

    def said(self, kind: str) -> str:
        """Return the last text of ~/state, ~/fault, ~/mode or the log."""
        return self.texts[kind][-1] if self.texts[kind] else ''

    def last_words(self) -> str:
        """Return what helps to understand a failure."""
        return f'state {self.said("state")!r}, fault {self.said("fault")!r}, log ' + '\n'.join(
            self.texts['log'][-5:])

    @contextmanager
    def logs(self, *texts: str) -> Iterator[None]:
        """Expect texts in lines of the log that are written meanwhile."""
        before = len(self.texts['log'])
        yield
        for text in texts:
            self.wait(lambda text=text: any(text in line for line in self.texts['log'][before:]),
                      f'"{text}"', steps=True)

    def listen(self, kind: type, topic: str, qos: QoSProfile | int = 100) -> list:
        """Return a list that every message of a topic is added to, once it is heard."""
        messages: list = []
        self.client.create_subscription(kind, topic, messages.append, qos)
        return messages

    @cached_property
    def _heard(self) -> list[DiagnosticArray]:
        return self.listen(DiagnosticArray, '/diagnostics')

    def diagnosis(self, part: str, **expected: str) -> tuple[bytes, str, dict[str, str]]:
        """
        Return level, text and values of a part of a report that is made from now on.

        :param expected: values, and ``text`` a part of the text, that it waits for.
        """
        self._heard.clear()
        found: list[DiagnosticStatus] = []

        def look() -> bool:
            for message in list(self._heard):
                found.extend(each for each in message.status
                             if each.name == f'controller: {part}')
            self._heard.clear()
            if not found:
                return False
            values = {each.key: each.value for each in found[-1].values}
            return expected.get('text', '') in found[-1].message and all(
                values.get(key) == value for key, value in expected.items() if key != 'text')
        self.wait(look, f'diagnosis of {part} with {expected}')
        return found[-1].level, found[-1].message, {
            each.key: each.value for each in found[-1].values}

    # -- what is asked of it --------------------------------------------------------------------

    def publish(self, topic: str, message: object) -> None:
        """Publish a message on a topic to which somebody listens, and who has taken it then."""
        if topic not in self._publishers:
            self._publishers[topic] = self.client.create_publisher(type(message), topic, 10)
        publisher = self._publishers[topic]
        self.wait(publisher.get_subscription_count, f'a listener of {topic}')
        publisher.publish(message)
        assert publisher.wait_for_all_acked(Duration(seconds=patient(10.0))), topic
        self.get('mode')  # asked of the same thread, after the message

    def is_told(self, topic: str, message: object, *texts: str) -> None:
        """Publish a message, again and again, until the log has texts about it: once a second."""
        begin, end = len(self.texts['log']), time.monotonic() + min(patient(10.0), 45.0)
        while True:
            self.publish(topic, message)
            self.step()  # what is refused by the law is told with the next state
            due = time.monotonic() + 0.2
            while time.monotonic() < due:
                if all(any(text in line for line in self.texts['log'][begin:]) for text in texts):
                    return
                time.sleep(2e-3)
            assert time.monotonic() < end, f'{texts} does not come; {self.last_words()}'

    def ask(self, kind: type, name: str, request: object) -> Future:
        """Begin to call a service of the controller."""
        if name not in self._clients:
            self._clients[name] = self.client.create_client(kind, f'controller/{name}')
        client = self._clients[name]
        self.wait(client.service_is_ready, f'service {name}')
        return client.call_async(request)

    @cached_property
    def _clients(self) -> dict[str, object]:
        return {}

    def call(self, name: str, kind: type = Trigger, **fields: object) -> object:
        """Call a service of the controller while time goes on."""
        done = self.ask(kind, name, kind.Request(**fields))
        self.wait(done.done, f'an answer of {name}', steps=True)
        self.step()  # what the answer says is announced with the next state
        return done.result()

    def call_now(self, name: str, kind: type = Trigger, **fields: object) -> object:
        """Call a service of the controller while time stands."""
        done = self.ask(kind, name, kind.Request(**fields))
        self.wait(done.done, f'an answer of {name}')
        return done.result()

    def set(self, **values: object) -> str:
        """Set parameters as one; return the reason of a refusal."""
        values = {name.replace('__', '.'): value for name, value in values.items()}
        for name in values.keys() - self._before.keys():
            self._before[name] = self.value(name)
        parameters = [
            ParameterMessage(name=name, value=value) if isinstance(value, ParameterValue)
            else Parameter(name, value=value).to_parameter_msg()
            for name, value in values.items()]
        result = self.call('set_parameters_atomically', SetParametersAtomically,
                           parameters=parameters).result
        assert result.successful is not bool(result.reason)
        return result.reason

    def must_set(self, **values: object) -> None:
        """Set parameters that must be taken, and let them count."""
        reason = self.set(**values)
        assert not reason, f'{values}: {reason}'
        self.run(0.02)
        if 'mode' in values:
            self.run_until(lambda: self.said('mode') == values['mode'], 'another mode')

    def get(self, name: str) -> object:
        """Return the value of a parameter."""
        return parameter_value_to_python(self.value(name))

    def value(self, name: str) -> ParameterValue:
        """Return it as it is sent."""
        return self.call_now('get_parameters', GetParameters, names=[name]).values[0]

    def transition(self, name: str) -> bool:
        """Make a transition while time goes on; return whether it succeeded."""
        done = self.ask_transition(name)
        while not done.done():
            self.step(wait=False)
        return done.result().success

    def ask_transition(self, name: str) -> Future:
        """Begin a transition."""
        return self.ask(ChangeState, 'change_state', ChangeState.Request(
            transition=Transition(label=name)))

    @property
    def lifecycle(self) -> str:
        """State of the lifecycle."""
        done = self.ask(GetState, 'get_state', GetState.Request())
        self.wait(done.done, 'the state of the lifecycle')
        return done.result().current_state.label

    @cached_property
    def action(self) -> ActionClient:
        """The client of the action."""
        made = ActionClient(self.client, FollowJointTrajectory,
                            'controller/follow_joint_trajectory')
        self.wait(made.server_is_ready, 'the action')
        return made

    def bring_up(self) -> None:
        """Configure and activate, and let go of the arm where the law runs."""
        assert self.transition('configure'), self.last_words()
        self.activate()

    def activate(self) -> None:
        """Activate, and let go of the arm where the law runs."""
        assert self.transition('activate'), self.last_words()
        self.run_until(lambda: self.said('state') == 'running', 'running')
        self.stuck = False

    def begin(self, **values: object) -> None:
        """
        Have it run at rest where it began, with the parameters that the test gives.

        Whatever was before: a stop is reset, and the arm is carried to where it stood.
        """
        self.push = np.zeros(7)
        if self.said('state') == 'running' and self.lifecycle == 'active' and not self.stuck:
            # One that stops at once looks as if its sensors were frozen; a free one never rests.
            self.must_set(mode='gravity_compensation', free_damping=[5.0])
            self.run_until(lambda: np.abs(self.qd).max() < 5e-3, 'rest')
        self.block()
        if self.said('state') == 'braking':
            self.run_until(lambda: self.said('state') != 'braking', 'the end of a stop')
        if self.said('state') == 'holding':
            assert self.call('reset').success
            self.run_until(lambda: self.said('state') != 'holding', 'running')
        if self.lifecycle != 'active' or self.said('state') not in ('running', 'ramping in'):
            self.put_down()
            self.q = START.copy()
            self.bring_up()
        self.run_until(lambda: self.said('state') == 'running', 'running')
        self.block()
        self.must_set(mode='gravity_compensation')
        self.q = START.copy()
        self.run(0.02)
        self.must_set(**self._before | {'mode': 'computed_torque'} | values)
        self.stuck = False

    def put_down(self) -> None:
        """Deactivate and clean up, while brakes hold the arm."""
        self.block()
        while (label := self.lifecycle) != 'unconfigured':
            assert self.transition('deactivate' if label == 'active' else 'cleanup')

    def block(self) -> None:
        """Hold the arm by brakes, whatever the torque."""
        self.stuck, self.qd, self.push = True, np.zeros(7), np.zeros(7)
