# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
States, the timer and posted requests become events, the step runs, and what it leaves is kept.

Everything here runs in the control thread; other threads only ``post`` requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler import Bound, procedure
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.interface.results import Outcome
from rbd_ros.control.joint_states.arrival import fill_states, is_ready
from rbd_ros.control.joint_states.diagnosis import missing_joints
from rbd_ros.control.joint_states.forms import MOST_NAMES, ROOM
from rbd_ros.control.joint_states.intake import fill_structure
from rbd_ros.control.joint_states.sources import Reason, SOURCES
from rbd_ros.control.monitors.guards import is_alive
from rbd_ros.control.parameters.given import Inputs
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references.feeder import Feeder
from rbd_ros.control.references.goals import EndedGoals
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.snapshots import Snapshots
from rbd_ros.control.speaker import FaultSentences, Speaker
from rbd_ros.control.step.entering import begin_state
from rbd_ros.control.step.exchange import exchange, Mail, Notes
from rbd_ros.control.step.seen import gather_words, Seen
from rbd_ros.control.step.state import (
    fill_parameters, kernels_of, Parameters, State, Work)
from rbd_ros.control.supervisor.answers import fill_table
from rbd_ros.control.supervisor.due import is_blind, is_finished
from rbd_ros.control.supervisor.states import SupervisorState
from rbd_ros.wire.command import Slots
from rbd_ros.wire.messages import COMMANDS, joint_state
from rbd_ros.wire.reading import MOST_BYTES

__all__ = ['Array', 'Request', 'Stepping']

Array = npt.NDArray[np.float64]
Values = Array | Sequence[float]
Request = Callable[[float, float], object]

#: places of single numbers, which are read and written at once
_KIND, _NOW, _STEADY = (Event.single_place(name) for name in ('kind', 'now', 'steady'))
_ARRIVED, _ATTENTION = Notes.single_place('arrived'), Notes.single_place('attention')
_SEND = Result.single_place('send')

_STATES = tuple(SupervisorState)
_WORKING = (SupervisorState.RAMPING_IN, SupervisorState.RUNNING)
_ASKED = (Cause.DEACTIVATED.name, Cause.SIGNAL.name)


