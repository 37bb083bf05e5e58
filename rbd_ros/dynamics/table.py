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
The quantities a robot can be asked for: each one function of named inputs, over generic scalars.

This is the one table from which both the reference (plain floats,
:mod:`rbd_ros.dynamics.uncompiled`) and the compiled robot (:class:`rbd_ros.Dynamics`) are made.
Where a joint mimics another, joint forces are reduced to the independent coordinates by G^T,
inertias by G^T H G (RBDA 9.6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rbd_ros.algorithms import aba, energy, gears, kinematics, ltl, opspace, rnea
from rbd_ros.algorithms.crba import crba
from rbd_ros.dynamics import coriolis_quantities, handle_inputs
from rbd_ros.dynamics.handle_inputs import Pattern
from rbd_ros.dynamics.quantity import Quantity, Rule, State
from rbd_ros.errors import RbdError, UnknownName

if TYPE_CHECKING:
    from rbd_ros.algorithms.opspace import Handle
    from rbd_ros.compiler import Scalar
    from rbd_ros.model.model import Frame, Model

    Values = Sequence[Scalar]
    Matrix = list[list[Scalar]]

GRAVITY = ('gravity',)


# --- joint space ----------------------------------------------------------------------------


def _joint_force(s: State, tree_force: Values, qdd: Values = ()) -> Mapping[str, Sequence]:
    """Return independent joint forces, with those that turn the rotors (RBDA Ex 9.5)."""
    tau = list(s.reduce(tree_force))
    for k, acceleration in enumerate(qdd):
        tau[k] = tau[k] + s.model.rotor_inertia[k] * acceleration
    return {'tau': tau}


def _inertia(s: State) -> Matrix:
    """Return the inertia matrix over the independent coordinates, rotors included."""
    H = crba(s.model, kinematics.links(s.model, s.q, s.conditions.t), s.conditions.inertia)
    H = reduce_symmetric(s.model, H, s.inputs['q'])
    for k, rotor in enumerate(s.model.rotor_inertia):
        H[k][k] = H[k][k] + rotor
    return H


def reduce_symmetric(model: Model, H: Matrix, y: Values) -> Matrix:
    """Return G^T H G, exactly symmetric; H itself where no joint follows another (9.26)."""
    return H if model.coupling is None else model.coupling.reduce_symmetric(H, y)


def sparsity(model: Model) -> Sequence[int]:
    """
    Return the expanded parent array of the reduced inertia matrix.

    A mimic joint couples its branch with that of its master, which no parent array shows: such
    a matrix is treated as a chain, where the compiler still skips what is zero by structure.
    """
    return model.expanded_parent if model.coupling is None else range(-1, model.nv - 1)


def _bias(s: State) -> Values:
    return s.reduce(rnea.newton_euler_3d(s.model, s.q, s.qd, s.g, s.conditions))           # 9.26


def _forward_by_inertia(s: State) -> Mapping[str, Sequence]:
    rhs = [t - c for t, c in zip(s.tau, _bias(s), strict=True)]                            # 6.1
    return {'qdd': ltl.solve(_inertia(s), sparsity(s.model), rhs)}


def _forward_by_clusters(s: State) -> Mapping[str, Sequence]:
    return {'qdd': gears.aba(s.model, s.inputs['q'], s.inputs['qd'], s.tau, s.conditions)}


def _forward_by_bodies(s: State) -> Mapping[str, Sequence]:
    return {'qdd': aba.aba(
        s.model, s.q, s.qd, s.tau, s.conditions, s.model.rotor_inertia).qdd}


def inverse_dynamics(_: Model) -> Quantity:
    """Return tau that gives accelerations qdd: the recursive Newton-Euler algorithm (RBDA 5)."""
    return Quantity('inverse_dynamics', ('q', 'qd', 'qdd'), common=GRAVITY, rules={
        'spatial': lambda s: _joint_force(s, rnea.rnea(
            s.model, s.q, s.qd, s.qdd, s.conditions).tau, s.inputs['qdd']),
        '3d': lambda s: _joint_force(s, rnea.newton_euler_3d(
            s.model, s.q, s.qd, s.qdd, s.conditions), s.inputs['qdd'])})


def bias(_: Model) -> Quantity:
    """Return C(q, qd): the joint forces of motion without acceleration, gravity included."""
    return Quantity('bias', ('q', 'qd'), common=GRAVITY, rules={
        'spatial': lambda s: _joint_force(s, rnea.rnea(
            s.model, s.q, s.qd, s.g, s.conditions).tau),
        '3d': lambda s: _joint_force(s, rnea.newton_euler_3d(
            s.model, s.q, s.qd, s.g, s.conditions))})


def joint_wrenches(_: Model) -> Quantity:
    """Return the whole force across each joint, (nb, 6), body coordinates, angular first."""
    def rule(s: State) -> Mapping[str, Sequence]:
        f = rnea.rnea(s.model, s.q, s.qd, s.qdd, s.conditions).f
        return {'f': [force.to_list() for force in f[1:]]}
    return Quantity('joint_wrenches', ('q', 'qd', 'qdd'), {'spatial': rule}, GRAVITY)


def gravity(_: Model) -> Quantity:
    """Return g(q), the joint forces that hold the robot still."""
    return Quantity('gravity', ('q',), common=GRAVITY, rules={
        'composite': lambda s: _joint_force(s, rnea.gravity_forces(
            s.model, s.q, s.conditions))})


def mass_matrix(_: Model) -> Quantity:
    """Return H(q), by composite rigid bodies (RBDA 6.2)."""
    return Quantity('mass_matrix', ('q',), {'crba': lambda s: {'H': _inertia(s)}})


def inverse_mass_matrix(_: Model) -> Quantity:
    """Return H(q)^-1 through its branch-sparse factors."""
    return Quantity('inverse_mass_matrix', ('q',), {
        'ltdl': lambda s: {'Hinv': ltl.inverse(_inertia(s), sparsity(s.model))}})


def forward_dynamics(model: Model) -> Quantity:
    """Return qdd under joint forces tau; joints that follow others are clusters of bodies."""
    rules: dict[str, Rule] = {
        'crba': _forward_by_inertia,
        'aba': _forward_by_bodies if model.coupling is None else _forward_by_clusters}
    return Quantity('forward_dynamics', ('q', 'qd', 'tau'), rules, GRAVITY)


# --- the whole robot ------------------------------------------------------------------------


def kinetic_energy(_: Model) -> Quantity:
    """Return the kinetic energy, rotors included."""
    def rule(s: State) -> Mapping[str, Sequence]:
        tree = kinematics.links(s.model, s.q, s.conditions.t)
        v, _ = kinematics.velocities(s.model, tree, s.q, s.qd, s.conditions.t)
        total = energy.kinetic_energy(s.model, v, s.conditions.inertia)
        for rotor, rate in zip(s.model.rotor_inertia, s.inputs['qd'], strict=True):
            total = total + 0.5 * rotor * rate * rate
        return {'energy': [total]}
    return Quantity('kinetic_energy', ('q', 'qd'), {'bodies': rule})


def potential_energy(_: Model) -> Quantity:
    """Return the potential energy of gravity, zero with all mass at the base origin."""
    def rule(s: State) -> Mapping[str, Sequence]:
        tree = kinematics.links(s.model, s.q, s.conditions.t)
        h = energy.composite(s.model, tree, s.conditions.inertia).h
        return {'energy': [-h.dot(s.conditions.gravity)]}
    return Quantity('potential_energy', ('q',), {'composite': rule}, GRAVITY)


def center_of_mass(_: Model) -> Quantity:
    """Return the centre of mass of all that moves, base coordinates."""
    def rule(s: State) -> Mapping[str, Sequence]:
        tree = kinematics.links(s.model, s.q, s.conditions.t)
        m, h = energy.composite(s.model, tree, s.conditions.inertia)
        return {'com': [x / m for x in h]}
    return Quantity('center_of_mass', ('q',), {'composite': rule})


def momentum(_: Model) -> Quantity:
    """Return the spatial momentum about the base origin, base coordinates, angular first."""
    def rule(s: State) -> Mapping[str, Sequence]:
        tree = kinematics.links(s.model, s.q, s.conditions.t)
        v, _ = kinematics.velocities(s.model, tree, s.q, s.qd, s.conditions.t)
        return {'h': energy.momentum(s.model, tree, v, s.conditions.inertia).to_list()}
    return Quantity('momentum', ('q', 'qd'), {'bodies': rule})


# --- frames and handles ---------------------------------------------------------------------


def pose(_: Model, frame: Frame) -> Quantity:
    """Return the homogeneous matrix that takes points of a frame to base coordinates."""
    def rule(s: State) -> Mapping[str, Sequence]:
        X = kinematics.pose(s.model, kinematics.links(s.model, s.q, s.conditions.t), frame)
        rows = zip(X.E.T.rows, X.r, strict=True)
        return {'T': [*([*row, r] for row, r in rows), [0.0, 0.0, 0.0, 1.0]]}
    return Quantity(f'pose {frame.name}', ('q',), {'path': rule})


def jacobian(_: Model, frame: Frame) -> Quantity:
    """Return the 6 x nv Jacobian of a frame in its own coordinates, angular rows first."""
    return Quantity(f'jacobian {frame.name}', ('q',), {
        'path': lambda s: {'J': _task_jacobian(s, (opspace.Handle(frame),))}})


def velocity(_: Model, frame: Frame) -> Quantity:
    """Return the spatial velocity of a frame in its own coordinates."""
    def rule(s: State) -> Mapping[str, Sequence]:
        tree = kinematics.links(s.model, s.q, s.conditions.t)
        v, _ = kinematics.velocities(s.model, tree, s.q, s.qd, s.conditions.t)
        return {'v': (frame.placement @ v[frame.body]).to_list()}
    return Quantity(f'velocity {frame.name}', ('q', 'qd'), {'path': rule})


def jacobian_rate(_: Model, frame: Frame) -> Quantity:
    """Return J-dot q-dot: the spatial acceleration of a frame without joint accelerations."""
    return Quantity(f'jacobian_rate {frame.name}', ('q', 'qd'), {
        'path': lambda s: {'a': opspace.task_bias(
            s.model, s.q, s.qd, (opspace.Handle(frame),), s.conditions.t, s.g)}})


def _task_jacobian(s: State, handles: Sequence[Handle]) -> Matrix:
    J = opspace.task_jacobian(s.model, s.q, handles, s.conditions.t)
    return [list(s.reduce(row)) for row in J]                                   # J G: rows by G^T


def _projection(s: State, handles: Sequence[Handle]) -> opspace.Projection:
    return opspace.project(
        _inertia(s), sparsity(s.model), _bias(s), _task_jacobian(s, handles),
        opspace.task_bias(s.model, s.q, s.qd, handles, s.conditions.t, s.g))


def projection(_: Model, handles: Sequence[Handle] | Pattern) -> Quantity:
    """Return Phi, b, J and H^-1 J^T of some handles: all that needs no inverse of Phi."""
    def rule(s: State) -> Mapping[str, Sequence]:
        return _projection(s, _handles(s, handles))._asdict()
    return Quantity(f'projection {_label(handles)}', ('q', 'qd'), {'ltdl': rule}, GRAVITY)


def operational_space(_: Model, handles: Sequence[Handle] | Pattern) -> Quantity:
    """Return the operational-space inertia of some handles with what belongs to it (RBDA 7.2)."""
    def rule(s: State) -> Mapping[str, Sequence]:
        p = _projection(s, _handles(s, handles))
        spectrum = opspace.conditioned_inverse(p.Phi, s.inputs['max_condition'][0])
        bias = [-opspace.sum_products(row, p.b) for row in spectrum.Lambda]                # 7.13
        columns = list(zip(*spectrum.Lambda, strict=True))
        J_bar = [[opspace.sum_products(row, column) for column in columns] for row in p.HinvJT]
        return {'Lambda': spectrum.Lambda, 'bias': bias, 'J': p.J, 'J_bar': J_bar,
                'condition': [spectrum.condition], 'Phi': p.Phi, 'b': p.b}
    return Quantity(f'operational_space {_label(handles)}',
                    ('q', 'qd', 'max_condition'), {'ltdl': rule}, GRAVITY)


def _handles(s: State, handles: Sequence[Handle] | Pattern) -> Sequence[Handle]:
    """Return the handles of a kernel, from its inputs where it has only their pattern."""
    if isinstance(handles, Pattern):
        return handles.handles(*(s.inputs[name] for name in handle_inputs.INPUTS))
    return handles


def _label(handles: Sequence[Handle] | Pattern) -> str:
    if isinstance(handles, Pattern):
        return ' '.join(f'body {body} x {n}' for body, n in zip(*handles, strict=True))
    return ' '.join(f'{handle.frame.name}{handle.rows}' for handle in handles)


#: Quantities of the robot, of a frame and of handles, by name.
_OF_ROBOT = {function.__name__: function for function in (
    inverse_dynamics, bias, gravity, joint_wrenches, mass_matrix, inverse_mass_matrix,
    forward_dynamics, kinetic_energy, potential_energy, center_of_mass, momentum)}
_OF_ROBOT |= coriolis_quantities.QUANTITIES
_OF_FRAME = {function.__name__: function for function in (
    pose, jacobian, velocity, jacobian_rate)}
_OF_HANDLES = {function.__name__: function for function in (projection, operational_space)}


def make(
    model: Model, name: str, target: str | Handle | Sequence[str | Handle] | None = None,
) -> Quantity:
    """
    Return a quantity by name.

    :param target: the frame, or the frames and handles, of a quantity that needs them.
    """
    if name in _OF_ROBOT:
        if target is not None:
            raise RbdError(f'{name} is of the whole robot and takes no frame, got {target!r}')
        return _OF_ROBOT[name](model)
    if name in _OF_FRAME:
        if not isinstance(target, str):
            raise RbdError(f'{name} needs the name of a frame, got {target!r}')
        frame = model.frame(target)
        return _OF_FRAME[name](model, frame)._replace(target=frame, inertial=False)
    if name in _OF_HANDLES:
        handles = opspace.as_handles(model, target)
        if all(handle_inputs.is_plain(model, handle) for handle in handles):
            return _OF_HANDLES[name](model, handles)._replace(target=handles)
        pattern = Pattern.of(handles)
        quantity = _OF_HANDLES[name](model, pattern)
        return quantity._replace(
            target=pattern, common=(*quantity.common, *handle_inputs.INPUTS),
            shapes=pattern.shapes, values=handle_inputs.values(handles))
    raise UnknownName('quantity', name, [*_OF_ROBOT, *_OF_FRAME, *_OF_HANDLES])
