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
One kernel per mode: dynamics, law and barriers of a whole cycle, traced and compiled together.

Every kernel gets the vectors of the whole model and gives the controlled joints: joints that
are not controlled move with their measured velocity and without acceleration. Gains, gravity,
payload and references are inputs, so that changing them compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rbd_ros import opspace, quantities, quantity
from rbd_ros.compiler import compile as compile_graph, trace
from rbd_ros.control import barriers, laws, task_law
from rbd_ros.digest import digest, source_digest

if TYPE_CHECKING:
    from rbd_ros.compiler import Bound, Scalar
    from rbd_ros.nodes.robot import Entry, Robot

    Vector = Sequence[Scalar]
    Inputs = Mapping[str, Sequence]
    Shapes = dict[str, tuple[int, ...]]

__all__ = ['AXES', 'KERNELS', 'LENGTH', 'TickKernels']

#: names of the directions of a frame, in the order of the rows of its Jacobian
AXES = ('rx', 'ry', 'rz', 'x', 'y', 'z')

#: m that a radian counts where the condition compares rotations and translations; without it
#: the light wrist of an ordinary arm looks like a singular pose
LENGTH = 0.1

KERNELS = ('gravity', 'float', 'damping', 'joint', 'task', 'report', 'momentum')
_BARRIER = barriers.Barrier._fields
_FRICTION = laws.Friction._fields


