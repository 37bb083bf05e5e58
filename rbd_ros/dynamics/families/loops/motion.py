# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Motion of robots with closed loops (RBDA 8).

H and C are those of the spanning tree, over the independent coordinates. ``forward_dynamics``
takes the compiled solution for independent constraints, and goes on to the rank-revealing one of
:func:`rbd_ros.algorithms.loops.motion.solve` where that is not regular: near a singularity, or
where the mechanism has more or fewer freedoms than usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.loops import loop_joints
from rbd_ros.algorithms.loops.motion import METHODS, Regular, REGULAR_PIVOT, solve_regular
from rbd_ros.algorithms.other_forms import hinged
from rbd_ros.algorithms.other_forms.planar import is_planar
from rbd_ros.compiler import absolute, less, Matrix, maximum, Scalar, Values, where
from rbd_ros.compiler.arguments import vector
from rbd_ros.dynamics.families.joint_space import bias_3d, bias_planar, mass_matrix_planar
from rbd_ros.dynamics.families.loops.analysis import LARGE, LoopDynamics, ranked, whole_system
from rbd_ros.dynamics.families.loops.constraints import doubt_of, on_tree
from rbd_ros.dynamics.families.tree import GRAVITY, inertia, Results, sparsity
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.quantity import Choice, OnLoops, Quantity, Traits
from rbd_ros.dynamics.state import State
from rbd_ros.errors import RbdError
from rbd_ros.model.model import Model


class Solved(NamedTuple):
    """Motion under loops, with the constraints that it obeys."""

    motion: Regular
    K: Matrix
    k: list[Scalar]


# --- rules ----------------------------------------------------------------------------------


def solved(s: State, H: Sequence[Values], C: Values) -> Solved:
    """Return the motion of a state with H and C of its tree, and the constraints it obeys."""
    two_alpha, beta_squared = s.inputs['stabilization']
    found = loop_joints.constraints(
        s.model, s.q, s.qd, s.g, s.conditions.t, (two_alpha, beta_squared))
    K = [list(s.reduce(row)) for row in found.K]
    force = dense.subtract(s.tau, C)
    return Solved(solve_regular(H, sparsity(s.model), force, K, found.k,
                                s.surroundings.nominal()), K, found.k)


def _spatial(s: State) -> Solved:
    tree = on_tree(s)
    return solved(s, inertia(tree), bias_3d(tree)['tau'])


def _planar(s: State) -> Solved:
    tree = on_tree(s)
    return solved(s, mass_matrix_planar(tree)['H'], bias_planar(tree)['tau'])


def _sure(found: Solved) -> Results:
    """Return qdd, not a number where the rows that count are not those of the regular case."""
    doubt = doubt_of(regular(found.motion))
    return {'qdd': [x + doubt for x in found.motion.qdd]}


def regular(motion: Regular) -> Scalar:
    """Return 1 where the rows that count are those of the regular case, else 0."""
    return where(less(REGULAR_PIVOT, motion.pivot), less(motion.excess, REGULAR_PIVOT), 0.0)


def forward_dynamics(s: State) -> Results:
    """Return qdd under loops; NaN near a singularity (RBDA 8.5, method 2)."""
    return _sure(_spatial(s))


def forward_dynamics_planar(s: State) -> Results:
    """Return qdd under loops through planar vectors; NaN near a singularity."""
    return _sure(_planar(s))


def forward_dynamics_hinged(s: State) -> Results:
    """Return qdd of a planar mechanism of hinges, all bodies at once; NaN near a singularity."""
    two_alpha, beta_squared = s.inputs['stabilization']
    found = hinged.forward_dynamics(
        s.model, s.q, s.qd, s.tau, s.conditions, (two_alpha, beta_squared))
    doubt = doubt_of(less(REGULAR_PIVOT, found.pivot))
    return {'qdd': [x + doubt for x in found.qdd]}


def suits_tree(model: Model) -> bool:
    """Return whether a robot is to be solved through its tree: its H is not too large."""
    return model.nv <= LARGE or not hinged.is_hinged(model)


def suits_planar_tree(model: Model) -> bool:
    """Return whether the same holds, and the robot moves in a plane."""
    return is_planar(model) and suits_tree(model)


