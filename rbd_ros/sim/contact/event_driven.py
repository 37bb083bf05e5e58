# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Event-driven simulation of rigid contact (RBDA 11.5, Table 11.1).

Between events the active contacts are equality constraints. A step is cut at the earliest event:
a contact gained, a contact lost because a point leaves its face, or a contact force that turns
negative. Impacts below a given speed do not bounce, and the number of events in a step is bounded:
a ball that bounces ever faster comes to rest instead of halting the simulation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.contact import impact, rigid
from rbd_ros.algorithms.contact.contact_sets import contact_sets
from rbd_ros.compiler import Array
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.sim.contact.points import ContactPoints, Gap
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.dense_output import DenseStep, STEPS

Torque = Callable[[Array, Array], ArrayLike]


#: Rules for contacts that collide at the same time.
_IMPACTS: dict[str, Callable[..., impact.JointImpact]] = {
    'sequential': impact.sequential_impact, 'simultaneous': impact.joint_impact}


class Rules(NamedTuple):
    """
    How events are handled.

    :param restitution: of every impact, 0 to 1.
    :param rest_speed: approach speed below which there is no bounce, m/s.
    :param touch: distance below which surfaces count as touching, m.
    :param rest: relative speed along the normal below which they stay together, m/s.
    :param events: events in one step after which impacts no longer bounce; after ten times as
        many the simulation stops with an error.
    :param stabilisation: rate at which the drift of active contacts is corrected, 1/s.
    :param method: ``'heun'`` or ``'euler'``.
    :param impacts: what happens where several contacts collide at the same time: ``'sequential'``,
        one after the other, as in a cradle of balls; or ``'simultaneous'``, one complementarity
        problem for all, which does not depend on an order.
    """

    restitution: float = 0.0
    rest_speed: float = 1e-3
    touch: float = 1e-8
    rest: float = 1e-7
    events: int = 20
    stabilisation: float = 20.0
    method: str = 'heun'
    impacts: str = 'simultaneous'


