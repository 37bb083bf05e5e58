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
The controller of one configured robot, without ROS: states and requests in, torques out.

It fills the event, lets the step run, sends the torque and keeps what was said for a slower
thread. Everything here runs in the control thread; other threads only ``post`` requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler import Bound, procedure
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Event, Kind, NOBODY, Result
from rbd_ros.control.joint_states.arrival import fill_states
from rbd_ros.control.joint_states.forms import MOST_NAMES, ROOM
from rbd_ros.control.joint_states.intake import fill_structure, MOST_BYTES
from rbd_ros.control.joint_states.sources import SOURCES
from rbd_ros.control.laws.design import design
from rbd_ros.control.load.load import restart_load
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references.feeder import Feeder
from rbd_ros.control.references.goal_outcomes import EndedGoals
from rbd_ros.control.references.goals import Tolerances
from rbd_ros.control.references.joint_intake import JointIntake
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.references.results import GoalError, Outcome, ResultCode
from rbd_ros.control.references.task_intake import TaskIntake
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.snapshots import Snapshots
from rbd_ros.control.speaker import Speaker
from rbd_ros.control.state_view import StateView
from rbd_ros.control.step.exchange import exchange, Mail, Notes
from rbd_ros.control.step.state import (
    fill_parameters, kernels_of, Parameters, State, Work)
from rbd_ros.control.step.words import FlowWord
from rbd_ros.control.supervisor.states import State as SupervisorState
from rbd_ros.control.throttle import Throttle, with_suppressed
from rbd_ros.errors import RbdError
from rbd_ros.wire.command import Slots
from rbd_ros.wire.messages import COMMANDS, joint_state

__all__ = ['Controller']

Array = npt.NDArray[np.float64]
Values = Array | Sequence[float]
Request = Callable[[float, float], object]

_CAUSES = tuple(Cause)
#: places of single numbers, which are read and written at once
_KIND, _NOW, _STEADY = (Event.single_place(name) for name in ('kind', 'now', 'steady'))
_ARRIVED, _ATTENTION = Notes.single_place('arrived'), Notes.single_place('attention')
_SEND, _STAMP = Result.single_place('send'), Notes.single_place('stamp')


