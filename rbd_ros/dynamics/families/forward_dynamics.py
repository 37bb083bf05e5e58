# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Forward dynamics: joint accelerations under joint forces (RBDA 6 and 7), loops included (RBDA 8).

A call is more than its kernel for robots with loops, where the rank of the constraints is decided
near singularities, and for those with bodies without inertia between others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
import math

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms import aba, gears
from rbd_ros.algorithms.linear import ltl
from rbd_ros.algorithms.other_forms.hinged import is_hinged
from rbd_ros.algorithms.other_forms.planar import is_planar
from rbd_ros.compiler import Argument, Array, Kernel
from rbd_ros.compiler.arguments import unshared
from rbd_ros.dynamics.families.joint_space import (
    bias_3d, bias_planar, INVERSE_DYNAMICS, mass_matrix_planar)
from rbd_ros.dynamics.families.loops import motion
from rbd_ros.dynamics.families.tree import GRAVITY, inertia, Results, sparsity
from rbd_ros.dynamics.kernels.existence import has_weak_body
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.quantity import Call, Choice, Computation, OnLoops, Quantity, Traits
from rbd_ros.dynamics.state import State
from rbd_ros.errors import SingularError
from rbd_ros.model import tree_cost
from rbd_ros.model.model import Model

#: Largest difference of forces, relative to the largest force, of a result that is returned.
WRONG = 1e-6

# --- rules ----------------------------------------------------------------------------------


def forward_dynamics_by_inertia(s: State) -> Results:
    """Return qdd by solving H qdd = tau - C (RBDA 6)."""
    C = bias_3d(s)['tau']
    rhs = [t - c for t, c in zip(s.tau, C, strict=True)]                                   # 6.1
    return {'qdd': ltl.solve(inertia(s), sparsity(s.model), rhs)}


def forward_dynamics_planar(s: State) -> Results:
    """Return qdd through the inertia matrix, in planar vectors."""
    C, H = bias_planar(s)['tau'], mass_matrix_planar(s)['H']
    rhs = [t - c for t, c in zip(s.tau, C, strict=True)]                                   # 6.1
    return {'qdd': ltl.solve([list(row) for row in H], sparsity(s.model), rhs)}


def forward_dynamics_by_bodies(s: State) -> Results:
    """Return qdd by articulated bodies (RBDA Table 7.1), joints that follow others as clusters."""
    if s.model.coupling is not None:
        return {'qdd': gears.aba(s.model, s.inputs['q'], s.inputs['qd'], s.tau, s.conditions)}
    return {'qdd': aba.aba(
        s.model, s.q, s.qd, s.tau, s.conditions, s.model.rotor_inertia).qdd}


def suits_inertia_matrix(model: Model) -> bool:
    """Return whether forward dynamics through H may pay, so that tracing it is worth the time."""
    return model.coupling is not None or tree_cost.may_use_inertia_matrix(model.parent)


def suits_planar_inertia_matrix(model: Model) -> bool:
    """Return the same for planar vectors, whose forces cost a quarter to carry."""
    return tree_cost.may_use_inertia_matrix(model.parent, margin=6.0)


# --- calls ----------------------------------------------------------------------------------


def sure_call(store: KernelStore, item: Computation) -> Call:
    """Return a call of forward dynamics that gives a right answer, or an error."""
    model, loops = store.model, store.loops
    if not model.loops:
        call = store.plain_call(item)
        if not has_weak_body(model):
            return call
        inverse = partial(store.call, INVERSE_DYNAMICS, loaded='f_ext' in item.inputs)
        return watched(call, inverse, model.name)
    if loops.massless:
        arguments = [Argument(name, store.shapes[name]) for name in item.inputs]
        return _FunctionKernel(
            item.quantity.name, arguments, Argument('qdd', (model.nv,)),
            loops.accelerations).caller()
    # near a singularity NaN asks for a decision on the rank, which follows
    regular = store.plain_call(item, explain=False)

    def decided(*arrays: ArrayLike, out: Array | None = None) -> Array:
        if out is None:
            qdd: Array = regular(*arrays)
        else:               # what is written over must be known, should the rank be decided
            arrays = unshared(arrays, out)
            qdd = regular(*arrays, out=out)
        first = qdd.item(0) if qdd.ndim == 1 else qdd.sum()
        return _filled(store, qdd, arrays) if math.isnan(first) else qdd
    return decided


