# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Inverse kinematics by iteration that always ends (guide to 6-D vectors, part 2, eqs 15 and 16).

The guide's loop, dq = J^T (J J^T)^-1 dp until dp is small, stops at singular poses, passes joint
limits, takes half a turn for no error, and never ends on a target out of reach. Here each step is
a damped least-squares problem within the joint limits, taken only if it brings the frames nearer;
a search that stalls starts again from another position, a given number of times; and what comes
back says whether the target was reached, and if not, by how much and why. One step is one kernel
(:mod:`rbd_ros.dynamics.families.reaching.step`); many targets take their steps side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Argument, Array
from rbd_ros.compiler.arguments import check_finite, converted
from rbd_ros.dynamics.families.reaching.search import InverseKinematics, Search
from rbd_ros.dynamics.families.reaching.step import Aim
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.kernels.no_result import impossible_position
from rbd_ros.errors import ModelError, NonFiniteError, RbdError, ShapeError
from rbd_ros.model.model import Model

#: Entries of R^T R - 1 of a target may be this large.
ROTATION = 1e-6
_ONE = np.eye(3)


def _numbers(name: str, value: ArrayLike) -> tuple[Array, bool]:
    """Return the target of a frame as the kernel takes it, and whether its orientation counts."""
    target = converted(Argument(f'target of frame "{name}"', (4, 4)), value)
    if target.shape[-1:] != (3,) and target.shape[-2:] != (4, 4) or target.ndim > 3 or (
            target.shape[-1:] == (3,) and target.ndim > 2):
        raise ShapeError(f'target of frame "{name}" must be a pose (4, 4) or a point (3,), or '
                         f'(count, 4, 4) or (count, 3) for many, got shape {target.shape}')
    if not np.isfinite(target).all():
        raise NonFiniteError(f'target of frame "{name}" holds NaN or infinity')
    if target.shape[-1] == 3:
        return target, False
    R, lead = target[..., :3, :3], target.shape[:-2]
    if (target[..., 3, :] != [0.0, 0.0, 0.0, 1.0]).any():
        raise ModelError(f'target of frame "{name}": a pose is a 4 x 4 matrix whose last row is '
                         '0 0 0 1')
    wrong = np.abs(np.swapaxes(R, -1, -2) @ R - _ONE).max(initial=0.0)
    if not wrong < ROTATION or (np.linalg.det(R) < 0.0).any():
        raise ModelError(f'target of frame "{name}": the upper left 3 x 3 of a pose must be a '
                         'rotation matrix')
    return np.concatenate([R.reshape(*lead, 9), target[..., :3, 3]], axis=-1), True


def _assembled(parts: Mapping[str, Array]) -> Array:
    """Return the targets of all frames side by side, each for one or for as many rows."""
    counts = {name: len(part) for name, part in parts.items() if part.ndim == 2}
    if not counts:
        return np.concatenate(list(parts.values()))
    if len(set(counts.values())) > 1:
        raise ShapeError('targets of frames must be as many as each other, got ' + ', '.join(
            f'{count} of "{name}"' for name, count in counts.items()))
    count = next(iter(counts.values()))
    return np.concatenate([np.broadcast_to(part, (count, part.shape[-1]))
                           for part in parts.values()], axis=1)


def _begin(search: Search, start: ArrayLike | None, model: Model) -> Array:
    """Return the starts, (nq,) or (count, nq), inside the limits."""
    if start is None:
        return search.neutral
    nq = model.nq
    begin = converted(Argument('start', (nq,)), start)
    if begin.ndim not in (1, 2) or begin.shape[-1] != nq:
        raise ShapeError(f'start must hold nq = {nq} finite numbers, or (count, {nq}), got shape '
                         f'{begin.shape}')
    check_finite('start', begin)
    if nq != model.nv:                          # there are quaternions
        for k, q in enumerate(np.atleast_2d(begin).tolist()):
            if reason := impossible_position(model, q):
                raise NonFiniteError(f'start{f"[{k}]" if begin.ndim == 2 else ""}: {reason}')
    return search.clipped(begin)


class ReachingMethods(Family):
    """Positions that bring frames to targets."""

    @cached_property
    def _searches(self) -> Callable[..., Search]:
        return self._store.remembered(Search)

    def inverse_kinematics(
        self, targets: Mapping[str, ArrayLike], start: ArrayLike | None = None, *,
        linear_tolerance: float = 1e-6, angular_tolerance: float = 1e-6,
        max_iterations: int = 100, restarts: int = 20, seed: int = 0,
    ) -> InverseKinematics:
        """
        Search for joint positions that bring frames to targets, within the joint limits.

        It ends after a known number of steps and says how near it came. Many targets, with a
        leading axis, are searched for side by side.

        :param targets: by frame, the pose in base coordinates (4, 4), or a point (3,) where the
            orientation does not matter. Any frame of the model, and several at once.
        :param start: where to begin, (nq,), such as the position of now; the neutral position by
            default. (count, nq) for one start for each of many targets. Brought inside the limits.
        :param linear_tolerance: distance at which a target counts as reached, m.
        :param angular_tolerance: angle, rad.
        :param max_iterations: steps of one attempt.
        :param restarts: random starts after the first attempt has failed.
        :param seed: of the random starts: the same seed gives the same answer.
        """
        if restarts < 0:
            raise RbdError(f'restarts must not be negative, got {restarts}')
        if max_iterations < 0:
            raise RbdError(f'max_iterations must not be negative, got {max_iterations}')
        for label, tolerance in (('linear', linear_tolerance), ('angular', angular_tolerance)):
            if not 0.0 < tolerance < np.inf:
                raise RbdError(f'{label}_tolerance is {tolerance}; it must be positive and finite')
        if not targets or not isinstance(targets, Mapping):
            raise RbdError('inverse kinematics needs at least one frame with a target, as in '
                           '{"tool0": pose}')
        parts, aims = {}, []
        for name, value in targets.items():
            frame = self.model.frame(name)
            parts[name], oriented = _numbers(name, value)
            aims.append(Aim(frame, oriented))
        search, target = self._searches(tuple(aims)), _assembled(parts)
        begin = _begin(search, start, self.model)
        settings = (linear_tolerance, angular_tolerance), max_iterations, restarts, seed
        if target.ndim == begin.ndim == 1:
            return search.one(begin, target, *settings)
        count = len(target) if target.ndim == 2 else len(begin)
        if begin.ndim == 2 and len(begin) != count:
            raise ShapeError(f'start holds {len(begin)} positions, there are {count} targets: '
                             'give one for each, or one for all')
        return search.many(np.broadcast_to(begin, (count, self.model.nq)).copy(),
                           np.broadcast_to(target, (count, target.shape[-1])), *settings)