class EventSimulation:
    """
    A robot among obstacles, simulated from event to event.

    :param system: the robot.
    :param points: what may touch what.
    :param rules: how events are handled.
    :param torque: joint forces as a function of q and qd; zero if not given.
    """

    def __init__(
        self, system: ContactSystem, points: ContactPoints, rules: Rules | None = None,
        torque: Torque | None = None,
    ) -> None:
        self.system, self.points, self.rules = system, points, rules or Rules()
        if self.rules.method not in STEPS:
            raise SettingError(f'method is "{self.rules.method}"; it must be heun or euler')
        if self.rules.impacts not in _IMPACTS:
            raise SettingError(f'impacts is "{self.rules.impacts}"; it must be sequential or '
                               'simultaneous')
        if system.model.time_dependent:
            raise SettingError(f'"{system.model.name}" has joints that move with time, which the '
                               'event-driven simulation does not follow: use SimulatedRobot')
        self._torque = torque
        self._space = Coordinates(system.model)
        self._nq = system.model.nq
        self.time = 0.0
        #: Number of events of each kind: impact, gain, loss.
        self.counts: Counter[str] = Counter()
        self.active: tuple[int, ...] = ()
        self.current: tuple[int, ...] = ()

    def place(self, q: ArrayLike, qd: ArrayLike | None = None) -> None:
        """
        Put the robot into a state.

        :raises SettingError: if the robot overlaps an obstacle there.
        """
        v = np.zeros(self.system.model.nv) if qd is None else np.array(qd, float)
        self.y = np.concatenate([np.array(q, float), v])
        for pair, gap in self._gaps(self.y).items():
            if gap.distance < -10.0 * self.rules.touch:
                i, _ = self.points.pairs[pair]
                name = self.system.model.body_names[self.points.bodies[i]]
                raise SettingError(f'body "{name}" starts {-gap.distance:.3g} m inside an '
                                   'obstacle; start it on the surface or above')
        self._rebuild(self.rules.restitution)

    @property
    def q(self) -> Array:
        """Return the position."""
        return self.y[:self._nq].copy()

    @property
    def qd(self) -> Array:
        """Return the velocity."""
        return self.y[self._nq:].copy()

    def step(self, h: float) -> None:
        """Advance by ``h`` seconds, through all events on the way."""
        if not 0.0 < h < math.inf:
            raise SettingError(f'the step is {h} s; it must be positive and finite')
        left, events = h, 0
        while left > 1e-12 * h:
            step = STEPS[self.rules.method](self._slope, self.y, left)           # 2: integrate
            share = self._earliest(step)                                         # 3, 4: find
            self.y = self._normalised(step.at(min(share, 1.0)))
            self.time += left * min(share, 1.0)
            if share >= 1.0:
                return
            left *= 1.0 - share
            events += 1
            if events > 10 * self.rules.events:
                raise RbdError(f'{events} contact events within {h:g} s at t = {self.time:.6g} s: '
                               'use soft contact, a larger rest_speed, or a shorter step')
            bouncing = events <= self.rules.events
            self._rebuild(self.rules.restitution if bouncing else 0.0)           # 5, 6, 7

    # --- inside ---------------------------------------------------------------------------

    def _normalised(self, y: Array) -> Array:
        q = self._space.normalise(self.y[:self._nq].tolist(), y[:self._nq].tolist())
        return np.concatenate([q, y[self._nq:]])

    def _gaps(self, y: Array, which: Sequence[int] | None = None) -> dict[int, Gap]:
        motions = self.system.motions(y[:self._nq], y[self._nq:])
        pairs = range(len(self.points.pairs)) if which is None else which
        return {pair: self.points.gap(pair, motions) for pair in pairs}

    def _tau(self, y: Array) -> Array:
        if self._torque is None:
            return np.zeros(self.system.model.nv)
        return np.asarray(self._torque(y[:self._nq], y[self._nq:]), float)

    def _forces(self, y: Array) -> tuple[Array, Array]:
        """Return qdd and the forces of the active contacts, which are equality constraints."""
        gaps = self._gaps(y, self.active)
        contacts = [gap.contact for gap in gaps.values()]
        q, v = y[:self._nq], y[self._nq:]
        problem = self.system.problem(q, v, self._tau(y), contacts)
        if not contacts:
            return problem.free, np.empty(0)
        J = self.system.motions(q, v).J
        speed = rigid.generalized_normals(contacts, J).T @ v
        phi = np.array([gap.distance for gap in gaps.values()])
        rate = self.rules.stabilisation
        force = np.linalg.solve(problem.M, -(problem.d + 2.0 * rate * speed + rate * rate * phi))
        return problem.accelerations(force), force

    def _slope(self, y: Array) -> Array:
        y = self._normalised(y)
        q, v = y[:self._nq].tolist(), y[self._nq:]
        return np.concatenate([self._space.q_dot(q, v.tolist()), self._forces(y)[0]])

    def _happened(self, y: Array) -> bool:
        """Return whether a contact has been gained or lost, or its force has turned negative."""
        for pair, gap in self._gaps(y).items():
            if pair in self.current:
                if gap.feature != self._features[pair]:
                    return True                         # a geometric loss
            elif gap.distance < -self.rules.touch:
                return True                             # a gain
        force = self._forces(y)[1]
        return bool((force < -1e-9 * max(1.0, self._scale)).any())

    def _earliest(self, step: DenseStep) -> float:
        """Return the fraction of a step at which the first event happens; above 1 for none."""
        if not self._happened(self._normalised(step.at(1.0))):
            return 2.0
        low, high = 0.0, 1.0
        for _ in range(45):
            middle = 0.5 * (low + high)
            if self._happened(self._normalised(step.at(middle))):
                high = middle
            else:
                low = middle
        return high

    def _rebuild(self, restitution: float) -> None:
        """Apply impulses where bodies collide, then find the contacts that persist (11.5)."""
        rules, nq = self.rules, self._nq
        gaps = self._gaps(self.y)
        near = [pair for pair, gap in gaps.items() if gap.distance <= 10.0 * rules.touch]
        contacts = [gaps[pair].contact for pair in near]
        q = self.y[:nq]
        motions = self.system.motions(q, self.y[nq:])
        T, H = rigid.generalized_normals(contacts, motions.J), motions.H.copy()
        speed = T.T @ self.y[nq:]
        if (speed < -rules.rest).any():
            found = _IMPACTS[rules.impacts](H, T, self.y[nq:], restitution,
                                            rest_speed=rules.rest_speed)
            self.y = np.concatenate([q, found.qd])
            self.counts['impact'] += int((found.impulse > 0.0).sum())
            speed = T.T @ found.qd
        staying = [k for k, s in enumerate(speed) if abs(s) <= max(rules.rest, 1e-9)]
        before = set(self.current)
        chosen = [contacts[k] for k in staying]
        self.current, self.active, self._scale = (), (), 1.0
        if chosen:
            gaps = self._gaps(self.y, [near[k] for k in staying])
            chosen = [gap.contact for gap in gaps.values()]
            solution = self.system.problem(
                q, self.y[nq:], self._tau(self.y), chosen).solve()
            sets = contact_sets(T[:, staying], solution.force, solution.separation)
            self.current = tuple(near[staying[k]] for k in sets.current)
            self.active = tuple(near[staying[k]] for k in sets.active)
            self._scale = float(np.abs(solution.force).max(initial=0.0))
        self._features = {pair: gaps[pair].feature for pair in self.current}
        self.counts['gain'] += len(set(self.current) - before)
        self.counts['loss'] += len(before - set(self.current))
