# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Searches for positions that bring frames to targets, one after the other or many side by side.

A search walks downhill by the compiled step of :mod:`rbd_ros.dynamics.families.reaching.step`, and
starts again from random positions where it stalls. It ends after a known number of steps.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.algorithms.loops.closure import turned_joint
from rbd_ros.compiler import Array
from rbd_ros.compiler.fork_lock import ForkLock
from rbd_ros.dynamics.families.reaching.step import Aim, FRESH, REACHED, step_quantity
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.errors import RbdError
from rbd_ros.model import positions

#: A joint this near to a limit, rad or m, is reported as stopped by it.
NEAR = 1.0e-3
#: Where few targets are left, so many starts in all are tried side by side.
STARTS = 64


class InverseKinematics(NamedTuple):
    """
    What a search has found; where there were many, arrays with an entry for each.

    :param q: the position, inside the joint limits: of all that were tried the nearest.
    :param success: whether every target was reached within the tolerances, all loops closed.
    :param linear_error: largest distance of a frame from its target, m.
    :param angular_error: largest angle between a frame and its target, rad.
    :param iterations: steps of all attempts.
    :param attempts: starts, the first included.
    :param at_limits: joints that the position leaves at a limit; of one search only.
    :param history: error before each step of the attempt that gave q, one radian for a metre; of
        one search only.
    :param text: the same as a sentence.
    """

    q: Array
    success: Any
    linear_error: Any
    angular_error: Any
    iterations: Any
    attempts: Any
    at_limits: tuple[str, ...]
    history: tuple[float, ...]
    text: str

    def require(self) -> Array:
        """
        Return q, or raise an error where a target was not reached.

        :raises RbdError: which names the frames and says how far they are.
        """
        if not np.all(self.success):
            raise RbdError(self.text)
        return self.q


class _Walk(NamedTuple):
    """
    Where one attempt has led.

    :param cost: squared error.
    :param errors: linear, angular, and of loops.
    :param history: squared errors on the way, the first and the last included.
    """

    q: Array
    reached: bool
    cost: float
    errors: tuple[float, float, float]
    history: list[float]


class _Ends(NamedTuple):
    """Where attempts from many starts have led, by row as in ``_Walk``; errors are (count, 3)."""

    q: Array
    reached: NDArray[np.bool_]
    cost: Array
    errors: Array
    steps: NDArray[np.int64]


