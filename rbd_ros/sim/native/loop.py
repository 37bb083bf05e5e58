# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The native loop of a simulator, as Python sees it.

The simulation belongs to one of two: to a thread of machine code, which runs its periods without
the lock of the interpreter, or to Python, which changes it, or runs the periods that machine code
does not know. It changes hands between two periods. What Python looks at meanwhile is a copy.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array, procedure
from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.compiler.shared_words import Words
from rbd_ros.errors import RbdError
from rbd_ros.loop import rcl
from rbd_ros.loop.handover import LATEST_ROWS, look_for_answer, post, take_latest
from rbd_ros.loop.handover import WORDS as HANDOVER_WORDS
from rbd_ros.sim.native.records import (
    Body, Count, Drive, Handle, Inputs, Library, Look, Loop, Post, Readings, RUN, Word, WORDS)
from rbd_ros.sim.native.serve import serve
from rbd_ros.sim.schedule import Counters
from rbd_ros.sim.sensors import PlainReading
from rbd_ros.sim.simulation import Counts, Progress, Simulation
from rbd_ros.wire.joint_state import Parts

__all__ = ['Endpoints', 'interruption', 'obstacle', 'SimulatorLoop', 'StateMessage']

#: bytes of the longest command
_ROOM = 65536

#: s that Python waits for the simulation
_ANSWER = 5.0

#: steady time of what has never been
_NEVER = -1e18

_COUNTERS = {'periods': Count.PERIODS, 'commands': Count.COMMANDS, 'refused': Count.REFUSED,
             'outdated': Count.OUTDATED, 'superseded': Count.SUPERSEDED,
             'timeouts': Count.TIMEOUTS}

_running: set[SimulatorLoop] = set()  # what machine code works on must not be collected


class Endpoints(NamedTuple):
    """
    Addresses of rcl structs, which must stay until the loop has ended.

    :param clock: 0 if no clock is published.
    """

    commands: int
    states: int
    clock: int


class StateMessage(NamedTuple):
    """
    A serialized joint state, little endian.

    :param content: its bytes, with anything for stamp and numbers.
    :param places: where the first position, velocity and effort are; 0: there are none.
    """

    content: bytes
    places: tuple[int, int, int]


def obstacle(simulation: Simulation) -> str:
    """
    Return why machine code can never run the periods of a simulation; empty: it can.

    :param simulation: at its start.
    """
    robot, schedule = simulation.robot, simulation.schedule
    if schedule.lockstep:
        return 'states wait for their answers in lockstep'
    if schedule.command_latency > 0.0:
        return 'commands have a latency'
    if simulation.motors:
        return 'motors close their own loop'
    if robot.world is not None:
        return 'there is a world to touch'
    if robot.model.loops:
        return 'closed loops are solved in Python'
    if not simulation.can_brake.all():
        return 'the base is free'
    return ''


def interruption(simulation: Simulation) -> str:
    """
    Return why machine code cannot run the next periods of a simulation; empty: it can.

    :param simulation: as it is now.
    """
    if simulation.sensors.plain is None:
        return 'readings are noisy, late, lost or geared'
    return simulation.acts


