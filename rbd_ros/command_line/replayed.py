# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
A recorded run, computed once more: the same states through the same step, without ROS.

The clock is that of the recorded controller, see :mod:`rbd_ros.command_line.replayed_clock`: a
late recorder changes nothing, and a late state does what it did. What the joints followed is taken
from the controller's state, whether a topic or an action had asked for it; between two reports it
is interpolated. Torques are compared wherever both controllers run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.command_line.recorded_inputs import INPUTS, RecordedInputs
from rbd_ros.command_line.replayed_clock import ControlClock
from rbd_ros.compiler import Array
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.row import Value
from rbd_ros.control.modes import Mode
from rbd_ros.control.parameters.assembly import build_robot, build_settings, compile_kernels
from rbd_ros.control.parameters.mode_file import read_modes
from rbd_ros.control.parameters.table import defaults, with_modes
from rbd_ros.control.references.trajectory import read_points
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.errors import nearest, RbdError
from rbd_ros.identification.bag import (
    BagError, read_in_order, read_sent, topics as recorded_topics)
from rbd_ros.recording.namespaces import choose_robot, RecordedRobot
from rbd_ros.recording.topics import PARAMETER_EVENTS

__all__ = ['replay', 'Replayed', 'worst']

#: s after a change of state in which torques are not compared: it is told a little later
SETTLED = 0.3
#: s within which what was seen by the recorded controller must have been seen here as well
_PATIENCE = 0.1
#: s without a reference after which another one begins
_GAP = 0.5
_IDLE = (State.INACTIVE, State.RELEASED, State.FAULT)
#: what the recorded controller tells once somebody has started it
_STARTED = (State.PROBING, State.RAMPING_IN, State.RUNNING)
#: fields of rcl_interfaces/ParameterValue by its type
_VALUES = ('', 'bool_value', 'integer_value', 'double_value', 'string_value', 'byte_array_value',
           'bool_array_value', 'integer_array_value', 'double_array_value', 'string_array_value')


class Replayed(NamedTuple):
    """
    What a replay has shown.

    :param limits: torque limits, (n,).
    :param t: s from the first state, of the compared torques, (count,).
    :param recorded: torques that were sent, (count, n); ``torque``: those of the replay.
    :param states: time, state and whose it is ('recorded' or 'replayed'), in order.
    :param apart: begin, end and state of the replay where only the recorded controller ran.
    :param notes: what could not be replayed, or was refused.
    """

    joints: tuple[str, ...]
    limits: Array
    t: Array
    recorded: Array
    torque: Array
    states: list[tuple[float, str, str]]
    apart: list[tuple[float, float, str]]
    notes: list[str]


def replay(path: Path, name: str | None = None, joint_states: str | None = None,
           namespace: str | None = None, mode_file: Path | None = None) -> Replayed:
    """
    Compute a recording once more.

    :param path: file of ``rbd record``.
    :param name: node of the controller; None: that of the robot.
    :param joint_states: topic of the robot's states; None: its own.
    :param namespace: of the robot, if there are several; a node that is named has its own.
    :param mode_file: Python file with the modes of the controller. It is run; the file that the
        recording names is not, since whoever could write to the recording chose that name.
    :raises RbdError: if the recording has too little for it.
    """
    kinds = recorded_topics(path)
    if namespace is None and name is not None and f'{name}/controller_state' in kinds:
        namespace = name.rpartition('/')[0]
    robot = choose_robot(path, kinds, namespace)
    robot = robot._replace(controller=name or robot.controller,
                           joint_states=joint_states or robot.joint_states)
    messages = read_in_order(path, {PARAMETER_EVENTS, robot.description, robot.joint_states,
                                    *(f'{robot.controller}/{each}' for each in (
                                        'controller_state', 'state', *INPUTS))})
    return _Replay(path, robot, messages, mode_file).run()


