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
A fake robot and clock around the supervisor, the torque and the joint states of the step.

The laws are formulas of two joints; the procedures are called in the order of the controller.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import procedure
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Event, Joints, Kind, NOBODY, NONE, Result, Structure
from rbd_ros.control.joint_states.arrival import (
    Arrival, arrive, is_ready, restart_states, StateLimits, States)
from rbd_ros.control.joint_states.diagnosis import diagnose
from rbd_ros.control.joint_states.intake import Intake
from rbd_ros.control.joint_states.sources import SOURCES
from rbd_ros.control.supervisor.answers import fill_timing
from rbd_ros.control.supervisor.due import due_now, is_finished, is_late, is_live
from rbd_ros.control.supervisor.latch import Latched, latched
from rbd_ros.control.supervisor.states import Due, State, StateCode, Timing
from rbd_ros.control.supervisor.supervisor import (
    activate, advance, computed, Diagnosis, fault, fresh, reset)
from rbd_ros.control.torque.torque import (
    after_timer, begin_at, brake_torque, changed, gravity_known, law_not_finite, live_torque, need,
    no_brake, send, turn_blind, wants_state)
from rbd_ros.control.torque.torque_records import Command, CommandLimits, Computed, Need

Array = npt.NDArray[np.float64]

NAMES = ('a', 'b')
PERIOD = 0.001
SIZES = {'n': 2, 'm': 2, 's': SOURCES}

#: kinds of events of this rig alone
SWITCH, BEGIN_AT = 100, 101


class Plant(Record):
    """Two joints with the gravity torque 10 q; the brake has 2 N.m s/rad."""

    driver: float = field('', '', 'share of gravity that the driver adds by itself')
    bad_law: float = field('', 'N.m', 'what a law adds that fails: NaN')
    bad_gravity: float = field('', 'N.m', 'what gravity has in addition')
    bad_velocity: float = field('', 'rad/s', 'what the velocity has in addition')
    reports: float = field('', '', 'cause that computing reports; -1: none', -1.0)
    arrival: float = field('', '', 'what the last message brought, see Arrival')
    entered: float = field('', '', 'number of states that were announced')
    states: Vector = field('16', '', 'those that were announced')
    law: Vector = field('n', 'N.m', 'what the law adds to gravity')
    load: Vector = field('n', 'N.m', 'that the robot showed')
    first: Vector = field('n', 'N.m', 'torque at the start')
    qd: Vector = field('n', 'rad/s', 'velocities')


def announce(x: Command, p: CommandLimits, r: Plant) -> None:
    """Write down a state that the supervisor has entered."""
    if changed(x, p):
        r.states[int(r.entered)] = x.torque.state
        r.entered += 1.0


def compute(x: Command, p: CommandLimits, c: Computed, r: Plant, joints: Joints, what: int,
            steady: float) -> None:
    """Evaluate the law, the hold or the brake."""
    for j in range(len(c.law)):
        r.qd[j] = joints.qd[j] + r.bad_velocity
        c.gravity[j] = 10.0 * joints.q[j] + r.bad_gravity
        c.driver[j] = r.driver * c.gravity[j]
        if what == Need.STOP:
            c.brake[j] = c.gravity[j] - 2.0 * r.qd[j] - r.load[j]
        else:
            c.law[j] = c.gravity[j] + (r.law[j] if what == Need.LAW else 0.0)
    if what == Need.LAW:
        c.law[0] += r.bad_law
    if r.reports >= 0.0:
        fault(x.supervisor, p.supervisor, steady, int(r.reports), 0, NOBODY, 0.0, 0.0, 0.0)


def find_reason(x: Command, d: Diagnosis, s: States, joints: Joints, structure: Structure,
                limits: StateLimits, now: float) -> None:
    """Find out why the state is too old, where the supervisor is about to say so."""
    if is_late(x.supervisor, now):
        diagnose(d, s, joints, structure, limits.ages, now)