class SimulatorLoop:
    """
    A thread of machine code that runs the periods of a simulation.

    :param simulation: Python's until it is given.
    :param endpoints: of the middleware.
    :param joint_states: whether commands are joint states, not arrays of numbers.
    :param simulated: whether stamps are simulated time.
    :param silence: after a reset, s: a pause of a stream of commands that ends ignoring it.
    :raises LoopUnavailable: if the loop cannot run here.
    :raises TypeError: if the step of the robot is not machine code.
    """

    def __init__(self, simulation: Simulation, endpoints: Endpoints, *, joint_states: bool,
                 simulated: bool, silence: float) -> None:
        self._simulation, self._pid = simulation, os.getpid()
        self._thread: threading.Thread | None = None
        self.words, self._box = Words(WORDS), Words(HANDOVER_WORDS).memory
        self._post, self._wake, self._answer = np.zeros(4), rcl.semaphore(), rcl.semaphore()
        self._origin = simulation.time_ns
        handles = rcl.zeros(8 * len(Handle))
        handles.view(np.int64)[:] = endpoints
        self._counts = rcl.zeros(8 * len(Count))
        self._numbers = self._counts.view(np.int64)
        drive = self._drive = _drive(simulation, joint_states, simulated, silence)
        self._numbers[Count.PERIOD // 8] = simulation.schedule.period_ns
        self._numbers[Count.ORIGIN // 8] = self._origin
        self._seen = np.zeros(len(Look) + simulation.robot.model.nq)
        self._row, self._found = self._seen.copy(), np.zeros(1)
        rows, latest = np.zeros((LATEST_ROWS, self._seen.size)), Words(HANDOVER_WORDS).memory
        self._inputs, self._readings = _inputs(simulation), _readings(simulation)
        self._state = rcl.zeros(64)
        tick = np.frombuffer(bytes([0, 1, 0, 0]) + bytes(8), np.uint8).copy()
        self._taken, c = rcl.growing(_ROOM), rcl.library()
        #: what the loop works on
        self.given = Loop(
            Library(c.wait, c.post, c.clock, c.copy, c.take, c.publish), self.words.memory,
            self._box, self._post, self._seen, rows, latest, self._wake, self._answer,
            rcl.zeros(16), handles, self._taken, self._state, rcl.serialized(tick), tick, drive,
            self._counts, Body(*simulation.robot.moving), self._inputs, self._readings)
        self._serve = procedure.bind_free(serve, self.given)
        self._hand_over = procedure.bind(post, self._box)
        self._look_for_answer = procedure.bind(look_for_answer, self._box, self._found)
        self._take_latest = procedure.bind(take_latest, latest, rows, self._row, self._found)
        #: whether the thread has the simulation
        self.away = False

    # -- begin and end ------------------------------------------------------------------------

    def start(self) -> None:
        """Begin; the simulation is still Python's."""
        _running.add(self)
        self._thread = threading.Thread(target=self._serve, name='simulation_loop', daemon=True)
        self._thread.start()

    def close(self, limit: float = 5.0) -> bool:
        """
        End; return whether the thread has ended. Nothing is released before it has.

        :param limit: s to wait at most.
        """
        if os.getpid() != self._pid:  # the thread is not here, and what it uses is not ours
            return False
        self.words.store(Word.END // 8, RUN + 1)
        rcl.post_to(self._wake)
        if self._thread is not None:
            self._thread.join(limit)
            if self._thread.is_alive():
                return False
        if self in _running:
            _running.discard(self)
            rcl.release(self._taken)
            if self.away:
                self._bring_back()
        return True

    # -- hand over ----------------------------------------------------------------------------

    def give(self, message: StateMessage, last_command: float, deaf_until: float) -> None:
        """
        Let the thread run the periods.

        :param message: what it sends.
        :param last_command: steady time of the last command, s.
        :param deaf_until: steady time until which a stream of commands is ignored, s.
        """
        self.load(message, last_command, deaf_until)
        self.away = True
        self._ask(Post.GIVE)

    def load(self, message: StateMessage, last_command: float, deaf_until: float) -> None:
        """
        Tell the loop how things are; see ``give``.

        :param message: what it sends.
        :param last_command: steady time of the last command, s.
        :param deaf_until: steady time until which a stream of commands is ignored, s.
        """
        x, drive, reading = self._simulation.hand_out(), self._drive, self._readings
        plain = self._simulation.sensors.plain
        assert plain is not None
        _fill(reading, plain)
        drive.velocity, drive.effort = plain.velocity, plain.effort
        reading.content[:] = 0
        reading.content[:len(message.content)] = np.frombuffer(message.content, np.uint8)
        self._state[:] = rcl.serialized(reading.content[:len(message.content)])
        reading.places[:] = message.places
        drive.based, drive.start = float(x.start is not None), x.start or 0.0
        drive.time, drive.released, drive.failed = x.robot_time, float(x.released), 0.0
        drive.pending = float(x.pending is not None)
        if x.pending is not None:
            self._inputs.values[:] = x.pending
        drive.read_at = -1.0
        if x.last is not None:
            drive.read_at, reading.last[:] = x.last[0] - self._origin, x.last[1]
        drive.last_command, drive.deaf_until = (max(t, _NEVER) for t in (last_command, deaf_until))
        for count, value in (
                (Count.TIME, x.time_ns), (Count.BEGUN, x.begun_ns),
                (Count.COMMANDED, x.commanded_ns), (Count.DONE, x.done),
                (Count.LATE, x.counts.late), (Count.SKIPPED, x.counts.skipped),
                (Count.UNRESOLVED, x.counts.unresolved),
                (Count.MISSED, x.counts.unsolved_contacts),
                *((count, getattr(x.counts.counters, name))
                  for name, count in _COUNTERS.items())):
            self._numbers[count // 8] = value

    def take(self) -> None:
        """
        Bring the simulation back; it is where the thread has left it.

        :raises RbdError: if the thread gives no answer.
        """
        if self.away:
            self._ask(Post.TAKE)
            self._bring_back()

    def _ask(self, what: Post) -> None:
        self._post[0] = what
        self._hand_over()
        rcl.post_to(self._wake)
        while True:
            self._look_for_answer()
            if self._found[0]:
                return
            if not rcl.wait_for(self._answer, _ANSWER):
                raise RbdError('the loop of the simulation does not answer')

    def _bring_back(self) -> None:
        self.away = False
        self._simulation.take_back(self.progress())

    def progress(self) -> Progress:
        """Return how far the simulation is; it must not be away."""
        drive, n = self._drive, [int(number) for number in self._numbers]
        counters = self._counters([n[count // 8] for count in _COUNTERS.values()])
        return Progress(
            n[Count.TIME // 8], n[Count.BEGUN // 8], n[Count.COMMANDED // 8],
            bool(drive.released), self._inputs.values.copy() if drive.pending else None,
            float(drive.start) if drive.based else None, n[Count.DONE // 8],
            (round(drive.read_at) + self._origin, self._readings.last.copy())
            if drive.read_at >= 0.0 else None, float(drive.time),
            Counts(counters, *(n[count // 8] for count in (
                Count.LATE, Count.SKIPPED, Count.UNRESOLVED, Count.MISSED))))

    def _counters(self, numbers: list[int]) -> Counters:
        resent = self._simulation.counters.resent
        return Counters(**dict(zip(_COUNTERS, numbers)), resent=resent)

    @property
    def last_command(self) -> float:
        """Return the steady time of the last command, s; it must not be away."""
        return _time_of(self._drive.last_command)

    @property
    def deaf_until(self) -> float:
        """Return until when a stream of commands is ignored, s; it must not be away."""
        return _time_of(self._drive.deaf_until)

    # -- what is looked at --------------------------------------------------------------------

    def look(self) -> Array:
        """Return what the thread has shown last, see ``Look``."""
        self._take_latest()
        return self._row

    def note(self, seen: Array) -> None:
        """
        Let the simulation know the counts while it is away.

        :param seen: what was looked at.
        """
        n = [round(number) for number in seen.tolist()[:len(Look)]]
        first = Look.PERIODS - Count.PERIODS // 8
        counters = self._counters([n[first + count // 8] for count in _COUNTERS.values()])
        self._simulation.time_ns = self._origin + n[Look.TIME]
        self._simulation.note(Counts(counters, n[Look.LATE], n[Look.SKIPPED],
                                     n[Look.UNRESOLVED], n[Look.MISSED]))


def _time_of(steady: float) -> float:
    return float(steady) if steady > _NEVER else -math.inf


def _drive(simulation: Simulation, joint_states: bool, simulated: bool, silence: float) -> Drive:
    """Return what is chosen of a loop."""
    schedule, drive = simulation.schedule, Drive({})
    drive.period = schedule.period_ns * 1e-9 / schedule.speed
    drive.step = schedule.period_ns * 1e-9 / schedule.substeps
    drive.substeps, drive.catch_up = schedule.substeps, schedule.max_catch_up
    drive.brakes, drive.timeout = float(schedule.brakes), schedule.command_timeout * 1e9
    drive.simulated, drive.kind, drive.silence = float(simulated), float(joint_states), silence
    return drive


def _inputs(simulation: Simulation) -> Inputs:
    """Return the room for commands."""
    names = [name.encode() + b'\0' for name in simulation.joints]
    count = len(names)
    known: Bytes = np.frombuffer(b''.join(names), np.uint8).copy()
    return Inputs(
        np.zeros(_ROOM, np.uint8), Parts({}), known,
        np.cumsum([0.0, *map(len, names)]), np.zeros(count), np.zeros(count),
        simulation.index.astype(float), simulation.stays_braked.astype(float),
        simulation.can_brake.astype(float))


def _readings(simulation: Simulation) -> Readings:
    """Return the room for readings."""
    model, count = simulation.robot.model, len(simulation.sensors.names)
    room = 1024 + sum(len(name.encode()) + 32 for name in simulation.sensors.names)
    own, resolution, position, velocity, effort, last = np.zeros((6, count))
    return Readings(
        np.zeros((count, model.nq)), np.zeros(count), np.zeros((count, model.nv)), own,
        resolution, position, velocity, effort, last, np.zeros(room, np.uint8), np.zeros(3))


def _fill(readings: Readings, plain: PlainReading) -> None:
    """Say what is read."""
    for name in ('from_q', 'offset', 'from_v', 'own', 'resolution'):
        getattr(readings, name)[:] = getattr(plain, name)


@atexit.register
def _close_all() -> None:
    """End every loop before the interpreter ends, and what machine code uses with it."""
    for loop in list(_running):
        loop.close()


def _forget_all() -> None:
    """Forget the loops of the parent in the child of a fork: their threads are not there."""
    _running.clear()


os.register_at_fork(after_in_child=_forget_all)
