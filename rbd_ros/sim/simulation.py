# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The simulation as seen from the driver: commands in, readings out.

It has two clocks. Simulated time counts whole periods in nanoseconds and stamps everything. The
steady clock of the machine is an argument of ``tick`` and ``command`` and only sets the pace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.compiler import Array
from rbd_ros.errors import NonFiniteError, SettingError, ShapeError
from rbd_ros.sim.floating import floating_velocities
from rbd_ros.sim.frames import Frames
from rbd_ros.sim.pacer import Pacer
from rbd_ros.sim.robot import SimulatedRobot
from rbd_ros.sim.schedule import Counters, Schedule
from rbd_ros.sim.sensors import DelayLine, Sample, Sensors
from rbd_ros.wire.messages import MOTOR_WORDS


class Counts(NamedTuple):
    """All that a simulation has counted, with its pacer and its robot."""

    counters: Counters
    late: int
    skipped: int
    unresolved: int
    unsolved_contacts: int


class Progress(NamedTuple):
    """
    How far a simulation is.

    :param pending: command that waits for the next period; None: none does.
    :param start: steady time from which periods are counted, s; None: they have not begun.
    :param done: periods counted since.
    :param last: time and positions of the last reading.
    """

    time_ns: int
    begun_ns: int
    commanded_ns: int
    released: bool
    pending: Array | None
    start: float | None
    done: int
    last: tuple[int, Array] | None
    robot_time: float
    counts: Counts


