# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The running step around one joint, driven by hand: a situation can be kept and put back.

The joint is a lever in gravity, with real kernels. What happens is written into the event, so that
nothing stands between the test and the step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import math
from typing import Any, NamedTuple
import zlib

import numpy as np
import numpy.typing as npt
from rbd_ros import load_urdf
from rbd_ros.compiler.records import Record
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.parameters.assembly import build_settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.parameters.values import direction
from rbd_ros.control.references.goals import read_tolerances
from rbd_ros.control.references.joint_requests import Streamed
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.robot import make_robot, Robot
from rbd_ros.control.step.state import fill_parameters

Array = npt.NDArray[np.float64]

#: N.m, weight times arm of the lever, whose centre of mass is ahead at position 0
LOAD = 2.0 * 9.81 * 0.3
PERIOD = 0.002  # s, nominal one
#: s between states: usual ones; ones that are slow, and in time; late ones; ones after a loss
SLOW, LATE, GAP = 0.012, 0.03, 0.06
CAUSES = {cause: k for k, cause in enumerate(Cause)}

URDF = """<robot name="lever"><link name="base"/><link name="bar"><inertial><origin xyz="0.3 0 0"/>
<mass value="2"/><inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="hinge" type="revolute"><parent link="base"/><child link="bar"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="40" velocity="3"/></joint></robot>"""

#: parameters that let each sequence last for some states only
VALUES = {
    'task.axes': ['ry'], 'nominal_rate': 1.0 / PERIOD, 'minimum_rate': 0.0, 'probe_count': 2,
    'start.time': 0.0, 'start.watch_time': 0.0, 'ramp_time': 0.03, 'brake_time': 0.03,
    'hold_time': 0.02, 'release_time': 0.02, 'stop_time': 0.3, 'release_repeats': 3,
    'state_timeout': 0.04, 'mode': 'computed_torque', 'switch_time': 0.05,
    'payload.ramp_time': 0.01, 'reference.timeout': 0.1, 'contact.torque': [2.0],
    'contact.retract_distance': 0.01, 'contact.retract_time': 0.08, 'pause_limit': 1.0,
    'release_torque': 'gravity', 'driver_adds': 'none', 'tracking_limits': [1.0]}


@cache
def robot() -> Robot:
    """Return the lever."""
    return make_robot(load_urdf(URDF, on_warning=lambda _: None))


@cache
def kernels() -> dict[str, Any]:
    """Return its kernels."""
    laws = LawKernels(robot(), driver_adds='none', driver_knows_payload=False,
                      axes=[direction('ry')])
    return {name: laws.compile(name) for name in laws.names}


def places(record: Record) -> dict[str, slice]:
    """Return where in its memory the numbers of each field of a record are."""
    found, at = {}, 0
    for path, _, view in record.walk():  # in the order of memory
        found[path] = slice(at, at + view.size)
        at += view.size
    return found


class Kept(NamedTuple):
    """A situation."""

    x: bytes
    ring: bytes
    told: tuple[Any, ...]


