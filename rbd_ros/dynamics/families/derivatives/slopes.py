# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Slopes of a quantity by its inputs, for libraries that differentiate: by q itself, nq columns.

The derivatives of :mod:`rbd_ros.dynamics.families.derivatives.rules` are along the velocity
variables. A library that differentiates knows the numbers of q alone: along them, a step dq is the
velocity V dq that is nearest to it, and a step that no velocity makes, such as a longer
quaternion, counts as none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from rbd_ros.algorithms.linear import dense
from rbd_ros.compiler import Matrix, Scalar, Values
from rbd_ros.dynamics.families.derivatives import rules
from rbd_ros.dynamics.families.tree import EMPTY, Results
from rbd_ros.dynamics.quantity import AS_TREE, LINEARISED, OnLoops, Quantity, Traits
from rbd_ros.dynamics.state import State
from rbd_ros.errors import RbdError
from rbd_ros.model.model import Model
from rbd_ros.model.positions import q_dot

#: Ends the names of quantities of this module.
SLOPES = '_slopes'


class Slopes(NamedTuple):
    """
    How the derivatives of a quantity are computed, and how they are put together.

    A change of the result is ``left`` times the sum of each matrix times the change of its input;
    ``direct`` has no matrix, but is the identity.

    :param quantity: its results are a matrix for each of ``by``, then ``left`` if there is one.
    :param by: names of the inputs that have a matrix.
    :param direct: name of the input whose matrix is the identity, '' for none.
    :param has_left: whether the sum is to be multiplied by a matrix.
    """

    quantity: Quantity
    by: tuple[str, ...]
    direct: str = ''
    has_left: bool = False


def slopes_of(quantity: Quantity, model: Model, output: str) -> Slopes:
    """
    Return how a quantity of one result is differentiated by all its inputs.

    Dynamics have derivatives of their own, by recursion; all else is differentiated as it is
    traced.

    :param output: name of its result.
    """
    if quantity.name == 'forward_dynamics':
        # qdd' = H^-1 (tau' - dtau/dq q' - dtau/dqd qd'): no product of matrices
        return Slopes(_row(quantity, _forward_dynamics), ('q', 'qd'), 'tau', True)
    own = _OWN.get(quantity.name)
    if own is None:
        rule = next(iter(quantity.suitable(model).values()))
        own = partial(_traced, rule, output, quantity.inputs)
    return Slopes(_row(quantity, own), quantity.inputs)


def _row(quantity: Quantity, rule: Callable[[State], Results]) -> Quantity:
    return Quantity(
        quantity.name + SLOPES, quantity.inputs, {'slopes': rule},
        environment=quantity.environment, target=quantity.target, shapes=quantity.shapes,
        inertial=quantity.inertial, modules=quantity.modules,
        loops=AS_TREE if quantity.loops.as_tree else OnLoops(instead=LINEARISED),
        traits=Traits(finite=quantity.traits.finite, solves=quantity.traits.solves),
        meaning=f'derivatives of {quantity.name} by each of its inputs, by q itself')


# --- rules ----------------------------------------------------------------------------------


def _inverse_dynamics(s: State) -> Results:
    d = rules.inverse_dynamics(s)
    return {**d, 'dtau_dq': by_position(s, d['dtau_dq'])}


def _bias(s: State) -> Results:
    d = s.compute('inverse_dynamics_derivatives', qdd=[0.0] * s.model.nv)
    return {'dtau_dq': by_position(s, d['dtau_dq']), 'dtau_dqd': d['dtau_dqd']}


def _gravity(s: State) -> Results:
    rest = [0.0] * s.model.nv
    d = s.compute('inverse_dynamics_derivatives', qd=rest, qdd=rest)
    return {'dtau_dq': by_position(s, d['dtau_dq'])}


def _forward_dynamics(s: State) -> Results:
    Hinv, d = rules.forward_dynamics_factors(s)
    return {'dforce_dq': _minus(by_position(s, d['dtau_dq'])), 'dforce_dqd': _minus(d['dtau_dqd']),
            'Hinv': Hinv.matrix() or EMPTY}


def _velocity(s: State) -> Results:
    d = rules.frame(s._replace(qdd=[0.0] * len(s.qd), inputs={
        **s.inputs, 'qdd': [0.0] * s.model.nv}))
    return {'dv_dq': by_position(s, d['dv_dq']), 'dv_dqd': d['J']}


#: Rules for quantities whose derivatives are known, by name.
_OWN: dict[str, Callable[[State], Results]] = {
    'inverse_dynamics': _inverse_dynamics, 'bias': _bias, 'gravity': _gravity,
    'velocity': _velocity}


def _traced(rule: Callable[[State], Results], output: str, inputs: Sequence[str],
            s: State) -> Results:
    """Differentiate the rule of any quantity as it is traced."""
    found = rules.differentiated(s, rule, {output: tuple(inputs)})
    return {f'd{output}_d{name}': by_position(s, found[output, name]) if name == 'q'
            else found[output, name] for name in inputs}


def _minus(A: Sequence[Values]) -> Matrix:
    return [[-x for x in row] for row in A]


# --- positions ------------------------------------------------------------------------------


def by_position(s: State, derivative: Sequence[Any]) -> Any:
    """Return a derivative along the velocity variables, its last axis, as one by q."""
    V = velocity_map(s.model, s.inputs['q'])
    return derivative if V is None else _times(derivative, V, s.model.nq)


def _times(value: Any, V: Matrix, columns: int) -> Any:
    if len(value) and not isinstance(value[0], (list, tuple)):
        return [dense.dot(value, [row[k] for row in V]) for k in range(columns)]
    return [_times(each, V, columns) for each in value]


def velocity_map(model: Model, q: Values) -> Matrix | None:
    """
    Return V, (nv, nq): the velocity V dq is the one whose change of position is nearest to dq.

    :returns: None where velocities are the rates of positions.
    """
    units = dense.identity(model.nv)
    E = [q_dot(model, q, unit) for unit in units]               # transposed: (nv, nq)
    if all(_is_number(x) for row in E for x in row) and E == units:
        return None
    V = dense.zeros(model.nv, model.nq)
    for name in model.independent_joint_names:
        at_q, at_v = model.position_slice(name), model.velocity_slice(name)
        block = [row[at_q] for row in E[at_v]]
        square = [[dense.dot(a, b) for b in block] for a in block]
        for row, found in zip(V[at_v], dense.eliminate(square, block), strict=True):
            row[at_q] = found
    return V


def _is_number(x: Scalar) -> bool:
    return isinstance(x, (int, float))


def single_output(name: str, outputs: Sequence[Any]) -> Any:
    """Return the one output of a quantity, or refuse one that has several."""
    if len(outputs) != 1:
        raise RbdError(f'{name} has {len(outputs)} results '
                       f'({", ".join(each.name for each in outputs)}); a gradient is of one: '
                       'choose a quantity of one result, or define one (Dynamics.define)')
    return outputs[0]
