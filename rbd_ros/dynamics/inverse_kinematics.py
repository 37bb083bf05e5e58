# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Inverse kinematics by iteration that always ends (guide to 6-D vectors, part 2, eqs 15 and 16).

The guide's loop, dq = J^T (J J^T)^-1 dp until dp is small, stops at singular poses, passes joint
limits, takes half a turn for no error, and never ends on a target out of reach. Here each step is
a damped least-squares problem within the joint limits, taken only if it brings the frames nearer;
a search that stalls starts again from another position, a given number of times; and what comes
back says whether the target was reached, and if not, by how much and why.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.errors import ModelError, NonFiniteError, RbdError, ShapeError
from rbd_ros.model import positions
from rbd_ros.spatial import Mat3
from rbd_ros.spatial.exponential import from_homogeneous, rotation_vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.dynamics.robot import Dynamics

    Array = NDArray[np.float64]

#: One radian counts as much as this many metres when errors of both kinds are added.
RADIAN = 1.0
#: Share of the way to a limit that a step takes at most: a joint right at it gets stuck there.
ROOM = 0.5
#: A step longer than this is shortened to it, rad or m in its largest entry.
LONGEST = 1.0
#: A search that has gained less than this share in PATIENCE steps has stalled.
GAIN, PATIENCE = 0.02, 20
BOOST_LIMIT = 1.0e9
#: A joint this near to a limit, rad or m, is reported as stopped by it.
NEAR = 1.0e-3


class Solution(NamedTuple):
    """
    What a search has found.

    :param q: the position, inside the joint limits: of all that were tried the nearest.
    :param success: whether every target was reached within the tolerances.
    :param linear_error: largest distance of a frame from its target, m.
    :param angular_error: largest angle between a frame and its target, rad.
    :param iterations: steps of all attempts.
    :param attempts: starts, the first included.
    :param at_limits: joints that the position leaves at a limit.
    :param history: weighted error before each step of the attempt that gave q.
    :param text: the same as a sentence.
    """

    q: Array
    success: bool
    linear_error: float
    angular_error: float
    iterations: int
    attempts: int
    at_limits: tuple[str, ...]
    history: tuple[float, ...]
    text: str

    def require(self) -> Array:
        """
        Return q, or raise an error where the target was not reached.

        :raises RbdError: which names the frames and says how far they are.
        """
        if not self.success:
            raise RbdError(self.text)
        return self.q


class _Problem:
    """Errors and their exact derivatives of some frames, and the room that is left to joints."""

    def __init__(self, robot: Dynamics, targets: Mapping[str, ArrayLike]) -> None:
        self.robot, self.model = robot, robot.model
        self.targets = {name: _target(robot, name, value) for name, value in targets.items()}
        if not self.targets:
            raise RbdError('inverse kinematics needs at least one frame with a target')
        self.lower, self.upper = np.full((2, self.model.nv), np.inf)
        self.lower *= -1.0
        self.of_joint = {}
        self.simple = self.model.nq == self.model.nv
        for name in self.model.independent_joint_names:
            joint = self.model.joint[self.model.joint_index(name)]
            at_q, at_v = self.model.position_slice(name), self.model.velocity_slice(name)
            self.of_joint[name] = at_q
            self.simple &= joint.additive
            if joint.nq == joint.nv and joint.additive:
                self.lower[at_v] = self.model.lower[at_q]
                self.upper[at_v] = self.model.upper[at_q]
        self.low_q, self.high_q = np.array(self.model.lower), np.array(self.model.upper)

    def errors(self, q: Array) -> tuple[Array, float, float]:
        """Return the weighted error of all frames, and the largest of each kind."""
        parts, linear, angular = [], 0.0, 0.0
        for name, (position, R) in self.targets.items():
            pose = self.robot.pose(q, name)
            e = position - pose[:3, 3]
            linear = max(linear, float(np.linalg.norm(e)))
            parts.append(e)
            if R is not None:
                turn = _vector(pose[:3, :3].T @ R)
                angular = max(angular, float(np.linalg.norm(turn)))
                parts.append(RADIAN * turn)
        return np.concatenate(parts), linear, angular

    def jacobian(self, q: Array) -> Array:
        """Return the derivative of what the errors fall by, by the joint velocities."""
        rows = []
        for name, (_, R) in self.targets.items():
            J, pose = self.robot.jacobian(q, name), self.robot.pose(q, name)
            rows.append(pose[:3, :3] @ J[3:])
            if R is not None:
                rows.append(RADIAN * _slope(_vector(pose[:3, :3].T @ R)) @ J[:3])
        return np.concatenate(rows)

    def moved(self, q: Array, step: Array) -> Array:
        """Return the position a step further; a step has room, so that it ends inside limits."""
        if self.simple:
            return q + step
        return np.array(positions.integrate(self.model, q.tolist(), step.tolist()), dtype=float)

    def room(self, q: Array) -> tuple[Array, Array]:
        """Return how far each velocity variable may step down and up."""
        if self.simple:
            return ROOM * (self.low_q - q), ROOM * (self.high_q - q)
        low, high = self.lower.copy(), self.upper.copy()
        for name, at_q in self.of_joint.items():
            at_v = self.model.velocity_slice(name)
            if at_v.stop - at_v.start == at_q.stop - at_q.start:
                low[at_v] -= q[at_q]
                high[at_v] -= q[at_q]
        return ROOM * low, ROOM * high

    def stopped(self, q: Array) -> tuple[str, ...]:
        """Return the joints that are at a limit."""
        near = (q <= self.low_q + NEAR) | (q >= self.high_q - NEAR)
        return tuple(name for name, at_q in self.of_joint.items() if near[at_q].any())


