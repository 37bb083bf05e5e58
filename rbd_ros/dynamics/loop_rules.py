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
The rules of robots with closed loops: constraints, and motion under them (RBDA 8).

H and C are those of the spanning tree, over the independent coordinates; K has a row for each
constraint of each loop joint and a column for each independent velocity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TYPE_CHECKING

from rbd_ros.algorithms.handles import opspace
from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.loops import loop_joints
from rbd_ros.algorithms.loops.loop_coordinates import map_of, SMALLEST_PIVOT
from rbd_ros.algorithms.loops.motion import constrained_columns, REGULAR_PIVOT, solve_regular
from rbd_ros.algorithms.other_forms import hinged
from rbd_ros.algorithms.other_forms.planar import is_planar
from rbd_ros.compiler import absolute, less, maximum, sqrt, where
from rbd_ros.dynamics import rules
from rbd_ros.dynamics.handle_inputs import mask_of

if TYPE_CHECKING:
    from rbd_ros.algorithms.loops.motion import Regular
    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.state import State
    from rbd_ros.model.model import Model

    Values = Sequence[Scalar]
    Matrix = list[list[Scalar]]
    Results = Mapping[str, Sequence[Any]]


#: Above this many velocities a planar mechanism of hinges is not solved through its tree.
LARGE = 30


class _Solved(NamedTuple):
    """Motion under loops, with the constraints that it obeys."""

    motion: Regular
    K: Matrix
    k: list[Scalar]


# --- constraints ----------------------------------------------------------------------------


def loop_jacobian(s: State) -> Results:
    """Return K (8.19)."""
    K = loop_joints.jacobian(s.model, s.q, s.conditions.t)
    return {'K': [list(s.reduce(row)) for row in K]}


def loop_bias(s: State) -> Results:
    """Return k with K qdd = k, not stabilised (8.47)."""
    return {'k': loop_joints.constraints(s.model, s.q, s.qd, s.g, s.conditions.t).k}


def loop_velocity(s: State) -> Results:
    """Return T^T (v_J - sigma) of the loop joints (8.7)."""
    return {'velocity': loop_joints.constraints(s.model, s.q, s.qd, s.g, s.conditions.t).velocity}


def loop_error(s: State) -> Results:
    """Return delta (RBDA 8.3)."""
    return {'delta': loop_joints.position_error(s.model, s.q, s.conditions.t)}


def loop_drive(s: State) -> Results:
    """Return tau^a of forces at loop joints (8.31)."""
    tau_a = loop_joints.drive_forces(s.model, s.q, s.inputs['loop_tau'], s.conditions.t)
    return {'tau_a': s.reduce(tau_a)}


def bias_with_drives(s: State) -> Results:
    """Return C - tau^a in one recursion (RBDA Table 8.3)."""
    if s.g is not None:         # what gears of changing ratio add is not in that recursion
        return bias_less_drives(s)
    C = loop_joints.bias_with_drives(s.model, s.q, s.qd, s.inputs['loop_tau'], s.conditions)
    return {'C': s.reduce(C)}


def bias_less_drives(s: State) -> Results:
    """Return C - tau^a as the difference of the two."""
    C = rules.bias_3d(_tree(s))['tau']
    return {'C': dense.subtract(C, loop_drive(s)['tau_a'])}


def loop_map(s: State) -> Results:
    """Return G and g, by steps of elimination that were chosen once; NaN where they do not do."""
    found = loop_joints.constraints(s.model, s.q, s.qd, s.g, s.conditions.t)
    K = [list(s.reduce(row)) for row in found.K]
    solved = map_of(K, found.k, s.surroundings.pivots(s.target))
    doubt = _doubt(less(SMALLEST_PIVOT, solved.pivot))
    return {'G': [[x + doubt for x in row] for row in solved.G],
            'g': [x + doubt for x in solved.g]}


def loop_step(s: State) -> Results:
    """Return Newton's step that closes the loops with some joints at rest, and its pivots."""
    K = [list(s.reduce(row)) for row in loop_joints.jacobian(s.model, s.q, s.conditions.t)]
    delta = loop_joints.position_error(s.model, s.q, s.conditions.t)
    steps = s.surroundings.pivots(s.target)
    solved = map_of(K, [-x for x in delta], steps)
    pivots: list[Scalar] = [1.0] * len(K)           # of constraints that follow from others
    for step, share in zip(steps, solved.shares, strict=True):
        pivots[step.row] = share
    return {'step': solved.g, 'pivots': pivots}


def _doubt(sure: Scalar) -> Scalar:
    """Return zero where a condition holds, else NaN."""
    return sqrt(where(sure, 1.0, -1.0)) - 1.0


# --- motion ---------------------------------------------------------------------------------


def _tree(s: State) -> State:
    """Return the state of the spanning tree, for algorithms that know trees."""
    return s._replace(model=s.model.spanning_tree)


