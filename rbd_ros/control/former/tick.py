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
the torques of the others: hybrid dynamics (RBDA 9.1). Of a robot with closed loops everything is
projected on the driven joints, which move all others. Gains, gravity, payload and references are
inputs, so that changing them compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TYPE_CHECKING

from rbd_ros.compiler import absolute, clamp, less_equal
from rbd_ros.control.former.joint_states.motion import REACH, WINDOW
from rbd_ros.control.kernels import barriers
from rbd_ros.control.kernels import joint_space
from rbd_ros.control.kernels import operational_space
from rbd_ros.control.kernels import passive
from rbd_ros.control.kernels.closed_loop_terms import LoopTerms
from rbd_ros.control.former.safety import limits
from rbd_ros.control.former.safety.limits import in_proportion, torque_step
from rbd_ros.control.kernels import own_law
from rbd_ros.control.modes.modes import Follows
from rbd_ros.control.kernels.own_law import law_of, LawTerms, own_shapes
from rbd_ros.control.kernels.terms import Terms
from rbd_ros.control.kernels.tip import AXES, Tip
from rbd_ros.dynamics.quantity import OnLoops, Quantity
from rbd_ros.dynamics.robot import Dynamics

if TYPE_CHECKING:
    from rbd_ros.compiler import Bound, Scalar
    from rbd_ros.control.robot import Robot
    from rbd_ros.control.modes.modes import Mode
    from rbd_ros.dynamics.state import State

    Vector = Sequence[Scalar]
    Inputs = Mapping[str, Sequence[Any]]
    Shapes = dict[str, tuple[int, ...]]

__all__ = ['KERNELS', 'TickKernels']

#: a sum of torques that no robot has, N.m
_HUGE = 1e12

KERNELS = ('stop', 'float', 'damping', 'joint', 'task', 'report', 'momentum')
#: modules that are traced, besides the algorithms
_TRACING = (__name__, Terms.__module__, LoopTerms.__module__, Tip.__module__, *(
    module.__name__ for module in (
        barriers, joint_space, limits, operational_space, own_law, passive)))
_BARRIER = barriers.Barrier._fields
_FRICTION = joint_space.Friction._fields
#: inputs that every robot knows
_KNOWN = ('q', 'qd', 'max_condition')
_PLAUSIBLE = ('mismatch', 'tolerance', 'mismatch_limit', 'differenced', 'speed', 'middle', 'reach',
              'repeats')

