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

Here the independent coordinates y of a model meet the tree coordinates q = G y + q0 of the
algorithms (RBDA 9.6): positions, velocities and accelerations are expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TYPE_CHECKING

from rbd_ros.errors import RbdError
from rbd_ros.kinematics import Conditions
from rbd_ros.spatial import Force, RigidInertia, Sym3, Vec3

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.model import Frame, Model

    Values = Sequence[Scalar]


class State(NamedTuple):
    """The inputs of a quantity as the algorithms want them: in tree coordinates."""

    model: Model
    q: Values
    qd: Values
    qdd: Values
    tau: Values
    conditions: Conditions
    inputs: Mapping[str, Sequence]


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
    """

    name: str
    inputs: tuple[str, ...]
    rules: Mapping[str, Rule]
    common: tuple[str, ...] = ()
    target: object = None
    inertial: bool = True

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


def state(model: Model, x: Mapping[str, Sequence], payload_frame: Frame | None = None) -> State:
    """Return the inputs ``x`` of a quantity in tree coordinates, with what acts on the tree."""
    f_ext = None
    if 'f_ext' in x:
        f_ext = [None, *(Force.from_list(row) for row in x['f_ext'])]
    inertia = None
    if payload_frame is not None and 'payload' in x:
        m, hx, hy, hz, *I = x['payload']
        load = RigidInertia(m, Vec3(hx, hy, hz), Sym3(*I))
        inertia = list(model.inertia)
        inertia[payload_frame.body] += payload_frame.placement.inv_apply(load)
    t = x['time'][0] if 'time' in x else 0.0
    gravity = Vec3(*x['gravity']) if 'gravity' in x else Vec3.zero()
    q = model.expand_q(x['q']) if 'q' in x else ()
    qd, qdd = (model.expand_v(x[name]) if name in x else () for name in ('qd', 'qdd'))
    return State(model, q, qd, qdd, x.get('tau', ()), Conditions(gravity, f_ext, inertia, t), x)