def _solved(s: State, H: Sequence[Values], C: Values) -> _Solved:
    two_alpha, beta_squared = s.inputs['stabilization']
    found = loop_joints.constraints(
        s.model, s.q, s.qd, s.g, s.conditions.t, (two_alpha, beta_squared))
    K = [list(s.reduce(row)) for row in found.K]
    force = dense.subtract(s.tau, C)
    return _Solved(solve_regular(H, rules.sparsity(s.model), force, K, found.k,
                                 s.surroundings.nominal()), K, found.k)


def _spatial(s: State) -> _Solved:
    tree = _tree(s)
    return _solved(s, rules.inertia(tree), rules.bias_3d(tree)['tau'])


def _planar(s: State) -> _Solved:
    tree = _tree(s)
    return _solved(s, rules.mass_matrix_planar(tree)['H'], rules.bias_planar(tree)['tau'])


def _sure(solved: _Solved) -> Results:
    """Return qdd, not a number where the rows that count are not those of the regular case."""
    doubt = _doubt(_regular(solved.motion))
    return {'qdd': [x + doubt for x in solved.motion.qdd]}


def _regular(motion: Regular) -> Scalar:
    """Return 1 where the rows that count are those of the regular case, else 0."""
    return where(less(REGULAR_PIVOT, motion.pivot), less(motion.excess, REGULAR_PIVOT), 0.0)


def forward_dynamics(s: State) -> Results:
    """Return qdd under loops; NaN near a singularity (RBDA 8.5, method 2)."""
    return _sure(_spatial(s))


def forward_dynamics_planar(s: State) -> Results:
    """Return qdd under loops through planar vectors; NaN near a singularity."""
    return _sure(_planar(s))


def forward_dynamics_hinged(s: State) -> Results:
    """Return qdd of a planar mechanism of hinges, all bodies at once; NaN near a singularity."""
    two_alpha, beta_squared = s.inputs['stabilization']
    found = hinged.forward_dynamics(
        s.model, s.q, s.qd, s.tau, s.conditions, (two_alpha, beta_squared))
    doubt = _doubt(less(REGULAR_PIVOT, found.pivot))
    return {'qdd': [x + doubt for x in found.qdd]}


def suits_tree(model: Model) -> bool:
    """Return whether a robot is to be solved through its tree: its H is not too large."""
    return model.nv <= LARGE or not hinged.is_hinged(model)


def suits_planar_tree(model: Model) -> bool:
    """Return whether the same holds, and the robot moves in a plane."""
    return is_planar(model) and suits_tree(model)


def _details(s: State, solved: _Solved) -> Results:
    """Return all that is found on the way to qdd."""
    motion = solved.motion
    residual: Scalar = 0.0
    for row, right in zip(solved.K, solved.k, strict=True):
        residual = maximum(residual, absolute(dense.dot(row, motion.qdd) - right))
    forces = loop_joints.joint_forces(s.model, s.q, motion.multipliers, s.conditions.t)
    return {'qdd': motion.qdd, 'multipliers': motion.multipliers,
            'forces': [f.to_list() for f in forces], 'pivot': [motion.pivot],
            'excess': [motion.excess], 'residual': [residual]}


def loop_dynamics(s: State) -> Results:
    """Return qdd, lambda, forces of loop joints, pivots and residual."""
    return _details(s, _spatial(s))


def loop_dynamics_planar(s: State) -> Results:
    """Return the same through planar vectors."""
    return _details(s, _planar(s))


# --- handles --------------------------------------------------------------------------------


def _projected(s: State) -> opspace.Projection:
    """Return what handles feel of a robot whose loops take part of every force (RBDA 7.2, 8.5)."""
    tree = _tree(s)
    mask = mask_of(s.target)
    J = rules.task_jacobian(s, s.target)
    rate = opspace.task_bias(s.model, s.q, s.qd, s.target, s.conditions.t, s.g)
    if mask is not None:
        J = opspace.masked(J, mask)
        rate = [m * a for m, a in zip(mask, rate, strict=True)]
    passive = s._replace(tau=[0.0] * s.model.nv)
    H, C = rules.inertia(tree), rules.bias_3d(tree)['tau']
    free = _solved(passive, H, C)
    columns = constrained_columns(
        H, rules.sparsity(s.model), free.K, s.surroundings.nominal(), J)
    doubt = _doubt(_regular(free.motion))
    columns = [[x + doubt for x in column] for column in columns]
    m = len(J)
    Phi = dense.zeros(m, m)
    for i in range(m):
        for j in range(i + 1):
            Phi[i][j] = Phi[j][i] = dense.dot(J[i], columns[j])
    b = [a + dense.dot(row, free.motion.qdd) for a, row in zip(rate, J, strict=True)]
    return opspace.Projection(J, Phi, b, dense.transposed(columns, s.model.nv))


def projection(s: State) -> Results:
    """Return what the projection method knows without the inverse of Phi."""
    return _projected(s)._asdict()


def operational_space(s: State) -> Results:
    """Return the operational space of handles on a robot with loops."""
    return rules.space(s, _projected(s))
