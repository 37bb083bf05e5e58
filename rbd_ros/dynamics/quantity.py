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
What a quantity of a robot is: named inputs, rules that compute it, and the state they work on.

Here the independent coordinates y of a model meet the tree coordinates q = gamma(y) of the
algorithms (RBDA 9.6): positions, velocities and accelerations are expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.errors import RbdError, SingularError
from rbd_ros.spatial import Force, RigidInertia, Sym3, Vec3

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.model.model import Frame, Model

    Values = Sequence[Scalar]


class State(NamedTuple):
    """
    The inputs of a quantity as the algorithms want them: in tree coordinates.

    :param g: tree accelerations at zero acceleration of the independent coordinates, which gears
        of changing ratio have; None for zero.
    """

    model: Model
    q: Values
    qd: Values
    qdd: Values
    tau: Values
    conditions: Conditions
    inputs: Mapping[str, Sequence]
    g: Values | None = None

    def reduce(self, force: Values) -> Values:
        """Return G^T times a force, or a row of a Jacobian, over the tree velocities."""
        return self.model.reduce_force(force, self.inputs['q'])


#: Outputs by name, from a state.
Rule = Callable[[State], Mapping[str, Sequence]]


class Quantity(NamedTuple):
    """
    One quantity: what it needs, and one or more rules that all give the same.

    :param name: unique among the quantities of a model, parameters such as frames included.
    :param inputs: what the caller gives, names out of :func:`input_shapes` in calling order.
    :param rules: by method; where several are given, the one with the fewest operations for the
        robot at hand is compiled, and the first one is the reference.
    :param common: what the robot's surroundings give, after the inputs of the caller.
    :param target: the frame or handles it is about.
    :param inertial: whether the inertias of the bodies matter to it.
    :param shapes: of inputs that only this quantity has.
    :param values: of those inputs, which belong to the call and not to the kernel.
    """

    name: str
    inputs: tuple[str, ...]
    rules: Mapping[str, Rule]
    common: tuple[str, ...] = ()
    target: object = None
    inertial: bool = True
    shapes: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    values: Mapping[str, Sequence] = MappingProxyType({})

    @property
    def kind(self) -> str:
        """Return the name without parameters."""
        return self.name.partition(' ')[0]

    def loaded(self) -> Quantity:
        """Return the same quantity under external forces."""
        return self._replace(name=f'{self.name} f_ext', inputs=(*self.inputs, 'f_ext'))

    def with_common(self, name: str) -> Quantity:
        """Return the same quantity with one more input from the surroundings."""
        return self._replace(common=(*self.common, name))

    def by(self, method: str) -> Quantity:
        """Return the same quantity by one named method."""
        if method not in self.rules:
            known = ' and '.join(f'"{rule}"' for rule in self.rules)
            raise RbdError(
                f'{self.name} has no method "{method}" for this robot; there is {known}')
        return self._replace(name=f'{self.name} {method}', rules={method: self.rules[method]})


def input_shapes(model: Model) -> dict[str, tuple[int, ...]]:
    """Return the shape of every input that a quantity may name."""
    nq, nv = (model.nq,), (model.nv,)
    return {
        'q': nq, 'qd': nv, 'qdd': nv, 'tau': nv, 'f_ext': (model.nb, 6), 'gravity': (3,),
        'payload': (10,), 'time': (1,), 'max_condition': (1,),
    }


def evaluate(
    model: Model, quantity: Quantity, rule: Rule, x: Mapping[str, Sequence],
    payload_frame: Frame | None,
) -> Mapping[str, Sequence]:
    """
    Return the outputs of a quantity by one of its rules, over plain or traced scalars.

    :raises SingularError: where plain numbers are divided by zero.
    """
    try:
        return _shaped(model, rule(state(model, x, payload_frame)))
    except ZeroDivisionError as error:
        raise SingularError(f'{quantity.name} of "{model.name}" divides by zero: it does not '
                            'exist here, or for no state at all') from error


def _shaped(model: Model, results: Mapping[str, Sequence]) -> Mapping[str, Sequence]:
    """Return the results of a rule with the shapes that lists lose where nothing moves."""
    if model.nv and model.nb:
        return results
    n, m = model.nv, len(results.get('J', ()))
    empty = {'H': (n, n), 'Hinv': (n, n), 'C': (n, n), 'Gamma': (n, n, n), 'J_bar': (n, m),
             'HinvJT': (n, m), 'f': (model.nb, 6)}
    lost: dict[str, Any] = {name: np.empty(empty[name]) for name, value in results.items()
                            if name in empty and not len(value)}
    return {**results, **lost}


def with_payload(model: Model, frame: Frame, payload: Sequence[Scalar]) -> list[RigidInertia]:
    """
    Return the inertias of all bodies with a payload at a frame.

    :param payload: mass, first moment and six entries of the inertia about the frame's origin.
    """
    m, hx, hy, hz, *I = payload
    load = RigidInertia(m, Vec3(hx, hy, hz), Sym3(*I))
    inertia = list(model.inertia)
    inertia[frame.body] += frame.placement.inv_apply(load)
    return inertia


def state(model: Model, x: Mapping[str, Sequence], payload_frame: Frame | None = None) -> State:
    """Return the inputs ``x`` of a quantity in tree coordinates, with what acts on the tree."""
    f_ext = None
    if 'f_ext' in x:
        f_ext = [None, *(Force.from_list(row) for row in x['f_ext'])]
    inertia = None
    if payload_frame is not None and 'payload' in x:
        inertia = with_payload(model, payload_frame, x['payload'])
    t = x['time'][0] if 'time' in x else 0.0
    gravity = Vec3(*x['gravity']) if 'gravity' in x else Vec3.zero()
    q = model.expand_q(x['q']) if 'q' in x else ()
    qd = model.expand_v(x['qd'], x['q']) if 'qd' in x else ()
    g = model.gear_bias(x['qd'], x['q']) if 'qd' in x else None
    qdd = model.expand_a(x['qdd'], x['qd'], x['q']) if 'qdd' in x else ()
    return State(model, q, qd, qdd, x.get('tau', ()), Conditions(gravity, f_ext, inertia, t), x, g)
