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
are not controlled move with their measured velocity and without acceleration, unless they are
passive. A passive joint has a known force instead, so that the laws find its acceleration with
the torques of the others: hybrid dynamics (RBDA 9.1). Gains, gravity, payload and references are
inputs, so that changing them compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TYPE_CHECKING

from rbd_ros.algorithms import opspace
from rbd_ros.algorithms.jacobi import largest_and_smallest
from rbd_ros.compiler import absolute, less_equal, sqrt
from rbd_ros.control.joint_states.motion import REACH, WINDOW
from rbd_ros.control.laws import (
    barriers, joint_space, operational_space as task_law, passive)
from rbd_ros.control.safety import limits
from rbd_ros.control.safety.limits import torque_step
from rbd_ros.dynamics.quantity import Quantity
from rbd_ros.dynamics.robot import Dynamics

if TYPE_CHECKING:
    from rbd_ros.compiler import Bound, Scalar
    from rbd_ros.control.robot import Entry, Robot
    from rbd_ros.dynamics.quantity import State

    Vector = Sequence[Scalar]
    Inputs = Mapping[str, Sequence]
    Shapes = dict[str, tuple[int, ...]]

__all__ = ['AXES', 'KERNELS', 'LENGTH', 'TickKernels']

#: names of the directions of a frame, in the order of the rows of its Jacobian
AXES = ('rx', 'ry', 'rz', 'x', 'y', 'z')

#: m that a radian counts where the condition compares rotations and translations; without it
#: the light wrist of an ordinary arm looks like a singular pose
LENGTH = 0.1

#: speed towards a joint limit per room, in units of the damping that brakes it: no overshoot
_APPROACH = 0.25

#: what the posture may ask of a joint, beside the frame, as a share of the frame's part
_REST = 0.5

#: a sum of torques that no robot has, N.m
_HUGE = 1e12

KERNELS = ('gravity', 'float', 'damping', 'joint', 'task', 'report', 'momentum')
#: modules that are traced, besides the algorithms
_TRACING = (__name__, *(
    module.__name__ for module in (barriers, joint_space, limits, passive, task_law)))
