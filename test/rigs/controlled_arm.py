# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Recordings of the built-in arm under its controller, made without ROS."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from command_rig import ARM
import numpy as np
from rbd_ros import Dynamics
from rbd_ros.compiler import Array
from rbd_ros.control.controller import Controller
from rbd_ros.control.parameters.assembly import build_robot, build_settings, compile_kernels
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references.trajectory import read_points
from rbd_ros.identification.bag import CONTROLLER_STATE, JOINT_STATE, typestore
from rbd_ros.nodes.recorded_parameters import KIND, parameter_event
from rbd_ros.recording.mcap_file import McapFile
from rbd_ros.sim import SimulatedRobot

STORE = typestore()
START = np.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])
RATE, DIVIDER, SECONDS = 250.0, 10, 6.0
COMMANDS = 'std_msgs/msg/Float64MultiArray'
_TEXT = 'std_msgs/msg/String'
_FIELDS = {bool: (1, 'bool_value'), int: (2, 'integer_value'), float: (3, 'double_value'),
           str: (4, 'string_value')}
_LISTS = {int: (7, 'integer_array_value'), str: (9, 'string_array_value')}


def as_parameter(value: object) -> SimpleNamespace:
    """Return a value as rcl_interfaces/ParameterValue has it."""
    made = SimpleNamespace(
        type=8, bool_value=False, integer_value=0, double_value=0.0, string_value='',
        byte_array_value=[], bool_array_value=[], integer_array_value=[], double_array_value=[],
        string_array_value=[])
    many = isinstance(value, list)
    kind, field = (_LISTS.get(type(value[0]) if value else float, (8, 'double_array_value'))
                   if many else _FIELDS[type(value)])
    made.type = kind
    setattr(made, field, value)
    return made


class Written:
    """A file of messages that rosbags serializes."""

    def __init__(self, path: Path) -> None:
        self.file = McapFile(path)
        self._topics: dict[str, int] = {}

    def write(self, topic: str, kind: str, t: float, content: Any, seen: float = 0.0) -> None:
        """Write a message, or the bytes of one, that was sent at a time and seen s later."""
        if topic not in self._topics:
            self._topics[topic] = self.file.add_topic(topic, kind, STORE.generate_msgdef(
                kind, ros_version=2)[0])
        data = content if isinstance(content, bytes) else bytes(STORE.serialize_cdr(content, kind))
        self.file.write(self._topics[topic], round(1e9 * (t + seen)), round(1e9 * t), data)

    def text(self, topic: str, t: float, text: str) -> None:
        """Write a text."""
        self.write(topic, _TEXT, t, STORE.types[_TEXT](text))


