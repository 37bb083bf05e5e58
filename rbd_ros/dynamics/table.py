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
The quantities a robot can be asked for: one declaration each, over generic scalars.

This is the one table from which the reference (plain floats, :mod:`rbd_ros.dynamics.uncompiled`),
the compiled robot (:class:`rbd_ros.Dynamics`), the controller's cycle and the simulator's step are
made. A user adds rows for one robot with ``robot.define``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rbd_ros.algorithms.other_forms.hinged import is_hinged
from rbd_ros.algorithms.other_forms.planar import is_planar
from rbd_ros.dynamics import (
    coriolis_rules, derivative_rules, floating_rules, handle_rules, hybrid_rules, loop_rules,
    regressor_rules, rules)
from rbd_ros.dynamics.quantity import LINEARISED, Quantity

_Q, _QD, _QDD = ('q',), ('q', 'qd'), ('q', 'qd', 'qdd')
_GRAVITY = ('gravity',)
#: Rules that suit robots which move in one plane.
_PLANAR = {'planar': is_planar}
_SHALLOW = {'crba': rules.suits_inertia_matrix, 'planar': rules.suits_planar_inertia_matrix}
#: What knows closed loops, where a quantity does not.
_LOOP_FORCES = ('loop_dynamics, whose forces in the loop joints act on the tree as f_ext of '
                'joint_wrenches')
_FREEDOMS = 'independent_equations, whose H belongs to the freedoms that the loops leave'
_DRIVES = 'actuator_forces, with the joints of unknown force as actuated ones'
_WHOLE = 'mass_matrix, bias and loop_dynamics, which have the base among the coordinates'
_HANDLES = 'operational_space, which knows loops'

