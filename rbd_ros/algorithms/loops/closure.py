# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Closing loops: positions, velocities and accelerations that loop joints allow (RBDA 8.3, 8.8).

Plain NumPy around compiled functions of the mechanism. A search always ends, and says how far it
came; that a position is closed is decided by the joints themselves, since the small errors delta
also vanish where an axis points the wrong way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.kinematics import links
from rbd_ros.algorithms.linear.rank import counted
from rbd_ros.algorithms.loops import loop_joints
from rbd_ros.algorithms.loops.motion import definite, factor, Nominal, solve
from rbd_ros.compiler import Array
from rbd_ros.errors import LoopError, SingularError
from rbd_ros.model import positions
from rbd_ros.model.model import Model

#: Loops are closed where no error is larger, m or rad.
TOLERANCE = 1e-12
#: A search that ends with more has failed.
CLOSED = 1e-9
ITERATIONS = 100
#: A longer step is shortened to this, rad or m in its largest entry.
LONGEST = 0.5
#: Random starts where one is not enough, and closed positions on which ranks are decided.
STARTS, SAMPLES = 60, 4
#: Entries of K up to this, rad or m per rad or m, are rounding.
NOTHING = 1e-12


class Mechanism(NamedTuple):
    """
    A model with loops, and its functions of independent positions.

    :param error: delta.
    :param jacobian: K.
    :param inertia: H of the spanning tree.
    :param time: of joints that move with it, s.
    """

    model: Model
    error: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    inertia: Callable[[Array], Array]
    time: Callable[[], float]


class Assembly(NamedTuple):
    """
    What a search for a closed position has found.

    :param q: independent positions.
    :param success: whether all loops are closed there.
    :param error: largest position error that is left, rad or m.
    :param iterations: steps taken.
    :param text: the same as a sentence.
    """

    q: Array
    success: bool
    error: float
    iterations: int
    text: str

    def require(self) -> Array:
        """
        Return q, or raise an error where a loop is open.

        :raises LoopError: which names the loop that is open the widest.
        """
        if not self.success:
            raise LoopError(self.text)
        return self.q


# --- positions ------------------------------------------------------------------------------


