# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The state that the rules of quantities work on, and how a rule is evaluated.

Here the independent coordinates y of a model meet the tree coordinates q = gamma(y) of the
algorithms (RBDA 9.6): positions, velocities and accelerations are expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.algorithms.loops.loop_coordinates import Pivot
from rbd_ros.algorithms.loops.motion import Nominal
from rbd_ros.compiler import Values
from rbd_ros.dynamics.handle_inputs import Pattern
from rbd_ros.dynamics.quantity import Computation, find, Quantity, Rule, Target
from rbd_ros.errors import RbdError, SingularError
from rbd_ros.model.model import Model
from rbd_ros.model.parts import Frame
from rbd_ros.spatial import Force, RigidInertia, Sym3, Vec3


def _unknown(*_: object) -> Any:
    raise RbdError('the loops of this robot have not been analysed: read its loop_report first')


class Surroundings(NamedTuple):
    """
    What a rule may reach beyond its inputs.

    :param table: the quantities of the robot by name, those of the user among them.
    :param payload_frames: the frames whose payloads are an input.
    :param nominal: returns which constraints of loops are independent.
    :param pivots: returns the steps that solve the loops for all but some joints, by name.
    """

    table: Mapping[str, Quantity]
    payload_frames: tuple[Frame, ...] = ()
    nominal: Callable[[], Nominal] = _unknown
    pivots: Callable[[tuple[str, ...]], tuple[Pivot, ...]] = _unknown


class State(NamedTuple):
    """
    The inputs of a quantity as the algorithms want them: in tree coordinates.

    :param inputs: the same as they were given, by name, with those that only the quantity has.
    :param target: the frame, or the handles, that the quantity is about.
    :param g: tree accelerations at zero acceleration of the independent coordinates, which gears
        of changing ratio have; None for zero.
    """

    model: Model
    q: Values
    qd: Values
    qdd: Values
    tau: Values
    conditions: Conditions
    inputs: Mapping[str, Sequence[Any]]
    target: Any
    surroundings: Surroundings
    g: Values | None = None

    def reduce(self, force: Values) -> Values:
        """Return G^T times a force, or a row of a Jacobian, over the tree velocities."""
        return self.model.reduce_force(force, self.inputs['q'])

    def compute(
        self, name: str, target: Target = None, *, method: str | None = None,
        **changed: Sequence[Any] | None,
    ) -> Any:
        """
        Return another quantity of the robot, at this state, as part of the same graph.

        :param name: a quantity of the table, or one of the user's.
        :param target: the frame or handles that it is about.
        :param method: one of several; the first by default.
        :param changed: inputs other than those of this state; None leaves one out, such as the
            payload.
        :returns: its result, or results by name where there are several.
        """
        quantity = find(self.surroundings.table, name)
        item = quantity.of(self.model, target, method=method)
        acting = ('f_ext', 'payload', 'time')
        given = {key: value for key, value in {**self.inputs, **changed, **item.values}.items()
                 if value is not None and key in (*item.inputs, *item.common, *acting)}
        missing = [key for key in (*item.inputs, *item.common) if key not in given]
        if missing:
            raise RbdError(f'{name} needs {", ".join(missing)}, which this state has not: declare '
                           'it as an input, or give it to compute')
        rule = next(iter(item.rules.values()))
        results = evaluate(self.model, item, rule, given, self.surroundings)
        return next(iter(results.values())) if len(results) == 1 else results


def evaluate(
    model: Model, item: Computation, rule: Rule, x: Mapping[str, Sequence[Any]],
    surroundings: Surroundings,
) -> Mapping[str, Sequence[Any]]:
    """
    Return the outputs of a quantity by one of its rules, over plain or traced scalars.

    :raises SingularError: where plain numbers are divided by zero.
    """
    if item.quantity.loops.as_tree:
        model = model.spanning_tree
    try:
        results = rule(tree_state(model, x, item.target, surroundings))
    except ZeroDivisionError as error:
        raise SingularError(f'{item.name} of "{model.name}" divides by zero: it does not '
                            'exist here, or for no state at all') from error
    if not isinstance(results, Mapping) or not results:
        raise RbdError(f'the rule of {item.name} returned {type(results).__name__}: it must '
                       "return its results by name, such as {'tau': [...]}")
    return _shaped(model, results)


def _shaped(model: Model, results: Mapping[str, Sequence[Any]]) -> Mapping[str, Sequence[Any]]:
    """Return the results of a rule with the shapes that lists lose where nothing moves."""
    if model.nv and model.nb:
        return results
    n, m = model.nv, len(results.get('J', ()))
    empty = {'H': (n, n), 'Hinv': (n, n), 'C': (n, n), 'Gamma': (n, n, n), 'J_bar': (n, m),
             'HinvJT': (n, m), 'f': (model.nb, 6)}
    lost: dict[str, Any] = {name: np.empty(empty[name]) for name, value in results.items()
                            if name in empty and not len(value)}
    return {**results, **lost}


def with_payloads(
    model: Model, frames: Sequence[Frame], payload: Sequence[Any],
) -> list[RigidInertia]:
    """
    Return the inertias of all bodies with a payload at each of some frames.

    :param payload: mass, first moment and six entries of the inertia about the frame's origin:
        ten numbers, or ten for each frame.
    """
    rows = payload if len(payload) == len(frames) else [payload]
    inertia = list(model.inertia)
    for frame, (m, hx, hy, hz, *I) in zip(frames, rows, strict=True):
        load = RigidInertia(m, Vec3(hx, hy, hz), Sym3(*I))
        inertia[frame.body] += frame.placement.inv_apply(load)
    return inertia


def tree_state(
    model: Model, x: Mapping[str, Sequence[Any]], target: object, surroundings: Surroundings,
) -> State:
    """Return the inputs ``x`` of a quantity in tree coordinates, with what acts on the tree."""
    f_ext = None
    if 'f_ext' in x:
        f_ext = [None, *(Force.from_list(row) for row in x['f_ext'])]
    inertia = None
    if surroundings.payload_frames and 'payload' in x:
        inertia = with_payloads(model, surroundings.payload_frames, x['payload'])
    t = x['time'][0] if 'time' in x else 0.0
    gravity = Vec3(*x['gravity']) if 'gravity' in x else Vec3.zero()
    y: Any = x.get('q')
    yd: Any = x.get('qd')
    q = () if y is None else model.expand_q(y)
    qd = () if yd is None else model.expand_v(yd, y)
    g = None if yd is None else model.gear_bias(yd, y)
    qdd = model.expand_a(x['qdd'], yd, y) if 'qdd' in x else ()
    if isinstance(target, Pattern):
        target = target.handles(*(x[name] for name in target.inputs))
    return State(model, q, qd, qdd, x.get('tau', ()), Conditions(gravity, f_ext, inertia, t), x,
                 target, surroundings, g)