class TickKernels:
    """Traces and compiles the kernels of one robot."""

    def __init__(self, robot: Robot, *, driver_adds: str, driver_knows_payload: bool,
                 axes: Sequence[str] = AXES) -> None:
        """
        Fix what is part of the structure.

        :param robot: model and controlled joints.
        :param driver_adds: 'none', 'gravity' or 'gravity_and_coriolis'.
        :param driver_knows_payload: whether what the driver adds has the payload.
        :param axes: directions of the tip under motion control; a wrench acts along all.
        """
        self.robot = robot
        self._driver_adds, self._knows = driver_adds, driver_knows_payload
        self._axes = tuple(axes)
        model = robot.model
        self._rules = {name: quantities.make(model, name).rules for name in (
            'inverse_dynamics', 'bias', 'gravity', 'mass_matrix')}
        n, m = len(robot.joints), (model.nq,)
        common: Shapes = {'q': m, 'qd': m, 'gravity_vector': (3,), 'payload': (10,)}
        barrier: Shapes = {f'barrier_{name}': (n,) for name in _BARRIER}
        friction: Shapes = dict.fromkeys([f'friction_{name}' for name in _FRICTION], (n,))
        joint: Shapes = dict.fromkeys(('stiffness', 'damping', 'integral', 'external'), (n,))
        self._shapes: dict[str, Shapes] = {
            'gravity': common,
            'float': common | barrier | friction | {'scale': (n,), 'damping': (n,)},
            'damping': common | barrier | {'damping': (n,)},
            'joint': common | barrier | friction | joint | {'reference': (3, n)},
            'task': common | barrier | {
                'R_ref': (3, 3), 'p_ref': (3,), 'velocity_ref': (6,), 'acceleration_ref': (6,),
                'wrench': (6,), 'task_stiffness': (6,), 'task_damping': (6,),
                'max_condition': (1,), 'posture': (n,), 'posture_stiffness': (n,),
                'posture_damping': (n,)},
            'report': common | {'max_condition': (1,)},
            'momentum': common,
        }
        self._functions: dict[str, Callable[[Inputs], dict[str, Sequence]]] = {
            'gravity': self._basics, 'float': self._float, 'damping': self._damping,
            'joint': self._joint, 'task': self._task, 'report': self._report,
            'momentum': self._momentum}

    def compile(self, name: str) -> Bound:
        """
        Return one kernel with buffers of its own.

        :param name: out of ``KERNELS``.
        """
        shapes, function = self._shapes[name], self._functions[name]
        robot = self.robot
        key = digest(robot.model.digest(gravity=False), name, robot.index, robot.payload_frame,
                     robot.tip, self._driver_adds, self._knows, self._axes, source_digest(),
                     _own_source())

        def traced(*values: Sequence) -> dict[str, Sequence]:
            return function(dict(zip(shapes, values, strict=True)))
        return compile_graph(lambda: trace(traced, shapes, name=f'tick_{name}'), keys=key).bind()

    # -- dynamics -----------------------------------------------------------------------------

    def _state(self, x: Inputs, *, payload: bool = True,
               **more: Sequence) -> quantity.State:
        given = {'q': x['q'], 'qd': x['qd'], 'gravity': x['gravity_vector'],
                 'payload': x['payload'], **more}
        frame = self.robot.model.frame(self.robot.payload_frame) if payload else None
        return quantity.state(self.robot.model, given, frame)

    def _gravity(self, x: Inputs, *, payload: bool = True) -> list[Scalar]:
        rule = self._rules['gravity']['composite']
        return self._pick(rule(self._state(x, payload=payload))['tau'])

    def _bias(self, x: Inputs, *, payload: bool = True) -> list[Scalar]:
        return self._pick(self._rules['bias']['3d'](self._state(x, payload=payload))['tau'])

    def _pick(self, values: Sequence[Entry]) -> list[Entry]:
        return self.robot.pick(values)

    def _spread(self, values: Vector) -> list[Scalar]:
        """Return a vector of the model that is zero but for the controlled joints."""
        whole: list[Scalar] = [0.0] * self.robot.model.nv
        for i, value in zip(self.robot.index, values, strict=True):
            whole[i] = value
        return whole

    # -- kernels ------------------------------------------------------------------------------

    def _basics(self, x: Inputs) -> dict[str, Sequence]:
        """Return gravity and what the driver adds by itself."""
        gravity = self._gravity(x)
        if self._driver_adds == 'gravity':
            driver = gravity if self._knows else self._gravity(x, payload=False)
        elif self._driver_adds == 'gravity_and_coriolis':
            driver = self._bias(x, payload=self._knows)
        else:
            driver = [0.0] * len(gravity)
        return {'gravity': gravity, 'driver': driver}

    def _with_law(self, x: Inputs, basics: dict[str, Sequence], law: Vector,
                  **more: Sequence) -> dict[str, Sequence]:
        barrier = barriers.Barrier(*(x[f'barrier_{name}'] for name in _BARRIER))
        guarded = barriers.guard(self._pick(x['q']), self._pick(x['qd']), basics['gravity'],
                                 law, barrier)
        return {'law': guarded, **basics, **more}

    def _float(self, x: Inputs) -> dict[str, Sequence]:
        basics = self._basics(x)
        law = laws.gravity_compensation(self._pick(x['qd']), basics['gravity'],
                                        scale=x['scale'], friction=self._friction(x),
                                        damping=x['damping'])
        return self._with_law(x, basics, law)

    @staticmethod
    def _friction(x: Inputs) -> laws.Friction:
        return laws.Friction(*(x[f'friction_{name}'] for name in _FRICTION))

    def _damping(self, x: Inputs) -> dict[str, Sequence]:
        basics = self._basics(x)
        law = laws.damping(self._pick(x['qd']), basics['gravity'], x['damping'])
        return self._with_law(x, basics, law)

    def _joint(self, x: Inputs) -> dict[str, Sequence]:
        q, qd = self._pick(x['q']), self._pick(x['qd'])
        rule = self._rules['inverse_dynamics']['3d']
        law = laws.computed_torque(
            lambda _q, _qd, qdd: self._pick(rule(self._state(x, qdd=self._spread(qdd)))['tau']),
            q, qd, x['reference'], stiffness=x['stiffness'], damping=x['damping'],
            integral=x['integral'], continuous=self.robot.continuous)
        # That of the reference: measured velocity would feed its noise back.
        rubbing = laws.friction_torque(x['reference'][1], self._friction(x))
        law = [tau + f - r for tau, f, r in zip(law, rubbing, x['external'], strict=True)]
        error = laws.tracking_error(q, x['reference'][0], self.robot.continuous)
        return self._with_law(x, self._basics(x), law, error=error)

    def _tip(self, x: Inputs) -> dict[str, Sequence]:
        """Return what both the law and the report know of the tip and the inertia."""
        model = self.robot.model
        frame = model.frame(self.robot.tip)
        handles = (opspace.Handle(frame),)
        s = self._state(x)
        H = [self._pick(row) for row in self._pick(self._rules['mass_matrix']['crba'](s)['H'])]
        bias = self._bias(x)
        J = [self._pick(model.reduce_force(row))
             for row in opspace.task_jacobian(model, s.q, handles)]
        rate = opspace.task_bias(model, s.q, s.qd, handles)
        pose = quantities.pose(model, frame).rules['path'](s)['T']
        chosen = [AXES.index(axis) for axis in self._axes]
        projection = opspace.project(H, range(-1, len(H) - 1), bias, [J[i] for i in chosen],
                                     [rate[i] for i in chosen])
        spectrum = opspace.conditioned_inverse(self._scaled(projection.Phi),
                                               x['max_condition'][0])
        return {
            'H': H, 'bias': bias, 'J': J, 'rate': [rate[i] for i in chosen], 'chosen': chosen,
            'R': [row[:3] for row in pose[:3]], 'p': [row[3] for row in pose[:3]],
            'velocity': quantities.velocity(model, frame).rules['path'](s)['v'],
            'b': projection.b, 'rows': projection.J, 'HinvJT': projection.HinvJT,
            'Lambda': self._scaled(spectrum.Lambda), 'condition': [spectrum.condition]}

    def _scaled(self, matrix: Sequence[Vector]) -> list[list[Scalar]]:
        """Measure rotations of the tip by the way of a point beside it, for the condition."""
        scale = [LENGTH if axis.startswith('r') else 1.0 for axis in self._axes]
        return [[scale[i] * scale[j] * value for j, value in enumerate(row)]
                for i, row in enumerate(matrix)]

    def _task(self, x: Inputs) -> dict[str, Sequence]:
        tip = self._tip(x)
        wanted = self._task_acceleration(x, tip['R'], tip['p'], tip['velocity'])
        law = task_law.task_torque(
            tip['bias'], tip['rows'], tip['Lambda'], tip['HinvJT'], tip['rate'],
            [wanted[i] for i in tip['chosen']], self._posture(x, tip['H']),
            J_wrench=tip['J'], wrench=_to_frame(tip['R'], x['wrench']))
        return self._with_law(x, self._basics(x), law, **{
            name: tip[name] for name in ('condition', 'R', 'p', 'velocity')})

    def _momentum(self, x: Inputs) -> dict[str, Sequence]:
        """Return what the momentum observer needs."""
        H = self._rules['mass_matrix']['crba'](self._state(x))['H']
        return {'H': [self._pick(row) for row in self._pick(H)], 'bias': self._bias(x),
                'gravity': self._gravity(x)}

    def _report(self, x: Inputs) -> dict[str, Sequence]:
        """Return what is published about the dynamics."""
        tip = self._tip(x)
        task_bias = [-opspace.sum_products(row, tip['b']) for row in tip['Lambda']]        # 7.13
        # Without gravity, not as a difference with it: that loses digits at low speeds.
        coriolis = self._bias({**x, 'gravity_vector': [0.0, 0.0, 0.0]})
        return {'gravity': self._gravity(x), 'coriolis': coriolis, 'task_bias': task_bias, **{
            name: tip[name] for name in (
                'H', 'bias', 'J', 'Lambda', 'condition', 'R', 'p', 'velocity')}}

    def _task_acceleration(self, x: Inputs, R: Sequence[Vector], p: Vector,
                           velocity: Vector) -> list[Scalar]:
        """Return the spatial acceleration that brings the frame to its reference."""
        error = task_law.pose_error(R, p, x['R_ref'], x['p_ref'])
        rate = [a - b for a, b in zip(_to_frame(R, x['velocity_ref']), velocity)]
        wanted = task_law.task_acceleration(
            error, rate, _to_frame(R, x['acceleration_ref']),
            stiffness=x['task_stiffness'], damping=x['task_damping'])
        return task_law.spatial_acceleration(wanted[:3], wanted[3:], velocity)

    def _posture(self, x: Inputs, H: Sequence[Vector]) -> list[Scalar]:
        q, qd = self._pick(x['q']), self._pick(x['qd'])
        error = laws.tracking_error(q, x['posture'], self.robot.continuous)
        wanted = [kp * e - kd * v for kp, e, kd, v in zip(
            x['posture_stiffness'], error, x['posture_damping'], qd)]
        return [opspace.sum_products(row, wanted) for row in H]


def _to_frame(R: Sequence[Vector], six: Vector) -> list[Scalar]:
    """Turn a pair of vectors from base axes to those of the frame."""
    return [opspace.sum_products([R[k][i] for k in range(3)], part)
            for part in (six[:3], six[3:]) for i in range(3)]


@cache
def _own_source() -> str:
    """Return a digest of the laws and of this file."""
    files = [Path(__file__), *(Path(module.__file__ or '') for module in (
        barriers, laws, task_law))]
    return digest([(file.name, file.read_bytes()) for file in files])