class Simulation:
    """
    A simulated robot behind a driver, with brakes, real-time pacing, pause, step and reset.

    ``tick`` and ``command`` return the reading that is to be published now, or None.

    :param robot: the robot.
    :param sensors: its sensors.
    :param joints: names of the joints that take commands, in command order. The others keep their
        brakes closed, except passive joints of loops, which have none if the brakes of the other
        joints hold them: those feel the whole weight. A floating joint has neither motor nor
        brake: it is held until the first command, as on a stand, and is free from then on.
    :param schedule: the timing.
    :param frames: the frames of the robot, for ``push``; made on the first push when not given.
    :param start_ns: simulated time at the start.
    :param motors: whether a command has five numbers for each joint: q_d, qd_d, Kp, Kd and tau_ff.
        Before each step of the integrator, a motor then applies Kp (q_d - q) + Kd (qd_d - qd) +
        tau_ff, within the limits of its torque.
    """

    def __init__(
        self, robot: SimulatedRobot, sensors: Sensors, joints: Sequence[str],
        schedule: Schedule, *, frames: Frames | None = None, start_ns: int = 0,
        motors: bool = False,
    ) -> None:
        self.robot, self.sensors, self.schedule = robot, sensors, schedule
        self.joints = tuple(joints)
        self._index = np.array(robot.model.velocity_order(joints), dtype=np.intp)
        if self._index.size != len(self.joints) or len(set(self.joints)) != len(self.joints):
            raise SettingError(f'joints is {", ".join(self.joints)}; name each joint once, and '
                               'only joints with one coordinate')
        self._place = np.array([robot.model.position_slice(name).start for name in joints], int)
        self.motors = motors
        self._drive: Array | None = None    # what the motors were told, a row for each joint
        self._floating = floating_velocities(robot.model)
        self._uncommanded = ~self._floating
        self._uncommanded[self._index] = False
        for name in robot.model.looped_joints:      # passive joints: the loops move them
            self._uncommanded[robot.model.velocity_slice(name)] = False
        self._brakes = self._brakes_there()
        self.time_ns = start_ns
        self.counters = Counters()
        self.paused = False
        self._commands: DelayLine[Array] = DelayLine(round(schedule.command_latency * 1e9))
        self._frames = frames
        self._awaited: Sample | None = None
        self._newest_sent: Sample | None = None
        self._engaged = self._released = self._answered = False
        self._pushes: dict[str, tuple[Array, int]] = {}
        self.pacer = Pacer(schedule.period_ns * 1e-9 / schedule.speed, schedule.max_catch_up)
        self._begin()

    @property
    def waiting(self) -> bool:
        """Return whether time stands still until the answer to the last reading arrives."""
        return self._awaited is not None

    @property
    def released(self) -> bool:
        """Return whether a command has opened the brakes."""
        return self._released

    @property
    def braked(self) -> bool:
        """Return whether brakes hold the joints that take commands."""
        return bool(self.robot.braked[self._index].all())

    # --- clock and commands ---------------------------------------------------------------

    def tick(self, now: float) -> Sample | None:
        """
        Run the periods that are due.

        :param now: steady clock, s.
        """
        if self.paused:
            return None
        if self._awaited is not None:
            return self._watch(now)
        newest = None
        for _ in range(self.pacer.due(now)):
            newest = self._newest(newest, self._period())
        return self._ask(newest, now)

    def command(
        self, torque: ArrayLike, stamp_ns: int | None = None, now: float = 0.0,
    ) -> Sample | None:
        """
        Accept a command.

        :param torque: one value per name in ``joints``, N.m or N; for motors that close their own
            loop a row of five.
        :param stamp_ns: time of the reading that it answers; None if the message has none.
        :param now: steady clock, s.
        :raises ShapeError: for the wrong number of values.
        :raises NonFiniteError: for NaN or infinity; the last command stays in force.
        """
        values = np.array(torque, dtype=float)
        count = len(self.joints)
        if values.shape != ((count, len(MOTOR_WORDS)) if self.motors else (count,)):
            self.counters.refused += 1
            raise ShapeError(self.wrong_size(values.size))
        if not np.isfinite(values).all():
            self.counters.refused += 1
            raise NonFiniteError(self.not_finite(int(np.argwhere(~np.isfinite(values))[0, 0])))
        if self.motors and (values[:, 2:4] < 0.0).any():
            self.counters.refused += 1
            joint = self.joints[int(np.argwhere(values[:, 2:4] < 0.0)[0, 0])]
            raise SettingError(f'a gain of the motor of joint "{joint}" is negative; the command '
                               'is ignored and the last one stays in force')
        if self.schedule.lockstep and not self._engaged:
            self._engage(stamp_ns, now)
        if not self._current(stamp_ns):
            self.counters.outdated += 1
            return None
        self.counters.commands += 1
        self._last_command_ns = self.time_ns
        self._commands.put(values, self.time_ns)
        if not self.schedule.lockstep:
            return None
        if self.paused:
            self._answered, self._awaited = True, None
            return None
        return self._exchange(now)

    def wrong_size(self, count: int) -> str:
        """Return what is said of a command with so many values."""
        each = f'{len(MOTOR_WORDS)} for each of ' if self.motors else ''
        return (f'a command has {count} values, {each}{self._index.size} joints take commands: '
                f'{", ".join(self.joints)}')

    def not_finite(self, joint: int) -> str:
        """Return what is said of a command whose value of a joint is NaN or infinite."""
        return (f'the command of joint "{self.joints[joint]}" is not finite; it is ignored and '
                'the last command stays in force')

    def push(self, frame: str, wrench: ArrayLike, seconds: float) -> None:
        """
        Push at a frame of the robot; replaces the last push at the same frame.

        :param frame: name of a frame of the model.
        :param wrench: moment then force in coordinates of the frame, at its origin.
        :param seconds: how long it acts, in simulated time; infinite: until the next push.
        """
        values = self._known_frames().checked_wrench(frame, wrench)
        end = self.time_ns + round(min(seconds, 1e9) * 1e9)
        self._pushes[frame] = (values, end)

    def pause(self, paused: bool) -> None:
        """Stop time, or let it continue."""
        if self.paused and not paused:
            self.pacer.rebase()
        self.paused = paused

    def resume(self, now: float) -> Sample | None:
        """Let time continue; returns the reading that follows an answer given while paused."""
        self.pause(False)
        return self._exchange(now) if self._answered else None

    def step(self, periods: int = 1, now: float = 0.0) -> Sample | None:
        """
        Advance a paused simulation by whole periods under the last command.

        :param periods: how many.
        :param now: steady clock, s.
        """
        if not self.paused:
            raise SettingError('the simulation is running; pause it before stepping')
        newest = None
        for _ in range(periods):
            newest = self._newest(newest, self._period())
        return self._ask(newest, now)

    def reset(self) -> None:
        """Return to the initial state with brakes closed; time continues, it never goes back."""
        self.robot.reset()
        self.time_ns += self.schedule.period_ns
        self._begin()

    # --- periods that run elsewhere -----------------------------------------------------------

    @property
    def acts(self) -> str:
        """Return what a period does besides steps and readings; empty: nothing."""
        if self.paused:
            return 'it is paused'
        if self._pushes:
            return 'something pushes the robot'
        return ''

    @property
    def index(self) -> NDArray[np.intp]:
        """Return to which velocity each command belongs."""
        return self._index

    @property
    def stays_braked(self) -> NDArray[np.bool_]:
        """Return which velocities are braked whatever is commanded, (nv,)."""
        return self._uncommanded

    @property
    def can_brake(self) -> NDArray[np.bool_]:
        """Return which velocities have brakes, (nv,)."""
        return self._brakes

    def _brakes_there(self) -> NDArray[np.bool_]:
        """Return which velocities have brakes: a passive joint only if the robot needs it."""
        everywhere, driven = ~self._floating, self._uncommanded.copy()
        driven[self._index] = True
        return driven if self.robot.is_held_by(driven | self._floating) else everywhere

    def hand_out(self) -> Progress:
        """Return all that changes from period to period, besides the state of the robot."""
        pending = self._commands.take(self.time_ns)
        start, done = self.pacer.progress
        return Progress(
            self.time_ns, self._begun_ns, self._last_command_ns, self._released,
            pending[-1] if pending else None, start, done, self.sensors.last, self.robot.time,
            Counts(replace(self.counters), self.pacer.late, self.pacer.skipped,
                   self.robot.unresolved, self.robot.unsolved_contacts))

    def take_back(self, x: Progress) -> None:
        """
        Go on after periods that were run elsewhere, without latency and lockstep.

        :param x: where they have led to.
        """
        self.time_ns, self._begun_ns, self._last_command_ns = x.time_ns, x.begun_ns, x.commanded_ns
        self._released, self._newest_sent = x.released, None
        self._commands.clear()
        if x.pending is not None:
            self._commands.put(x.pending, x.time_ns)
        self.pacer.progress = x.start, x.done
        self.sensors.last = x.last
        self.robot.moved(x.robot_time)
        self.note(x.counts)

    def note(self, x: Counts) -> None:
        """
        Take the counts alone.

        :param x: what was counted.
        """
        self.robot.unresolved, self.robot.unsolved_contacts = x.unresolved, x.unsolved_contacts
        self.counters = x.counters
        self.pacer.late, self.pacer.skipped = x.late, x.skipped

    # --- inside ---------------------------------------------------------------------------

    def _begin(self) -> None:
        self.sensors.reset()
        self._commands.clear()
        self._pushes.clear()
        self._begun_ns = self.time_ns
        self._last_command_ns = self.time_ns
        self._drive = None
        self._engaged = self._released = self._answered = False
        self._awaited = self._newest_sent = None
        self._asked = self._first_asked = 0.0
        self.robot.brake(self._brakes | self._floating if self.schedule.brakes
                         else self._uncommanded)
        self.pacer.rebase()

    def _engage(self, stamp_ns: int | None, now: float) -> None:
        """
        Enter lockstep on the first command, and wait for the answer to the newest reading.

        From here on every reading gets exactly one answer, even if this first one is late.
        """
        if stamp_ns is not None and stamp_ns >= self._begun_ns and self._newest_sent is not None:
            self._engaged = True
            self._ask(self._newest_sent, now)

    def _current(self, stamp_ns: int | None) -> bool:
        """Return whether a command is up to date: in lockstep, answers the current reading."""
        if self.schedule.lockstep:
            return self._awaited is not None and stamp_ns == self._awaited.time_ns
        return stamp_ns is None or stamp_ns >= self._begun_ns

    def _exchange(self, now: float) -> Sample | None:
        """Integrate until the next reading is delivered, and wait for its answer."""
        self._answered, self._awaited = False, None
        for _ in range(self.schedule.max_catch_up):
            sample = self._ask(self._newest(None, self._period()), now)
            if sample is not None:
                return sample
        self.pacer.rebase()     # nothing delivered (latency, losses): go on with the ticks
        return None

    def _ask(self, sample: Sample | None, now: float) -> Sample | None:
        """Return the reading to publish, and in lockstep wait for its answer."""
        self._newest_sent = sample or self._newest_sent
        if sample is not None and self.schedule.lockstep and self._engaged:
            self._awaited, self._answered = sample, False
            self._asked = self._first_asked = now
        return sample

    def _watch(self, now: float) -> Sample | None:
        """Resend a reading that was not answered; close the brakes when patience ends."""
        if now - self._first_asked >= self.schedule.patience:
            self._close()
            return None
        if now - self._asked < self.schedule.resend:
            return None
        self._asked = now
        self.counters.resent += 1
        return self._awaited

    def _close(self) -> None:
        self.counters.timeouts += 1
        self._commands.clear()
        self._drive = None
        self.robot.brake(self._brakes | self.robot.braked)
        self._engaged = self._released = self._answered = False
        self._awaited = None
        self._begun_ns = self.time_ns
        self.pacer.rebase()

    def _period(self) -> list[Sample]:
        """Advance by one period, take a reading, and return the readings delivered."""
        schedule = self.schedule
        for values in self._commands.take(self.time_ns):
            self._apply(values)
        timeout = schedule.command_timeout
        if self._released and schedule.brakes and timeout > 0.0:
            if self.time_ns - self._last_command_ns > timeout * 1e9:
                self._close()
        if self._pushes:
            self._apply_pushes()
        h = schedule.period_ns * 1e-9 / schedule.substeps
        for _ in range(schedule.substeps):
            if self._drive is not None:
                self._turn_motors(self._drive)
            self.robot.step(h)
        self.time_ns += schedule.period_ns
        self.counters.periods += 1
        self.sensors.read(self.time_ns)
        return self.sensors.delivered(self.time_ns)

    def _apply_pushes(self) -> None:
        """Turn the pushes that still act into forces on the bodies at their current positions."""
        self._pushes = {frame: push for frame, push in self._pushes.items()
                        if push[1] > self.time_ns}
        wrenches = {frame: push[0] for frame, push in self._pushes.items()}
        self.robot.push(self._known_frames().push(self.robot.q, wrenches, self.robot.time)
                        if wrenches else None)

    def _known_frames(self) -> Frames:
        if self._frames is None:
            self._frames = Frames(self.robot.model)
        return self._frames

    def _apply(self, values: Array) -> None:
        if not self._released:
            self._released = True
            self.sensors.reset()    # the same noise after the first command, whenever it arrives
            self.robot.brake(self._uncommanded)
        if self.motors:
            self._drive = values
            return
        torque = np.zeros(self.robot.model.nv)
        torque[self._index] = values
        self.robot.command(torque)

    def _turn_motors(self, drive: Array) -> None:
        """Let motors apply their gains to where the joints are now."""
        position, velocity, stiffness, damping, effort = drive.T
        torque = np.zeros(self.robot.model.nv)
        torque[self._index] = (stiffness * (position - self.robot.q[self._place])
                               + damping * (velocity - self.robot.v[self._index]) + effort)
        self.robot.command(torque)

    def _newest(self, before: Sample | None, samples: list[Sample]) -> Sample | None:
        kept = samples[-1] if samples else before
        self.counters.superseded += len(samples) + (before is not None) - (kept is not None)
        return kept