#: kernels that depend on the tip and its axes, and those that know nothing of the driver
_OF_TIP = ('task', 'report')
_WITHOUT_DRIVER = ('report', 'momentum', 'loops')


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
        self._terms = LoopTerms(robot) if robot.model.loops else Terms(robot)
        self._tip = Tip(self._terms, axes)
        model = robot.model
        self._dynamics = Dynamics(model, payload_frame=robot.payload_frame,
                                  progress=lambda *_: None, closed_near=robot.assembly or None)
        n, m = len(robot.joints), (model.nq,)
        common: Shapes = {'q': m, 'qd': m}
        barrier: Shapes = {f'barrier_{name}': (n,) for name in _BARRIER}
        friction: Shapes = dict.fromkeys([f'friction_{name}' for name in _FRICTION], (n,))
        joint: Shapes = dict.fromkeys(('stiffness', 'damping', 'integral', 'external'), (n,))
        output: Shapes = {**dict.fromkeys(('last', 'last_sent', 'limit', 'rate', 'speed'), (n,)),
                          'dt': (1,)}
        seen: Shapes = {**dict.fromkeys((*_PLAUSIBLE, 'standstill', 'halt'), (n,)),
                        'before': m, 'speed_before': m, 'elapsed': (1,)}
        closed: Shapes = dict.fromkeys(
            ('loop_tolerance', 'loop_pivot') if model.loops else (), (1,))
        law = common | barrier | output | seen | closed
        self._shapes: dict[str, Shapes] = {
            'stop': common | {'brake_rate': (1,), **dict.fromkeys(
                ('load', 'limit', 'damping', 'allowed'), (n,))},
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
            'momentum': common, 'loops': common,
        }
        self._own = {mode.kernel: mode for mode in robot.modes.values() if mode.law is not None}
        for name, mode in self._own.items():
            tracks: Shapes = {'reference': (3, n), 'integral': (n,), 'far': (n,)}
            self._shapes[name] = law | own_shapes(mode, n) | (
                tracks if mode.follows is Follows.JOINTS else {})
        self._functions: dict[str, Callable[[State], dict[str, Sequence[Any]]]] = {
            'stop': self._stop, 'float': self._float, 'damping': self._damping,
            'joint': self._joint, 'task': self._task, 'report': self._tip.report,
            'momentum': self._momentum, 'loops': self._loops,
            **{name: partial(self._of_own, mode) for name, mode in self._own.items()}}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the kernels that the robot needs."""
        return (*KERNELS, *(('loops',) if self.robot.model.loops else ()), *self._own)

    def compile(self, name: str) -> Bound:
        """
        Return one kernel with buffers of its own.

        :param name: out of ``names``.
        """
        quantity, dynamics = self._quantity(name), self._dynamics
        if name in self._own and self._own[name].foreign:  # the disk keeps no code of a user
            dynamics = Dynamics(self.robot.model, payload_frame=self.robot.payload_frame,
                                progress=lambda *_: None, cache=False,
                                closed_near=self.robot.assembly or None)
        dynamics.add(quantity)
        try:
            return dynamics.bind(quantity.name)
        finally:
            dynamics.remove(quantity)  # a reference cycle would keep the code alive

    def _quantity(self, name: str) -> Quantity:
        """Return a kernel as a quantity; its key is all that its graph depends on, and no more."""
        shapes, robot = self._shapes[name], self.robot
        own = {key: shape for key, shape in shapes.items() if key not in _KNOWN}
        rules = {'rule': self._rule(name)}
        return Quantity(
            f'tick_{name}', tuple(shapes), rules, ('gravity',),
            shapes=own, modules=(*_TRACING, *self._source_of(name)),
            loops=OnLoops(rules, regular=True), bound=True,
            key=(type(self), robot.index, tuple(robot.continuous), robot.passive, robot.assembly,
                 self._tip_of(name), self._driver_of(name)))

    def _source_of(self, name: str) -> tuple[str, ...]:
        """Return the module of a law function of the package."""
        mode = self._own.get(name)
        return () if mode is None or mode.foreign else (str(mode.law.__module__),)

    def _tip_of(self, name: str) -> tuple[object, ...]:
        """Return what a kernel knows of the tip; the others are the same for each."""
        return (self.robot.tip, self._axes) if name in _OF_TIP else ()

    def _driver_of(self, name: str) -> tuple[object, ...]:
        """Return what a kernel knows of the driver; the others are the same for each."""
        if name in _WITHOUT_DRIVER:
            return ()
        return (self._driver_adds, self._knows) if self._driver_adds != 'none' else ('none',)

    def _rule(self, name: str) -> Callable[[State], dict[str, Sequence[Any]]]:
        """Return what a kernel computes, with the passive joints of closed loops solved."""
        function, close = self._functions[name], self._terms.closed
        if name == 'loops':  # which solves them itself
            return function
        return lambda s: function(close(s))

    # -- kernels ------------------------------------------------------------------------------

    def _basics(self, s: State) -> dict[str, Sequence[Any]]:
        """Return gravity and what the driver adds by itself."""
        gravity = self._terms.gravity(s)
        known: dict[str, None] = {} if self._knows else {'payload': None}
        if self._driver_adds == 'gravity':
            driver = self._terms.gravity(s, **known)
        elif self._driver_adds == 'gravity_and_coriolis':
            driver = self._terms.bias(s, **known)
        else:
            driver = [0.0] * len(gravity)
        return {'gravity': gravity, 'driver': driver}

    def _stop(self, s: State) -> dict[str, Sequence[Any]]:
        """Return the basics, and the torque that lets the velocities of all joints decay alike."""
        x, basics = s.inputs, self._basics(s)
        rate, load, qd = x['brake_rate'][0], x['load'], self._terms.pick(x['qd'])
        brake = self._terms.torque(s, [-rate * v for v in qd])
        carried = [g - r for g, r in zip(basics['gravity'], load, strict=True)]
        brake = [tau - r - d * (v - clamp(v, -most, most)) for tau, r, d, v, most in zip(
            brake, load, x['damping'], qd, x['allowed'], strict=True)]
        return {**basics, 'brake': in_proportion(brake, carried, x['limit'])}

    def _with_law(self, s: State, basics: dict[str, Sequence[Any]], law: Vector,
                  **more: Sequence[Any]) -> dict[str, Sequence[Any]]:
        x = s.inputs
        barrier = barriers.Barrier(*(x[f'barrier_{name}'] for name in _BARRIER))
        qd = self._terms.pick(x['qd'])
        guarded = barriers.guard(self._terms.pick(x['q']), qd, basics['gravity'], law, barrier)
        limited = torque_step(guarded, basics['driver'], x['last'], x['last_sent'], x['limit'],
                              x['rate'], x['dt'][0])
        watched = [*zip(qd, x['speed']), *zip(more.get('error', ()), x.get('far', ()))]
        mismatch, plausible, repeated = self._plausible(x)
        watched += plausible
        watched += [(again * (tau - g), most) for again, tau, g, most in zip(
            repeated, guarded, basics['gravity'], x['standstill'])]
        watched += [(again * (v0 - v), most) for again, v0, v, most in zip(
            repeated, self._terms.pick(x['speed_before']), qd, x['halt'])]
        watched += [(gap, x['loop_tolerance'][0]) for gap in self._terms.gaps(s)]
        watched += [(x['loop_pivot'][0], pivot) for pivot in self._terms.pivots(s)]
        usual = self._usual([*x['q'], *x['qd'], *guarded, *basics['gravity'],
                             *basics['driver']], watched)
        solved = {'closed_q': x['q'], 'closed_qd': self._terms.whole_velocity(s)}
        return {'law': guarded, **basics, **limited, 'usual': [usual], 'mismatch': mismatch,
                **(solved if self.robot.assembly else {}), **more}

    def _plausible(self, x: Inputs) -> tuple[
            list[Scalar], list[tuple[Scalar, Scalar]], list[Scalar]]:
        """
        Return how far positions depart from velocities, and what must be within bounds.

        Then 1 for each position that is exactly that of the state before, else 0.
        """
        q, qd, before = (self._terms.pick(x[name]) for name in ('q', 'qd', 'before'))
        elapsed = x['elapsed'][0]
        fade = WINDOW / (WINDOW + elapsed)
        watched: list[tuple[Scalar, Scalar]] = []
        mismatch, repeated = [], []
        for p, v, p0, m, tolerance, far, fast, speed, middle, reach, most in zip(
                q, qd, before, *(x[name] for name in _PLAUSIBLE)):
            step = p - p0
            m = (m + step - v * elapsed) * fade
            again = less_equal(absolute(step), 0.0)
            mismatch.append(m)
            repeated.append(again)
            watched += [(step, tolerance + REACH * speed * elapsed), (m, far),
                        (v + m / WINDOW, fast), (p - middle, reach), (again, most)]
        return mismatch, watched, repeated

    @staticmethod
    def _usual(results: Vector, watched: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
        """Return 1 if all is finite and within its bounds, else 0 or NaN."""
        size = _in_pairs([absolute(value) for value in results], lambda a, b: a + b)
        return _in_pairs([less_equal(size, _HUGE), *(
            less_equal(absolute(value), most) for value, most in watched)], lambda a, b: a * b)

    def _float(self, s: State) -> dict[str, Sequence[Any]]:
        x, basics = s.inputs, self._basics(s)
        law = joint_space.gravity_compensation(
            self._terms.pick(x['qd']), basics['gravity'], scale=x['scale'],
            friction=self._friction(x), damping=x['damping'])
        return self._with_law(s, basics, law)

    @staticmethod
    def _friction(x: Inputs) -> joint_space.Friction:
        return joint_space.Friction(*(x[f'friction_{name}'] for name in _FRICTION))

    def _damping(self, s: State) -> dict[str, Sequence[Any]]:
        x, basics = s.inputs, self._basics(s)
        law = joint_space.damping(self._terms.pick(x['qd']), basics['gravity'], x['damping'])
        return self._with_law(s, basics, law)

    def _joint(self, s: State) -> dict[str, Sequence[Any]]:
        x = s.inputs
        q, qd = self._terms.pick(x['q']), self._terms.pick(x['qd'])
        law = joint_space.computed_torque(
            lambda _q, _qd, qdd: self._terms.torque(s, qdd), q, qd, x['reference'],
            stiffness=x['stiffness'], damping=x['damping'], integral=x['integral'],
            continuous=self.robot.continuous)
        # Friction along the reference: the measured velocity would feed its noise back.
        rubbing = joint_space.friction_torque(x['reference'][1], self._friction(x))
        law = [tau + f - r for tau, f, r in zip(law, rubbing, x['external'], strict=True)]
        error = joint_space.tracking_error(q, x['reference'][0], self.robot.continuous)
        basics = self._basics(s)
        return self._with_law(s, basics, in_proportion(law, basics['gravity'], x['limit']),
                              error=error)

    def _task(self, s: State) -> dict[str, Sequence[Any]]:
        law, known = self._tip.law(s)
        basics = self._basics(s)
        return self._with_law(
            s, basics, in_proportion(law, basics['gravity'], s.inputs['limit']), **known)

    def _of_own(self, mode: Mode, s: State) -> dict[str, Sequence[Any]]:
        """Return what the law function of a mode gives."""
        basics, terms = self._basics(s), LawTerms(self._terms, s)
        law = in_proportion(law_of(mode, terms, s.inputs), basics['gravity'], s.inputs['limit'])
        error = {'error': terms.error} if mode.follows is Follows.JOINTS else {}
        return self._with_law(s, basics, law, **error)

    def _momentum(self, s: State) -> dict[str, Sequence[Any]]:
        """Return what the momentum observer needs; all joints share in the momentum."""
        terms = self._terms
        return {'H': terms.momentum(s), 'bias': terms.momentum_bias(s),
                'gravity': terms.gravity(s)}

    def _loops(self, s: State) -> dict[str, Sequence[Any]]:
        """Return what shows that loops do not close, or that the robot is near a singularity."""
        terms, at = self._terms, self._terms.closed(s)
        return {'gaps': terms.gaps(terms.closed_unchecked(s)), 'pivots': terms.pivots(s),
                'closed_q': at.inputs['q'], 'closed_qd': terms.whole_velocity(at)}


def _in_pairs(values: Vector, join: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    """Join neighbours until one is left: a short chain of dependent operations."""
    while len(values) > 1:
        values = [*(join(a, b) for a, b in zip(values[::2], values[1::2])),
                  *values[len(values) & ~1:]]
    return values[0]
