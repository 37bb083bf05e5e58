# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Implicit integration of the local form, with its own linearisation (thesis 4.6).

Stiff mechanisms force an explicit rule to steps far below what their motion needs. An implicit
rule solves for the end of the step by Newton's method, whose matrix is 1 - theta h A: it is of
size 2 p, not 2 (nv + m) as for the equation with multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import SingularError
from rbd_ros.manifold.linearize import linear_form
from rbd_ros.manifold.local_form import LocalForm
from rbd_ros.manifold.system import DifferentiableSystem, State

#: Derivatives of tau by q and by qd at a state.
AppliedDerivatives = Callable[[Array, Array], tuple[Array, Array]]

#: Steps of Newton's method before it gives up.
STEPS = 25


class Implicit(NamedTuple):
    """
    The end of an implicit step.

    :param state: position and velocity, on the manifold.
    :param sizes: length of each step of Newton's method.
    """

    state: State
    sizes: tuple[float, ...]


def iteration_matrix(A: Array, h: float, theta: float = 1.0) -> Array:
    """Return 1 - theta h A, of which Newton's method solves (4.6)."""
    return np.eye(len(A)) - theta * h * A


def implicit_step(
    form: LocalForm, system: DifferentiableSystem, state: State, h: float, *, theta: float = 1.0,
    applied: AppliedDerivatives | None = None, tolerance: float = 1e-11,
) -> Implicit:
    """
    Return the state after h seconds by x_1 = x_0 + h ((1 - theta) f(x_0) + theta f(x_1)).

    :param form: whose joint forces are used, and whose chart, which is renewed where it is poor.
    :param theta: 1 for the rule of Euler (order 1, damps), 1/2 for trapezoids (order 2).
    :param applied: derivatives of the joint forces by q and qd, where they follow the state.
    :param tolerance: length of the last step of Newton's method.
    :raises SingularError: where it does not converge: the step is too long.
    """
    return form.within_chart(state, lambda: _in_chart(
        form, system, state, h, theta, applied, tolerance))


def _in_chart(
    form: LocalForm, system: DifferentiableSystem, state: State, h: float, theta: float,
    applied: AppliedDerivatives | None, tolerance: float,
) -> Implicit:
    """Return the end of an implicit step in the present chart."""
    x_0 = np.concatenate(form.coordinates(state))
    start = x_0 if theta == 1.0 else x_0 + (1.0 - theta) * h * form.vector_rate(x_0)
    x, sizes = x_0, []
    for _ in range(STEPS):
        at = form.state(x[:form.chart.p], x[form.chart.p:])
        A = linear_form(system, form.chart, at, form.tau(*at),
                        applied=None if applied is None else applied(*at)).A
        residual = x - start - theta * h * form.vector_rate(x)
        step = -np.linalg.solve(iteration_matrix(A, h, theta), residual)
        x = x + step
        sizes.append(float(np.linalg.norm(step)))
        if sizes[-1] <= tolerance:
            return Implicit(form.state(x[:form.chart.p], x[form.chart.p:]), tuple(sizes))
        if sizes[-1] > 2.0 * sizes[0]:      # on its way to another solution, if to any
            break
    raise SingularError(f'the implicit step of {h} s does not converge: its last correction is '
                        f'{sizes[-1]:.1e}; take a shorter one')
