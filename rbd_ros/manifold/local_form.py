# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The local state-space form: the equation of motion in coordinates of the manifold (thesis 2.2).

The state is (y, u): y of a chart, and u = R qd, the rates of y where coordinates add up. Every
state stands for a point of the manifold, so that no step can leave it. A chart stays the same
over all stages of a step. A new one is made where the old one is poor at the start of a step, or
becomes so on the way: a step that crosses the edge of its chart would continue on another branch
of the mechanism, so that it is taken again in a chart about its start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Array
from rbd_ros.errors import SingularError
from rbd_ros.manifold.chart import Chart, choose, LIMIT, position
from rbd_ros.manifold.nullspace import by_small_solve, NullSpace, of_chart, reduced_dynamics
from rbd_ros.manifold.system import Applied, ConstrainedSystem, State

Result = TypeVar('Result')

#: Condition number of [R; K] above which a chart is given up. It says by how much more than y the
#: other coordinates move; beyond ten, a step that is short for the motion is long for the chart.
POOR = 10.0
#: A new chart is taken where it has less than this share of the old one's condition number. The
#: constraint itself has a part in both: where that is badly conditioned, a chart whose number is
#: twice that of a fresh one already makes the error of a step thirty times larger.
BETTER = 0.8


def unforced(q: Array, qd: Array) -> Array:
    """Return no joint forces."""
    return np.zeros_like(qd)


def rate_by_pseudo_inverse(DPsi: ArrayLike, f: ArrayLike) -> Array:
    """Return dy/dt = DPsi^+ f of dx/dt = f; exact where f is tangent (2.12, 2.13)."""
    return np.linalg.lstsq(np.asarray(DPsi, float), np.asarray(f, float), rcond=None)[0]


def rate_by_inverse(D1: ArrayLike, D2: ArrayLike, f: ArrayLike) -> Array:
    """Return dy/dt = -D2^-1 D1 f of coordinates R(x, y) = 0, R f for linear ones (2.14-2.16)."""
    return -np.linalg.solve(np.asarray(D2, float), np.asarray(D1, float) @ np.asarray(f, float))


class LocalForm:
    """
    A constrained system in coordinates of its manifold, with charts made as they are needed.

    :param system: the mechanism.
    :param q: a closed position, the centre of the first chart.
    :param tau: joint forces tau(q, qd) on the tree.
    :param method: of the charts, as for :func:`rbd_ros.manifold.chart.choose`.
    :param limit: condition number of [R; K] above which a chart is given up; a new one is only
        taken where its number is clearly less, so that charts do not alternate.
    """

    def __init__(
        self, system: ConstrainedSystem, q: Array, tau: Applied = unforced, *,
        method: str | Sequence[int] | Array = 'partition', limit: float = POOR,
    ) -> None:
        self.system, self.tau = system, tau
        self._method, self._limit = method, limit
        self.chart: Chart = choose(system, np.asarray(q, float), method)
        #: How often the chart was changed.
        self.changes = 0
        self._near = np.array(q, float)     # where Newton's method starts
        self._worst = 1.0                   # condition number since the step began

    def coordinates(self, state: State) -> tuple[Array, Array]:
        """Return y and u of a state on the manifold."""
        return (self.chart.R @ self.system.difference(self.chart.q_bar, state.q),
                self.chart.R @ state.qd)

    def state(self, y: Array, u: Array) -> State:
        """Return the point of the manifold at y, u (2.11)."""
        q = position(self.system, self.chart, y, self._near).q
        self._near = q
        K = self.system.jacobian(q)
        self._worst = max(self._worst, self.chart.validity(K).manifold)
        K = self.chart.reduced(K)
        zero = np.zeros(len(K))
        return State(q, by_small_solve(self.chart.R_bar, self.chart.S_bar, K, zero).G @ u)

    def null_space(self, state: State) -> NullSpace:
        """Return G and g of the chart at a state."""
        return of_chart(self.system, self.chart, *state)

    def rate(self, y: Array, u: Array) -> tuple[Array, Array]:
        """Return dy/dt and du/dt (2.16)."""
        state = self.state(y, u)
        motion = reduced_dynamics(
            self.system.mass_matrix(state.q), self.system.bias(*state), self.tau(*state),
            self.null_space(state))
        moving = self.system.chart_velocity(self.chart.q_bar, state.q, state.qd)
        return self.chart.R @ moving, motion.ydd

    def vector_rate(self, x: Array) -> Array:
        """Return the rate of (y, u) stacked, (2 p,)."""
        return np.concatenate(self.rate(x[:self.chart.p], x[self.chart.p:]))

    def step(self, state: State, h: float) -> State:
        """Return the state after h seconds by the classical Runge-Kutta rule, on the manifold."""
        return self.within_chart(state, lambda: self._runge_kutta(state, h))

    def within_chart(self, state: State, advance: Callable[[], Result]) -> Result:
        """
        Return what a step gives in a chart that is good at its start and on its way.

        :param state: at the start.
        :param advance: takes the step in the present chart; called again after a change.
        """
        self._renew(state.q, self._condition(self.chart, state.q))
        self._near, self._worst = state.q, 1.0
        try:
            found = advance()
        except SingularError:
            if not self._renew(state.q, math.inf):
                raise
        else:
            if not self._renew(state.q, self._worst):
                return found
        return advance()

    def _condition(self, chart: Chart, q: Array) -> float:
        return chart.validity(self.system.jacobian(q)).manifold

    def _runge_kutta(self, state: State, h: float) -> State:
        x = np.concatenate(self.coordinates(state))
        k1 = self.vector_rate(x)
        k2 = self.vector_rate(x + 0.5 * h * k1)
        k3 = self.vector_rate(x + 0.5 * h * k2)
        k4 = self.vector_rate(x + h * k3)
        x = x + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)
        return self.state(x[:self.chart.p], x[self.chart.p:])

    def _renew(self, q: Array, now: float) -> bool:
        """
        Take a new chart about q where the present one is poor; return whether it was taken.

        :param now: condition number of the present one, at q or on the way from there.
        """
        if now <= self._limit or np.array_equal(self.chart.q_bar, q):
            return False
        chart = choose(self.system, q, self._method, limit=LIMIT)
        better = self._condition(chart, q)
        if better >= BETTER * now:
            if now > LIMIT:
                raise SingularError(f'every chart here is poor, condition number {better:.1e}: '
                                    'the mechanism is near a singular position')
            return False
        self.chart, self._near = chart, q
        self.changes += 1
        return True