class Lever:
    """
    The step, its clocks, and what its driver sends.

    :param backend: of the step.
    :param simulated: whether the control clock is that of a simulator.
    :param values: parameters that differ.
    """

    def __init__(self, backend: str = 'auto', *, simulated: bool = False, **values: Any) -> None:
        self.simulated, self.values = simulated, defaults() | VALUES | values
        settings = build_settings(robot(), self.values, simulated=simulated)
        self.controller = Controller(settings, kernels(), lambda _: None, backend)
        c = self.controller
        self.x, self.u, self.p, self.y, self.ring = c.x, c.u, c.p, c.y, c.ring
        self.settings, self.run = settings, c.run
        self.p.states.ages.clock_offset = 0.0  # its clock is that of the stamps: ages are known
        self.chosen: tuple[tuple[str, Any], ...] = ()  # parameters that have been changed
        self._parameters = {self.chosen: self.p.memory.copy()}
        #: called after each step with the memory of the state before it
        self.watch: Callable[[Array], object] = lambda before: None
        self._before, self._here = self.x.memory.copy(), (Kept(b'', b'', ()), None, None)
        at = places(self.u)
        self.at = {name: at[name].start for name in at}
        self._command, self._profile = self.x.command.supervisor, self.x.references.joint.profile
        self._tolerances = read_tolerances(robot().joints, settings.tolerances(), (), (), 0.1)
        self.now = self.steady = 1000.0
        self.q, self.stamp, self.goals = 0.5, 0.0, 0
        self.since = self.heard = self.excess = -math.inf  # what its driver knows of its states

    # -- a situation --------------------------------------------------------------------------

    @property
    def _told(self) -> tuple[Any, ...]:
        return (self.now, self.steady, self.q, self.stamp, self.goals, self.since, self.heard,
                self.excess, self.chosen)

    def keep(self) -> Kept:
        """Return the whole situation."""
        return Kept(zlib.compress(self.x.memory.tobytes(), 1),
                    zlib.compress(self.ring.memory.tobytes(), 1), self._told)

    def put_back(self, kept: Kept) -> None:
        """Go back to a situation."""
        if self._here[0] is not kept:
            self._here = kept, *[np.frombuffer(zlib.decompress(each)) for each in kept[:2]]
        self.x.memory[:], self.ring.memory[:] = self._here[1:]
        (self.now, self.steady, self.q, self.stamp, self.goals, self.since, self.heard,
         self.excess, chosen) = kept.told
        self._choose(chosen)
        self.u.memory[:] = 0.0

    def _put(self, **numbers: float) -> None:
        """Write numbers into the event."""
        for name, number in numbers.items():
            self.u.memory[self.at[name]] = number

    # -- what happens -------------------------------------------------------------------------

    def step(self, kind: int, time: float = 0.0005, clock: float | None = None) -> None:
        """Let one thing happen after a time; the control clock may go otherwise."""
        self.steady += time
        self.now += time if clock is None or not self.simulated else clock
        self._put(kind=kind, now=self.now, steady=self.steady)
        self._before[:] = self.x.memory
        self.run()
        self.watch(self._before)

    def state(self, time: float = PERIOD, *, qd: float = 0.0, q: float | None = None,
              excess: float = 0.0, stands: bool = False, defect: int = 0) -> None:
        """Let a state come after a time; its stamp may be older than usual, or the last one."""
        self.q += qd * time
        read = self.q if q is None else q
        stamp = self.stamp if stands else self.now + time - 0.001 - excess
        self._put(source=0.0, renewed=0.0, defect=defect, velocities=1.0, efforts=1.0, present=1.0,
                  q=read, qd=qd, effort=-LOAD * math.cos(self.q), stamp_s=math.floor(stamp),
                  stamp_ns=round(1e9 * (stamp - math.floor(stamp))))
        timeout = self.values['state_timeout']
        if self.now + time < self.heard:  # the clock went back: all begins anew
            self.stamp, self.excess, self.since = -math.inf, 0.0, math.inf
        good = (not defect and math.isfinite(read + qd) and stamp > self.stamp
                and excess <= timeout)  # others count as not received
        limit, now = 0.5 * (timeout - PERIOD), self.now + time
        late = now - self.heard + self.excess > limit + PERIOD
        if good and (excess > limit or late and self._command.state == 1.0 and self.since < now):
            self.since = math.inf  # the next one begins anew
        elif good and (late or math.isinf(self.since)):
            self.since = now  # whatever came before
        self.step(Kind.STATE, time)
        if good:
            self.heard, self.excess, self.stamp = now, excess, stamp

    def stop(self, cause: Cause, *, doubted: bool = False) -> None:
        """Stop for a cause from outside."""
        if doubted:
            self._command.doubted = 1.0
        self._put(cause=CAUSES[cause])
        self.step(Kind.FAULT)

    def touch(self, *, doubted: bool = False) -> None:
        """Let a contact be found, after a new state has been announced, as a state does."""
        self.step(Kind.ADVANCE)
        self.stop(Cause.CONTACT, doubted=doubted)

    def ask(self, kind: int, *numbers: float) -> None:
        """Ask for something that has numbers."""
        at = self.at['numbers']
        self.u.memory[at:at + 16] = (*numbers, *[0.0] * (16 - len(numbers)))
        self.step(kind)

    def activate(self) -> None:
        """Activate; what its driver has sent before does not count."""
        self.step(Kind.ACTIVATE)
        if not self.y.answer:
            self.since = math.inf

    def reset(self) -> None:
        """Reset."""
        self.step(Kind.RESET)
        if not self.y.answer and self._command.state == 1.0:
            self.since = math.inf

    def press(self, pressed: bool) -> None:
        """Hold the dead-man switch, or let it go."""
        self._put(pressed=pressed)
        self.step(Kind.DEAD_MAN)

    def change(self, **values: Any) -> None:
        """Change parameters, from the first ones; none: take those again."""
        self._choose(tuple(sorted(values.items())))
        self.step(Kind.PARAMETERS)

    def _choose(self, chosen: tuple[tuple[str, Any], ...]) -> None:
        """Fill in parameters; those of the joint are single numbers."""
        if chosen not in self._parameters:
            values = {name: [value] if isinstance(self.values[name], list) else value
                      for name, value in chosen}
            settings = build_settings(robot(), self.values | values, simulated=self.simulated)
            fill_parameters(self.p.plain(), settings.given.plain())
            self._parameters[chosen] = self.p.memory.copy()
        self.chosen, self.p.memory[:] = chosen, self._parameters[chosen]

    def follow(self, goal: bool) -> None:
        """Ask for a trajectory that begins at the present reference, as a goal or not."""
        now, q = self.now + 0.0005, float(self._profile.state[0, 0])
        knots = Knots(np.array([0.01, 0.05]), np.array([[q + 0.001], [q + 0.002]]),
                      np.zeros((2, 1)), None)
        self.goals += goal
        self.controller.joint_intake.follow(
            self.u, now, knots, now, self.goals if goal else 0, self._tolerances if goal else None)
        self.step(Kind.PIECES)

    def stream(self, speed: float) -> None:
        """Ask for a velocity."""
        self.controller.joint_intake.stream(self.u, self.now + 0.0005, [speed], Streamed(1))
        self.step(Kind.STREAM)

    def set_point(self, q: float) -> None:
        """Ask for a position."""
        self._put(joints=q, numbers=0.0)
        self.step(Kind.SET_POINT)

    def carry(self) -> None:
        """Ask for what carries the robot before the first torque."""
        self._put(q=self.q)
        self.step(Kind.CARRY)