class _FunctionKernel(Kernel):
    """
    A function of one state as a kernel, for what decides by its values and cannot be traced.

    :param inputs: names and shapes of the arguments.
    :param output: name and shape of the result.
    :param function: of one state.
    """

    backend = 'numpy'

    def __init__(
        self, name: str, inputs: Sequence[Argument], output: Argument,
        function: Callable[..., Array],
    ) -> None:
        self.name, self.inputs, self.outputs = name, tuple(inputs), (output,)
        self._function = function

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute the result of one state, unchecked."""
        outputs[0][...] = self._function(*inputs)

    def run_batch(self, inputs: Sequence[Array], batched: Sequence[bool],
                  outputs: Sequence[Array], count: int, threads: int | None) -> None:
        """Compute the results of many states, one by one."""
        rows = ([x[k] if many else x for x, many in zip(inputs, batched, strict=True)]
                for k in range(count))
        outputs[0][...] = [self._function(*row) for row in rows]    # an output may be an input


def _filled(store: KernelStore, qdd: Array, arrays: Sequence[ArrayLike]) -> Array:
    """Return accelerations with those found that the regular solution has left open."""
    model = store.model
    shapes = ((model.nq,), (model.nv,), (model.nv,), (model.nb, 6))
    rows = [np.broadcast_to(np.asarray(x, float), (*qdd.shape[:-1], *shape))
            for x, shape in zip(arrays, shapes)]
    for at in np.argwhere(np.isnan(qdd[..., 0])).tolist():
        place = tuple(at)
        state = [np.ascontiguousarray(row[place]) for row in rows]
        qdd[place] = store.loops.accelerations(*state)
    return qdd


def watched(call: Call, inverse: Callable[[], Call], name: str) -> Call:
    """
    Return forward dynamics whose result is checked by inverse dynamics.

    Where bodies without inertia are between others, H is regular but at some positions, and near
    them nothing is left of the digits of a result.

    :param call: of forward dynamics.
    :param inverse: returns that of inverse dynamics, with external forces where ``call`` has them.
    :param name: of the robot.
    """
    def checked(*arrays: ArrayLike, out: Array | None = None) -> Array:
        arrays = unshared(arrays, out)
        qdd = call(*arrays, out=out)
        q, qd, tau, *f_ext = arrays
        given = np.asarray(tau, float)
        off = np.abs(inverse()(q, qd, qdd, *f_ext) - given).max(axis=-1, initial=0.0)
        bias = inverse()(q, qd, np.zeros_like(qdd), *f_ext)
        size = np.maximum(np.abs(bias), np.abs(given)).max(axis=-1, initial=0.0)
        if np.any(off > WRONG * size):
            raise SingularError(
                f'forward_dynamics of "{name}": the inertia matrix is so nearly singular at this '
                f'position that the forces of the result differ by {np.max(off):.1e} from tau; '
                'move away from it, or give bodies without inertia one, or joints a rotor inertia')
        return qdd
    return checked


# --- rows of the table ----------------------------------------------------------------------

FORWARD_DYNAMICS = Quantity(
    'forward_dynamics', ('q', 'qd', 'tau'), environment=GRAVITY,
    rules={'crba': forward_dynamics_by_inertia, 'aba': forward_dynamics_by_bodies,
           'planar': forward_dynamics_planar},
    choice=Choice(
        where={'planar': is_planar, 'sparse': motion.suits_tree, 'hinged': is_hinged,
               'sparse_planar': motion.suits_planar_tree},
        compared=('crba', 'aba', 'planar'),
        worth={'crba': suits_inertia_matrix, 'planar': suits_planar_inertia_matrix},
        last_resort=('hinged',)),
    loops=OnLoops(
        rules={'sparse': motion.forward_dynamics,
               'sparse_planar': motion.forward_dynamics_planar,
               'hinged': motion.forward_dynamics_hinged},
        environment=('stabilization',), regular=True),
    traits=Traits(finite=True, solves='joints', call=sure_call),
    meaning='qdd under joint forces tau (RBDA 6 and 7), loops included (RBDA 8)')

# --- methods --------------------------------------------------------------------------------


class ForwardDynamicsMethods(Family):
    """Accelerations under forces."""

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, *,
        method: str | None = None, out: Array | None = None,
    ) -> Array:
        """
        Return the joint accelerations under joint forces ``tau``.

        :param f_ext: as for ``inverse_dynamics``.
        :param method: ``'aba'`` (articulated bodies, RBDA 7.3), ``'crba'`` (inertia matrix,
            RBDA 6); None takes the one with fewer operations for this robot. A robot with closed
            loops has ``'sparse'`` (RBDA 8.5), a planar one of hinges also ``'hinged'`` (RBDA
            8.13), whose cost grows as the loops; see ``loop_dynamics`` for others and for details.
        :returns: qdd, (nv,).
        """
        if f_ext is not None:
            call = self._store.call(FORWARD_DYNAMICS, loaded=True, method=method)
            return call(q, qd, tau, f_ext, out=out)
        if method is None and out is None:
            return self._calls[FORWARD_DYNAMICS](q, qd, tau)
        return self._store.call(FORWARD_DYNAMICS, method=method)(q, qd, tau, out=out)