class _Replay:
    """One recording on its way through the step."""

    def __init__(self, path: Path, robot: RecordedRobot,
                 messages: Sequence[tuple[str, int, Any, bytes]],
                 mode_file: Path | None) -> None:
        name, joint_states = robot.controller, robot.joint_states
        self._messages, self._name, self._states_topic = messages, name, joint_states
        topics = {topic for topic, *_ in messages}
        for topic, why in robot.needed.items():
            if topic not in topics:
                raise BagError(f'{path}: {topic} is missing, so there is {why}; ' + (
                    f'give --controller or --topic{hint}' if (
                        hint := nearest(topic, recorded_topics(path)))
                    else 'rbd record records it'))
        if not any(_time(message) for topic, _, message, _ in messages if topic == joint_states):
            raise BagError(f'{path}: no message on {joint_states} has a stamp, by which a state '
                           'and its torque are found; let the driver stamp its states')
        self._notes: dict[str, None] = {}
        self._simulated = False  # whether it took time from /clock
        modes = read_modes('' if mode_file is None else str(mode_file.absolute()))
        self._values = dict(self._first_values(path, modes))
        text = next(message.data for topic, _, message, _ in messages
                    if topic == robot.description)
        self._rows = with_modes(modes)
        self._robot = build_robot(self._values, text, lambda _: None, modes)
        settings = build_settings(self._robot, self._values, simulated=True)
        self._sent: Array | None = None
        self._controller = Controller(settings, compile_kernels(settings), self._publish)
        self._controller.p.states.ages.asked = 0.0  # it has begun, whatever was known
        self._inputs = RecordedInputs(
            self._controller, build_settings(self._robot, self._values, simulated=False),
            lambda text: self._notes.update({text: None}))
        self._reports = [message for topic, _, message, _ in messages
                         if topic == f'{name}/controller_state']
        self._spans = list(_spans(self._reports))
        taken = [(_time(each), now) for each in self._reports if (now := _taken(each)) > 0.0]
        self._clock = ControlClock(
            np.unique([_time(message) for topic, _, message, _ in messages
                       if topic == joint_states]),
            [(_time(each), each.output.effort) for each in self._reports],
            # times of sending are real, and a simulation may be faster or slower
            [] if self._simulated else [
                (1e-9 * when, _torques(message))
                for when, message in read_sent(path, f'{name}/commands')], taken)
        if self._simulated and not taken:
            self._notes['the controller took time from /clock: states are replayed at their '
                        'stamps, also those that came late'] = None
        if self._clock.lost:
            self._notes[f'{self._clock.lost} joint states that the controller answered are not in '
                        'the recording: the recorder lost them'] = None
        self._fed: tuple[int, str] | None = None
        self._torques: dict[tuple[int, int], Array] = {}
        self._timeline: list[tuple[float, str, str]] = []
        self._told = ''  # state of the recorded controller
        self._since = 0.0  # when it was told
        self._now = 0.0

    def _first_values(self, path: Path, modes: Sequence[Mode]) -> Iterator[tuple[str, Value]]:
        """Return the parameters that the controller had when the recording began."""
        events = (dict(_changes(message)) for topic, _, message, _ in self._messages
                  if topic == PARAMETER_EVENTS and message.node == self._name)
        found = next((each for each in events if len(each) > 1 and 'mode_file' in each), None)
        if found is None:
            raise BagError(f'{path}: the parameters of {self._name} are missing; rbd record asks '
                           'for them when it begins')
        self._simulated = bool(found.get('use_sim_time', False))
        if found['mode_file'] and not modes:
            raise BagError(f'{path}: the controller had modes of its own, of the Python file '
                           f'{found["mode_file"]!r}; a replay runs no file that a recording '
                           'names: give yours with --mode-file')
        usual = defaults(modes)
        if new := [name for name in usual if name not in found]:
            self._notes[f'the recorded controller, of another release, had no {", ".join(new)}: '
                        'replayed with the defaults'] = None
        return ((name, found.get(name, value)) for name, value in usual.items())

    def _publish(self, torque: Array) -> None:
        self._sent = torque.copy()

    def run(self) -> Replayed:
        """Feed all messages, and compare."""
        handlers = {self._states_topic: self._on_joint_state,
                    PARAMETER_EVENTS: self._on_parameters, f'{self._name}/state': self._on_state}
        for topic, when, message, data in self._messages:
            if topic in handlers:
                handlers[topic](when, message, data)
            elif (own := topic.removeprefix(f'{self._name}/')) in INPUTS:
                self._inputs.take(own, self._now, message)
            else:
                continue  # read before
            self._look()
        return self._compared()

    def _look(self) -> None:
        controller = self._controller
        here = controller.state.value
        if here != next((each for _, each, who in reversed(self._timeline) if who == 'replayed'),
                        State.INACTIVE.value):
            self._timeline.append((self._now, here, 'replayed'))
        while controller.events:
            kind, text = controller.events.popleft()
            if kind == 'warning' or controller.state is State.FAULT:
                self._notes[text] = None

    def _on_joint_state(self, when: int, message: Any, data: bytes) -> None:
        stamp, now = message.header.stamp, self._now
        # Parts of a robot may come with one stamp, one part always later than the other, or one
        # without stamps. What really comes again the controller finds, as the recorded one did.
        if (time := _time(message)) > 0.0:
            self._now = now = max(self._clock.at(time), now)
        self._follow_the_recorded()
        self._feed()
        self._inputs.begin(now)
        self._sent = None
        self._controller.take_message(now, now, data)
        if self._sent is not None:
            self._torques[stamp.sec, stamp.nanosec] = self._sent

    def _follow_the_recorded(self) -> None:
        """Ask for what nobody can see in a recording: starts, and stops that somebody called."""
        controller, now = self._controller, self._now
        wanted = State(self._told) if self._told else State.INACTIVE
        if wanted in _STARTED and controller.state in _IDLE:
            latched = controller.state is State.FAULT
            refused = (controller.reset if latched else controller.activate)(now, now)
            if refused:
                self._notes[f'the start was refused: {refused}'] = None
        elif wanted is State.BRAKING and controller.working and now - self._since > _PATIENCE:
            self._notes['the recorded controller was stopped from outside; so was the replay'
                        ] = None
            controller.fault(now, Cause.OPERATOR_STOP, 'as recorded')

    def _feed(self) -> None:
        """Hand over what the joints followed, from now on to its end."""
        controller, now = self._controller, self._now
        if not (controller.working and controller.tracks):
            self._fed = None
            return
        place = next((k for k, span in enumerate(self._spans)
                      if self._when(span[0]) <= now < self._when(span[-1])), None)
        if place is None or self._fed == (place, controller.mode):
            return
        self._fed = place, controller.mode
        rest = [each for each in self._spans[place] if self._when(each) > now]
        points = [each.reference for each in rest]
        knots = read_points(rest[0].joint_names, self._robot.joints,
                            [self._when(each) - now for each in rest],
                            [each.positions.tolist() for each in points],
                            [each.velocities.tolist() for each in points],
                            [each.accelerations.tolist() for each in points])
        controller.take_points(now, now, knots, now)

    def _when(self, report: Any) -> float:
        """Return the control time of a report."""
        return self._clock.at(_time(report))

    def _on_parameters(self, when: int, message: Any, data: bytes) -> None:
        changed = {key: value for key, value in _changes(message) if key in self._rows}
        if message.node != self._name or self._values == (self._values | changed):
            return
        self._values |= changed
        settings = build_settings(self._robot, self._values, simulated=True)
        self._controller.apply(settings, self._now, self._now)

    def _on_state(self, when: int, message: Any, data: bytes) -> None:
        if message.data != self._told:
            self._told, self._since = message.data, self._now
            self._timeline.append((self._now, self._told, 'recorded'))

    def _compared(self) -> Replayed:
        begin = min((self._when(each) for each in self._reports), default=0.0)
        running = _running(self._timeline, self._now)
        rows = []
        for each in self._reports:
            stamp = each.header.stamp
            torque = self._torques.get((stamp.sec, stamp.nanosec))
            now = self._when(each)
            if torque is not None and any(a <= now <= b for a, b in running):
                rows.append((now - begin, each.output.effort, torque))
        n = len(self._robot.joints)
        t, recorded, torque = (np.array([row[k] for row in rows], float) for k in range(3))
        return Replayed(
            self._robot.joints, self._controller.settings.torque_limits, t,
            recorded.reshape(-1, n), torque.reshape(-1, n),
            [(max(0.0, t - begin), state, who) for t, state, who in self._timeline],
            [(a - begin, b - begin, state) for a, b, state in _apart(self._timeline, self._now)],
            list(self._notes))


