# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The page with its own server, a robot on its topics, somebody who has opened it, and a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
import itertools
from pathlib import Path
import sys
import time
from typing import Any, NamedTuple

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, WrenchStamped
from isolation import own_domain
import numpy as np
from ports import free_port
import pytest
import rbd_ros
from rbd_ros.control.modes import Takes, taking
from rbd_ros.control.parameters.table import defaults
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.joint_drive import USUAL
from rbd_ros.nodes.dashboard.node import Dashboard
from rbd_ros.nodes.dashboard.settings import GROUPS
from rbd_ros.nodes.dashboard.telemetry import LATCHED
from rbd_ros.nodes.diagnostic_names import SUPERVISOR
from rbd_ros.nodes.executors import kind_that_works, make_executor
from rbd_ros.view import round_trips
import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String, UInt8MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory
from visitor import PATIENCE, Visitor

__all__ = ['ARM', 'Desk', 'HOLD', 'MODEL', 'page', 'PERIOD', 'Robot', 'ROBOT', 'Sent', 'START']

ARM = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')
MODEL = rbd_ros.load_urdf(ARM)
ROBOT = rbd_ros.Dynamics(MODEL, payload_frame='tool0')
START = np.array([0.3, 0.8, -0.4, -1.1, 0.5, 0.9, 0.2])
PERIOD = 0.04  # s between two pictures
TOKEN = 'known-to-the-visitor'
HOLD = 'Hold to move'
PAGE = 'rbd_ros.nodes.dashboard.'


class Sent(NamedTuple):
    """A message of the page: when it came, by the clock of the rig, and what it is."""

    time: float
    message: Any