def assemble(mechanism: Mechanism, q: ArrayLike, fixed: Sequence[str] = ()) -> Assembly:
    """
    Return a position near q that closes all loops, within the joint limits.

    Newton's method on delta with the Jacobian K: damped while far away, so that it does not
    jump over a dead centre, and of full steps at the end.

    :param fixed: names of joints that stay where they are, also beyond their limits.
    """
    model = mechanism.model
    free, low, high = np.ones(model.nv), np.array(model.lower), np.array(model.upper)
    for name in fixed:
        free[model.velocity_slice(name)] = 0.0
        at = model.position_slice(name)
        low[at], high[at] = -np.inf, np.inf
    q = np.array(q, float)
    np.clip(q, low, high, out=q)
    delta = mechanism.error(q)
    damping, steps = 1e-2, 0
    while steps < ITERATIONS and np.abs(delta).max(initial=0.0) > TOLERANCE:
        K = mechanism.jacobian(q) * free
        step = -_damped(K, delta, damping)
        step *= min(1.0, LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        moved = positions.integrate(model, q.tolist(), step.tolist())
        tried: Array = np.clip(np.array(moved, float), low, high)
        error = mechanism.error(tried)
        steps += 1
        if np.linalg.norm(error) < np.linalg.norm(delta):
            q, delta, damping = tried, error, damping * 0.1 if damping > 1e-9 else 0.0
        elif damping == 0.0:
            break                                   # rounding: it does not get any smaller
        else:
            damping *= 10.0
            if damping > 1e6:
                break
    return _judged(mechanism, q, delta, steps)


def _damped(K: Array, delta: Array, damping: float) -> Array:
    """Return the step d that reduces |K d - delta|^2 + damping^2 |d|^2."""
    U, sigma, V = np.linalg.svd(K, full_matrices=False)
    r = counted(sigma)
    weight = sigma[:r] / (sigma[:r]**2 + (damping * sigma[:1])**2)
    return V[:r].T @ (weight * (U[:, :r].T @ delta))


def _judged(mechanism: Mechanism, q: Array, delta: Array, steps: int) -> Assembly:
    model = mechanism.model
    worst = float(np.abs(delta).max(initial=0.0))
    if worst <= CLOSED and not (turned := turned_joint(mechanism, q)):
        return Assembly(q, True, worst, steps, f'all loops closed after {steps} steps')
    if worst <= CLOSED:
        text = f'loop joint "{turned}" of "{model.name}" is closed the wrong way round'
    else:
        sizes = [np.abs(delta[rows]).max(initial=0.0) for rows in model.loop_rows]
        name = model.loops[int(np.argmax(sizes))].name
        text = f'loop joint "{name}" of "{model.name}" stays open by {max(sizes):.3g} (m or rad)'
    text = (f'{text} after {steps} steps; start nearer to a closed position, or check lengths, '
            'frames and joint limits of the loop')
    return Assembly(q, False, worst, steps, text)


def turned_joint(mechanism: Mechanism, q: Array) -> str:
    """Return the name of a loop joint that no position of its own can give, '' if all can."""
    model, t = mechanism.model, mechanism.time()
    tree = links(model, model.expand_q(q.tolist()), t)
    for loop in model.loops:
        X, joint = loop_joints.position(model, tree, loop, t).X, loop.joint
        if joint.nv < 6 and float(
                (X @ joint.transform(joint.locate(X, t), t).inverse()).E.trace()) < 2.0:
            return loop.name
    return ''


def assemblies(
    mechanism: Mechanism, q: ArrayLike, fixed: Sequence[str] = (), *, starts: int = STARTS,
    seed: int = 0,
) -> list[Array]:
    """
    Return the different closed positions found from q and random starts, nearest to q first.

    :param fixed: names of joints that stay where they are; with as many as the mechanism has
        freedoms, the answers are its assembly modes.
    """
    model, rng = mechanism.model, np.random.default_rng(seed)
    q = np.array(q, float)
    found: list[Array] = []
    for attempt in range(starts):
        start = q.copy()
        if attempt:
            start = np.array(positions.random_position(model, rng))
            for name in fixed:
                start[model.position_slice(name)] = q[model.position_slice(name)]
        result = assemble(mechanism, start, fixed)
        if result.success and not any(_same(model, result.q, other) for other in found):
            found.append(result.q)
    return sorted(found, key=lambda x: _distance(model, q, x))


def _same(model: Model, one: Array, two: Array) -> bool:
    """Return whether two positions are one, whole turns apart or not."""
    a, b = (links(model, model.expand_q(q.tolist())).Xup for q in (one, two))
    return all(abs(float(x - y)) < 1e-6 for X, Y in zip(a, b, strict=True)
               for x, y in zip([*X.r, *(e for row in X.E.rows for e in row)],
                               [*Y.r, *(e for row in Y.E.rows for e in row)], strict=True))


def _distance(model: Model, one: Array, two: Array) -> float:
    step = positions.difference(model, one.tolist(), two.tolist())
    return float(np.linalg.norm(np.array(step, float)))


# --- velocities and accelerations -----------------------------------------------------------


def nearest_motion(
    H: Array, K: Array, right: Array, wanted: Array, nominal: int | None = None,
) -> Array:
    """
    Return x with K x = right that is nearest to what is wanted, in the metric of H.

    With velocities this is what an impulse at the loop joints would leave of a wrong velocity.
    Where rows contradict each other they are satisfied as well as can be. Joints without inertia
    follow the others.

    :param nominal: rank of K at closed positions, see
        :func:`rbd_ros.algorithms.linear.rank.counted`.
    :raises SingularError: where a motion that the constraints allow moves no inertia.
    """
    method = 'multipliers' if definite(H) else 'projection'
    missing = right - K @ wanted
    return wanted + solve(H, np.zeros(len(H)), K, missing, np.ones(len(K)), method=method,
                          nominal=nominal).qdd


# --- what is decided once -------------------------------------------------------------------


class LoopReport(NamedTuple):
    """
    What the loops of a mechanism do to it.

    :param mobility: degrees of freedom n - r that are left (8.52).
    :param constraints: n^c, of all loop joints.
    :param rank: independent ones r among them; fewer than n^c where loops are overconstrained.
    :param clusters: names of loop joints, by minimal loop cluster (RBDA 8.9).
    :param q: a closed position.
    """

    mobility: int
    constraints: int
    rank: int
    clusters: tuple[tuple[str, ...], ...]
    q: Array

    @property
    def overconstraint(self) -> int:
        """Return n^c - r: constraints that follow from others (8.54)."""
        return self.constraints - self.rank


def closed_positions(
    mechanism: Mechanism, near: ArrayLike | None = None, count: int = SAMPLES,
) -> list[Array]:
    """
    Return some closed positions, from random starts where none is given.

    :param near: a position near a closed one; more are looked for around it.
    :raises LoopError: where none is found.
    """
    model, rng = mechanism.model, np.random.default_rng(0)
    start = np.array(positions.neutral(model) if near is None else near, float)
    best: Assembly | None = None
    found: list[Array] = []
    for attempt in range(STARTS):
        if attempt and (near is None or not found) and attempt % 2:
            start = np.array(positions.random_position(model, rng))
        elif attempt:
            base = found[0] if found else np.array(positions.neutral(model))
            step = rng.uniform(-0.4, 0.4, model.nv)
            start = np.array(positions.integrate(model, base.tolist(), step.tolist()))
        result = assemble(mechanism, start)
        if result.success:
            found.append(result.q)
        if best is None or result.error < best.error:
            best = result
        if len(found) == count:
            break
    if not found and best is not None:
        raise LoopError(f'"{model.name}" cannot be assembled from any of {STARTS} starts: '
                        f'{best.text}')
    return found


def analyse(mechanism: Mechanism, near: ArrayLike | None = None) -> tuple[LoopReport, Nominal]:
    """
    Return what the loops do, and which rows of K serve where nothing is singular.

    :param near: a position near a closed one.
    :raises LoopError: for a mechanism that cannot be assembled, or not move.
    """
    model = mechanism.model
    found = closed_positions(mechanism, near)
    Y = [_scaled(mechanism, q) for q in found]
    scale = np.max([np.einsum('ij,ij->j', y, y) for y in Y], axis=0)
    # rows that are rounding, as those are that the tree satisfies by itself
    largest = np.max([np.abs(mechanism.jacobian(q)).max(axis=1, initial=0.0) for q in found],
                     axis=0)
    scale[largest <= NOTHING] = 0.0
    used = np.flatnonzero(scale)
    Y = [y[:, used] / np.sqrt(scale[used]) for y in Y]
    ranks = [counted(np.linalg.svd(y, compute_uv=False)) for y in Y]
    rank = max(ranks, default=0)
    if rank == model.nv:
        raise LoopError(
            f'"{model.name}" cannot move: its loop joints take all {model.nv} freedoms of its '
            'tree; remove a loop joint, or give one more freedom')
    chosen = max((_independent(y, rank) for y, r in zip(Y, ranks, strict=True) if r == rank),
                 key=lambda rows: min(_least(y[:, rows]) for y in Y))
    rows = tuple(int(used[k]) for k in sorted(chosen))
    rest = tuple(int(k) for k in used if k not in rows)
    names = tuple(tuple(model.loops[k].name for k in cluster) for cluster in model.loop_clusters)
    # powers of two: what is compiled must not depend on rounding
    scale[used] = 2.0 ** np.round(np.log2(scale[used]))
    usual = max(range(len(found)), key=lambda k: _least(Y[k][:, chosen]))
    report = LoopReport(model.nv - rank, model.loop_constraints, rank, names, found[usual])
    return report, Nominal(rows, rest, tuple(scale.tolist()))


def _scaled(mechanism: Mechanism, q: Array) -> Array:
    """Return Y = L^-T K^T, or K^T over the joints' own sizes where H has no inverse."""
    K = mechanism.jacobian(q)
    try:
        return np.linalg.solve(factor(mechanism.inertia(q)).T, K.T)
    except SingularError:
        return K.T


def _independent(Y: Array, rank: int) -> list[int]:
    """Return columns that span the others, largest remainder first (Gram-Schmidt with pivots)."""
    rest, chosen = Y.copy(), list[int]()
    for _ in range(rank):
        sizes = np.einsum('ij,ij->j', rest, rest)
        k = int(np.flatnonzero(sizes > 0.9 * sizes.max())[0])    # rounding must not choose
        chosen.append(k)
        e = rest[:, k] / np.linalg.norm(rest[:, k])
        rest -= np.outer(e, e @ rest)
        rest[:, k] = 0.0
    return chosen


def _least(Y: Array) -> float:
    return float(np.linalg.svd(Y, compute_uv=False)[-1]) if Y.size else 1.0
