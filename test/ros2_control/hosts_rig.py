# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The hosts of a session, each given the same script: what they send, say, answer and end.

- the fake clock: the controller of tests and ``rbd replay``;
- the native loop of the node, pass by pass, with the step as machine code;
- the C interface of the library for the plugin, compiled with a C compiler.

A script is a list of calls with numbers, see ``session_play.c``. Each call gives rows of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import json
from pathlib import Path
import subprocess
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from c_functions import COMPILER, compiler_key
import numpy as np
from once import once
from rbd_env.pace import patient
from rbd_ros.command_line.c_controller import controller_of, controller_settings
from rbd_ros.command_line.ros2_control.package import robot_package
from rbd_ros.control.controller import Controller, Outdated
from rbd_ros.control.interface.events import Kind, Result
from rbd_ros.control.interface.results import GoalError
from rbd_ros.control.interface.words import PointWord, ReferenceWord
from rbd_ros.control.modes import all_modes
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references.goals import read_tolerances
from rbd_ros.control.references.joint_requests import Streamed
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.step.admission import count_publishers, Publishers
from rbd_ros.control.step.leases import judge_lease, Leases, note_feedback, take_sign
from rbd_ros.control.step.progress import note_progress, Progress
from rbd_ros.control.step.requests import check_request
from rbd_ros.control.step.seen import beat, gather_words, see, Seen
from rbd_ros.control.step.state import State
from rbd_ros.loop.endpoints import Endpoints
from rbd_ros.loop.happenings import happen
from rbd_ros.loop.inputs import take_dead_man, take_states, take_stops
from rbd_ros.loop.native_loop import NativeLoop
from rbd_ros.loop.records import Handle
from rbd_ros.loop.serve import serve_python
from rbd_ros.loop.words import Word
from rbd_ros.nodes.controller.loop_node import limits_of
from rbd_ros.wire.messages import joint_state
from stub_loop import StubLoop

HERE = Path(__file__).parent

#: two joints in a plane; its code is compiled within seconds
URDF = """<robot name="pair"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
<inertia ixx="0.03" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0 0 0.15"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="60" velocity="3"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="30" velocity="4"/></joint></robot>"""
VALUES = {'mode': 'computed_torque', 'driver_adds': 'none', 'release_torque': 'zero',
          'nominal_rate': 500.0,
          'task.frame': 'lower', 'start.time': 0.0, 'start.watch_time': 0.0, 'ramp_time': 0.1,
          'brake_time': 0.3, 'release_time': 0.1, 'state_timeout': 0.05}
JOINTS = ('shoulder', 'elbow')
MODES = tuple(all_modes())

FLAGS = ('-std=c99', '-O1', '-ffp-contract=off', '-Wall', '-Wextra', '-Wconversion', '-Werror')
#: of what nobody has written by hand, and is large: to optimise it takes minutes
GENERATED = ('-std=c99', '-O0', '-ffp-contract=off')

#: words of the session itself about references
REFUSALS = {*PointWord, ReferenceWord.NOT_RUNNING, ReferenceWord.NO_POSE,
            ReferenceWord.NO_TWIST, ReferenceWord.NO_WRENCH}

#: requests that the node does not answer
TARGETS = (Kind.POSE, Kind.TWIST, Kind.WRENCH)

Row = tuple[str, tuple[float, ...]]
Call = tuple[str, tuple[float, ...]]


def settings(mode: str = VALUES['mode'], goal_mode: str = '') -> Settings:
    """Return those of the robot, in a mode."""
    with NamedTemporaryFile('w', suffix='.yaml') as file:
        json.dump({'/controller': {'ros__parameters': {
            **VALUES, 'mode': mode, 'goal_mode': goal_mode}}}, file)
        file.flush()
        return controller_settings(URDF, file.name, lambda _: None)


class Found(NamedTuple):
    """What a host gave to each call of a script."""

    rows: list[list[Row]]
    errors: str = ''


# -- the C interface ------------------------------------------------------------------------------

