# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The deviation of two libraries, scaled by energy so that light joints count as much as heavy ones.

The joints of a robot differ by many orders of magnitude: what is rounding at a shoulder is the
whole torque of a finger. Each joint variable therefore has the unit in which the kinetic energy of
that joint alone is half the square of its velocity: with D the diagonal of the inertia matrix H,
forces are multiplied by D^-1/2, accelerations by D^1/2, and H by D^-1/2 from both sides.

What is solved with H has two limits. The backward error is the residual of the other library's
equation of motion: only rounding, whatever the condition of H. The forward error, in the energy
norm x^T H x, may exceed its limit only as far as the condition of the scaled H explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rbd_ros.compiler import Array

LIMIT = 1e-10           # of a forward error
BACKWARD_LIMIT = 1e-13  # of a backward error
TINY = 1e-12            # a quantity smaller than this counts as zero
MASSLESS = 1e-8         # smallest unit of a joint, relative to the largest one

FORCE, ACCELERATION, INERTIA, MOBILITY, PLAIN = 'force acceleration inertia mobility plain'.split()


class Peer(Protocol):
    """What the other library must provide for its equation of motion."""

    def mass_matrix(self, q: Array) -> Array:
        """Return H."""

    def inverse_dynamics(
        self, q: Array, qd: Array, qdd: Array, f_ext: Array | None = None,
    ) -> Array:
        """Return tau."""


class Units:
    """
    The inertia matrix of the other library in each state, and the units that follow from it.

    :param H: one matrix per state.
    """

    def __init__(self, H: Sequence[Array]) -> None:
        self.H = np.array(H)
        root = np.sqrt(np.maximum(np.diagonal(self.H, axis1=1, axis2=2), 0.0))
        floor = MASSLESS * root.max(axis=1, keepdims=True, initial=0.0)
        self.root = np.where(root > floor, root, np.where(floor > 0.0, floor, 1.0))
        self.scaled_H = self.scale(self.H, INERTIA)

    def scale(self, values: Array, kind: str) -> Array:
        """Return values, one per state, in units of energy."""
        d = self.root
        if kind == FORCE:
            return values / d
        if kind == ACCELERATION:
            return values * d
        if kind == INERTIA:
            return values / d[:, :, None] / d[:, None, :]
        if kind == MOBILITY:
            return values * d[:, :, None] * d[:, None, :]
        return values

    def condition(self) -> float:
        """Return the largest condition number of the scaled H."""
        return float(max(np.linalg.cond(H) for H in self.scaled_H))


class Verdict(NamedTuple):
    """
    An error and its limit.

    :param error: infinite if a value is not finite, or if shapes differ.
    """

    error: float
    limit: float
    note: str = ''

    @property
    def passes(self) -> bool:
        """Return whether the error is a number within the limit."""
        return self.error <= self.limit

    @property
    def ratio(self) -> float:
        """Return the error relative to its limit."""
        return self.error / self.limit


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict closest to its limit, or furthest beyond it."""
    return max(verdicts, key=lambda each: each.ratio)


def comparable(ours: Array, theirs: Array) -> bool:
    """Return whether both are finite numbers of the same shape."""
    return ours.shape == theirs.shape and bool(np.isfinite(ours).all()
                                               and np.isfinite(theirs).all())


def relative_error(ours: Array, theirs: Array) -> float:
    """Return the largest error in a batch, relative to the rms norm of the batch."""
    if not comparable(ours, theirs):
        return np.inf
    flat = theirs.reshape(len(theirs), -1)
    scale = np.sqrt(np.mean(np.sum(flat * flat, axis=1)))
    difference = np.linalg.norm((ours - theirs).reshape(len(theirs), -1), axis=1)
    return float(np.max(difference) / (scale if scale >= TINY else 1.0))


def judge(ours: Array, theirs: Array, kind: str, units: Units | None) -> Verdict:
    """Return the verdict on a quantity that is not solved for, of arrays that are comparable."""
    if units is not None:
        ours, theirs = units.scale(ours, kind), units.scale(theirs, kind)
    return Verdict(relative_error(ours, theirs), LIMIT)


def energy_error(ours: Array, theirs: Array, units: Units, kind: str) -> float:
    """Return the largest error of a solution in the energy norm; for H^-1 in scaled units."""
    if kind == MOBILITY:  # relative in each state: it is never small, and large near a singularity
        difference, size = (_norms(units.scale(x, kind)) for x in (ours - theirs, theirs))
        return float(np.max(difference / size))

    def norm(x: Array) -> Array:
        y = units.scale(x, kind)
        return np.sqrt(np.maximum(np.einsum('ki,kij,kj->k', y, units.scaled_H, y), 0.0))
    return float(np.max(norm(ours - theirs)) / np.sqrt(np.mean(norm(theirs) ** 2)))


def judge_solution(
    ours: Array, theirs: Array, kind: str, units: Units, residual: tuple[Array, Array],
) -> Verdict:
    """
    Return the verdict on a quantity that is solved for, from its backward and forward errors.

    The arrays are comparable.

    :param residual: residual of the equation and size of its terms, in units of energy.
    """
    if not np.isfinite(residual[0]).all():
        return Verdict(np.inf, BACKWARD_LIMIT)
    backward = Verdict(float(np.max(residual[0] / residual[1])), BACKWARD_LIMIT)
    forward = Verdict(energy_error(ours, theirs, units, kind), LIMIT)
    if not forward.passes:
        condition = units.condition()
        note = f'{forward.error:.1e} forward, condition of the scaled H {condition:.0e}'
        forward = Verdict(forward.error, max(LIMIT, condition * BACKWARD_LIMIT), note)
        backward = backward._replace(note=note)
    return worst([backward, forward])


def residual_of_inverse(ours: Array, units: Units) -> tuple[Array, Array]:
    """Return |H X - 1| and |H| |X| in each state."""
    X = units.scale(ours, MOBILITY)
    left = units.scaled_H @ X - np.eye(X.shape[-1])
    return _norms(left), _norms(units.scaled_H) * _norms(X)


def residual_of_motion(
    ours: Array, units: Units, peer: Peer, q: Array, qd: Array, tau: Array, f_ext: Array | None,
) -> tuple[Array, Array]:
    """Return |H qdd + C - tau| and |H| |qdd| + |C| + |tau| in each state."""
    forces = () if f_ext is None else (f_ext,)
    found, bias = (np.array([peer.inverse_dynamics(*row) for row in zip(q, qd, qdd, *forces)])
                   for qdd in (ours, np.zeros_like(tau)))
    left, C, b = (units.scale(each, FORCE) for each in (found - tau, bias, tau))
    size = _norms(units.scaled_H) * _norms(units.scale(ours, ACCELERATION)) + _norms(C)
    return _norms(left), size + _norms(b)


def _norms(values: Array) -> Array:
    return np.linalg.norm(values.reshape(len(values), -1), axis=1)
