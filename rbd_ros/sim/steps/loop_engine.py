# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The step of a robot with closed loops: compiled, and in NumPy near a singularity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.loops import closure
from rbd_ros.compiler import Array, Rows, Scalar, Values
from rbd_ros.dynamics.families.tree import sparsity
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.dynamics.state import State
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.pattern import Pattern
from rbd_ros.sim.contact.soft_world import touching
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.engine import bound_step, PlainEngine
from rbd_ros.sim.steps.loop_step import closed, Loops, NEWTON_STEPS, stiffened
from rbd_ros.sim.steps.step import advance, Plant, total
from rbd_ros.sim.steps.turning import Turning


class LoopEngine:
    """
    One step of a robot with closed loops, whose result is projected onto them.

    The kernel assumes that the constraints have their usual rank. Where it returns NaN, near a
    singularity, the step is taken in NumPy, which determines the rank.

    :param model: the robot.
    :param integrator: ``'rk4'`` or ``'semi_implicit'``.
    :param soft: which bodies may touch soft obstacles. Their forces act on the bodies of the tree,
        before the constraints are solved.
    :param backend: as for :class:`rbd_ros.Dynamics`.
    :raises LoopError: for a mechanism that cannot be assembled, or cannot move.
    """

    def __init__(
        self, model: Model, integrator: str, *, soft: Pattern | None = None,
        backend: str = 'auto',
    ) -> None:
        self.dynamics = robot = Dynamics(model, backend=backend)
        #: Number of steps taken in NumPy.
        self.singular = 0
        self._kernel = bound_step(
            robot, integrator, soft, lambda s: _advanced(s, integrator, soft))
        self._mobility = robot.loop_report.mobility
        self.inputs: Mapping[str, Array] = self._kernel.inputs
        self.outputs: Mapping[str, Array] = self._kernel.outputs
        self._space = Coordinates(model)
        self._plain = PlainEngine(
            model, integrator, robot.forward_dynamics, self.inertia, soft, robot.set_time)
        self._plain.inputs = dict(self.inputs)

    def __call__(self) -> None:
        """Compute one step."""
        self._kernel()
        if not math.isfinite(self.outputs['status'][1]):
            self.step_in_numpy()

    def assembled(self, q: ArrayLike, fixed: Sequence[str] = ()) -> Array:
        """
        Return the nearest position to q at which the loops are closed.

        :param fixed: joints to keep where they are; ignored if they have more freedoms than the
            mechanism.
        :raises LoopError: if there is none.
        """
        model = self.dynamics.model
        held = sum(model.joint[model.joint_index(name)].nv for name in fixed)
        if held > self._mobility:
            fixed = ()
        return self.dynamics.assemble(q, fixed).require()

    def inertia(self, q: Array) -> Array:
        """Return the inertia that impulses act on: it resists opening the loops."""
        H, K = self.dynamics.mass_matrix(q), self.dynamics.loop_jacobian(q)
        scale = np.einsum('ij,ji->i', K, np.linalg.solve(H, K.T))
        return np.array(stiffened(H.tolist(), K.tolist(), scale.tolist()))

    def step_in_numpy(self) -> None:
        """Take the step in NumPy, which determines the rank of the constraints."""
        self.singular += 1
        self._plain()
        robot, results = self.dynamics, self._plain.outputs
        if 'time' in self.inputs:
            robot.set_time(float(self.inputs['time'][0] + self.inputs['setting'][0]))
        q, v = results['q'], results['v']
        if np.isfinite(q).all() and np.isfinite(v).all() and v.any():
            H = robot.mass_matrix(q)
            for _ in range(NEWTON_STEPS):
                step = closure.nearest_motion(
                    H, robot.loop_jacobian(q), -robot.loop_error(q), np.zeros_like(v),
                    robot.loop_report.rank)
                q[:] = self._space.integrate(q.tolist(), step.tolist())
            v[:] = robot.consistent_velocity(q, v)
        for name, values in results.items():
            self.outputs[name][:] = values


def _advanced(s: State, integrator: str, soft: Pattern | None) -> dict[str, Sequence[Any]]:
    """Return the results of a step, with the state projected onto the loops."""
    t = s.conditions.t
    loops, end = _loops(s, t), _loops(s, t + s.inputs['setting'][0])

    def forward(q: Values, v: Values, tau: Values, f_ext: Rows, t: Scalar) -> Values:
        return s.compute('forward_dynamics', q=q, qd=v, tau=tau, f_ext=f_ext, time=[t],
                         stabilization=[0.0, 0.0])

    def inertia(q: Values) -> Rows:
        return stiffened(loops.inertia(q), loops.jacobian(q), loops.nominal.scale)
    plant = Plant(loops.space, range(-1, s.model.nv - 1), forward, inertia,
                  Turning(s.model, loops.space))
    results = advance(plant, integrator, s.inputs, touching(s.model, soft, s.inputs))
    q, v = closed(end, results['q'], results['v'])
    return {**results, 'q': q, 'v': v, 'status': [results['status'][0], total([*q, *v])]}


def _loops(s: State, t: Scalar) -> Loops:
    """Return the loops at a time."""
    now = [t]
    return Loops(
        Coordinates(s.model), sparsity(s.model),
        inertia=lambda q: s.compute('mass_matrix', q=q, time=now, f_ext=None),
        jacobian=lambda q: s.compute('loop_jacobian', q=q, time=now, f_ext=None),
        error=lambda q: s.compute('loop_error', q=q, time=now, f_ext=None),
        velocity=lambda q, v: s.compute('loop_velocity', q=q, qd=v, time=now, f_ext=None),
        nominal=s.surroundings.nominal())
