# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What closed loops leave free: positions, independent coordinates, drives (RBDA 8.8, 8.12)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.loops import closure, loop_coordinates
from rbd_ros.algorithms.loops.loop_coordinates import ActuatorForces, LoopMap
from rbd_ros.compiler import Array
from rbd_ros.compiler.arguments import vector
from rbd_ros.dynamics.families.joint_space import BIAS, INVERSE_DYNAMICS, MASS_MATRIX
from rbd_ros.dynamics.families.loops.constraints import (
    LOOP_BIAS, LOOP_JACOBIAN, LOOP_MAP, LOOP_VELOCITY)
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.prescribed import prescribed_joints, prescribed_variables
from rbd_ros.errors import LoopError, RbdError

#: Share of K qdd by which given accelerations may miss k: what they were rounded to.
INCONSISTENT = 1e-6


class IndependentEquations(NamedTuple):
    """
    The equation of motion in independent coordinates: H ydd + C = G^T tau (8.45).

    :param H: G^T H G, (n - r, n - r).
    :param C: G^T (C + H g), (n - r,).
    :param G: qd = G yd, (nv, n - r).
    :param g: qdd = G ydd + g, (nv,).
    """

    H: Array
    C: Array
    G: Array
    g: Array


class LoopFreedomMethods(Family):
    """Closed positions, independent coordinates and drives of robots with closed loops."""

    @cached_property
    def loop_report(self) -> closure.LoopReport:
        """
        Return mobility, number and rank of the constraints, clusters, and a closed position.

        :raises LoopError: for a mechanism that cannot be assembled, or cannot move.
        """
        return self._store.loops.report

    @cached_property
    def mechanism(self) -> closure.Mechanism:
        """Return the functions that :mod:`rbd_ros.algorithms.loops.closure` works with."""
        return self._store.loops.mechanism

    def assemble(self, q: ArrayLike, fixed: Sequence[str] = ()) -> closure.Assembly:
        """
        Return a position near q that closes all loops, within the joint limits.

        ``robot.assemble(q).require()`` is the position, or an error that names the open loop.

        :param fixed: names of joints that stay where they are.
        """
        return closure.assemble(self.mechanism, vector('q', q, self.model.nq), fixed)

    def assemblies(
        self, q: ArrayLike, fixed: Sequence[str] = (), *, starts: int = closure.STARTS,
        seed: int = 0,
    ) -> list[Array]:
        """
        Return the different closed positions found from q and random starts, nearest to q first.

        :param fixed: names of joints that stay where they are; with as many as the mechanism has
            freedoms, the answers are its assembly modes.
        """
        return closure.assemblies(
            self.mechanism, vector('q', q, self.model.nq), fixed, starts=starts, seed=seed)

    def consistent_velocity(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the velocity nearest to qd, in the metric of H, that the loops allow, (nv,)."""
        q, qd = vector('q', q, self.model.nq), vector('qd', qd, self.model.nv)
        K = self.mechanism.jacobian(q)
        right = K @ qd - self._store.call(LOOP_VELOCITY)(q, qd)
        return closure.nearest_motion(
            self.mechanism.inertia(q), K, right, qd, len(self._store.loops.nominal().rows))

    def consistent_acceleration(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the acceleration nearest to qdd, in the metric of H, that the loops allow."""
        q, qd = vector('q', q, self.model.nq), vector('qd', qd, self.model.nv)
        qdd = vector('qdd', qdd, self.model.nv)
        return closure.nearest_motion(
            self.mechanism.inertia(q), self.mechanism.jacobian(q),
            self._store.call(LOOP_BIAS)(q, qd), qdd, len(self._store.loops.nominal().rows))

    def loop_map(
        self, q: ArrayLike, qd: ArrayLike | None = None, independent: Sequence[str] = (),
    ) -> LoopMap:
        """
        Return G and g: qd = G yd and qdd = G ydd + g for motions that the loops allow (RBDA 8.8).

        y are velocities of the robot itself, in its order. Steps of elimination are chosen once
        and compiled; where they do not do, as near a dead centre, new ones are searched for.

        :param qd: velocities, which g needs; zero by default.
        :param independent: names of the joints whose velocities y are; by default the robot
            chooses, always the same ones.
        :raises SingularError: where the loops do not let these joints be independent.
        """
        q = vector('q', q, self.model.nq)
        qd = np.zeros(self.model.nv) if qd is None else vector('qd', qd, self.model.nv)
        names = prescribed_joints(self.model, independent)
        steps = self._store.loops.pivots(names)
        dependent = tuple(step.column for step in steps)
        kept = tuple(k for k in range(self.model.nv) if k not in dependent)
        G, g = self._store.call(LOOP_MAP, names)(q, qd)
        if not np.isnan(g[0]):
            return LoopMap(G, g, kept, dependent)
        scale = np.sqrt(np.array(self._store.loops.nominal().scale))
        return loop_coordinates.eliminate(
            self._store.call(LOOP_JACOBIAN)(q), self._store.call(LOOP_BIAS)(q, qd), kept, scale)

    def independent_equations(
        self, q: ArrayLike, qd: ArrayLike, independent: Sequence[str] = (),
        f_ext: ArrayLike | None = None,
    ) -> IndependentEquations:
        """
        Return H and C of the freedoms that the loops leave (RBDA 8.5, method 3).

        ``ydd = solve(H, G.T @ tau - C)`` and ``qdd = G @ ydd + g`` are forward dynamics.

        :param independent: as for ``loop_map``.
        :param f_ext: as for ``inverse_dynamics``.
        """
        q, qd = vector('q', q, self.model.nq), vector('qd', qd, self.model.nv)
        found = self.loop_map(q, qd, independent)
        H = self._store.call(MASS_MATRIX)(q)
        C = self._store.call(BIAS, loaded=f_ext is not None)(
            *((q, qd) if f_ext is None else (q, qd, f_ext)))
        return IndependentEquations(found.G.T @ H @ found.G, found.G.T @ (C + H @ found.g),
                                    found.G, found.g)

    def actuator_forces(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, actuated: Sequence[str],
        f_ext: ArrayLike | None = None, *, weights: ArrayLike | None = None,
        limits: ArrayLike | None = None, preferred: ArrayLike | None = None,
    ) -> ActuatorForces:
        """
        Return forces of the drives at some joints that make a motion (RBDA 8.12).

        Of many answers, the one with the smallest weighted sum of squares. Where the drives
        cannot make the motion, the one that comes nearest, with what is missing as ``residual``.

        :param qdd: accelerations that the loops allow; see ``consistent_acceleration``.
        :param actuated: names of the joints with drives.
        :param f_ext: as for ``inverse_dynamics``.
        :param weights: of the squares of the drives' forces, one for each velocity of theirs.
        :param limits: largest force of each; ``model.effort_limit`` has those of the description.
        :param preferred: forces from which the answer differs as little as can be.
        :raises LoopError: for accelerations that the loops do not allow.
        """
        q, qd = vector('q', q, self.model.nq), vector('qd', qd, self.model.nv)
        qdd = vector('qdd', qdd, self.model.nv)
        K, k = self._store.call(LOOP_JACOBIAN)(q), self._store.call(LOOP_BIAS)(q, qd)
        missed = float(np.abs(K @ qdd - k).max(initial=0.0))
        if missed > INCONSISTENT * max(1.0, float((np.abs(K) @ np.abs(qdd)).max(initial=0.0))):
            raise LoopError(
                f'the loops of "{self.model.name}" do not allow these accelerations: K qdd misses '
                f'k by {missed:.3g}; take consistent_acceleration(q, qd, qdd)')
        names = prescribed_joints(self.model, actuated)
        if not names:
            raise RbdError('actuated names no joint: give the joints that have drives')
        at = np.flatnonzero(prescribed_variables(self.model, names)).tolist()
        tau = self._store.call(INVERSE_DYNAMICS, loaded=f_ext is not None)(
            *((q, qd, qdd) if f_ext is None else (q, qd, qdd, f_ext)))
        return loop_coordinates.actuator_forces(
            self.loop_map(q).G, tau, at, weights=weights, limits=limits, preferred=preferred)