class Robot:
    """
    A robot and its controller, as others hear them.

    :param namespace: of both.
    :param simulated: whether a simulator moves it; another program does otherwise.
    :param joints: their names.
    """

    def __init__(self, namespace: str = '', *, simulated: bool = True,
                 joints: Sequence[str] = MODEL.joint_names) -> None:
        self.joints, self.q = tuple(joints), START[:len(joints)].copy()
        self.reference: Any = None  # what the controller follows; None: where the robot is
        self.velocity: Any = ()
        self.effort: Any = ()
        self.answers = True  # whether services answer
        self.asked: list[tuple[str, Any]] = []  # of services
        self.refusal = ''  # what services answer if they refuse
        self.simulator = self.node('simulator', namespace)
        self.controller = self.node('controller', namespace, parameters=True)
        self._namespace: str = namespace
        self._driver: Node | None = None
        self._twin = self.simulator.create_publisher(JointState, 'joint_states', 500)
        make = self.controller.create_publisher
        self._told = {name: make(String, f'~/{name}', LATCHED)
                      for name in ('state', 'mode', 'fault')}
        self._reference = make(JointTrajectoryControllerState, '~/controller_state', 10)
        self._diagnostics = make(DiagnosticArray, '/diagnostics', 10)
        self.commands = make(Float64MultiArray, '~/commands', 500)
        self.saturation = make(UInt8MultiArray, '~/saturation', LATCHED)
        self.wrench = make(WrenchStamped, '~/external_wrench', 10)
        for name in ('stop', 'reset'):
            self.controller.create_service(Trigger, f'~/{name}', self._answering(name))
        rows, known = defaults(), [name for names in GROUPS for name in names]
        for name in known:
            self.controller.declare_parameter(name, _kind(name, rows[name]))
        self.give(**{name: rows[name] for name in known})
        self.controller.declare_parameter('mode', '')
        simulator = self.simulator
        simulator.create_service(Trigger, '~/reset', self._answering('home'))
        simulator.create_service(SetBool, '~/pause', self._answering('pause'))
        simulator.create_subscription(Float64MultiArray, 'controller/commands', lambda _: None, 1)
        self.heard: dict[str, list[Any]] = {'set-point': [], 'target': [], 'push': []}
        for node, kind, topic, what in (
                (self.controller, JointTrajectory, '~/joint_trajectory', 'set-point'),
                (self.controller, PoseStamped, '~/target_pose', 'target'),
                (simulator, WrenchStamped, '~/wrench', 'push')):
            node.create_subscription(kind, topic, self.heard[what].append, 1000)
        self.become(simulated=simulated)

    @staticmethod
    def node(name: str, namespace: str, *, parameters: bool = False) -> Node:
        """Return a node for which the names of the page do not hold."""
        return rclpy.create_node(name, namespace=namespace, use_global_arguments=False,
                                 start_parameter_services=parameters,
                                 allow_undeclared_parameters=True)

    @property
    def nodes(self) -> list[Node]:
        """Return the nodes, to be spun."""
        return [self.controller, self.simulator]

    def _answering(self, name: str) -> Callable[[Any, Any], Any]:
        def answer(request: Any, response: Any) -> Any:
            self.asked.append((name, request))
            response.success = not self.refusal
            response.message = self.refusal or f'{name}: as you wish'
            return response
        return answer

    def become(self, *, simulated: bool) -> None:
        """Have the states come from the simulator, or from a driver beside it."""
        if self._driver is not None:
            self._driver.destroy_node()
        self._driver = None if simulated else self.node('driver', self._namespace)
        self._states = self._twin if self._driver is None else self._driver.create_publisher(
            JointState, 'joint_states', 500)

    def say(self, **words: str) -> None:
        """Publish state, mode or fault."""
        for name, text in words.items():
            self._told[name].publish(String(data=text))

    def give(self, **values: Any) -> None:
        """Give the controller other parameters."""
        self.controller.set_parameters([
            Parameter(name, _kind(name, value), value) for name, value in values.items()])

    def parameter(self, name: str) -> Any:
        """Return a parameter of the controller."""
        value = self.controller.get_parameter(name).value
        return list(value) if hasattr(value, 'tolist') else value

    def report(self, part: str = SUPERVISOR, level: bytes = DiagnosticStatus.OK,
               message: str = '', name: str = '', **values: str) -> None:
        """Publish a part of the diagnostics; the values by their keys."""
        owner = name or self.controller.get_fully_qualified_name().strip('/')
        self._diagnostics.publish(DiagnosticArray(status=[DiagnosticStatus(
            level=level, name=f'{owner}: {part}', message=message,
            values=[KeyValue(key=key, value=value) for key, value in values.items()])]))

    def talk(self, stamp: float) -> None:
        """Publish where the joints are, and what the controller follows."""
        message = JointState(name=self.joints, position=np.asarray(self.q, float).tolist(),
                             velocity=list(self.velocity), effort=list(self.effort))
        message.header.stamp.sec = int(stamp)
        message.header.stamp.nanosec = int(1e9 * (stamp - int(stamp)))
        self._states.publish(message)
        reference = JointTrajectoryControllerState(joint_names=self.joints)
        reference.reference.positions = np.asarray(
            self.q if self.reference is None else self.reference, float).tolist()
        self._reference.publish(reference)

    def follow(self, **positions: float) -> None:
        """Say once what the controller follows, by joint."""
        message = JointTrajectoryControllerState(joint_names=list(positions))
        message.reference.positions = list(positions.values())
        self._reference.publish(message)

    def lead(self) -> list[Any]:
        """Take goals of the action from now on; returns those that have been accepted."""
        self.goals: list[Any] = []
        self._action = ActionServer(
            self.controller, FollowJointTrajectory, '~/follow_joint_trajectory',
            self._done, handle_accepted_callback=self.goals.append,
            cancel_callback=lambda _: CancelResponse.ACCEPT)
        return self.goals

    @staticmethod
    def _done(goal: Any) -> Any:
        result = FollowJointTrajectory.Result()
        if goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.succeed()
        return result

    def obey(self, goal: Any) -> None:
        """Go through a goal at once, or cancel it if that was asked for."""
        last = goal.request.trajectory
        if not goal.is_cancel_requested:
            for name, q in zip(last.joint_names, last.points[-1].positions):
                self.q[self.joints.index(name)] = q
        goal.execute()

    def end(self) -> None:
        """End its nodes."""
        for each in filter(None, (*self.nodes, self._driver)):
            each.destroy_node()