_ROWS = (
    # --- joint space --------------------------------------------------------------------------
    Quantity(
        'inverse_dynamics', _QDD, environment=_GRAVITY,
        rules={'spatial': rules.inverse_dynamics_spatial, '3d': rules.inverse_dynamics_3d,
               'planar': rules.inverse_dynamics_planar},
        where=_PLANAR,
        derivative={'recursion': derivative_rules.inverse_dynamics},
        on_tree=True, meaning='tau that gives accelerations qdd: recursive Newton-Euler (RBDA 5)'),
    Quantity(
        'inverse_dynamics_second_derivatives', _QDD, environment=_GRAVITY,
        rules={'differentiated': derivative_rules.inverse_dynamics_second},
        on_tree=True, meaning='derivatives by q and qd of the derivatives of inverse_dynamics'),
    Quantity(
        'bias', _QD, environment=_GRAVITY,
        rules={'spatial': rules.bias_spatial, '3d': rules.bias_3d, 'planar': rules.bias_planar},
        where=_PLANAR,
        on_tree=True,
        meaning='C(q, qd): joint forces of motion without acceleration, gravity included'),
    Quantity(
        'gravity', _Q, environment=_GRAVITY,
        rules={'composite': rules.gravity, 'planar': rules.gravity_planar}, where=_PLANAR,
        on_tree=True, meaning='g(q): joint forces that hold the robot still'),
    Quantity(
        'joint_wrenches', _QDD, environment=_GRAVITY, rules={'spatial': rules.joint_wrenches},
        instead=_LOOP_FORCES,
        meaning='whole force across each joint, (nb, 6), body coordinates, angular first'),
    Quantity(
        'mass_matrix', _Q, rules={'crba': rules.mass_matrix, 'planar': rules.mass_matrix_planar},
        where=_PLANAR,
        on_tree=True, meaning='H(q), by composite rigid bodies (RBDA 6.2)'),
    Quantity(
        'inverse_mass_matrix', _Q, rules={'ltdl': rules.inverse_mass_matrix},
        instead=_FREEDOMS,
        meaning='H(q)^-1, through its branch-sparse factors'),
    Quantity(
        'forward_dynamics', ('q', 'qd', 'tau'), environment=_GRAVITY,
        loop_environment=('stabilization',),
        rules={'crba': rules.forward_dynamics_by_inertia,
               'aba': rules.forward_dynamics_by_bodies,
               'planar': rules.forward_dynamics_planar},
        loop_rules={'sparse': loop_rules.forward_dynamics,
                    'sparse_planar': loop_rules.forward_dynamics_planar,
                    'hinged': loop_rules.forward_dynamics_hinged},
        where={**_PLANAR, 'sparse': loop_rules.suits_tree, 'hinged': is_hinged,
               'sparse_planar': loop_rules.suits_planar_tree},
        compared=('crba', 'aba', 'planar'), worth=_SHALLOW,
        regular=True, last_resort=('hinged',),
        derivative={'inverse': derivative_rules.forward_dynamics},
        meaning='qdd under joint forces tau (RBDA 6 and 7), loops included (RBDA 8)'),
    Quantity(
        'forward_dynamics_derivative_factors', ('q', 'qd', 'tau'), environment=_GRAVITY,
        rules={'inverse': derivative_rules.forward_dynamics_factors},
        instead=LINEARISED,
        meaning='H^-1 and the derivatives of tau, whose products are those of forward_dynamics'),
    Quantity(
        'hybrid_dynamics', (*_QD, 'known'), environment=_GRAVITY, target='joints',
        rules={'crba': hybrid_rules.by_inertia_matrix, 'aba': hybrid_rules.by_articulated_bodies},
        where={'aba': hybrid_rules.moves_freely},
        instead=_DRIVES,
        meaning='qdd and tau of all joints, prescribed ones among them (RBDA 9.1, 9.2)'),

    Quantity(
        'coriolis_matrix', _QD, rules={'bodies': coriolis_rules.coriolis_matrix},
        on_tree=True,
        meaning='C(q, qd) with dH/dt - 2 C skew-symmetric; C qd + g is the bias force'),
    Quantity(
        'christoffel_symbols', _Q, rules={'differentiated': coriolis_rules.christoffel_symbols},
        on_tree=True, meaning='Gamma with C = Gamma qd'),

    # --- the whole robot ----------------------------------------------------------------------
    Quantity(
        'kinetic_energy', _QD, rules={'bodies': rules.kinetic_energy},
        on_tree=True, meaning='kinetic energy, rotors included'),
    Quantity(
        'potential_energy', _Q, environment=_GRAVITY, rules={'composite': rules.potential_energy},
        on_tree=True,
        meaning='potential energy of gravity, zero with all mass at the base origin'),
    Quantity(
        'center_of_mass', _Q, rules={'composite': rules.center_of_mass},
        on_tree=True, meaning='centre of mass of all that moves, base coordinates'),
    Quantity(
        'momentum', _QD, rules={'bodies': rules.momentum},
        on_tree=True,
        meaning='spatial momentum about the base origin, base coordinates, angular first'),
    Quantity(
        'centroidal_momentum_matrix', _Q,
        rules={'composite': coriolis_rules.centroidal_momentum_matrix},
        on_tree=True,
        meaning='A(q), 6 x nv: A qd is the momentum about the centre of mass, base axes'),
    Quantity(
        'centroidal_momentum_matrix_rate', _QD,
        rules={'composite': coriolis_rules.centroidal_momentum_matrix_rate},
        on_tree=True, meaning='dA/dt, 6 x nv'),

    # --- linear in the inertia parameters: these do not know a payload ------------------------
    Quantity(
        'torque_regressor', _QDD, environment=_GRAVITY, inertial=False,
        rules={'bodies': regressor_rules.torque_regressor},
        on_tree=True,
        meaning='Y with Y pi the joint forces of bodies with parameters pi, nv x 10 nb'),
    Quantity(
        'energy_regressor', _QD, environment=_GRAVITY, inertial=False,
        rules={'bodies': regressor_rules.energy_regressor},
        on_tree=True, meaning='rows of kinetic and potential energy, 2 x 10 nb'),
    Quantity(
        'momentum_regressor', _QD, inertial=False,
        rules={'bodies': regressor_rules.momentum_regressor},
        on_tree=True, meaning='momentum about the base origin per parameter, 6 x 10 nb'),

    # --- a floating base: joint_qdd and joint_tau are of the joints after it --------------------
    Quantity(
        'floating_base_inverse_dynamics', (*_QD, 'joint_qdd'), environment=_GRAVITY,
        rules={'composite': floating_rules.inverse_dynamics},
        instead=_WHOLE,
        meaning='acceleration of the base, and tau of the joints (RBDA Table 9.6)'),
    Quantity(
        'floating_base_forward_dynamics', (*_QD, 'joint_tau'), environment=_GRAVITY,
        rules={'crba': floating_rules.forward_dynamics_by_inertia,
               'aba': floating_rules.forward_dynamics_by_bodies},
        where={'aba': hybrid_rules.moves_freely},
        compared=('crba', 'aba'), worth={'crba': rules.suits_inertia_matrix},
        instead=_WHOLE,
        meaning='acceleration of the base, and qdd of the joints (RBDA Table 9.4)'),
    Quantity(
        'floating_base_equations', _QD, environment=_GRAVITY,
        rules={'crba': floating_rules.equations},
        instead=_WHOLE,
        meaning='I_0, F, H, p_0 and C of the equation of motion (RBDA Table 9.5)'),
    Quantity(
        'floating_base_reduced_equations', _QD, environment=_GRAVITY,
        rules={'crba': floating_rules.reduced_equations},
        instead=_WHOLE,
        meaning='H_fl and C_fl, the base eliminated (RBDA 9.15, 9.16)'),
    Quantity(
        'floating_base_momentum', _QD, rules={'crba': floating_rules.momentum},
        instead=_WHOLE,
        meaning='I_0 v_0 + F qd, base-body coordinates, angular first (RBDA Ex 9.3)'),
    Quantity(
        'floating_base_jacobian', _Q, target='frame', rules={'crba': floating_rules.jacobian},
        instead=_WHOLE,
        meaning='6 x (nv - 6): motion of a frame while the base gives way (RBDA Ex 9.4)'),

    # --- closed loops: H and C are those of the spanning tree -----------------------------------
    Quantity(
        'loop_jacobian', _Q, inertial=False, rules={},
        loop_rules={'walk': loop_rules.loop_jacobian},
        meaning='K, n_c x nv: K qd = 0 for velocities that the loops allow (RBDA 8.19)'),
    Quantity(
        'loop_bias', _QD, inertial=False, rules={}, loop_rules={'walk': loop_rules.loop_bias},
        meaning='k with K qdd = k (RBDA 8.47)'),
    Quantity(
        'loop_velocity', _QD, inertial=False, rules={},
        loop_rules={'walk': loop_rules.loop_velocity},
        meaning='T^T (v_J - sigma) of the loop joints, zero where velocities are consistent'),
    Quantity(
        'loop_error', _Q, inertial=False, rules={}, loop_rules={'walk': loop_rules.loop_error},
        meaning='delta, by how much the loops are open (RBDA 8.3)'),
    Quantity(
        'loop_map', _QD, inertial=False, rules={}, target='joints', regular=True,
        loop_rules={'elimination': loop_rules.loop_map},
        meaning='G and g: qd = G yd and qdd = G ydd + g, y of some joints (RBDA 8.8)'),
    Quantity(
        'loop_step', _Q, inertial=False, rules={}, target='joints', regular=True,
        loop_rules={'elimination': loop_rules.loop_step},
        meaning='the step of Newton that closes the loops with some joints at rest, and for each '
                'constraint its pivot over the usual size of it'),
    Quantity(
        'loop_drive', (*_Q, 'loop_tau'), inertial=False, rules={},
        loop_rules={'jacobian': loop_rules.loop_drive},
        meaning='tau^a: forces at loop joints as joint forces (RBDA 8.31)'),
    Quantity(
        'bias_with_drives', (*_QD, 'loop_tau'), environment=_GRAVITY, rules={},
        loop_rules={'recursion': loop_rules.bias_with_drives,
                    'jacobian': loop_rules.bias_less_drives},
        meaning='C - tau^a (RBDA Table 8.3)'),
    Quantity(
        'loop_dynamics', ('q', 'qd', 'tau'), environment=_GRAVITY, rules={},
        loop_environment=('stabilization',), regular=True,
        loop_rules={'sparse': loop_rules.loop_dynamics,
                    'sparse_planar': loop_rules.loop_dynamics_planar},
        where={'sparse_planar': is_planar},
        meaning='qdd, lambda and forces of loop joints, smallest pivot, residual (RBDA 8.5)'),

    # --- a frame ------------------------------------------------------------------------------
    Quantity(
        'pose', _Q, target='frame', inertial=False, rules={'path': rules.pose},
        on_tree=True,
        meaning='homogeneous matrix that takes points of a frame to base coordinates'),
    Quantity(
        'jacobian', _Q, target='frame', inertial=False, rules={'path': rules.jacobian},
        on_tree=True,
        meaning='6 x nv Jacobian of a frame in its own coordinates, angular rows first'),
    Quantity(
        'velocity', _QD, target='frame', inertial=False, rules={'path': rules.velocity},
        on_tree=True, meaning='spatial velocity of a frame in its own coordinates'),
    Quantity(
        'jacobian_rate', _QD, target='frame', inertial=False, rules={'path': rules.jacobian_rate},
        on_tree=True,
        meaning='J-dot q-dot: spatial acceleration of a frame without joint accelerations'),
    Quantity(
        'frame_derivatives', _QDD, target='frame', inertial=False,
        rules={'path': derivative_rules.frame},
        on_tree=True,
        meaning='derivatives of velocity and acceleration of a frame in its own coordinates'),

    # --- handles ------------------------------------------------------------------------------
    Quantity(
        'projection', _QD, environment=_GRAVITY, target='handles',
        rules=handle_rules.PROJECTION, where=handle_rules.WHERE, compared=('ltl', 'pv'),
        worth={'pv': handle_rules.is_long},
        loop_rules={'ltl': loop_rules.projection}, loop_environment=('stabilization',),
        regular=True,
        derivative={'differentiated': derivative_rules.projection},
        meaning='Phi, b, J and H^-1 J^T of some handles: all that needs no inverse of Phi'),
    Quantity(
        'operational_space', (*_QD, 'max_condition'), environment=_GRAVITY, target='handles',
        rules=handle_rules.SPACE, where=handle_rules.WHERE, compared=('ltl', 'pv'),
        worth={'pv': handle_rules.is_long},
        loop_rules={'ltl': loop_rules.operational_space}, loop_environment=('stabilization',),
        regular=True,
        meaning='operational-space inertia of some handles and what belongs to it (RBDA 7.2)'),
    Quantity(
        'inverse_handle_inertia', _Q, target='handles', rules=handle_rules.INVERSE,
        where=handle_rules.WHERE, compared=handle_rules.COMPARED,
        instead=_HANDLES,
        meaning='Phi = J H^-1 J^T of many handles (RBDA 7.9)'),
    Quantity(
        'handle_inertia', (*_Q, 'damping'), target='handles', rules=handle_rules.INERTIA,
        where=handle_rules.WHERE, compared=handle_rules.COMPARED, shapes={'damping': (1,)},
        instead=_HANDLES,
        meaning='Lambda = (Phi + damping 1)^-1 of many handles, and Phi'),
)

#: Every quantity by name, the derivatives that rows declare among them.
TABLE: Mapping[str, Quantity] = MappingProxyType(
    {row.name: row for declared in _ROWS for row in declared.rows()})
