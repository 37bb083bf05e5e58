# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Rules for the operational space of handles, one for each method.

Methods through articulated bodies know nothing of joints that follow others; ``where`` of the
rows leaves them out there. A direction that a mask switches off is a row of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from rbd_ros.algorithms import aba
from rbd_ros.algorithms.handles import many_handles, opspace, propagators
from rbd_ros.algorithms.handles.opspace import Handle
from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.loops.motion import constrained_columns
from rbd_ros.compiler import Matrix, Scalar
from rbd_ros.dynamics.families.frames import task_jacobian
from rbd_ros.dynamics.families.joint_space import bias_3d
from rbd_ros.dynamics.families.loops.constraints import doubt_of, on_tree
from rbd_ros.dynamics.families.loops.motion import regular, solved
from rbd_ros.dynamics.families.tree import inertia, moves_freely, Results, sparsity, tree
from rbd_ros.dynamics.handle_inputs import mask_of
from rbd_ros.dynamics.quantity import Rule
from rbd_ros.dynamics.state import State
from rbd_ros.model.model import Model

Method = Callable[[State], Matrix]

# --- by projection --------------------------------------------------------------------------


def _task(s: State) -> tuple[Matrix, list[Scalar]]:
    """Return the Jacobian and the velocity-product acceleration, zero where a mask is."""
    J = task_jacobian(s, s.target)
    rate = opspace.task_bias(s.model, s.q, s.qd, s.target, s.conditions.t, s.g)
    mask = mask_of(s.target)
    if mask is None:
        return J, rate
    return opspace.masked(J, mask), [m * a for m, a in zip(mask, rate, strict=True)]


def _project(s: State) -> opspace.Projection:
    J, rate = _task(s)
    return opspace.project(inertia(s), sparsity(s.model), bias_3d(s)['tau'], J, rate)


def projection(s: State) -> Results:
    """Return what the projection method knows without the inverse of Phi."""
    return _project(s)._asdict()


def operational_space(s: State) -> Results:
    """Return the operational space of some handles by the projection method (RBDA 7.2)."""
    return space(s, _project(s))


def space(s: State, p: opspace.Projection) -> Results:
    """Return the operational space that belongs to a projection: all that needs Lambda."""
    mask = mask_of(s.target)
    Phi = p.Phi if mask is None else opspace.without_masked(p.Phi, mask)
    Lambda, condition, *_ = opspace.conditioned_inverse(Phi, s.inputs['max_condition'][0])
    if mask is not None:
        Lambda = opspace.masked(list(zip(*opspace.masked(Lambda, mask), strict=True)), mask)
    bias = [-dense.dot(row, p.b) for row in Lambda]                                        # 7.13
    columns = list(zip(*Lambda, strict=True))
    J_bar = [[dense.dot(row, column) for column in columns] for row in p.HinvJT]
    return {'Lambda': Lambda, 'bias': bias, 'J': p.J, 'J_bar': J_bar,
            'condition': [condition], 'Phi': p.Phi, 'b': p.b}


# --- on robots with closed loops ------------------------------------------------------------


def _project_with_loops(s: State) -> opspace.Projection:
    """Return what handles feel of a robot whose loops take part of every force (RBDA 7.2, 8.5)."""
    on = on_tree(s)
    J, rate = _task(s)
    passive = s._replace(tau=[0.0] * s.model.nv)
    H, C = inertia(on), bias_3d(on)['tau']
    free = solved(passive, H, C)
    columns = constrained_columns(
        H, sparsity(s.model), free.K, s.surroundings.nominal(), J)
    doubt = doubt_of(regular(free.motion))
    columns = [[x + doubt for x in column] for column in columns]
    m = len(J)
    Phi = dense.zeros(m, m)
    for i in range(m):
        for j in range(i + 1):
            Phi[i][j] = Phi[j][i] = dense.dot(J[i], columns[j])
    b = [a + dense.dot(row, free.motion.qdd) for a, row in zip(rate, J, strict=True)]
    return opspace.Projection(J, Phi, b, dense.transposed(columns, s.model.nv))