def _target(robot: Dynamics, name: str, value: ArrayLike) -> tuple[Array, Array | None]:
    """Return position and orientation of a target; no orientation where it is a point."""
    robot.model.frame(name)
    target = np.asarray(value, dtype=float)
    if target.shape not in ((3,), (4, 4)):
        raise ShapeError(f'target of frame "{name}" must be a pose (4, 4) or a point (3,), got '
                         f'shape {target.shape}')
    if not np.isfinite(target).all():
        raise NonFiniteError(f'target of frame "{name}" holds NaN or infinity')
    if target.shape == (3,):
        return target, None
    try:
        X = from_homogeneous(target.tolist())
    except ModelError as error:
        raise ModelError(f'target of frame "{name}": {error}') from None
    return np.array(X.r.to_list()), np.array(X.E.to_list()).T


def _vector(R: Array) -> Array:
    """Return the rotation vector of a rotation matrix, half a turn included."""
    return np.array(rotation_vector(Mat3(R.T.tolist())).to_list())


def _slope(e: Array) -> Array:
    """Return the derivative of the rotation vector e of a target by the turn of the frame."""
    x = float(e @ e)
    half = 0.5 * math.sqrt(x)
    k = 1.0 / 12.0 + x / 720.0 if x < 1e-4 else (1.0 - half / math.tan(half)) / x
    K = np.array([[0.0, -e[2], e[1]], [e[2], 0.0, -e[0]], [-e[1], e[0], 0.0]])
    return np.eye(3) - 0.5 * K + k * K @ K


def _bounded_step(J: Array, e: Array, damping: float, low: Array, high: Array) -> Array:
    """
    Return the least d of |J d - e|^2 + damping |d|^2 within bounds.

    Entries outside go to their bound, entries whose bound holds them back for nothing are let go,
    all at once at first, later one at a time, which cannot go round in circles (Murty).
    """
    n = J.shape[1]
    H, g = J.T @ J + damping * np.eye(n), J.T @ e
    side = np.zeros(n, dtype=int)                       # -1 at the lower bound, 1 at the upper
    for k in range(20 * n):
        free = side == 0
        d = np.where(side < 0, low, np.where(side > 0, high, 0.0))
        rest = g[free] - H[np.ix_(free, ~free)] @ d[~free]
        d[free] = np.linalg.solve(H[np.ix_(free, free)], rest)
        slope = H @ d - g
        outside = np.where(free, (d > high).astype(int) - (d < low), 0)
        wrong = (outside != 0) | (side * slope > 0.0)
        if not wrong.any():
            break
        if k >= n:
            wrong &= np.arange(n) == np.flatnonzero(wrong)[-1]
        side = np.where(wrong, outside, side)
    d = np.clip(d, low, high)
    longest = float(np.abs(d).max(initial=0.0))
    return d if longest <= LONGEST else d * (LONGEST / longest)


