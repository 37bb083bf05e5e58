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
The rules of the table: how the algorithms give each quantity, over plain or traced scalars.

Where a joint mimics another, joint forces are reduced to the independent coordinates by G^T,
inertias by G^T H G (RBDA 9.6). Rotors, which no tree algorithm knows, are added here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms import aba, energy, gears, kinematics, rnea
from rbd_ros.algorithms.crba import crba, crba_in_base
from rbd_ros.algorithms.handles import opspace
from rbd_ros.algorithms.linear import ltl
from rbd_ros.algorithms.other_forms import planar
from rbd_ros.dynamics.handle_inputs import mask_of
from rbd_ros.model import tree_cost

if TYPE_CHECKING:
    from rbd_ros.algorithms.kinematics import Links
    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.state import State
    from rbd_ros.model.model import Model
    from rbd_ros.spatial import Force, Motion

    Values = Sequence[Scalar]
    Matrix = list[list[Scalar]]
    Results = Mapping[str, Sequence[Any]]

#: Matrix of a robot that does not move: a list of no rows would not show its shape.
EMPTY: Any = np.empty((0, 0))


def tree(s: State) -> Links:
    """Return the link transforms and motion subspaces at a state."""
    return kinematics.links(s.model, s.q, s.conditions.t)


# --- joint space ----------------------------------------------------------------------------


def _joint_force(s: State, tree_force: Values, qdd: Values = ()) -> Results:
    """Return independent joint forces, with those that turn the rotors (RBDA Ex 9.5)."""
    tau = list(s.reduce(tree_force))
    for k, acceleration in enumerate(qdd):
        tau[k] = tau[k] + s.model.rotor_inertia[k] * acceleration
    return {'tau': tau}


def inverse_dynamics_spatial(s: State) -> Results:
    """Return tau by RBDA Table 5.1."""
    tau = rnea.rnea(s.model, s.q, s.qd, s.qdd, s.conditions).tau
    return _joint_force(s, tau, s.inputs['qdd'])


def inverse_dynamics_3d(s: State) -> Results:
    """Return tau by RBDA Table 5.2."""
    tau = rnea.newton_euler_3d(s.model, s.q, s.qd, s.qdd, s.conditions)
    return _joint_force(s, tau, s.inputs['qdd'])


def bias_spatial(s: State) -> Results:
    """Return C by RBDA Table 5.1."""
    return _joint_force(s, rnea.rnea(s.model, s.q, s.qd, s.g, s.conditions).tau)


def bias_3d(s: State) -> Results:
    """Return C by RBDA Table 5.2."""
    return _joint_force(s, rnea.newton_euler_3d(s.model, s.q, s.qd, s.g, s.conditions))


def joint_wrenches(s: State) -> Results:
    """Return the force across each joint, which RBDA Table 5.1 finds on its way."""
    f = rnea.rnea(s.model, s.q, s.qd, s.qdd, s.conditions).f
    return {'f': [force.to_list() for force in f[1:]]}


def gravity(s: State) -> Results:
    """Return g(q) from the composite bodies (RBDA 5.12)."""
    return _joint_force(s, rnea.gravity_forces(s.model, s.q, s.conditions))


def inertia(s: State) -> Matrix:
    """Return the inertia matrix over the independent coordinates, rotors included."""
    build = crba_in_base if tree_cost.is_deep(s.model.parent) else crba
    return _with_rotors(s, build(s.model, tree(s), s.conditions.inertia))


def _with_rotors(s: State, H: Matrix) -> Matrix:
    """Return an inertia matrix of the tree over the independent coordinates, with rotors."""
    H = reduce_symmetric(s.model, H, s.inputs['q'])
    for k, rotor in enumerate(s.model.rotor_inertia):
        H[k][k] = H[k][k] + rotor
    return H


def reduce_symmetric(model: Model, H: Matrix, y: Values) -> Matrix:
    """Return G^T H G, exactly symmetric; H itself where no joint follows another (9.26)."""
    return H if model.coupling is None else model.coupling.reduce_symmetric(H, y)