def projection_with_loops(s: State) -> Results:
    """Return what the projection method knows without the inverse of Phi."""
    return _project_with_loops(s)._asdict()


def operational_space_with_loops(s: State) -> Results:
    """Return the operational space of handles on a robot with loops."""
    return space(s, _project_with_loops(s))


# --- by each method -------------------------------------------------------------------------


def _counting(s: State) -> tuple[Handle, ...]:
    """Return the handles with zeros in the directions that do not count now."""
    return tuple(
        handle if handle.mask is None else handle._replace(
            rows=tuple(map(tuple, opspace.masked(handle.rows, handle.mask))), mask=None)
        for handle in s.target)


def _dense(s: State) -> Matrix:
    J = task_jacobian(s, _counting(s))
    return many_handles.dense(inertia(s), sparsity(s.model), J)


def _ltl(s: State) -> Matrix:
    J = task_jacobian(s, _counting(s))
    return many_handles.sparse(inertia(s), sparsity(s.model), J)


def _by_bodies(method: str, s: State) -> Matrix:
    return many_handles.inverse_handle_inertia(
        s.model, s.q, _counting(s), method, s.conditions.inertia, s.conditions.t)


def _inverse_inertia(method: Method, s: State) -> Results:
    return {'Phi': method(s)}


def _inertia(method: Method, s: State) -> Results:
    """Return Lambda of many handles, with damping, and the Phi that it is made of."""
    Phi, mask = method(s), mask_of(s.target)
    counted = Phi if mask is None else opspace.without_masked(Phi, mask)
    Lambda = opspace.inverse_with_damping(counted, s.inputs['damping'][0])
    if mask is not None:
        Lambda = opspace.masked(list(zip(*opspace.masked(Lambda, mask), strict=True)), mask)
    return {'Lambda': Lambda, 'Phi': Phi}


def _projection(method: Method, s: State) -> opspace.Projection:
    """Return what the projection method gives, by articulated bodies alone."""
    handles = _counting(s)
    J = task_jacobian(s, handles)
    rate = opspace.task_bias(s.model, s.q, s.qd, handles, s.conditions.t)
    qdd = aba.aba(s.model, s.q, s.qd, [0.0] * s.model.tree_nv, s.conditions,
                  s.model.rotor_inertia).qdd
    b = [a + dense.dot(row, qdd) for a, row in zip(rate, J, strict=True)]                  # 7.10
    joints = propagators.articulate(
        s.model, tree(s), s.conditions.inertia, s.model.rotor_inertia)
    HinvJT = propagators.responses(s.model, tree(s), joints, handles)
    return opspace.Projection(J, method(s), b, HinvJT)


def _projected(method: Method, s: State) -> Results:
    return _projection(method, s)._asdict()


def _space(method: Method, s: State) -> Results:
    return space(s, _projection(method, s))


_BY_BODIES: Mapping[str, Method] = {
    name: partial(_by_bodies, name) for name in many_handles.METHODS}
_ALL: Mapping[str, Method] = {'dense': _dense, 'ltl': _ltl, **_BY_BODIES}

#: Degrees of freedom up to which factors of H give Phi of some handles in fewer operations than
#: articulated bodies do: a chain without zeros in its parameters needs fewer from about 20.
SHORT = 12


def is_long(model: Model) -> bool:
    """Return whether a model has so many degrees of freedom that articulated bodies may pay."""
    return model.nv > SHORT


#: Rules by method; what ``auto`` compares; and which models the methods suit.
INVERSE: Mapping[str, Rule] = {
    name: partial(_inverse_inertia, method) for name, method in _ALL.items()}
INERTIA: Mapping[str, Rule] = {name: partial(_inertia, method) for name, method in _ALL.items()}
PROJECTION: Mapping[str, Rule] = {
    'ltl': projection,
    **{name: partial(_projected, method) for name, method in _BY_BODIES.items()}}
SPACE: Mapping[str, Rule] = {
    'ltl': operational_space,
    **{name: partial(_space, method) for name, method in _BY_BODIES.items()}}
COMPARED = ('ltl', *many_handles.METHODS)
WHERE = dict.fromkeys(many_handles.METHODS, moves_freely)