def _changes(message: Any) -> Iterator[tuple[str, Value]]:
    for each in (*message.new_parameters, *message.changed_parameters):
        value = getattr(each.value, _VALUES[each.value.type]) if each.value.type else []
        yield each.name, value.tolist() if hasattr(value, 'tolist') else value


def _time(message: Any) -> float:
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def _taken(report: Any) -> float:
    """Return the control time at which the state of a report was taken; 0: it does not tell."""
    since = report.feedback.time_from_start
    return float(since.sec + 1e-9 * since.nanosec)


def _torques(command: Any) -> Array:
    """Return what was sent, as numbers or as a joint state; nothing for messages of motors."""
    values = command.data if hasattr(command, 'data') else getattr(command, 'effort', ())
    return np.asarray(values, float)


def _spans(reports: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield runs of reports in which the joints followed something."""
    span: list[Any] = []
    for each in reports:
        follows = len(each.reference.positions) > 0
        if span and (not follows or not 0.0 < _time(each) - _time(span[-1]) < _GAP):
            if len(span) > 1:
                yield span
            span = []
        if follows:
            span.append(each)
    if len(span) > 1:
        yield span


def _stretches(timeline: Sequence[tuple[float, str, str]], end: float,
               ) -> Iterator[tuple[float, float, Mapping[str, str]]]:
    """Yield begin, end and the states of both controllers, which are told one after the other."""
    state: dict[str, str] = {}
    changes: list[tuple[float, Mapping[str, str]]] = []
    for t, what, who in timeline:
        state = {**state, who: what}
        changes.append((t, state))
    for (a, there), (b, _) in pairwise([*changes, (end, {})]):
        yield a, b, there


def _running(timeline: Sequence[tuple[float, str, str]], end: float,
             ) -> list[tuple[float, float]]:
    """Return the times in which both controllers run, and have done so for a moment."""
    return [(a + SETTLED, b - _PATIENCE) for a, b, there in _stretches(timeline, end)
            if there.get('recorded') == there.get('replayed') == State.RUNNING.value
            and b - a > 2.0 * SETTLED]


def _apart(timeline: Sequence[tuple[float, str, str]], end: float,
           ) -> list[tuple[float, float, str]]:
    """Return where the recorded controller runs and the replay does not, after both ran once."""
    met, found = False, []
    for a, b, there in _stretches(timeline, end):
        here = there.get('replayed', State.INACTIVE.value)
        if there.get('recorded') != State.RUNNING.value:
            continue
        met = met or here == State.RUNNING.value
        if met and here != State.RUNNING.value and b - a > 2.0 * SETTLED:
            found.append((a, b, here))
    return found


def worst(found: Replayed) -> Array:
    """Return per joint the largest difference of torques, as a share of its limit."""
    if not len(found.t):
        raise RbdError('there is nothing to compare: the replay never ran while the recorded '
                       'controller did. Start recording before the controller starts, or while '
                       'the robot rests, and go on for some seconds longer than the start check '
                       f'and ramp_time take. {" ".join(found.notes)}'.strip())
    # a joint without a limit is measured by what was sent
    sent = np.maximum(np.abs(found.recorded).max(axis=0), 1.0)
    scale = np.where(np.isfinite(found.limits), found.limits, sent)
    return np.asarray((np.abs(found.torque - found.recorded) / scale).max(axis=0))