def program(name: str, options: Sequence[str] = (), given: Settings | None = None) -> Path:
    """
    Return the program that runs a session by its C interface.

    :param name: of the kind of it.
    :param options: of the compiler besides the usual ones, such as sanitizers.
    :param given: settings that it is made for; None: the usual ones.
    """
    files = {**{each.rpartition('/')[2]: text for each, text in robot_package(
        given or settings(), 'pair').items() if each.startswith('src/')},
             **{each: (HERE / each).read_text() for each in ('session_play.c',)}}

    def make(folder: Path) -> None:
        for each, text in files.items():
            (folder / each).write_text(text)
        sources = [each for each in files if each.endswith('.c')]
        for each in sources:
            flags = GENERATED if each.startswith('pair') else FLAGS
            subprocess.run([str(COMPILER), *flags, *options, '-c', each], cwd=folder,
                           check=True, timeout=patient(300))
        subprocess.run([str(COMPILER), *options, *[f'{each[:-2]}.o' for each in sources], '-o',
                        'play', '-lm'], cwd=folder, check=True, timeout=patient(60))

    return once(f'session_{name}', [*compiler_key(), *FLAGS, *GENERATED, *options,
                                    sorted(files.items())], make) / 'play'


def _plain(name: str, numbers: tuple[float, ...]) -> Row:
    """Return a row; why a reference is rejected is said by other words in Python."""
    refused = name == 'say' and numbers[0] in REFUSALS
    return ('rejected', ()) if name == 'wrong' or refused else (name, numbers)


def play(made: Path, script: Sequence[Call]) -> Found:
    """
    Run a script by the C interface.

    :param made: the program.
    :param script: calls.
    """
    text = ''.join(' '.join([name, *map(repr, map(float, numbers))]) + '\n'
                   for name, numbers in script)
    done = subprocess.run([str(made)], input=text, capture_output=True, text=True, check=False,
                          timeout=patient(120))
    rows: list[list[Row]] = [[]]
    for line in done.stdout.splitlines():
        name, *numbers = line.split()
        if name == 'done':
            rows.append([])
        elif name not in ('release', 'why'):
            rows[-1].append(_plain(name, tuple(map(float, numbers))))
    return Found(rows[:-1], done.stderr if done.returncode or done.stderr else '')


# -- hosts in Python ------------------------------------------------------------------------------