def reduce_matrix(s: State, M: Sequence[Values]) -> Sequence[Values]:
    """Return G^T M G: any square matrix of the tree over the independent coordinates (9.6)."""
    if not s.model.nv:
        return EMPTY
    if s.model.coupling is None:
        return M
    return reduce_rows(s, [s.reduce(row) for row in M])


def reduce_rows(s: State, M: Sequence[Values]) -> Matrix:
    """Return G^T M: a matrix whose rows are those of the tree, over independent coordinates."""
    columns = [s.reduce(column) for column in zip(*M, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def six_rows(s: State, columns: Sequence[Motion] | Sequence[Force]) -> Matrix:
    """Return a matrix of six rows from its columns over the tree."""
    rows = list(zip(*(column.to_list() for column in columns), strict=True)) or [()] * 6
    return [list(s.reduce(row)) for row in rows]


def sparsity(model: Model) -> Sequence[int]:
    """
    Return the expanded parent array of the reduced inertia matrix.

    A mimic joint couples its branch with that of its master, which no parent array shows: such
    a matrix is treated as a chain, where the compiler still skips what is zero by structure.
    """
    return model.expanded_parent if model.coupling is None else range(-1, model.nv - 1)


def mass_matrix(s: State) -> Results:
    """Return H(q) by composite rigid bodies (RBDA Table 6.2)."""
    return {'H': inertia(s)}


def inverse_mass_matrix(s: State) -> Results:
    """Return H(q)^-1 through its branch-sparse factors (RBDA 6.5)."""
    return {'Hinv': ltl.inverse(inertia(s), sparsity(s.model))}


def forward_dynamics_by_inertia(s: State) -> Results:
    """Return qdd by solving H qdd = tau - C (RBDA 6)."""
    C = bias_3d(s)['tau']
    rhs = [t - c for t, c in zip(s.tau, C, strict=True)]                                   # 6.1
    return {'qdd': ltl.solve(inertia(s), sparsity(s.model), rhs)}


def suits_inertia_matrix(model: Model) -> bool:
    """Return whether forward dynamics through H may pay, so that tracing it is worth the time."""
    return model.coupling is not None or tree_cost.may_use_inertia_matrix(model.parent)


def suits_planar_inertia_matrix(model: Model) -> bool:
    """Return the same for planar vectors, whose forces cost a quarter to carry."""
    return tree_cost.may_use_inertia_matrix(model.parent, margin=6.0)


def forward_dynamics_by_bodies(s: State) -> Results:
    """Return qdd by articulated bodies (RBDA Table 7.1), joints that follow others as clusters."""
    if s.model.coupling is not None:
        return {'qdd': gears.aba(s.model, s.inputs['q'], s.inputs['qd'], s.tau, s.conditions)}
    return {'qdd': aba.aba(
        s.model, s.q, s.qd, s.tau, s.conditions, s.model.rotor_inertia).qdd}


# --- joint space, of robots that move in one plane --------------------------------------------


def inverse_dynamics_planar(s: State) -> Results:
    """Return tau in planar vectors (RBDA 2.16)."""
    tau = planar.rnea(s.model, s.q, s.qd, s.qdd, s.conditions)
    return _joint_force(s, tau, s.inputs['qdd'])


def bias_planar(s: State) -> Results:
    """Return C in planar vectors."""
    return _joint_force(s, planar.rnea(s.model, s.q, s.qd, s.g, s.conditions))


def gravity_planar(s: State) -> Results:
    """Return g(q) in planar vectors."""
    still = s.conditions._replace(f_ext=None)
    return _joint_force(s, planar.rnea(s.model, s.q, None, None, still))


def mass_matrix_planar(s: State) -> Results:
    """Return H(q) in planar vectors."""
    return {'H': _with_rotors(s, planar.crba(s.model, s.q, s.conditions.inertia))}


def forward_dynamics_planar(s: State) -> Results:
    """Return qdd through the inertia matrix, in planar vectors."""
    C, H = bias_planar(s)['tau'], mass_matrix_planar(s)['H']
    rhs = [t - c for t, c in zip(s.tau, C, strict=True)]                                   # 6.1
    return {'qdd': ltl.solve([list(row) for row in H], sparsity(s.model), rhs)}


# --- the whole robot ------------------------------------------------------------------------


def kinetic_energy(s: State) -> Results:
    """Return the sum over bodies and rotors."""
    v, _ = kinematics.velocities(s.model, tree(s), s.q, s.qd, s.conditions.t)
    total = energy.kinetic_energy(s.model, v, s.conditions.inertia)
    for rotor, rate in zip(s.model.rotor_inertia, s.inputs['qd'], strict=True):
        total = total + 0.5 * rotor * rate * rate
    return {'energy': [total]}


def potential_energy(s: State) -> Results:
    """Return -h . a_g with the first moment h of all bodies."""
    h = energy.composite(s.model, tree(s), s.conditions.inertia).h
    return {'energy': [-h.dot(s.conditions.gravity)]}


def center_of_mass(s: State) -> Results:
    """Return the first moment of all bodies over their mass."""
    m, h = energy.composite(s.model, tree(s), s.conditions.inertia)
    return {'com': [x / m for x in h]}


def momentum(s: State) -> Results:
    """Return the sum of the momenta of the bodies at the base."""
    links = tree(s)
    v, _ = kinematics.velocities(s.model, links, s.q, s.qd, s.conditions.t)
    return {'h': energy.momentum(s.model, links, v, s.conditions.inertia).to_list()}


# --- frames and handles ---------------------------------------------------------------------


def pose(s: State) -> Results:
    """Return the transform along the path to a frame as a homogeneous matrix."""
    X = kinematics.pose(s.model, tree(s), s.target)
    rows = zip(X.E.T.rows, X.r, strict=True)
    return {'T': [*([*row, r] for row, r in rows), [0.0, 0.0, 0.0, 1.0]]}


def velocity(s: State) -> Results:
    """Return the velocity of a frame's body at the frame."""
    v, _ = kinematics.velocities(s.model, tree(s), s.q, s.qd, s.conditions.t)
    return {'v': (s.target.placement @ v[s.target.body]).to_list()}


def jacobian(s: State) -> Results:
    """Return the Jacobian of a frame, along its path."""
    return {'J': task_jacobian(s, (opspace.Handle(s.target),))}


def jacobian_rate(s: State) -> Results:
    """Return the velocity-product acceleration of a frame."""
    return {'a': opspace.task_bias(
        s.model, s.q, s.qd, (opspace.Handle(s.target),), s.conditions.t, s.g)}


def task_jacobian(s: State, handles: Sequence[opspace.Handle]) -> Matrix:
    """Return the stacked Jacobian of handles over the independent coordinates."""
    J = opspace.task_jacobian(s.model, s.q, handles, s.conditions.t)
    return [list(s.reduce(row)) for row in J]                                   # J G: rows by G^T


def _project(s: State) -> opspace.Projection:
    J = task_jacobian(s, s.target)
    rate = opspace.task_bias(s.model, s.q, s.qd, s.target, s.conditions.t, s.g)
    mask = mask_of(s.target)
    if mask is not None:
        J = opspace.masked(J, mask)
        rate = [m * a for m, a in zip(mask, rate, strict=True)]
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
    bias = [-opspace.sum_products(row, p.b) for row in Lambda]                             # 7.13
    columns = list(zip(*Lambda, strict=True))
    J_bar = [[opspace.sum_products(row, column) for column in columns] for row in p.HinvJT]
    return {'Lambda': Lambda, 'bias': bias, 'J': p.J, 'J_bar': J_bar,
            'condition': [condition], 'Phi': p.Phi, 'b': p.b}