class Stepping:
    """
    A robot whose states become torques, and what can be seen of it.

    :param settings: valid set of parameters.
    :param kernels: compiled laws by name.
    :param publish: sends a torque, unless whoever lets events happen does.
    :param backend: of the step, see :func:`rbd_ros.compiler.procedure.bind`.
    """

    def __init__(self, settings: Settings, kernels: Mapping[str, Bound],
                 publish: Callable[[Array], None] = lambda _: None, backend: str = 'auto',
                 ) -> None:
        robot, modes = settings.robot, tuple(settings.robot.modes)
        sizes = {'n': len(robot.joints), 'm': robot.model.nv, 's': SOURCES}
        x, p = State(sizes), Parameters(sizes)
        intake = fill_structure(p.structure, x.joints, settings)
        self.x, self.p, self.intake, self._modes = x, p, intake, modes
        #: makes sentences
        self.speaker = Speaker(settings, intake, x, p, modes)
        self._fault_sentences = FaultSentences(x.command.supervisor.faults, self.speaker)
        self.speaker.faults = self.fault_text
        #: set in force
        self.settings = settings
        self.kernels, self._publish = kernels, publish
        self.u, self.y, self.ring = Event(sizes), Result(sizes), Ring(sizes)
        #: what the step works on
        self.given = x, self.u, p, self.ring, kernels_of(kernels, sizes), Work(sizes), self.y
        prepared = COMMANDS[settings.text('command_type')](robot.joints)
        #: the last torque as a serialized message
        self.command = np.frombuffer(prepared.content, np.uint8).copy()
        self._notes, slots = Notes(sizes), Slots(sizes)
        slots.values_at, slots.stamp_at = prepared.values_at, prepared.stamp_at
        slots.step, slots.motor_at[:len(prepared.motor_at)] = prepared.step, prepared.motor_at
        #: what it reads and writes
        self.mail = Mail(intake.message, intake.parts, intake.letters, self.command, slots,
                         self._notes)
        #: lets an event happen: the step itself, or the loop that has taken it over
        self.run: Callable[[], object] = procedure.bind(exchange, self.mail, *self.given,
                                                        backend=backend)
        #: called when a request was posted
        self.wake: Callable[[], object] = lambda: None
        #: makes what is seen here the present state, or raises an RbdError; not in the thread that
        #: runs requests, which sees it anyway
        self.refresh: Callable[[], object] = lambda: None
        self._event, self._result, self._marks = (
            self.u.singles, self.y.singles, self._notes.singles)
        self.feeder = Feeder(self.ring, x.references.joint.path)
        self._ended = EndedGoals(x.references.joint.goal, robot.spoken(), modes)
        self.snapshots = Snapshots(x, p)
        self.events: deque[tuple[str, str]] = deque(maxlen=1000)  # kind, text
        self.ended: deque[tuple[Hashable, Outcome]] = deque()  # goals, for whoever asked for them
        self._seen = Seen({})
        self._goals: dict[int, Hashable] = {}  # keys of goals by their numbers
        #: posted, not yet run, with the number of stops before
        self.requests: deque[tuple[Request, int]] = deque()
        #: how often ~/stop was called, where the loop answers it
        self.count_stops: Callable[[], int] = lambda: 0
        #: the same before the request that runs was posted
        self.stops_before = 0
        self._given = Inputs(sizes)
        self._make = procedure.bind(fill_parameters, p, self._given, backend=backend)
        self._begin(settings)

    @staticmethod
    def prepare() -> None:
        """Begin to compile the step, while somebody else compiles the laws of a robot."""
        procedure.prepare(exchange)

    def _begin(self, settings: Settings) -> None:
        """Put the state in accord with the first parameters."""
        fill_table(self.p.command.supervisor)
        fill_states(self.p.states.plain(), settings.given.plain())
        self._fill(settings)
        self.snapshots.divider = settings.report_divider
        begin_state(self.x.plain(), self.p.plain())
        self._step(Kind.PARAMETERS, 0.0, 0.0)

    def _fill(self, settings: Settings) -> None:
        """Make the parameters of the step of others."""
        self._given.memory[:] = settings.given.memory
        self._make()

    # -- what can be seen: nothing here changes anything ------------------------------------

    @property
    def sensor_ready(self) -> bool:
        """Return whether the force-torque sensor can be used, or there is none."""
        return bool(self.x.sensor.is_fresh(self.p.sensor,
                                           max(self.x.now, self.x.command.supervisor.clock)))

    @property
    def state(self) -> SupervisorState:
        """Return the state of the supervisor."""
        return _STATES[int(self.x.command.supervisor.state)]

    @property
    def mode(self) -> str:
        """Return the mode."""
        return self._modes[int(self.x.mode)]

    @property
    def working(self) -> bool:
        """Return whether the law acts, its gains ramped or not."""
        return self.state in _WORKING

    @property
    def finished(self) -> bool:
        """Return whether nothing more will be sent without a new request."""
        return is_finished(self.x.command.supervisor)

    @property
    def blind(self) -> bool:
        """Return whether the torque that is due needs no state: the timer sends it."""
        return is_blind(self.x.command.supervisor)

    @property
    def ready(self) -> bool:
        """Return whether every joint was known and young enough at the last event."""
        return is_ready(self.x.joints, self.x.now)

    @property
    def tracks(self) -> bool:
        """Return whether the law in force follows the reference of the joints."""
        return self.x.laws.tracks()

    @property
    def leads(self) -> bool:
        """Return whether the law in force follows the reference of the tip."""
        return self.x.laws.leads()

    def faults(self) -> dict[str, str]:
        """Return the sentences of all latched faults by cause, first one first."""
        return dict(self._fault_sentences.by_cause)

    def fault_text(self) -> str:
        """Return every latched fault in one line; a requested end is no fault."""
        return '; '.join(text for cause, text in self.faults().items() if cause not in _ASKED)

    def refusal(self) -> str:
        """Return why the last joint state was not used; empty: it was."""
        return self._sentence(self.x.states.sources.reason)

    def lateness(self) -> str:
        """Return in what states do not come in time before the start; empty: they do."""
        return self._sentence(self.x.states.punctual.late)

    def _sentence(self, why: Reason) -> str:
        return self.speaker.text(int(why.word), int(why.joint), why.a, why.b,
                                 why.c) if why.word else ''

    def missing_states(self) -> str:
        """Return which joints are unknown or too old, and why; empty: none."""
        return self.speaker.diagnosis()

    def missing_prescribed(self) -> list[str]:
        """Return the joints that are not controlled and are unknown or too old."""
        x, structure = self.x, self.p.structure
        return [self.intake.joints[j] for j in missing_joints(x.joints, structure, x.now)
                if not structure.controlled[j]]

    def is_pressed(self, steady: float) -> bool:
        """Return whether the dead-man switch lets the robot move."""
        return is_alive(self.x.dead_man, self.p.monitors, steady)

    # -- events, in the control thread --------------------------------------------------------

    def take_state(self, now: float, steady: float, names: tuple[str, ...], position: Values,
                   velocity: Values, effort: Values, stamp: tuple[int, int]) -> bool:
        """
        Take a joint state.

        :param now: control time of reception, s.
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
        :param data: serialized sensor_msgs/JointState.
        :returns: whether a torque was sent; None if it is no plain joint state, as
            :mod:`rbd_ros.wire.joint_state` says, and nothing has happened.
        """
        if self.requests:
            self.serve(now, steady)
        if not self.intake.load(data):
            return None
        self._marks[_ARRIVED] = 1.0
        sent = self._step(Kind.STATE, now, steady)
        return sent if sent or self._event[_KIND] == Kind.STATE else None

    def take_unreadable(self, now: float, steady: float, text: str) -> bool:
        """
        Count and announce a message that cannot be read; it is a fault only if it goes on.

        :param now: control time of reception, s.
        :param text: what is wrong with it.
        :returns: whether a torque was sent.
        """
        self.serve(now, steady)
        self.intake.unreadable = text
        return self._step(Kind.UNREADABLE, now, steady)

    def take_timer(self, now: float, steady: float) -> bool:
        """
        Take the steady timer.

        :returns: whether a torque was sent.
        """
        if self.requests:
            self._step(Kind.LOOK, now, steady)
            self.serve(now, steady)
        return self._step(Kind.TIMER, now, steady)

    def press(self, steady: float, pressed: bool) -> None:
        """
        Take one message of the dead-man switch; letting it go stops at once.

        :param pressed: whether the operator holds it; one false between any number of true counts.
        """
        self.u.pressed = float(pressed)
        self._step(Kind.DEAD_MAN, self.x.now, steady)

    def post(self, request: Request) -> None:
        """
        Run a request in the control thread before its next event; callable from any thread.

        :param request: gets control and steady time.
        """
        self.requests.append((request, self.count_stops()))
        self.wake()

    def serve(self, now: float, steady: float) -> None:
        """Run the posted requests."""
        if self.requests:
            self._step(Kind.ADVANCE, now, steady)  # they see the present state of the supervisor
            now, steady = self.u.now, self.u.steady  # when that was
        while self.requests:
            request, self.stops_before = self.requests.popleft()
            request(now, steady)

    # -- the step ---------------------------------------------------------------------------

    def _step(self, kind: int, now: float, steady: float) -> bool:
        """Let one thing happen; return whether a torque was sent."""
        event = self._event
        event[_KIND], event[_NOW], event[_STEADY] = kind, now, steady
        if self.feeder.left:
            self.feeder.catch_up(now)
        self.run()
        sent = bool(self._result[_SEND] > 0.0)
        if sent:
            self._publish(self.y.torque)
        if self._marks[_ATTENTION] or kind != Kind.STATE or self.snapshots.wanted:
            self.attend()
        return sent

    def attend(self) -> None:
        """Look at what the step has left; in the thread that runs requests."""
        y, notes = self.y, self._notes
        if self.x.command.supervisor.faults.causes or self._fault_sentences.by_cause:
            self._fault_sentences.update()
        if self.intake.letters.forms.news:
            self.intake.look(self.u)
        if y.told or self.intake.notices:
            gather_words(self._seen, self.x, y)
            self.events.extend(self.speaker.sentences(
                self._seen.words[:int(self._seen.told)].tolist()))
            self.events.extend(('warning', text) for text in self.intake.notices)
            self.intake.notices.clear()
        if self.x.references.joint.goal.ended != self._ended.seen:
            self._note_ended()
        if notes.cycle and self.snapshots.wanted:
            self.snapshots.note()
        if self.feeder.left:
            self.feeder.feed()
        notes.ended = self._ended.seen
        notes.minded = float(bool(self._fault_sentences.by_cause) or self.feeder.left > 0)

    def _note_ended(self) -> None:
        """Tell of goals that have ended."""
        for number, outcome in self._ended.take(self._fault_sentences.text()):
            self.ended.append((self._goals.pop(number, number), outcome))