def run_cycle(x: Command, p: CommandLimits, c: Computed, d: Diagnosis, r: Plant, joints: Joints,
              u: Event, y: Result) -> None:
    """Run one cycle on a proven fresh state."""
    fresh(x.supervisor, p.supervisor, d, u.now, u.steady, joints.expiry,
          is_ready(joints, u.now))
    announce(x, p, r)
    due = advance(x.supervisor, p.supervisor, d, u.now, u.steady)
    announce(x, p, r)
    if not wants_state(x, p, c, r.load, y, due, u.now, u.steady):
        return
    compute(x, p, c, r, joints, need(due), u.steady)
    if not gravity_known(x, p, c, u.steady):
        announce(x, p, r)
        turn_blind(x, p, c, d, r.load, y, u.now, u.steady)
        return
    computed(x.supervisor)
    if not is_live(x.supervisor):  # the computation itself reported that it cannot be trusted
        turn_blind(x, p, c, d, r.load, y, u.now, u.steady)
        return
    if not live_torque(x, p, c, r.load, r.qd, u.now):
        law_not_finite(x, p, u.steady)
        announce(x, p, r)
        x.torque.fade.cancel()
        compute(x, p, c, r, joints, Need.STOP, u.steady)
        if not brake_torque(x, c, r.load, r.qd):
            no_brake(x, p, u.steady)
            turn_blind(x, p, c, d, r.load, y, u.now, u.steady)
            return
    send(x, p, y, u.now, u.steady, live=True)


def run_event(x: Command, p: CommandLimits, c: Computed, d: Diagnosis, r: Plant, s: States,
              joints: Joints, structure: Structure, limits: StateLimits, u: Event,
              y: Result) -> None:
    """Take one event."""
    y.send, y.answer, r.entered = 0.0, 0.0, 0.0
    if u.kind == Kind.STATE:
        r.arrival = arrive(s, joints, u, structure, limits, y)
        find_reason(x, d, s, joints, structure, limits, u.now)
        if r.arrival == Arrival.STATE:
            run_cycle(x, p, c, d, r, joints, u, y)
    elif u.kind == Kind.TIMER:
        announce(x, p, r)
        find_reason(x, d, s, joints, structure, limits, u.now)
        due = advance(x.supervisor, p.supervisor, d, u.now, u.steady)
        announce(x, p, r)
        after_timer(x, p, c, r.load, y, due, u.now, u.steady)
    elif u.kind == Kind.ACTIVATE:
        if activate(x.supervisor, p.supervisor, y, u.now, u.steady):
            restart_states(s, joints, limits)
    elif u.kind == Kind.RESET:
        if reset(x.supervisor, p.supervisor, y, u.now, u.steady) and (
                x.supervisor.state == StateCode.PROBING):
            restart_states(s, joints, limits)
    elif u.kind == Kind.FAULT:
        fault(x.supervisor, p.supervisor, u.steady, int(u.cause), 0, NOBODY, 0.0, 0.0, 0.0)
    elif u.kind == SWITCH:
        x.torque.fade.arm(p.torque.switch_time)
    elif u.kind == BEGIN_AT:
        begin_at(x.torque, True, r.first)