def _kind(name: str, value: Any) -> Any:
    """Return the type of a parameter; that of an empty list is known by its name."""
    if value == []:
        return (Parameter.Type.STRING_ARRAY if name.endswith('joints')
                else Parameter.Type.DOUBLE_ARRAY)
    return Parameter.Type.from_parameter_value(value)


class Clock:
    """The steady time of the page; other programs have their own."""

    def __init__(self) -> None:
        self.now = float(round(time.monotonic()))

    def monotonic(self) -> float:
        """Return the time, s."""
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class Desk:
    """
    The process of the dashboard without its loop, and all around it.

    :param patch: puts the clock into its place.
    :param words: parameters of the dashboard, ``name:=value``.
    :param names: remappings, ``old:=new``.
    :param robots: namespaces; each gets a robot.
    :param size: of the window of the visitor; None: nobody has opened the page.
    """

    def __init__(self, patch: pytest.MonkeyPatch, *words: str, names: Sequence[str] = (),
                 robots: Sequence[str] = ('',), simulated: bool = True,
                 joints: Sequence[str] = MODEL.joint_names,
                 size: tuple[int, int] | None = (1200, 900)) -> None:
        self.clock: Any = Clock()
        for name, module in list(sys.modules.items()):
            if name.startswith(PAGE) and getattr(module, 'time', None) is time:
                patch.setattr(module, 'time', self.clock)
        # The clock of the rig does not stand still where the machine does.
        patch.setattr(round_trips, 'OLDEST', PATIENCE)
        given = [f'port:={free_port()}', f'token:={TOKEN}', *words]
        rclpy.init(args=['--ros-args', *(part for each in given for part in ('-p', each)),
                         *(part for each in names for part in ('-r', each))])
        self.robots = [Robot(each, simulated=simulated, joints=joints) for each in robots]
        self.robot: Any = self.robots[0] if self.robots else None
        self.node = Dashboard()
        self.node.open()
        self.server = self.node._server
        self._executor = make_executor(kind_that_works('events', self.node))
        for node in (self.node, *(each for robot in self.robots for each in robot.nodes)):
            self._executor.add_node(node)
        self._published = 0  # messages to the robot that have not come
        publish = Publisher.publish

        def counted(publisher: Any, message: Any) -> None:
            publish(publisher, message)
            self._published += self._is_out(publisher.topic_name)
        patch.setattr(Publisher, 'publish', counted)
        self._calls: list[Any] = []
        submit = self.server.gui._thread_executor.submit
        patch.setattr(self.server.gui._thread_executor, 'submit', lambda *words, **more: (
            self._calls.append(submit(*words, **more)) or self._calls[-1]))
        self.sent: dict[str, list[Sent]] = {'set-point': [], 'target': [], 'push': []}
        self.visitors: list[Visitor] = []
        if size is not None:
            self.visit(size)

    # -- somebody at the page -----------------------------------------------------------------

    def visit(self, size: tuple[int, int] = (1200, 900)) -> Visitor:
        """Open the page once more."""
        allowed = bool(self.node.get_parameter_or('allow_commands').value)
        self.visitors.append(Visitor(self.server, TOKEN * allowed, size))
        self.called()
        return self.visitors[-1]

    @property
    def visitor(self) -> Visitor:
        """The first one who has opened the page."""
        return self.visitors[0]

    def called(self) -> None:
        """Wait until what was pressed has been done; the page does that in threads."""
        while self._calls:
            done, late = wait_for([self._calls.pop(0)], PATIENCE)
            assert not late, 'what was pressed does not end'
            for each in done:
                each.result()

    def press(self, label: str, within: str = '', who: int = 0) -> None:
        """Press a button, and let the page look."""
        self.visitors[who].press(label, within)
        self.called()
        self.settle()

    def put(self, label: str, value: Any, within: str = '', who: int = 0) -> None:
        """Change an input by hand, and let the page look."""
        self.visitors[who].put(label, value, within)
        self.called()
        self.settle()

    def tick(self, label: str) -> None:
        """Tick a box anew, and wait until a publisher of before is known to have gone."""
        self.put(label, True)
        self.until(lambda: 'Another program' not in self.text())

    def text(self, within: str = '') -> str:
        """Return the words that the page shows now."""
        self.look()
        return self.visitor.look().text(within)

    def part(self, label: str, within: str = '') -> dict[str, Any]:
        """Return a part of the panel as it is shown now."""
        return self.visitor.look().find(label, within)

    def value(self, label: str, within: str = '') -> Any:
        """Return what an input shows now."""
        return self.part(label, within)['value']

    def drawn(self, name: str) -> dict[str, Any]:
        """Return a node of the scene as it is shown now."""
        return self.visitor.look().node(name)

    # -- time ---------------------------------------------------------------------------------

    def spin(self) -> None:
        """Let each node take what has come."""
        for _ in range(20):
            self._executor.spin_once(timeout_sec=0.0)

    def until(self, holds: Callable[[], Any], what: str = '', *, looks: bool = True) -> Any:
        """Let real time pass until something holds, and the page look meanwhile."""
        end = time.monotonic() + PATIENCE
        while not (found := holds()):
            assert time.monotonic() < end, what or self.text()
            self.spin()
            if looks:
                self.node.update()
            time.sleep(0.002)
        return found

    def settle(self) -> None:
        """Wait until publishers that the page has made or ended are known to all."""
        self.until(lambda: all(each.get_subscription_count() for each in self._out()), looks=False)
        self.look()

    def _out(self) -> Iterator[Any]:
        return (each for each in self.node.publishers if self._is_out(each.topic_name))

    @staticmethod
    def _is_out(topic: str) -> bool:
        return topic.endswith(('/joint_trajectory', '/target_pose', '/wrench'))

    def look(self, count: int = 1) -> None:
        """Let the page look as often as it takes to show all, at the same time of its clock."""
        for _ in range(count):
            self.clock.now += 0.201  # what is slow has its own period
            self.talk()
            self.node.update()
            self.listen()

    def talk(self) -> None:
        """Let each robot tell where it is, and the page hear it."""
        for robot, tab in zip(self.robots, self.node.tabs):
            if tab.page is None or not robot.answers:
                continue
            heard = tab.page.telemetry
            late = heard.age('controller') > 1.0
            ends = time.monotonic() + PATIENCE
            for k in itertools.count():
                if k % 1000 == 0:  # one may be lost before both ends know each other
                    robot.talk(self.clock.now)
                    if late:
                        robot.report()
                heard.take()
                if late:
                    self.spin()
                if heard.age('states') == heard.age('reference') == 0.0 and (
                        not late or heard.age('controller') == 0.0):
                    break
                assert time.monotonic() < ends, 'the page does not hear the robot'

    def listen(self) -> None:
        """Take what the page has sent."""
        end = time.monotonic() + PATIENCE
        while True:
            for what, sent in self.sent.items():
                for robot in self.robots:
                    self._published -= len(robot.heard[what])
                    sent += [Sent(self.clock.now, each) for each in robot.heard[what]]
                    robot.heard[what].clear()
            if self._published <= 0:
                return
            self.spin()
            assert time.monotonic() < end, 'a message of the page does not come'

    def run(self, seconds: float, *held: str, follows: bool = True) -> None:
        """
        Let time pass, picture by picture.

        :param held: buttons that give their signs ten times a second.
        :param follows: whether the robot is where the last set-point is.
        """
        signs = 0
        for k in range(round(seconds / PERIOD)):
            if held and k * PERIOD >= signs / 10.0 - 1e-9:
                signs += 1
                self.visitor.hold(*held)
            self.talk()
            self.node.update()
            self.listen()
            if follows and self.points:
                self.robot.q = np.array(self.points[-1].message.points[0].positions)
            self.clock.now += PERIOD

    # -- what was sent ------------------------------------------------------------------------

    @property
    def points(self) -> list[Sent]:
        """Set-points of the joints that were sent."""
        return [each for each in self.sent['set-point'] if each.message.points]

    @property
    def holds(self) -> list[float]:
        """Times at which the controller was told to hold."""
        return [each.time for each in self.sent['set-point'] if not each.message.points]

    @property
    def path(self) -> Any:
        """Positions of the set-points."""
        return np.array([each.message.points[0].positions for each in self.points])

    @property
    def targets(self) -> list[tuple[float, Any, Any]]:
        """Targets that were sent: when, position and quaternion w, x, y, z."""
        found = []
        for at, message in self.sent['target']:
            p, turn = message.pose.position, message.pose.orientation
            found.append((at, np.array([p.x, p.y, p.z]),
                          np.array([turn.w, turn.x, turn.y, turn.z])))
        return found

    # -- what it is like ----------------------------------------------------------------------

    def fence(self) -> None:
        """Have the page hear all that the controller has reported so far."""
        self.clock.now += 1.1  # it reports once per second, in order
        self.look()

    def pass_time(self, seconds: float) -> Desk:
        """Let time pass in which nothing is heard, and the page look."""
        self.clock.now += seconds
        self.node.update()
        return self

    def shown(self, within: str = '') -> str:
        """Return the words on the page, without another look."""
        return self.visitor.look().text(within)

    def begin(self, *, mode: str = taking(Takes.TRAJECTORY)[0], simulated: bool | None = None,
              q: Any = START) -> Desk:
        """Begin anew: the robot somewhere, its controller running, boxes unticked."""
        robot = self.robot
        robot.q, robot.reference, robot.answers = np.array(q, float), None, True
        if simulated is not None:
            robot.become(simulated=simulated)
        self.say(state='running', mode=mode, fault='')
        self.clock.now += 60.0
        self.look(2)
        for label in ('Drive the joints', 'Drag a target', 'Pull at the links with the mouse'):
            if self.visitors and self.value(label):
                self.put(label, False)
        if self.visitors and self.value('Speed, %', 'Joints') != USUAL:
            self.put('Speed, %', USUAL, 'Joints')
        self.clock.now += 60.0
        if simulated is not None:
            self.until(lambda: self._is_simulated() == simulated)
        self.look(2)
        self.forget()
        return self

    def _is_simulated(self) -> bool:
        self.look()
        return bool(self.node.tabs[0].page.simulated)

    def forget(self) -> None:
        """Begin new lists of what was sent and asked."""
        self.robot.asked.clear()
        for each in self.sent.values():
            each.clear()

    def say(self, **words: str) -> None:
        """Have the controller tell state, mode or fault, and the page hear it."""
        self.robot.say(**words)
        heard = self.node.tabs[0].page.telemetry
        self.until(lambda: all(getattr(heard, name) == text for name, text in words.items()),
                   looks=False)

    def give(self, **values: Any) -> None:
        """Give the controller other parameters, and wait until the page has read them."""
        self.robot.give(**values)
        settings = self.node.tabs[0].page.settings

        def known() -> bool:
            self.look()
            return all(settings.values.get(name) == value for name, value in values.items())
        self.until(known, 'the page does not read parameters')

    def end(self) -> None:
        """End all of it."""
        for each in self.visitors:
            each.close()
        self.node.close()
        self._executor.shutdown(timeout_sec=5.0)
        for robot in self.robots:
            robot.end()
        self.node.destroy_node()
        rclpy.shutdown()


@contextmanager
def page(folder: Path, *words: str, commands: bool = True, arm: bool = True,
         **more: Any) -> Iterator[Desk]:
    """
    Give the page of the built-in arm, or of what the words name.

    :param folder: for what the page keeps.
    """
    with pytest.MonkeyPatch.context() as patch, own_domain():
        patch.setenv('XDG_STATE_HOME', str(folder))
        given = words if any('robot' in word for word in words) or not arm else (
            f'robot_description_file:={ARM}', *words)
        desk = Desk(patch, f'allow_commands:={str(commands).lower()}', *given, **more)
        try:
            if any('description' in word for word in given):
                desk.until(lambda: all(tab.page for tab in desk.node.tabs))
                desk.begin()
            yield desk
        finally:
            desk.end()