class Controller(StateView):
    """
    One robot under control.

    :param settings: valid set of parameters.
    :param kernels: compiled laws by name.
    :param publish: sends a torque.
    :param backend: of the step, see :func:`rbd_ros.compiler.procedure.bind`.
    """

    def __init__(self, settings: Settings, kernels: Mapping[str, Bound],
                 publish: Callable[[Array], None], backend: str = 'auto') -> None:
        robot, modes = settings.robot, tuple(settings.robot.modes)
        sizes = {'n': len(robot.joints), 'm': robot.model.nv, 's': SOURCES}
        x, p = State(sizes), Parameters(sizes)
        intake = fill_structure(p.structure, x.joints, settings)
        super().__init__(x, p, intake, Speaker(settings, intake, x, p, modes), modes)
        #: set in force
        self.settings = settings
        #: set that will be in force once the posted requests have run
        self.accepted = settings
        self.kernels, self._publish = kernels, publish
        self.u, self.y, self.ring = Event(sizes), Result(sizes), Ring(sizes)
        #: what the step works on
        self.given = x, self.u, p, self.ring, kernels_of(kernels, sizes), Work(sizes), self.y
        prepared = COMMANDS[settings.text('command_type')](robot.joints)
        #: the last torque as a serialized message
        self.command = np.frombuffer(prepared.content, np.uint8).copy()
        self._notes, slots = Notes(sizes), Slots(sizes)
        slots.values_at, slots.stamp_at = prepared.values_at, prepared.stamp_at
        mail = Mail(intake.message, intake.parts, intake.letters, self.command, slots, self._notes)
        self.run: Callable[[], object] = procedure.bind(exchange, mail, *self.given,
                                                        backend=backend)
        # Without the fast path no machine code reads a message.
        fast = settings.flag('fast_path')
        self._read = None if fast else intake.bound(self.u, 'python')
        #: which kind of joint state a message is; below 0: none with joints of the robot
        self.recognise = intake.recogniser(backend if fast else 'python')
        self._event, self._result, self._marks = (
            self.u.singles, self.y.singles, self._notes.singles)
        self._feeder = Feeder(self.ring, x.references.joint.path)
        self._joint_intake = JointIntake(
            x.references.joint, self._feeder, lower=robot.pick(robot.model.lower),
            upper=robot.pick(robot.model.upper), continuous=robot.continuous, joints=robot.joints,
            speed=settings.velocity_limits.tolist(), linear=settings.flag('reference.linear'))
        self._task_intake = TaskIntake(x.references.task, p.references.task)
        self._ended = EndedGoals(x.references.joint.goal, robot.joints, modes)
        self.snapshots = Snapshots(x)
        self.events: deque[tuple[str, str]] = deque(maxlen=1000)  # kind, text
        self.ended: deque[tuple[Hashable, Outcome]] = deque()  # goals, for whoever asked for them
        self._goals: dict[int, Hashable] = {}  # keys of goals by their numbers
        self._last_goal = 0
        self.requests: deque[Request] = deque()  # posted, not yet run
        self._rejected = Throttle()  # log lines about references
        self._begin(settings)

    @staticmethod
    def prepare() -> None:
        """Begin to compile the step, while somebody else compiles the laws of a robot."""
        procedure.prepare(exchange)

    def _begin(self, settings: Settings) -> None:
        """Put the state in accord with the first parameters."""
        fill_states(self.p.states, settings)
        fill_parameters(self.p, settings, self._modes)
        self.x.mode, self.x.laws.law = self.p.mode, self.p.laws.law
        self.snapshots.divider = settings.report_divider
        restart_load(self.x.load.plain(), self.p.load.plain())
        design(self.x.design.plain(), self.p.design.plain(), self.p.design.delay, 0.0)
        self._step(Kind.PARAMETERS, 0.0, 0.0)

    # -- events, in the control thread --------------------------------------------------------

    def take_state(self, now: float, steady: float, names: tuple[str, ...], position: Values,
                   velocity: Values, effort: Values, stamp: tuple[int, int]) -> bool:
        """
        Take a joint state.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param names: joint names.
        :param position: positions.
        :param velocity: velocities, or none.
        :param effort: efforts, or none.
        :param stamp: ``header.stamp``, s and ns.
        :returns: whether a torque was sent.
        """
        letters, sent = sum(map(len, names)), None
        if len(names) <= MOST_NAMES and letters <= ROOM:
            data = joint_state(names, position, velocity, effort, stamp)
            sent = self.take_message(now, steady, data)
        return sent if sent is not None else self.take_unreadable(
            now, steady, f'{len(names)} names of {letters} letters in all: at most {MOST_NAMES} '
            f'names are read, of {ROOM} bytes with their lengths and without zeros, in a message '
            f'of {MOST_BYTES} bytes')

    def take_message(self, now: float, steady: float, data: bytes) -> bool | None:
        """
        Take a joint state as it comes from the network.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param data: serialized sensor_msgs/JointState.
        :returns: whether a torque was sent; None if it is no plain joint state, as
            :mod:`rbd_ros.wire.joint_state` says, and nothing has happened.
        """
        if self.requests:
            self.serve(now, steady)
        if not self.intake.load(data):
            return None
        event = self._event
        if self._read is None:
            self._marks[_ARRIVED] = 1.0
        else:
            event[_NOW], event[_STEADY] = now, steady
            if not self._read():
                return None
        sent = self._step(Kind.STATE, now, steady)
        return sent if sent or event[_KIND] == Kind.STATE else None

    @property
    def stamp(self) -> float:
        """Return the stamp of the last message, s."""
        return float(self._marks[_STAMP])

    def take_unreadable(self, now: float, steady: float, text: str) -> bool:
        """
        Count and announce a message that cannot be read; it is a fault only if it goes on.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param text: what is wrong with it.
        :returns: whether a torque was sent.
        """
        self.serve(now, steady)
        self.intake.unreadable = text
        return self._step(Kind.UNREADABLE, now, steady)

    def take_timer(self, now: float, steady: float) -> bool:
        """
        Take the steady timer.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: whether a torque was sent.
        """
        if self.requests:
            self._step(Kind.LOOK, now, steady)
            self.serve(now, steady)
        return self._step(Kind.TIMER, now, steady)

    def press(self, steady: float, pressed: bool) -> None:
        """
        Take one message of the dead-man switch; letting it go stops at once.

        :param steady: steady time, s.
        :param pressed: whether the operator holds it; one false between any number of true counts.
        """
        self.u.pressed = float(pressed)
        self._step(Kind.DEAD_MAN, self.x.now, steady)

    def post(self, request: Request) -> None:
        """
        Run a request in the control thread before its next event; callable from any thread.

        :param request: gets control and steady time.
        """
        self.requests.append(request)

    def serve(self, now: float, steady: float) -> None:
        """
        Run the posted requests.

        :param now: control time, s.
        :param steady: steady time, s.
        """
        if self.requests:
            self._step(Kind.ADVANCE, now, steady)  # they see the present state of the supervisor
        while self.requests:
            self.requests.popleft()(now, steady)

    # -- requests, run in the control thread --------------------------------------------------

    def activate(self, now: float, steady: float) -> str:
        """
        Begin to check states; every stream must prove again that it is fresh.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: the reason of a refusal, or nothing.
        """
        self._step(Kind.ACTIVATE, now, steady)
        if not self.y.answer:
            self.intake.restart()
        return self._refusal()

    def reset(self, now: float, steady: float) -> str:
        """
        Clear latched faults.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: the reason of a refusal, or nothing.
        """
        self._step(Kind.RESET, now, steady)
        if not self.y.answer and self.state is SupervisorState.PROBING:  # streams are checked anew
            self.intake.restart()
        return self._refusal()

    def fault(self, steady: float, cause: Cause, text: str = '') -> None:
        """
        Stop for a cause from outside.

        :param steady: steady time, s.
        :param cause: why.
        :param text: what exactly.
        """
        # What follows from a fault does not explain it.
        if cause.name not in self._fault_sentences.by_cause:
            self.speaker.outside[cause.name] = text
        self.u.cause = _CAUSES.index(cause)
        self.u.numbers[:2] = FlowWord.OUTSIDE, NOBODY
        self._step(Kind.FAULT, self.x.now, steady)

    def apply(self, settings: Settings, now: float, steady: float) -> None:
        """
        Take new parameters, all at once between two steps; structural ones stay as they are.

        :param settings: valid set for the same robot.
        :param now: control time, s.
        :param steady: steady time, s.
        """
        self.settings = self.speaker.settings = settings.with_structure_of(self.settings)
        fill_parameters(self.p, self.settings, self._modes)
        self._joint_intake.speed[:] = self.settings.velocity_limits
        self.snapshots.divider = self.settings.report_divider
        self._step(Kind.PARAMETERS, now, steady)

    def hold(self, now: float, steady: float) -> None:
        """
        Let references come to rest.

        :param now: control time, s.
        :param steady: steady time, s.
        """
        self._step(Kind.HOLD, now, steady)

    def take_payload(self, now: float, steady: float, payload: Array) -> None:
        """
        Begin a ramp to another payload.

        :param now: control time, s.
        :param steady: steady time, s.
        :param payload: ten numbers of ``payload_vector``.
        """
        self.u.numbers[:10] = payload
        self._step(Kind.PAYLOAD, now, steady)

    def take_gravity(self, now: float, steady: float, when: float, down: Array) -> None:
        """
        Take where down is.

        :param now: control time, s.
        :param steady: steady time, s.
        :param when: control time of measuring, s.
        :param down: unit vector in the base.
        """
        self.u.numbers[:3], self.u.numbers[3] = down, when
        self._step(Kind.GRAVITY, now, steady)

    @property
    def goal(self) -> Hashable | None:
        """Return the key of the active goal; None: there is none."""
        return self._goals.get(int(self.x.references.joint.goal.active))

    def check_points(self, q: Array) -> None:
        """
        Refuse points that are not finite or outside the joint limits.

        :param q: positions, (k, n).
        :raises GoalError: naming joint and limits.
        """
        self._joint_intake.check(q)

    def take_points(self, now: float, steady: float, knots: Knots, start_time: float) -> None:
        """
        Take the points of a message that is no goal.

        :param now: control time, s.
        :param steady: steady time, s.
        :param knots: its points.
        :param start_time: control time of its time_from_start 0.
        """
        self._take_reference(now, steady, lambda: self._joint_intake.take(
            self.u, now, knots, start_time))

    def pursue(self, now: float, steady: float, knots: Knots, start_time: float, key: Hashable,
               tolerances: Tolerances) -> None:
        """
        Follow a goal.

        :param now: control time, s.
        :param steady: steady time, s.
        :param knots: its points.
        :param start_time: control time of its time_from_start 0.
        :param key: by which its end is told in ``ended``.
        :param tolerances: of the goal.
        :raises GoalError: if the law does not run or does not follow the joints, or if the points
            cannot be followed.
        """
        if not self.working:
            raise GoalError(ResultCode.INVALID_GOAL, f'the controller is {self.state.value}')
        self._last_goal += 1
        self._joint_intake.follow(self.u, now, knots, start_time, self._last_goal, tolerances)
        self._goals[self._last_goal] = key
        self._step(int(self.u.kind), now, steady)
        if self.y.answer:  # it will never end
            del self._goals[self._last_goal]
            raise GoalError(ResultCode.INVALID_GOAL, self._refusal())

    def cancel(self, now: float, steady: float, key: Hashable) -> None:
        """
        Cancel a goal and hold; nothing happens if it is not the active one.

        :param now: control time, s.
        :param steady: steady time, s.
        :param key: of the goal.
        """
        if self.goal is not None and self.goal == key:
            self.u.numbers[0] = self.x.references.joint.goal.active
            self._step(Kind.CANCEL, now, steady)

    def take_pose(self, now: float, steady: float, position: Sequence[float],
                  quaternion: Sequence[float]) -> None:
        """
        Take a pose of the tip to go to.

        :param now: control time, s.
        :param steady: steady time, s.
        :param position: in the base, m.
        :param quaternion: x, y, z, w.
        """
        self._take_reference(now, steady, lambda: self._task_intake.target_pose(
            self.u, now, position, quaternion))

    def take_twist(self, now: float, steady: float, twist: Sequence[float]) -> None:
        """
        Take a velocity of the tip.

        :param now: control time, s.
        :param steady: steady time, s.
        :param twist: angular, linear; base axes.
        """
        self._take_reference(now, steady, lambda: self._task_intake.target_twist(
            self.u, now, twist))

    def take_wrench(self, now: float, steady: float, wrench: Sequence[float]) -> None:
        """
        Take a wrench that the tip is to exert.

        :param now: control time, s.
        :param steady: steady time, s.
        :param wrench: moment, force; base axes.
        """
        self._take_reference(now, steady, lambda: self._task_intake.target_wrench(
            self.u, now, wrench))

    def refuse(self, now: float, steady: float, reason: str) -> None:
        """
        Count a reference that was refused: several in a row while the robot moves are a fault.

        :param now: control time, s.
        :param steady: steady time, s.
        :param reason: why it was refused.
        """
        self.speaker.refused = reason
        self._step(Kind.REFUSED, now, steady)

    # -- inside -------------------------------------------------------------------------------

    def _take_reference(self, now: float, steady: float, make: Callable[[], None]) -> None:
        """Take a new reference while the law runs; a rejected one is logged, changes nothing."""
        if not self.working:
            self._warn(self.state, f'the controller is {self.state.value}')
            return
        try:
            make()
        except RbdError as error:
            self._warn(type(error), str(error))
            self.refuse(now, steady, str(error))
            return
        self._step(int(self.u.kind), now, steady)

    def _warn(self, kind: object, reason: str) -> None:
        """Log that a reference is rejected, once per kind of reason and second."""
        left = self._rejected.take(kind, self.x.steady)
        if left is not None:
            self.events.append(('warning', with_suppressed(f'reference rejected: {reason}', left)))

    def _refusal(self) -> str:
        word, state = int(self.y.answer), self.x.command.supervisor.state
        return self.speaker.text(word, NOBODY, state, 0.0, 0.0) if word else ''

    def _step(self, kind: int, now: float, steady: float) -> bool:
        """Let one thing happen; return whether a torque was sent."""
        event = self._event
        event[_KIND], event[_NOW], event[_STEADY] = kind, now, steady
        if self._feeder.left:
            self._feeder.catch_up(now)
        self.run()
        sent = bool(self._result[_SEND] > 0.0)
        if sent:
            self._publish(self.y.torque)
        if self._marks[_ATTENTION] or kind != Kind.STATE or self.snapshots.wanted:
            self._attend()
        return sent

    def _attend(self) -> None:
        """Look at what the step has left."""
        y, notes = self.y, self._notes
        if self.x.command.supervisor.faults.causes or self._fault_sentences.by_cause:
            self._fault_sentences.update()
        if self.intake.letters.forms.news:
            self.intake.look(self.u)
        if y.told or self.intake.notices:
            self.events.extend(self.speaker.said(y))
            self.events.extend(('warning', text) for text in self.intake.notices)
            self.intake.notices.clear()
        if self.x.references.joint.goal.ended != self._ended.seen:
            self._note_ended()
        if notes.cycle and self.snapshots.wanted:
            self.snapshots.note(self.tracks)
        if self._feeder.left:
            self._feeder.feed()
        notes.ended = self._ended.seen
        notes.minded = float(bool(self._fault_sentences.by_cause) or self._feeder.left > 0)

    def _note_ended(self) -> None:
        """Tell of goals that have ended."""
        for number, outcome in self._ended.take(self._fault_sentences.text()):
            self.ended.append((self._goals.pop(number, number), outcome))