class Rig:
    """
    Two joints whose gravity torque is 10 q, a law that adds 5, and a fake clock.

    :param timing: times and choices of the supervisor.
    :param gravity: whether the last gravity torque stays after release.
    :param driver: share of gravity that the driver adds by itself.
    :param limit: largest torque, N.m.
    :param rate: largest change, N.m/s.
    :param period: nominal one of states, s.
    """

    def __init__(self, timing: Timing | None = None, *, gravity: bool = False,
                 driver: float = 0.0, limit: float = 20.0, rate: float = 200.0,
                 period: float = PERIOD) -> None:
        self.time = 100.0
        self.sim_offset = 0.0  # control clock minus steady clock
        self.timing = timing or Timing()
        self.x, self.p = Command(SIZES), CommandLimits(SIZES)
        self.plant, self.u, self.y = Plant(SIZES), Event(SIZES), Result(SIZES)
        self.computed, self.joints = Computed(SIZES), Joints(SIZES)
        states, structure, limits = States(SIZES), Structure(SIZES), StateLimits(SIZES)
        self.intake = Intake(NAMES, NAMES)
        structure.index[:], structure.controlled[:], structure.measured[:] = (0, 1), 1.0, 1.0
        limits.ages.state_timeout = limits.ages.prescribed_timeout = self.timing.state_timeout
        limits.ages.period, limits.ages.probes = 0.5 * period, 5
        limits.motion.message_time = period
        for bound in (limits.motion.speed, limits.motion.tolerance, limits.motion.mismatch):
            bound[:] = NONE
        fill_timing(self.p.supervisor, self.timing)
        torque = self.p.torque
        torque.switch_time, torque.keeps_gravity = 0.5, gravity
        torque.limits.period, torque.limits.limit[:], torque.limits.rate[:] = period, limit, rate
        self.plant.driver, self.plant.law[:] = driver, 5.0
        self._step = procedure.bind(
            run_event, self.x, self.p, self.computed, Diagnosis(SIZES), self.plant, states,
            self.joints, structure, limits, self.u, self.y)
        self.log: list[tuple[float, tuple[float, ...]]] = []
        self.states: list[tuple[float, str]] = []

    # -- what it is like ----------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Control time."""
        return round(self.time + self.sim_offset, 9)

    @property
    def state(self) -> State:
        """State of the supervisor."""
        return tuple(State)[int(self.x.supervisor.state)]

    @property
    def due(self) -> Due:
        """Kind of torque that is due."""
        return Due(due_now(self.x.supervisor))

    @property
    def faults(self) -> list[Latched]:
        """Latched faults."""
        return latched(self.x.supervisor.faults)

    @property
    def finished(self) -> bool:
        """Whether nothing more will be sent without a request."""
        return is_finished(self.x.supervisor)

    @property
    def wanted(self) -> Array:
        """Total torque before the limits."""
        return self.x.torque.wanted

    @property
    def last(self) -> tuple[float, ...]:
        """Torque published last."""
        return self.log[-1][1]

    def fail(self, what: str) -> None:
        """Let the 'law' or 'gravity' be no number from now on; '': neither."""
        self.plant.bad_law = math.nan if what == 'law' else 0.0
        self.plant.bad_gravity = math.nan if what == 'gravity' else 0.0

    # -- what happens -------------------------------------------------------------------------

    def event(self, kind: int) -> bool:
        """Let one thing happen now; return whether a torque was sent."""
        self.u.kind, self.u.now, self.u.steady = kind, self.now, self.time
        self._step()
        self.states += [(self.time, tuple(State)[int(state)].value)
                        for state in self.plant.states[:int(self.plant.entered)]]
        if self.y.send:
            self.publish(self.y.torque)
        return bool(self.y.send)

    def publish(self, torque: Array) -> None:
        """Write down what is sent."""
        self.log.append((self.time, tuple(torque.tolist())))

    def activate(self) -> bool:
        """Activate; return whether that is allowed."""
        self.event(Kind.ACTIVATE)
        return not self.y.answer

    def reset(self) -> bool:
        """Reset; return whether that is allowed."""
        self.event(Kind.RESET)
        return not self.y.answer

    def stop(self, cause: Cause) -> None:
        """Stop for a cause."""
        self.u.cause = tuple(Cause).index(cause)
        self.event(Kind.FAULT)

    def begin_at(self, torque: Sequence[float]) -> None:
        """Say what acts before the first torque."""
        self.plant.first[:] = torque
        self.event(BEGIN_AT)

    def message(self, q: Sequence[float] = (1.0, -0.5), qd: Sequence[float] = (0.0, 0.0),
                stamp: float | None = None) -> Arrival:
        """Receive one message now."""
        nanoseconds = round(1e9 * (self.now + 1e4 if stamp is None else stamp))
        self.u.now, self.u.steady = self.now, self.time
        self.intake.read(self.u, NAMES, q, qd, (), divmod(nanoseconds, 1_000_000_000))
        self.event(Kind.STATE)
        return Arrival(int(self.plant.arrival))

    def run(self, duration: float, *, states: bool = True, clock: bool = True,
            **fields: Sequence[float] | float) -> None:
        """Let time pass in periods, with or without states and simulated clock."""
        for _ in range(round(duration / PERIOD)):
            self.time = round(self.time + PERIOD, 9)
            if not clock:
                self.sim_offset = round(self.sim_offset - PERIOD, 9)
            if states:
                self.message(**fields)
            self.event(Kind.TIMER)

    def start(self) -> None:
        """Activate and reach running."""
        self.activate()
        self.run(self.timing.ramp_time + 0.1)
        self.log.clear()
        self.states.clear()
