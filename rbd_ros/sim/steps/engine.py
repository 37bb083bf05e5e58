# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Engines that compute a step: as a single kernel, or in plain Python around any dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from rbd_ros.compiler import Array, Bound, Rows, Scalar, Values
from rbd_ros.dynamics.families.tree import sparsity
from rbd_ros.dynamics.kernels.existence import refuse_massless
from rbd_ros.dynamics.quantity import OnLoops, Quantity, Rule
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.dynamics.state import State
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.pattern import Pattern
from rbd_ros.sim.contact.soft_world import soft_shapes, touching
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.step import advance, input_shapes, Plant
from rbd_ros.sim.steps.turning import Turning

ForwardDynamics = Callable[[Array, Array, Array, Array | None], Array]
MassMatrix = Callable[[Array], Array]

#: Most bodies for which the inertia matrix takes fewer operations than articulated bodies.
_MAX_CRBA_BODIES = 9


class Engine(Protocol):
    """A call that computes one step from the buffers ``inputs`` into the buffers ``outputs``."""

    @property
    def inputs(self) -> Mapping[str, Array]:
        """Return the array of each input."""

    @property
    def outputs(self) -> Mapping[str, Array]:
        """Return the array of each output."""

    def __call__(self) -> None:
        """Compute one step."""


def compiled_engine(
    model: Model, integrator: str, *, soft: Pattern | None = None, backend: str = 'auto',
    cached: bool = True, progress: Callable[[str, float], None] | None = None,
) -> Engine:
    """
    Return the whole step of a robot as one kernel.

    :param model: the robot; gravity is an input of the kernel, initially that of the model.
    :param integrator: ``'rk4'`` or ``'semi_implicit'``.
    :param soft: which bodies may touch soft obstacles, and the kinds of these; their positions
        and sizes are inputs.
    :param backend: as for :class:`rbd_ros.Dynamics`.
    :param cached: whether machine code is kept on disk.
    :param progress: called with the name of the kernel and the fraction done.
    """
    model.refuse_loops(f'step_{integrator}')
    robot = Dynamics(model, backend=backend, cache=cached, progress=progress)
    return bound_step(robot, integrator, soft, lambda s: advance(
        _plant(s), integrator, s.inputs, touching(s.model, soft, s.inputs)))


def bound_step(robot: Dynamics, integrator: str, soft: Pattern | None, rule: Rule) -> Bound:
    """Return the kernel of a step, made from its rule."""
    model, rules = robot.model, {'rule': rule}
    refuse_massless(model, 'forward_dynamics')
    shapes = input_shapes(model.nq, model.nv, model.nb) | soft_shapes(soft)
    own = {name: shape for name, shape in shapes.items() if name not in ('q', 'f_ext')}
    robot.add(Quantity(
        f'step_{integrator}', tuple(shapes), environment=('gravity',), shapes=own, rules=rules,
        loops=OnLoops(rules, regular=True), key=(integrator, bool(model.loops), soft),
        modules=(__name__.rpartition('.')[0], 'rbd_ros.sim.contact')))
    return robot.bind(f'step_{integrator}')


def _plant(s: State) -> Plant:
    model = s.model
    method = 'aba' if model.nb > _MAX_CRBA_BODIES else 'crba'

    def forward(q: Values, v: Values, tau: Values, f_ext: Rows, t: Scalar) -> Values:
        return s.compute('forward_dynamics', method=method, q=q, qd=v, tau=tau, f_ext=f_ext,
                         time=[t])

    def inertia(q: Values) -> Rows:
        return s.compute('mass_matrix', q=q, f_ext=None)
    space = Coordinates(model)
    return Plant(space, sparsity(model), forward, inertia, Turning(model, space))


class PlainEngine:
    """
    The same step in plain Python around any forward dynamics.

    :param model: the robot.
    :param integrator: ``'rk4'`` or ``'semi_implicit'``.
    :param forward_dynamics: qdd(q, qd, tau, f_ext), where f_ext is None or (nb, 6).
    :param mass_matrix: H(q); computed from ``forward_dynamics`` when not given.
    :param soft: which bodies may touch soft obstacles.
    :param set_time: tells the dynamics the time of the calls that follow, s.
    """

    def __init__(
        self, model: Model, integrator: str, forward_dynamics: ForwardDynamics,
        mass_matrix: MassMatrix | None = None, soft: Pattern | None = None,
        set_time: Callable[[float], None] | None = None,
    ) -> None:
        self._set_time = set_time
        self._model, self._integrator, self._soft = model, integrator, soft
        self._forward = forward_dynamics
        self._mass = mass_matrix or self._mass_by_columns
        # The structure of H is unknown here: assume a chain, for which no entry is zero.
        space = Coordinates(model)
        self._plant = Plant(space, range(-1, model.nv - 1), self._acceleration,
                            lambda q: self._mass(np.array(q)).tolist(), Turning(model, space))
        shapes = input_shapes(model.nq, model.nv, model.nb) | soft_shapes(soft)
        self.inputs: dict[str, Array] = {
            name: np.zeros(shape) for name, shape in shapes.items()}
        sizes = {'q': model.nq, 'status': 2}
        self.outputs: dict[str, Array] = {name: np.zeros(sizes.get(name, model.nv)) for name in (
            'q', 'v', 'motor', 'contact', 'held', 'sign', 'w', 'status')}
        if soft is not None:
            self.outputs |= {'contact_forces': np.zeros((len(soft.pairs), 6)),
                             'new_dents': np.zeros(shapes['dents'])}

    def __call__(self) -> None:
        """Compute one step."""
        x = {name: array.tolist() for name, array in self.inputs.items()}
        if self._set_time is not None and 'time' in x:
            self._set_time(x['time'][0])
        touch = touching(self._model, self._soft, x)
        for name, values in advance(self._plant, self._integrator, x, touch).items():
            self.outputs[name][:] = values

    def _acceleration(
        self, q: Values, v: Values, tau: Values, f_ext: Rows, t: Scalar,
    ) -> Values:
        force = np.array(f_ext)
        if self._set_time is not None:
            self._set_time(float(t))
        return self._forward(np.array(q), np.array(v), np.array(tau),
                             force if force.any() else None).tolist()

    def _mass_by_columns(self, q: Array) -> Array:
        """Return H from forward dynamics alone: H^-1 maps torques to accelerations."""
        zero = np.zeros(len(self.inputs['v']))
        bias = self._forward(q, zero, zero, None)
        columns = [self._forward(q, zero, unit, None) - bias for unit in np.eye(len(zero))]
        H = np.linalg.inv(np.array(columns))
        return 0.5 * (H + H.T)