def inverse_kinematics(
    robot: Dynamics, targets: Mapping[str, ArrayLike], start: ArrayLike | None = None, *,
    linear_tolerance: float = 1e-6, angular_tolerance: float = 1e-6, max_iterations: int = 100,
    restarts: int = 20, seed: int = 0,
) -> Solution:
    """
    Search for joint positions that bring frames to targets; ends after a known number of steps.

    :param targets: by frame, the pose in base coordinates (4, 4), or a point (3,) where the
        orientation does not matter. Any frame of the model, and several at once.
    :param start: where to begin, (nq,); the neutral position by default. Brought inside the
        limits.
    :param linear_tolerance: distance at which a target counts as reached, m.
    :param angular_tolerance: angle, rad.
    :param max_iterations: steps of one attempt.
    :param restarts: random starts after the first attempt has failed.
    :param seed: of the random starts: the same seed gives the same answer.
    """
    problem = _Problem(robot, targets)
    model = robot.model
    begin = np.array(positions.neutral(model) if start is None else start, dtype=float)
    if begin.shape != (model.nq,) or not np.isfinite(begin).all():
        raise ShapeError(f'start must hold nq = {model.nq} finite numbers, got shape '
                         f'{begin.shape}')
    q = np.clip(begin, problem.low_q, problem.high_q)
    rng = np.random.default_rng(seed)
    best: tuple[float, Array, tuple[float, ...]] | None = None
    total = attempts = 0
    tolerances = linear_tolerance, angular_tolerance
    while attempts <= restarts:
        attempts += 1
        end, history, reached = _descend(problem, q, tolerances, max_iterations)
        total += len(history) - 1
        if best is None or reached or history[-1] < best[0]:
            best = history[-1], end, history
        if reached:
            break
        q = np.array(positions.random_position(model, rng), dtype=float)
    if best is None:
        raise RbdError(f'restarts must not be negative, got {restarts}')
    return _report(problem, best[1], best[2], (total, attempts), tolerances)


def _descend(
    problem: _Problem, q: Array, tolerances: tuple[float, float], max_iterations: int,
) -> tuple[Array, tuple[float, ...], bool]:
    """
    Walk downhill from one start; return where that ends, the errors on the way, and success.

    The damping falls with the square of the error, so that the last steps are Newton's, and
    rises after a step that would not have helped.
    """
    e, linear, angular = problem.errors(q)
    history, boost = [float(np.linalg.norm(e))], 1.0
    for _ in range(max_iterations):
        if linear <= tolerances[0] and angular <= tolerances[1]:
            return q, tuple(history), True
        J, (low, high) = problem.jacobian(q), problem.room(q)
        while True:
            damping = boost * (0.1 * float(e @ e) + 1e-12)
            trial = problem.moved(q, _bounded_step(J, e, damping, low, high))
            found = problem.errors(trial)
            if float(found[0] @ found[0]) < float(e @ e):
                break
            boost *= 10.0
            if boost > BOOST_LIMIT:
                return q, tuple(history), False
        q, (e, linear, angular), boost = trial, found, max(0.1 * boost, 1e-3)
        history.append(float(np.linalg.norm(e)))
        if len(history) > PATIENCE and history[-1] > (1.0 - GAIN) * history[-1 - PATIENCE]:
            break
    return q, tuple(history), linear <= tolerances[0] and angular <= tolerances[1]


def _report(
    problem: _Problem, q: Array, history: tuple[float, ...], effort: tuple[int, int],
    tolerances: tuple[float, float],
) -> Solution:
    _, linear, angular = problem.errors(q)
    reached = linear <= tolerances[0] and angular <= tolerances[1]
    stopped = problem.stopped(q)
    names = ', '.join(f'"{name}"' for name in problem.targets)
    steps, attempts = effort
    if reached:
        text = f'frame {names} reached in {steps} steps, {attempts} starts'
    else:
        limits = f'; at their limits: {", ".join(stopped)}' if stopped else ''
        text = (f'frame {names} not reached after {attempts} starts of the search: nearest '
                f'{linear:.3g} m and {angular:.3g} rad from the target{limits}. The target may be '
                'out of reach; give another start, or more restarts')
    return Solution(q, reached, linear, angular, steps, attempts, stopped, history, text)
