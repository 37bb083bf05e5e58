# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Rules for derivatives: of dynamics, of the motion of frames and of handles.

Derivatives by position are along the velocity variables: nv of them, also where nq is larger. The
first ones of dynamics and of frames come from the recursion of
:mod:`rbd_ros.algorithms.derivatives`; second ones, those of handles, and those of gears whose
ratio changes, by differentiating what is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from rbd_ros.algorithms.derivatives import frame_derivatives as of_frame, rnea_derivatives
from rbd_ros.algorithms.kinematics import accelerations, velocities, velocity_products
from rbd_ros.algorithms.linear import dense, ltl
from rbd_ros.compiler import Graph, jacobian, Rows, Scalar, trace, Values
from rbd_ros.compiler.graph.graph import flatten, nest
from rbd_ros.dynamics.families.handles.rules import projection as project
from rbd_ros.dynamics.families.joint_space import (
    bias_3d, bias_spatial, gravity, inverse_dynamics_3d)
from rbd_ros.dynamics.families.tree import (
    EMPTY, inertia, reduce_matrix, Results, six_rows, sparsity, tree)
from rbd_ros.dynamics.handle_inputs import Pattern
from rbd_ros.dynamics.state import State, tree_state
from rbd_ros.model.model import Model
from rbd_ros.model.positions import q_dot
from rbd_ros.spatial import Motion

# --- joint space ----------------------------------------------------------------------------


def _gears_change(s: State) -> bool:
    return s.model.coupling is not None and not s.model.coupling.constant


def inverse_dynamics(s: State) -> Results:
    """Return the derivatives of tau by q, qd and qdd, the last of which is H."""
    if _gears_change(s):
        d = differentiated(s, inverse_dynamics_3d, {'tau': ('q', 'qd', 'qdd')})
        return {f'dtau_d{name}': d['tau', name] for name in ('q', 'qd', 'qdd')}
    dq, dqd, H = (reduce_matrix(s, M) for M in rnea_derivatives(
        s.model, s.q, s.qd, s.qdd, s.conditions))
    if s.model.nv:                                                                         # 9.28
        H = [[x + s.model.rotor_inertia[i] if i == j else x for j, x in enumerate(row)]
             for i, row in enumerate(H)]
    return {'dtau_dq': dq, 'dtau_dqd': dqd, 'dtau_dqdd': H}


def forward_dynamics_factors(s: State) -> tuple[ltl.Inverse, Results]:
    """Return H^-1, and the derivatives of tau at the accelerations that tau causes."""
    Hinv = ltl.Inverse(inertia(s), sparsity(s.model))
    qdd = Hinv.times([t - c for t, c in zip(s.tau, _bias(s), strict=True)])                # 6.1
    return Hinv, _inverse_dynamics_at(s, qdd)


def _inverse_dynamics_at(s: State, qdd: Values) -> Results:
    y, yd = s.inputs['q'], s.inputs['qd']
    return inverse_dynamics(s._replace(
        qdd=s.model.expand_a(qdd, yd, y), inputs={**s.inputs, 'qdd': qdd}))


def _bias(s: State) -> Values:
    """
    Return C, which tau is at zero acceleration.

    Its terms of velocity are of second order in qd: half of their derivative times qd. That one
    does not depend on qdd and is wanted anyway, so that only the forces at rest are added.
    """
    if s.model.time_dependent:
        return bias_spatial(s)['tau']
    if s.conditions.f_ext is None:
        rest = gravity(s)['tau']
    else:
        rest = bias_3d(s._replace(qd=[0.0] * s.model.tree_nv, g=None))['tau']
    slope = _inverse_dynamics_at(s, [0.0] * s.model.nv)['dtau_dqd']
    return [f + 0.5 * dense.dot(row, s.inputs['qd'])
            for f, row in zip(rest, slope, strict=True)]


def forward_dynamics(s: State) -> Results:
    """Return the derivatives of qdd by q, qd and tau."""
    Hinv, d = forward_dynamics_factors(s)
    return products(Hinv, d['dtau_dq'], d['dtau_dqd'])


def products(Hinv: ltl.Inverse, dtau_dq: Rows, dtau_dqd: Rows) -> Results:
    """Return the derivatives of qdd: -H^-1 times those of tau, and H^-1."""
    return {'dqdd_dq': _minus_product(Hinv, dtau_dq), 'dqdd_dqd': _minus_product(Hinv, dtau_dqd),
            'dqdd_dtau': Hinv.matrix() or EMPTY}


def forward_dynamics_first(s: State) -> Results:
    """Return H^-1 and its factors in one row, and the matrices that it is to multiply."""
    Hinv, d = forward_dynamics_factors(s)
    return {'factors': Hinv.numbers, 'dtau_dq': d['dtau_dq'], 'dtau_dqd': d['dtau_dqd'],
            'dqdd_dtau': Hinv.matrix()}