class FakeClock:
    """The controller as tests have it; subclasses let events happen in other ways."""

    def __init__(self, given: Settings | None = None) -> None:
        """
        Configure.

        :param given: settings; None: the usual ones.
        """
        self.settings = given or settings()
        self.joints = self.settings.robot.joints
        self.controller, _ = controller_of(self.settings)
        self.now = self.steady = self.stops = self.before = 0.0
        self.rows: list[Row] = []
        self.leases = Leases({}).plain()
        self.leases.most = self.controller.settings.number('goal_lease')
        self.seen, self.told = Seen({}), Seen({})
        self.seen.period = 1.0 / self.controller.settings.number('heartbeat_rate')
        self.publishers = [Publishers({}) for _ in range(3)]
        self._attend()

    def _attend(self) -> None:
        """Let every event be seen, and every reference that is rejected."""
        controller = self.controller
        run = self.watched(controller.run, controller.x, controller.y)

        def run_if_due() -> None:
            session = controller.session
            session.kind, session.before = controller.u.kind, self.before
            session.stops = self.stops
            check_request(session)
            if not session.due:
                raise Outdated
            run()
        controller.run = run_if_due
        controller._warn = lambda kind, reason: self.rows.append(('rejected', ()))

    def watched(self, run: Callable[[], object], x: State, y: Result) -> Callable[[], None]:
        """Return what lets an event happen and notes what it has led to."""
        def watched() -> None:
            run()
            if y.send:
                self.rows.append(('send', tuple(y.torque.tolist())))
            gather_words(self.told, x, y)
            for row in self.told.words[:int(self.told.told)].tolist():
                self.rows.append(('say', tuple(row)))
        return watched

    def play(self, script: Sequence[Call]) -> Found:
        """Run a script."""
        found = []
        for name, numbers in script:
            self.rows = []
            getattr(self, f'_{name}')(*numbers)
            found.append(self.rows)
        return Found(found)

    # -- calls --------------------------------------------------------------------------------

    def _init(self, mode: float, goal_mode: float) -> None:
        self.settings = settings(*(MODES[int(each)] if each >= 0.0 else ''
                                   for each in (mode, goal_mode)))

    def _prepare(self, fresh: float) -> None:
        before, after = self.controller, Controller(self.settings, self.controller.kernels)
        ages = after.p.states.ages
        ages.clock_offset = ages.asked = 0.0  # as in the library of a robot
        if not fresh:
            after.x.load.memory[:] = before.x.load.memory
            after.x.sensor.bias[:] = before.x.sensor.bias
            after.p.load.ramp_time = 0.0
            after._step(Kind.PARAMETERS, self.now, self.steady)
            after.apply(self.settings, self.now, self.steady)
        self.controller = after
        self._attend()
        self.seen.due = self.steady

    def _mode(self, mode: float, goal_mode: float) -> None:
        self._init(mode, goal_mode)
        self.controller.accepted = self.settings
        self.ask(lambda now, steady: self.controller.apply(self.settings, now, steady))

    def _crowd(self, topic: float, count: float) -> None:
        publishers = self.publishers[int(topic)]
        publishers.count = count
        count_publishers(publishers)
        self.rows.append(('crowded', (float(publishers.crowded) + float(publishers.news),)))
        if publishers.news:
            self.ask(self.controller.hold)

    def _time(self, ros: float, steady: float) -> None:
        del ros
        self.now = self.steady = steady

    def _activate(self) -> None:
        self.before = self.stops
        self.controller.stops_before = int(self.stops)
        self.controller.activate(self.now, self.steady)
        self.rows.append(('refused', (float(self.controller.y.answer),)))

    def _deactivate(self) -> None:
        controller = self.controller
        controller._step(Kind.LEAVE, self.now, self.steady)

    def _state(self, renewed: float, *numbers: float) -> None:
        del renewed
        q, qd, effort = (list(numbers[k::3]) for k in range(3))
        self.take_state(q, qd, effort)

    def take_state(self, q: list[float], qd: list[float], effort: list[float]) -> None:
        """Take a joint state without a stamp."""
        self.controller.take_state(self.now, self.steady, self.joints, q, qd, effort, (0, 0))

    def _timer(self) -> None:
        controller = self.controller
        controller._step(Kind.TIMER, self.now, self.steady)
        beat(self.seen, controller.u)

    def _stop(self, number: float) -> None:
        self.stops = number
        self.controller.stop(self.steady)
        self.answer()

    def answer(self) -> None:
        """Note the answer to a request."""
        answer = self.controller.session.answer
        self.rows.append(('answer', (float(answer.granted),)))
        for row in answer.words[:int(answer.count)].tolist():
            self.rows.append(('because', tuple(row)))

    def _press(self, pressed: float) -> None:
        self.controller.press(self.steady, pressed > 0.0)

    def ask(self, what: Callable[[float, float], object]) -> None:
        """Have something happen in the thread of the controller."""
        self.controller.post(what)
        self.controller.serve(self.now, self.steady)

    def _request(self, kind: float, stops: float, *numbers: float) -> None:
        controller, self.before = self.controller, stops
        controller.count_stops = lambda: int(stops)
        if kind == Kind.RESET:
            self.ask(controller.reset)
        elif kind == Kind.PAUSE:
            self.ask(lambda now, steady: controller.pause(now, steady, numbers[0] > 0.0))
        elif kind in TARGETS:
            self.ask(lambda now, steady: self._lead(kind, now, steady, numbers))
            return
        else:
            def request(now: float, steady: float) -> None:
                controller.u.numbers[:14] = [*numbers, *[0.0] * (14 - len(numbers))]
                controller._step(int(kind), now, steady)
                controller._judge()
            self.ask(request)
        self.answer()

    def _lead(self, kind: float, now: float, steady: float, numbers: Sequence[float]) -> None:
        controller = self.controller
        if kind == Kind.POSE:
            controller.take_pose(now, steady, numbers[4:7], numbers[:4])
        elif kind == Kind.TWIST:
            controller.take_twist(now, steady, numbers[:6])
        else:
            controller.take_wrench(now, steady, numbers[:6])

    def _points(self, place: float, goal: float, from_now: float, rates: float, offset: float,
                count: float, goal_time: float, *numbers: float) -> None:
        del place
        n = len(self.joints)
        rows = np.reshape(numbers, (int(count), 1 + n * (1 + int(rates))))
        knots = Knots(rows[:, 0], *[rows[:, 1 + n * k:1 + n * (k + 1)] if k <= rates else None
                                    for k in range(3)])
        controller, start = self.controller, None if from_now else offset
        if goal:
            try:
                controller.check_goal(knots, start, self.now)
            except GoalError:
                self.rows.append(('rejected', ()))
                return
            tolerances = read_tolerances(
                self.joints, controller.accepted.tolerances(), (), (), goal_time)
            controller._last_goal = int(goal) - 1

            def request(now: float, steady: float) -> None:
                try:
                    controller.pursue(now, steady, knots, start, goal, tolerances)
                except GoalError as error:
                    self.rows.append(('end', (goal, 1.0, float(error.code))))
            self.ask(request)
        else:
            self.ask(lambda now, steady: controller.take_points(now, steady, knots, start))

    def _stream(self, place: float, of: float, *numbers: float) -> None:
        del place
        controller = self.controller
        self.ask(lambda now, steady: controller.take_stream(
            now, steady, list(numbers), Streamed(int(of))))

    def _lease(self, what: float, goal: float, seconds: float, nanoseconds: float, steady: float,
               number: float, since: float, rests: float) -> None:
        leases, progress = self.leases, Progress({'n': 2})
        leases.key[:] = float(int(goal) * 0x01010101)
        leases.stamp_s, leases.stamp_ns = seconds, nanoseconds
        progress.number, progress.since, progress.rests = number, since, rests > 0.0
        if what != 0.0:
            leases.steady = steady
        if what == 0.0:
            take_sign(leases)
        elif what == 1.0:
            note_feedback(leases)
        else:
            judge_lease(leases, progress)
            self.rows.append(('silent', (float(leases.silent),)))

    def _look(self) -> None:
        controller, seen = self.controller, self.seen
        see(seen, controller.x, controller.p)
        latched = sum(1 << k for k, each in enumerate(seen.latched.tolist()) if each)
        self.rows.append(('seen', (seen.state, seen.mode, float(seen.sensed),
                                   float(seen.measured), float(latched), seen.beats,
                                   seen.gate.word, seen.gate.a, float(seen.gate.switches))))
        while controller.ended:
            key, outcome = controller.ended.popleft()
            self.rows.append(('end', (float(key), float(
                ('succeeded', 'aborted', 'canceled').index(outcome.status.value)),
                float(outcome.code))))
        progress = Progress({'n': len(self.joints)})
        note_progress(progress, controller.x, controller.p)
        if progress.number:
            self.rows.append(('progress', tuple(progress.memory.tolist())))


