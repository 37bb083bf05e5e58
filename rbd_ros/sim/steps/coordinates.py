# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The configuration space of a model: how positions change along velocities.

The coordinate of most joints simply adds up; quaternions and the like do not. ``Coordinates``
knows which is which, so that the integrators need not. Works on lists of plain or traced scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

from rbd_ros.compiler import Scalar, Values, where
from rbd_ros.errors import ModelError
from rbd_ros.model import positions
from rbd_ros.model.model import Model


class Coordinates:
    """
    Moves positions of a model along velocities.

    :param model: the robot; mimic joints have no coordinates of their own and do not appear here.
    """

    def __init__(self, model: Model) -> None:
        self._model, self.nq, self.nv = model, model.nq, model.nv
        self._single: list[tuple[int, int]] = []
        self._others: list[tuple[slice, slice]] = []
        for name in model.independent_joint_names:
            joint = model.joint[model.joint_index(name)]
            q, v = model.position_slice(name), model.velocity_slice(name)
            if joint.nq == joint.nv == 1 and joint.additive:
                self._single.append((q.start, v.start))
                continue
            if joint.nq == joint.nv == 1 and (
                    math.isfinite(model.lower[q.start]) or math.isfinite(model.upper[q.start])):
                raise ModelError(
                    f'joint "{name}" has a limit and a q_dot of its own: a simulated stop acts '
                    'on joints whose position changes with their velocity; leave the limit out')
            self._others.append((q, v))

    @property
    def single(self) -> Sequence[tuple[int, int]]:
        """Return the indices into q and v of all joints with a single additive coordinate."""
        return self._single

    def neutral(self) -> list[float]:
        """Return the position in which every joint is at zero."""
        return positions.neutral(self._model)

    def integrate(self, q: Values, step: Values) -> list[Scalar]:
        """
        Return the position reached from ``q`` by moving along ``step``.

        :param step: velocity times time, (nv,).
        """
        return positions.integrate(self._model, q, step)

    def q_dot(self, q: Values, v: Values) -> list[Scalar]:
        """Return the rate of change of the entries of ``q`` at velocity ``v``."""
        return positions.q_dot(self._model, q, v)

    def normalise(self, start: Values, q: Values) -> list[Scalar]:
        """
        Return the valid position nearest to ``q``, which was reached from ``start``.

        :param q: entries that were added up and may no longer be valid, such as a quaternion that
            has lost its unit length.
        """
        return positions.normalise(self._model, start, q)

    def hold_joints(self, held_velocities: Values, old: Values, new: Values) -> list[Scalar]:
        """
        Return ``new``, but with the positions of ``old`` for joints whose velocities are all held.

        :param held_velocities: 1.0 for each velocity that is held at zero, else 0.0.
        """
        out = list(new)
        for i, j in self._single:
            out[i] = where(held_velocities[j], old[i], new[i])
        for at_q, at_v in self._others:
            every: Scalar = 1.0
            for flag in held_velocities[at_v]:
                every = every * flag
            for i in range(at_q.start, at_q.stop):
                out[i] = where(every, old[i], new[i])
        return out
