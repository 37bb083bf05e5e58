# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The loops of one robot: what is found once of them, and motion with a decision on their rank.

Both are in NumPy, as they decide by values.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.loops import closure, loop_coordinates, whole_system as all_bodies
from rbd_ros.algorithms.loops.loop_coordinates import Pivot
from rbd_ros.algorithms.loops.loop_joints import joint_forces
from rbd_ros.algorithms.loops.motion import definite, Nominal, solve
from rbd_ros.compiler import Array
from rbd_ros.dynamics.families.joint_space import BIAS, MASS_MATRIX
from rbd_ros.dynamics.families.loops.constraints import (
    LOOP_BIAS, LOOP_ERROR, LOOP_JACOBIAN, LOOP_VELOCITY)
from rbd_ros.dynamics.kernels.existence import massless_joint
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.prescribed import prescribed_variables
from rbd_ros.errors import LoopError, ModelError, SingularError

#: Above this many velocities a planar mechanism of hinges is not solved through its tree.
LARGE = 30


class LoopDynamics(NamedTuple):
    """
    Motion of a robot with closed loops, and the forces in its loop joints.

    :param qdd: accelerations, (nv,).
    :param multipliers: lambda, (n_c,); where constraints depend on others, one of many.
    :param forces: force of each loop joint on its successor, (loops, 6), in the coordinates of
        the joint's successor frame, angular first; undetermined where lambda is.
    :param rank: independent constraints at this position.
    :param residual: largest entry of K qdd - k, by which dependent constraints contradict.
    :param method: ``'regular'`` for the compiled solution, or that of ``loop_dynamics``.
    """

    qdd: Array
    multipliers: Array
    forces: Array
    rank: int
    residual: float
    method: str


class LoopAnalysis:
    """
    Facts of the loops of one robot, each found when it is first asked for.

    :param store: kernels of the robot.
    """

    def __init__(self, store: KernelStore) -> None:
        self._store, self._model = store, store.model
        self._steps: dict[tuple[str, ...], tuple[Pivot, ...]] = {}

    @cached_property
    def mechanism(self) -> closure.Mechanism:
        """Return the functions that :mod:`rbd_ros.algorithms.loops.closure` works with."""
        if not self._model.loops:
            raise ModelError(f'"{self._model.name}" has no closed loops; add a loop joint '
                             '(ModelBuilder.add_loop_joint or <loop_joint>)')
        # of many bodies H alone is a large kernel, and needed a few times only
        source = (self._store if self._model.nv <= LARGE
                  else self._store.sibling(backend='reference'))
        return closure.Mechanism(
            self._model, source.call(LOOP_ERROR), source.call(LOOP_JACOBIAN),
            source.call(MASS_MATRIX), lambda: self._store.environment.time)

    @cached_property
    def _analysed(self) -> tuple[closure.LoopReport, Nominal]:
        return closure.analyse(self.mechanism, self._store.options.closed_near)

    @property
    def report(self) -> closure.LoopReport:
        """
        Return mobility, number and rank of the constraints, clusters, and a closed position.

        :raises LoopError: for a mechanism that cannot be assembled, or cannot move.
        """
        return self._analysed[0]

    def nominal(self) -> Nominal:
        """Return which constraints are independent at a usual position."""
        return self._analysed[1]

    @cached_property
    def massless(self) -> bool:
        """Return whether a joint moves without inertia, so that H has no inverse anywhere."""
        return massless_joint(self._model.spanning_tree) is not None

    def accelerations(self, q: Array, qd: Array, tau: Array, f_ext: Array | None = None) -> Array:
        """Return qdd of one state with a decision on the rank of the constraints."""
        return ranked(self._store, q, qd, tau, f_ext).qdd

    def pivots(self, names: tuple[str, ...]) -> tuple[Pivot, ...]:
        """Return steps of elimination that do at a usual position; sizes are powers of two."""
        if names not in self._steps:
            report = self.report
            held = np.flatnonzero(prescribed_variables(self._model, names)).tolist()
            free = [k for k in range(self._model.nv) if k not in held]
            if names and len(held) != report.mobility:
                raise LoopError(
                    f'{len(held)} velocities of {", ".join(names)} cannot be the independent '
                    f'ones: the loops of "{self._model.name}" leave {report.mobility} freedoms')
            K = self._store.call(LOOP_JACOBIAN)(report.q)
            scale = np.sqrt(np.array(self.nominal().scale))
            found = loop_coordinates.pivots(K, scale, free, report.rank)
            if len(found) < report.rank:
                raise SingularError(
                    f'the loops of "{self._model.name}" tie {", ".join(names)} to each other: '
                    'these joints cannot be independent')
            self._steps[names] = tuple(
                step._replace(size=float(2.0 ** np.round(np.log2(step.size)))) for step in found)
        return self._steps[names]


def ranked(
    store: KernelStore, q: Array, qd: Array, tau: Array, f_ext: ArrayLike | None = None,
    method: str = 'auto', rank: int | None = None,
) -> LoopDynamics:
    """Return the motion with a decision on the rank."""
    C = store.call(BIAS, loaded=f_ext is not None)(
        *((q, qd) if f_ext is None else (q, qd, f_ext)))
    H, k = store.loops.mechanism.inertia(q), _stabilised(store, q, qd)
    if method == 'auto':
        # without inertia in some joint H has no inverse, but the loops may still decide
        method = 'multipliers' if definite(H) else 'projection'
    found = solve(H, tau - C, store.loops.mechanism.jacobian(q), k, store.loops.nominal().scale,
                  method=method, rank=rank, nominal=len(store.loops.nominal().rows))
    return LoopDynamics(found.qdd, found.multipliers, _forces(store, q, found.multipliers),
                        found.rank, found.residual, found.method)


def _stabilised(store: KernelStore, q: Array, qd: Array) -> Array:
    """Return k with what ``set_stabilization`` asks for (8.22)."""
    two_alpha, beta_squared = store.environment.inputs['stabilization'].tolist()
    return (store.call(LOOP_BIAS)(q, qd) - two_alpha * store.call(LOOP_VELOCITY)(q, qd)
            - beta_squared * store.call(LOOP_ERROR)(q))


def whole_system(
    store: KernelStore, q: Array, qd: Array, tau: Array, f_ext: ArrayLike | None,
) -> LoopDynamics:
    """Return the motion of all bodies and joints at once."""
    two_alpha, beta_squared = store.environment.inputs['stabilization'].tolist()
    found = all_bodies.accelerations(
        store.model, q, qd, tau, f_ext, gravity=store.environment.inputs['gravity'].tolist(),
        t=store.environment.time, inertia=store.inertia(),
        stabilisation=(two_alpha, beta_squared))
    K, k = store.call(LOOP_JACOBIAN)(q), _stabilised(store, q, qd)
    trees = found.constraints - store.model.loop_constraints
    return LoopDynamics(
        found.qdd, found.loop_multipliers, _forces(store, q, found.loop_multipliers),
        found.rank - trees, float(np.abs(K @ found.qdd - k).max(initial=0.0)), 'whole_system')


def _forces(store: KernelStore, q: Array, multipliers: Array) -> Array:
    """Return the forces of the loop joints on their successors."""
    forces = joint_forces(store.model, store.model.expand_q(q.tolist()), multipliers.tolist(),
                          store.environment.time)
    return np.array([f.to_list() for f in forces], float)