def _details(s: State, found: Solved) -> Results:
    """Return all that is found on the way to qdd."""
    motion = found.motion
    residual: Scalar = 0.0
    for row, right in zip(found.K, found.k, strict=True):
        residual = maximum(residual, absolute(dense.dot(row, motion.qdd) - right))
    forces = loop_joints.joint_forces(s.model, s.q, motion.multipliers, s.conditions.t)
    return {'qdd': motion.qdd, 'multipliers': motion.multipliers,
            'forces': [f.to_list() for f in forces], 'pivot': [motion.pivot],
            'excess': [motion.excess], 'residual': [residual]}


def loop_dynamics(s: State) -> Results:
    """Return qdd, lambda, forces of loop joints, pivots and residual."""
    return _details(s, _spatial(s))


def loop_dynamics_planar(s: State) -> Results:
    """Return the same through planar vectors."""
    return _details(s, _planar(s))


# --- row of the table -----------------------------------------------------------------------

LOOP_DYNAMICS = Quantity(
    'loop_dynamics', ('q', 'qd', 'tau'), environment=GRAVITY, rules={},
    choice=Choice(where={'sparse_planar': is_planar}),
    loops=OnLoops({'sparse': loop_dynamics, 'sparse_planar': loop_dynamics_planar},
                  environment=('stabilization',), regular=True),
    traits=Traits(solves='joints'),
    meaning='qdd, lambda and forces of loop joints, smallest pivot, residual (RBDA 8.5)')

# --- methods --------------------------------------------------------------------------------


class LoopMotionMethods(Family):
    """Motion under loops; for a robot without any, each method raises a ModelError."""

    def set_stabilization(self, period: float | None) -> None:
        """
        Let loop errors die out in ``forward_dynamics`` by Baumgarte's method (RBDA 8.3).

        An error e then obeys e'' + 2 a e' + a^2 e = 0 with a = 1 / period.

        :param period: time constant T_stab, s, about as long as what matters in the motion: 0.1
            for an industrial robot. Shorter ones make the equations stiff, not more accurate.
            None for no stabilisation, which is the default.
        """
        if period is not None and not 0.0 < period < float('inf'):
            raise RbdError(f'period is {period}; it must be a positive number of seconds, or None')
        rate = 0.0 if period is None else 1.0 / period
        stabilization = self._store.environment.inputs['stabilization']
        stabilization[:] = 2.0 * rate, rate * rate                                         # 8.22

    def loop_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, *,
        method: str = 'auto', rank: int | None = None,
    ) -> LoopDynamics:
        """
        Return accelerations, forces in the loop joints, and how they were found.

        :param tau: forces at the joints of the spanning tree, (nv,); see ``loop_drive``.
        :param method: ``'auto'`` for what ``forward_dynamics`` does; ``'direct'``,
            ``'multipliers'`` and ``'projection'`` for methods 1, 2 and 3 of RBDA 8.5 with a
            decision on the rank; ``'whole_system'`` for all bodies and joints at once (8.64).
        :param rank: that of the step before, near which the decision is kept.
        """
        if method not in ('auto', 'whole_system', *METHODS):
            raise RbdError(f'no method "{method}" for loops (known: auto, {", ".join(METHODS)}, '
                           'whole_system)')
        loads = () if f_ext is None else (f_ext,)
        loops = self._store.loops
        if method == 'auto' and not loops.massless and suits_tree(self.model):
            found = self._store.call(LOOP_DYNAMICS, loaded=bool(loads))(q, qd, tau, *loads)
            qdd, multipliers, forces, pivot, excess, residual = found
            if pivot[0] > REGULAR_PIVOT > excess[0]:
                return LoopDynamics(qdd, multipliers, forces, len(loops.nominal().rows),
                                    float(residual[0]), 'regular')
        q, qd = vector('q', q, self.model.nq), vector('qd', qd, self.model.nv)
        tau = vector('tau', tau, self.model.nv)
        if method == 'whole_system':
            return whole_system(self._store, q, qd, tau, f_ext)
        return ranked(self._store, q, qd, tau, f_ext, method, rank)