def forward_dynamics_column(model: Model) -> Graph:
    """Return what makes a column of the derivatives of qdd of one of those of tau."""
    parent = sparsity(model)

    def column(factors: Values, dtau: Values) -> Results:
        return {'dqdd': [-x for x in ltl.Inverse.of(factors, parent).times(dtau)]}
    count = len(ltl.Inverse(dense.identity(model.nv), parent).numbers)
    return trace(column, {'factors': count, 'dtau': model.nv}, name='column')


def _minus_product(Hinv: ltl.Inverse, B: Rows) -> Rows:
    columns = [Hinv.times([-x for x in column]) for column in zip(*B, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)] or EMPTY


def inverse_dynamics_second(s: State) -> Results:
    """Return the derivatives of those of tau: of dtau_dq, dtau_dqd and H by q, and by qd."""
    d = differentiated(s, inverse_dynamics, {
        'dtau_dq': ('q',), 'dtau_dqd': ('q', 'qd'), 'dtau_dqdd': ('q',)})
    return {'d2tau_dq2': d['dtau_dq', 'q'], 'd2tau_dqd_dq': d['dtau_dqd', 'q'],
            'd2tau_dqd2': d['dtau_dqd', 'qd'], 'dH_dq': d['dtau_dqdd', 'q']}


# --- frames and handles ---------------------------------------------------------------------


def frame(s: State) -> Results:
    """Return the derivatives of velocity and acceleration of a frame, in its own coordinates."""
    if _gears_change(s):
        d = differentiated(s, _frame_motion, {'v': ('q', 'qd'), 'a': ('q', 'qd')})
        return {'J': d['v', 'qd'], 'dv_dq': d['v', 'q'], 'da_dq': d['a', 'q'],
                'da_dqd': d['a', 'qd']}
    found = of_frame(s.model, s.q, s.qd, s.qdd, s.target, s.conditions.t)
    return {name: six_rows(s, columns) for name, columns in found._asdict().items()}


def _frame_motion(s: State) -> Results:
    links, t = tree(s), s.conditions.t
    v, v_J = velocities(s.model, links, s.q, s.qd, t)
    c = velocity_products(s.model, s.q, s.qd, v, v_J, t)
    a = accelerations(s.model, links, c, s.qdd, Motion.zero())
    return {name: (s.target.placement @ x[s.target.body]).to_list()
            for name, x in (('v', v), ('a', a))}


def projection(s: State) -> Results:
    """Return Phi and b of some handles, and their derivatives by q and qd."""
    value = project(s)
    slope = differentiated(s, project, {'Phi': ('q',), 'b': ('q', 'qd')})
    return {'Phi': value['Phi'], 'b': value['b'], 'dPhi_dq': slope['Phi', 'q'],
            'db_dq': slope['b', 'q'], 'db_dqd': slope['b', 'qd']}


# --- by tracing -----------------------------------------------------------------------------


def differentiated(
    s: State, function: Callable[[State], Results],
    wanted: Mapping[str, Sequence[str]],
) -> dict[tuple[str, str], Any]:
    """
    Return derivatives of what a function of a state computes, by tracing it.

    :param function: outputs by name, from a state.
    :param wanted: for each output, the inputs to differentiate by; positions count along the
        velocity variables.
    :returns: by output and input, the derivative with the axes of both.
    """
    elements = {name: flatten(value, name) for name, value in s.inputs.items()}
    # Handles that are inputs are made anew from them.
    target = Pattern.of(s.target) if 'placements' in s.inputs else s.target

    def traced(*arrays: Sequence[Any]) -> Results:
        given = dict(zip(s.inputs, arrays, strict=True))
        results = function(tree_state(s.model, given, target, s.surroundings))
        return {name: value for name, value in results.items() if name in wanted}

    graph = trace(traced, {name: shape for name, (_, shape) in elements.items()})
    flat = {name: numbers for name, (numbers, _) in elements.items()}
    found: dict[tuple[str, str], Any] = {}
    for wrt in dict.fromkeys(name for inputs in wanted.values() for name in inputs):
        names = [of for of, inputs in wanted.items() if wrt in inputs]
        slopes = iter(jacobian(graph, names, wrt).evaluate(*flat.values()))
        for of in names:
            argument = graph.outputs[graph.output_index(of)]
            rows = list(islice(slopes, argument.size * len(flat[wrt])))
            if wrt == 'q':
                rows = _along_velocities(s.model, s.inputs['q'], rows)
            found[of, wrt] = nest(rows, (*argument.shape, s.model.nv))
    return found


def _along_velocities(model: Model, q: Values, slopes: Values) -> list[Scalar]:
    """Return rows of derivatives by q as rows of derivatives along the velocity variables."""
    units = [[float(k == m) for m in range(model.nv)] for k in range(model.nv)]
    ways = [q_dot(model, q, unit) for unit in units]
    return [dense.dot(slopes[k:k + model.nq], way)
            for k in range(0, len(slopes), model.nq) for way in ways]