_BARRIER = barriers.Barrier._fields
_FRICTION = joint_space.Friction._fields
#: inputs that every robot knows
_KNOWN = ('q', 'qd', 'max_condition')
_PLAUSIBLE = ('mismatch', 'tolerance', 'mismatch_limit', 'differenced', 'speed', 'middle', 'reach')


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
        self._rows = [*map(AXES.index, axes), *(  # those under motion control come first
            i for i, axis in enumerate(AXES) if axis not in axes)]
        model = robot.model
        self._dynamics = Dynamics(model, payload_frame=robot.payload_frame,
                                  progress=lambda *_: None)
        n, m = len(robot.joints), (model.nq,)
        common: Shapes = {'q': m, 'qd': m}
        barrier: Shapes = {f'barrier_{name}': (n,) for name in _BARRIER}
        friction: Shapes = dict.fromkeys([f'friction_{name}' for name in _FRICTION], (n,))
        joint: Shapes = dict.fromkeys(('stiffness', 'damping', 'integral', 'external'), (n,))
        output: Shapes = {**dict.fromkeys(('last', 'last_sent', 'limit', 'rate', 'speed'), (n,)),
                          'dt': (1,)}
        seen: Shapes = {**dict.fromkeys(_PLAUSIBLE, (n,)), 'before': m, 'elapsed': (1,)}
        law = common | barrier | output | seen
        self._shapes: dict[str, Shapes] = {
            'gravity': common,
            'float': law | friction | {'scale': (n,), 'damping': (n,)},
            'damping': law | {'damping': (n,)},
            'joint': law | friction | joint | {'reference': (3, n), 'far': (n,)},
            'task': law | {
                'R_ref': (3, 3), 'p_ref': (3,), 'velocity_ref': (6,), 'acceleration_ref': (6,),
                'wrench': (6,), 'task_stiffness': (6,), 'task_damping': (6,),
                'task_integral': (6,), 'task_speed': (2,), 'far': (2,),
                'max_condition': (1,), 'joint_speed': (n,), 'drift': (n,), 'posture': (n,),
                'posture_stiffness': (n,), 'posture_damping': (n,)},
            'report': common | {'max_condition': (1,)},
            'momentum': common,
        }
        self._functions: dict[str, Callable[[State], dict[str, Sequence]]] = {
            'gravity': self._basics, 'float': self._float, 'damping': self._damping,
            'joint': self._joint, 'task': self._task, 'report': self._report,
            'momentum': self._momentum}

    def compile(self, name: str) -> Bound:
        """
        Return one kernel with buffers of its own.

        :param name: out of ``KERNELS``.
        """
        shapes, robot = self._shapes[name], self.robot
        own = {key: shape for key, shape in shapes.items() if key not in _KNOWN}
        quantity = Quantity(
            f'tick_{name}', tuple(shapes), {'rule': self._functions[name]}, ('gravity',),
            shapes=own, modules=_TRACING,
            key=(type(self), robot.index, robot.tip, tuple(robot.continuous), self._driver_adds,
                 self._knows, self._axes, robot.passive))
        self._dynamics.add(quantity)
        try:
            return self._dynamics.bind(quantity.name)
        finally:
            self._dynamics.remove(quantity)  # its rule is ours: a circle that would keep the code

    # -- dynamics -----------------------------------------------------------------------------

    def _gravity(self, s: State, **changed: Any) -> list[Scalar]:
        return self._pick(s.compute('gravity', **changed))

    def _bias(self, s: State, **changed: Any) -> list[Scalar]:
        return self._pick(s.compute('bias', method='3d', **changed))

    def _torque(self, s: State, qdd: Vector) -> list[Scalar]:
        """Return the torques that accelerate the controlled joints as given."""
        robot, known = self.robot, self._spread(qdd)
        if not robot.passive:
            return self._pick(s.compute('inverse_dynamics', method='3d', qdd=known))
        for i, force in zip(robot.passive_index, self._passive_force(s), strict=True):
            known[i] = force
        moved = [name for name in robot.model.independent_joint_names if name not in robot.passive]
        return self._pick(s.compute('hybrid_dynamics', moved, known=known)['tau'])

    def _passive_force(self, s: State) -> list[Scalar]:
        """Return the force on the passive joints: the damping that the description gives them."""
        return [-self.robot.model.damping[i] * s.inputs['qd'][i] for i in self.robot.passive_index]

    def _pick(self, values: Sequence[Entry]) -> list[Entry]:
        return self.robot.pick(values)

    def _spread(self, values: Vector) -> list[Scalar]:
        """Return a vector of the model that is zero but for the controlled joints."""
        whole: list[Scalar] = [0.0] * self.robot.model.nv
        for i, value in zip(self.robot.index, values, strict=True):
            whole[i] = value
        return whole

    # -- kernels ------------------------------------------------------------------------------

    def _basics(self, s: State) -> dict[str, Sequence]:
        """Return gravity and what the driver adds by itself."""
        gravity = self._gravity(s)
        known: dict[str, None] = {} if self._knows else {'payload': None}
        if self._driver_adds == 'gravity':
            driver = self._gravity(s, **known)
        elif self._driver_adds == 'gravity_and_coriolis':
            driver = self._bias(s, **known)
        else:
            driver = [0.0] * len(gravity)
        return {'gravity': gravity, 'driver': driver}

    def _with_law(self, x: Inputs, basics: dict[str, Sequence], law: Vector,
                  **more: Sequence) -> dict[str, Sequence]:
        barrier = barriers.Barrier(*(x[f'barrier_{name}'] for name in _BARRIER))
        qd = self._pick(x['qd'])
        guarded = barriers.guard(self._pick(x['q']), qd, basics['gravity'], law, barrier)
        limited = torque_step(guarded, basics['driver'], x['last'], x['last_sent'], x['limit'],
                              x['rate'], x['dt'][0])
        watched = [*zip(qd, x['speed']), *zip(more.get('error', ()), x.get('far', ()))]
        mismatch, plausible = self._plausible(x)
        watched += plausible
        usual = self._usual([*x['q'], *x['qd'], *guarded, *basics['gravity'],
                             *basics['driver']], watched)
        return {'law': guarded, **basics, **limited, 'usual': [usual], 'mismatch': mismatch,
                **more}

    def _plausible(self, x: Inputs) -> tuple[list[Scalar], list[tuple[Scalar, Scalar]]]:
        """Return how far positions ran away from velocities, and what must be within bounds."""
        q, qd, before = (self._pick(x[name]) for name in ('q', 'qd', 'before'))
        elapsed = x['elapsed'][0]
        fade = WINDOW / (WINDOW + elapsed)
        watched: list[tuple[Scalar, Scalar]] = []
        mismatch = []
        for p, v, p0, m, tolerance, far, fast, speed, middle, reach in zip(
                q, qd, before, *(x[name] for name in _PLAUSIBLE)):
            step = p - p0
            m = (m + step - v * elapsed) * fade
            mismatch.append(m)
            watched += [(step, tolerance + REACH * speed * elapsed), (m, far),
                        (v + m / WINDOW, fast), (p - middle, reach)]
        return mismatch, watched

    @staticmethod
    def _usual(results: Vector, watched: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
        """Return 1 if all is finite and within its bounds, else 0 or NaN."""
        size = _in_pairs([absolute(value) for value in results], lambda a, b: a + b)
        return _in_pairs([less_equal(size, _HUGE), *(
            less_equal(absolute(value), most) for value, most in watched)], lambda a, b: a * b)

    def _float(self, s: State) -> dict[str, Sequence]:
        x, basics = s.inputs, self._basics(s)
        law = joint_space.gravity_compensation(
            self._pick(x['qd']), basics['gravity'], scale=x['scale'], friction=self._friction(x),
            damping=x['damping'])
        return self._with_law(x, basics, law)

    @staticmethod
    def _friction(x: Inputs) -> joint_space.Friction:
        return joint_space.Friction(*(x[f'friction_{name}'] for name in _FRICTION))

    def _damping(self, s: State) -> dict[str, Sequence]:
        x, basics = s.inputs, self._basics(s)
        law = joint_space.damping(self._pick(x['qd']), basics['gravity'], x['damping'])
        return self._with_law(x, basics, law)

    def _joint(self, s: State) -> dict[str, Sequence]:
        x = s.inputs
        q, qd = self._pick(x['q']), self._pick(x['qd'])
        law = joint_space.computed_torque(
            lambda _q, _qd, qdd: self._torque(s, qdd), q, qd, x['reference'],
            stiffness=x['stiffness'], damping=x['damping'], integral=x['integral'],
            continuous=self.robot.continuous)
        # That of the reference: measured velocity would feed its noise back.
        rubbing = joint_space.friction_torque(x['reference'][1], self._friction(x))
        law = [tau + f - r for tau, f, r in zip(law, rubbing, x['external'], strict=True)]
        error = joint_space.tracking_error(q, x['reference'][0], self.robot.continuous)
        return self._with_law(x, self._basics(s), law, error=error)

    def _tip(self, s: State) -> dict[str, Sequence]:
        """Return what both the law and the report know of the tip."""
        tip = self.robot.tip
        J, H = s.compute('jacobian', tip), s.compute('mass_matrix')
        rate, pose = s.compute('jacobian_rate', tip), s.compute('pose', tip)
        chosen = [AXES.index(axis) for axis in self._axes]
        return {
            'H': [self._pick(row) for row in self._pick(H)], 'bias': self._bias(s),
            'J': [self._pick(row) for row in J],
            'rate': [rate[i] for i in chosen], 'chosen': chosen,
            'R': [row[:3] for row in pose[:3]], 'p': [row[3] for row in pose[:3]],
            'velocity': s.compute('velocity', tip)}

    def _yielding(self, s: State, tip: dict[str, Sequence]) -> dict[str, Sequence]:
        """Return the same as felt where passive joints give way."""
        robot, chosen = self.robot, tip['chosen']
        if not robot.passive:
            return tip
        rate = s.compute('jacobian_rate', robot.tip)
        H, bias, J, rate = passive.felt(
            s.compute('mass_matrix'), s.compute('bias', method='3d'),
            s.compute('jacobian', robot.tip), rate, self._passive_force(s),
            controlled=robot.index, passive=robot.passive_index)
        return tip | {'H': H, 'bias': bias, 'J': J, 'rate': [rate[i] for i in chosen]}

    def _project(self, tip: Mapping[str, Sequence],
                 H: Sequence[Vector]) -> opspace.Projection:
        """Return the operational space of the tip."""
        return opspace.project([list(row) for row in H], range(-1, len(H) - 1), tip['bias'],
                               [tip['J'][i] for i in tip['chosen']], tip['rate'])

    def _conditioned(self, x: Inputs, Phi: Sequence[Vector]) -> opspace.Spectrum:
        spectrum = opspace.conditioned_inverse(self._scaled(Phi), x['max_condition'][0])
        return spectrum._replace(Lambda=self._scaled(spectrum.Lambda))

    def _scaled(self, matrix: Sequence[Vector]) -> list[list[Scalar]]:
        """Measure rotations of the tip by the way of a point beside it, for the condition."""
        scale = [LENGTH if i < 3 else 1.0 for i in self._rows]
        return [[scale[i] * scale[j] * value for j, value in enumerate(row)]
                for i, row in enumerate(matrix)]

    def _task(self, s: State) -> dict[str, Sequence]:
        x, tip = s.inputs, self._yielding(s, self._tip(s))
        R, H, q, qd = tip['R'], tip['H'], self._pick(x['q']), self._pick(x['qd'])
        error = task_law.pose_error(R, tip['p'], x['R_ref'], x['p_ref'])
        lead = [e if axis in self._axes else 0.0 for axis, e in zip(AXES, error)]
        k, wanted = self._wanted(x, tip, error)
        posture = task_law.posture_speed(
            joint_space.tracking_error(q, x['posture'], self.robot.continuous), x['joint_speed'],
            task_law.Gains(x['posture_stiffness'], x['posture_damping']))
        posture = [u + v for u, v in zip(posture, x['drift'])]
        projection = self._project(tip, H)
        guess = self._scaled(opspace.damped_inverse(
            self._scaled(projection.Phi), x['max_condition'][0]))
        wish = _scaled_to(task_law.joint_speed(_space(projection, guess), wanted),
                          x['joint_speed'])
        free = task_law.room(q, x['barrier_lower'], x['barrier_upper'], x['barrier_margin'],
                             _APPROACH * k)
        yields = task_law.yielding(wish, free)
        heavy, force = task_law.heavier(H, yields), _to_frame(R, x['wrench'])
        projection = self._project(tip, heavy)
        spectrum = self._conditioned(x, projection.Phi)
        space = _space(projection, spectrum.Lambda)
        motion = _scaled_to(task_law.joint_speed(space, wanted), x['joint_speed'])
        rest = _scaled_to(
            task_law.unfelt(self._with_pressed(x, tip, heavy, space, force),
                            task_law.bounded(posture, wish, free, yields)),
            [_REST * speed for speed in x['joint_speed']])
        sought = task_law.within([a + b for a, b in zip(motion, rest)], free)
        qdd = [k * (u - v) for u, v in zip(sought, qd)]
        push = task_law.eased(force, tip['velocity'], x['task_speed'], qd, x['barrier_speed'])
        law = [c + opspace.sum_products(row, qdd)
               + opspace.sum_products([line[j] for line in tip['J']], push)
               for j, (c, row) in enumerate(zip(tip['bias'], H))]
        return self._with_law(x, self._basics(s), law, R=R, p=tip['p'],
                              velocity=tip['velocity'], condition=[spectrum.condition],
                              lost=spectrum.lost, lead=_to_base(R, lead),
                              error=[sqrt(opspace.sum_products(part, part))
                                     for part in (lead[:3], lead[3:])])

    def _with_pressed(self, x: Inputs, tip: Mapping[str, Sequence], H: Sequence[Vector],
                      space: task_law.Operational, force: Vector) -> task_law.Operational:
        """Return the space that the posture must leave alone: where the tip moves or presses."""
        others = self._rows[len(self._axes):]
        if not others:
            return space
        shares = [*[1.0] * len(self._axes), *task_law.pressed(force, others)]
        whole = opspace.project([list(row) for row in H], range(-1, len(H) - 1), tip['bias'],
                                [tip['J'][i] for i in self._rows], [0.0] * len(self._rows))
        Lambda = self._conditioned(x, task_law.sealed(whole.Phi, shares)).Lambda
        return task_law.Operational(
            [[share * value for value in row] for share, row in zip(shares, whole.J)],
            [[share * value for share, value in zip(shares, row)] for row in whole.HinvJT],
            Lambda)

    def _wanted(self, x: Inputs, tip: Mapping[str, Sequence],
                error: Vector) -> tuple[Scalar, list[Scalar]]:
        """Return a damping, and the velocity of the tip that it should lead to."""
        chosen, R, v = tip['chosen'], tip['R'], tip['velocity']
        kp, kd = x['task_stiffness'], x['task_damping']
        a = task_law.spatial_acceleration(
            [a_ref + d * (v_ref - speed) + p * e + z for a_ref, d, v_ref, speed, p, e, z in zip(
                _to_frame(R, x['acceleration_ref']), kd, _to_frame(R, x['velocity_ref']), v,
                kp, error, _to_frame(R, x['task_integral']))], v)
        k, _ = largest_and_smallest(task_law.Gains(
            [kp[i] for i in chosen], [kd[i] for i in chosen]).rates())
        qd = self._pick(x['qd'])
        return k, [(a[i] - rate) / k + opspace.sum_products(tip['J'][i], qd)
                   for i, rate in zip(chosen, tip['rate'])]

    def _momentum(self, s: State) -> dict[str, Sequence]:
        """Return what the momentum observer needs; all joints share in the momentum."""
        return {'H': self._pick(s.compute('mass_matrix')), 'bias': self._bias(s),
                'gravity': self._gravity(s)}

    def _report(self, s: State) -> dict[str, Sequence]:
        """Return what is published about the dynamics."""
        tip = self._tip(s)
        projection = self._project(tip, tip['H'])
        spectrum = self._conditioned(s.inputs, projection.Phi)
        task_bias = [-opspace.sum_products(row, projection.b) for row in spectrum.Lambda]  # 7.13
        # Without gravity, not as a difference with it: that loses digits at low speeds.
        coriolis = self._bias(s, gravity=[0.0, 0.0, 0.0])
        return {'gravity': self._gravity(s), 'coriolis': coriolis, 'task_bias': task_bias,
                'Lambda': spectrum.Lambda, 'condition': [spectrum.condition],
                'lost': spectrum.lost, **{name: tip[name] for name in (
                    'H', 'bias', 'J', 'R', 'p', 'velocity')}}


def _in_pairs(values: Vector, join: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    """Join neighbours until one is left: a processor does not wait for one after the other."""
    while len(values) > 1:
        values = [*(join(a, b) for a, b in zip(values[::2], values[1::2])),
                  *values[len(values) & ~1:]]
    return values[0]


def _space(projection: opspace.Projection,
           Lambda: Sequence[Vector]) -> task_law.Operational:
    return task_law.Operational(projection.J, projection.HinvJT, Lambda)


def _scaled_to(speeds: Vector, most: Vector) -> list[Scalar]:
    """Scale joint velocities so that none is larger than it may be."""
    share = task_law.speed_share(speeds, most)
    return [share * speed for speed in speeds]


def _to_frame(R: Sequence[Vector], six: Vector) -> list[Scalar]:
    """Turn a pair of vectors from base axes to those of the frame."""
    return [opspace.sum_products([R[k][i] for k in range(3)], part)
            for part in (six[:3], six[3:]) for i in range(3)]


def _to_base(R: Sequence[Vector], six: Vector) -> list[Scalar]:
    """Turn a pair of vectors from the axes of the frame to those of the base."""
    return [opspace.sum_products(row, part) for part in (six[:3], six[3:]) for row in R]