# -- the native loop ------------------------------------------------------------------------------

class NodeLoop(FakeClock):
    """The loop of the node in plain Python, on a middleware that is none, with a compiled step."""

    def _attend(self) -> None:
        """Give the controller to a loop whose passes are made one by one."""
        super()._attend()
        controller, self.stub = self.controller, StubLoop(rows=64)
        self.native = NativeLoop(controller, Endpoints(101, 102, 103, 104, 105, 0, 107, 0),
                                 limits_of(controller.settings))
        given = self.native.given
        self.stub.io, self.stub.words = given.io, self.native.words.memory
        self.loop = given._replace(c=self.stub.c, exchange=self.watched(
            given.exchange, given.x, given.y))
        self.loop.seen.period = self.loop.limits.beat
        self.native._await_answer = self._answer
        controller.run = self.native.ask

    def _answer(self) -> None:
        """Make the pass in which Python is answered."""
        serve_python(self.loop)

    def _prepare(self, fresh: float) -> None:
        super()._prepare(fresh)
        self.loop.seen.due, self.loop.seen.beats = self.steady, self.seen.beats
        self.native._store(Word.STOPS, int(self.stops))
        self.stub.steady = self.steady

    def _time(self, ros: float, steady: float) -> None:
        super()._time(ros, steady)
        self.stub.steady = steady

    def take_state(self, q: list[float], qd: list[float], effort: list[float]) -> None:
        """Take a message."""
        self.stub.send(Handle.STATES, joint_state(JOINTS, q, qd, effort, (0, 0)))
        take_states(self.loop)
        self.look()

    def look(self) -> None:
        """Let Python hear what the loop says."""
        self.native.look()
        self.native.read()
        self.controller.attend()

    def _timer(self) -> None:
        happen(self.loop, Kind.TIMER, self.steady, self.steady)
        beat(self.loop.seen, self.loop.u)
        self.seen.beats = self.loop.seen.beats
        self.look()

    def _stop(self, number: float) -> None:
        self.stops = number
        self.stub.send(Handle.STOP, b'who')
        take_stops(self.loop)
        self.controller.session.answer.memory[:] = self.loop.session.answer.memory
        self.answer()
        self.look()

    def _press(self, pressed: float) -> None:
        self.stub.send(Handle.DEAD_MAN, bytes([0, 1, 0, 0, int(pressed)]))
        take_dead_man(self.loop)
        self.look()
