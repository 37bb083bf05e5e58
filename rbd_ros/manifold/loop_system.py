# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A model with loop joints as a constrained system, with the derivatives of its constraints."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.loops import loop_joints
from rbd_ros.compiler import (
    Array, compile as compile_graphs, Graph, jacobian, Kernel, Scalar, trace, Values)
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import ModelError
from rbd_ros.manifold.constrained import TreeSystem
from rbd_ros.model import positions


class LoopSystem(TreeSystem):
    """
    A robot with closed loops, for the methods of :mod:`rbd_ros.manifold`.

    The constraints are those of its loop joints, redundant rows included: charts and projections
    take as many as there are independent ones. The derivatives of K and k are compiled on first
    use, from the functions that K and k are compiled from.

    :param robot: of a model with loop joints, whose joints do not follow each other.
    """

    def __init__(self, robot: Dynamics) -> None:
        model = robot.model
        if not model.loops:
            raise ModelError(f'"{model.name}" has no closed loops; a tree needs no constraint')
        if model.coupling is not None or model.time_dependent:
            raise ModelError(f'"{model.name}" has joints that follow others or move with time; '
                             'a constrained system takes joints that do neither')
        super().__init__(robot.sibling(model=model.spanning_tree))
        self.closed = robot
        self.nominal_rank = robot.loop_report.rank

    def constraint(self, q: Array) -> Array:
        """Return by how much the loops are open, rad and m."""
        return self.closed.loop_error(q)

    def jacobian(self, q: Array) -> Array:
        """Return K."""
        return self.closed.loop_jacobian(q)

    def constraint_bias(self, q: Array, qd: Array) -> Array:
        """Return k, without stabilisation."""
        return np.asarray(self._kernels[2](q, qd))

    def jacobian_derivative(self, q: Array, w: Array) -> Array:
        """Return the derivative of K w by position."""
        return np.asarray(self._kernels[0](q, w)) @ self._velocities(q)

    def constraint_bias_derivatives(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the derivatives of k."""
        by_q, by_qd = self._kernels[1](q, qd)
        return by_q @ self._velocities(q), by_qd

    def _velocities(self, q: Array) -> Array:
        """Return dq/dt by the velocity variables, (nq, nv)."""
        return np.array([positions.q_dot(self.model, q.tolist(), e)
                         for e in np.eye(self.nv).tolist()], float).T

    @cached_property
    def _kernels(self) -> list[Kernel]:
        """Return d(K w)/dq, the derivatives of k by q and qd, and k."""
        model, size = self.closed.model, {'q': self.model.nq, 'qd': self.nv}

        def moved(q: Values, qd: Values) -> dict[str, list[Scalar]]:
            return {'v': dense.apply(loop_joints.jacobian(model, q), qd)}

        def bias(q: Values, qd: Values) -> dict[str, list[Scalar]]:
            return {'k': loop_joints.constraints(model, q, qd).k}

        k: Graph = trace(bias, size, name='loop_bias')
        return compile_graphs([
            jacobian(trace(moved, size, name='loop_velocity'), 'v', 'q'),
            jacobian(k, 'k', ('q', 'qd')), k])