def header(t: float) -> Any:
    """Return a header with a stamp."""
    ns = round(1e9 * t)
    return STORE.types['std_msgs/msg/Header'](
        STORE.types['builtin_interfaces/msg/Time'](ns // 10**9, ns % 10**9), '')


class Said(NamedTuple):
    """
    A message to the controller, and what it means.

    :param first: s after it has begun to run; -1: from the beginning.
    :param last: until which it is repeated with every fifth state.
    :param topic: of the controller, and ``kind`` its type.
    :param make: the message, of a header, the time and the joints.
    :param take: hands the same to the controller, of the time and the joints.
    """

    first: float
    last: float
    topic: str
    kind: str
    make: Callable[[Any, float, Array], Any]
    take: Callable[[Controller, float, Array], None]


def write_controlled(path: Path, mode: str, *, spoken: dict[str, object] | None = None,
                     given: dict[str, object] | None = None, said: Sequence[Said] = (),
                     down: Array | None = None, late: Callable[[int], float] | None = None,
                     pace: float = 1.0, lost: Container[int] = (), namespace: str = '',
                     beside: Written | None = None, clock: float | None = 900.0,
                     hesitates: Callable[[int], float] = lambda _: 1e-4,
                     unknown: Container[str] = ()) -> Path:
    """
    Write a run: the arm starts, moves if the mode follows trajectories, and is pushed a little.

    :param spoken: parameters that the recording says, where they are not those in force.
    :param given: parameters in force that are not the usual ones.
    :param said: messages to the controller.
    :param down: gravity in the base, m/s^2, where the base is tilted.
    :param late: s that a state comes late, by its number; torques are recorded, too.
    :param pace: real over simulated time, of the times at which torques are sent.
    :param lost: numbers of the states that are not recorded.
    :param namespace: of robot and controller, such as /left.
    :param beside: file that gets the run as well, and is not closed; then ``path`` is not used.
    :param clock: s by which the control clock, of which the reports tell, is ahead of the stamps;
        None: they do not, as in recordings of earlier releases.
    :param hesitates: s between a state that is taken and its torque, by its number.
    :param unknown: parameters that the recorded controller did not have.
    """
    values = defaults() | {
        'driver_adds': 'none', 'release_torque': 'gravity', 'nominal_rate': RATE, 'mode': mode,
        'effort_is_torque': True, 'state_divider': DIVIDER} | (given or {})
    robot = build_robot(values, ARM.read_text(), lambda _: None)
    settings = build_settings(robot, values, simulated=True)
    model = robot.model if down is None else replace(robot.model, gravity=tuple(down.tolist()))
    arm, gravity = SimulatedRobot(model), Dynamics(model).gravity
    arm.place(START)
    controller = Controller(settings, compile_kernels(settings), lambda torque: arm.command(
        torque.copy()))
    out, t, told = beside or Written(path), 100.0, ''
    node = f'{namespace}/controller'
    told_of = {name: value for name, value in (values | (spoken or {})).items()
               if name not in unknown}
    out.write('/parameter_events', KIND, t, parameter_event(
        node, round(1e9 * t), list(told_of),
        [as_parameter(each) for each in told_of.values()]))
    out.text(f'{namespace}/robot_description', t, ARM.read_text())
    out.text(f'{node}/state', t, controller.state.value)
    controller.activate(t, t)
    controller.snapshots.watched, asked = True, False
    arm.brake(True)
    ran = np.inf
    for k in range(round(RATE * SECONDS)):
        t = 100.0 + k / RATE
        if controller.working:
            arm.brake(False)
        if controller.state.value == 'running' and controller.tracks and not asked:
            asked = True
            after = t if late is None else controller.x.now
            controller.take_points(after, after, read_points(
                robot.joints, robot.joints, [1.0, 2.2], [START + 0.3, START - 0.1], [[], []],
                [[], []]), t)
        ran = min(ran, t) if controller.state.value == 'running' else ran
        effort = arm.joint_torque if controller.working else gravity(arm.q)
        stamped = header(t)
        message = STORE.types[JOINT_STATE](
            stamped, list(robot.joints), arm.q.copy(), arm.v.copy(), np.array(effort))
        data = bytes(STORE.serialize_cdr(message, JOINT_STATE))
        if k not in lost:
            out.write(f'{namespace}/joint_states', JOINT_STATE, t, data)
        now = t if late is None else t + late(k)
        if controller.take_message(now, now, data) and late is not None:
            sent = 100.0 + pace * (now - 100.0) + hesitates(k)
            out.write(f'{node}/commands', COMMANDS, sent, STORE.types[COMMANDS](
                STORE.types['std_msgs/msg/MultiArrayLayout']([], 0),
                controller.x.command.torque.limiter.sent.copy()), seen=0.003 * (k % 7))
        for each in said:
            if k % 5 == 0 and each.first <= max(t - ran, -1.0) <= each.last:
                out.write(f'{node}/{each.topic}', each.kind, t, each.make(
                    stamped, t, arm.q.copy()))
                each.take(controller, t, arm.q.copy())
        if controller.state.value != told:
            told = controller.state.value
            out.text(f'{node}/state', t, told)
        if k % DIVIDER == 0:
            out.write(f'{node}/controller_state', CONTROLLER_STATE, t, report(
                controller, stamped, arm, 0.0 if clock is None else clock + now))
        arm.step(1.0 / RATE)
    if beside is None:
        out.file.close()
    assert told == 'running', controller.fault_text() or controller.refusal()
    return path


def report(controller: Controller, stamped: Any, arm: SimulatedRobot, taken: float) -> Any:
    """Return the state of a controller as the node reports it."""
    since = round(1e9 * taken)
    point, other, span = (STORE.types[name] for name in (
        'trajectory_msgs/msg/JointTrajectoryPoint',
        'trajectory_msgs/msg/MultiDOFJointTrajectoryPoint', 'builtin_interfaces/msg/Duration'))
    none = np.zeros(0)
    reference = [none] * 3
    if controller.tracks:
        reference = [row.copy() for row in controller.x.references.joint.profile.state]

    def made(*values: Any) -> Any:
        return point(*values, span(0, 0))
    return STORE.types[CONTROLLER_STATE](
        stamped, list(controller.settings.robot.joints), made(*reference, none),
        point(arm.q.copy(), arm.v.copy(), none, none, span(since // 10**9, since % 10**9)),
        made(*[none] * 4),
        made(none, none, none, controller.x.command.torque.limiter.sent.copy()), [],
        *(other([], [], [], span(0, 0)) for _ in range(4)), 1.0)