class Search:
    """
    The compiled step towards targets of some frames, for searches one after the other.

    :param store: kernels of the robot, whose time it shares.
    :param aims: the frames, and whether their orientation counts.
    """

    def __init__(self, store: KernelStore, aims: tuple[Aim, ...]) -> None:
        self._loops, self._model, self._aims = store.loops, store.model, aims
        own, step = store.sibling(), step_quantity(store.model, aims)
        own.add(step)
        item = own.item(step)
        self._kernel, self._bound = own.existing(item), own.bound(item)
        self._low, self._high = np.array(self._model.lower), np.array(self._model.upper)
        self._bounded = bool(np.isfinite([self._low, self._high]).all())
        self._time = store.environment.inputs['time']
        #: Where a search begins if nothing is said.
        self.neutral = self.clipped(np.array(positions.neutral(self._model), dtype=float))
        self._lock = ForkLock()                 # a bound kernel belongs to one thread at a time

    def _names(self) -> str:
        return ', '.join(f'"{aim.frame.name}"' for aim in self._aims)

    def starts(self, rng: np.random.Generator, count: int) -> Array:
        """Return random positions within the limits, (count, nq)."""
        if self._bounded:
            return rng.uniform(self._low, self._high, (count, self._model.nq))
        return np.array([positions.random_position(self._model, rng) for _ in range(count)],
                        dtype=float).reshape(count, self._model.nq)

    def clipped(self, q: Array) -> Array:
        """Return positions brought inside the limits."""
        return np.minimum(np.maximum(q, self._low), self._high)

    def one(self, q: Array, target: Array, tolerances: tuple[float, float], limit: int,
            restarts: int, seed: int) -> InverseKinematics:
        """Return what the search for one target has found."""
        with self._lock:
            self._bound.inputs['target'][:] = target
            self._bound.inputs['tolerance'][:] = tolerances
            if 'time' in self._bound.inputs:
                self._bound.inputs['time'][:] = self._time
            best = self._walk(q, limit)
            steps, attempts = len(best.history) - 1, 1
            if not best.reached:
                rng = np.random.default_rng(seed)       # costs as much as a short search
            while not best.reached and attempts <= restarts:
                walk = self._walk(self.starts(rng, 1)[0], limit)
                steps, attempts = steps + len(walk.history) - 1, attempts + 1
                if walk.reached or walk.cost < best.cost:
                    best = walk
        return self._told(best, steps, attempts)

    def _walk(self, q: Array, limit: int) -> _Walk:
        """Walk downhill from one start."""
        run, inputs, outputs = self._bound.run, self._bound.inputs, self._bound.outputs
        q_in, search, report = inputs['q'], inputs['search'], outputs['report']
        q_out, search_out = outputs['next_q'], outputs['next_search']
        q_in[:], search[:] = q, FRESH
        run()
        cost, *errors, arrived = outputs['before'].tolist()
        history, reached = [cost], arrived == 1.0
        for k in range(0 if reached else limit):
            if k:
                run()
            status, after, linear, angular, gap, taken = report.tolist()
            if math.isnan(status):              # the last position is the end
                break
            if taken:
                cost, errors = after, [linear, angular, gap]
                history.append(cost)
            q_in[:] = q_out
            if status:
                reached = status == REACHED
                break
            search[:] = search_out
        end = self.clipped(q_in)
        if reached and self._model.loops:
            reached = not turned_joint(self._loops.mechanism, end)
        return _Walk(end, reached, cost, tuple(errors), history)

    def _told(self, walk: _Walk, steps: int, attempts: int) -> InverseKinematics:
        """Return the result with what it says in words."""
        linear, angular, gap = walk.errors
        near = (walk.q <= self._low + NEAR) | (walk.q >= self._high - NEAR)
        stopped = tuple(name for name in self._model.independent_joint_names
                        if near[self._model.position_slice(name)].any()) if near.any() else ()
        names = self._names()
        if walk.reached:
            text = f'frame {names} reached in {steps} steps, {attempts} starts'
        else:
            limits = f'; at their limits: {", ".join(stopped)}' if stopped else ''
            loops = f', loops open by {gap:.3g}' if self._model.loops else ''
            text = (f'frame {names} not reached after {attempts} starts of the search: nearest '
                    f'{linear:.3g} m and {angular:.3g} rad from the target{loops}{limits}. The '
                    'target may be out of reach; give another start, or more restarts')
        history = tuple(map(math.sqrt, walk.history))
        return InverseKinematics(walk.q, walk.reached, linear, angular, steps, attempts, stopped,
                                 history, text)

    def many(self, q: Array, target: Array, tolerances: tuple[float, float], limit: int,
             restarts: int, seed: int) -> InverseKinematics:
        """
        Return what searches have found, all side by side.

        :param q: (count, nq).
        :param target: (count, numbers of a target).
        """
        rng, count = np.random.default_rng(seed), len(target)
        best, cost, errors = q.copy(), np.full(count, np.inf), np.full((count, 3), np.inf)
        success = np.zeros(count, dtype=bool)
        steps, attempts = np.zeros((2, count), dtype=np.int64)
        left, start, wide, tried = np.arange(count), q, 1, 0
        while left.size and wide:
            ends = self._walks(start, np.repeat(target[left], wide, axis=0), tolerances, limit)
            tried += wide
            # of several starts for a target the first that reached it, else the nearest
            order = np.where(ends.reached, -1.0, np.nan_to_num(ends.cost, nan=np.inf))
            pick = np.argmin(order.reshape(-1, wide), axis=1)
            at = np.arange(left.size) * wide + pick
            reached = ends.reached[at]
            attempts[left] += np.where(reached, pick + 1, wide)
            steps[left] += ends.steps.reshape(-1, wide).sum(axis=1)
            nearer = reached | (ends.cost[at] < cost[left])
            rows, from_rows = left[nearer], at[nearer]
            best[rows], cost[rows] = ends.q[from_rows], ends.cost[from_rows]
            errors[rows] = ends.errors[from_rows]
            success[left] = reached
            left = left[~reached]
            wide = min(restarts + 1 - tried, max(1, STARTS // max(1, left.size)))
            start = self.starts(rng, left.size * wide)
        text = f'frame {self._names()} reached for {success.sum()} of {count} targets'
        if not success.all():
            text += f'; not for number {int(np.flatnonzero(~success)[0])}, the first of the others'
        return InverseKinematics(
            best, success, errors[:, 0], errors[:, 1], steps, attempts, (), (), text)

    def _walks(self, q: Array, target: Array, tolerances: tuple[float, float], limit: int,
               ) -> _Ends:
        """Walk downhill from many starts; those that have ended leave the others."""
        count = len(q)
        names = [argument.name for argument in self._kernel.inputs]
        shared: dict[str, Array] = {'tolerance': np.array(tolerances), 'time': self._time}
        ends = _Ends(np.array(q), np.zeros(count, dtype=bool), np.full(count, np.inf),
                     np.full((count, 3), np.inf), np.zeros(count, dtype=np.int64))
        left = np.arange(count)
        rows: dict[str, Array] = {
            'q': np.ascontiguousarray(q), 'search': np.tile(FRESH, (count, 1)),
            'target': np.ascontiguousarray(target)}
        for k in range(max(limit, 1)):
            outputs = [np.empty((left.size, *a.shape)) for a in self._kernel.outputs]
            given = {**shared, **rows}
            self._kernel.run_batch([given[name] for name in names],
                                   [name in rows for name in names], outputs, left.size, None)
            found = dict(zip((a.name for a in self._kernel.outputs), outputs, strict=True))
            report, before = found['report'], found['before']
            if k == 0:
                ends.cost[:], ends.errors[:] = before[:, 0], before[:, 1:4]
                ends.reached[:] = before[:, 4] == 1.0
                if limit == 0:
                    break
            sound = ~np.isnan(report[:, 0])
            taken = sound & (report[:, 5] == 1.0)
            at = left[taken]
            ends.q[at], ends.cost[at] = found['next_q'][taken], report[taken, 1]
            ends.errors[at] = report[taken, 2:5]
            ends.steps[at] += 1
            ends.reached[left[sound & (report[:, 0] == REACHED)]] = True
            going = report[:, 0] == 0.0
            left = left[going]
            if not left.size:
                break
            rows = {'q': found['next_q'][going], 'search': found['next_search'][going],
                    'target': rows['target'][going]}
        return self._judged(ends)

    def _judged(self, ends: _Ends) -> _Ends:
        """Return ends inside the limits, without those whose loops are closed the wrong way."""
        q, reached = self.clipped(ends.q), ends.reached
        if self._model.loops:
            mechanism = self._loops.mechanism
            for k in np.flatnonzero(reached).tolist():
                reached[k] = not turned_joint(mechanism, q[k])
        return ends._replace(q=q)
